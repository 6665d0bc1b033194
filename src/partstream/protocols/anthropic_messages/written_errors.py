"""Errors as a server of this wire says them: one type for each HTTP status (facts 9; `anthropic` 2.12.0,
`types/shared/error_object.py`)."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import LanguageModelErrorCode, UpstreamError, UpstreamFailureError, UpstreamHTTPError

if TYPE_CHECKING:
    from partstream.errors import LanguageModelError

__all__ = ["API_ERROR", "error_document", "error_event", "status_of", "type_of"]

API_ERROR: Final = "api_error"
_REQUEST: Final = "invalid_request_error"

_TYPES: Final[dict[int, str]] = {
    400: _REQUEST,
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: API_ERROR,
    504: "timeout_error",
    529: "overloaded_error",
}
_STATUSES: Final = {name: status for status, name in _TYPES.items()}
_OF_CODES: Final = {
    LanguageModelErrorCode.NOT_FOUND: "not_found_error",
    LanguageModelErrorCode.NO_PERMISSIONS: "permission_error",
    LanguageModelErrorCode.BLOCKED: "rate_limit_error",
}


def error_document(status: int, message: str) -> dict[str, Any]:
    """The JSON object of an HTTP error."""
    kind = type_of(None, status)
    identity = sha256(f"{status}/{message}".encode(errors="surrogatepass")).hexdigest()[:24]
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": f"req_{identity}"}


def error_event(error: LanguageModelError | None) -> dict[str, Any]:
    """The event with which a failed answer ends."""
    if error is None:
        return {"type": "error", "error": {"type": API_ERROR, "message": "it gave no reason"}}
    return {"type": "error", "error": {"type": _type_of_error(error), "message": _message(error)}}


def type_of(code: str | None, status: int | None) -> str:
    """The type that a provider's own code and an HTTP status stand for: the code if it is one of this wire's types."""
    if code is not None and code in _STATUSES:
        return code
    if status is None:
        return API_ERROR
    return _TYPES.get(status, API_ERROR if status >= 500 else _REQUEST)


def _type_of_error(error: LanguageModelError) -> str:
    if isinstance(error, UpstreamError):
        return type_of(error.provider_code, error.http_status)
    return _OF_CODES.get(error.code, API_ERROR)


def status_of(kind: str) -> int:
    """The HTTP status of an error of a type."""
    return _STATUSES.get(kind, 500)


def _message(error: LanguageModelError) -> str:
    said = error.provider_message if isinstance(error, UpstreamFailureError | UpstreamHTTPError) else None
    return said or error.message
