"""Tells that events were given to a protocol that they are not of, and names the protocol that they look like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.errors import TruncatedStreamError, UpstreamProtocolError
from partstream.protocols.foreign import name_of_stream
from partstream.protocols.life import LifecycleState
from partstream.protocols.protocol import MatchConfidence, loadable_protocols

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.errors import LanguageModelError
    from partstream.protocols.serve import WireEvent

__all__ = ["likeness", "understood_nothing"]


def understood_nothing(error: LanguageModelError | None) -> bool:
    """Whether the error of a Finish says that no answer began, or that the input held no event at all."""
    if isinstance(error, TruncatedStreamError):
        return error.state == LifecycleState.IDLE.name
    return isinstance(error, UpstreamProtocolError)


def likeness(events: Sequence[WireEvent]) -> str | None:
    """The protocol that one of the events certainly belongs to, including protocols that nothing here reads.

    None if no event shows one.
    """
    for name, row in loadable_protocols()[0].items():
        claim = row.read_response().claim
        if any(claim(row.kind(event), event) is MatchConfidence.SURE for event in events):
            return name
    return name_of_stream(events)
