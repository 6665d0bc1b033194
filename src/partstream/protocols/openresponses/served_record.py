"""Reads a response as it is sent, and tells what is kept of it.

The bytes of the stream are kept as they are: a stream that is resumed has the same events with the same numbers. The
first event has number 0 and each has the next, so the place of a frame is its number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps, loads
from partstream.protocols.openresponses.served_requests import input_list
from partstream.protocols.serve import StoredAnswer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from partstream.protocols.serve import WireRequest

__all__ = ["CANCELLED", "ResponseRecord", "event_of", "frames_in"]

CANCELLED: Final = "cancelled"

_ENDS: Final = (b"event: response.completed\n", b"event: response.incomplete\n", b"event: response.failed\n")
_ITEM_DONE: Final = b"event: response.output_item.done\n"
_NAME: Final = b"event: "
_DATA: Final = b"\ndata: "


class ResponseRecord:
    """One response; see :class:`partstream.protocols.serve.AnswerRecord`.

    Args:
        limit: The most bytes of frames.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._chunks: list[bytes] | None = []
        self._frames: list[bytes] = []
        self._items: list[Any] | None = None
        self._response: dict[str, Any] | None = None
        self._ended = False
        self._cancelled = False

    @property
    def answer_id(self) -> str | None:
        """The id of the response, as its first event said it."""
        return None if self._response is None else self._response.get("id")

    @property
    def frames(self) -> Sequence[bytes] | None:
        """The frames so far; None once they are more than the limit."""
        if self._chunks is None:
            return None
        if self._chunks:  # told apart only when somebody looks, and once
            self._frames += frames_in(b"".join(self._chunks))
            self._chunks.clear()
        return self._frames

    @property
    def response(self) -> Mapping[str, Any] | None:
        """The response as its last lifecycle event said it."""
        return self._response

    def add(self, data: bytes) -> bool:
        """Takes the next bytes of the stream; says whether its end is in them."""
        self._keep(data)
        if self._response is None:
            self._response = next((event_of(frame)["response"] for frame in frames_in(data)), None)
        if self._items is not None and _ITEM_DONE in data:
            self._items += _done_items(frames_in(data))
        if any(end in data for end in _ENDS):
            last = [frame for frame in frames_in(data) if frame.startswith(_ENDS)]
            if last:
                self._response = event_of(last[-1])["response"]
                self._ended = True
        return self._ended

    def _keep(self, data: bytes) -> None:
        if self._chunks is None:
            return
        self._size += len(data)
        if self._size <= self._limit:
            self._chunks.append(data)
            return
        # From here only what is needed in case the response has no end of its own.
        self._items = list(_done_items(self.frames or ()))
        self._chunks, self._frames = None, []

    def take_document(self, document: Mapping[str, Any]) -> None:
        """Takes the response that is sent in place of a stream; an error is none."""
        if document.get("object") == "response":
            self._response, self._ended, self._chunks = dict(document), True, None

    def cancel(self) -> None:
        """Records that the response was stopped on behalf of its client."""
        self._cancelled = True

    def stored(self, request: WireRequest) -> StoredAnswer | None:
        """What is to be kept: of the request its own input, of the response everything."""
        if self._response is None:
            return None
        response, frames = dict(self._response), self.frames
        if not self._ended:
            response["output"] = list(_done_items(frames or ())) if self._items is None else self._items
        if self._cancelled or not self._ended:
            response |= {"status": CANCELLED, "completed_at": None}
            frames = None if frames is None else _cancelled(frames, response)
        previous = request.body.get("previous_response_id")
        return StoredAnswer(
            id=str(response["id"]),
            previous_id=previous if isinstance(previous, str) and previous else None,
            request={"input": input_list(request.body)},
            response=response,
            frames=None if frames is None else tuple(frames),
        )


def frames_in(data: bytes) -> Iterator[bytes]:
    """The frames of events in whole bytes of a stream; comments and `[DONE]` are none."""
    return (frame + b"\n\n" for frame in data.split(b"\n\n") if frame.startswith(_NAME))


def event_of(frame: bytes) -> dict[str, Any]:
    """The event in a frame."""
    event: dict[str, Any] = loads(frame[frame.index(_DATA) + len(_DATA) : -2])
    return event


def _done_items(frames: Iterable[bytes]) -> Iterator[Any]:
    return (event_of(frame)["item"] for frame in frames if frame.startswith(_ITEM_DONE))


def _cancelled(frames: Sequence[bytes], response: Mapping[str, Any]) -> list[bytes]:
    """The frames of a stopped response, which end with what became of it: the wire has no event of its own for that."""
    kept = [frame for frame in frames if not frame.startswith(_ENDS)]
    event = {"type": "response.incomplete", "sequence_number": len(kept), "response": response}
    return [*kept, b"event: response.incomplete\ndata: " + dumps(event) + b"\n\n"]
