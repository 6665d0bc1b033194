"""What a provider says that it took out of a conversation by itself, in the words of the AI SDK.

Source: `providerMetadata.anthropic.contextManagement.appliedEdits` of `@ai-sdk/anthropic` 4.0.105.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["applied_edits"]


def applied_edits(provider_metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """What providers say that they took out of the conversation: a phrase for each edit.

    Args:
        provider_metadata: As in :attr:`partstream.outputs.Finish.provider_metadata`.
    """
    phrases = []
    for about in provider_metadata.values():
        management = about.get("contextManagement") if isinstance(about, Mapping) else None
        edits = management.get("appliedEdits") if isinstance(management, Mapping) else None
        for edit in edits if isinstance(edits, list | tuple) else ():
            if isinstance(edit, Mapping):
                phrases.append(_phrase(edit))
    return tuple(phrases)


def _phrase(edit: Mapping[str, Any]) -> str:
    """Such as `2 tool calls, 5,000 tokens`; the type alone where it is one that nobody knows yet."""
    counts = [
        f"{edit[field]:,} {noun if edit[field] == 1 else noun + 's'}"
        for field, noun in _COUNTED.items()
        if type(edit.get(field)) is int
    ]
    kind = str(edit.get("type") or "an edit")
    if kind.startswith("compact"):
        return ", ".join(["the conversation was summarised", *counts])
    return ", ".join(counts) or kind


_COUNTED: Final = {
    "clearedToolUses": "tool call",
    "clearedThinkingTurns": "thinking turn",
    "clearedInputTokens": "token",
}
