"""What a provider's error code means for the caller; the codes that servers of several wires use.

A protocol whose servers have other codes adds them with an :class:`partstream.protocols.errors.Errors` of its own.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from partstream.errors import LanguageModelErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["COMMON_CODES", "ErrorKind", "kind_of_status"]


class ErrorKind(StrEnum):
    """The meaning of a provider's code for the caller."""

    NO_PERMISSION = "no permission"
    """The key is missing or wrong, or it may not do this."""
    NO_CREDIT = "no credit"
    RATE_LIMIT = "rate limit"
    """The account asks too often: another model may answer, or this one later."""
    QUOTA_SPENT = "quota spent"
    """A quota of many hours is used up: another model may answer, but this one not soon."""
    CONTENT_POLICY = "content policy"
    """A filter refused what was asked, or what was being answered."""
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
        return self in {ErrorKind.RATE_LIMIT, ErrorKind.QUOTA_SPENT, ErrorKind.UNAVAILABLE}

    @property
    def outranks_status(self) -> bool:
        """Whether it says more than any HTTP status: 429 stands for a spent quota too, and 403 for a filter."""
        return self in {ErrorKind.NO_CREDIT, ErrorKind.QUOTA_SPENT, ErrorKind.CONTENT_POLICY}


_CODE_BY_KIND: Final[Mapping[ErrorKind, LanguageModelErrorCode]] = {
    ErrorKind.NO_PERMISSION: LanguageModelErrorCode.NO_PERMISSIONS,
    ErrorKind.NO_CREDIT: LanguageModelErrorCode.BLOCKED,
    ErrorKind.RATE_LIMIT: LanguageModelErrorCode.BLOCKED,
    ErrorKind.QUOTA_SPENT: LanguageModelErrorCode.BLOCKED,
    ErrorKind.CONTENT_POLICY: LanguageModelErrorCode.BLOCKED,
    ErrorKind.UNKNOWN_MODEL: LanguageModelErrorCode.NOT_FOUND,
}

_BY_STATUS: Final[Mapping[int, ErrorKind]] = {
    401: ErrorKind.NO_PERMISSION,
    402: ErrorKind.NO_CREDIT,
    403: ErrorKind.NO_PERMISSION,
    404: ErrorKind.UNKNOWN_MODEL,
    413: ErrorKind.REQUEST_TOO_LARGE,
    429: ErrorKind.RATE_LIMIT,
}


def kind_of_status(status: int | None) -> ErrorKind | None:
    """The kind of an error with nothing but an HTTP status; None for a status that blames the request, or no error."""
    if status is None:
        return None
    return ErrorKind.UNAVAILABLE if status >= 500 else _BY_STATUS.get(status)


COMMON_CODES: Final[Mapping[str, ErrorKind]] = MappingProxyType(
    {
        "authentication_error": ErrorKind.NO_PERMISSION,
        "forbidden": ErrorKind.NO_PERMISSION,
        "invalid_api_key": ErrorKind.NO_PERMISSION,
        "permission_error": ErrorKind.NO_PERMISSION,
        "insufficient_funds": ErrorKind.NO_CREDIT,
        "insufficient_quota": ErrorKind.NO_CREDIT,
        "billing_hard_limit_reached": ErrorKind.NO_CREDIT,
        "rate_limit_error": ErrorKind.RATE_LIMIT,
        "rate_limit_exceeded": ErrorKind.RATE_LIMIT,
        "content_filter": ErrorKind.CONTENT_POLICY,
        "content_policy_violation": ErrorKind.CONTENT_POLICY,
        "responsibleaipolicyviolation": ErrorKind.CONTENT_POLICY,
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
)
"""The codes of servers that speak several wires, or stand behind gateways that pass them on; in lower case."""
