"""Bodies and messages as large as a server takes, of what costs most to read; and what others wait meanwhile."""

from __future__ import annotations
import asyncio
import gzip
import json
import time
from typing import TYPE_CHECKING, Any, Final

from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from benchmarks.soak.client import ask, open_answer, read_reply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.soak.client import Address

__all__ = ["LARGEST", "announcement", "hostile_bodies", "longest_wait_during", "send_body", "send_messages"]

LARGEST: Final = 31_000_000
"""Bytes; a server takes bodies of 32 MiB."""


def hostile_bodies(size: int) -> Iterator[tuple[str, str, bytes]]:
    """What is in a body, the path, and a body of about `size` bytes."""
    responses, chat, messages = "/v1/responses", "/v1/chat/completions", "/v1/messages"
    say = b'{"role":"user","content":"a"}'
    yield "one text", responses, _body(b'"input":"', b"a" * size, b'"')
    yield "empty lists", responses, _body(b'"input":[', _many(b"[]", size), b"]")
    yield "empty objects in an unknown field", responses, _body(b'"input":"Hi","zz":[', _many(b"{}", size), b"]")
    for path in (chat, messages, f"{messages}/count_tokens"):
        yield f"small messages to {path}", path, _body(b'"max_tokens":5,"messages":[', _many(say, size), b"]")
    yield f"small messages to {responses}", responses, _body(b'"input":[', _many(say, size), b"]")
    yield (
        "small parts",
        "/v1beta/models/stream:generateContent",
        (b'{"contents":[{"parts":[' + _many(b'{"text":"a"}', size) + b"]}]}"),
    )
    yield "tools", responses, _body(b'"input":"Hi","tools":[', _many(b'{"type":"function","name":"a"}', size), b"]")
    yield "numbers", responses, _body(b'"input":"Hi","zz":[', _many(b"0", size), b"]")
    yield "levels", responses, _body(b'"input":', b"[" * (size // 2) + b"]" * (size // 2))
    yield "digits", responses, _body(b'"input":"Hi","temperature":', b"9" * size)
    yield "a key", responses, _body(b'"input":"Hi","', b"k" * size, b'":1')
    keys = b",".join(b'"%d":0' % number for number in range(size // 12))
    yield "keys", responses, _body(b'"input":"Hi","metadata":{', keys, b"}")


def _body(before: bytes, hostile: bytes, behind: bytes = b"") -> bytes:
    return b'{"model":"stream","stream":false,"store":false,' + before + hostile + behind + b"}"


def _many(item: bytes, size: int) -> bytes:
    return (item + b",") * (size // (len(item) + 1)) + item


async def send_body(address: Address, path: str, body: bytes, *, packed: bool = False) -> int:
    """Sends a body, and returns the status; 0 where the connection was closed."""
    data = gzip.compress(body, 1) if packed else body
    head = (
        f"POST {path} HTTP/1.1\r\nHost: soak\r\nAuthorization: Bearer {address.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\nConnection: close\r\n"
        f"{'Content-Encoding: gzip' if packed else 'X-Packed: no'}\r\n\r\n"
    )
    reader, writer = await open_answer(address, head.encode() + data)
    try:
        return (await read_reply(reader)).status
    finally:
        writer.close()


def announcement(body: bytes) -> str:
    """A body as a message that announces it on a socket."""
    return '{"type":"response.create","generate":false,' + body[1:].decode()


async def send_messages(address: Address, text: str, count: int = 4) -> str:
    """Sends a message several times on one socket, and returns the type of the last event."""
    headers, url = {"Authorization": f"Bearer {address.token}"}, f"ws://127.0.0.1:{address.port}/v1/responses"
    last = "nothing"
    try:
        async with connect(url, additional_headers=headers, proxy=None, max_size=None, ping_interval=None) as socket:
            for _ in range(count):
                await socket.send(text)
            for _ in range(count):
                last = json.loads(await socket.recv())["type"]
    except WebSocketException as error:
        last = f"closed: {type(error).__name__}"
    return last


async def longest_wait_during(address: Address, work: Any, every: float = 0.02) -> tuple[Any, float]:
    """What some work gives, and the longest that the health of the server took to be told meanwhile, in seconds."""
    head = b"GET /healthz HTTP/1.1\r\nHost: soak\r\nConnection: close\r\n\r\n"
    running, longest = asyncio.ensure_future(work), 0.0
    while True:
        began = time.monotonic()
        reply = await ask(address, head)
        longest = max(longest, time.monotonic() - began)
        if reply.status != 200:
            raise RuntimeError(f"the health of the server is {reply.status}")
        if running.done():
            return await running, longest
        await asyncio.sleep(every)
