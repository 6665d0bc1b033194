"""A small host for an application of ASGI 3 on loopback, in pure Python, that can break its connections off."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from partstream.errors import CallerError
from partstream.loopback.connection import BadHTTPRequestError, LoopbackLimits, ServerConnection

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from partstream.server.requests import Application

__all__ = ["Host"]


class Host:
    """Serves an application at 127.0.0.1 inside its `async with` block.

    Args:
        application: Answers the requests.
        refusal: The JSON with which a client is answered that has sent no request, given HTTP status and message.
        port: The port to listen on; 0 for any free port.
        limits: The limits of connections.
        connections: The most connections at once; of more, as many again are refused with status 503, and others cut.

    Raises:
        BaseException: At the end of the block: what the application raised first.
    """

    def __init__(
        self,
        application: Application,
        refusal: Callable[[int, str], bytes],
        port: int = 0,
        limits: LoopbackLimits | None = None,
        connections: int | None = None,
    ) -> None:
        self._application = application
        self._refusal = refusal
        self._port = port
        self._limits = limits or LoopbackLimits()
        self._most_connections = connections
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._failure: BaseException | None = None

    @property
    def port(self) -> int:
        """The port that the host listens on.

        Raises:
            CallerError: It does not listen.
        """
        if self._server is None:
            raise CallerError("the server listens only inside its `async with` block")
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def open_connections(self) -> int:
        """The number of connections that clients hold open."""
        return len(self._connections)

    async def __aenter__(self) -> Host:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()
        connections = list(self._connections)
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        if self._failure is not None:
            raise self._failure

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serve = self._serve
        if self._most_connections is not None and len(self._connections) >= self._most_connections:
            if len(self._connections) >= 2 * self._most_connections:
                writer.transport.abort()
                return
            serve = self._refuse_another
        connection = asyncio.get_running_loop().create_task(serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._forget)
        # Not in the task: one that is cancelled before its first step does nothing at all.
        connection.add_done_callback(lambda _: writer.transport.abort())

    def _forget(self, connection: asyncio.Task[None]) -> None:
        self._connections.discard(connection)
        if not connection.cancelled():
            # A bug of the application; raised at the end of the block, where somebody sees it.
            self._failure = self._failure or connection.exception()

    async def _refuse_another(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = ServerConnection(reader, writer, self._limits)
        message = f"got more than {self._most_connections} connections at once"
        await connection.refuse(503, self._refusal(503, message))
        await connection.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = ServerConnection(reader, writer, self._limits)
        try:
            while (request := await connection.next_request()) is not None:
                await connection.answer(request, self._application)
        except BadHTTPRequestError as error:
            await connection.refuse(error.status, self._refusal(error.status, error.message))
        await connection.close()
