"""Interprets the errors of servers: codes, bodies of HTTP errors, and refusals of input that is too long.

The codes, bodies and sentences that servers of several wires use stand here and in
:mod:`partstream.protocols.overflow`. A protocol whose servers have others adds them with an :class:`Errors` of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.conversation.carried import Carried
from partstream.errors import LanguageModelErrorCode, UpstreamFailureError
from partstream.protocols.overflow import PHRASINGS, read_overflow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.errors import UpstreamError
    from partstream.protocols.overflow import Overflow, Phrasing

__all__ = ["COMMON_ERRORS", "ErrorBody", "ErrorKind", "Errors", "read_error_body", "routing_attempts"]

_MAX_ID: Final = 200
_MAX_ATTEMPTS: Final = 10
_MAX_ATTEMPT: Final = 300
"""Characters; an error is shown to a person."""


class ErrorKind(StrEnum):
    """The meaning of a provider's code for the caller."""

    NO_PERMISSION = "no permission"
    """The key is missing or wrong, or it may not do this."""
    NO_CREDIT = "no credit"
    RATE_LIMIT = "rate limit"
    """The account asks too often: another model may answer, or this one later."""
    UNKNOWN_MODEL = "unknown model"
    UNAVAILABLE = "unavailable"
    """The model cannot answer now: another one may, or this one later."""
    INPUT_TOO_LONG = "input too long"
    REQUEST_TOO_LARGE = "request too large"
    """Its bytes are too many, which says nothing of tokens."""

    @property
    def code(self) -> LanguageModelErrorCode:
        """VS Code's code for it."""
        return _CODE_BY_KIND.get(self, LanguageModelErrorCode.UNSPECIFIED)

    @property
    def is_passing(self) -> bool:
        """Whether another model may answer, or the same one later."""
        return self in {ErrorKind.RATE_LIMIT, ErrorKind.UNAVAILABLE}


_CODE_BY_KIND: Final[Mapping[ErrorKind, LanguageModelErrorCode]] = {
    ErrorKind.NO_PERMISSION: LanguageModelErrorCode.NO_PERMISSIONS,
    ErrorKind.NO_CREDIT: LanguageModelErrorCode.BLOCKED,
    ErrorKind.RATE_LIMIT: LanguageModelErrorCode.BLOCKED,
    ErrorKind.UNKNOWN_MODEL: LanguageModelErrorCode.NOT_FOUND,
}

_COMMON_CODES: Final[Mapping[str, ErrorKind]] = {
    "authentication_error": ErrorKind.NO_PERMISSION,
    "forbidden": ErrorKind.NO_PERMISSION,
    "invalid_api_key": ErrorKind.NO_PERMISSION,
    "permission_error": ErrorKind.NO_PERMISSION,
    "insufficient_funds": ErrorKind.NO_CREDIT,
    "insufficient_quota": ErrorKind.NO_CREDIT,
    "rate_limit_error": ErrorKind.RATE_LIMIT,
    "rate_limit_exceeded": ErrorKind.RATE_LIMIT,
    "model_not_found": ErrorKind.UNKNOWN_MODEL,
    "not_found": ErrorKind.UNKNOWN_MODEL,
    "not_found_error": ErrorKind.UNKNOWN_MODEL,
    "internal_server_error": ErrorKind.UNAVAILABLE,
    "model_overloaded": ErrorKind.UNAVAILABLE,
    "overloaded": ErrorKind.UNAVAILABLE,
    "overloaded_error": ErrorKind.UNAVAILABLE,
    "server_error": ErrorKind.UNAVAILABLE,
    "server_is_overloaded": ErrorKind.UNAVAILABLE,
    "service_unavailable": ErrorKind.UNAVAILABLE,
    "slow_down": ErrorKind.UNAVAILABLE,
    "context_length_exceeded": ErrorKind.INPUT_TOO_LONG,
    "exceed_context_size_error": ErrorKind.INPUT_TOO_LONG,
    "model_context_window_exceeded": ErrorKind.INPUT_TOO_LONG,
    "string_above_max_length": ErrorKind.INPUT_TOO_LONG,
    "request_too_large": ErrorKind.REQUEST_TOO_LARGE,
}
"""The codes of servers that speak several wires, or stand behind gateways that pass them on."""


class ErrorBody(NamedTuple):
    """The content of an HTTP error's body; fields that the body does not state are None or empty.

    Attributes:
        message: The provider's sentence.
        code: The provider's own code or type.
        generation_id: Under which a gateway knows the request, for its support.
        attempts: What a gateway says of each provider that it tried in vain, one sentence each.
    """

    message: str | None = None
    code: str | None = None
    generation_id: str | None = None
    attempts: tuple[str, ...] = ()


