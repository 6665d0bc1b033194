"""What a client of a server is told of an error; the errors of a request before its answer, and of stored answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.errors import PartstreamError
from partstream.protocols.failures import failure_of as meaning_of

if TYPE_CHECKING:
    from partstream.protocols.failures import ServedFailure

__all__ = ["ChainTooLargeError", "RequestFailedError", "StoreFailedError", "failure_of"]


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


class StoreFailedError(PartstreamError):
    """A store could not keep or find an answer: it has too much to do, or its file cannot be read or written."""


class ChainTooLargeError(PartstreamError):
    """An answer continues more than a server takes into its memory."""


def failure_of(error: BaseException) -> ServedFailure:
    """What a client is told of an error."""
    return error.failure if isinstance(error, RequestFailedError) else meaning_of(error)
