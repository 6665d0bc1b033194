"""The errors of OpenResponses: recognizes refusals of carried state, and writes our own failures in its form.

Source: OpenResponses specification 2026-04-24, "Errors"; the codes are those that OpenAI sends with the same status.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.carried import Carried
from partstream.errors import UpstreamHTTPError
from partstream.protocols.errors import Errors
from partstream.protocols.failures import said_in_stream
from partstream.protocols.openresponses.optional_fields import REFUSED_FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.errors import LanguageModelError, UpstreamError

__all__ = [
    "SERVER_ERROR",
    "error_document",
    "error_of",
    "error_payload",
    "refuses_reasoning",
    "refuses_response_id",
]

# ---- read ----


def _refused(error: UpstreamError) -> Carried:
    """The carried state that an error refuses."""
    response = Carried.RESPONSE if refuses_response_id(error) else Carried.NOTHING
    return response | (Carried.REASONING if refuses_reasoning(error) else Carried.NOTHING)


def refuses_response_id(error: UpstreamError) -> bool:
    """Tells whether an upstream does not know the stored response that a request continues."""
    if error.provider_code in {"previous_response_not_found", "response_not_found"}:
        return True
    # "No tool call found for function call output": it has the response, and not what the response said.
    said = _said(error)
    return "previous_response" in said or "previous response" in said or "no tool call found" in said


def refuses_reasoning(error: UpstreamError) -> bool:
    """Tells whether an upstream refuses encrypted reasoning, for instance of another account or of a replaced model."""
    return error.provider_code == "invalid_encrypted_content" or "encrypted content" in _said(error).replace("_", " ")


def _said(error: UpstreamError) -> str:
    """The words of a refusal in lower case; empty for errors that do not blame the request."""
    if isinstance(error, UpstreamHTTPError) and error.http_status not in {400, 404, 422}:
        return ""
    return error.message.lower()


ERRORS: Final = Errors(refused=_refused, refused_fields=REFUSED_FIELDS)

# ---- written ----

SERVER_ERROR: Final = "server_error"
"""Type and code of an error whose provider gave none."""

_KINDS: Final[dict[int, tuple[str, str | None]]] = {
    400: ("invalid_request", None),
    401: ("authentication_error", "invalid_api_key"),
    403: ("permission_error", "permission_denied"),
    404: ("not_found", "not_found"),
    429: ("too_many_requests", "rate_limit_exceeded"),
}
"""Type and code of an error by its HTTP status."""


def error_document(status: int, message: str) -> dict[str, Any]:
    """The JSON object of an HTTP error."""
    kind, code = _KINDS.get(status, (SERVER_ERROR, SERVER_ERROR) if status >= 500 else ("invalid_request", None))
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def error_of(error: LanguageModelError | None) -> dict[str, Any]:
    """The `error` of a failed response. Codex acts on its codes (docs/wires/openresponses.md#what-codex-demands)."""
    said = said_in_stream(error)
    return {"code": said["code"], "message": said["message"]}


def error_payload(error: Mapping[str, Any]) -> dict[str, Any]:
    """The payload of an `error` event, and the error of a document, for the error of a failed response."""
    return {"type": SERVER_ERROR, "code": error["code"], "message": error["message"], "param": None}
