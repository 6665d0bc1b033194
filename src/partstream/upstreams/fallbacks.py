"""When another model may answer in the place of one that cannot, and how the list of models says so."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from partstream.errors import (
    ContextLengthExceededError,
    TimeoutPhase,
    TruncatedStreamError,
    UpstreamConnectionError,
    UpstreamFailureError,
    UpstreamHTTPError,
    UpstreamTimeoutError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from partstream.errors import UpstreamError
    from partstream.protocols.errors import Errors
    from partstream.provider import LanguageModelChatInformation

__all__ = ["has_more_room", "helps_another_model", "with_fallbacks"]

_STATUSES: Final = frozenset({408, 425, 429})
"""Beside those from 500 on. What the request or the key is blamed for, another model would be blamed for too."""


def helps_another_model(error: UpstreamError, errors: Errors) -> bool:
    """Whether another model can answer what this one could not.

    Args:
        error: Why this one could not.
        errors: How its server says what went wrong.
    """
    if isinstance(error, UpstreamHTTPError):
        status = error.http_status or 0
        return status in _STATUSES or status >= 500
    if isinstance(error, UpstreamFailureError):
        kind = errors.kind(error.provider_code)
        return kind is not None and kind.is_passing
    if isinstance(error, UpstreamTimeoutError):
        return error.phase is not TimeoutPhase.TOTAL  # a person has waited for that long: enough
    return isinstance(error, UpstreamConnectionError | TruncatedStreamError)


def has_more_room(
    other: LanguageModelChatInformation | None, refused_by: LanguageModelChatInformation, error: UpstreamError
) -> bool:
    """Whether another model may take an input that was too long for the first: only one that is known to take more."""
    if not isinstance(error, ContextLengthExceededError) or other is None:
        return False
    return other.max_input_tokens > max(error.limit or 0, error.count or 0, refused_by.max_input_tokens)


def with_fallbacks(
    models: Iterable[LanguageModelChatInformation], fallbacks: Mapping[str, tuple[str, ...]]
) -> tuple[LanguageModelChatInformation, ...]:
    """The models, those that have others to fall back on with a detail that says so."""
    return tuple(
        replace(model, detail="; ".join(filter(None, (model.detail, f"falls back on {', '.join(others)}"))))
        if (others := fallbacks.get(model.id))
        else model
        for model in models
    )
