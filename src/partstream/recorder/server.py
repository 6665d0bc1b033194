"""The server behind the recording proxy: where it is, and requests to it that are sent as they came."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx2

from partstream.upstream.endpoint import url_on_host, without_query
from partstream.upstream.http import connection_error, find_proxy, make_transport
from partstream.upstream.http_connection import AnswerBody, DirectTransport

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from partstream.errors import UpstreamConnectionError
    from partstream.recorder.forwarded_headers import HeaderFields
    from partstream.upstream.configuration import GatewayConfiguration

__all__ = ["ForwardServer", "ServerReply"]


@dataclass(frozen=True, slots=True)
class ServerReply:
    """A reply whose head has come; the caller reads its body and closes it.

    Attributes:
        status: The HTTP status.
        reason: The reason phrase; may be empty.
        headers: The header fields.
        next_piece: Waits for the next read of the body; gives nothing behind the last.
        aclose: Closes it; the connection is kept if the body was read to its end.
    """

    status: int
    reason: bytes
    headers: HeaderFields = field(repr=False)
    next_piece: Callable[[], Awaitable[bytes]] = field(repr=False)
    aclose: Callable[[], Awaitable[None]] = field(repr=False)


class ForwardServer:
    """One server; takes any number of requests at once, in one event loop.

    Args:
        configuration: Where it is and how it is reached. No key of it is used.

    Raises:
        ConnectionSetupError: The proxy or the certificates that this machine names are of no use.
    """

    def __init__(self, configuration: GatewayConfiguration) -> None:
        self._base_url = configuration.base_url
        self._timeout = {"connect": configuration.timeouts.connect, "read": None, "write": None, "pool": None}
        self._proxy = find_proxy(configuration)
        self._transport = make_transport(configuration, self._proxy)

    async def ask(
        self,
        method: str,
        path: str,
        query: str,
        headers: HeaderFields,
        body: bytes,
        on_sending: Callable[[], object],
        on_sent: Callable[[], object],
    ) -> ServerReply:
        """Sends a request and returns when the head of its reply has come.

        Args:
            method: Its method.
            path: Its path from the root of the server's host, as it came.
            query: Its query, which stands behind that of the base URL.
            headers: Its header fields.
            body: Its body.
            on_sending: Called when the first byte is about to be sent.
            on_sent: Called when the last byte was sent; not on the way through a proxy.

        Raises:
            httpx2.RequestError: There is no reply.
        """
        extensions: dict[str, Any] = {"timeout": self._timeout, "on_sending": on_sending, "on_sent": on_sent}
        url = url_on_host(self._base_url, path, query)
        request = httpx2.Request(method, url, headers=headers, content=body or None, extensions=extensions)
        if not isinstance(self._transport, DirectTransport):
            on_sending()
        response = await self._transport.handle_async_request(request)
        reason: bytes = response.extensions.get("reason_phrase", b"")
        fields = [(name.lower(), value) for name, value in response.headers.raw]
        return ServerReply(response.status_code, reason, fields, _pieces_of(response), response.aclose)

    def not_reached(self, error: Exception) -> UpstreamConnectionError:
        """What a person is told of a request without a reply; shows nothing of the request."""
        return connection_error(without_query(self._base_url), error, proxy=self._proxy)

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._transport.aclose()


def _pieces_of(response: httpx2.Response) -> Callable[[], Awaitable[bytes]]:
    body = response.extensions.get("body")
    if isinstance(body, AnswerBody):
        return body.next
    pieces = response.aiter_raw()

    async def following() -> bytes:
        while (piece := await anext(pieces, None)) is not None:
            if piece:
                return piece
        return b""

    return following
