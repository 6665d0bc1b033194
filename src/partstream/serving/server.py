"""Runs an application under uvicorn in this process, and ends it without cutting an answer.

Signals are our own: uvicorn would close every WebSocket at once, in the middle of an answer, and its hook for the end
comes only after all streams have ended, so that nobody could tell them to. Needs the extra `serve`.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

import uvicorn

from partstream.server.listening import ConnectionLimits
from partstream.serving.bounded_connection import BoundedConnection

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable, Iterator, MutableMapping, Sequence

__all__ = ["DrainingApplication", "HttpServer", "StoppedAtOnceError"]

_CANCELLING_SECONDS: Final = 1.0
"""How long answers have to notice that their clients are gone when the process ends at once."""


class StoppedAtOnceError(Exception):
    """A second signal ended the process before all answers had ended."""


class DrainingApplication(Protocol):
    """An ASGI application that can end its answers, such as :class:`partstream.server.application.ServingApp`."""

    @property
    def open_answers(self) -> int:
        """How many answers have begun and not ended."""
        ...

    def begin_drain(self) -> None:
        """From now on, is not ready and refuses new work."""
        ...

    async def drain(self, seconds: float) -> None:
        """Waits until all answers have ended; after `seconds` it ends them itself, as their wires do."""
        ...

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        """Answers one request."""
        ...


class _Uvicorn(uvicorn.Server):
    """uvicorn's server without its signals, and with a moment at which it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_listening.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def abandon(self) -> None:
        """Closes all connections, which cancels their answers, and waits for nobody else."""
        self.force_exit = self.should_exit = True
        for connection in tuple(self.server_state.connections):
            connection.transport.abort()
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=_CANCELLING_SECONDS)


class HttpServer:
    """Serves one application on open sockets until it is told to stop.

    Attributes:
        state: uvicorn's own record of connections and tasks, for tests and measurements.

    Args:
        application: The application.
        sockets: What :func:`partstream.server.listening.listening_sockets` opened; closed with the server.
        limits: The limits of connections.
        drain_seconds: How long open answers may go on after the server was told to stop.
        largest_message: The most bytes of a WebSocket message.
        on_drain: Told how many answers are waited for, if any.
    """

    def __init__(
        self,
        application: DrainingApplication,
        sockets: Sequence[socket.socket],
        *,
        limits: ConnectionLimits | None = None,
        drain_seconds: float = 30.0,
        largest_message: int = 32 * 1024 * 1024,
        on_drain: Callable[[int], None] = lambda answers: None,
    ) -> None:
        self._application = application
        self._sockets = list(sockets)
        self._drain_seconds = drain_seconds
        self._on_drain = on_drain
        self._stops = 0
        self._is_stopping = asyncio.Event()
        self._is_given_up = asyncio.Event()
        self._server = _Uvicorn(_configuration(application, limits or ConnectionLimits(), largest_message))
        self.state = self._server.server_state

    def stop(self) -> None:
        """Ends the server: the first call lets answers end, the second does not."""
        self._stops += 1
        self._is_stopping.set()
        if self._stops > 1:
            self._is_given_up.set()

    async def serve(self, on_listening: Callable[[], None] = lambda: None) -> None:
        """Serves until :meth:`stop` was called and all answers have ended.

        Args:
            on_listening: Called once connections are accepted.

        Raises:
            StoppedAtOnceError: :meth:`stop` was called a second time while answers were open.
        """
        running = asyncio.create_task(self._server.serve(self._sockets))
        try:
            await _first(running, self._server.is_listening.wait())
            if not running.done():
                on_listening()
                await _first(running, self._is_stopping.wait())
                await self._drain()
                self._server.should_exit = True
            await _first(running, self._is_given_up.wait())
            if not running.done():
                await self._server.abandon()
        finally:
            self._server.should_exit = True
            await running
            if self._server.force_exit:
                await self._server.lifespan.shutdown()  # uvicorn leaves it out then
        if self._is_given_up.is_set():
            raise StoppedAtOnceError

    async def _drain(self) -> None:
        self._application.begin_drain()
        if self._application.open_answers:
            self._on_drain(self._application.open_answers)
        draining = asyncio.create_task(self._application.drain(self._drain_seconds))
        await _first(draining, self._is_given_up.wait())
        if not draining.done():
            draining.cancel()
            with suppress(asyncio.CancelledError):
                await draining
            return
        draining.result()


def _configuration(application: DrainingApplication, limits: ConnectionLimits, largest_message: int) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        interface="asgi3",
        http=partial(BoundedConnection, limits=limits),  # type: ignore[arg-type] # only ever called
        ws=_socket_protocol,  # type: ignore[arg-type] # only ever called
        ws_max_size=largest_message,
        ws_per_message_deflate=False,  # it would cost time for every event and memory for every socket
        lifespan="on",
        log_config=None,
        log_level="error",  # what strangers send is no news for a log
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=limits.idle_seconds,  # type: ignore[arg-type] # only ever added to a time
        timeout_graceful_shutdown=limits.closing_seconds,
    )


def _socket_protocol(**options: Any) -> asyncio.Protocol:
    """The protocol of a WebSocket; imported with the first one, because that takes a tenth of the start."""
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol  # noqa: PLC0415

    return WebSocketsSansIOProtocol(**options)


async def _first(task: asyncio.Task[None], other: Any) -> None:
    """Waits for the end of either; the other one is not waited for any more."""
    waiting = asyncio.ensure_future(other)
    try:
        await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
