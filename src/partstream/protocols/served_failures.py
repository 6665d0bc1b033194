"""Failures that a server tells a client, in no wire's words yet; a wire's table turns them into status, headers, body.

The kinds come from the statuses of three wires (docs/wires/serving.md#statuses-and-error-codes).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["STATUSES", "FailedReply", "FailureKind", "ServedFailure", "plain_reply", "retry_headers"]


class FailureKind(StrEnum):
    """What kind of failure it is, for the client that has to decide whether to ask again."""

    INVALID_REQUEST = "invalid request"
    UNSUPPORTED_PARAMETER = "unsupported parameter"
    """A parameter of the wire that this server does not offer; the failure names it."""
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    """The caller is known and may not do this, or a policy refused it."""
    NOT_FOUND = "not found"
    METHOD_NOT_ALLOWED = "method not allowed"
    MODEL_NOT_FOUND = "model not found"
    TOO_LARGE = "too large"
    """The bytes of the request are too many, which says nothing of tokens."""
    CONTEXT_LENGTH = "context length"
    """The tokens of the request are too many for the model."""
    RATE_LIMITED = "rate limited"
    SPENT_BUDGET = "spent budget"
    """Asking again cannot succeed."""
    OVERLOADED = "overloaded"
    """The server cannot answer now, or it is being stopped: ask again later."""
    TIMEOUT = "timeout"
    UPSTREAM = "upstream"
    """The server that answers behind this one failed."""
    INTERNAL = "internal"


STATUSES: Final[Mapping[FailureKind, int]] = MappingProxyType(
    {
        FailureKind.INVALID_REQUEST: 400,
        FailureKind.UNSUPPORTED_PARAMETER: 400,
        FailureKind.UNAUTHENTICATED: 401,
        FailureKind.FORBIDDEN: 403,
        FailureKind.NOT_FOUND: 404,
        FailureKind.METHOD_NOT_ALLOWED: 405,
        FailureKind.MODEL_NOT_FOUND: 404,
        FailureKind.TOO_LARGE: 413,
        FailureKind.CONTEXT_LENGTH: 400,
        FailureKind.RATE_LIMITED: 429,
        FailureKind.SPENT_BUDGET: 429,
        FailureKind.OVERLOADED: 503,
        FailureKind.TIMEOUT: 504,
        FailureKind.UPSTREAM: 502,
        FailureKind.INTERNAL: 500,
    }
)
"""The HTTP status of a failure on a wire that has no status of its own for it."""

_STAYS_SO: Final = frozenset({FailureKind.SPENT_BUDGET, FailureKind.UNAUTHENTICATED, FailureKind.FORBIDDEN})
"""Failures that official clients are told not to ask about again. Claude Code 2.1.330 does so for minutes after 401
where it is not told (tried)."""


@dataclass(frozen=True, slots=True)
class ServedFailure:
    """A failure that a client is told.

    Attributes:
        kind: The kind.
        message: One sentence for a person; never a secret.
        param: The field of the request that is to blame, such as `input[2].content`, or None.
        code: A code for programs where the kind alone says too little, or None.
        retry_after: The seconds after which asking again may succeed, or None.
        fields: Further fields of the error object, by the wire's own names.
        request_id: The id of the request, for wires whose bodies hold it; empty where it is not known.
        tokens: The tokens of a conversation that is too long; None where they are not known.
        token_limit: The most tokens that it may have; None where it is not known.
    """

    kind: FailureKind
    message: str
    param: str | None = None
    code: str | None = None
    retry_after: float | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    request_id: str = ""
    tokens: int | None = None
    token_limit: int | None = None


@dataclass(frozen=True, slots=True)
class FailedReply:
    """A failure in a wire's own words.

    Attributes:
        status: The HTTP status.
        headers: Further headers, names in lower case, such as `retry-after`.
        body: The JSON object.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: Mapping[str, Any]


def retry_headers(failure: ServedFailure) -> tuple[tuple[str, str], ...]:
    """The headers that official clients obey (docs/wires/serving.md#headers-that-control-repeated-requests)."""
    if failure.kind in _STAYS_SO:
        return (("x-should-retry", "false"),)
    if failure.retry_after is None:
        return ()
    return (("retry-after", str(math.ceil(failure.retry_after))),)


def plain_reply(error: Callable[[int, str], Mapping[str, Any]], failure: ServedFailure) -> FailedReply:
    """A failure on a wire that has no table of its own.

    Args:
        error: The JSON object of an HTTP error, given its status and message.
        failure: The failure. Where the error object is an object, its param, code and further fields stand in it.
    """
    status = STATUSES[failure.kind]
    said = error(status, failure.message)
    named = {name: value for name, value in (("param", failure.param), ("code", failure.code)) if value is not None}
    inner = said.get("error")
    body = {**said, "error": {**inner, **named, **failure.fields}} if isinstance(inner, dict) else said
    return FailedReply(status, retry_headers(failure), body)
