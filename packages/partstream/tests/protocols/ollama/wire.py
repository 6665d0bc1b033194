"""Lines as Ollama sends them, and every way to feed them: what a stream means must not depend on the way."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from partstream.lm.outputs import StreamOptions
from partstream.protocols.ollama.read_response import OllamaStream
from partstream.protocols.reader import StreamReader
from protocols.feeding import assert_all_give, read_objects, read_pieces
from protocols.openresponses.wire import Event, Result, check

PLAIN = StreamOptions(call_id_prefix="")


def line(message: Any = None, **fields: Any) -> Event:
    """A line that is not the last one; `fields` stand beside the message."""
    said = {"role": "assistant", "content": "", **({} if message is None else message)}
    return {"model": "m-1", "created_at": "2026-08-21T20:22:19.184789Z", "message": said, "done": False, **fields}


def said(text: Any, **message: Any) -> Event:
    return line({"content": text, **message})


def thought(text: Any) -> Event:
    return line({"thinking": text})


def call(name: Any = "look_up", arguments: Any = None, **fields: Any) -> Event:
    """An element of `tool_calls`; arguments that are None are left out."""
    given = {} if arguments is None else {"arguments": arguments}
    return {**fields, "function": {"index": 0, "name": name, **given}}


def calls(*elements: Event) -> Event:
    return line({"tool_calls": list(elements)})


def done(reason: Any = "stop", message: Any = None, **fields: Any) -> Event:
    counts = {"total_duration": 5, "load_duration": 1, "prompt_eval_count": 7, "eval_count": 3}
    return line(message, done=True, done_reason=reason, **counts | fields)


def as_lines(events: Iterable[Event]) -> bytes:
    return b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in events)


def read_bytes(pieces: Iterable[bytes], options: StreamOptions = PLAIN) -> Result:
    return read_pieces(StreamReader("ollama", options), pieces)


def read_events(events: Iterable[Event], options: StreamOptions = PLAIN) -> Result:
    return read_objects(OllamaStream, events, options)


def read_document(document: Event, options: StreamOptions = PLAIN) -> Result:
    reader = StreamReader("ollama", options)
    outputs = reader.feed_document(json.dumps(document).encode())
    return check(Result(outputs + reader.end()))


def read(events: Sequence[Event], **options: Any) -> Result:
    """Reads the lines in every way that there is, which must not make a difference."""
    settings = StreamOptions(**{"call_id_prefix": "", **options})
    result = read_events(events, settings)
    data = as_lines(events)
    ways = {
        "a line a piece": read_bytes(data.splitlines(keepends=True), settings),
        "whole": read_bytes([data], settings),
        "byte by byte": read_bytes((bytes((byte,)) for byte in data), settings),
        "without the last line end": read_bytes([data.rstrip(b"\n")], settings),
        "with carriage returns": read_bytes([data.replace(b"\n", b"\r\n")], settings),
    }
    assert_all_give(result, ways)
    return result
