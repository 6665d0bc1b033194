"""An application on loopback, under the server that `partstream serve` runs."""

from __future__ import annotations
import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from partstream.server.listening import listening_sockets
from partstream.server.uvicorn_server import HttpServer

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Sequence

    from partstream.server.application import ServingApp


@asynccontextmanager
async def served(application: ServingApp, sockets: Sequence[socket.socket] = ()) -> AsyncIterator[str]:
    """Yields the root URL; the end of the block waits until the server has ended."""
    sockets = sockets or listening_sockets("127.0.0.1", 0, 30.0)
    port = sockets[0].getsockname()[1]
    server = HttpServer(application, sockets, drain_seconds=5.0)
    listening = asyncio.Event()
    running = asyncio.create_task(server.serve(listening.set))
    try:
        async with asyncio.timeout(30):
            await listening.wait()
        yield f"http://127.0.0.1:{port}"
    finally:
        server.stop()
        async with asyncio.timeout(30):
            await running
