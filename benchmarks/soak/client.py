"""A client of a few lines, so that thousands of them cost this side little: bare HTTP/1.1 on bare sockets."""

from __future__ import annotations
import asyncio
import json
import socket
from dataclasses import dataclass
from typing import Any

__all__ = ["Address", "Reply", "ask", "facts", "open_answer", "read_reply", "request"]

_DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server is, and the token that it wants."""

    port: int
    token: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole reply, or as much of it as came.

    Attributes:
        status: The HTTP status; 0 where none came.
        body: The body without its chunks.
        is_whole: Whether HTTP's own end of the body came.
    """

    status: int
    body: bytes
    is_whole: bool

    @property
    def is_ended(self) -> bool:
        """Whether the stream has its terminal event."""
        return self.is_whole and self.body.endswith(_DONE)

    @property
    def events(self) -> int:
        """How many texts of the model are in it."""
        return self.body.count(b'"content":"x')


def request(address: Address, text: str, *, model: str = "stream", stream: bool = True, close: bool = True) -> bytes:
    """A request for an answer, as bytes."""
    wanted = {"model": model, "messages": [{"role": "user", "content": text}], "stream": stream}
    body = json.dumps(wanted).encode()
    end = "Connection: close\r\n" if close else ""
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: soak\r\nAuthorization: Bearer {address.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n{end}\r\n"
    )
    return head.encode() + body


async def open_answer(
    address: Address, data: bytes, buffer_bytes: int = 0
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection on which a request was sent.

    Args:
        address: The server.
        data: The request.
        buffer_bytes: The size of the system's buffer for what was not read; 0 for the usual one.
    """
    own = socket.socket()
    if buffer_bytes:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
    own.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(own, ("127.0.0.1", address.port))
    except BaseException:
        own.close()
        raise
    reader, writer = await asyncio.open_connection(sock=own, limit=2**14)
    writer.write(data)
    return reader, writer


async def ask(address: Address, data: bytes) -> Reply:
    """Asks on a connection of its own, and reads to the end."""
    reader, writer = await open_answer(address, data)
    try:
        return await read_reply(reader)
    finally:
        writer.close()


async def read_reply(reader: asyncio.StreamReader) -> Reply:
    """One reply; never raises for what the server does."""
    status, body = 0, bytearray()
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        length = _length(head)
        if length is not None:
            body += await reader.readexactly(length)
            return Reply(status, bytes(body), True)
        while size := int(await reader.readuntil(b"\r\n"), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readexactly(2)
    except (asyncio.IncompleteReadError, ConnectionError, ValueError):
        return Reply(status, bytes(body), False)
    return Reply(status, bytes(body), True)


def _length(head: bytes) -> int | None:
    for line in head.lower().split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name == b"content-length":
            return int(value)
    return None


async def facts(address: Address) -> dict[str, Any]:
    """What the process of the server holds."""
    reply = await ask(address, request(address, "", model="facts", stream=False))
    said: dict[str, Any] = json.loads(json.loads(reply.body)["choices"][0]["message"]["content"])
    return said
