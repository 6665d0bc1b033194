"""Errors as the gateway says them: the object in a stream, the JSON of an HTTP error, and what a refusal is about.

Source: `create-gateway-error.ts` of `@ai-sdk/gateway` 4.0.146, which knows the types below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.conversation.carried import Carried
from partstream.errors import UpstreamHTTPError
from partstream.protocols.errors import Errors

if TYPE_CHECKING:
    from partstream.errors import UpstreamError
    from partstream.protocols.ai_sdk.fields import Chunk

__all__ = ["ERRORS", "error_body", "http_status", "refuses_reasoning"]

_DEFAULT_STATUS: Final = 500

_TYPES: Final[dict[int, str]] = {
    401: "authentication_error",
    403: "forbidden",
    404: "not_found",
    424: "failed_dependency",
    429: "rate_limit_exceeded",
}


def error_body(status: int, message: str) -> Chunk:
    """The JSON body of an HTTP error."""
    default = "internal_server_error" if status >= _DEFAULT_STATUS else "invalid_request_error"
    return {"error": {"message": message, "type": _TYPES.get(status, default), "param": None, "code": None}}


def http_status(error: Chunk) -> int:
    """The HTTP status of an answer that failed before anything of it was sent."""
    status = error.get("statusCode")
    return status if isinstance(status, int) else _DEFAULT_STATUS


# ---- what a refusal is about ----

_REQUEST_IS_WRONG: Final = frozenset({400, 404, 422})

_WORDS: Final = (
    "signature",
    "encrypted content",
    "encrypted_content",
    "blocks in the latest assistant message cannot be",
)
"""The gateway passes on what a provider says and has no code of its own for it. Google: "Corrupted thought signature.";
OpenAI: "The encrypted content for item rs_1 could not be verified."; Anthropic: "Invalid `signature` in `thinking`
block", "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified"."""
_MISSING: Final = "missing"


def refuses_reasoning(error: UpstreamError) -> bool:
    """Whether a provider does not take its reasoning back: another account's, a model that was replaced."""
    if isinstance(error, UpstreamHTTPError) and error.http_status not in _REQUEST_IS_WRONG:
        return False
    attempts = error.attempts if isinstance(error, UpstreamHTTPError) else ()
    said = " ".join((error.message, *attempts)).lower()
    if _MISSING in said:  # a signature that was not sent: without the rest there would be even less
        return False
    return any(word in said for word in _WORDS)


def _refused(error: UpstreamError) -> Carried:
    return Carried.REASONING if refuses_reasoning(error) else Carried.NOTHING


ERRORS: Final = Errors(refused=_refused)
