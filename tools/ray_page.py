"""Puts what `make interop TRY=ray` showed into the page on Ray."""

from __future__ import annotations
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from page_blocks import with_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["ray_page"]

_ROOT: Final = Path(__file__).resolve().parent.parent
_PAGE: Final = _ROOT / "docs" / "maintainers" / "ray-figures.md"
_RESULTS: Final = _ROOT / "interop" / "ray_serve" / "results.json"
_WAYS: Final = {"plain": "`partstream serve`", "ray": "Ray, its own proxy", "haproxy": "Ray, HAProxy"}
_FIGURES: Final = (
    ("start to first answer", "start_seconds", "{:.1f} s"),
    ("a request, p50", "request_p50_milliseconds", "{:.1f} ms"),
    ("a request, p95", "request_p95_milliseconds", "{:.1f} ms"),
    ("delay of an event, p50", "event_p50_milliseconds", "{:.2f} ms"),
    ("delay of an event, p95", "event_p95_milliseconds", "{:.2f} ms"),
    ("processor time for an event, all processes", "event_microseconds", "{:.0f} µs"),
    ("processes", "processes", "{:.0f}"),
    ("memory, what is shared counted once", "shared_once_mebibytes", "{:,.0f} MiB"),
)


def ray_page() -> str:
    """The page as it is, with its tables made anew."""
    results = json.loads(_RESULTS.read_text(encoding="utf-8"))
    return with_blocks(_PAGE, {"figures": _figures(results), "checks": _checks(results)})


def _figures(results: Mapping[str, Any]) -> Iterator[str]:
    machine = results["machine"]
    yield f"Ray {results['ray']}, {machine['date']}: {machine['processor']}, {machine['system']}."
    yield ""
    yield f"| | {' | '.join(_WAYS.values())} |"
    yield "|---" * (len(_WAYS) + 1) + "|"
    for title, name, form in _FIGURES:
        cells = (form.format(results["ways"][way]["figures"][name]) for way in _WAYS)
        yield f"| {title} | {' | '.join(cells)} |"


def _checks(results: Mapping[str, Any]) -> Iterator[str]:
    ways = [way for way in _WAYS if way != "plain"]
    yield f"| what was tried | {' | '.join(_WAYS[way] for way in ways)} |"
    yield "|---" * (len(ways) + 1) + "|"
    for name in results["ways"][ways[0]]["checks"]:
        cells = (_shown(results["ways"][way]["checks"].get(name)) for way in ways)
        yield f"| {name} | {' | '.join(cells)} |"


def _shown(check: Mapping[str, Any] | None) -> str:
    if check is None:
        return "not tried"
    return str(check["says"]) if check["works"] else f"**fails**: {check['says']}"
