"""Chunks as real servers send them, and every way to feed them: what a stream means must not depend on the way."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from partstream.conversation.provider_state import ITEMS
from partstream.lm.outputs import StreamOptions
from partstream.lm.parts import ThinkingPart
from partstream.protocols.gemini.read_response import GeminiResponseReader
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.reader import StreamReader
from protocols.feeding import assert_all_give, read_objects, read_pieces
from protocols.openresponses.wire import Event, Result

PLAIN = StreamOptions(call_id_prefix="")
FRAMINGS = {framing.name: framing for framing in PROTOCOLS["gemini"].framings}


def chunk(*parts: Any, finish: Any = None, **fields: Any) -> Event:
    """A chunk with one candidate; `fields` stand beside the candidates, `candidate` in it."""
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0} | fields.pop("candidate", {})
    candidate |= {} if finish is None else {"finishReason": finish}
    return {"candidates": [candidate], "modelVersion": "m-1", "responseId": "r-1", **fields}


def said(text: Any, **modifiers: Any) -> Event:
    return {"text": text, **modifiers}


def thought(text: Any, **modifiers: Any) -> Event:
    return {"text": text, "thought": True, **modifiers}


def call(name: str = "look_up", signature: Any = None, **fields: Any) -> Event:
    part: Event = {"functionCall": {"name": name, **fields}}
    return part if signature is None else part | {"thoughtSignature": signature}


def usage(given: Any = 7, made: Any = 3, thoughts: Any = None, **fields: Any) -> Event:
    counts = {"promptTokenCount": given, "candidatesTokenCount": made, "thoughtsTokenCount": thoughts}
    total = sum(count for count in counts.values() if count is not None)
    return {name: count for name, count in (counts | {"totalTokenCount": total} | fields).items() if count is not None}


def stop(finish: Any = "STOP", **fields: Any) -> Event:
    """The last chunk, without a part."""
    return {"candidates": [{"finishReason": finish, "index": 0}], "usageMetadata": usage(), **fields}


def sse(events: Iterable[Event]) -> list[bytes]:
    """Each chunk as the bytes of a server-sent event, as Google's servers write it."""
    return [b"data: " + json.dumps(one).encode() + b"\r\n\r\n" for one in events]


def array(events: Iterable[Event]) -> bytes:
    """The chunks as one JSON array, as Google's servers write it where events were not asked for."""
    return b"[" + b"\n,\r\n".join(json.dumps(one, indent=2).encode() for one in events) + b"\n]\n"


def read_bytes(pieces: Iterable[bytes], options: StreamOptions = PLAIN, framing: str = "sse") -> Result:
    return read_pieces(StreamReader("gemini", options, framing=FRAMINGS[framing]), pieces)


def read_events(events: Iterable[Event], options: StreamOptions = PLAIN) -> Result:
    return read_objects(GeminiResponseReader, events, options)


def read(events: Sequence[Event], **options: Any) -> Result:
    """Reads the chunks in every way that there is, which must not make a difference."""
    settings = StreamOptions(**{"call_id_prefix": "", **options})
    framed = sse(events)
    lines = b"".join(json.dumps(one).encode() + b"\n" for one in events)
    result = read_events(events, settings)
    ways = {
        "an event a piece": read_bytes(framed, settings),
        "whole": read_bytes([b"".join(framed)], settings),
        "byte by byte": read_bytes((bytes((byte,)) for byte in b"".join(framed)), settings),
        "JSON lines": read_bytes([lines], settings, "jsonl"),
        "an array": read_bytes([array(events)], settings),
        "an array by byte": read_bytes((bytes((byte,)) for byte in array(events)), settings),
    }
    assert_all_give(result, ways)
    return result


def carried(result: Result) -> list[Event]:
    """What the answer carries: the items of its last metadata, without their type."""
    listed = [one.metadata[ITEMS] for one in result.outputs if isinstance(one, ThinkingPart) and one.metadata]
    return [{name: value for name, value in item.items() if name != "type"} for item in (listed or [[]])[-1]]
