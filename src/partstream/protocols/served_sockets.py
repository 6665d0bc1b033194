"""A WebSocket on which a client asks a model more than once: the seam, without I/O.

A protocol reads the client's messages and says which requests are to be answered, one after another. The answers are
those of HTTP: the same reader, writer and frames; the protocol turns their bytes into messages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from partstream.protocols.served_state import RequestReferences, ResolvedReferences, StoredAnswer
    from partstream.protocols.wire_request import WireRequest

__all__ = ["ServedSocket", "SocketConversation", "SocketTurn"]


@dataclass(frozen=True, slots=True)
class SocketTurn:
    """A request that came over a socket.

    Attributes:
        request: The request, as it would have come over HTTP.
        generates: Whether a model answers. Otherwise the answer is empty: the client only announces its conversation.
    """

    request: WireRequest
    generates: bool = True


class SocketConversation(Protocol):
    """What is said on one socket; a type of its own, because a server names no wire."""

    def receive(self, message: str | bytes) -> Sequence[str]:
        """Takes a message of the client; returns what is answered to it at once. A request waits for its turn."""
        ...

    def next_turn(self) -> SocketTurn | None:
        """The next request, unless one is being answered or none waits; it is being answered from now on."""
        ...

    def recall(self, wanted: RequestReferences) -> ResolvedReferences:
        """What the socket itself remembers of what a request refers to."""
        ...

    def messages(self, data: bytes) -> Sequence[str]:
        """The messages for the next bytes of the answer's stream, which are whole frames."""
        ...

    def refused(self, status: int, document: Mapping[str, Any]) -> Sequence[str]:
        """The messages for a request that was refused before its answer began; the turn is over then."""
        ...

    def ended(self, earlier: ResolvedReferences, stored: StoredAnswer | None) -> None:
        """Ends the turn.

        Args:
            earlier: What was found of what its request refers to.
            stored: The answer, with what its own request said; None if it has none.
        """
        ...

    def too_old(self) -> Sequence[str]:
        """The messages for a socket that is closed because it has been open for too long."""
        ...


def _no_headers() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ServedSocket:
    """The WebSocket that stands at the path of an endpoint.

    Attributes:
        open: Makes the conversation of one socket, given the request of its handshake, which has no body.
        headers: Headers of the reply to the handshake.
    """

    open: Callable[[WireRequest], SocketConversation]
    headers: Mapping[str, str] = field(default_factory=_no_headers)
