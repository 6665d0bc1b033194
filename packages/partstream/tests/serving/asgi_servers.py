"""The servers that run one application, each on loopback in the event loop of a test; and one plain HTTP/1.1 client."""

from __future__ import annotations
import asyncio
import json
import socket
import sys
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
import uvloop
from fastapi import FastAPI
from granian.server.embed import Server as GranianServer
from hypercorn.asyncio import serve as serve_hypercorn
from hypercorn.config import Config as HypercornConfig
from starlette.applications import Starlette

from serving.asgi import WAIT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

MOUNT = "/llm"


class _Uvicorn(uvicorn.Server):
    """uvicorn without its handlers of signals, which belong to the tests' own process."""

    def capture_signals(self):
        return nullcontext()


@asynccontextmanager
async def uvicorn_stopping(application: Any) -> AsyncIterator[tuple[int, Callable[[], Awaitable[None]]]]:
    """uvicorn, and a function that stops it and returns when it takes no more connections."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = _Uvicorn(uvicorn.Config(application, ws="none", loop="none", log_config=None))
    task = asyncio.create_task(server.serve([listening]))
    await _until_open(port := listening.getsockname()[1])

    async def stop() -> None:
        server.should_exit = True
        while server.servers[0].is_serving():
            await asyncio.sleep(0.005)

    try:
        yield port, stop
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def _uvicorn(application: Any, http: str) -> AsyncIterator[int]:
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        application, http=http, ws="none", loop="none", log_config=None, timeout_graceful_shutdown=1
    )
    server = _Uvicorn(config)
    task = asyncio.create_task(server.serve([listening]))
    await _until_open(port := listening.getsockname()[1])
    try:
        yield port
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def _httptools(application: Any) -> AsyncIterator[int]:
    async with _uvicorn(application, "httptools") as port:
        yield port


@asynccontextmanager
async def _plain(application: Any) -> AsyncIterator[int]:
    async with _uvicorn(application, "h11") as port:
        yield port


@asynccontextmanager
async def _starlette(application: Any) -> AsyncIterator[int]:
    outer = Starlette()
    outer.mount(MOUNT, application)
    async with _uvicorn(outer, "httptools") as port:
        yield port


@asynccontextmanager
async def _fastapi(application: Any) -> AsyncIterator[int]:
    outer = FastAPI()
    outer.mount(MOUNT, application)
    async with _uvicorn(outer, "httptools") as port:
        yield port


@asynccontextmanager
async def _hypercorn(application: Any) -> AsyncIterator[int]:
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    config = HypercornConfig()
    config.bind = [f"fd://{listening.detach()}"]
    config.errorlog = None
    config.graceful_timeout = 1
    ending = asyncio.Event()
    task = asyncio.create_task(serve_hypercorn(application, config, shutdown_trigger=ending.wait, mode="asgi"))
    await _until_open(port)
    try:
        yield port
    finally:
        ending.set()
        await task


@asynccontextmanager
async def _granian(application: Any) -> AsyncIterator[int]:
    with socket.socket() as kept:
        # Granian takes a number and no socket. On Linux it shares the port, which stays taken for everybody else.
        if is_shared := sys.platform == "linux":
            kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        kept.bind(("127.0.0.1", 0))
        port = kept.getsockname()[1]
        if not is_shared:
            kept.close()
        server = GranianServer(application, port=port, interface="asgi", log_enabled=False, websockets=False)
        task = asyncio.create_task(server.serve())
        await _until_open(port)
        try:
            yield port
        finally:
            server.stop()
            await task


async def _until_open(port: int) -> None:
    """Returns when a port accepts connections."""
    async with asyncio.timeout(WAIT):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                await asyncio.sleep(0.005)
            else:
                writer.close()
                await writer.wait_closed()
                return


@dataclass(frozen=True)
class Server:
    """A server that runs an application.

    Attributes:
        name: Its name.
        run: Runs it within a block, which gets the port.
        loop: Makes its event loop.
        base: The path of the application in it.
    """

    name: str
    run: Callable[[Any], Any]
    loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
    base: str = ""


SERVERS = (
    Server("uvicorn-httptools-uvloop", _httptools, uvloop.new_event_loop),
    Server("uvicorn-h11-asyncio", _plain),
    Server("granian", _granian),
    Server("hypercorn", _hypercorn),
    Server("starlette", _starlette, uvloop.new_event_loop, MOUNT),
    Server("fastapi", _fastapi, uvloop.new_event_loop, MOUNT),
)


def request_bytes(path: str, body: Any, headers: dict[str, str] | None = None) -> bytes:
    """An HTTP/1.1 request on a connection of its own."""
    data = json.dumps(body).encode()
    named = {"host": "x", "connection": "close", "content-length": str(len(data)), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + data


@dataclass
class Reply:
    """A reply as it was read: status, headers, and the body without its chunks."""

    status: int
    headers: dict[str, str]
    body: bytes


async def exchange(port: int, request: bytes) -> Reply:
    """Sends a request and reads the whole reply."""
    async with asyncio.timeout(WAIT):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        data = await reader.read()
        writer.close()
        await writer.wait_closed()
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="POST", target="/", headers=[("host", "x"), ("content-length", "0")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(data)
    connection.receive_data(b"")
    reply = Reply(0, {}, b"")
    while not isinstance(event := connection.next_event(), h11.EndOfMessage):
        if isinstance(event, h11.Response):
            reply.status = event.status_code
            reply.headers = {name.decode().lower(): value.decode() for name, value in event.headers}
        elif isinstance(event, h11.Data):
            reply.body += event.data
    return reply
