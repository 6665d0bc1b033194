"""Lets the server shorten a conversation by itself (docs/wires/anthropic-messages.md#betas).

A window below a million tokens fills within one long turn of an agent, and old results of tools are most of it. What
was taken out, the answer says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.capabilities import ContextEdit
from partstream.protocols.anthropic_messages.models import MILLION, ContextEditing
from partstream.protocols.anthropic_messages.request_thinking import asks_to_think

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.anthropic_messages.models import Abilities, AnthropicMessagesSettings
    from partstream.protocols.anthropic_messages.provider_state import Wire

__all__ = ["CLEAR_THINKING", "CLEAR_TOOL_USES", "COMPACT", "context_management", "without_thinking_edits"]

CLEAR_THINKING: Final = "clear_thinking_20251015"
CLEAR_TOOL_USES: Final = "clear_tool_uses_20250919"
COMPACT: Final = "compact_20260112"

_CLEAR_AT: Final = 0.6
"""The part of the window from which on results are taken out: early enough that one more step fits."""
_CLEAR_AT_LEAST: Final = 0.1
"""The part of the window that has to become free: each time, the prompt cache behind it is written anew."""
_USUAL_CLEAR_AT: Final = 100_000
"""Where the window is not known: the server's own number."""
_KEPT_RESULTS: Final = 3
_KEPT_THINKING: Final = 1
"""Turns whose thinking stays; models with a small window keep no more by themselves, but for Opus 4.5."""


def context_management(own: AnthropicMessagesSettings, abilities: Abilities, body: Mapping[str, Any]) -> Wire:
    """The field `context_management` of a body; empty for leaving the conversation as it is.

    Args:
        own: What a person set.
        abilities: What the model and its server take.
        body: The body so far, which says whether the model thinks.
    """
    edits: list[Wire] = []
    if _clears(own, abilities):
        if _may(ContextEdit.CLEAR_THINKING, abilities) and asks_to_think(body):  # has to be the first
            edits.append({"type": CLEAR_THINKING, "keep": {"type": "thinking_turns", "value": _KEPT_THINKING}})
        if _may(ContextEdit.CLEAR_TOOL_RESULTS, abilities) and body.get("tools"):
            edits.append(_clear_results(own, abilities))
    if own.summarize_at is not None and _may(ContextEdit.SUMMARIZE, abilities):
        edits.append({"type": COMPACT, "trigger": _tokens(own.summarize_at)})
    return {"context_management": {"edits": edits}} if edits else {}


def without_thinking_edits(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body without the edits that only a model that thinks has a use for."""
    management = body.get("context_management")
    if not isinstance(management, dict) or not isinstance(edits := management.get("edits"), list):
        return body
    kept = [edit for edit in edits if not (isinstance(edit, dict) and edit.get("type") == CLEAR_THINKING)]
    rest = {name: value for name, value in body.items() if name != "context_management"}
    return {**rest, "context_management": {**management, "edits": kept}} if kept else rest


def _clears(own: AnthropicMessagesSettings, abilities: Abilities) -> bool:
    if own.context_editing is ContextEditing.AUTO:
        is_small = abilities.window is not None and abilities.window < MILLION
        return is_small and ContextEdit.CLEAR_TOOL_RESULTS in (abilities.edits or ())
    return own.context_editing is ContextEditing.ON


def _may(edit: ContextEdit, abilities: Abilities) -> bool:
    return abilities.edits is None or edit in abilities.edits


def _clear_results(own: AnthropicMessagesSettings, abilities: Abilities) -> Wire:
    at = own.clear_results_at or (int(abilities.window * _CLEAR_AT) if abilities.window else _USUAL_CLEAR_AT)
    least = int(at * _CLEAR_AT_LEAST / _CLEAR_AT)
    return {
        "type": CLEAR_TOOL_USES,
        "trigger": _tokens(at),
        "keep": {"type": "tool_uses", "value": _KEPT_RESULTS},
        "clear_at_least": _tokens(least),
    }


def _tokens(number: int) -> Wire:
    return {"type": "input_tokens", "value": number}
