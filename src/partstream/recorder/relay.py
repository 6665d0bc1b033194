"""One exchange through the proxy: hands the request on, then each read of the reply at once, and says how it ended."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import httpx2

from partstream.devtools.bundles.exchange import HowEnded
from partstream.errors import PartstreamError
from partstream.recorder.admission import refusal_body
from partstream.recorder.forwarded_headers import response_fields
from partstream.server.loopback import BREAK_OFF

if TYPE_CHECKING:
    from partstream.recorder.server import ForwardServer, ServerReply
    from partstream.recorder.watching import ExchangeWatcher, ForwardedRequest
    from partstream.server.requests import Receive, Send

__all__ = ["ProxyStoppedError", "Relay", "send_document"]


class ProxyStoppedError(PartstreamError):
    """The proxy was stopped while the exchange went on."""


class Relay:
    """One exchange.

    Args:
        server: Who is asked.
        request: What is asked.
        watcher: Sees what goes by.
        send: Sends a part of the reply to the client.
    """

    def __init__(self, server: ForwardServer, request: ForwardedRequest, watcher: ExchangeWatcher, send: Send) -> None:
        self._server = server
        self._request = request
        self._watcher = watcher
        self._send = send

    async def run(self, receive: Receive) -> None:
        """Runs until the reply is over or the client leaves; the connection to the server is closed at once then."""
        forwarding = asyncio.create_task(self._forward())
        leaving = asyncio.ensure_future(receive())
        try:
            await asyncio.wait({forwarding, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not forwarding.done():
                await _cancelled(forwarding)
                self._end(HowEnded.CANCELLED, None)
            else:
                self._end(*forwarding.result())
        except asyncio.CancelledError:
            await _cancelled(forwarding)
            self._end(HowEnded.CUT, ProxyStoppedError("the proxy was stopped"))
            raise
        finally:
            leaving.cancel()

    def _end(self, how: HowEnded, error: Exception | None) -> None:
        self._watcher.end(time.monotonic_ns(), how, error)

    async def _forward(self) -> tuple[HowEnded, Exception | None]:
        """Forwards the whole exchange; gives how it ended."""
        request = self._request
        try:
            reply = await self._server.ask(
                request.method,
                request.path,
                request.query,
                request.headers,
                request.body,
                lambda: self._watcher.sending(time.monotonic_ns()),
                lambda: self._watcher.sent(time.monotonic_ns()),
            )
        except Exception as error:  # beside its own errors, the client lets out those of addresses and of sockets
            return HowEnded.NO_RESPONSE, await self._without_response(error)
        at = time.monotonic_ns()
        try:
            await self._send(
                {
                    "type": "http.response.start",
                    "status": reply.status,
                    "reason": reply.reason,
                    "headers": response_fields(reply.headers),
                }
            )
            self._watcher.head(at, reply.status, reply.reason.decode("latin-1"), reply.headers)
            return await self._forward_body(reply)
        except OSError:  # the client has left
            return HowEnded.CANCELLED, None
        finally:
            await reply.aclose()

    async def _forward_body(self, reply: ServerReply) -> tuple[HowEnded, Exception | None]:
        send, watcher = self._send, self._watcher
        try:
            while piece := await reply.next_piece():
                at = time.monotonic_ns()
                try:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                finally:  # also where the client has left, or is slow and the proxy is stopped
                    watcher.chunk(at, piece)
                if watcher.is_behind:
                    await watcher.caught_up()
        except httpx2.RequestError as error:
            await send({"type": BREAK_OFF, "reset": isinstance(error, httpx2.ReadError)})
            return HowEnded.CUT, error
        await send({"type": "http.response.body"})
        return HowEnded.WHOLE, None

    async def _without_response(self, error: Exception) -> Exception:
        """Tells the client what no server told it; a connection that broke breaks here too."""
        failure = self._server.not_reached(error)
        try:
            if isinstance(error, httpx2.ReadError | httpx2.RemoteProtocolError):
                await self._send({"type": BREAK_OFF, "reset": isinstance(error, httpx2.ReadError)})
            else:
                status = 504 if isinstance(error, httpx2.ConnectTimeout) else 502
                await send_document(self._send, status, str(failure))
        except OSError:  # the client has left
            pass
        return failure


async def send_document(send: Send, status: int, message: str) -> None:
    """Sends a reply that the proxy makes itself.

    Raises:
        OSError: The client has left.
    """
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": refusal_body(message)})


async def _cancelled(task: asyncio.Task[object]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
