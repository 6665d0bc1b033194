"""Damages a stream: its events, the JSON in them, and the bytes around them. The same seed gives the same stream."""

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fuzzing.sources import Source, sources
from partstream.lm.outputs import CitationMode, StreamOptions, ThinkingMode
from partstream.protocols.protocol import PROTOCOLS

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 1.0, 0.5, 1e308, 2**53, 2**63, 2**64, -(2**63) - 1, 10**30, "", "x", ".", "...!",
    "\ud83d", "\ude00", "\x00", "\u2028", "\ufeff", "\x1b[2J", "a" * 3000, [], [[]], [None], ["x"], [{}], {},
    {"type": "text"}, {"a": {}}, "{}", "[]", '{"a":1}', '{"a":NaN}', "null", "1e999", {"$undefined": True},
)  # fmt: skip
"""Values of JSON that stand where others are expected."""

TEXTS: tuple[bytes, ...] = (
    b'"\xff"', b'"\\q"', b'"\\ud800"', b'"\x01"', b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"-0", b"01",
    b"1.", b".5", b"+1", b"1E400", b"1e-400", b"9" * 400, b"9" * 4300, b"9" * 4301, b"-" + b"9" * 5000, b"[1,]",
    b'{"a":1,}', b'"\\u12"', b"'x'", b"tru", b"null", b"/*c*/1", b'"\xed\xa0\x80"', b'"\xc0\x80"',
    b'"\xf4\x90\x80\x80"', b"[" * 50 + b"]" * 50, b"[" * 255 + b"]" * 255, b"[" * 300 + b"]" * 300,
    b'{"a":' * 900 + b"1" + b"}" * 900, b"[" * 985 + b"]" * 985, b"[" * 5000 + b"]" * 5000, b'"a\tb"', b'""', b"1 2",
    b'"', b"\x00", b'{"type":"x"}', b'{"a":1,"a":2}', b'"\x7f\xc2\x85\xe2\x80\xa8"',
)  # fmt: skip
"""Texts that are no JSON, or JSON that readers differ in."""

PIECES: tuple[bytes, ...] = (
    b"\r", b"\r\n", b"\n", b"\xff", b"\xef\xbb\xbf", b"\x00", b"\xe2\x80\xa8", b"\x85", b"\x0b", b"\x0c", b"\x1c",
    b" ", b"\t", b"\xed\xa0\xbd", b"{", b"}", b'"', b"\\", b":", b"data:",
)  # fmt: skip
"""Bytes that a careless sender puts anywhere."""

BLANKS: tuple[bytes, ...] = (b"\r", b" ", b"\t", b"\r\n", b"\x0c", b"\r\r")

NO_EVENTS: tuple[bytes, ...] = (
    b"[DONE]", b"", b"null", b"1", b"[]", b'"x"', b"{}", b' {"type":"ping"} ', b"\xef\xbb\xbf{}", b"0:", b"0:1",
)  # fmt: skip

FIELDS = [
    "delta",
    "text",
    "textDelta",
    "output_index",
    "content_index",
    "summary_index",
    "item_id",
    "id",
    "item",
    "part",
    "response",
    "output",
    "status",
    "name",
    "call_id",
    "arguments",
    "toolCallId",
    "toolName",
    "input",
    "args",
    "providerMetadata",
    "type",
    "error",
    "errorText",
    "url",
    "annotations",
    "annotation",
    "usage",
    "input_tokens",
    "totalUsage",
    "encrypted_content",
    "providerExecuted",
    "invalid",
    "signature",
    "data",
]


@dataclass(frozen=True, slots=True)
class Stream:
    """A damaged stream.

    Attributes:
        protocol: How it is read.
        framing: How its events are separated.
        options: How it is rendered.
        pieces: Its bytes, an event each: what a smaller stream leaves out.
    """

    protocol: str
    framing: str
    options: StreamOptions
    pieces: tuple[bytes, ...]

    @property
    def data(self) -> bytes:
        """All bytes."""
        return b"".join(self.pieces)


