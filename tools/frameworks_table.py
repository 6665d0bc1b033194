"""Puts what `make interop TRY=frameworks` showed into the page on agents."""

from __future__ import annotations
import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from page_blocks import with_blocks
from tried_table import row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["agents_page"]

_ROOT: Final = Path(__file__).resolve().parent.parent
_PAGE: Final = _ROOT / "docs" / "maintainers" / "agent-frameworks.md"
_RESULTS: Final = _ROOT / "interop" / "frameworks" / "results.json"
_MARKS: Final[Mapping[str, str]] = {"works": "✓", "not tried": "–"}
_NO_ROW: Final = {"verdict": "not tried"}


def agents_page() -> str:
    """The page as it is, with its table made anew."""
    return with_blocks(_PAGE, {"frameworks": _lines()})


def _lines() -> Iterator[str]:
    results = json.loads(_RESULTS.read_text(encoding="utf-8"))
    columns = [(name, edition, seen) for name, result in results.items() for edition, seen in result["seen"].items()]
    shown = list(dict.fromkeys(what for _, _, seen in columns for what in seen))
    yield row(("what an agent shows", *(f"{name}<br>{edition.split(',')[0]}" for name, edition, _ in columns)))
    yield row(("---",) * (len(columns) + 1))
    for what in shown:
        yield row((what, *(_MARKS.get(seen.get(what, _NO_ROW)["verdict"], "✗") for _, _, seen in columns)))
    yield ""
    for name, result in results.items():
        left_out = f", left out: {result['left_out']}" if result["left_out"] else ""
        yield f"- {name}: {'; '.join(result['seen']) or result['package']}; run on {result['date']}{left_out}"
