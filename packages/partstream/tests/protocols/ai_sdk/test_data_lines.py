"""The lines of version 4's data stream as chunks, however they are cut, and whatever else they hold."""

import json

from partstream.errors import EventTooLargeError, UpstreamProtocolError
from partstream.protocols.ai_sdk import CODES, DataStreamDecoder
from partstream.protocols.ai_sdk.read_response import CHUNKS
from protocols.ai_sdk.wire import read_framed
from rows import one_test_for

LINES = {
    b'0:"Hi"': {"type": "text-delta", "textDelta": "Hi"},
    b'2:[{"a":1}]': {"type": "data-data", "data": [{"a": 1}]},
    b'3:"no"': {"type": "error", "error": "no"},
    b"8:[1]": {"type": "message-annotations", "value": [1]},
    b'9:{"toolCallId":"c"}': {"type": "tool-call", "toolCallId": "c"},
    b'd:{"finishReason":"stop"}': {"type": "finish", "finishReason": "stop"},
    b"e:{}": {"type": "step-finish"},
    b'f: { "messageId" : "m" } ': {"type": "step-start", "messageId": "m"},
    b'g:"hm"': {"type": "reasoning", "textDelta": "hm"},
    b"z:[1]": {"type": "z", "value": [1]},
}


@one_test_for(("line", "chunk"), LINES.items())
@one_test_for("end", [b"\n", b"\r\n", b""])
def test_a_line_is_the_chunk_that_its_code_stands_for(line: bytes, chunk: dict[str, object], end: bytes) -> None:
    for pieces in ([line + end], [bytes((byte,)) for byte in line + end]):
        decoder = DataStreamDecoder()
        events = [event for piece in pieces for event in decoder.feed(piece)] + decoder.end()
        assert [(name, json.loads(data)) for name, data in events] == [(b"", chunk)]


def test_every_code_is_a_chunk_that_is_known_or_data() -> None:
    kinds = {json.loads(opening.split(b",")[0].removesuffix(b"}") + b"}")["type"] for opening, _ in CODES.values()}
    assert kinds - set(CHUNKS) == {"data-data", "message-annotations"}


@one_test_for("line", [b"hello", b"0:nonsense", b"9:7", b"0", b"12:3", b":", b'"0":1'])
def test_a_line_that_is_none_of_this_stream_is_a_clear_error(line: bytes) -> None:
    result = read_framed([b'0:"Hi"\n' + line + b"\n"], "ai-sdk-data")
    assert result.text == "Hi"
    assert isinstance(result.finish.error, UpstreamProtocolError)


def test_a_line_over_the_size_limit_is_an_error() -> None:
    decoder = DataStreamDecoder(10)
    assert decoder.feed(b'0:"0123456789"\n') == []
    assert isinstance(decoder.error, EventTooLargeError)
