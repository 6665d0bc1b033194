"""Says in a terminal what a command is busy with, until it is done; says nothing where no terminal shows it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.text import Text

from partstream.cli.console import make_console

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["busy_with"]


@contextmanager
def busy_with(what: str) -> Iterator[None]:
    """Shows a sign of life beside what is done, on standard error: a large recording takes a minute.

    Args:
        what: What is done, such as `Reading the recording`.
    """
    with make_console(stderr=True).status(Text(f"{what}…")):
        yield
