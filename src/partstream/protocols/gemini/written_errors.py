"""Writes errors as Google's servers do, as a body or as the last event (docs/wires/gemini.md#errors)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.failures import STATUSES, FailedReply, FailureKind, ServedFailure, failure_of, retry_headers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.errors import LanguageModelError

__all__ = ["error_document", "error_event", "failed_reply"]

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

_OF_FAILURES: Final[Mapping[FailureKind, int]] = {**STATUSES, FailureKind.UPSTREAM: 500}

_TYPE: Final = "type.googleapis.com/google.rpc."
_SPENT: Final = "PartstreamBudgetPerDay"
"""The quota that a spent budget names: clients tell by the end of its name that asking again is of no use."""


def error_document(status: int, message: str) -> dict[str, Any]:
    """The JSON object of an HTTP error."""
    name = _STATUSES.get(status, "INTERNAL" if status >= 500 else "INVALID_ARGUMENT")
    return {"error": {"code": status, "message": message, "status": name}}


def failed_reply(failure: ServedFailure) -> FailedReply:
    """A failure as an HTTP reply."""
    status = _OF_FAILURES[failure.kind]
    return FailedReply(status, retry_headers(failure), _said(failure))


def error_event(error: LanguageModelError | None) -> dict[str, Any]:
    """The event with which a failed answer ends."""
    return error_document(500, "it gave no reason") if error is None else _said(failure_of(error))


def _said(failure: ServedFailure) -> dict[str, Any]:
    message = failure.message
    if failure.tokens is not None and failure.token_limit is not None:
        message = (
            f"The input token count ({failure.tokens}) exceeds the maximum number of tokens allowed "
            f"({failure.token_limit})."
        )
    said = error_document(_OF_FAILURES[failure.kind], message)
    details: list[dict[str, Any]] = []
    if failure.param is not None:
        fields = [{"field": failure.param, "description": failure.message}]
        details.append({"@type": f"{_TYPE}BadRequest", "fieldViolations": fields})
    if failure.kind is FailureKind.SPENT_BUDGET:
        details.append({"@type": f"{_TYPE}QuotaFailure", "violations": [{"quotaId": _SPENT}]})
    if failure.retry_after is not None:
        details.append({"@type": f"{_TYPE}RetryInfo", "retryDelay": f"{math.ceil(failure.retry_after)}s"})
    if details:
        said["error"]["details"] = details
    return said
