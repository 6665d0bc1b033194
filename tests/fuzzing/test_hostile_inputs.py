"""Inputs that are hostile by their form alone: each body on every wire, each file with every form; work that grows with
the length."""

import base64
import gzip
import json
import sys
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

import pytest

from fuzzing.targets import TARGETS, requests_of_wires
from partstream_devtools.bundles.documents import BundleError
from partstream_devtools.bundles.forms import read_any
from partstream_devtools.recorded_stream import RecordingError, as_stream

HOLE = "\uf8ff"

BODIES: dict[str, bytes] = {
    "levels without end": b"[" * 200_000 + b"]" * 200_000,
    "objects without end": b'{"a":' * 200_000,
    "a key twice": b'{"type":"text","type":"image","text":"a","text":"b"}',
    "lone surrogates": b'"\\ud800 \\udc00\\ud800"',
    "nulls": b'"a\\u0000b"',
    "a raw null": b'"a\x00b"',
    "no UTF-8": b'"\xff\xfe"',
    "a number of a million digits": b"9" * 1_000_000,
    "1e400": b"1e400",
    "NaN": b"NaN",
    "a text of megabytes": b'"' + b"a" * 1_000_000 + b'"',
    "a key of megabytes": b'{"' + b"k" * 1_000_000 + b'":1}',
    "10,000 keys": b"{" + b",".join(b'"%d":0' % number for number in range(10_000)) + b"}",
    "10,000 empty lists": b"[" + b",".join([b"[]"] * 10_000) + b"]",
    "10,000 messages": b"[" + b",".join([b'{"role":"user","content":"a"}'] * 10_000) + b"]",
}


@pytest.mark.parametrize("hostile", BODIES.values(), ids=BODIES)
def test_a_hostile_body_is_answered_or_refused_on_every_wire(hostile: bytes) -> None:
    for kind, (body, _, _) in requests_of_wires().items():
        conversation = next(name for name in ("input", "messages", "contents", "prompt") if name in body)
        for changed in ({**body, conversation: HOLE}, {**body, "zz": HOLE}, {**body, "tools": HOLE}):
            before, _, behind = json.dumps(changed).partition(json.dumps(HOLE))
            TARGETS["bodies"].take(kind, before.encode() + hostile + behind.encode())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-32"])
def test_a_body_in_another_encoding_is_answered_or_refused_on_every_wire(encoding: str) -> None:
    for kind, (body, _, _) in requests_of_wires().items():
        TARGETS["bodies"].take(kind, json.dumps(body).encode(encoding))


# ---- files ----

STREAM = b'data: {"choices":[{"delta":{"content":"x"}}]}\n\n'


def _entry(body: bytes) -> dict[str, Any]:
    content = {"mimeType": "text/event-stream", "text": base64.b64encode(body).decode(), "encoding": "base64"}
    request = {"method": "POST", "url": "https://h/v1/chat/completions", "httpVersion": "HTTP/1.1", "headers": []}
    response = {"status": 200, "statusText": "", "httpVersion": "HTTP/1.1", "headers": [], "content": content}
    timings = {"send": 0, "wait": 1, "receive": 1}
    return {"startedDateTime": "2026-01-01T00:00:00Z", "request": request, "response": response, "timings": timings}


def _har(body: bytes, entries: int = 1) -> bytes:
    return json.dumps({"log": {"version": "1.2", "entries": [_entry(body)] * entries}}).encode()


def _har_of_requests(entries: int) -> bytes:
    """One in which each request is the first of a conversation."""
    made = []
    for number in range(entries):
        body = {"model": "m", "messages": [{"role": "user", "content": f"Say {number}"}]}
        entry = _entry(STREAM)
        entry["request"] |= {"postData": {"mimeType": "application/json", "text": json.dumps(body)}}
        made.append(entry)
    return json.dumps({"log": {"version": "1.2", "entries": made}}).encode()


def _packed(times: int) -> bytes:
    data = STREAM
    for _ in range(times):
        data = gzip.compress(data, mtime=0)
    return data


