"""How the tests talk to the replay upstream: an HTTP client, and a bare socket for what a client would hide."""

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from partstream_devtools.testing.upstream import ReplayUpstream

WITHOUT_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Trusts no authority: reading the certificates of the system takes longer than a test over plain http."""


@asynccontextmanager
async def serving(**settings: Any) -> AsyncIterator[tuple[ReplayUpstream, httpx2.AsyncClient]]:
    """An upstream and a client of it."""
    async with (
        ReplayUpstream(**settings) as upstream,
        httpx2.AsyncClient(base_url=upstream.base_url, trust_env=False, verify=WITHOUT_TLS, timeout=30) as client,
    ):
        yield upstream, client


def run(check: Callable[..., Awaitable[None]], /, **settings: Any) -> None:
    """Runs `check(upstream, client)` against an upstream of its own, within ten seconds."""

    async def within() -> None:
        async with asyncio.timeout(30), serving(**settings) as (upstream, client):
            await check(upstream, client)

    asyncio.run(within())


def body(text: str = "Hi", *, stream: bool = True, **fields: Any) -> dict[str, Any]:
    return {"model": "any", "input": text, "stream": stream} | fields


def read_events(data: bytes) -> tuple[list[dict[str, Any]], bool]:
    """The events of a well-framed stream and whether its end is marked; not read by the decoder of the package."""
    events, done = [], False
    for block in data.decode().removesuffix("\n\n").split("\n\n"):
        lines = block.split("\n")
        if lines == ["data: [DONE]"]:
            done = True
            continue
        assert not done
        name, text = lines
        event = json.loads(text.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        events.append(event)
    return events, done


def types(events: Sequence[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


def said(events: Sequence[dict[str, Any]]) -> str:
    return "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")


def raw_request(payload: dict[str, Any]) -> bytes:
    content = json.dumps(payload).encode()
    return b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(content), content)


async def raw_exchange(port: int, data: bytes, *, half_close: bool = False) -> bytes:
    """What comes back for `data` until the server closes; a reset is not hidden."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        if half_close:
            writer.write_eof()
        return await reader.read()
    finally:
        writer.close()


async def read_into(received: bytearray, reader: asyncio.StreamReader) -> None:
    """Reads until the end, or until an error says that there is none; what came before it is kept."""
    while piece := await reader.read(4096):
        received += piece


def raw_chunks(data: bytes) -> tuple[list[bytes], bool]:
    """The chunks of a chunked reply and whether its last, empty one came."""
    _, _, rest = data.partition(b"\r\n\r\n")
    chunks = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            return chunks, True
        chunks.append(rest[:length])
        rest = rest[length + 2 :]
    return chunks, False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
