"""The way of our HTTP client straight to a server: connections that are kept, over HTTP/1.1.

`httpx2` remains the client. Where there is a proxy, it goes its own way; without one it goes this way, which takes a
fifth of the time for each piece of an answer: docs/decisions/0017-connections-of-our-own.md.
"""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

import httpx2

from partstream.upstreams.dialling import dial
from partstream.upstreams.http_connection import HTTPConnection

if TYPE_CHECKING:
    import ssl

__all__ = ["DirectTransport"]

_KEPT: Final = 8
"""Idle connections."""
_KEPT_SECONDS: Final = 5.0
_PORTS: Final = {"http": 80, "https": 443}

_Origin: TypeAlias = tuple[str, str, int, str | None]


class DirectTransport(httpx2.AsyncBaseTransport):
    """Connections to servers, without a proxy; lives in one event loop.

    Args:
        certificates: What is trusted.

    Attributes:
        certificates: The same.
    """

    def __init__(self, certificates: ssl.SSLContext) -> None:
        certificates.set_alpn_protocols(["http/1.1"])
        self.certificates = certificates
        self._idle: deque[tuple[_Origin, HTTPConnection]] = deque()
        self._all: set[HTTPConnection] = set()
        self._is_closed = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Sends a request and returns its answer when the head has come.

        Raises:
            httpx2.TransportError: There is no answer.
        """
        scheme = request.url.scheme
        if scheme not in _PORTS or not request.url.host:
            raise httpx2.UnsupportedProtocol(f"got a URL of the kind {scheme!r}, expected http or https and a host")
        name = request.extensions.get("sni_hostname")
        origin = (scheme, request.url.raw_host.decode(), request.url.port or _PORTS[scheme], name)
        connection = self._take(origin)
        if connection is None:
            seconds = request.extensions.get("timeout", {}).get("connect")
            certificates = self.certificates if scheme == "https" else None
            make = partial(HTTPConnection, self._all.discard)
            connection = await dial(make, origin[1], origin[2], certificates, name, seconds)
            self._all.add(connection)

        def give_back(one: HTTPConnection) -> None:
            one.last_used = asyncio.get_running_loop().time()
            self._idle.append((origin, one))
            if len(self._idle) > _KEPT:
                self._idle.popleft()[1].abort()
            if self._is_closed:
                self._drop_idle()

        return await connection.ask(request, give_back)

    @property
    def open_connections(self) -> int:
        """How many connections are open, idle ones too."""
        return len(self._all)

    async def aclose(self) -> None:
        """Closes all connections."""
        self._is_closed = True
        self._drop_idle()
        for connection in [*self._all]:
            connection.abort()

    def _take(self, origin: _Origin) -> HTTPConnection | None:
        """An idle connection to a server, the one that was used last; closes those that were idle for too long."""
        now = asyncio.get_running_loop().time()
        while self._idle and now - self._idle[0][1].last_used > _KEPT_SECONDS:
            self._idle.popleft()[1].abort()
        for entry in reversed(self._idle):
            if entry[0] == origin:
                self._idle.remove(entry)
                if entry[1].is_usable:
                    return entry[1]
                entry[1].abort()
                return self._take(origin)
        return None

    def _drop_idle(self) -> None:
        while self._idle:
            self._idle.popleft()[1].abort()
