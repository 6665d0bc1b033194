"""What a server does on the wire for one reply, as a list of steps; whoever owns the socket carries them out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "END_OF_STREAM",
    "EVENT_STREAM",
    "UNNAMED",
    "End",
    "EndKind",
    "Head",
    "Send",
    "Stall",
    "Step",
    "document",
    "event_stream",
    "paced",
]

END_OF_STREAM: Final = "end of stream"
"""What :attr:`Send.event` is for the bytes behind the last event."""

UNNAMED: Final = "message"
"""What :attr:`Send.event` is for an event that does not say its kind, as the standard of server-sent events has it."""

EVENT_STREAM: Final = "text/event-stream; charset=utf-8"
"""The media type of a stream of server-sent events."""


@dataclass(frozen=True, slots=True)
class Head:
    """Sends status and header fields; the body that follows is chunked."""

    status: int
    headers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Send:
    """Sends `data` as one chunk in one write.

    Attributes:
        data: At least one byte.
        event: The kind of the event that begins with these bytes, :data:`UNNAMED` where it says none; for the mark
            behind the last event :data:`END_OF_STREAM`; empty for anything else.
        piece: Whether a piece of the answer begins with these bytes, and not with bytes before them.
    """

    data: bytes
    event: str = ""
    piece: bool = False

    @property
    def is_event(self) -> bool:
        """Whether an event begins with these bytes."""
        return self.event not in {"", END_OF_STREAM}


@dataclass(frozen=True, slots=True)
class Stall:
    """Sends nothing for that many seconds, or, for None, until the client leaves."""

    seconds: float | None = None


class EndKind(StrEnum):
    """How a reply ends."""

    WHOLE = "whole"
    """The body is ended as HTTP asks; the connection may be used again."""
    CLOSED = "closed"
    """The connection is closed (FIN) without the end of the body."""
    RESET = "reset"
    """The connection is reset (RST), as when a server process dies."""


@dataclass(frozen=True, slots=True)
class End:
    """The last step of every reply."""

    kind: EndKind = EndKind.WHOLE


Step: TypeAlias = Head | Send | Stall | End


def document(
    status: int, body: bytes, content_type: str = "application/json", headers: Iterable[tuple[str, str]] = ()
) -> tuple[Step, ...]:
    """A reply of one piece."""
    return Head(status, (("content-type", content_type), *headers)), Send(body), End()


def event_stream(events: Iterable[Send], content_type: str = EVENT_STREAM) -> Iterator[Step]:
    """A stream of events, each made when it is sent: a long answer begins as soon as a short one."""
    yield Head(200, (("content-type", content_type), ("cache-control", "no-cache")))
    yield from events
    yield End()


def paced(steps: Iterable[Step], seconds: float) -> Iterator[Step]:
    """The same steps with that many seconds before each piece of the answer but the first.

    A model takes its time for what it generates; the events around that come in one go, as those of real servers do.
    """
    first = True
    for step in steps:
        if seconds and isinstance(step, Send) and step.piece:
            if not first:
                yield Stall(seconds)
            first = False
        yield step
