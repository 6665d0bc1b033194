"""Asks fallback models in place of one that cannot answer; the list of models names them."""

from __future__ import annotations

import logging
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from partstream.errors import (
    ContextLengthExceededError,
    TimeoutPhase,
    TruncatedStreamError,
    UpstreamConnectionError,
    UpstreamError,
    UpstreamFailureError,
    UpstreamHTTPError,
    UpstreamTimeoutError,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from partstream.lm.provider import LanguageModelChatInformation
    from partstream.protocols.errors import Errors
    from partstream.upstream.requests import ModelCall

__all__ = ["ask_in_turn", "has_more_room", "helps_another_model", "with_fallbacks"]

_logger = logging.getLogger("partstream.upstreams")

_STATUSES: Final = frozenset({408, 425, 429})
"""Beside those from 500 on. What the request or the key is blamed for, another model would be blamed for too."""


async def ask_in_turn(
    candidates: Sequence[LanguageModelChatInformation],
    ask: Callable[[LanguageModelChatInformation], Awaitable[None]],
    question: ModelCall,
    errors: Errors,
) -> None:
    """Asks the first model, then its fallback models, until one has reported a part.

    Args:
        candidates: The models, in the order in which they are asked.
        ask: Asks one of them.
        question: What is asked.
        errors: How their server says what went wrong.

    Raises:
        LanguageModelError: The last model that was asked could not answer, and no other one would help.
    """
    for model, following in zip_longest(candidates, candidates[1:]):
        try:
            await ask(model)
        except UpstreamError as error:
            if following is None or not question.may_be_asked_again:
                raise
            if not helps_another_model(error, errors) and not has_more_room(following, model, error):
                raise
            _logger.warning("%s cannot answer, asking %s in its place: %s", model.id, following.id, error)
        else:
            return


def helps_another_model(error: UpstreamError, errors: Errors) -> bool:
    """Tells whether another model can answer after this error.

    Args:
        error: Why this one could not.
        errors: How its server says what went wrong.
    """
    if isinstance(error, UpstreamHTTPError):
        status = error.http_status or 0
        return status in _STATUSES or status >= 500
    if isinstance(error, UpstreamFailureError):
        kind = errors.kind_of(error)
        return kind is not None and kind.is_passing
    if isinstance(error, UpstreamTimeoutError):
        return error.phase is not TimeoutPhase.TOTAL  # a person has waited for that long: enough
    return isinstance(error, UpstreamConnectionError | TruncatedStreamError)


def has_more_room(
    other: LanguageModelChatInformation, refused_by: LanguageModelChatInformation, error: UpstreamError
) -> bool:
    """Tells whether another model may take an input that was too long for the first.

    Only one with a larger known limit may.
    """
    if not isinstance(error, ContextLengthExceededError):
        return False
    return other.max_input_tokens > max(error.limit or 0, error.count or 0, refused_by.max_input_tokens)


def with_fallbacks(
    models: Iterable[LanguageModelChatInformation], fallbacks: Mapping[str, tuple[str, ...]]
) -> tuple[LanguageModelChatInformation, ...]:
    """The models; the detail of those with fallback models names them."""
    return tuple(
        replace(model, detail="; ".join(filter(None, (model.detail, f"falls back on {', '.join(others)}"))))
        if (others := fallbacks.get(model.id))
        else model
        for model in models
    )
