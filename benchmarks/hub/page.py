"""Makes tables and a page of the results; reads nothing but them, so that the page can be made anywhere."""

from __future__ import annotations
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from benchmarks.grids import Grid, markdown
from benchmarks.hub.gateways import DIRECT, HUB, LITELLM

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["RESULTS", "grids", "page"]

RESULTS: Final = Path(__file__).resolve().parent / "results.json"

_MEGABYTE: Final = 1e6
_TIMES_LESS: Final = 20.0

_INTRODUCTION: Final = """\
<!-- Made by tools/generate.py of benchmarks/hub/results.json, which `make bench WHAT=hub` writes. -->
# Performance of the hub

The [hub](../hub.md) beside LiteLLM's proxy with its database: `make bench WHAT=hub`, six minutes on Linux. What a hub
adds to `partstream serve` is on the [page of serving](serving-performance.md).

## Where LiteLLM is ahead

"""

_EXPLANATION: Final = """
## How it is measured

Both run one worker, with a database of one Postgres on the same machine, at the same prices. The hub has keys of people
with budgets in US dollars, LiteLLM virtual keys with `max_budget`. LiteLLM is the newest whose tables PyPI has. It
reaches its database through Prisma's query engine, here its build in WebAssembly, because the native one is in no
registry of packages; its process counts into LiteLLM's. The model server reports 20 input tokens and one output token a
word. All are asked in turn over loopback. A ratio is the median of the ratios of the rounds.

- **Added to the first word**: from a request to its first word, less the same of the model server. One client, ten
  words.
- **16 clients**: answers of ten words, on the same processors as the model server and the clients.
- **Memory** is what is resident in all processes: idle, and after a tenth, half and all of many answers. LiteLLM gives
  fewer, because it takes long.
- **A burst**: a key has money for exactly 100 answers, and 400 are asked, 64 at once. *Over* is what the answers cost
  beyond the budget. *Refused with room* is how many more the rest would have paid, although requests were refused.
  *Noted* is what the gateway has in its books at most 90 seconds later.
"""


def page(results: Mapping[str, Any]) -> str:
    """The page that explains the results."""
    tables = markdown(results["machine"], results["skipped"], grids(results))
    return "".join((_INTRODUCTION, *_ahead(results), "\n", tables, _EXPLANATION))


def _ahead(results: Mapping[str, Any]) -> Iterator[str]:
    """A line of each figure in which LiteLLM is better: its own, and ours in brackets."""
    by_name = [_compared(results, name) for name in (LITELLM, HUB) if name in results["firsts"]]
    leads = [
        f"- {what}: {theirs:.3g}{unit} ({ours:.3g})\n"
        for (what, unit, theirs), (_, _, ours) in (zip(*by_name, strict=True) if len(by_name) > 1 else ())
        if theirs < ours
    ]
    yield from leads or ["In no figure that was measured.\n"]


def _compared(results: Mapping[str, Any], name: str) -> Iterator[tuple[str, str, float]]:
    """What is compared, of which less is better."""
    yield "added to the first word", " ms", median(_added(results, name))
    yield "the 99th percentile of the first word", " ms", median(results["firsts"][name]["last_hundredth"])
    yield "processor time of a request", " ms", median(results["rates"][name]["processor"])
    yield "memory, idle", " MB", results["idle_bytes"][name] / _MEGABYTE
    yield "memory after all answers", " MB", results["answers"][name]["bytes"][3] / _MEGABYTE
    yield "start", " s", results["start_seconds"][name]
    yield "answers refused although a budget had room", "", max(map(with_room, results["bursts"][name]))
    yield "over a budget", " %", max(map(over, results["bursts"][name])) * 100


