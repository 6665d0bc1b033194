"""Writes errors as Google's servers do (facts 9): as an HTTP body, and as the last event of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.errors import LanguageModelErrorCode, UpstreamError, UpstreamFailureError, UpstreamHTTPError

if TYPE_CHECKING:
    from partstream.errors import LanguageModelError

__all__ = ["error_document", "error_event"]

_STATUSES: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
"""The name of each status, `google.rpc.Code` as HTTP has it."""

_KINDS: Final = {
    LanguageModelErrorCode.NOT_FOUND: 404,
    LanguageModelErrorCode.NO_PERMISSIONS: 403,
    LanguageModelErrorCode.BLOCKED: 429,
}


def error_document(status: int, message: str) -> dict[str, Any]:
    """The JSON object of an HTTP error."""
    name = _STATUSES.get(status, "INTERNAL" if status >= 500 else "INVALID_ARGUMENT")
    return {"error": {"code": status, "message": message, "status": name}}


def error_event(error: LanguageModelError | None) -> dict[str, Any]:
    """The event with which a failed answer ends."""
    if error is None:
        return error_document(500, "it gave no reason")
    status = error.http_status if isinstance(error, UpstreamError) else None
    said = error.provider_message if isinstance(error, UpstreamFailureError | UpstreamHTTPError) else None
    return error_document(status or _KINDS.get(error.code, 500), said or error.message)
