"""Chunks as real servers send them, and every way to feed them: what a stream means must not depend on the way."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from partstream.conversation.thinking import open_response
from partstream.lm.outputs import StreamOptions, StreamOutput
from partstream.protocols.chat_completions.read_response import ChatCompletionsStream
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.reader import StreamReader
from protocols.feeding import assert_all_give, read_pieces
from protocols.openresponses.wire import Event, Result, check

PLAIN = StreamOptions(call_id_prefix="")
DONE = b"[DONE]"
FRAMINGS = {framing.name: framing for framing in PROTOCOLS["chat-completions"].framings}


def chunk(delta: Any = None, finish: Any = None, index: Any = 0, **fields: Any) -> Event:
    """A chunk with one choice; `fields` stand beside the choices."""
    choice = {"index": index, "delta": {} if delta is None else delta, "finish_reason": finish}
    return {"id": "c-1", "object": "chat.completion.chunk", "model": "m-1", "choices": [choice], **fields}


def said(text: Any, **delta: Any) -> Event:
    return chunk({"content": text, **delta})


def thought(text: Any, field: str = "reasoning_content") -> Event:
    return chunk({field: text})


def call(index: Any = 0, call_id: Any = None, name: Any = None, arguments: Any = None, **fields: Any) -> Event:
    """An element of `tool_calls`; what is None is left out."""
    function = {"name": name, "arguments": arguments}
    element = {
        "index": index,
        "id": call_id,
        "function": {field: value for field, value in function.items() if value is not None},
        **fields,
    }
    return {field: value for field, value in element.items() if value is not None}


def calls(*elements: Event) -> Event:
    return chunk({"tool_calls": list(elements)})


def finished(word: Any = "stop", **fields: Any) -> Event:
    return chunk({}, word, **fields)


def usage(given: int = 7, made: int = 3, **fields: Any) -> Event:
    counts = {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made} | fields
    return {"id": "c-1", "choices": [], "usage": counts}


def document(message: Any, finish: Any = "stop", **fields: Any) -> Event:
    """A whole answer in one document."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "c-1", "object": "chat.completion", "model": "m-1", "choices": [choice], **fields}


def sse(events: Iterable[Event | bytes]) -> list[bytes]:
    """Each chunk as the bytes of a server-sent event."""
    data = (one if isinstance(one, bytes) else json.dumps(one).encode() for one in events)
    return [b"data: " + one + b"\n\n" for one in data]


def read_bytes(pieces: Iterable[bytes], options: StreamOptions = PLAIN, framing: str = "sse") -> Result:
    return read_pieces(StreamReader("chat-completions", options, framing=FRAMINGS[framing]), pieces)


def read_events(events: Iterable[Event | bytes], options: StreamOptions = PLAIN) -> Result:
    """Reads chunks as objects; `[DONE]` says that they are whole."""
    stream = open_response(ChatCompletionsStream, options)
    outputs: list[StreamOutput] = []
    whole = False
    for one in events:
        if isinstance(one, bytes):
            whole = True
            break
        outputs += stream.feed(one)
    return check(Result(outputs + stream.end(whole=whole)))


def read(events: Sequence[Event | bytes], **options: Any) -> Result:
    """Reads the chunks in every way that there is, which must not make a difference."""
    settings = StreamOptions(**{"call_id_prefix": "", **options})
    framed = sse(events)
    lines = b"".join((one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n" for one in events)
    result = read_events(events, settings)
    ways = {
        "an event a piece": read_bytes(framed, settings),
        "whole": read_bytes([b"".join(framed)], settings),
        "byte by byte": read_bytes((bytes((byte,)) for byte in b"".join(framed)), settings),
        "JSON lines": read_bytes([lines], settings, "jsonl"),
        "lines of JSON in a stream": read_bytes([lines], settings),
    }
    assert_all_give(result, ways)
    return result


def answered(*events: Event, **options: Any) -> Result:
    """Reads an answer that ends as OpenAI's do."""
    return read([*events, finished(), DONE], **options)
