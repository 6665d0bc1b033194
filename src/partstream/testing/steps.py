"""The steps of a server that sends one reply; the owner of the socket carries them out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "END_OF_STREAM",
    "EVENT_STREAM",
    "START_OF_STREAM",
    "UNNAMED",
    "End",
    "EndKind",
    "Head",
    "Pace",
    "Send",
    "Stall",
    "Step",
    "Until",
    "document",
    "event_stream",
]

START_OF_STREAM: Final = "start of stream"
"""The value of :attr:`Send.event` for what stands before the first event, such as the bracket of a JSON array."""

END_OF_STREAM: Final = "end of stream"
"""The value of :attr:`Send.event` for the mark after the last event."""

UNNAMED: Final = "message"
"""The value of :attr:`Send.event` for events without a kind; the default type in the standard of server-sent events."""

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
        event: The kind of the event that begins with these bytes, or :data:`UNNAMED` if it has no kind;
            :data:`START_OF_STREAM` and :data:`END_OF_STREAM` for what stands before the first event and after the last;
            empty for all other bytes.
        piece: Whether a piece of the answer begins with these bytes.
        again: The bytes of the event where it is sent once more; empty where they are the same.
        whole: How many events end in these bytes, of a read that was recorded: it may hold many.
    """

    data: bytes
    event: str = ""
    piece: bool = False
    again: bytes = b""
    whole: int = 0

    @property
    def events(self) -> int:
        """How many events are counted for these bytes."""
        return self.whole or int(self.is_event)

    @property
    def is_event(self) -> bool:
        """Whether an event begins with these bytes."""
        return self.event not in {"", START_OF_STREAM, END_OF_STREAM}


@dataclass(frozen=True, slots=True)
class Stall:
    """Sends nothing for some seconds, or, for None, until the client disconnects."""

    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Until:
    """Sends nothing until so many seconds after the request came."""

    seconds: float


class EndKind(StrEnum):
    """How a reply ends."""

    WHOLE = "whole"
    """The body has its proper end; the connection stays usable."""
    CLOSED = "closed"
    """The connection is closed (FIN) without the end of the body."""
    RESET = "reset"
    """The connection is reset (RST), as after the death of a server process."""


@dataclass(frozen=True, slots=True)
class End:
    """The last step of every reply."""

    kind: EndKind = EndKind.WHOLE


Step: TypeAlias = Head | Send | Stall | Until | End


def document(
    status: int, body: bytes, content_type: str = "application/json", headers: Iterable[tuple[str, str]] = ()
) -> tuple[Step, ...]:
    """A reply of one piece."""
    return Head(status, (("content-type", content_type), *headers)), Send(body), End()


def event_stream(events: Iterable[Send], content_type: str = EVENT_STREAM) -> Iterator[Step]:
    """A stream of events; each event is made when it is sent, so that a long answer starts as early as a short one."""
    yield Head(200, (("content-type", content_type), ("cache-control", "no-cache")))
    yield from events
    yield End()


class Pace:
    """Adds a pause before each piece of one answer except the first.

    A model needs time for the content that it generates. All other events arrive without a pause, as with real servers.

    Args:
        seconds: The length of the pause.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._first = True

    def over(self, steps: Iterable[Step]) -> Iterator[Step]:
        """The next steps of the reply with the pauses between them."""
        for step in steps:
            if self._seconds and isinstance(step, Send) and step.piece:
                if not self._first:
                    yield Stall(self._seconds)
                self._first = False
            yield step
