"""Errors as the gateway says them: the object in a stream, the JSON of an HTTP error, and what a refusal is about.

Source: `create-gateway-error.ts` of `@ai-sdk/gateway` 4.0.146, which knows the types below.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from partstream.conversation.carried import Carried
from partstream.errors import UpstreamHTTPError
from partstream.protocols.errors import Errors
from partstream.protocols.failures import FailureKind, FailureRow, common_reply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.errors import UpstreamError
    from partstream.protocols.ai_sdk.errors import Chunk
    from partstream.protocols.failures import FailedReply, ServedFailure

__all__ = ["ERRORS", "error_body", "failed_reply", "http_status", "refuses_reasoning"]

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
    error = {"message": message, "type": _TYPES.get(status, default), "param": None, "code": None}
    return {"error": error, "generationId": _generation(f"{status}/{message}")}


def failed_reply(failure: ServedFailure) -> FailedReply:
    """A failure as an HTTP reply, with the types that the gateway's client makes its errors of."""
    reply = common_reply(failure, _ROWS)
    generation = _generation(failure.request_id or f"{reply.status}/{failure.message}")
    return replace(reply, body={**reply.body, "generationId": generation})


def _generation(what: str) -> str:
    """What identifies a request for support, beside its error."""
    return f"gen_{sha256(what.encode(errors='surrogatepass')).hexdigest()[:24]}"


_REQUEST: Final = "invalid_request_error"
_SERVER: Final = "internal_server_error"
_ROWS: Final[Mapping[FailureKind, FailureRow]] = {
    FailureKind.INVALID_REQUEST: FailureRow(400, _REQUEST),
    FailureKind.UNSUPPORTED_PARAMETER: FailureRow(400, _REQUEST),
    FailureKind.UNAUTHENTICATED: FailureRow(401, "authentication_error"),
    FailureKind.FORBIDDEN: FailureRow(403, "forbidden"),
    FailureKind.NOT_FOUND: FailureRow(404, "not_found"),
    FailureKind.METHOD_NOT_ALLOWED: FailureRow(405, _REQUEST),
    FailureKind.MODEL_NOT_FOUND: FailureRow(404, "model_not_found"),
    FailureKind.TOO_LARGE: FailureRow(413, _REQUEST),
    FailureKind.CONTEXT_LENGTH: FailureRow(400, _REQUEST, "context_length_exceeded", is_acted_on=True),
    FailureKind.RATE_LIMITED: FailureRow(429, "rate_limit_exceeded"),
    # The client asks again after 429 and never after 402.
    FailureKind.SPENT_BUDGET: FailureRow(402, "insufficient_funds"),
    FailureKind.OVERLOADED: FailureRow(503, _SERVER),
    FailureKind.TIMEOUT: FailureRow(504, "timeout_error"),
    FailureKind.UPSTREAM: FailureRow(502, _SERVER),
    FailureKind.INTERNAL: FailureRow(500, _SERVER),
}


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
