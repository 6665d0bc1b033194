"""What is to be reached, as a table; knows how a figure is compared, not how it is measured."""

from __future__ import annotations
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from benchmarks.competitors import (
    CHAT_FAST,
    CHAT_PLAIN,
    CHUNKS_FAST,
    COMPATIBLE,
    EVENTS_FAST,
    EVENTS_PLAIN,
    FAST,
    FLOOR,
    JSON_LOADS,
    LITELLM,
    OPENAI,
    OPENAI_CHAT,
    PLAIN,
    STREAM_TEXT,
    Competitor,
)
from benchmarks.race import CHAT, CHUNKS, PADDED_CHAT, TARGETED, TYPELESS, Case, Figure
from benchmarks.tokens import ANSWERED, EDITED, ESTIMATED, EXACT, NEW

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from benchmarks.cancelling import Delay
    from benchmarks.tokens import Counting

__all__ = ["Target", "judge"]


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to reach.

    Attributes:
        what: In words.
        figure: What was measured.
        unit: Of both numbers.
        limit: What it is compared with.
        at_least: Whether the figure has to be no less than the limit; else no more.
    """

    what: str
    figure: float
    limit: float
    unit: str
    at_least: bool = False

    @property
    def reached(self) -> bool:
        """Whether it is."""
        return self.figure >= self.limit if self.at_least else self.figure <= self.limit

    def as_json(self) -> dict[str, Any]:
        """For the file of results."""
        return asdict(self) | {"reached": self.reached}


_Ratio: TypeAlias = tuple[Competitor, Competitor, float, bool]

_RATIOS: tuple[_Ratio, ...] = (
    # whose time, divided by whose, limit, at least
    (FAST, FLOOR, 1.0, False),
    (OPENAI, FAST, 30.0, True),
    (PLAIN, FLOOR, 3.0, False),
)

_TYPELESS_RATIOS: tuple[_Ratio, ...] = (
    # the same, of frames without a type
    (FAST, FLOOR, 1.0, False),
    (PLAIN, JSON_LOADS, 1.0, False),
    (PLAIN, FLOOR, 3.0, False),
)

_CHAT_RATIOS: tuple[_Ratio, ...] = (
    # chunks of Chat Completions beside events of OpenResponses with the same text, and beside others on the same chunks
    (CHAT_FAST, EVENTS_FAST, 1.1, False),
    (CHAT_PLAIN, EVENTS_PLAIN, 1.1, False),
    (OPENAI_CHAT, CHAT_FAST, 20.0, True),
    (COMPATIBLE, CHAT_FAST, 10.0, True),
    (LITELLM, CHAT_FAST, 50.0, True),
)

_TOLERATED_GROWTH = 1.15
"""The longest stream against the one a quarter as long; the rest is noise."""


def judge(
    raced: Mapping[Case, Mapping[str, Figure]],
    grown: Mapping[str, Mapping[int, Figure]],
    peaks: Mapping[str, Mapping[int, Mapping[str, int]]],
    large: Mapping[str, float],
    imported: Mapping[str, Any],
    counting: Counting,
    cancelled: Mapping[str, Delay],
) -> list[Target]:
    """All targets with what was measured; those that could not be measured are left out."""
    return [
        *_ratios(raced, TARGETED, _RATIOS),
        *_ratios(raced, (TYPELESS,), _TYPELESS_RATIOS),
        *_ratios(raced, (CHAT, PADDED_CHAT), _CHAT_RATIOS),
        *_chunks(raced.get(CHUNKS, {})),
        *_growth(grown),
        *_memory(peaks),
        Target("2 MB event: 1,460-byte reads / one read", large["small_reads"] / large["one_read"], 5.0, "×"),
        Target("import partstream", imported["import"], 60.0, "ms"),
        Target("packages that it loads", len(imported["packages"]), 0, ""),
        *_counting(counting),
        *(Target(f"cancelled {situation}", delay.median, 100.0, "ms") for situation, delay in cancelled.items()),
    ]


def _ratios(
    raced: Mapping[Case, Mapping[str, Figure]], cases: Iterable[Case], rows: Iterable[_Ratio]
) -> Iterator[Target]:
    for upper, lower, limit, at_least in rows:
        for case in cases:
            figures = raced[case]
            if upper.name in figures and lower.name in figures:
                ratio = figures[upper.name].ratio_to(figures[lower.name])
                yield Target(f"{case.stream}: {upper.name} / {lower.name}", ratio, limit, "×", at_least)


def _chunks(figures: Mapping[str, Figure]) -> Iterator[Target]:
    """The reader of AI SDK chunks for itself, and beside the SDK that produces them."""
    reader, producer = figures.get(CHUNKS_FAST.name), figures.get(STREAM_TEXT.name)
    if reader is not None:
        yield Target(f"{CHUNKS.stream}: {CHUNKS_FAST.name}", reader.median, 2.0, "µs a chunk")
    if reader is not None and producer is not None:
        yield Target(
            f"{CHUNKS.stream}: {STREAM_TEXT.name} / {CHUNKS_FAST.name}", producer.ratio_to(reader), 10.0, "×", True
        )


def _growth(grown: Mapping[str, Mapping[int, Figure]]) -> Iterator[Target]:
    for name, figures in grown.items():
        *_, shorter, longest = sorted(figures)
        ratio = figures[longest].ratio_to(figures[shorter])
        yield Target(f"{name}: µs an event, {longest:,} / {shorter:,} events", ratio, _TOLERATED_GROWTH, "×")


def _memory(peaks: Mapping[str, Mapping[int, Mapping[str, int]]]) -> Iterator[Target]:
    for name, by_length in peaks.items():
        shorter, longest = sorted(by_length)
        ratio = by_length[longest]["deltas"] / by_length[shorter]["deltas"]
        yield Target(f"{name}: peak memory, {longest:,} / {shorter:,} events", ratio, _TOLERATED_GROWTH, "×")


def _counting(counting: Counting) -> Iterator[Target]:
    estimated, _ = counting.text[ESTIMATED]
    yield Target("1 MB of text, estimated", estimated * 1e6 / counting.characters, 5.0, "ns a character")
    if EXACT in counting.text:
        exact, _ = counting.text[EXACT]
        yield Target("1 MB of text: estimated / counted", estimated / exact, 0.2, "×")
    of_conversation = counting.conversation
    ratio = of_conversation[EDITED]["estimated"] / of_conversation[NEW]["estimated"]
    yield Target("1,000 messages: one edited / all new", ratio, 0.25, "×")
    yield Target("1,000 messages, after an answer", of_conversation[ANSWERED]["estimated"], 1.0, "ms")
