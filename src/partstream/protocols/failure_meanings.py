"""What our errors mean for the client of a server, as one table.

A wire says the failure in its own words: :attr:`partstream.protocols.serve.ResponseWriterSpec.fail` before the
answer has begun, its writer inside the stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.errors import (
    CallerError,
    ContextLengthExceededError,
    InvalidRequestError,
    LanguageModelError,
    LanguageModelErrorCode,
    RequestNotExpressibleError,
    UnknownModelError,
    UnsupportedParameterError,
    UpstreamError,
    UpstreamFailureError,
    UpstreamHTTPError,
    UpstreamTimeoutError,
)
from partstream.protocols.errors import COMMON_ERRORS, ErrorKind
from partstream.protocols.refused import RefusedRequestError
from partstream.protocols.served_failures import FailureKind, ServedFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["failure_of"]


def failure_of(error: BaseException) -> ServedFailure:
    """What an error means for the client of a server.

    The text of an error that is none of ours is not said: it may hold anything, a key or a prompt.
    """
    for kind, read in _ERRORS:
        if isinstance(error, kind):
            return read(error)
    return ServedFailure(FailureKind.INTERNAL, f"the provider of the model failed ({type(error).__name__})")


def _unsupported(error: UnsupportedParameterError) -> ServedFailure:
    return ServedFailure(FailureKind.UNSUPPORTED_PARAMETER, str(error), error.where)


def _invalid(error: InvalidRequestError) -> ServedFailure:
    return ServedFailure(FailureKind.INVALID_REQUEST, str(error), error.where)


def _not_expressible(error: RequestNotExpressibleError) -> ServedFailure:
    return ServedFailure(FailureKind.INVALID_REQUEST, error.message, error.where)


def _refused(error: RefusedRequestError) -> ServedFailure:
    kind = _OF_OURS.get(error.status) or _BY_STATUS.get(error.status, FailureKind.INVALID_REQUEST)
    return ServedFailure(kind, str(error), error.param, error.code, fields=error.fields)


def _unknown_model(error: UnknownModelError) -> ServedFailure:
    return ServedFailure(FailureKind.MODEL_NOT_FOUND, error.message, "model")


def _too_long(error: ContextLengthExceededError) -> ServedFailure:
    return ServedFailure(FailureKind.CONTEXT_LENGTH, error.message, tokens=error.count, token_limit=error.limit)


def _timed_out(error: UpstreamTimeoutError) -> ServedFailure:
    return ServedFailure(FailureKind.TIMEOUT, error.message)


def _of_upstream(error: UpstreamError) -> ServedFailure:
    said = error.provider_message if isinstance(error, UpstreamFailureError | UpstreamHTTPError) else None
    kind = COMMON_ERRORS.kind_of(error)
    found = _BY_STATUS.get(error.http_status or 0) or _BY_CODE.get(error.code, FailureKind.UPSTREAM)
    if kind is not None:
        found = _BY_KIND.get(kind, found)
    if kind is ErrorKind.UNAVAILABLE and (error.provider_code or "").lower() in _OVERLOADED:
        found = FailureKind.OVERLOADED
    return ServedFailure(found, said or error.message, error.param, error.provider_code, error.retry_after)


def _of_provider(error: LanguageModelError) -> ServedFailure:
    return ServedFailure(_BY_CODE.get(error.code, FailureKind.INTERNAL), error.message)


def _of_caller(error: CallerError) -> ServedFailure:
    return ServedFailure(FailureKind.INTERNAL, str(error))


_ERRORS: Final[tuple[tuple[type[BaseException], Callable[[Any], ServedFailure]], ...]] = (
    (UnsupportedParameterError, _unsupported),
    (InvalidRequestError, _invalid),
    (RefusedRequestError, _refused),
    (RequestNotExpressibleError, _not_expressible),
    (UnknownModelError, _unknown_model),
    (ContextLengthExceededError, _too_long),
    (UpstreamTimeoutError, _timed_out),
    (UpstreamError, _of_upstream),
    (LanguageModelError, _of_provider),
    (CallerError, _of_caller),
    (TimeoutError, lambda _: ServedFailure(FailureKind.TIMEOUT, "the answer took too long")),
)
"""How each error is read; of several classes that an error is of, the first row counts."""

_BY_KIND: Final[Mapping[ErrorKind, FailureKind]] = {
    # The client's own key was right: the one of this server was not.
    ErrorKind.NO_PERMISSION: FailureKind.FORBIDDEN,
    ErrorKind.NO_CREDIT: FailureKind.SPENT_BUDGET,
    ErrorKind.QUOTA_SPENT: FailureKind.SPENT_BUDGET,
    ErrorKind.RATE_LIMIT: FailureKind.RATE_LIMITED,
    ErrorKind.CONTENT_POLICY: FailureKind.INVALID_REQUEST,
    ErrorKind.UNKNOWN_MODEL: FailureKind.MODEL_NOT_FOUND,
    ErrorKind.INPUT_TOO_LONG: FailureKind.CONTEXT_LENGTH,
    ErrorKind.REQUEST_TOO_LARGE: FailureKind.TOO_LARGE,
}
"""What the kind of an upstream's error means for the client; of a kind that is missing, the status says more."""

_OVERLOADED: Final = frozenset(
    {
        "model_overloaded",
        "overloaded",
        "overloaded_error",
        "server_is_overloaded",
        "service_unavailable",
        "slow_down",
        "unavailable",
    }
)
"""Codes that say it where there is no status."""

_BY_STATUS: Final[Mapping[int, FailureKind]] = {
    400: FailureKind.INVALID_REQUEST,
    401: FailureKind.FORBIDDEN,
    402: FailureKind.SPENT_BUDGET,
    403: FailureKind.FORBIDDEN,
    404: FailureKind.NOT_FOUND,
    408: FailureKind.TIMEOUT,
    413: FailureKind.TOO_LARGE,
    422: FailureKind.INVALID_REQUEST,
    429: FailureKind.RATE_LIMITED,
    500: FailureKind.UPSTREAM,
    501: FailureKind.UPSTREAM,
    502: FailureKind.UPSTREAM,
    503: FailureKind.OVERLOADED,
    529: FailureKind.OVERLOADED,
    504: FailureKind.TIMEOUT,
}
"""What an upstream's HTTP status means where its words say no more."""

_OF_OURS: Final[Mapping[int, FailureKind]] = {
    401: FailureKind.UNAUTHENTICATED,
    405: FailureKind.METHOD_NOT_ALLOWED,
}
"""Statuses of our own refusals that mean something else than those of an upstream."""

_BY_CODE: Final[Mapping[LanguageModelErrorCode, FailureKind]] = {
    LanguageModelErrorCode.NOT_FOUND: FailureKind.MODEL_NOT_FOUND,
    LanguageModelErrorCode.NO_PERMISSIONS: FailureKind.FORBIDDEN,
    LanguageModelErrorCode.BLOCKED: FailureKind.RATE_LIMITED,
}
"""What VS Code's code of a provider's error means."""
