"""Makes tables and a page of the results; reads nothing but them, so that the page can be made anywhere."""

from __future__ import annotations
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from benchmarks.grids import Grid, markdown
from benchmarks.serving.contestants import (
    CONTESTANTS,
    DIRECT,
    LITELLM,
    LITELLM_PASSED,
    OURS,
    OURS_PASSED,
    OURS_TRANSLATED,
    RESPONSES,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from benchmarks.serving.contestants import Contestant

__all__ = ["RESULTS", "grids", "page"]

RESULTS: Final = Path(__file__).resolve().parent / "results.json"

_AT_WORK: Final = "16"
"""The number of streams of which the targets speak."""
_MEGABYTE: Final = 1e6
_TIMES_LESS: Final = 20.0

_INTRODUCTION: Final = """\
<!-- Made by tools/generate.py of benchmarks/serving/results.json, which `make bench WHAT=serve` writes. -->
# Performance of serving

`make bench WHAT=serve` measures `partstream serve` beside LiteLLM's proxy, which most teams use, and beside a bare
server. It needs Linux, takes about ten minutes, and makes this page. Its exit code is 0 whatever the figures are.

| contestant | what it is |
|---|---|
| ready-made bytes | the floor: a bare ASGI application under uvicorn, which sends chunks that were made before |
| partstream serve | a provider that reports one part a turn of the event loop, over Chat Completions |
| partstream serve, Responses | the same over OpenResponses |
| LiteLLM's proxy | the same words in a custom handler, one worker, no database, no callbacks |
| the upstream itself | a model server on raw sockets, one event a turn of its event loop |
| partstream serve --profile | that server behind `partstream serve`, which forwards: both sides speak the same wire |
| partstream serve --profile, translating | the same with `request.systemAs`, so that all is translated |
| LiteLLM's proxy, passing on | that server behind LiteLLM's proxy |

All servers run at the same time and are asked in turn over loopback, round by round, by one process that reads raw
sockets; what else the machine does falls on all of them. A ratio is the median of the ratios of the rounds. A stream is
asked for a number of words, and each is an event; the first of them is the time at which it was said.

- **Processor time** is that of the server's process with all its threads, from `/proc`, divided by the words: what
  reading the request and ending the answer take is in it.
- **First word**: the median of the time from the request, and from the moment at which the provider or the upstream
  said it, until its bytes came to the client. Answers of ten words, one after the other over one connection.
- **Memory** is what is resident: after a few answers, and before, halfway through and after many short ones. LiteLLM
  gives fewer, because it takes long.
- **Start**: from the start of the process to its first answer on the path that says it is well.

"""


@dataclass(frozen=True, slots=True)
class _Target:
    what: str
    figure: float
    limit: float
    unit: str
    at_least: bool = False

    def row(self) -> tuple[str, str, str, str]:
        reached = self.figure >= self.limit if self.at_least else self.figure <= self.limit
        sign = "≥" if self.at_least else "≤"
        said = f"{self.figure:.3g} {self.unit}", f"{sign} {self.limit:g} {self.unit}"
        return self.what, *said, "reached" if reached else "not reached"


def page(results: Mapping[str, Any]) -> str:
    """The page that explains the results."""
    return _INTRODUCTION + markdown(results["machine"], results["skipped"], grids(results))


def grids(results: Mapping[str, Any]) -> list[Grid]:
    """The results as tables."""
    present = [one.name for one in CONTESTANTS if one.name in results["streams"]]
    streams = list(next(iter(results["streams"].values())))
    return [
        Grid("Targets", ("what", "measured", "target", ""), [target.row() for target in _targets(results)]),
        Grid(
            "Processor time of the server for a word, µs",
            ("contestant", *(_streams(count) for count in streams)),
            [(name, *(f"{_of(results, name, count):.1f}" for count in streams)) for name in present],
        ),
        Grid(
            "Words a second",
            ("contestant", *(_streams(count) for count in streams)),
            [(name, *(f"{_of(results, name, count, 'per_second'):,.0f}" for count in streams)) for name in present],
        ),
        Grid(
            "First word",
            ("contestant", "from the request, ms", "from the word, ms", "processor time of an answer, ms"),
            [(name, *(f"{median(values):.2f}" for values in results["firsts"][name].values())) for name in present],
        ),
        Grid("Memory and start", ("server", "idle, MB", "after answers, MB", "of them", "start, s"), [*_held(results)]),
    ]


def _streams(count: str) -> str:
    return "1 stream" if count == "1" else f"{count} streams"


def _of(results: Mapping[str, Any], name: str, streams: str, what: str = "microseconds") -> float:
    return median(results["streams"][name][streams][what])


def _held(results: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for server, measured in results["answers"].items():
        held = " → ".join(f"{one / _MEGABYTE:.1f}" for one in measured["bytes"])
        starts = results["start_seconds"].get(server)
        started = "–" if starts is None else f"{median(starts):.2f}"
        yield server, f"{results['idle_bytes'][server] / _MEGABYTE:.1f}", held, f"{measured['answers']:,}", started


def _targets(results: Mapping[str, Any]) -> Iterator[_Target]:
    """What is to be reached: figures of ours, then ratios to LiteLLM's."""
    own, passing = OURS.server.name, OURS_PASSED.server.name
    held = results["answers"][own]["bytes"]
    at_work = f"{_AT_WORK} streams"
    yield _Target(f"provider to socket, {at_work}", _of(results, OURS.name, _AT_WORK), 10.0, "µs a word")
    yield _Target(f"the same over OpenResponses, {at_work}", _of(results, RESPONSES.name, _AT_WORK), 10.0, "µs a word")
    yield _Target("from the first part to the client", median(results["firsts"][OURS.name]["from_part"]), 1.0, "ms")
    yield _Target(f"upstream to client, {at_work}", _of(results, OURS_PASSED.name, _AT_WORK), 25.0, "µs a word")
    yield _Target("added to the first word of an upstream", _added(results, OURS_PASSED), 1.0, "ms")
    if OURS_TRANSLATED.name in results["streams"]:
        yield _Target("the same, translated", _added(results, OURS_TRANSLATED), 1.5, "ms")
        used = [results["streams"][one.name][_AT_WORK]["microseconds"] for one in (OURS_PASSED, OURS_TRANSLATED)]
        ratio = median(passed / translated for passed, translated in zip(*used, strict=True))
        yield _Target(f"processor time, forwarded / translated, {at_work}", ratio, 1.0, "×")
    yield _Target("start", median(results["start_seconds"][own]), 0.5, "s")
    yield _Target("start with a profile", median(results["start_seconds"][passing]), 0.5, "s")
    yield _Target("memory, idle", results["idle_bytes"][own] / _MEGABYTE, 80.0, "MB")
    yield _Target("memory, second half of the answers", (held[2] - held[1]) / _MEGABYTE, 1.0, "MB more")
    if LITELLM.name in results["streams"]:
        yield from _beside_litellm(results)


def _added(results: Mapping[str, Any], way: Contestant) -> float:
    """The milliseconds until the first word that a way through a server adds to the way to its upstream."""
    through, direct = (results["firsts"][one.name]["from_request"] for one in (way, DIRECT))
    return median(one - other for one, other in zip(through, direct, strict=True))


def _beside_litellm(results: Mapping[str, Any]) -> Iterator[_Target]:
    for way, theirs, ours in (
        ("provider to socket", LITELLM, OURS),
        ("upstream to client", LITELLM_PASSED, OURS_PASSED),
    ):
        for what, values in (
            ("processor time", lambda one: results["streams"][one.name][_AT_WORK]["microseconds"]),
            ("first word", lambda one: results["firsts"][one.name]["from_request"]),
        ):
            yield _less(f"{way}: {what}, LiteLLM / Partstream", values, theirs, ours)
    own, other = OURS.server.name, LITELLM.server.name
    for what, of_server in (
        ("start", {name: median(values) for name, values in results["start_seconds"].items()}),
        ("memory, idle", results["idle_bytes"]),
    ):
        yield _Target(f"{what}, LiteLLM / Partstream", of_server[other] / of_server[own], _TIMES_LESS, "×", True)


def _less(what: str, values: Callable[[Any], list[float]], theirs: Any, ours: Any) -> _Target:
    ratios = [one / other for one, other in zip(values(theirs), values(ours), strict=True)]
    return _Target(what, median(ratios), _TIMES_LESS, "×", True)