def grids(results: Mapping[str, Any]) -> list[Grid]:
    """The results as tables."""
    firsts, rates = results["firsts"], results["rates"]
    return [
        Grid("Targets", ("what", "measured", "target", ""), [*_targets(results)]),
        Grid(
            "First word, from the request",
            ("contestant", "median, ms", "99th percentile, ms"),
            [(name, *(f"{median(values):.2f}" for values in one.values())) for name, one in firsts.items()],
        ),
        Grid(
            "16 clients",
            ("contestant", "requests a second", "processor time of a request, ms"),
            [(name, f"{median(one['per_second']):,.0f}", _or_dash(one["processor"])) for name, one in rates.items()],
        ),
        Grid(
            "A burst at the limit",
            ("gateway", "answered of 100 that were paid", "over", "refused with room", "noted", "statuses"),
            [row for name, bursts in results["bursts"].items() for row in _burst_rows(name, bursts)],
        ),
        Grid(
            "Memory and start",
            ("gateway", "idle, MB", "before → tenth → half → all answers, MB", "of them", "start, s"),
            [*_held(results)],
        ),
    ]


def _or_dash(values: Sequence[float]) -> str:
    return f"{median(values):.2f}" if values else "–"


def _burst_rows(name: str, bursts: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    for one in bursts:
        statuses = ", ".join(f"{count} × {status}" for status, count in one["refused"].items())
        noted = f"{one['noted'] / one['cost']:.1%}" if one["cost"] else "–"
        yield name, str(one["answered"]), f"{over(one):.1%}", str(with_room(one)), f"{noted} of the cost", statuses


def over(one: Mapping[str, Any]) -> float:
    """What was spent beyond a budget, as a share of it."""
    return max(0.0, (one["cost"] - one["limit"]) / one["limit"])


def with_room(one: Mapping[str, Any]) -> int:
    """How many answers the rest of a budget would have paid, although requests were refused."""
    return max(0, one["limit"] - one["cost"]) // one["each"] if one["refused"] else 0


def _held(results: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, measured in results["answers"].items():
        held = " → ".join(f"{one / _MEGABYTE:.1f}" for one in measured["bytes"])
        start = f"{results['start_seconds'][name]:.2f}"
        yield name, f"{results['idle_bytes'][name] / _MEGABYTE:.1f}", held, f"{measured['answers']:,}", start


def _targets(results: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """What is to be reached: figures of ours, then ratios to LiteLLM's."""
    added = {name: _added(results, name) for name in (HUB, LITELLM) if name in results["firsts"]}
    held = results["answers"][HUB]["bytes"]
    bursts = results["bursts"][HUB]
    yield _at_most("memory, idle", results["idle_bytes"][HUB] / _MEGABYTE, 80.0, "MB")
    yield _at_most("memory, from a tenth of the answers to all", (held[3] - held[1]) / _MEGABYTE, 2.0, "MB more")
    yield _at_most("start", results["start_seconds"][HUB], 0.5, "s")
    yield _at_most("over the budget after a burst", max(map(over, bursts)) * 100, 0.0, "%")
    yield _at_most("answers refused although the budget had room", max(map(with_room, bursts)), 0.0, "answers")
    wrong = max(abs(one["noted"] - one["cost"]) for one in bursts)
    yield _at_most("noted otherwise than the answers cost", wrong, 0.0, "nanodollars")
    if LITELLM in added:
        yield _less("added to the first word", added)
        yield _less("processor time of a request", {name: results["rates"][name]["processor"] for name in added})
        yield _less("memory, idle", {name: [results["idle_bytes"][name]] for name in added})
        yield _less("memory after all answers", {name: [results["answers"][name]["bytes"][3]] for name in added})


def _added(results: Mapping[str, Any], name: str) -> list[float]:
    pairs = zip(results["firsts"][name]["median"], results["firsts"][DIRECT]["median"], strict=True)
    return [through - direct for through, direct in pairs]


def _at_most(what: str, figure: float, limit: float, unit: str) -> tuple[str, str, str, str]:
    return what, f"{figure:.3g} {unit}", f"≤ {limit:g} {unit}", "reached" if figure <= limit else "not reached"


def _less(what: str, values: Mapping[str, Sequence[float]]) -> tuple[str, str, str, str]:
    ratio = median(theirs / ours for theirs, ours in zip(values[LITELLM], values[HUB], strict=True))
    reached = "reached" if ratio >= _TIMES_LESS else "not reached"
    return f"{what}, LiteLLM / hub", f"{ratio:.3g} ×", f"≥ {_TIMES_LESS:g} ×", reached
