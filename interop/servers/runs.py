"""What the commands that try programs of others have in common: which are tried, what is written, and the exit code."""

from __future__ import annotations
import sys
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

import click

from interop.servers.environments import ROOT
from interop.servers.results import Verdict, merged, write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rich.console import Console

    from interop.servers.results import ServerResult

__all__ = ["COLOURS", "try_all"]

COLOURS: Final = {Verdict.WORKS: "green", Verdict.FAULT: "yellow", Verdict.FAILS: "red", Verdict.NOT_TRIED: "dim"}
"""How a verdict is shown."""


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Subject = TypeVar("_Subject", bound=_Named)


def try_all(
    subjects: Sequence[_Subject],
    only: Sequence[str],
    try_one: Callable[[_Subject, Console], ServerResult],
    console: Console,
    written_to: Path | None,
) -> None:
    """Tries programs one after the other, and ends the process with code 1 if something failed.

    Args:
        subjects: All that there are, in the order in which their results are written.
        only: The names of those that are tried; empty for all.
        try_one: Tries one of them.
        console: Where the progress is shown.
        written_to: The file that the results are merged into; None for none.

    Raises:
        click.UsageError: No subject has one of the names.
    """
    names = [subject.name for subject in subjects]
    chosen = [subject for subject in subjects if not only or subject.name in only]
    if not chosen:
        raise click.UsageError(f"--only: expected one of {', '.join(names)}")
    results = {subject.name: try_one(subject, console) for subject in chosen}
    if written_to is not None:
        write(written_to, merged(written_to, results, names))
        console.print(f"written to {written_to.relative_to(ROOT)}")
    if any(result.fails for result in results.values()):
        sys.exit(1)
