"""The floor: what it costs at least to pass an answer on in Python, under uvicorn, httptools and uvloop.

It checks the key, reads the request, sends it on with another key and the upstream's name of the model, forwards the
bytes of the answer as they come, and notes its usage. It keeps connections to the upstream, without a client library.
It has no limits, maps no errors, reads no events, writes no log and no ledger: that is what a product adds.
"""

from __future__ import annotations
import asyncio
import json
import os
import re
from typing import Any, Final, cast

from httptools import HttpResponseParser

__all__ = ["KEY", "Floor", "application"]

KEY: Final = "local-key"
_NAMES: Final = {"words": "words"}
_USAGE: Final = re.compile(rb'"prompt_tokens":(\d+),"completion_tokens":(\d+)')
_TAIL: Final = 256
"""Bytes at the end of an answer among which its usage is."""
_ASKED: Final = (
    b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer none\r\n"
    b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
)


class _Connection(asyncio.Protocol):
    """A connection to the upstream, for one answer after the other."""

    def __init__(self) -> None:
        self._is_lost = False
        self._waiter: asyncio.Future[None] | None = None

    @property
    def is_lost(self) -> bool:
        """Whether the upstream has closed it."""
        return self._is_lost

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)

    def connection_lost(self, _error: Exception | None) -> None:
        self._is_lost = True
        self._wake()

    def ask(self, body: bytes) -> None:
        """Sends a request, whose answer is read by :meth:`read`."""
        self._parser = HttpResponseParser(self)
        self._came = bytearray()
        self._is_whole = False
        self._transport.write(_ASKED % (len(body), body))

    async def read(self) -> bytes:
        """What has come of the body since the last call, and at least something of it; nothing at its end."""
        while not (self._came or self._is_whole):
            if self._is_lost:
                raise ConnectionError("the upstream closed")
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        came, self._came = self._came, bytearray()
        return bytes(came)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)
        self._wake()

    def on_body(self, data: bytes) -> None:
        """Called by the parser."""
        self._came += data

    def on_message_complete(self) -> None:
        """Called by the parser."""
        self._is_whole = True

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Floor:
    """The application.

    Args:
        upstream_port: Where the model server listens on loopback.

    Attributes:
        used: The input and output tokens of all answers.
    """

    def __init__(self, upstream_port: int) -> None:
        self._upstream_port = upstream_port
        self._idle: list[_Connection] = []
        self.used = [0, 0]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serves one request."""
        if scope["type"] != "http":
            return
        if scope["path"] == "/healthz":
            await _reply(send, 200, "well")
        elif dict(scope["headers"]).get(b"authorization") != f"Bearer {KEY}".encode():
            await _reply(send, 401, "unknown key")
        else:
            await self._answer(receive, send)

    async def _answer(self, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        asked = json.loads(body)
        if (name := _NAMES.get(asked["model"])) is None:
            await _reply(send, 404, "unknown model")
            return
        upstream = await self._connection()
        upstream.ask(json.dumps(asked | {"model": name, "stream_options": {"include_usage": True}}).encode())
        piece = await upstream.read()
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        tail = b""
        while piece:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            tail = (tail + piece)[-_TAIL:]
            piece = await upstream.read()
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        self._idle.append(upstream)
        if (usage := _USAGE.search(tail)) is not None:
            self.used[0] += int(usage[1])
            self.used[1] += int(usage[2])

    async def _connection(self) -> _Connection:
        while self._idle:
            if not (idle := self._idle.pop()).is_lost:
                return idle
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(_Connection, "127.0.0.1", self._upstream_port))[1]


async def _reply(send: Any, status: int, text: str) -> None:
    body = json.dumps({"message": text}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


application: Final = Floor(int(os.environ.get("UPSTREAM_PORT", "0")))
