"""Puts the layers together for one response: bytes to events to JSON to an adapter's outputs; knows no protocol.

Sans-IO like everything below it: whoever owns the socket or the file feeds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.errors import UpstreamProtocolError
from partstream.json_codec import DECODE_ERRORS, JSONDecodeError, loads, make_decoder, make_event_decoder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.errors import LanguageModelError
    from partstream.outputs import ResponseStream, Sink, StreamOutput
    from partstream.sse import EventDecoder, ServerSentEvent

__all__ = ["StreamReader"]


class StreamReader:
    """Reads one response.

    Args:
        decoder: Turns the bytes into events.
        stream: The protocol's adapter.
        frequent: For event types that come by the thousand, what the adapter's sinks read of them; see
            :func:`partstream.json_codec.make_event_decoder`.
        terminator: The event that a last `[DONE]` stands for, where that may be all that is said of the end.

    Attributes:
        started: Whether an event was read.
    """

    __slots__ = (
        "_decode",
        "_decode_any",
        "_decoder",
        "_frequent",
        "_repeated",
        "_sink",
        "_sink_name",
        "_stream",
        "_terminated",
        "_terminator",
        "started",
    )

    def __init__(
        self,
        decoder: EventDecoder,
        stream: ResponseStream,
        frequent: Mapping[str, Mapping[str, str]] | None = None,
        terminator: Mapping[str, Any] | None = None,
    ) -> None:
        self.started = False
        self._terminator = terminator
        self._terminated = False
        self._decoder = decoder
        self._repeated = decoder.repeated
        self._stream = stream
        self._decode_any = make_decoder()
        self._frequent = {kind: make_event_decoder(kind, fields) for kind, fields in (frequent or {}).items()}
        # Where events of the last type go while they repeat: nearly all of a response is one type, again and again.
        self._sink: Sink | None = None
        self._sink_name = b""
        self._decode = self._decode_any

    @property
    def finished(self) -> bool:
        """Whether the :class:`partstream.outputs.Finish` is out; the connection may be closed then."""
        return self._stream.finished

    @property
    def failing(self) -> bool:
        """Whether the upstream has reported an error and may still say more about it."""
        return self._stream.failing

    def feed(self, data: bytes) -> list[StreamOutput]:
        """Takes more bytes and returns what they mean; never raises for what the upstream sent."""
        sink = self._sink
        if sink is not None:
            value = self._repeated(data)
            if value is not None:
                outputs: list[StreamOutput] = []
                try:
                    if sink(self._decode(value), outputs):
                        return outputs
                except DECODE_ERRORS:
                    pass  # not what its name says; read below with more patience
        return self._read(self._decoder.feed(data))

    def end(self) -> list[StreamOutput]:
        """Says that no more bytes come; with this the Finish is out, whatever came before."""
        # What has no end of its own and is no JSON was cut: the stream is truncated, not wrong.
        outputs = self._read([event for event in self._decoder.end() if self._decode_again(*event) is not None])
        if self._terminated and self._terminator is not None and not self._stream.finished:
            self._stream.feed_into(self._terminator, outputs)
        outputs.extend(self._stream.end())
        return outputs

    def fail(self, error: LanguageModelError) -> list[StreamOutput]:
        """Ends the response with an error that was met below it; nothing if it has finished already."""
        self._sink = None
        return self._stream.fail(error)

    def _read(self, events: list[ServerSentEvent]) -> list[StreamOutput]:
        outputs: list[StreamOutput] = []
        sink, decode = self._sink, self._decode
        for name, data in events:
            if sink is not None and name == self._sink_name:
                try:
                    if sink(decode(data), outputs):
                        continue
                except DECODE_ERRORS:
                    pass  # not what its name says; read below with more patience
            self._stream_event(name, data, outputs)
            sink, decode = self._sink, self._decode
        if self._decoder.error is not None:
            outputs += self._stream.fail(self._decoder.error)
        return outputs

    def _stream_event(self, name: bytes, data: bytes, outputs: list[StreamOutput]) -> None:
        """Reads one event of any type, and asks the adapter how to read more of the same."""
        self.started = True
        try:
            event = self._decode_any(data)
            event["type"]
        except DECODE_ERRORS:
            event = self._decode_again(name, data)
        self._terminated = event is _NOTHING and data.strip() == _DONE
        if type(event) is dict:
            self._stream.feed_into(event, outputs)
        elif event is not _NOTHING:
            outputs += self._not_an_object(data)
        self._sink = None
        sink = self._stream.sink
        if sink is not None and type(event) is dict and not self._stream.finished:
            decode = self._frequent.get(event["type"])
            if decode is not None:
                self._sink, self._sink_name, self._decode = sink, name, decode

    def _decode_again(self, name: bytes, data: bytes) -> object:
        """Reads what the fast decoder refused: lone surrogates, broken UTF-8, `[DONE]`, no type, or no JSON at all."""
        if data.strip() in _NOTHINGS:
            return _NOTHING
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


_NOTHING: Final = object()

_DONE: Final = b"[DONE]"

_NOTHINGS: Final = frozenset({b"", _DONE})
"""No events of the response. OpenRouter sends both too early, others leave `[DONE]` out: facts 7.2."""
