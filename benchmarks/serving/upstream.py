"""A model server for the pass-through: Chat Completions on raw sockets, one event a turn of the event loop."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import suppress

from benchmarks.serving.ready_made import END, EVENTS

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_USAGE = b'data: {"id":"u","object":"chat.completion.chunk","created":1,"model":"words","choices":[],"usage":'
_MODELS = b'{"object":"list","data":[{"id":"words","object":"model","created":1,"owned_by":"benchmark"}]}'


def _framed(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


_FRAMES = [_framed(event) for event in EVENTS]
_TAIL = _framed(
    END.replace(
        b"data: [DONE]", _USAGE + b'{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}\n\ndata: [DONE]'
    )
)


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            sizes = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            body = await reader.readexactly(int(sizes[0].partition(b":")[2])) if sizes else b""
            if head.startswith(b"GET"):
                length = len(_MODELS)
                kind = b"content-type: application/json\r\n"
                writer.write(b"HTTP/1.1 200 OK\r\n%bcontent-length: %d\r\n\r\n%b" % (kind, length, _MODELS))
                continue
            await _answer(json.loads(body), writer)
    writer.transport.abort()


async def _answer(body: dict[str, object], writer: asyncio.StreamWriter) -> None:
    messages = body["messages"]
    assert isinstance(messages, list)
    said = messages[-1]["content"]
    count = int(said if isinstance(said, str) else said[0]["text"])
    first = EVENTS[0].replace(b"word00 ", b"t=%d;" % time.monotonic_ns())
    writer.write(_HEAD + _framed(first))
    for number in range(count - 1):
        writer.write(_FRAMES[number % 64])
        await writer.drain()
        await asyncio.sleep(0)
    writer.write(_TAIL + b"0\r\n\r\n")
    await writer.drain()


async def _main(port: int) -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    import uvloop

    uvloop.run(_main(int(sys.argv[1])))
