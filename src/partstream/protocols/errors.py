"""Interprets the errors of servers: codes, bodies of HTTP errors, and refusals of what a request holds.

The codes, bodies and sentences that servers of several wires use stand in :mod:`partstream.protocols.error_kinds`,
:mod:`partstream.protocols.error_bodies` and :mod:`partstream.protocols.overflow`. A protocol whose servers have others
adds them with an :class:`Errors` of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps
from partstream.conversation.carried import Carried
from partstream.errors import LanguageModelErrorCode, UpstreamFailureError
from partstream.protocols.error_bodies import ErrorBody, holds_error, read_error_body, routing_attempts
from partstream.protocols.error_kinds import COMMON_CODES, ErrorKind, kind_of_status
from partstream.protocols.overflow import PHRASINGS, read_overflow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.errors import UpstreamError
    from partstream.protocols.overflow import Overflow, Phrasing

__all__ = [
    "COMMON_ERRORS",
    "ErrorBody",
    "ErrorKind",
    "Errors",
    "holds_error",
    "read_error_body",
    "routing_attempts",
]

NO_REASON: Final = "it gave no reason"


def _nothing_refused(_error: UpstreamError) -> Carried:
    return Carried.NOTHING


def _no_fields_refused(_error: UpstreamError, _body: Mapping[str, Any]) -> frozenset[str]:
    return frozenset()


@dataclass(frozen=True, slots=True)
class Errors:
    """The errors of the servers that speak one wire.

    Attributes:
        codes: The kinds of codes that only this wire has, codes in lower case; they win over the common ones.
        code_forms: Regular expressions for codes of which there are too many to list, such as the ids of quotas, and
            their kinds; for a code that is in no table.
        phrasings: Sentences for an input that is too long that only this wire has; they are tried before the common
            ones.
        read_body: Reads the JSON value of the body of an HTTP error.
        refused: Which state of earlier answers an error refuses to take back; nothing where it is about something else.
        refused_fields: Which optional fields of the body that was sent an error refuses, by the names that
            :attr:`partstream.protocols.protocol.RequestWriterSpec.leave_out` takes; none where it is about something
            else.
        holds_error: Whether a JSON value that came with a status of success is an error.
    """

    codes: Mapping[str, ErrorKind] = field(default_factory=lambda: MappingProxyType({}))
    code_forms: tuple[tuple[str, ErrorKind], ...] = ()
    phrasings: tuple[Phrasing, ...] = ()
    read_body: Callable[[Any], ErrorBody] = read_error_body
    refused: Callable[[UpstreamError], Carried] = _nothing_refused
    refused_fields: Callable[[UpstreamError, Mapping[str, Any]], frozenset[str]] = _no_fields_refused
    holds_error: Callable[[Any], bool] = holds_error

    def kind(self, code: str | None) -> ErrorKind | None:
        """The kind of a provider's code; None for an unknown code."""
        name = (code or "").lower()
        known = self.codes.get(name) or COMMON_CODES.get(name)
        return known or next((kind for form, kind in self.code_forms if re.search(form, code or "")), None)

    def kind_of(self, error: UpstreamError) -> ErrorKind | None:
        """The kind of an error, by its codes and its status."""
        return _weighed(self.kind(error.provider_code) or self.kind(error.provider_type), error.http_status)

    def kind_of_body(self, read: ErrorBody, status: int | None) -> ErrorKind | None:
        """The kind of an error that was just read, with the status that counts for it."""
        said = read.kind or self.kind(read.code) or self.kind(read.type)
        if status in _OF_THE_REQUEST and _POLICY.search((read.message or "")[:_MOST_READ]):
            said = ErrorKind.CONTENT_POLICY
        return _weighed(said, status)

    def failure(self, message: str, code: str | None) -> UpstreamFailureError:
        """Makes the error for a failure that an upstream reported inside a stream."""
        kind = self.kind(code)
        said = LanguageModelErrorCode.UNSPECIFIED if kind is None else kind.code
        return UpstreamFailureError(message, provider_code=code, code=said)

    def failure_in(self, document: Any) -> UpstreamFailureError | None:
        """The failure that an event or a document says which came with a status of success; None for any other value.

        Args:
            document: The JSON value, such as a chunk with an `error` in it.
        """
        if not self.holds_error(document):
            return None
        read = self.read_body(document)
        kind = self.kind_of_body(read, read.status)
        return UpstreamFailureError(
            read.message or read.code or NO_REASON,
            provider_code=read.code,
            code=LanguageModelErrorCode.UNSPECIFIED if kind is None else kind.code,
            http_status=read.status,
            provider_type=read.type,
            param=read.param,
            retry_after=read.retry_after,
            body=_shown(document),
        )

    def overflow(self, error: UpstreamError) -> Overflow | None:
        """Reads the numbers of an error that refuses an input as too long; returns None for every other error."""
        tokens, size = (self._codes_of(kind) for kind in (ErrorKind.INPUT_TOO_LONG, ErrorKind.REQUEST_TOO_LARGE))
        return read_overflow(error, (*self.phrasings, *PHRASINGS), token_codes=tokens, size_codes=size)

    def _codes_of(self, kind: ErrorKind) -> frozenset[str]:
        return frozenset(code for code, one in {**COMMON_CODES, **self.codes}.items() if one is kind)


COMMON_ERRORS: Final = Errors()
"""For a wire whose servers have no words of their own."""

_MOST_READ: Final = 4000
_MOST_SHOWN: Final = 4000
_OF_THE_REQUEST: Final = frozenset({None, 200, 400, 403, 422, 451})
_POLICY: Final = re.compile(
    r"content management policy|violates (?:our )?usage (?:guidelines|policies)|failed check: safety_check"
    r"|requires moderation|considered high risk|content exists risk|may contain inappropriate content"
    r"|result of our safety system",
    re.IGNORECASE,
)
"""Sentences of filters that have no code of their own, in this order: Azure, xAI (whose code is that of a missing
permission), OpenRouter, Moonshot, DeepSeek, DashScope, OpenAI."""


def _weighed(said: ErrorKind | None, status: int | None) -> ErrorKind | None:
    if said is not None and said.outranks_status:
        return said
    return kind_of_status(status) or said


def _shown(document: Any) -> str:
    """The beginning of a document as JSON, for the log."""
    try:
        return dumps(document)[:_MOST_SHOWN].decode(errors="replace")
    except (TypeError, ValueError, RecursionError):  # what only a program can hold: it comes as objects there
        return ""
