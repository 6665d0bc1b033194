"""Exchanges as a server of the default protocol has them, for tests of what reads and replays them."""

from dataclasses import replace
from typing import Any

from partstream.codec.json_codec import dumps
from partstream_devtools.bundles.exchange import (
    Chunk,
    ExchangeEnd,
    HowEnded,
    RecordedExchange,
    RecordedRequest,
    ResponseHead,
)
from partstream_devtools.testing.admission import scenario_events

TOOL = {"type": "function", "name": "get_weather", "parameters": {"properties": {"city": {"type": "string"}}}}
ASKED = {"model": "m", "input": "The weather in Lisbon?", "tools": [TOOL], "stream": True}
REQUEST = RecordedRequest("POST", "/v1/responses", headers=(("content-type", "application/json"),), body=dumps(ASKED))
STREAM = ResponseHead(1_000_000, 200, "OK", (("Content-Type", "text/event-stream"),))


def stream_of(events: list[dict[str, Any]]) -> bytes:
    """Events as a server sends them."""
    return b"".join(b"event: %s\ndata: %s\n\n" % (one["type"].encode(), dumps(one)) for one in events)


BODY = stream_of(scenario_events("tools", ASKED))


def chunks_of(body: bytes, size: int = 700) -> tuple[Chunk, ...]:
    """The body in reads that break lines, a tenth of a millisecond after each other."""
    starts = range(0, len(body), size)
    return tuple(Chunk(2_000_000 + n * 100_000, body[at : at + size]) for n, at in enumerate(starts))


def recorded_exchange(number: int = 1, body: bytes = BODY, **changes: Any) -> RecordedExchange:
    """An exchange with two tool calls, of the answer 1."""
    whole = ExchangeEnd(9_000_000, HowEnded.WHOLE)
    exchange = RecordedExchange(number, 1, None, None, REQUEST, STREAM, chunks_of(body), whole)
    return replace(exchange, **changes)


REFUSED = recorded_exchange(
    head=ResponseHead(5, 429, "Too Many Requests", (("content-type", "application/json"), ("retry-after", "0"))),
    chunks=(Chunk(6, b'{"error": {"message": "Slow down.", "code": "rate_limit_exceeded"}}'),),
)
"""The first attempt at the answer 1."""
