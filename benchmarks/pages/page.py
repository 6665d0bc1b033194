"""The part of docs/maintainers/inspector-page.md that says how fast the page is."""

from __future__ import annotations
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tools.page_blocks import with_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["inspector_page"]

_ROOT: Final = Path(__file__).resolve().parents[2]
_PAGE: Final = _ROOT / "docs" / "maintainers" / "inspector-page.md"
_RESULTS: Final = Path(__file__).with_name("results.json")
_ROWS: Final = (
    ("first paint", "the first paint"),
    ("list and timeline", "all panes are there, with list and timeline"),
    ("filter", "the slowest of eight filters"),
    ("select", "the next event is selected, with its JSON and its bytes"),
)


def inspector_page() -> str:
    """The page as it stands, with its figures made anew."""
    results = json.loads(_RESULTS.read_text(encoding="utf-8"))
    return with_blocks(_PAGE, {"pages": _lines(results)})


def _lines(results: Mapping[str, Any]) -> Iterator[str]:
    events, taken, size = results["events"], results["milliseconds"], results["size"]
    memory = results["megabytes after each live minute"]
    yield f"A file of {events:,} events ({size['bytes of the file'] / 1e6:.1f} MB), opened in {results['browser']}:"
    yield ""
    yield "| until | takes |"
    yield "|---|---:|"
    for name, words in _ROWS:
        yield f"| {words} | {taken[name]:,.0f} ms |"
    yield ""
    yield (
        f"A page that follows live answers of ten events a second keeps its last five; the memory of its script is "
        f"{memory[1]:.1f} MB after two minutes and {memory[-1]:.1f} MB after ten. The script has "
        f"{size['bytes of script'] / 1000:.0f} kB and needs no library. Measured by `make bench WHAT=pages` "
        f"on {results['date']} ({results['processor']})."
    )
