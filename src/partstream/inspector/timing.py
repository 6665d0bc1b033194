"""The rhythm of an answer: gaps, stalls and lumps between the events that changed it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median, quantiles
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.devtools.inspector.shapes import EventKind

__all__ = ["FEWEST_TEXT_EVENTS", "LUMPY", "NANOSECONDS", "Gap", "Moment", "Rhythm", "rhythm_of"]

NANOSECONDS: Final = 1_000_000
"""In a millisecond."""
_SHORTEST_STALL: Final = 2000.0
"""Milliseconds; a shorter gap is no stall, whatever the others are."""
_STALL_MEDIANS: Final = 20
_SHORTEST_GAP: Final = 250.0
"""Milliseconds; a shorter gap is not worth a mark."""
_GAP_MEDIANS: Final = 5
FEWEST_TEXT_EVENTS: Final = 10
"""Fewer say nothing of pacing."""
LUMPY: Final = 0.8
"""The share of events that share their read, above which something collects them on their way."""
_PERCENT_95: Final = 19
"""The index of the 95th percentile among 20-quantiles."""


@dataclass(frozen=True, slots=True)
class Moment:
    """An event that changed the answer.

    Attributes:
        number: Its number; that of a part where no events are known.
        at: When, in milliseconds.
        kind: Its kind.
        read: The index of the read that brought it; None where no reads are known.
    """

    number: int
    at: float
    kind: EventKind
    read: int | None


@dataclass(frozen=True, slots=True)
class Gap:
    """The time between two moments.

    Attributes:
        after: The number of the first.
        before: The number of the second.
        milliseconds: How long.
        is_stall: Whether it is so long that the answer stood still.
    """

    after: int
    before: int
    milliseconds: float
    is_stall: bool


@dataclass(frozen=True, slots=True)
class Rhythm:
    """The rhythm of an answer.

    Attributes:
        longest: The longest gap, or None where there are not two moments.
        notable: The gaps that are much longer than the others.
        text_events: The number of moments that brought text.
        text_median: The median of the gaps inside of texts in milliseconds, or None.
        text_95: Their 95th percentile, or None.
        lumps: The numbers of the moments that came in the same read as the one before.
        lump_share: The share of text events that did, or None where there is no text or no reads are known.
    """

    longest: Gap | None = None
    notable: tuple[Gap, ...] = ()
    text_events: int = 0
    text_median: float | None = None
    text_95: float | None = None
    lumps: frozenset[int] = frozenset()
    lump_share: float | None = None

    @property
    def stalls(self) -> tuple[Gap, ...]:
        """The gaps in which the answer stood still."""
        return tuple(gap for gap in self.notable if gap.is_stall)


def rhythm_of(moments: Sequence[Moment]) -> Rhythm:
    """The rhythm of the moments of an answer, in their order."""
    pairs = list(pairwise(moments))
    if not pairs:
        return Rhythm(text_events=sum(one.kind == "text" for one in moments))
    middle = median(after.at - before.at for before, after in pairs)
    stall = max(_SHORTEST_STALL, _STALL_MEDIANS * middle)
    gaps = [Gap(one.number, two.number, two.at - one.at, two.at - one.at > stall) for one, two in pairs]
    least = max(_SHORTEST_GAP, _GAP_MEDIANS * middle)
    lumps = frozenset(two.number for one, two in pairs if two.read is not None and one.read == two.read)
    texts = [one for one in moments if one.kind == "text"]
    has_reads = bool(texts) and texts[0].read is not None
    inside = sorted(two.at - one.at for one, two in pairs if one.kind == two.kind == "text")
    return Rhythm(
        max(gaps, key=lambda gap: gap.milliseconds),
        tuple(gap for gap in gaps if gap.is_stall or gap.milliseconds >= least),
        len(texts),
        median(inside) if inside else None,
        _percentile_95(inside),
        lumps,
        sum(one.number in lumps for one in texts) / len(texts) if has_reads else None,
    )


def _percentile_95(ordered: Sequence[float]) -> float | None:
    if len(ordered) < 2:
        return ordered[0] if ordered else None
    return quantiles(ordered, n=_PERCENT_95 + 1, method="inclusive")[_PERCENT_95 - 1]
