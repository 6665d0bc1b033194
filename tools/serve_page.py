"""Puts what `make bench WHAT=soak` showed into docs/maintainers/serving-under-load.md."""

from __future__ import annotations
import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from page_blocks import with_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["serve_page"]

_ROOT: Final = Path(__file__).resolve().parent.parent
_PAGE: Final = _ROOT / "docs" / "maintainers" / "serving-under-load.md"
_RESULTS: Final = _ROOT / "benchmarks" / "soak" / "results.json"


def serve_page() -> str:
    """The page with its table made anew."""
    return with_blocks(_PAGE, {"loads": _loads()})


def _loads() -> Iterator[str]:
    results = json.loads(_RESULTS.read_text(encoding="utf-8"))
    most = results.get("most_memory")
    within = "" if most is None else f"; the system would have ended the process at {most >> 20} MiB"
    yield f"Run on {results['date']}: {results['machine']}{within}."
    yield ""
    yield "| clients | what was seen |"
    yield "|---|---|"
    for title, load in results["loads"].items():
        seen = [f"{name}: {figure}" for name, figure in load["figures"].items()]
        seen += [f"**fault**: {fault}" for fault in load["faults"]]
        yield f"| {title} | {'<br>'.join(seen)} |"
