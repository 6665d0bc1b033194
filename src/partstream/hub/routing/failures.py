"""What the failure of one upstream means for the others, and for the next requests to it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from partstream.errors import (
    ContextLengthExceededError,
    LanguageModelError,
    LanguageModelErrorCode,
    PartstreamError,
    UnknownModelError,
    UpstreamError,
    UpstreamHTTPError,
    UpstreamProtocolError,
)
from partstream.protocols.errors import COMMON_ERRORS, ErrorKind
from partstream.upstreams.credentials import CredentialError
from partstream.upstreams.fallbacks import helps_another_model

__all__ = ["Blame", "blame_of"]

_OF_THE_ACCOUNT: Final = frozenset(
    {ErrorKind.NO_PERMISSION, ErrorKind.NO_CREDIT, ErrorKind.QUOTA_SPENT, ErrorKind.UNKNOWN_MODEL}
)
"""What is said of the key, the account or the model there: another upstream has its own, and this one says it again."""


@dataclass(frozen=True, slots=True)
class Blame:
    """What a failure says of its upstream.

    Attributes:
        is_of_upstream: Whether the upstream is to blame, so that another one may answer; otherwise the request is.
        pause: The seconds for which the upstream is to be left alone at once; None where one failure says too little.
        is_asked: Whether the upstream asked for that pause itself.
    """

    is_of_upstream: bool
    pause: float | None = None
    is_asked: bool = False


_OF_THE_REQUEST: Final = Blame(is_of_upstream=False)
_ONE_OF_ITS_KIND: Final = Blame(is_of_upstream=True)
_LASTS: Final = Blame(is_of_upstream=True, pause=math.inf)


def blame_of(error: Exception) -> Blame:
    """What a failure says of its upstream.

    An error that is none of ours comes from the code of a provider, which could not reach what it asks, or has a fault:
    another provider may do better.

    Args:
        error: Why the upstream could not answer.
    """
    if isinstance(error, CredentialError | UnknownModelError):
        return _LASTS
    if not isinstance(error, UpstreamError):
        return _OF_THE_REQUEST if isinstance(error, PartstreamError) and not _says_nothing(error) else _ONE_OF_ITS_KIND
    return _blame_of_upstream(error)


def _blame_of_upstream(error: UpstreamError) -> Blame:
    if isinstance(error, ContextLengthExceededError):
        return _OF_THE_REQUEST
    if isinstance(error, UpstreamProtocolError) or (isinstance(error, UpstreamHTTPError) and _is_success(error)):
        return _ONE_OF_ITS_KIND
    is_of_account = COMMON_ERRORS.kind_of(error) in _OF_THE_ACCOUNT
    if not is_of_account and not helps_another_model(error, COMMON_ERRORS):
        return _OF_THE_REQUEST
    if error.retry_after is not None:
        return Blame(is_of_upstream=True, pause=error.retry_after, is_asked=True)
    return _LASTS if is_of_account else _ONE_OF_ITS_KIND


def _says_nothing(error: PartstreamError) -> bool:
    """Whether it is the failure of a provider's own code that names nobody to blame."""
    return type(error) is LanguageModelError and error.code is LanguageModelErrorCode.UNSPECIFIED


def _is_success(error: UpstreamHTTPError) -> bool:
    """Whether something came with a status of success that is no answer, such as the page of a login."""
    return (error.http_status or 0) < 400
