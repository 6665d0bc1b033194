"""Names the protocol that events look like, for the error when they were given to another protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.protocols.foreign import name_of_stream
from partstream.protocols.protocol import Claim
from partstream.protocols.registry import loadable_protocols

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.protocols.protocol import WireEvent

__all__ = ["likeness"]


def likeness(events: Sequence[WireEvent]) -> str | None:
    """The protocol that one of the events certainly belongs to, including protocols that nothing here reads.

    None if no event shows one.
    """
    for name, row in loadable_protocols()[0].items():
        claim = row.read_response().claim
        if any(claim(row.kind(event), event) is Claim.SURE for event in events):
            return name
    return name_of_stream(events)
