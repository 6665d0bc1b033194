"""A model server on raw sockets, which costs the machine as little as can be: what benchmarks put behind gateways.

It speaks Chat Completions, lists one model named `words`, and hears how many words are asked for as the text of the
last message. What it streams back is said by the benchmark.
"""

from __future__ import annotations
import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeAlias

import uvloop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["END_OF_BODY", "HEAD", "framed", "run"]

HEAD: Final = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
END_OF_BODY: Final = b"0\r\n\r\n"
_MODELS: Final = b'{"object":"list","data":[{"id":"words","object":"model","created":1,"owned_by":"benchmark"}]}'
_LIST: Final = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"

Answer: TypeAlias = "Callable[[int, asyncio.StreamWriter], Awaitable[None]]"
"""Writes the whole response to a request for so many words."""


def framed(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def run(port: int, answer: Answer) -> None:
    """Serves on a port of loopback until the process is ended."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await _exchange(reader, writer, answer)
        writer.transport.abort()

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", port)
        await server.serve_forever()

    uvloop.run(main())


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Answer) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    sizes = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    body = await reader.readexactly(int(sizes[0].partition(b":")[2])) if sizes else b""
    if head.startswith(b"GET"):
        writer.write(_LIST % (len(_MODELS), _MODELS))
        return
    await answer(_count(json.loads(body)), writer)
    await writer.drain()


def _count(body: dict[str, object]) -> int:
    messages = body["messages"]
    assert isinstance(messages, list)
    said = messages[-1]["content"]
    return int(said if isinstance(said, str) else said[0]["text"])
