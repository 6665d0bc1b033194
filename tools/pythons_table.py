"""Puts what `make test PART=pythons` showed into the page on releases."""

from __future__ import annotations
import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from page_blocks import with_blocks
from tried_table import row

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["releasing_page"]

_ROOT: Final = Path(__file__).resolve().parent.parent
_PAGE: Final = _ROOT / "docs" / "maintainers" / "releasing.md"
_RESULTS: Final = _ROOT / "tools" / "pythons" / "results.json"


def releasing_page() -> str:
    """The page as it is, with its table of Pythons made anew."""
    return with_blocks(_PAGE, {"pythons": _lines()})


def _lines() -> Iterator[str]:
    yield row(("Python", "packages", "what was run", "what it showed", "date"))
    yield row(("---",) * 5)
    for name, result in json.loads(_RESULTS.read_text(encoding="utf-8")).items():
        version, _, choice = name.partition("-")
        ran = {what: seen["says"] for tests in result["seen"].values() for what, seen in tests.items()}
        for what, says in ran.items() if ran else [("nothing", result["left_out"])]:
            yield row((version, choice, what, says, result["date"]))