def stream_of(seed: int, protocol: str | None = None) -> Stream:
    """The stream of a seed; of one protocol, or of any."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    known = [one for one in sources() if protocol in (None, one.protocol)]
    source = chance.choice(known)
    events = _damaged_order(chance, source)
    for _ in range(chance.choice((0, 1, 1, 2, 3, 6))):
        if events:
            place = chance.randrange(len(events))
            events[place] = _damaged_event(chance, events[place])
    row = PROTOCOLS[source.protocol]
    framing = chance.choice(row.framings).name
    options = StreamOptions(chance.choice([*ThinkingMode]), chance.choice([*CitationMode]))
    pieces = _sse(chance, events) if framing == "sse" else _lines(chance, events)
    if chance.random() < 0.05:
        pieces.insert(0, b"\xef\xbb\xbf")
    if pieces and chance.random() < 0.1:
        pieces = pieces[: chance.randrange(len(pieces)) + 1]
        pieces[-1] = pieces[-1][: chance.randrange(len(pieces[-1]) + 1)]
    return Stream(source.protocol, framing, options, tuple(pieces))


# ---- the order of events ----


def _damaged_order(chance: random.Random, source: Source) -> list[bytes]:
    events = list(source.events)
    if chance.random() < 0.15:
        other = chance.choice(sources()).events
        events = events[: chance.randrange(len(events) + 1)] + list(other[chance.randrange(len(other)) :])
    if len(events) > 40 and chance.random() < 0.7:
        start = chance.randrange(len(events) - 30)
        events = [*events[:4], *events[start : start + 25], *events[-5:]]
    if chance.random() < 0.1:
        events = _turns(chance, events, list(chance.choice(sources()).events))
    if chance.random() < 0.1:
        name = chance.choice(FIELDS).encode()
        events = [re.sub(rb'"%s":[^,{}\[\]"]*,|"%s":"[^"]*",' % (name, name), b"", event) for event in events]
    for _ in range(chance.choice((0, 0, 1, 1, 2, 4))):
        if events:
            chance.choice(_ORDERS)(chance, events)
    return events


def _turns(chance: random.Random, one: list[bytes], other: list[bytes]) -> list[bytes]:
    """The events of two streams, each in its own order."""
    mixed = []
    while one or other:
        mixed.append((one or other).pop(0) if not other or chance.random() < 0.5 else other.pop(0))
    return mixed


def _drop(chance: random.Random, events: list[bytes]) -> None:
    del events[chance.randrange(len(events))]


def _double(chance: random.Random, events: list[bytes]) -> None:
    events.insert(chance.randrange(len(events) + 1), chance.choice(events))


def _repeat(chance: random.Random, events: list[bytes]) -> None:
    place = chance.randrange(len(events))
    events[place:place] = [events[place]] * chance.randrange(1, 12)


def _swap(chance: random.Random, events: list[bytes]) -> None:
    one, other = chance.randrange(len(events)), chance.randrange(len(events))
    events[one], events[other] = events[other], events[one]


def _cut(chance: random.Random, events: list[bytes]) -> None:
    del events[chance.randrange(len(events)) :]


def _insert(chance: random.Random, events: list[bytes]) -> None:
    events.insert(chance.randrange(len(events) + 1), chance.choice(NO_EVENTS))


_ORDERS: tuple[Callable[[random.Random, list[bytes]], None], ...] = (_drop, _double, _repeat, _swap, _cut, _insert)


# ---- one event ----


def _damaged_event(chance: random.Random, event: bytes) -> bytes:
    head, body = (event[:2], event[2:]) if event[1:2] == b":" else (b"", event)
    return head + chance.choice(_DAMAGES)(chance, body)


def _set_value(chance: random.Random, body: bytes) -> bytes:
    try:
        value = json.loads(body)
        if body.count(b"[") + body.count(b"{") > 400:
            return body  # one that nests too deeply already
    except (ValueError, RecursionError):
        return body
    paths = [path for path in _paths(value) if path]
    if not paths:
        return body
    *above, last = chance.choice(paths)
    at = value
    for step in above:
        at = at[step]
    what = chance.random()
    if what < 0.2:
        del at[last]
    elif what < 0.8 or not isinstance(at, dict):
        at[last] = chance.choice(VALUES)
    else:
        at[chance.choice(FIELDS)] = chance.choice(VALUES)
    text = json.dumps(value, ensure_ascii=chance.random() < 0.5)
    return text.encode("utf-8", "surrogatepass")


def _paths(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield above
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from _paths(value[key], (*above, key))


def _add_text(chance: random.Random, body: bytes) -> bytes:
    if not body.startswith(b"{") or not body.endswith(b"}"):
        return body
    name = chance.choice((b"zz", b"zz", chance.choice(FIELDS).encode()))
    field = b'"' + name + b'":' + chance.choice(TEXTS)
    rest = body[1:-1]
    return b"{" + (field + b"," + rest if chance.random() < 0.5 else rest + b"," + field) + b"}"


def _put_bytes(chance: random.Random, body: bytes) -> bytes:
    changed = bytearray(body)
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(changed) + 1)
        if chance.random() < 0.6:
            changed[place:place] = chance.choice(PIECES)
        elif place < len(changed):
            del changed[place]
    return bytes(changed)


def _put_blank(chance: random.Random, body: bytes) -> bytes:
    places = [place for place in range(len(body)) if body[place : place + 2] in (b',"', b'":', b'{"')]
    if not places:
        return body
    place = chance.choice(places) + (1 if chance.random() < 0.8 else 0)
    return body[:place] + chance.choice(BLANKS) + body[place:]


_DAMAGES: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _set_value,
    _set_value,
    _add_text,
    _add_text,
    _put_bytes,
    _put_blank,
)


# ---- the bytes around them ----


def _lines(chance: random.Random, events: list[bytes]) -> list[bytes]:
    end = chance.choice((b"\n", b"\n", b"\n", b"\r\n", b"\r"))
    return [event + end for event in events]


def _sse(chance: random.Random, events: list[bytes]) -> list[bytes]:
    end = chance.choice((b"\n", b"\n", b"\n", b"\r\n", b"\r"))
    named = chance.choice((0.0, 1.0, 0.5))
    pieces = []
    for event in events:
        lines = [b"event: " + _kind(chance, event)] if chance.random() < named else []
        if chance.random() < 0.02:
            lines.insert(0, chance.choice((b": ping", b"id: 7", b"retry: 1", b"data")))
        if chance.random() < 0.03:
            half = chance.randrange(len(event) + 1)
            lines += [b"data:" + event[:half], b"data:" + event[half:]]
        else:
            lines.append(chance.choice((b"data: ", b"data: ", b"data: ", b"data:")) + event)
        pieces.append(b"".join(line + end for line in lines) + end)
    if chance.random() < 0.3:
        pieces.append(b"data: [DONE]" + end + end)
    return pieces


def _kind(chance: random.Random, event: bytes) -> bytes:
    if chance.random() < 0.03:
        event = chance.choice(chance.choice(sources()).events)
    _, _, rest = event.partition(b'"type":"')
    return rest.partition(b'"')[0] or b"message"
