"""Failures that a server tells its client: first in no wire's words, then as status, headers and body of a wire.

:func:`failure_of` says what an error of ours means for a client, by one table; a wire says it in its own words, with
:attr:`partstream.protocols.serve.ResponseWriter.failed` before the response has begun and with its writer inside the
stream. :func:`common_reply` and :func:`said_in_stream` are the form that most wires share, OpenAI's:
`{"error": {"message", "type", "param", "code"}}`, always all four. Codex acts on the codes `context_length_exceeded`,
`insufficient_quota` and `rate_limit_exceeded`, and on "try again in 12s" in the message.

The kinds come from the statuses of three wires (docs/wires/serving.md#statuses-and-error-codes).
"""

from __future__ import annotations
import math
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from partstream import errors
from partstream.codec.checks import dataclass, field
from partstream.protocols.errors import COMMON_ERRORS, NO_REASON, ErrorKind


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
    """The upstream of this server failed."""
    INTERNAL = "internal"


_STAYS_SO: Final = frozenset({FailureKind.SPENT_BUDGET, FailureKind.UNAUTHENTICATED, FailureKind.FORBIDDEN})
"""Failures after which official clients must not repeat the request. Without the header, Claude Code 2.1.330 repeats it
for minutes after 401 (tried)."""


@dataclass(frozen=True, slots=True)
class ServedFailure:
    """A failure as a client learns of it."""

    kind: FailureKind
    message: str  # one sentence for a person; never a secret
    param: str | None = None  # the field of the request that is to blame, such as `input[2].content`
    code: str | None = None  # for programs, where the kind alone says too little
    retry_after: float | None = None  # seconds
    fields: Mapping[str, Any] = field(default_factory=dict)  # further ones of the error object, by the wire's own names
    request_id: str = ""  # for wires whose bodies hold it
    tokens: int | None = None  # of a conversation that is too long
    token_limit: int | None = None


@dataclass(frozen=True, slots=True)
class FailedReply:
    """A failure in a wire's own words."""

    status: int
    headers: tuple[tuple[str, str], ...]  # further ones, names in lower case, such as `retry-after`
    body: Mapping[str, Any]


def retry_headers(failure: ServedFailure) -> tuple[tuple[str, str], ...]:
    """The headers that official clients obey (docs/wires/serving.md#headers-that-control-repeated-requests)."""
    if failure.kind in _STAYS_SO:
        return (("x-should-retry", "false"),)
    if failure.retry_after is None:
        return ()
    return (("retry-after", str(math.ceil(failure.retry_after))),)


def plain_reply(error: Callable[[int, str], Mapping[str, Any]], failure: ServedFailure) -> FailedReply:
    """A failure on a wire that has no table of its own: `error` makes the JSON object of an HTTP error of a status and
    message, and an error that is an object takes param, code and further fields."""
    status = STATUSES[failure.kind]
    said = error(status, failure.message)
    named = {name: value for name, value in (("param", failure.param), ("code", failure.code)) if value is not None}
    inner = said.get("error")
    body = {**said, "error": {**inner, **named, **failure.fields}} if isinstance(inner, dict) else said
    return FailedReply(status, retry_headers(failure), body)


