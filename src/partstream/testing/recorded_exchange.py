"""A recorded exchange as the steps of the server that sent it: the same bytes in the same writes, at any pace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.devtools.bundles.exchange import HowEnded, content_of
from partstream.devtools.recorded_stream import RecordingError
from partstream.testing.steps import End, EndKind, Head, Send, Stall, Until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.codec.sse import EventDecoder
    from partstream.devtools.bundles.exchange import RecordedExchange
    from partstream.testing.steps import Step

__all__ = ["steps_of"]

_NANOSECONDS: Final = 1e9
_OF_THE_CONNECTION: Final = frozenset(
    {"connection", "content-length", "date", "keep-alive", "server", "set-cookie", "te", "trailer", "transfer-encoding"}
)
"""Header fields that the connection of a replay has of its own, or that belong to the person who was answered."""
_OUR_LIMIT: Final = "UpstreamTimeoutError"
"""The error of a client that waited no longer: its server said nothing."""


def steps_of(exchange: RecordedExchange, pace: float) -> tuple[Step, ...]:
    """The steps of the reply of an exchange.

    Args:
        exchange: The exchange.
        pace: How many times as fast as it was recorded; 0 for at once. What has no time is sent at once.
    """
    return tuple(_steps(exchange, pace))


def _steps(exchange: RecordedExchange, pace: float) -> Iterator[Step]:
    start = 0 if exchange.request is None else exchange.request.sent_at or 0
    head, end = exchange.head, exchange.end
    if end.how is not HowEnded.NO_RESPONSE:
        yield from _until(None if head is None else head.at, start, pace)
        yield Head(200 if head is None else head.status, _headers(exchange))
    decoder = _decoder_of(exchange)
    for chunk in exchange.chunks:
        yield from _until(chunk.at, start, pace)
        yield Send(chunk.data, whole=0 if decoder is None else len(list(decoder.feed(chunk.data))))
    if end.error is not None and end.error.type == _OUR_LIMIT:
        yield Stall()
    yield from _until(end.at, start, pace)
    yield _END[end.how]


_END: Final = {
    HowEnded.WHOLE: End(),
    HowEnded.CUT: End(EndKind.CLOSED),
    HowEnded.CANCELLED: End(EndKind.CLOSED),
    HowEnded.NO_RESPONSE: End(EndKind.RESET),
}


def _decoder_of(exchange: RecordedExchange) -> EventDecoder | None:
    """What tells the events of a stream apart, to count them; None for what is no stream of a known protocol."""
    try:
        framing = content_of(exchange, "").framing
    except RecordingError:
        return None
    return None if framing is None else framing.make_decoder()


def _until(at: int | None, start: int, pace: float) -> Iterator[Step]:
    if at is not None and pace and at > start:
        yield Until((at - start) / _NANOSECONDS / pace)


def _headers(exchange: RecordedExchange) -> tuple[tuple[str, str], ...]:
    if exchange.head is None:
        return ()
    return tuple(
        (name, value)
        for name, value in exchange.head.headers
        if name.lower() not in _OF_THE_CONNECTION and _is_sendable(name) and _is_sendable(value)
    )


def _is_sendable(text: str) -> bool:
    """Whether HTTP can carry a text: a recording from a stranger may hold anything."""
    return text.isprintable() and text.isascii()
