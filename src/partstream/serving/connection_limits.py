"""What one connection may cost the server before a request has arrived whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from partstream.codec.checks import check_fields
from partstream.server.settings import ServingNumber

__all__ = ["CONNECTION_NUMBERS", "ConnectionLimits"]

CONNECTION_NUMBERS: Final = (
    ServingNumber("connections", 4096, 1, 1_000_000, "connections", "How many connections may be open at once"),
    ServingNumber("request_head_bytes", 65_536, 1024, 1_048_576, "bytes", "The largest head of a request"),
    ServingNumber(
        "request_head_seconds", 20.0, 0.01, 600, "seconds", "How long a client may take to send the head of a request"
    ),
    ServingNumber(
        "slow_body_seconds",
        30.0,
        0.01,
        600,
        "seconds",
        "How long a client may take to send any body; one of more than 2 kB for each further second may take longer",
    ),
    ServingNumber("idle_seconds", 75.0, 1, 3600, "seconds", "How long a connection without a request stays open"),
    ServingNumber(
        "peer_seconds", 30.0, 1, 3600, "seconds", "How long data may wait for a client that takes none of it"
    ),
)
"""The numbers that people may want to change; the command line and the documentation are made from them."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of connections. What an application can decide itself, such as the size of a body, is not here.

    Attributes:
        connections: The most connections at a time; one more gets status 503.
        request_head_bytes: The most bytes of a request's first line and headers; one more gets status 431. Coding
            agents send about 2 kB, cookies of a proxy up to 16 kB.
        request_head_seconds: The longest wait for a whole head, from its first byte or the opening of the connection.
        slow_body_seconds: The time that any body may take, however slow its client is.
        body_bytes_per_second: The bytes of a body that give it one more second.
        waiting_requests: The most requests that a client may send on a connection before its first answer has ended.
        idle_seconds: How long a connection without a request stays open: longer than the 60 seconds of most load
            balancers, because a request of theirs must not meet a closing connection.
        peer_seconds: The longest time that data may wait for a client that does not take it or is not there.
        closing_seconds: How long closing connections are waited for at the end of the process.

    Raises:
        InvalidArgumentError: A number is out of its bounds.
    """

    connections: int = 4096
    request_head_bytes: int = 65_536
    request_head_seconds: float = 20.0
    slow_body_seconds: float = 30.0
    body_bytes_per_second: int = 2048
    waiting_requests: int = 16
    idle_seconds: float = 75.0
    peer_seconds: float = 30.0
    closing_seconds: int = 5

    def __post_init__(self) -> None:
        check_fields(self, {number.name: number.expectation for number in CONNECTION_NUMBERS})
