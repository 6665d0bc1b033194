"""The sockets of a server: opens them, names what is wrong with an address, and bounds what one connection may cost.

Accepted sockets inherit the options of the listening one, so a client that has gone is noticed by the system. Limits of
a connection hold before a request has arrived whole; what an application can decide itself, such as the size of a body,
is not among them.
"""

from __future__ import annotations
import asyncio
import errno
import ipaddress
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

from partstream.codec.checks import check_fields, dataclass
from partstream.errors import CallerError
from partstream.server.settings import number, numbers_of

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8642
"""A number that no usual model server has."""
_WAITING_CONNECTIONS: Final = 1024
_PROBES: Final = 3
_SEND_BUFFER: Final = 256 * 1024
"""The most bytes that the system holds for a slow client; it would grow to megabytes by itself, and the provider would
run as far ahead. An answer seldom has that many."""


class CannotListenError(CallerError):
    """The address cannot be used; `is_in_use` says that another program has the port."""

    def __init__(self, host: str, port: int, reason: str, *, is_in_use: bool = False) -> None:
        super().__init__(f"cannot listen on {shown_host(host)}:{port}: {reason}")
        self.is_in_use = is_in_use


def is_loopback_address(host: str) -> bool:
    """Whether only programs of this machine can reach the address. A name counts when all its addresses are loopback.

    Raises:
        CannotListenError: The name is unknown.
    """
    return all(ipaddress.ip_address(address[0]).is_loopback for *_, address in _addresses(host, 0))


def shown_host(host: str) -> str:
    """The host as a URL has it: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host


def listening_sockets(host: str, port: int, peer_seconds: float) -> list[socket.socket]:
    """One socket for each address of the host, all on the same port: any free one for 0.

    A client that takes no data for `peer_seconds` is noticed to have gone.

    Raises:
        CannotListenError: The system refuses.
    """
    seconds = max(1, round(peer_seconds / (_PROBES + 1)))
    options = {"TCP_KEEPIDLE": seconds, "TCP_KEEPINTVL": seconds, "TCP_KEEPCNT": _PROBES}
    options["TCP_USER_TIMEOUT"] = round(peer_seconds * 1000)
    with ExitStack() as undo:
        opened: list[socket.socket] = []
        for family, _, _, _, address in _addresses(host, port):
            # With its protocol: asyncio looks at it before it lets small pieces go at once (TCP_NODELAY).
            listener = undo.enter_context(socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP))
            if sys.platform != "win32":  # there, the option would let two programs share a port
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in options.items():
                if hasattr(socket, name):  # each system has its own set of them
                    listener.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
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
        name = host.encode() if host.isascii() else host  # as text, it would load the tables of international names
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise CannotListenError(host, port, getattr(error, "strerror", None) or str(error)) from error
    unique = {address: (family, kind, number, name, address) for family, kind, number, name, address in found}
    return list(unique.values())  # type: ignore[arg-type] # the stubs allow addresses without an IP version


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


# ---- Limits of a connection ----


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of connections.

    Attributes:
        request_head_bytes: One more gets status 431. Coding agents send about 2 kB, cookies of a proxy up to 16 kB.
        body_bytes_per_second: The bytes of a body that give it one more second.
        waiting_requests: The most requests that a client may send on a connection before its first answer has ended.
        idle_seconds: Longer than the 60 seconds of most load balancers, because a request of theirs must not meet a
            closing connection.
        closing_seconds: How long closing connections are waited for at the end of the process.

    Raises:
        InvalidArgumentError: A number is out of its bounds.
    """

    # fmt: off
    connections: int = number(4096, 1, 1_000_000, "connections", "How many connections may be open at once")
    request_head_bytes: int = number(65_536, 1024, 1_048_576, "bytes", "The largest head of a request")
    request_head_seconds: float = number(20.0, 0.01, 600, "seconds",
        "How long a client may take to send the head of a request")
    slow_body_seconds: float = number(30.0, 0.01, 600, "seconds",
        "How long a client may take to send any body; one of more than 2 kB for each further second may take longer")
    body_bytes_per_second: int = 2048
    waiting_requests: int = 16
    idle_seconds: float = number(75.0, 1, 3600, "seconds", "How long a connection without a request stays open")
    peer_seconds: float = number(30.0, 1, 3600, "seconds", "How long data may wait for a client that takes none of it")
    # fmt: on
    closing_seconds: int = 5

    def __post_init__(self) -> None:
        check_fields(self, {one.name: one.expectation for one in CONNECTION_NUMBERS})


CONNECTION_NUMBERS: Final = numbers_of(ConnectionLimits)


_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopped_by_signals(stop: Callable[[], object]) -> Iterator[None]:
    """Calls a function in the running event loop for each Ctrl-C and SIGTERM inside the block."""
    loop = asyncio.get_running_loop()
    before = {one: signal.signal(one, lambda *_: loop.call_soon_threadsafe(stop)) for one in _SIGNALS}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
