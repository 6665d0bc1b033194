"""Puts the options of `partstream serve`, and what `make bench WHAT=soak` showed, into the page on serving."""

from __future__ import annotations
import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from command_options import options_table
from page_blocks import with_blocks

from partstream.cli.serve import command

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["serve_page"]

_ROOT: Final = Path(__file__).resolve().parent.parent
_PAGE: Final = _ROOT / "docs" / "serving.md"
_RESULTS: Final = _ROOT / "benchmarks" / "soak" / "results.json"


def serve_page() -> str:
    """The page as it stands, with its two tables made anew."""
    return with_blocks(_PAGE, {"options": _options(), "loads": _loads()})


def _options() -> Iterator[str]:
    yield from options_table(command, click.Context(command, info_name="partstream serve"))


def _loads() -> Iterator[str]:
    results = json.loads(_RESULTS.read_text(encoding="utf-8"))
    yield f"Run on {results['date']}: {results['machine']}."
    yield ""
    yield "| clients | what was seen |"
    yield "|---|---|"
    for title, load in results["loads"].items():
        seen = [f"{name}: {figure}" for name, figure in load["figures"].items()]
        seen += [f"**fault**: {fault}" for fault in load["faults"]]
        yield f"| {title} | {'<br>'.join(seen)} |"
