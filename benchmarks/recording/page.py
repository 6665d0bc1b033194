"""Makes tables and a page of the results; reads nothing but them, so that the page can be made anywhere."""

from __future__ import annotations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.grids import Grid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["RESULTS", "grids", "page"]

RESULTS: Final = Path(__file__).resolve().parent / "results.json"

_LATENCIES: Final = {
    "request_to_first_byte": "from the request to the first event",
    "first_event": "of the first event",
    "each_event": "of each further event",
}
_MOST_ADDED: Final = 1.0
_MOST_CANCEL: Final = 50.0
_MOST_GROWTH: Final = 10.0

_INTRODUCTION: Final = """\
<!-- Made by tools/generate.py of benchmarks/recording/results.json, which `make bench WHAT=record` writes. -->
# What recording costs

`make bench WHAT=record` measures `partstream record` before a server beside that server alone, in turn, over loopback.
It needs Linux and makes this page. Its exit code is 0 whatever the figures are.

The server says in each event when it was sent, by the clock of the machine; the client, on raw sockets, looks at the
same clock when it has read the event. What the recorder adds is the difference of the same percentile of both sides:
reading, forwarding, and what it does behind that, such as writing to the disk and judging the answer. Everything runs
at the same time on the same processors.

"""


def page(results: Mapping[str, Any]) -> str:
    """The page docs/maintainers/recording-performance.md."""
    machine = "\n".join(f"- {name}: {value}" for name, value in results["machine"].items())
    return _INTRODUCTION + "\n".join(_lines(results)) + f"\n## Measured on\n\n{machine}\n"


def grids(results: Mapping[str, Any]) -> list[Grid]:
    """The tables."""
    return [_targets(results), _latencies(results), _others(results)]


def _lines(results: Mapping[str, Any]) -> Iterator[str]:
    for grid in grids(results):
        yield f"## {grid.title}\n"
        yield f"| {' | '.join(grid.head)} |"
        yield f"|---|{'---:|' * (len(grid.head) - 1)}"
        yield from (f"| {' | '.join(row)} |" for row in grid.rows)
        yield ""


def _targets(results: Mapping[str, Any]) -> Grid:
    memory = results["memory_megabytes"]
    rows = [
        ("added to each event, p95", results["each_event"]["added"]["p95"], _MOST_ADDED, "ms"),
        ("added to the first event, p95", results["first_event"]["added"]["p95"], _MOST_ADDED, "ms"),
        ("a client leaves until the server knows, p95", results["cancel"]["recorded"]["p95"], _MOST_CANCEL, "ms"),
        (f"growth over {results['sizes']['answers']:,} answers", memory[-1] - memory[0], _MOST_GROWTH, "MB"),
    ]
    return Grid(
        "Targets",
        ("what", "measured", "target", ""),
        [
            (what, f"{found:.2f} {unit}", f"≤ {most:g} {unit}", "reached" if found <= most else "not reached")
            for what, found, most, unit in rows
        ],
    )


def _latencies(results: Mapping[str, Any]) -> Grid:
    rows = []
    for key, label in _LATENCIES.items():
        for percentile in ("p50", "p95"):
            sides = [results[key][side][percentile] for side in ("direct", "recorded", "added")]
            rows.append((f"{label}, {percentile}", *(f"{value:.2f} ms" for value in sides)))
    return Grid("Latency", ("", "direct", "recorded", "added"), rows)


def _others(results: Mapping[str, Any]) -> Grid:
    cancel, speed, memory = results["cancel"], results["megabytes_a_second"], results["memory_megabytes"]
    rows = [
        *(
            (f"a client leaves until the server knows, {key}", *(f"{cancel[side][key]:.1f} ms" for side in cancel))
            for key in ("p50", "p95", "most")
        ),
        ("one large answer", *(f"{speed[side]:.0f} MB/s" for side in speed)),
        ("memory at the beginning", "", f"{memory[0]:.0f} MB"),
        ("memory halfway", "", f"{memory[len(memory) // 2]:.0f} MB"),
        (f"memory after {results['sizes']['answers']:,} answers", "", f"{memory[-1]:.0f} MB"),
    ]
    return Grid("Leaving, throughput, memory", ("", "direct", "recorded"), rows)
