"""What sees an exchange go by; the proxy calls it after it has forwarded what it tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from partstream.devtools.bundles.exchange import HowEnded
    from partstream.recorder.forwarded_headers import HeaderFields

__all__ = ["ExchangeWatcher", "ForwardedRequest", "Watch"]


@dataclass(frozen=True, slots=True)
class ForwardedRequest:
    """A request as the server gets it, without the fields of its connection.

    Attributes:
        number: Its number among the requests of the proxy, from 1.
        method: The method.
        path: The path as it came, with its escapes.
        query: The query without `?`.
        headers: The header fields. They may hold the client's key.
        body: The body.
        at: When it had come from the client, in nanoseconds of the monotonic clock.
    """

    number: int
    method: str
    path: str
    query: str = field(repr=False)
    headers: HeaderFields = field(repr=False)
    body: bytes = field(repr=False)
    at: int = 0


class ExchangeWatcher(Protocol):
    """Sees one exchange; no call may take long or raise. Times are nanoseconds of the monotonic clock.

    Attributes:
        is_behind: Whether it cannot take more before :meth:`caught_up` returns.
    """

    @property
    def is_behind(self) -> bool:
        """See the class."""

    async def caught_up(self) -> None:
        """Waits while it cannot take more."""

    def sending(self, at: int) -> None:
        """The first byte of the request is about to be sent."""

    def sent(self, at: int) -> None:
        """The last byte of the request was sent; not called where nobody knows when."""

    def head(self, at: int, status: int, reason: str, headers: HeaderFields) -> None:
        """The head of the response was read."""

    def chunk(self, at: int, data: bytes) -> None:
        """Some bytes of the body were read at once."""

    def end(self, at: int, how: HowEnded, error: Exception | None) -> None:
        """The exchange is over; the last call."""


Watch: TypeAlias = Callable[[ForwardedRequest], ExchangeWatcher]
"""Called with each request that is forwarded."""
