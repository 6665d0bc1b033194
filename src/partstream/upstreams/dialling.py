"""Opens connections: all addresses of a host one after the other, each next one a little later (RFC 8305), then TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import suppress
from ipaddress import ip_address
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Final, TypeVar

import httpx2

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["dial"]

_NEXT_AFTER: Final = 0.25
"""Seconds until the next address is tried beside one that has not answered (RFC 8305 section 5)."""

_Connection = TypeVar("_Connection", bound=asyncio.Protocol)


async def dial(
    make: Callable[[], _Connection],
    host: str,
    port: int,
    certificates: ssl.SSLContext | None,
    name: str | None = None,
    seconds: float | None = None,
) -> _Connection:
    """Opens a connection.

    Args:
        make: Makes the protocol of the connection.
        host: A name or an address.
        port: The port.
        certificates: What is trusted, for a connection with TLS; None for one without.
        name: The name that the certificate has to be for, where it is not the host.
        seconds: How long to wait; None for ever.

    Raises:
        httpx2.ConnectTimeout: It took too long.
        httpx2.ConnectError: There is no connection; the cause says why.
    """
    try:
        async with asyncio.timeout(seconds):
            opened = await _opened(host, port)
            try:
                return await _encrypted(make, opened, certificates, name or host)
            except BaseException:
                opened.close()
                raise
    except TimeoutError as error:
        # The system has such an error too: then the peer is silent, as it is when the limit is reached.
        raise httpx2.ConnectTimeout(str(error)) from error
    except (OSError, UnicodeError) as error:
        raise httpx2.ConnectError(str(error)) from error


async def _encrypted(
    make: Callable[[], _Connection], opened: socket.socket, certificates: ssl.SSLContext | None, name: str
) -> _Connection:
    loop = asyncio.get_running_loop()
    if certificates is None:
        _, connection = await loop.create_connection(make, sock=opened)
        return connection
    try:
        _, connection = await loop.create_connection(make, sock=opened, ssl=certificates, server_hostname=name)
    except ConnectionResetError as error:
        if error.errno is None:  # asyncio's word for an end in the middle of the handshake
            raise ssl.SSLEOFError(ssl.SSL_ERROR_EOF, "the connection ended before it was encrypted") from error
        raise
    return connection


async def _opened(host: str, port: int) -> socket.socket:
    """The first connection that opens."""
    addresses = await _addresses(host, port)
    if len(addresses) == 1:
        return await _connected(*addresses[0])
    tries: list[asyncio.Task[socket.socket]] = []
    try:
        for address in addresses:
            tries.append(asyncio.create_task(_connected(*address)))
            if found := await _first(tries, _NEXT_AFTER):
                return found
        while any(not one.done() for one in tries):
            if found := await _first(tries, None):
                return found
    finally:
        await _end(tries)
    errors = [error for one in tries if isinstance(error := one.exception(), Exception)]
    raise OSError("All connection attempts failed") from ExceptionGroup("several addresses were tried", errors)


async def _first(tries: Sequence[asyncio.Task[socket.socket]], seconds: float | None) -> socket.socket | None:
    """A connection that is open, or None when all that were tried have failed or the time is over."""
    deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds
    while True:
        for one in tries:
            if one.done() and not one.cancelled() and one.exception() is None:
                return one.result()
        running = [one for one in tries if not one.done()]
        left = None if deadline is None else deadline - asyncio.get_running_loop().time()
        if not running or (left is not None and left <= 0):
            return None
        await asyncio.wait(running, timeout=left, return_when=asyncio.FIRST_COMPLETED)


async def _end(tries: Sequence[asyncio.Task[socket.socket]]) -> None:
    """Ends the tries that are of no use any more, and closes what they opened; the first that opened is in use."""
    in_use: socket.socket | None = None
    for one in tries:
        one.cancel()
        with suppress(OSError, asyncio.CancelledError):
            opened = await one
            if in_use is None:
                in_use = opened
            else:
                opened.close()


async def _addresses(host: str, port: int) -> list[tuple[socket.AddressFamily, tuple[object, ...]]]:
    """The addresses of a host, those of IP version 6 and 4 by turns, in the order of the system."""
    with suppress(ValueError):
        address = ip_address(host)
        family = socket.AF_INET if address.version == 4 else socket.AF_INET6
        if "%" not in host:  # the system resolves the scope of an address
            return [(family, (host, port))]
    rows = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    found = list(dict.fromkeys((family, place) for family, _, _, _, place in rows))
    first = [one for one in found if one[0] == found[0][0]]
    second = [one for one in found if one[0] != found[0][0]]
    return [one for one in chain.from_iterable(zip_longest(first, second)) if one is not None]


async def _connected(family: socket.AddressFamily, place: tuple[object, ...]) -> socket.socket:
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setblocking(False)
        await asyncio.get_running_loop().sock_connect(opened, place)
    except BaseException:
        opened.close()
        raise
    return opened
