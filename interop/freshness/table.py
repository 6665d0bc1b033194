"""The wires that are compared; a new one is a file in `wires` and a row here."""

from __future__ import annotations
from typing import Final

from interop.freshness.wires import (
    ai_sdk,
    anthropic_messages,
    chat_completions,
    gemini,
    gemini_interactions,
    openresponses,
)

__all__ = ["WIRES"]

WIRES: Final = (
    openresponses.WIRE,
    chat_completions.WIRE,
    anthropic_messages.WIRE,
    gemini.WIRE,
    gemini_interactions.WIRE,
    ai_sdk.WIRE,
)
