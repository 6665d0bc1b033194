"""Puts the options of `partstream serve`, and what `make soak` showed, into the page on serving."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from command_options import options_table

from partstream.cli.serve import command

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["serve_page"]

_ROOT: Final = Path(__file__).resolve().parent.parent
_PAGE: Final = _ROOT / "docs" / "serving.md"
_RESULTS: Final = _ROOT / "soak" / "results.json"
_BLOCK: Final = "<!-- made: {name} -->\n{text}\n<!-- end: {name} -->"


def serve_page() -> str:
    """The page as it stands, with its two tables made anew."""
    page = _PAGE.read_text(encoding="utf-8")
    for name, lines in (("options", _options()), ("loads", _loads())):
        block = _BLOCK.format(name=name, text="\n".join(lines))
        pattern = re.escape(_BLOCK.format(name=name, text="TEXT")).replace("TEXT", ".*?")
        page, count = re.subn(pattern, block.replace("\\", r"\\"), page, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"{_PAGE.name}: got {count} blocks {name!r}, expected one")
    return page


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
