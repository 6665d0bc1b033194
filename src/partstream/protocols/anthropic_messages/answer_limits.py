"""How long an answer may be: `max_tokens`, required in a request (docs/wires/anthropic-messages.md#output-limit)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from partstream.protocols.anthropic_messages.models import Abilities

__all__ = ["LEAST_TOKENS", "UNKNOWN_MODEL_TOKENS", "answer_limit"]

UNKNOWN_MODEL_TOKENS: Final = 4096
"""What every model can answer."""
LEAST_TOKENS: Final = 1024
"""The fewest tokens that are asked for: a prompt that leaves less is for the server to refuse."""

_MOST_ASSUMED: Final = 32_000
_MARGIN: Final = 1.1
"""A prompt is estimated before it is sent, and may have more tokens than that."""


def answer_limit(chosen: int | None, abilities: Abilities, input_tokens: int | None, *, reserves: bool) -> int:
    """The most tokens of an answer.

    Args:
        chosen: What somebody chose, or None.
        abilities: What the model takes.
        input_tokens: The expected tokens of the prompt, or None.
        reserves: Whether the server wants prompt and answer to fit into the window together, or cuts what does not.
    """
    limit = chosen or abilities.max_tokens or _assumed(abilities.window)
    if abilities.window is None or input_tokens is None or not (reserves or abilities.reserves):
        return limit
    return max(min(limit, LEAST_TOKENS), min(limit, abilities.window - int(input_tokens * _MARGIN)))


def _assumed(window: int | None) -> int:
    """A limit for a model of which at most the window is known: a quarter of it."""
    return UNKNOWN_MODEL_TOKENS if window is None else max(UNKNOWN_MODEL_TOKENS, min(window // 4, _MOST_ASSUMED))
