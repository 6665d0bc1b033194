"""What one connection may cost the server before a request has arrived whole."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ConnectionLimits"]


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of connections. What an application can decide itself, such as the size of a body, is not here.

    Attributes:
        connections: The most connections at a time; one more gets status 503.
        head_bytes: The most bytes of a request's first line and headers; one more gets status 431. Coding agents send
            about 2 kB, cookies of a proxy up to 16 kB.
        head_seconds: The longest wait for a whole head, from its first byte or from the opening of the connection.
        body_seconds: The time that any body may take, however slow its client is.
        body_bytes_per_second: The bytes of a body that give it one more second.
        waiting_requests: The most requests that a client may send on a connection before its first answer has ended.
        idle_seconds: How long a connection without a request stays open: longer than the 60 seconds of most load
            balancers, because a request of theirs must not meet a closing connection.
        peer_seconds: The longest time that data may wait for a client that does not take it or is not there.
        closing_seconds: How long closing connections are waited for at the end of the process.
    """

    connections: int = 4096
    head_bytes: int = 64 * 1024
    head_seconds: float = 20.0
    body_seconds: float = 30.0
    body_bytes_per_second: int = 2048
    waiting_requests: int = 16
    idle_seconds: int = 75
    peer_seconds: float = 30.0
    closing_seconds: int = 5
