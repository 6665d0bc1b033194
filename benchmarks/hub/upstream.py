"""The model server behind both: Chat Completions on raw sockets, which reports usage that depends on the request.

An answer of N words costs `INPUT` tokens and N tokens; so what was really spent is known from what was answered.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import suppress

INPUT = 20
"""The input tokens of every answer."""

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_MODELS = b'{"object":"list","data":[{"id":"words","object":"model","created":1,"owned_by":"benchmark"}]}'
_FIELDS = b'{"id":"u","object":"chat.completion.chunk","created":1,"model":"words","choices":['


def _framed(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _event(choices: bytes, more: bytes = b"") -> bytes:
    return _framed(b"data: " + _FIELDS + choices + b"]" + more + b"}\n\n")


_WORD = _event(b'{"index":0,"delta":{"content":"word "}}')
_STOP = _event(b'{"index":0,"delta":{},"finish_reason":"stop"}')


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            sizes = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            body = await reader.readexactly(int(sizes[0].partition(b":")[2])) if sizes else b""
            if head.startswith(b"GET"):
                kind = b"content-type: application/json\r\n"
                writer.write(b"HTTP/1.1 200 OK\r\n%bcontent-length: %d\r\n\r\n%b" % (kind, len(_MODELS), _MODELS))
                continue
            await _answer(json.loads(body), writer)
    writer.transport.abort()


async def _answer(body: dict[str, object], writer: asyncio.StreamWriter) -> None:
    messages = body["messages"]
    assert isinstance(messages, list)
    said = messages[-1]["content"]
    count = int(said if isinstance(said, str) else said[0]["text"])
    first = _event(b'{"index":0,"delta":{"role":"assistant","content":"t=%d;"}}' % time.monotonic_ns())
    writer.write(_HEAD + first)
    for _ in range(count - 1):
        writer.write(_WORD)
        await writer.drain()
        await asyncio.sleep(0)
    used = b'"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d' % (INPUT, count, INPUT + count)
    usage = _event(b"", b',"usage":{%b}' % used)
    writer.write(_STOP + usage + _framed(b"data: [DONE]\n\n") + b"0\r\n\r\n")
    await writer.drain()


async def _main(port: int) -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    import uvloop

    uvloop.run(_main(int(sys.argv[1])))
