"""Streams that are meant to do harm: each is one answer, the same in every way of reading, or one typed error."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fuzzing.properties import in_words
from partstream.codec.json_codec import FAST, MOST_LEVELS, nests_too_deeply
from partstream.errors import ToolArgumentsError, UpstreamProtocolError
from partstream.lm.outputs import CitationMode, Finish, Outcome, StreamOptions, StreamOutput
from partstream.lm.parts import DataPart, TextPart, ToolCallPart
from partstream.protocols.protocol import JSON_LINES, PROTOCOLS, known_framings
from partstream.protocols.reader import StreamReader
from rows import one_test_for

DELTA = b'"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"%s"'


def _read(pieces: list[bytes], protocol: str = "openresponses", framing: str = "sse", **options: Any) -> list[Any]:
    reader = StreamReader(protocol, StreamOptions(**options), framing=known_framings()[framing])
    return [output for piece in pieces for output in reader.feed(piece)] + reader.end()


def _text(outputs: list[StreamOutput]) -> str:
    return "".join(output.value for output in outputs if isinstance(output, TextPart))


def _event(inside: bytes) -> bytes:
    return b"data: {" + inside + b"}\n\n"


def _said(text: bytes, more: bytes = b"") -> bytes:
    return _event(DELTA % text + more)


COMPLETED = _event(b'"type":"response.completed","response":{"output":[]}')


# ---- carriage returns in lines ----

LINES = {
    ("ai-sdk", "jsonl"): [
        b'{"type":"text-delta","id":"0","text":"a"}\n',
        b'{"type":"text-delta","id":"0","text":"b"}\n',
        b'{"type":"text-delta",\r"id":"0","text":"c"}\n',
        b'\r{"type":"text-delta","id":"0",\r\r"text":"d"}\r\r\n',
        b'{"type":"finish","finishReason":"stop"}\r\n',
    ],
    ("ai-sdk-data", "data"): [
        b'0:"a"\n',
        b'0:"b"\n',
        b'0:\r"c"\r\n',
        b'0:"d"\r\r\n',
        b'd:{"finishReason":\r"stop"}\n',
    ],
}


@pytest.mark.parametrize(("wire", "lines"), LINES.items(), ids=str)
def test_a_carriage_return_in_a_line_is_a_blank_wherever_the_bytes_are_cut(
    wire: tuple[str, str], lines: list[bytes]
) -> None:
    data = b"".join(lines)
    expected = in_words(_read([data], *wire))
    assert _text(_read([data], *wire)) == "abcd"
    assert in_words(_read(lines, *wire)) == expected
    for place in range(len(data)):
        assert in_words(_read([data[:place], data[place:]], *wire)) == expected


# ---- the same with msgspec and without ----

SAME_EVERYWHERE: dict[str, tuple[bytes, str | None]] = {
    "no type": (_event(b'"output_index":0,"content_index":0,"delta":"b"'), None),
    "a type that is no string": (_event(b'"type":7,"delta":"b"'), None),
    "another type behind the first": (_said(b"b", b',"type":"response.in_progress"'), "ac"),
    "another type before": (_event(b'"type":"response.in_progress",' + DELTA % b"b"), "abc"),
    "an escaped name": (_said(b"b").replace(b'"type"', rb'"\u0074ype"'), "abc"),
    "a huge integer in an unread field": (_said(b"b", b',"x":' + b"9" * 5000), "abc"),
    "a huge negative integer": (_said(b"b", b',"x":-' + b"9" * 5000), "abc"),
    "a huge integer for an index": (_said(b"b", b',"sequence_number":' + b"9" * 5000), "abc"),
    "a huge integer for the text": (_said(b"b", b',"delta":' + b"9" * 5000), None),
    "an integer of 4,300 digits": (_said(b"b", b',"x":' + b"9" * 4300), "abc"),
    "a huge exponent": (_said(b"b", b',"x":1e999'), "abc"),
    "NaN": (_said(b"b", b',"x":NaN'), "abc"),
    "half of a surrogate pair": (_said(b"b", rb',"x":"\ud83d"'), "abc"),
    "bytes that are no UTF-8": (_said(b"b", b',"x":"\xff"'), "abc"),
    "a name that is no UTF-8": (_said(b"b", b',"\xff":1'), "abc"),
    "the text twice": (_said(b"x", b',"delta":"b"'), "abc"),
    "a control character": (_said(b"b", b',"x":"\x01"'), None),
    "levels as many as allowed": (_said(b"b", b',"x":' + b"[" * 255 + b"]" * 255), "abc"),
    "a level more": (_said(b"b", b',"x":' + b"[" * 256 + b"]" * 256), None),
    "as many as the stack hardly holds": (_said(b"b", b',"x":' + b"[" * 900 + b"]" * 900), None),
    "levels that a later field replaces": (_event(b'"delta":' + b"[" * 900 + b"]" * 900 + b"," + DELTA % b"b"), None),
}
"""What an event between two deltas holds, and the text of the answer; None for one that fails."""


def _text_with(event: bytes) -> str | None:
    outputs = _read([_said(b"a"), event, _said(b"c"), COMPLETED])
    return None if isinstance(outputs[-1].error, UpstreamProtocolError) else _text(outputs)


@one_test_for(("event", "text"), SAME_EVERYWHERE.values(), ids=SAME_EVERYWHERE)
def test_an_odd_event_means_the_same_in_every_way_of_reading(event: bytes, text: str | None) -> None:
    assert _text_with(event) == text
    whole = [_said(b"a"), event, _said(b"c"), COMPLETED]
    assert in_words(_read([b"".join(whole)])) == in_words(_read(whole))


def test_without_the_optional_library_everything_above_holds() -> None:
    if not FAST:
        pytest.skip("msgspec is not installed: everything above ran without it")
    code = "import sys; sys.modules['msgspec'] = None; import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    chosen = "same_in_every_way or numbers"
    plugins = ["-p", "no:cacheprovider", "-p", "no:hub.stores"]  # the hub's stores need the library
    command = [sys.executable, "-c", code, "-q", *plugins, "-n", "0", "-k", chosen, str(Path(__file__))]
    run = subprocess.run(
        command, capture_output=True, text=True, timeout=50, check=False, cwd=Path(__file__).resolve().parents[4]
    )
    assert run.returncode == 0, run.stdout


# ---- levels without end ----

FIELDS: dict[str, str] = {
    "a text": '{"type":"response.output_text.delta","delta":%s}',
    "the type": '{"type":%s}',
    "the response": '{"type":"response.created","response":%s}',
    "arguments": '{"type":"response.output_item.done","output_index":0,"item":'
    '{"type":"function_call","call_id":"c","name":"n","arguments":{"a":%s}}}',
    "a citation": '{"type":"response.output_text.annotation.added","annotation":'
    '{"type":"url_citation","url":"http://a","x":%s}}',
    "the snapshot": '{"type":"response.completed","response":{"output":%s}}',
    "usage": '{"type":"response.completed","response":{"usage":{"input_tokens":%s},"output":[]}}',
    "an error": '{"type":"error","error":%s}',
    "an unknown event": '{"type":"acme:event","x":%s}',
}
CHUNKS: dict[str, str] = {
    "a text": '{"type":"text-delta","text":%s}',
    "an input": '{"type":"tool-call","toolCallId":"c","toolName":"n","input":%s}',
    "an input that is an object": '{"type":"tool-call","toolCallId":"c","toolName":"n","input":{"a":%s}}',
    "metadata": '{"type":"reasoning-start","id":"1","providerMetadata":{"a":{"b":%s}}}',
    "an error": '{"type":"error","error":{"cause":%s}}',
    "data": '{"type":"data-x","data":%s}',
    "a source": '{"type":"source","source":{"url":"http://a","id":"1","x":%s}}',
    "a file": '{"type":"file","file":{"data":%s}}',
    "what was thrown": '{"$thrown_by_iterator":%s}',
}
MESSAGES: dict[str, str] = {
    "a text": '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}',
    "a block": '{"type":"content_block_start","index":0,"content_block":%s}',
    "an input": '{"type":"content_block_start","index":1,"content_block":'
    '{"type":"tool_use","id":"c","name":"n","input":%s}}',
    "a citation": '{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"x":%s}}}',
    "usage": '{"type":"message_delta","delta":{},"usage":{"input_tokens":%s}}',
    "a whole message": '{"type":"message_start","message":{"content":%s}}',
    "an error": '{"type":"error","error":%s}',
}
CANDIDATES: dict[str, str] = {
    "a text": '{"candidates":[{"content":{"parts":[{"text":%s}]}}]}',
    "arguments": '{"candidates":[{"content":{"parts":[{"functionCall":{"name":"n","args":{"a":%s}}}]}}]}',
    "arguments in pieces": '{"candidates":[{"content":{"parts":[{"functionCall":{"name":"n","partialArgs":%s}}]}}]}',
    "a part": '{"candidates":[{"content":{"parts":[%s]}}]}',
    "sources": '{"candidates":[{"groundingMetadata":{"groundingChunks":%s}}]}',
    "usage": '{"usageMetadata":{"promptTokenCount":%s}}',
    "an error": '{"error":{"details":%s}}',
}
MESSAGE_LINES: dict[str, str] = {
    "a text": '{"model":"m","message":{"content":%s},"done":false}',
    "arguments": '{"model":"m","message":{"tool_calls":[{"function":{"name":"n","arguments":{"a":%s}}}]},"done":false}',
    "pictures": '{"model":"m","message":{"images":%s},"done":false}',
    "tokens": '{"model":"m","message":{},"done":true,"eval_count":%s}',
    "an error": '{"error":%s}',
}
DEPTHS = (100, 250, 500, *range(940, 1000, 3), 5000)


@pytest.mark.parametrize(
    ("protocol", "fields"),
    [
        ("openresponses", FIELDS),
        ("ai-sdk", CHUNKS),
        ("anthropic-messages", MESSAGES),
        ("gemini", CANDIDATES),
        ("ollama", MESSAGE_LINES),
    ],
)
@pytest.mark.parametrize("mode", [CitationMode.DATA, CitationMode.INLINE])
def test_levels_without_end_are_outputs_or_one_typed_error_in_any_field(
    protocol: str, fields: dict[str, str], mode: CitationMode
) -> None:
    for form in fields.values():
        for depth in DEPTHS:
            for opens, closes in (("[", "]"), ('{"a":', "}")):
                value = opens * depth + ("1" if opens != "[" else "") + closes * depth
                framing = PROTOCOLS[protocol].framings[0]
                line = (form % value).encode()
                piece = line + b"\n" if framing is JSON_LINES else b"data: " + line + b"\n\n"
                outputs = _read([piece, piece], protocol, framing.name, citations=mode)
                assert isinstance(outputs[-1], Finish)
                if depth > MOST_LEVELS:
                    assert isinstance(outputs[-1].error, UpstreamProtocolError), form


def _from_depth(frames: int, read: Callable[[], Any]) -> Any:
    return read() if frames == 0 else _from_depth(frames - 1, read)


@pytest.mark.parametrize("levels", [MOST_LEVELS - 1, MOST_LEVELS + 1, 900])
def test_how_many_levels_are_read_does_not_depend_on_the_stack_of_the_caller(levels: int) -> None:
    events = [_said(b"a"), _said(b"b", b',"x":' + b"[" * levels + b"]" * levels), COMPLETED]
    expected = in_words(_read(events))
    assert in_words(_from_depth(400, lambda: _read(events))) == expected
    assert ("of at most 256 levels" in expected[-1]) == (levels >= MOST_LEVELS)


def test_a_caller_that_leaves_hardly_any_stack_gets_one_typed_error() -> None:
    """Somewhere between a stack that is enough and one that is not even enough to call `feed`."""
    events = [_said(b"a"), _said(b"b", b',"x":' + b"[" * 200 + b"]" * 200), COMPLETED]
    outcomes = set()
    for frames in range(500, 990, 10):
        reader = StreamReader("openresponses")
        try:
            outputs = _from_depth(frames, lambda reader=reader: [one for event in events for one in reader.feed(event)])
        except RecursionError:
            break
        assert isinstance(outputs[-1], Finish)
        outcomes.add(outputs[-1].outcome)
    assert outcomes == {Outcome.COMPLETED, Outcome.FAILED}


@one_test_for("levels", [MOST_LEVELS, MOST_LEVELS + 1, 900, 100_000])
@one_test_for("protocol", ["openresponses", "ai-gateway", "anthropic-messages"])
def test_arguments_that_nest_too_deeply_are_an_error_and_no_call(protocol: str, levels: int) -> None:
    text = '{"a":' + "[" * (levels - 1) + "]" * (levels - 1) + "}"
    call = {
        "openresponses": {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": {"type": "function_call", "call_id": "c", "name": "n", "arguments": text},
        },
        "ai-gateway": {"type": "tool-call", "toolCallId": "c", "toolName": "n", "input": text},
        "anthropic-messages": {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": text},
        },
    }[protocol]
    opened = {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "tool_use", "id": "c", "name": "n", "input": {}},
    }
    last = {
        "openresponses": {"type": "response.completed", "response": {"output": []}},
        "ai-gateway": {"type": "finish", "finishReason": "tool-calls", "usage": {}},
        "anthropic-messages": {"type": "message_stop"},
    }[protocol]
    events = [*([opened] if protocol == "anthropic-messages" else []), call, last]
    outputs = _read([b"data: " + json.dumps(event).encode() + b"\n\n" for event in events], protocol)
    calls = [output for output in outputs if isinstance(output, ToolCallPart)]
    if levels <= MOST_LEVELS:
        assert len(calls) == 1
    else:
        assert calls == []
        assert isinstance(outputs[-1].error, ToolArgumentsError)


@one_test_for(
    ("text", "too_deep"),
    [
        (b"[" * 256 + b"]" * 256, False),
        (b"[" * 257 + b"]" * 257, True),
        (b'{"a":' * 257 + b"1" + b"}" * 257, True),
        (b'"' + b"[" * 999 + b'"', False),
        (b'["\\"' + b"[" * 999 + b'"]', False),
        (b'["\\\\",' + b"[" * 999, True),
        (b"[[]," + b"[]," * 999 + b"[]]", False),
        ("[" * 999, True),
        ('"\ud83d' + "[" * 999 + '"', False),
    ],
)
def test_the_levels_of_a_text_are_counted_outside_of_strings(text: bytes | str, too_deep: bool) -> None:
    assert nests_too_deeply(text) is too_deep


# ---- values that no JSON holds ----


@pytest.mark.parametrize("value", [b"NaN", b"1e999", b"-Infinity", b"9" * 5000], ids=lambda value: value[:9].decode())
def test_numbers_that_no_json_holds_are_in_no_part(value: bytes) -> None:
    annotation = b'"type":"response.output_text.annotation.added","output_index":0,"content_index":0,"annotation":'
    source = b'{"type":"url_citation","url":"https://e.org/a","start_index":%s}' % value
    item = b'{"type":"function_call","call_id":"c","name":"n","arguments":{"a":%s}}' % value
    events = [
        _said(b"a"),
        _event(annotation + source),
        _event(b'"type":"response.output_item.done","output_index":1,"item":' + item),
        COMPLETED,
    ]
    outputs = _read(events, citations=CitationMode.DATA)
    assert not any(isinstance(output, ToolCallPart) for output in outputs)
    (citation,) = (json.loads(output.data) for output in outputs if isinstance(output, DataPart))
    assert "startIndex" not in citation
    assert isinstance(outputs[-1].error, ToolArgumentsError)
