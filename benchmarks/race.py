"""Measures all competitors on the same streams in one interleaved run; knows none of them, and no target.

Rounds are short and go round all workers, so that what else the machine does falls on all of them alike.
"""

from __future__ import annotations
import json
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from statistics import median, quantiles
from typing import TYPE_CHECKING, Final

from benchmarks.competitors import Worker
from benchmarks.streams import FRAMINGS, STREAMS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from benchmarks.competitors import Competitor

__all__ = [
    "CASES",
    "CHAT",
    "CHUNKS",
    "GEMINI",
    "MESSAGES",
    "PADDED_CHAT",
    "TARGETED",
    "TYPELESS",
    "Case",
    "Figure",
    "race",
    "write_case",
]


def _by_event(events: list[bytes]) -> list[int]:
    return [len(event) for event in events]


def _by_16_kib(events: list[bytes]) -> list[int]:
    size, total = 16 * 1024, sum(map(len, events))
    return [size] * (total // size) + ([total % size] if total % size else [])


CHUNKINGS: Final[Mapping[str, Callable[[list[bytes]], list[int]]]] = {
    "one event": _by_event,
    "16 KiB": _by_16_kib,
}
"""How a stream is cut into chunks: the sizes of the chunks, given its events."""


@dataclass(frozen=True, slots=True)
class Case:
    """A stream as it is fed: what it holds, how its events are framed, how its bytes are cut."""

    stream: str
    framing: str = "event+data"
    chunking: str = "one event"

    @property
    def name(self) -> str:
        """For tables."""
        return f"{self.stream}, {self.framing}, {self.chunking} a chunk"


CASES: Final = (
    Case("text"),
    Case("tools"),
    Case("mixed"),
    Case("text", framing="data"),
    Case("text", chunking="16 KiB"),
)
"""The first three have targets."""

TARGETED: Final = CASES[:3]

CHUNKS: Final = Case("fullStream", framing="JSON lines")
"""Chunks of the AI SDK, raced by others than the cases above: its own producer and the reader of its chunks."""

TYPELESS: Final = Case("typeless", framing="data")
"""Frames without a type, raced by readers that expect none."""

CHAT: Final = Case("chat", framing="data")
"""The chunks of one text of Chat Completions, raced by readers of that wire."""

PADDED_CHAT: Final = Case("padded chat", framing="data")
"""The same with the padding of random length that OpenAI sends unless it is asked not to."""

MESSAGES: Final = Case("messages")
"""The events of one text of Anthropic Messages, beside those of OpenResponses with the same text."""

GEMINI: Final = Case("gemini", framing="data")
"""The chunks of one text of Gemini."""

_OFTEN: Final = (*TARGETED, CHUNKS, TYPELESS, CHAT, PADDED_CHAT, MESSAGES, GEMINI)
_SHARE_OF_ROUNDS: Final = 1 / 3
"""Cases without a target get fewer rounds."""


@dataclass(frozen=True, slots=True)
class Figure:
    """Microseconds of processor time an event.

    Attributes:
        median: Of the rounds.
        lower: The lower quartile.
        upper: The upper quartile.
        samples: What every round gave, by its number.
    """

    median: float
    lower: float
    upper: float
    samples: Mapping[int, float]

    @classmethod
    def of(cls, samples: Mapping[int, float]) -> Figure:
        """The figure of one or more rounds."""
        values = [*samples.values()]
        lower, _, upper = quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
        return cls(median(values), lower, upper, samples)

    def as_json(self) -> dict[str, float]:
        """For the file of results."""
        return {name: round(getattr(self, name), 3) for name in ("median", "lower", "upper")}

    def ratio_to(self, other: Figure) -> float:
        """The median of the ratios of those rounds that both ran: they ran side by side, so that a machine that is
        slow for a while is slow for both."""
        common = self.samples.keys() & other.samples.keys()
        return median(self.samples[number] / other.samples[number] for number in common)


def race(
    competitors: Sequence[Competitor],
    folder: Path,
    events: int,
    rounds: int,
    say: Callable[[str], object],
    cases: Sequence[Case] = CASES,
) -> dict[Case, dict[str, Figure]]:
    """Measures every competitor on every case.

    Raises:
        RuntimeError: They did not all read the same from a stream, so their times say nothing.
    """
    results: dict[Case, dict[str, Figure]] = {}
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(competitor)) for competitor in competitors]
        for case in cases:
            say(case.name)
            _prepare(workers, case, folder, events)
            enough = rounds if case in _OFTEN else max(1, round(rounds * _SHARE_OF_ROUNDS))
            results[case] = _measure(workers, case.name, events, enough)
    return results


def _prepare(workers: Sequence[Worker], case: Case, folder: Path, events: int) -> None:
    tallies = {}
    for worker in workers:
        path, sizes = write_case(replace(case, **worker.competitor.reads), folder, events)
        worker.ask("load", case.name, path=str(path), sizes=str(sizes))
        tallies[worker.competitor.name] = worker.ask("tally", case.name)
        if worker.competitor.every == 1:
            worker.ask("run", case.name)  # a second time, for compilers that optimise what runs often
    if len({json.dumps(tally, sort_keys=True) for tally in tallies.values()}) > 1:
        raise RuntimeError(f"not all read the same from {case.name}: {tallies}")


def _measure(workers: Sequence[Worker], name: str, events: int, rounds: int) -> dict[str, Figure]:
    samples: dict[str, dict[int, float]] = {worker.competitor.name: {} for worker in workers}
    for number in range(rounds):
        for worker in workers:
            if number % worker.competitor.every == 0:
                samples[worker.competitor.name][number] = worker.ask("run", name)["seconds"] / events * 1e6
    return {competitor: Figure.of(measured) for competitor, measured in samples.items()}


@cache
def write_case(case: Case, folder: Path, events: int) -> tuple[Path, Path]:
    """Writes the bytes of a case and the sizes of its chunks; returns where."""
    framed = [FRAMINGS[case.framing](event) for event in STREAMS[case.stream](events)]
    name = "-".join((case.stream, case.framing, case.chunking.replace(" ", ""), str(events)))
    path, sizes = folder / f"{name}.sse", folder / f"{name}.json"
    path.write_bytes(b"".join(framed))
    sizes.write_text(json.dumps(CHUNKINGS[case.chunking](framed)), encoding="utf-8")
    return path, sizes
