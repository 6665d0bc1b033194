"""Events as real servers send them, and every way to feed them: what a stream means must not depend on the way."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from partstream.lm.outputs import StreamOptions
from partstream.protocols.anthropic_messages.read_response import MessagesStream
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.reader import StreamReader
from protocols.feeding import assert_all_give, read_objects, read_pieces
from protocols.openresponses.wire import Event, Result

PLAIN = StreamOptions(call_id_prefix="")
FRAMINGS = {framing.name: framing for framing in PROTOCOLS["anthropic-messages"].framings}
OMIT: Any = object()
"""As a field's value: the field is left out."""


def event(kind: str, **fields: Any) -> Event:
    return {"type": kind, **{name: value for name, value in fields.items() if value is not OMIT}}


def started(*content: Event, **fields: Any) -> Event:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m-1",
        "content": list(content),
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 1},
    } | fields
    return event("message_start", message={name: value for name, value in message.items() if value is not OMIT})


def opened(kind: str, index: Any = 0, **fields: Any) -> Event:
    block = {"type": kind, **fields}
    block = {name: value for name, value in block.items() if value is not OMIT}
    return event("content_block_start", index=index, content_block=block)


def delta(kind: str, index: Any = 0, **fields: Any) -> Event:
    return event("content_block_delta", index=index, delta={"type": kind, **fields})


def closed(index: Any = 0) -> Event:
    return event("content_block_stop", index=index)


def text(*pieces: str, index: Any = 0) -> list[Event]:
    """A whole block of text."""
    return [opened("text", index, text=""), *(delta("text_delta", index, text=one) for one in pieces), closed(index)]


def thinking(*pieces: str, signature: str = "", index: Any = 0) -> list[Event]:
    """A whole block of thinking."""
    events = [opened("thinking", index, thinking="", signature="")]
    events += (delta("thinking_delta", index, thinking=one) for one in pieces)
    events += [delta("signature_delta", index, signature=signature)] if signature else []
    return [*events, closed(index)]


def call(*pieces: str, call_id: Any = "toolu_1", name: Any = "look_up", index: Any = 0, **fields: Any) -> list[Event]:
    """A whole call of a tool."""
    start = opened(fields.pop("kind", "tool_use"), index, **({"id": call_id, "name": name, "input": {}} | fields))
    return [start, *(delta("input_json_delta", index, partial_json=one) for one in pieces), closed(index)]


def stopped(reason: Any = "end_turn", usage: Any = OMIT, about: Any = OMIT, **fields: Any) -> Event:
    said = {"stop_reason": reason, "stop_sequence": None} | fields
    return event("message_delta", delta=said, usage=usage, context_management=about)


STOP: Event = {"type": "message_stop"}
PING: Event = {"type": "ping"}


def answer(*blocks: Event | list[Event], reason: Any = "end_turn", usage: Any = OMIT) -> list[Event]:
    """A whole answer with these blocks."""
    flat: list[Event] = [started()]
    for one in blocks:
        flat += one if isinstance(one, list) else [one]
    return [*flat, stopped(reason, usage), STOP]


def sse(events: Iterable[Event], named: bool = True) -> list[bytes]:
    """Each event as the bytes of a server-sent event."""
    return [
        (b"event: " + str(one["type"]).encode() + b"\n" if named and "type" in one else b"")
        + b"data: "
        + json.dumps(one).encode()
        + b"\n\n"
        for one in events
    ]


def read_bytes(pieces: Iterable[bytes], options: StreamOptions = PLAIN, framing: str = "sse") -> Result:
    return read_pieces(StreamReader("anthropic-messages", options, framing=FRAMINGS[framing]), pieces)


def read_events(events: Iterable[Event], options: StreamOptions = PLAIN) -> Result:
    return read_objects(MessagesStream, events, options)


def read(events: Sequence[Event], **options: Any) -> Result:
    """Reads the events in every way that there is, which must not make a difference."""
    settings = StreamOptions(**{"call_id_prefix": "", **options})
    named, bare = sse(events), sse(events, named=False)
    lines = b"".join(json.dumps(one).encode() + b"\n" for one in events)
    result = read_events(events, settings)
    ways = {
        "an event a piece": read_bytes(named, settings),
        "whole": read_bytes([b"".join(named)], settings),
        "without names": read_bytes(bare, settings),
        "byte by byte": read_bytes((bytes((byte,)) for byte in b"".join(named)), settings),
        "JSON lines": read_bytes([lines], settings, "jsonl"),
        "lines of JSON in a stream": read_bytes([lines], settings),
    }
    assert_all_give(result, ways)
    return result
