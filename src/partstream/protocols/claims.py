"""Which protocol events are of, by what the protocols claim of them.

One event tells little: an error or a ping stands in the streams of many wires. So an event counts that a protocol is
sure of, and otherwise what most events may be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from partstream.protocols.foreign import name_of_stream
from partstream.protocols.protocol import MatchConfidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from partstream.protocols.protocol import Protocol
    from partstream.protocols.serve import WireEvent

__all__ = ["Claims", "NamedEvent", "ProtocolMatcher", "claims_of", "protocol_of", "stream_of_another"]


class NamedEvent(NamedTuple):
    """An event as it stands in a recording.

    Attributes:
        name: What the line before it calls it; empty without such a line.
        event: The JSON object.
    """

    name: str
    event: WireEvent


class Claims(NamedTuple):
    """What a protocol claims of some events.

    Attributes:
        sure: How many are surely of it.
        possible: How many may be of it.
        of: How many there are.
    """

    sure: int
    possible: int
    of: int

    @property
    def any(self) -> bool:
        """Whether one event at least may be of it."""
        return bool(self.sure or self.possible)

    @property
    def most(self) -> bool:
        """Whether half of them or more may be of it, one at least."""
        return self.any and (self.sure + self.possible) * 2 >= self.of


def claims_of(row: Protocol, events: Iterable[NamedEvent]) -> Claims:
    """What a protocol claims of events."""
    claimed = [_claim(row, one) for one in events]
    return Claims(claimed.count(MatchConfidence.SURE), claimed.count(MatchConfidence.POSSIBLE), len(claimed))


class ProtocolMatcher:
    """Tells which protocol events are of, event by event: the one rule for streams, recordings and clients.

    Args:
        rows: The protocols that may be meant, the most likely one first.

    Attributes:
        sure: The first protocol that is sure of an event; None so far.
        seen: How many events were looked at until then.
    """

    def __init__(self, rows: Sequence[Protocol]) -> None:
        self.sure: Protocol | None = None
        self.seen = 0
        self._rows = rows
        self._possible = [0] * len(rows)

    def add(self, event: NamedEvent) -> Protocol | None:
        """Looks at the next event; returns the protocol that is sure of one."""
        if self.sure is not None:
            return self.sure
        self.seen += 1
        for place, row in enumerate(self._rows):
            claim = _claim(row, event)
            if claim is MatchConfidence.SURE:
                self.sure = row
                return row
            self._possible[place] += claim is MatchConfidence.POSSIBLE
        return None

    @property
    def told(self) -> Protocol | None:
        """The protocol that is sure of an event; else the one that may have most of them, half of them at least."""
        if self.sure is not None or not self._rows:
            return self.sure
        most = max(self._possible)
        return self._rows[self._possible.index(most)] if most and most * 2 >= self.seen else None


def protocol_of(rows: Sequence[Protocol], events: Iterable[NamedEvent]) -> Protocol | None:
    """The protocol that the first events tell; None where they tell none."""
    telling = ProtocolMatcher(rows)
    for event in events:
        if telling.add(event) is not None:
            break
    return telling.told


def stream_of_another(rows: Iterable[Protocol], row: Protocol, events: Sequence[NamedEvent]) -> str | None:
    """The title of another wire that is sure of one of the events; None where no other is.

    Args:
        rows: The protocols that may be meant.
        row: The one that is no other.
        events: The events.
    """
    others = (one for one in rows if one.name != row.name and claims_of(one, events).sure)
    other = next(others, None)
    return name_of_stream(event for _, event in events) if other is None else other.shown_title


def _claim(row: Protocol, named: NamedEvent) -> MatchConfidence:
    return row.read_response().claim(row.kind(named.event) or named.name or None, named.event)
