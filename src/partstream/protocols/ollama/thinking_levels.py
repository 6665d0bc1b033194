"""How much a model is asked to think: the field `think` (docs/wires/ollama.md#thinking)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.conversation.capabilities import ModelCapabilities

__all__ = ["HIGHEST", "think_for"]

HIGHEST: Final = "max"
"""Newer than the other words: servers that predate it are asked again with the next lower one."""
_NONE: Final = "none"

_THINK: Final[Mapping[str, bool | str]] = {
    _NONE: False,
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": HIGHEST,
    "max": HIGHEST,
}
"""The value of `think` for a reasoning effort."""

_ALWAYS_THINKS: Final = re.compile(r"(?:^|[/:-])gpt-?oss", re.IGNORECASE)
"""Models that no boolean switches off, where nothing but their name is known."""


def think_for(effort: str, model_id: str, known: ModelCapabilities) -> bool | str | None:
    """The value of `think`; None where none is sent: a model that does not think refuses the field.

    Args:
        effort: The reasoning effort.
        model_id: The model.
        known: What is known of it.
    """
    if not known.reasoning:
        return None
    think = _THINK.get(effort.lower())
    if isinstance(think, bool) and _cannot_stop(model_id, known):
        return "low"
    return think


def _cannot_stop(model_id: str, known: ModelCapabilities) -> bool:
    efforts = known.reasoning_efforts
    return (efforts is not None and _NONE not in efforts) or _ALWAYS_THINKS.search(model_id) is not None
