"""The proxy: listens on loopback, forwards every request to one server, and shows each exchange to a watcher."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from partstream.recorder.admission import refusal_body, refusal_of
from partstream.recorder.forwarded_headers import request_fields
from partstream.recorder.relay import Relay, send_document
from partstream.recorder.server import ForwardServer
from partstream.recorder.watching import ForwardedRequest
from partstream.server.loopback import Host, LoopbackLimits

if TYPE_CHECKING:
    from types import TracebackType

    from partstream.recorder.watching import Watch
    from partstream.server.requests import Receive, Scope, Send
    from partstream.upstream.configuration import GatewayConfiguration

__all__ = ["LARGEST_BODY", "RecordingProxy"]

LARGEST_BODY: Final = 64 * 1024 * 1024
"""Bytes of a request's body."""


class RecordingProxy:
    """Listens on 127.0.0.1 inside its `async with` block.

    The origin of the server is replaced and nothing else: the path of a request is the path that the server gets.

    Args:
        configuration: Where the server is and how it is reached; its key, if it has one, is not used.
        watch: Sees each exchange.
        port: The port to listen on; 0 for any free port.
        largest_body: The most bytes of a request's body.

    Raises:
        ConnectionSetupError: The proxy or the certificates that this machine names are of no use.
    """

    def __init__(
        self, configuration: GatewayConfiguration, watch: Watch, port: int = 0, largest_body: int = LARGEST_BODY
    ) -> None:
        self._configuration = configuration
        self._server: ForwardServer | None = None
        self._watch = watch
        self._numbers = 0
        self._host = Host(
            self._answer, lambda status, message: refusal_body(message), port, LoopbackLimits(body_bytes=largest_body)
        )

    @property
    def port(self) -> int:
        """The port that it listens on.

        Raises:
            CallerError: It does not listen.
        """
        return self._host.port

    @property
    def base_url(self) -> str:
        """What stands in the place of the server's base URL: the same path on this machine."""
        return f"http://127.0.0.1:{self.port}{urlsplit(self._configuration.base_url).path.rstrip('/')}"

    @property
    def open_connections(self) -> int:
        """The number of connections that clients hold open."""
        return self._host.open_connections

    async def __aenter__(self) -> RecordingProxy:
        self._server = ForwardServer(self._configuration)
        await self._host.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            await self._host.__aexit__(kind, error, traceback)
        finally:
            if self._server is not None:
                await self._server.aclose()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = await receive()
        fields: list[tuple[bytes, bytes]] = scope["headers"]
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in fields}
        path = scope["raw_path"].decode("latin-1")
        refusal = refusal_of(path, headers)
        with suppress(OSError):  # the client has left
            if refusal is not None:
                await send_document(send, refusal.status, refusal.message)
            elif self._server is not None:
                self._numbers += 1
                query = scope["query_string"].decode("latin-1")
                request = ForwardedRequest(
                    self._numbers,
                    scope["method"],
                    path,
                    query,
                    request_fields(fields),
                    asked.get("body", b""),
                    time.monotonic_ns(),
                )
                await Relay(self._server, request, self._watch(request), send).run(receive)
