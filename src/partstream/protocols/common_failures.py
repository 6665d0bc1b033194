"""Failures in the form that most wires share: `{"error": {"message", "type", "param", "code"}}`, always all four.

Statuses, types and codes are OpenAI's (docs/wires/serving.md#statuses-and-error-codes). Codex acts on the codes
`context_length_exceeded`, `insufficient_quota` and `rate_limit_exceeded`, and on "try again in 12s" in the message.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.protocols.failure_meanings import failure_of
from partstream.protocols.served_failures import FailedReply, FailureKind, ServedFailure, retry_headers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.errors import LanguageModelError

__all__ = ["FailureRow", "common_reply", "said_in_stream", "with_wait"]


class FailureRow(NamedTuple):
    """A kind of failure in the words of a wire.

    Attributes:
        status: The HTTP status.
        type: The type of the error.
        code: The code of the error; None where the wire has none for the kind.
        is_acted_on: Whether clients act on the code: it stands there, whatever the provider's own code was.
    """

    status: int
    type: str
    code: str | None = None
    is_acted_on: bool = False


_REQUEST: Final = "invalid_request_error"
_SERVER: Final = "server_error"
_QUOTA: Final = "insufficient_quota"

_ROWS: Final[Mapping[FailureKind, FailureRow]] = {
    FailureKind.INVALID_REQUEST: FailureRow(400, _REQUEST),
    FailureKind.UNSUPPORTED_PARAMETER: FailureRow(400, _REQUEST, "unsupported_parameter", is_acted_on=True),
    FailureKind.UNAUTHENTICATED: FailureRow(401, _REQUEST, "invalid_api_key", is_acted_on=True),
    FailureKind.FORBIDDEN: FailureRow(403, "permission_error", "permission_denied"),
    FailureKind.NOT_FOUND: FailureRow(404, "not_found", "not_found"),
    FailureKind.METHOD_NOT_ALLOWED: FailureRow(405, _REQUEST, "method_not_allowed", is_acted_on=True),
    FailureKind.MODEL_NOT_FOUND: FailureRow(404, "not_found", "model_not_found", is_acted_on=True),
    FailureKind.TOO_LARGE: FailureRow(413, _REQUEST, "request_too_large", is_acted_on=True),
    FailureKind.CONTEXT_LENGTH: FailureRow(400, _REQUEST, "context_length_exceeded", is_acted_on=True),
    FailureKind.RATE_LIMITED: FailureRow(429, "too_many_requests", "rate_limit_exceeded", is_acted_on=True),
    FailureKind.SPENT_BUDGET: FailureRow(429, _QUOTA, _QUOTA, is_acted_on=True),
    FailureKind.OVERLOADED: FailureRow(503, _SERVER, "server_is_overloaded"),
    FailureKind.TIMEOUT: FailureRow(504, _SERVER, "timeout"),
    FailureKind.UPSTREAM: FailureRow(502, _SERVER, _SERVER),
    FailureKind.INTERNAL: FailureRow(500, _SERVER, _SERVER),
}


def common_reply(failure: ServedFailure, rows: Mapping[FailureKind, FailureRow] = _ROWS) -> FailedReply:
    """A failure as an HTTP reply.

    Args:
        failure: The failure.
        rows: The words for each kind, for a wire that has other words in the same form.
    """
    row = rows[failure.kind]
    error = {
        "message": with_wait(failure),
        "type": row.type,
        "param": failure.param,
        "code": _code(failure, row),
        **failure.fields,
    }
    return FailedReply(row.status, retry_headers(failure), {"error": error})


def said_in_stream(error: LanguageModelError | None) -> dict[str, Any]:
    """Why an answer that has begun has failed: the fields `message`, `type`, `param` and `code`."""
    if error is None:
        return {"message": "it gave no reason", "type": _SERVER, "param": None, "code": _SERVER}
    failure = failure_of(error)
    row = _ROWS[failure.kind]
    code = _code(failure, row) or _SERVER
    return {"message": with_wait(failure), "type": _SERVER, "param": None, "code": code}


def _code(failure: ServedFailure, row: FailureRow) -> str | None:
    return row.code if row.is_acted_on else failure.code or row.code


def with_wait(failure: ServedFailure) -> str:
    """The message, which says of a rate limit when to ask again, in the words that clients look for."""
    said, wait = failure.message, failure.retry_after
    if failure.kind is not FailureKind.RATE_LIMITED or wait is None or wait < 0 or _WAIT.search(said):
        return said
    return f"{said.removesuffix('.')}. Please try again in {math.ceil(wait)}s."


_WAIT: Final = re.compile(r"try again in\s*\d", re.IGNORECASE)
