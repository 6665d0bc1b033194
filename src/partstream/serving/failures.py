"""What a client of a server is told of an error, and the error that ends a request before its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.errors import PartstreamError
from partstream.protocols.failure_meanings import failure_of as meaning_of

if TYPE_CHECKING:
    from partstream.protocols.served_failures import ServedFailure

__all__ = ["RequestFailedError", "failure_of"]


class RequestFailedError(PartstreamError):
    """Ends a request before an answer has begun.

    Attributes:
        failure: What the client is told.
        headers: Further headers of the reply, names in lower case.
    """

    def __init__(self, failure: ServedFailure, *headers: tuple[str, str]) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.headers = headers


def failure_of(error: BaseException) -> ServedFailure:
    """What a client is told of an error."""
    return error.failure if isinstance(error, RequestFailedError) else meaning_of(error)