def read_error_body(document: Any) -> ErrorBody:
    """Reads the JSON value of an error's body in the shapes that most servers have.

    These are `{"error": {"message", "type", "code"}}`, `{"error": "..."}`, `{"message": "..."}` and
    `{"detail": "..."}`, each also as the only thing in an array (Google), and FastAPI's
    `{"detail": [{"loc", "msg"}]}`. Servers that route a request to others add `generationId` and what each of those
    said.
    """
    if isinstance(document, list) and len(document) == 1:
        document = document[0]
    if not isinstance(document, dict):
        return ErrorBody()
    error = document.get("error")
    if isinstance(error, str):
        message, code = error or None, _text(document, "code")
    else:
        source = error if isinstance(error, dict) else document
        message = _text(source, "message") or _text(source, "detail") or _refused_fields(source.get("detail"))
        code = _text(source, "code") or _text(source, "type")
    return ErrorBody(message, code, _identifier(document, "generationId"), routing_attempts(document))


def _refused_fields(detail: Any) -> str | None:
    """The fields that FastAPI refuses, with its reasons: `body.model: Field required`."""
    said = [
        f"{'.'.join(map(str, one['loc']))}: {one['msg']}" if isinstance(one.get("loc"), list) else str(one["msg"])
        for one in (detail if isinstance(detail, list) else ())
        if isinstance(one, dict) and isinstance(one.get("msg"), str)
    ]
    return "; ".join(said[:_MAX_ATTEMPTS])[:_MAX_ATTEMPT] or None


def routing_attempts(document: Any) -> tuple[str, ...]:
    """One sentence for each provider that a request was routed to in vain, with its name; none where nothing is said.

    Servers that route requests add it to their errors:
    `{"providerMetadata": {NAME: {"routing": {"attempts": [{"provider", "error"}]}}}}`.
    """
    said: list[str] = []
    for provider in _object(document, "providerMetadata").values():
        attempts = _object(provider, "routing").get("attempts")
        for attempt in attempts if isinstance(attempts, list) else ():
            if error := _text(attempt, "error"):
                said.append(f"{_text(attempt, 'provider') or 'a provider'}: {error[:_MAX_ATTEMPT]}")
    return tuple(said[:_MAX_ATTEMPTS])


def _nothing_refused(_error: UpstreamError) -> Carried:
    return Carried.NOTHING


@dataclass(frozen=True, slots=True)
class Errors:
    """The errors of the servers that speak one wire.

    Attributes:
        codes: The kinds of codes that only this wire has, codes in lower case; they win over the common ones.
        phrasings: Sentences for an input that is too long that only this wire has; they are tried before the common
            ones.
        read_body: Reads the JSON value of the body of an HTTP error.
        refused: Which state of earlier answers an error refuses to take back; nothing where it is about something else.
    """

    codes: Mapping[str, ErrorKind] = field(default_factory=lambda: MappingProxyType({}))
    phrasings: tuple[Phrasing, ...] = ()
    read_body: Callable[[Any], ErrorBody] = read_error_body
    refused: Callable[[UpstreamError], Carried] = _nothing_refused

    def kind(self, code: str | None) -> ErrorKind | None:
        """The kind of a provider's code; None for an unknown code."""
        name = (code or "").lower()
        return self.codes.get(name) or _COMMON_CODES.get(name)

    def failure(self, message: str, code: str | None) -> UpstreamFailureError:
        """Makes the error for a failure that an upstream reported inside a stream."""
        kind = self.kind(code)
        said = LanguageModelErrorCode.UNSPECIFIED if kind is None else kind.code
        return UpstreamFailureError(message, provider_code=code, code=said)

    def overflow(self, error: UpstreamError) -> Overflow | None:
        """Reads the numbers of an error that refuses an input as too long; returns None for every other error."""
        tokens, size = (self._codes_of(kind) for kind in (ErrorKind.INPUT_TOO_LONG, ErrorKind.REQUEST_TOO_LARGE))
        return read_overflow(error, (*self.phrasings, *PHRASINGS), token_codes=tokens, size_codes=size)

    def _codes_of(self, kind: ErrorKind) -> frozenset[str]:
        return frozenset(code for code, one in {**_COMMON_CODES, **self.codes}.items() if one is kind)


COMMON_ERRORS: Final = Errors()
"""For a wire whose servers have no words of their own."""


def _object(document: Any, name: str) -> dict[str, Any]:
    value = document.get(name) if isinstance(document, dict) else None
    return value if isinstance(value, dict) else {}


def _text(document: Any, name: str) -> str | None:
    value = document.get(name) if isinstance(document, dict) else None
    return str(value) or None if isinstance(value, str | int) and not isinstance(value, bool) else None


def _identifier(document: Any, name: str) -> str | None:
    value = document.get(name) if isinstance(document, dict) else None
    return value if isinstance(value, str) and 0 < len(value) <= _MAX_ID and value.isprintable() else None
