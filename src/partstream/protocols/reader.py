"""Puts the layers together for one response: bytes to events to JSON to an adapter's outputs; knows no protocol.

Sans-IO like everything below it: whoever owns the socket or the file feeds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.errors import UpstreamProtocolError
from partstream.json_codec import DECODE_ERRORS, JSONDecodeError, loads, make_decoder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.errors import LanguageModelError
    from partstream.sse import EventDecoder, ServerSentEvent
    from partstream.streams import ResponseStream, StreamOutput

__all__ = ["StreamReader"]


class StreamReader:
    """Reads one response.

    Args:
        decoder: Turns the bytes into events.
        stream: The protocol's adapter.
        frequent: For event types that come by the thousand, the only fields that the adapter reads of them.

    Attributes:
        events: How many events were read.
    """

    __slots__ = ("_decoder", "_frequent", "_other", "_stream", "events")

    def __init__(
        self, decoder: EventDecoder, stream: ResponseStream, frequent: Mapping[str, tuple[str, ...]] | None = None
    ) -> None:
        self.events = 0
        self._decoder = decoder
        self._stream = stream
        self._other: tuple[str | None, Callable[[bytes], Any]] = (None, make_decoder())
        self._frequent = {name.encode(): (name, make_decoder(fields)) for name, fields in (frequent or {}).items()}

    @property
    def finished(self) -> bool:
        """Whether the :class:`partstream.streams.Finish` is out; the connection may be closed then."""
        return self._stream.finished

    @property
    def failing(self) -> bool:
        """Whether the upstream has reported an error and may still say more about it."""
        return self._stream.failing

    def feed(self, data: bytes) -> list[StreamOutput]:
        """Takes more bytes and returns what they mean; never raises for what the upstream sent."""
        return self._read(self._decoder.feed(data))

    def end(self) -> list[StreamOutput]:
        """Says that no more bytes come; with this the Finish is out, whatever came before."""
        outputs = self._read(self._decoder.end())
        outputs.extend(self._stream.end())
        return outputs

    def fail(self, error: LanguageModelError) -> list[StreamOutput]:
        """Ends the response with an error that was met below it; nothing if it has finished already."""
        return self._stream.fail(error)

    def _read(self, events: list[ServerSentEvent]) -> list[StreamOutput]:
        outputs: list[StreamOutput] = []
        frequent = self._frequent
        self.events += len(events)
        for name, data in events:
            kind, decode = frequent.get(name, self._other)
            try:
                event = decode(data)
                # The JSON says what it is; the line before it is a hint, and stands in where the JSON says nothing.
                if event["type"] != kind and kind is not None:
                    event = self._other[1](data)
            except _UNREADABLE:
                event = self._decode_again(name, data)
                if type(event) is not dict:
                    if event is not _DONE:
                        outputs += self._not_an_object(data)
                    continue
            self._stream.feed_into(event, outputs)
        if self._decoder.error is not None:
            outputs += self._stream.fail(self._decoder.error)
        return outputs

    def _decode_again(self, name: bytes, data: bytes) -> object:
        """Reads what the fast decoder refused: lone surrogates, broken UTF-8, `[DONE]`, no type, or no JSON at all."""
        if data.strip() == b"[DONE]":
            return _DONE  # no event of the response: OpenRouter sends it too early, others not at all (facts 7.2)
        try:
            event = loads(data.decode(errors="replace"))
        except JSONDecodeError:
            return None
        if name and isinstance(event, dict):
            event.setdefault("type", name.decode(errors="replace"))
        return event

    def _not_an_object(self, data: bytes) -> list[StreamOutput]:
        got = data[:80].decode(errors="replace")
        return self._stream.fail(
            UpstreamProtocolError(event_type=None, field="data", got=repr(got), expected="a JSON object")
        )


_DONE: Final = object()

_UNREADABLE: Final[tuple[type[Exception], ...]] = (*DECODE_ERRORS, KeyError, TypeError)
"""What reading an event raises when it is no JSON object with a type."""