def test_what_is_packed_200_times_is_not_opened() -> None:
    for data in (_packed(200), _har(_packed(200))):
        try:
            bundle = read_any(data, "a.sse.gz")
        except BundleError:
            continue
        assert all(STREAM not in exchange.body for exchange in bundle.exchanges)


def test_many_packed_members_take_no_more_than_their_share_of_work() -> None:
    member = gzip.compress(STREAM, mtime=0)

    def work(members: int) -> float:
        begun = time.process_time()
        as_stream(member * members, "a.sse.gz")
        return time.process_time() - begun

    assert work(40_000) < 8 * min(work(10_000) for _ in range(3))


@pytest.mark.parametrize(("size", "most"), [(100 << 20, 10 << 20), (40 << 20, 70 << 20)], ids=["refused", "read"])
def test_what_is_packed_takes_little_more_memory_than_what_is_kept_of_it(size: int, most: int) -> None:
    packed = gzip.compress(bytes(size), mtime=0)
    tracemalloc.start()
    try:
        with suppress(RecordingError):
            as_stream(packed, "a.sse.gz")
        left, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < most
    assert left < 1 << 20


GROWING: dict[str, Callable[[int], tuple[str, bytes]]] = {
    "entries": lambda size: ("a.har", _har(STREAM, size)),
    "entries with requests": lambda size: ("a.har", _har_of_requests(size)),
    "events": lambda size: ("a.sse", STREAM * size),
    "messages in an event": lambda size: (
        "a.sse",
        b'data: {"choices":[{"delta":{"content":"x"}}],"a":[' + b'{"content":"a","id":"b"},' * size + b"{}]}\n\n",
    ),
    "choices in an event": lambda size: (
        "a.sse",
        b'data: {"choices":[' + b'{"index":0,"delta":{"content":"a"}},' * size + b"{}]}\n\n",
    ),
    "levels in a document": lambda size: ("a.har", b'{"log":' + b"[" * size * 20 + b"]" * size * 20 + b"}"),
    "levels in an event": lambda size: ("a.sse", b'data: {"error":' + b"[" * size * 20 + b"]" * size * 20 + b"}\n\n"),
    "levels in a packed event": lambda size: (
        "a.sse.gz",
        gzip.compress(b'data: {"a":' + b'{"a":' * size * 20 + b"\n\n", mtime=0),
    ),
    "names in settings": lambda size: (
        "opencode.json",
        b'{"provider":{' + b",".join(b'"%d":0' % number for number in range(size * 4)) + b"}}",
    ),
}
SIZE = 150


@pytest.mark.parametrize("make", GROWING.values(), ids=GROWING)
def test_twice_as_much_of_a_file_takes_twice_the_work(make: Callable[[int], tuple[str, bytes]]) -> None:
    _work(*make(10))  # what is imported and compiled with the first file
    once, twice = _work(*make(SIZE)), _work(*make(2 * SIZE))
    assert twice < 2.3 * once + 2000


def _work(kind: str, data: bytes) -> int:
    """How many lines of Python run."""
    lines = 0

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal lines
        del frame
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        _take(kind, data)
    finally:
        sys.settrace(before)
    return lines


def _take(kind: str, data: bytes) -> None:
    target = TARGETS["settings" if kind.endswith((".json", ".toml")) else "files"]
    with suppress(*target.refusals):
        target.take(kind, data)


NUMBERS = {"digits": b"9" * 5000, "hexadecimal digits": b"0x" + b"f" * 5000, "levels": b"[" * 20_000}
PLACES = {
    "hub.toml": b"[people.ana]\nrequests_per_minute = %s\n",
    "partstream.toml": b"idleSeconds = %s\n",
    "config.toml": b"[p]\nq = %s\n",
}


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("value", NUMBERS.values(), ids=NUMBERS)
def test_a_value_without_end_in_settings_is_refused_by_name(kind: str, value: bytes) -> None:
    _take(kind, PLACES[kind] % value)
