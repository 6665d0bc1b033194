"""A server in a thread of the tests, and plain exchanges with it, so that many rows share one."""

from __future__ import annotations
import asyncio
import json
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from partstream.server.application import app
from partstream.server.listening import ConnectionLimits, listening_sockets
from partstream.server.uvicorn_server import HttpServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.lm.provider import LanguageModelChatProvider
    from partstream.server.settings import ServingSettings

SECONDS = 20.0


class Hosted:
    """The address of a running server."""

    def __init__(self, port: int) -> None:
        self.port = port

    def exchange(self, data: bytes) -> bytes:
        """What comes until the server closes the connection, which it must."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS) as own:
            own.sendall(data)
            received = bytearray()
            try:
                while piece := own.recv(65536):
                    received += piece
            except ConnectionResetError:  # what was not read any more was still on its way
                pass
        return bytes(received)


def request(line: bytes, *headers: bytes, body: bytes = b"", host: bytes = b"Host: h\r\n") -> bytes:
    """A request after which the connection is closed."""
    more = b"".join(header + b"\r\n" for header in headers)
    return line + b" HTTP/1.1\r\n" + host + b"Connection: close\r\n" + more + b"\r\n" + body


def posted(path: bytes, body: bytes, *headers: bytes) -> bytes:
    """A request with a body of JSON."""
    return request(
        b"POST " + path,
        b"Content-Type: application/json",
        b"Content-Length: %d" % len(body),
        *headers,
        body=body,
    )


def status_of(answer: bytes) -> int:
    """The status of the first reply; 0 without one."""
    return int(answer[9:12]) if answer.startswith(b"HTTP/1.1 ") else 0


def json_of(answer: bytes) -> Any:
    """The JSON of a reply that has a length."""
    return json.loads(answer.partition(b"\r\n\r\n")[2])


@contextmanager
def hosted(
    provider: LanguageModelChatProvider, settings: ServingSettings | None = None, limits: ConnectionLimits | None = None
) -> Iterator[Hosted]:
    """Runs a server for the duration of a block; a task or an answer that is left fails the test."""
    given = limits or ConnectionLimits(closing_seconds=1)
    sockets = listening_sockets("127.0.0.1", 0, given.peer_seconds)
    is_listening = threading.Event()
    loops: list[tuple[asyncio.AbstractEventLoop, HttpServer]] = []
    left: list[str] = []

    async def serve() -> None:
        application = app(provider, settings)
        largest = application.settings.body_bytes
        server = HttpServer(application, sockets, limits=given, drain_seconds=1, largest_message=largest)
        loops.append((asyncio.get_running_loop(), server))
        await server.serve(is_listening.set)
        await asyncio.sleep(0)  # the task of uvicorn's lifespan returns behind its last message
        left.extend(repr(task) for task in asyncio.all_tasks() if task is not asyncio.current_task())

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert is_listening.wait(SECONDS)
        yield Hosted(sockets[0].getsockname()[1])
    finally:
        loop, server = loops[0]
        loop.call_soon_threadsafe(server.stop)
        thread.join(SECONDS)
        assert not thread.is_alive()
    assert left == [], left
