"""Turns errors of ours into the failure that a client is told, by a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.errors import (
    ContextLengthExceededError,
    InvalidRequestError,
    LanguageModelError,
    LanguageModelErrorCode,
    PartstreamError,
    RequestNotExpressibleError,
    UnknownModelError,
    UpstreamError,
    UpstreamTimeoutError,
)
from partstream.protocols.error_kinds import ErrorKind
from partstream.protocols.errors import COMMON_ERRORS
from partstream.protocols.refused import RefusedRequestError
from partstream.protocols.served_failures import FailureKind, ServedFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
    """What a client is told of an error.

    Of an error that is not one of ours only the class is told: its text may hold anything.
    """
    for kind, said in _TABLE:
        if isinstance(error, kind):
            return said(error)
    return ServedFailure(FailureKind.INTERNAL, f"the provider failed with {type(error).__name__}")


def _said(error: RequestFailedError) -> ServedFailure:
    return error.failure


def _invalid(error: InvalidRequestError) -> ServedFailure:
    return ServedFailure(FailureKind.INVALID_REQUEST, str(error), error.where)


def _not_expressible(error: RequestNotExpressibleError) -> ServedFailure:
    return ServedFailure(FailureKind.INVALID_REQUEST, error.message, error.where)


_OF_STATUS: Final[Mapping[int, FailureKind]] = {
    401: FailureKind.UNAUTHENTICATED,
    402: FailureKind.SPENT_BUDGET,
    403: FailureKind.FORBIDDEN,
    404: FailureKind.NOT_FOUND,
    405: FailureKind.METHOD_NOT_ALLOWED,
    413: FailureKind.TOO_LARGE,
    429: FailureKind.RATE_LIMITED,
}


def _refused(error: RefusedRequestError) -> ServedFailure:
    kind = _OF_STATUS.get(error.status, FailureKind.INVALID_REQUEST)
    return ServedFailure(kind, str(error), error.param, error.code, fields=error.fields)


def _unknown_model(error: UnknownModelError) -> ServedFailure:
    return ServedFailure(FailureKind.MODEL_NOT_FOUND, error.message, "model")


def _too_long(error: ContextLengthExceededError) -> ServedFailure:
    return ServedFailure(FailureKind.CONTEXT_LENGTH, error.message)


def _timeout(error: UpstreamTimeoutError) -> ServedFailure:
    return ServedFailure(FailureKind.TIMEOUT, error.message)


_OF_KIND: Final[Mapping[ErrorKind, FailureKind]] = {
    # The key that was refused is ours, not the client's: asking again with another one is of no use.
    ErrorKind.NO_PERMISSION: FailureKind.FORBIDDEN,
    ErrorKind.NO_CREDIT: FailureKind.SPENT_BUDGET,
    ErrorKind.RATE_LIMIT: FailureKind.RATE_LIMITED,
    ErrorKind.QUOTA_SPENT: FailureKind.SPENT_BUDGET,
    ErrorKind.CONTENT_POLICY: FailureKind.FORBIDDEN,
    ErrorKind.UNKNOWN_MODEL: FailureKind.MODEL_NOT_FOUND,
    ErrorKind.INPUT_TOO_LONG: FailureKind.CONTEXT_LENGTH,
    ErrorKind.REQUEST_TOO_LARGE: FailureKind.TOO_LARGE,
}
_OVERLOADED: Final = frozenset({503, 529})


def _upstream(error: UpstreamError) -> ServedFailure:
    said = COMMON_ERRORS.kind_of(error)
    status = error.http_status
    if said is ErrorKind.UNAVAILABLE:
        kind = FailureKind.OVERLOADED if status in _OVERLOADED else FailureKind.UPSTREAM
    elif said is None and status is not None and 400 <= status < 500:
        kind = FailureKind.INVALID_REQUEST
    else:
        kind = FailureKind.UPSTREAM if said is None else _OF_KIND[said]
    return ServedFailure(kind, error.message, error.param, error.provider_code, error.retry_after)


_OF_CODE: Final[Mapping[LanguageModelErrorCode, FailureKind]] = {
    LanguageModelErrorCode.NOT_FOUND: FailureKind.MODEL_NOT_FOUND,
    LanguageModelErrorCode.NO_PERMISSIONS: FailureKind.FORBIDDEN,
    LanguageModelErrorCode.BLOCKED: FailureKind.FORBIDDEN,
}


def _of_model(error: LanguageModelError) -> ServedFailure:
    return ServedFailure(_OF_CODE.get(error.code, FailureKind.INTERNAL), error.message)


_TABLE: Final[tuple[tuple[type[BaseException], Callable[[Any], ServedFailure]], ...]] = (
    (RequestFailedError, _said),
    (InvalidRequestError, _invalid),
    (RefusedRequestError, _refused),
    (RequestNotExpressibleError, _not_expressible),
    (UnknownModelError, _unknown_model),
    (ContextLengthExceededError, _too_long),
    (UpstreamTimeoutError, _timeout),
    (UpstreamError, _upstream),
    (LanguageModelError, _of_model),
)
"""The errors that clients are told of; the first row that fits counts."""
