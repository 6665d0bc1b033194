"""Which protocol events are of, by what the protocols claim of them.

One event tells little: an error or a ping stands in the streams of many wires. So an event counts that a protocol is
sure of, and otherwise what most events may be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from partstream.protocols.foreign import name_of_stream
from partstream.protocols.protocol import Claim

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from partstream.protocols.protocol import Protocol, WireEvent

__all__ = ["Claims", "NamedEvent", "claims_of", "protocol_of", "stream_of_another"]


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
    return Claims(claimed.count(Claim.SURE), claimed.count(Claim.POSSIBLE), len(claimed))


def protocol_of(rows: Sequence[Protocol], events: Sequence[NamedEvent]) -> Protocol | None:
    """The first of some protocols that is sure of the first events; else the one that may have most of them.

    None where none may have half of them.
    """
    for event in events:
        sure = next((row for row in rows if _claim(row, event) is Claim.SURE), None)
        if sure is not None:
            return sure
    claims = {row.name: (row, claims_of(row, events)) for row in rows}
    best = max(claims.values(), key=lambda one: one[1].possible, default=None)
    return best[0] if best is not None and best[1].most else None


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


def _claim(row: Protocol, named: NamedEvent) -> Claim:
    return row.read_response().claim(row.kind(named.event) or named.name or None, named.event)
