"""Errors as a server of this wire writes them: one type for each kind of failure
(docs/wires/anthropic-messages.md#errors; `anthropic` 2.12.0, `types/shared/error_object.py`)."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import UpstreamError
from partstream.protocols.failures import STATUSES, FailedReply, FailureKind, ServedFailure, failure_of, retry_headers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.errors import LanguageModelError

__all__ = ["API_ERROR", "error_document", "error_event", "failed_reply", "said_of", "status_of"]

API_ERROR: Final = "api_error"
_REQUEST: Final = "invalid_request_error"
_NOT_FOUND: Final = "not_found_error"

_TYPES: Final[dict[int, str]] = {
    400: _REQUEST,
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: _NOT_FOUND,
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: API_ERROR,
    504: "timeout_error",
    529: "overloaded_error",
}
_STATUSES: Final = {name: status for status, name in _TYPES.items()}

_OF_FAILURES: Final[Mapping[FailureKind, str]] = {
    FailureKind.INVALID_REQUEST: _REQUEST,
    FailureKind.UNSUPPORTED_PARAMETER: _REQUEST,
    FailureKind.UNAUTHENTICATED: "authentication_error",
    FailureKind.FORBIDDEN: "permission_error",
    FailureKind.NOT_FOUND: _NOT_FOUND,
    FailureKind.METHOD_NOT_ALLOWED: _REQUEST,
    FailureKind.MODEL_NOT_FOUND: _NOT_FOUND,
    FailureKind.TOO_LARGE: "request_too_large",
    FailureKind.CONTEXT_LENGTH: _REQUEST,
    FailureKind.RATE_LIMITED: "rate_limit_error",
    FailureKind.SPENT_BUDGET: "billing_error",
    FailureKind.OVERLOADED: "overloaded_error",
    FailureKind.TIMEOUT: "timeout_error",
    FailureKind.UPSTREAM: API_ERROR,
    FailureKind.INTERNAL: API_ERROR,
}

_TOO_LONG: Final = "prompt is too long"
"""Claude Code then shortens a conversation (docs/wires/anthropic-messages.md#requests-that-are-too-long)."""


def error_document(status: int, message: str) -> dict[str, Any]:
    """The JSON object of an HTTP error."""
    kind = _TYPES.get(status, API_ERROR if status >= 500 else _REQUEST)
    return _document(status, kind, message)


def failed_reply(failure: ServedFailure) -> FailedReply:
    """A failure as an HTTP reply."""
    kind = _OF_FAILURES[failure.kind]
    status = STATUSES[failure.kind] if kind == _REQUEST else _STATUSES[kind]
    document = _document(status, kind, _said(failure))
    error = {**document["error"], **failure.fields}
    identity = failure.request_id or document["request_id"]
    return FailedReply(status, retry_headers(failure), {**document, "error": error, "request_id": identity})


def error_event(error: LanguageModelError | None) -> dict[str, Any]:
    """The event with which a failed answer ends."""
    kind, message = (API_ERROR, "it gave no reason") if error is None else said_of(error)
    return {"type": "error", "error": {"type": kind, "message": message}}


def said_of(error: LanguageModelError) -> tuple[str, str]:
    """The type and the message of an error: the provider's own code where it is one of this wire's types."""
    failure = failure_of(error)
    code = error.provider_code if isinstance(error, UpstreamError) else None
    return code if code in _STATUSES else _OF_FAILURES[failure.kind], _said(failure)


def status_of(kind: str) -> int:
    """The HTTP status of an error of a type."""
    return _STATUSES.get(kind, 500)


def _document(status: int, kind: str, message: str) -> dict[str, Any]:
    identity = sha256(f"{status}/{message}".encode(errors="surrogatepass")).hexdigest()[:24]
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": f"req_{identity}"}


def _said(failure: ServedFailure) -> str:
    if failure.kind is FailureKind.CONTEXT_LENGTH and _TOO_LONG not in failure.message:
        if failure.tokens is not None and failure.token_limit is not None:
            return f"{_TOO_LONG}: {failure.tokens} tokens > {failure.token_limit} maximum"
        return f"{_TOO_LONG}: {failure.message}"
    # The form of the wire has no field for the parameter.
    if failure.param is not None and failure.param not in failure.message:
        return f"{failure.param}: {failure.message}"
    return failure.message
