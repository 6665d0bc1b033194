"""How a conversation is kept short on the provider's side: Anthropic's edits, as values; reads no setting.

Sources: Anthropic's reference of context editing (beta `context-management-2025-06-27`, `compact-2026-01-12`) and the
field names of the AI SDK's `providerOptions.anthropic.contextManagement`, as its version 4.0.105 takes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CLEAR_THINKING", "CLEAR_TOOL_USES", "COMPACT", "ContextManagement"]

CLEAR_TOOL_USES: Final = "clear_tool_uses_20250919"
CLEAR_THINKING: Final = "clear_thinking_20251015"
COMPACT: Final = "compact_20260112"

_CREATOR: Final = "anthropic/"
_PROVIDER: Final = "anthropic"
_WITHOUT_EDITS: Final = "anthropic/claude-3"
"""The models before Claude 4, which refuse edits: "Context editing", section "Supported models", of Anthropic's API."""

_TRIGGER_SHARE: Final = 0.7
"""The share of the input limit. Copilot (seen in 0.67) begins its own compaction later, at 0.78 to 0.82."""
_KEPT_TOOL_USES: Final = 5
_CLEARED_SHARE: Final = 0.1
_LEAST_CLEARED: Final = 5000


@dataclass(frozen=True, slots=True)
class ContextManagement:
    """What an upstream is asked to take out of conversations that grow long.

    Attributes:
        is_on: Whether it is asked at all.
        edits: What to take out and when, in the AI SDK's words; empty for edits by the limits of the model, which only
            models get that know edits (docs/decisions/0007).
    """

    is_on: bool = True
    edits: tuple[Mapping[str, Any], ...] = ()

    def __bool__(self) -> bool:
        """Whether somebody asks for anything."""
        return self.is_on

    def provider_options(self, model_id: str, max_input_tokens: int) -> dict[str, dict[str, Any]]:
        """The options for the providers behind a gateway; none for models that know no edits.

        Args:
            model_id: With its creator, such as `anthropic/claude-sonnet-4.5`: only the creator says what a model knows.
            max_input_tokens: The input limit of the model.
        """
        if not self.is_on or not model_id.startswith(_CREATOR):
            return {}
        if not self.edits and model_id.startswith(_WITHOUT_EDITS):
            return {}
        edits = self.edits or (_edit_by_limit(max_input_tokens),)
        return {_PROVIDER: {"contextManagement": {"edits": [dict(edit) for edit in edits]}}}


def _edit_by_limit(max_input_tokens: int) -> dict[str, Any]:
    """Clears the results of old tool calls, and only when that is worth the prompt cache, which it empties."""
    return {
        "type": CLEAR_TOOL_USES,
        "trigger": {"type": "input_tokens", "value": max(1, int(max_input_tokens * _TRIGGER_SHARE))},
        "keep": {"type": "tool_uses", "value": _KEPT_TOOL_USES},
        "clearAtLeast": {
            "type": "input_tokens",
            "value": max(_LEAST_CLEARED, int(max_input_tokens * _CLEARED_SHARE)),
        },
    }
