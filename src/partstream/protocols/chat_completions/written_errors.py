"""Writes errors in the form of Chat Completions: as an HTTP body, and as the last event of a stream.

Source: the error object as `openai` 3.54.0 reads it (`_exceptions.py`, `APIError`: message, type, param, code); vLLM
and SGLang send it in a stream, with `[DONE]` after it (docs/wires/chat-completions.md#errors-in-the-stream).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.failures import said_in_stream

if TYPE_CHECKING:
    from partstream.errors import LanguageModelError

__all__ = ["SERVER_ERROR", "error_document", "error_event"]

SERVER_ERROR: Final = "server_error"
"""The type of an error that is not the client's, and its code where the provider gave none."""

_REQUEST: Final = "invalid_request_error"
_KINDS: Final[dict[int, tuple[str, str | None]]] = {
    400: (_REQUEST, None),
    401: (_REQUEST, "invalid_api_key"),
    403: (_REQUEST, "permission_denied"),
    404: (_REQUEST, "not_found"),
    429: ("requests", "rate_limit_exceeded"),
}
"""Type and code of an error by its HTTP status, as OpenAI sends them."""


def error_document(status: int, message: str) -> dict[str, Any]:
    """The JSON object of an HTTP error."""
    kind, code = _KINDS.get(status, (SERVER_ERROR, SERVER_ERROR) if status >= 500 else (_REQUEST, None))
    return _error(message, kind, code)


def error_event(error: LanguageModelError | None) -> dict[str, Any]:
    """The event with which a failed answer ends."""
    return {"error": said_in_stream(error)}


def _error(message: str, kind: str, code: str | None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}