_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class RefusedRequestError(errors.CallerError):
    """A request that a real server refuses although its wire has a place for it, in the server's own words.

    Attributes:
        param: The field that the server blames, or None where its errors name none.
        fields: Further fields of the error object, by the server's own names.
    """

    def __init__(
        self, message: str, param: str | None = None, code: str | None = None, *, status: int = 400,
        fields: Mapping[str, Any] = _NOTHING,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.param = param
        self.code = code
        self.status = status
        self.fields = fields


class UnknownReferenceError(RefusedRequestError):
    """A request refers to an answer, or an item of one, that is not known here; its upstream may know it."""


# ---- What errors mean ----


def failure_of(error: BaseException) -> ServedFailure:
    """What an error means for the client of a server.

    The text of an error that is none of ours is not said: it may hold anything, a key or a prompt.
    """
    for kind, read in _ERRORS:
        if isinstance(error, kind):
            return read(error)
    return ServedFailure(FailureKind.INTERNAL, f"the provider of the model failed ({type(error).__name__})")


def _refused(error: RefusedRequestError) -> ServedFailure:
    kind = _OF_OURS.get(error.status) or _BY_STATUS.get(error.status, FailureKind.INVALID_REQUEST)
    return ServedFailure(kind, str(error), error.param, error.code, fields=error.fields)


def _of_upstream(error: errors.UpstreamError) -> ServedFailure:
    kind = COMMON_ERRORS.kind_of(error)
    found = _BY_STATUS.get(error.http_status or 0) or _BY_CODE.get(error.code, FailureKind.UPSTREAM)
    if kind is not None:
        found = _BY_KIND.get(kind, found)
    if kind is ErrorKind.UNAVAILABLE and (error.provider_code or "").lower() in _OVERLOADED:
        found = FailureKind.OVERLOADED
    return ServedFailure(found, sentence_of(error), error.param, error.provider_code, error.retry_after)


_ERRORS: Final[tuple[tuple[type[BaseException], Callable[[Any], ServedFailure]], ...]] = (
    (
        errors.UnsupportedParameterError,
        lambda one: ServedFailure(FailureKind.UNSUPPORTED_PARAMETER, str(one), one.where),
    ),
    (errors.InvalidRequestError, lambda one: ServedFailure(FailureKind.INVALID_REQUEST, str(one), one.where)),
    (RefusedRequestError, _refused),
    (errors.RequestNotExpressibleError, lambda one: ServedFailure(FailureKind.INVALID_REQUEST, one.message, one.where)),
    (
        errors.UnknownModelError,
        lambda one: ServedFailure(
            FailureKind.MODEL_NOT_FOUND if one.model_id else FailureKind.INVALID_REQUEST, one.message, "model"
        ),
    ),
    (
        errors.ContextLengthExceededError,
        lambda one: ServedFailure(FailureKind.CONTEXT_LENGTH, one.message, tokens=one.count, token_limit=one.limit),
    ),
    (errors.BudgetError, lambda one: ServedFailure(FailureKind.SPENT_BUDGET, one.message)),
    (
        errors.RateReachedError,
        lambda one: ServedFailure(FailureKind.RATE_LIMITED, one.message, retry_after=one.retry_after),
    ),
    (errors.UpstreamTimeoutError, lambda one: ServedFailure(FailureKind.TIMEOUT, one.message)),
    (errors.UpstreamError, _of_upstream),
    (errors.LanguageModelError, lambda one: ServedFailure(_BY_CODE.get(one.code, FailureKind.INTERNAL), one.message)),
    (errors.CallerError, lambda one: ServedFailure(FailureKind.INTERNAL, str(one))),
    (TimeoutError, lambda _: ServedFailure(FailureKind.TIMEOUT, "the answer took too long")),
)
"""How each error is read; of several classes that an error is of, the first row counts."""

_BY_KIND: Final[Mapping[ErrorKind, FailureKind]] = {
    # The client's own key was right: the one of this server was not.
    ErrorKind.NO_PERMISSION: FailureKind.FORBIDDEN,
    ErrorKind.NO_CREDIT: FailureKind.SPENT_BUDGET,
    ErrorKind.QUOTA_SPENT: FailureKind.SPENT_BUDGET,
    ErrorKind.RATE_LIMIT: FailureKind.RATE_LIMITED,
    ErrorKind.CONTENT_POLICY: FailureKind.INVALID_REQUEST,
    ErrorKind.UNKNOWN_MODEL: FailureKind.MODEL_NOT_FOUND,
    ErrorKind.INPUT_TOO_LONG: FailureKind.CONTEXT_LENGTH,
    ErrorKind.REQUEST_TOO_LARGE: FailureKind.TOO_LARGE,
}
"""What the kind of an upstream's error means for the client; of a kind that is missing, the status says more."""

_OVERLOADED: Final = frozenset(
    {"model_overloaded", "overloaded", "overloaded_error", "server_is_overloaded"}
    | {"service_unavailable", "slow_down", "unavailable"}
)
"""Codes that say it where there is no status."""

_BY_STATUS: Final[Mapping[int, FailureKind]] = {
    status: kind
    for kind, statuses in (
        (FailureKind.INVALID_REQUEST, (400, 422)),
        (FailureKind.FORBIDDEN, (401, 403)),
        (FailureKind.SPENT_BUDGET, (402,)),
        (FailureKind.NOT_FOUND, (404,)),
        (FailureKind.TIMEOUT, (408, 504)),
        (FailureKind.TOO_LARGE, (413,)),
        (FailureKind.RATE_LIMITED, (429,)),
        (FailureKind.UPSTREAM, (500, 501, 502)),
        (FailureKind.OVERLOADED, (503, 529)),
    )
    for status in statuses
}
"""What an upstream's HTTP status means where its words say no more."""

_OF_OURS: Final[Mapping[int, FailureKind]] = {401: FailureKind.UNAUTHENTICATED, 405: FailureKind.METHOD_NOT_ALLOWED}
"""Statuses of our own refusals that mean something else than those of an upstream."""

_BY_CODE: Final[Mapping[errors.LanguageModelErrorCode, FailureKind]] = {
    errors.LanguageModelErrorCode.NOT_FOUND: FailureKind.MODEL_NOT_FOUND,
    errors.LanguageModelErrorCode.NO_PERMISSIONS: FailureKind.FORBIDDEN,
    errors.LanguageModelErrorCode.BLOCKED: FailureKind.RATE_LIMITED,
}
"""What VS Code's code of a provider's error means."""


# ---- The form that most wires share ----


class FailureRow(NamedTuple):
    """A kind of failure in the words of a wire: HTTP status, type and code of the error."""

    status: int
    type: str
    code: str | None = None
    is_acted_on: bool = False  # whether clients act on the code: then it wins over the provider's own code


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

STATUSES: Final[Mapping[FailureKind, int]] = {kind: row.status for kind, row in _ROWS.items()}
"""The HTTP status of a failure on a wire that has no status of its own for it."""


def common_reply(failure: ServedFailure, rows: Mapping[FailureKind, FailureRow] = _ROWS) -> FailedReply:
    """A failure as an HTTP reply, with other `rows` for a wire that has other words in the same form."""
    row = rows[failure.kind]
    said = {"message": with_wait(failure), "type": row.type, "param": failure.param, "code": _code(failure, row)}
    return FailedReply(row.status, retry_headers(failure), {"error": {**said, **failure.fields}})


def sentence_of(error: errors.LanguageModelError | None) -> str:
    """Why an answer has failed, in the provider's own words: for a wire whose errors are one sentence."""
    if error is None:
        return NO_REASON
    said = error.provider_message if isinstance(error, errors.UpstreamFailureError | errors.UpstreamHTTPError) else None
    return said or error.message or NO_REASON


def said_in_stream(error: errors.LanguageModelError | None) -> dict[str, Any]:
    """Why an answer that has begun has failed: the fields `message`, `type`, `param` and `code`."""
    if error is None:
        return {"message": NO_REASON, "type": _SERVER, "param": None, "code": _SERVER}
    failure = failure_of(error)
    row = _ROWS[failure.kind]
    return {"message": with_wait(failure), "type": _SERVER, "param": None, "code": _code(failure, row) or _SERVER}


def _code(failure: ServedFailure, row: FailureRow) -> str | None:
    return row.code if row.is_acted_on else failure.code or row.code


def with_wait(failure: ServedFailure) -> str:
    """The message; that of a rate limit says when to ask again, in the words that clients look for."""
    said, wait = failure.message, failure.retry_after
    if failure.kind is not FailureKind.RATE_LIMITED or wait is None or wait < 0 or _WAIT.search(said):
        return said
    return f"{said.removesuffix('.')}. Please try again in {math.ceil(wait)}s."


_WAIT: Final = re.compile(r"try again in\s*\d", re.IGNORECASE)
