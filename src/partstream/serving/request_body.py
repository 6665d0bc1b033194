"""The body of one HTTP request, within bounds of size and time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.serving.failures import RequestFailedError
from partstream.serving.requests import ClientLeftError

if TYPE_CHECKING:
    from partstream.asgi import Receive
    from partstream.serving.requests import RequestHead
    from partstream.serving.settings import ServingSettings

__all__ = ["RequestBody"]

_CLOSE: Final = ("connection", "close")
_DISCARDED: Final = 4
"""How many times the largest body is thrown away before a client that still sends is cut off."""
_LONGEST_NUMBER: Final = 18
"""The most digits of a declared size that are read; the bytes themselves are counted in any case."""
_PAUSE_SECONDS: Final = 1.0
"""How long a client may pause in a body that is thrown away."""


class RequestBody:
    """The body of one request, read once by one task.

    Args:
        request: The request.
        receive: ASGI's own.
        settings: The bounds.
    """

    __slots__ = ("_is_whole", "_receive", "_request", "_settings", "_size")

    def __init__(self, request: RequestHead, receive: Receive, settings: ServingSettings) -> None:
        self._request = request
        self._receive = receive
        self._settings = settings
        self._size = 0
        self._is_whole = False

    async def read(self, most: int | None = None) -> bytes:
        """The whole body.

        Args:
            most: The most bytes that it may have, if that is less than the settings say.

        Raises:
            RequestFailedError: It is too large, or takes too long.
            ClientLeftError: The client left before it was whole.
        """
        limit = self._settings.body_bytes if most is None else min(most, self._settings.body_bytes)
        declared = self._request.headers.get("content-length", "")
        if declared.isdecimal() and len(declared) <= _LONGEST_NUMBER:
            self._check_size(int(declared), limit)
        body = bytearray()
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                while not self._is_whole:
                    body += await self._next()
                    self._check_size(self._size, limit)
        except TimeoutError as error:
            self._is_whole = True  # nobody waits for the rest
            said = f"got {self._size:,} bytes within {self._settings.body_seconds:g} seconds, expected the whole body"
            raise RequestFailedError(ServedFailure(FailureKind.TIMEOUT, said), _CLOSE) from error
        return bytes(body)

    async def discard(self) -> None:
        """Throws away what was not read, before a refusal: a client that still sends reads no reply otherwise, because
        the server closes the connection on it.

        Raises:
            ClientLeftError: The client has left.
        """
        # RFC 9110 section 10.1.1: it sends nothing before it is told to.
        if self._size == 0 and self._request.headers.get("expect", "").lower() == "100-continue":
            return
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                while not self._is_whole and self._size <= _DISCARDED * self._settings.body_bytes:
                    async with asyncio.timeout(_PAUSE_SECONDS):
                        await self._next()
        except TimeoutError:
            return

    async def _next(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientLeftError("the client left before its request was whole")
        data: bytes = message.get("body", b"")
        self._size += len(data)
        self._is_whole = not message.get("more_body", False)
        return data

    @staticmethod
    def _check_size(size: int, most: int) -> None:
        if size > most:
            said = f"got a body of {size:,} bytes or more, expected at most {most:,}"
            raise RequestFailedError(ServedFailure(FailureKind.TOO_LARGE, said), _CLOSE)
