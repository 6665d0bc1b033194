"""Opens the sockets that the server accepts connections on, and says what is wrong with an address."""

from __future__ import annotations

import errno
import ipaddress
import socket
import sys
from contextlib import ExitStack, suppress
from typing import Final

from partstream.errors import CallerError

__all__ = [
    "DEFAULT_HOST",
    "DEFAULT_PORT",
    "CannotListenError",
    "is_loopback_address",
    "listening_sockets",
    "shown_host",
]

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8642
"""A number that no usual model server has."""

_WAITING_CONNECTIONS: Final = 1024
_PROBES: Final = 3
_SEND_BUFFER: Final = 256 * 1024
"""The most bytes that the system holds for a slow client; it would grow to megabytes by itself, and the provider would
run as far ahead. An answer seldom has that many."""


class CannotListenError(CallerError):
    """The address is of no use, or somebody else has it.

    Attributes:
        host: The host name or address.
        port: The port.
        reason: What the system says.
        is_in_use: Whether another program has the port.
    """

    def __init__(self, host: str, port: int, reason: str, *, is_in_use: bool = False) -> None:
        super().__init__(f"cannot listen on {shown_host(host)}:{port}: {reason}")
        self.host = host
        self.port = port
        self.reason = reason
        self.is_in_use = is_in_use


def is_loopback_address(host: str) -> bool:
    """Whether only programs of this machine can reach the address. A name counts when all its addresses are loopback.

    Raises:
        CannotListenError: Nothing is known under this name.
    """
    return all(ipaddress.ip_address(address[0]).is_loopback for *_, address in _addresses(host, 0))


def shown_host(host: str) -> str:
    """The host as a URL has it: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host


def listening_sockets(host: str, port: int, peer_seconds: float) -> list[socket.socket]:
    """One socket for each address of the host, all on the same port.

    Accepted sockets inherit the options: a client that has gone without a word is noticed after `peer_seconds`.

    Args:
        host: A host name or an address.
        port: The port; 0 for any free one.
        peer_seconds: The longest time that data may wait for a client, and how long a silent one is not asked.

    Raises:
        CannotListenError: The system refuses.
    """
    with ExitStack() as undo:
        opened: list[socket.socket] = []
        for family, _, _, _, address in _addresses(host, port):
            listener = undo.enter_context(socket.socket(family, socket.SOCK_STREAM))
            _set_options(listener, peer_seconds)
            taken = opened[0].getsockname()[1] if opened else port
            try:
                listener.bind((address[0], taken, *address[2:]))
                listener.listen(_WAITING_CONNECTIONS)
            except OSError as error:
                is_in_use = error.errno == errno.EADDRINUSE
                raise CannotListenError(host, taken, error.strerror or str(error), is_in_use=is_in_use) from error
            listener.setblocking(False)
            opened.append(listener)
        undo.pop_all()
        return opened


def _addresses(host: str, port: int) -> list[tuple[socket.AddressFamily, int, int, str, tuple[str, ...]]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise CannotListenError(host, port, getattr(error, "strerror", None) or str(error)) from error
    unique = {address: (family, kind, number, name, address) for family, kind, number, name, address in found}
    return list(unique.values())  # type: ignore[arg-type] # the stubs allow addresses without an IP version


def _set_options(listener: socket.socket, peer_seconds: float) -> None:
    if sys.platform != "win32":  # there, the option would let two programs share a port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if listener.family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    seconds = max(1, round(peer_seconds / (_PROBES + 1)))
    for name, value in (
        ("TCP_USER_TIMEOUT", round(peer_seconds * 1000)),
        ("TCP_KEEPIDLE", seconds),
        ("TCP_KEEPINTVL", seconds),
        ("TCP_KEEPCNT", _PROBES),
    ):
        if hasattr(socket, name):  # each system has its own set of them
            listener.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def allow_files(count: int) -> None:
    """Lets this process open so many files, as far as the system allows it; many systems begin with 1,024.

    A server that has no file left for a connection neither takes nor refuses it.
    """
    try:
        import resource  # noqa: PLC0415 - Windows has none, and needs none
    except ImportError:
        return
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if most == resource.RLIM_INFINITY else min(count, most)
    if allowed != resource.RLIM_INFINITY and allowed < wanted:
        with suppress(OSError, ValueError):  # some systems have a further limit, which they do not tell
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
