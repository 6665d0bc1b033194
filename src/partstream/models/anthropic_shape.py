"""How Anthropic describes its models, `GET /v1/models` (docs/wires/anthropic-messages.md#models-and-counting).

Each ability is an object with `supported`; forms of thinking, levels and edits have the server's names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.preparation import ContextEdit, ThinkingForm
from partstream.models.shape import Shape
from partstream.upstream.model_facts import Fact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.upstream.model_facts import Fields

__all__ = ["ANTHROPIC_SHAPE"]

_FORMS: Final = {"adaptive": ThinkingForm.ADAPTIVE, "enabled": ThinkingForm.BUDGET}
_EDITS: Final = {
    "clear_thinking_20251015": ContextEdit.CLEAR_THINKING,
    "clear_tool_uses_20250919": ContextEdit.CLEAR_TOOL_RESULTS,
    "compact_20260112": ContextEdit.SUMMARIZE,
}
_EFFORTS: Final = {name: name for name in ("low", "medium", "high", "xhigh", "max")}
_USUAL: Final = "high"
"""The effort of a request that names none (docs/wires/anthropic-messages.md#thinking-by-model)."""


def _read(fields: Fields) -> dict[str, Any]:
    return {
        "name": fields.text("display_name"),
        # It bounds the input, and the input together with the response.
        "context_window": fields.tokens("max_input_tokens"),
        "max_output_tokens": fields.tokens("max_tokens"),
        **_abilities(fields.inside("capabilities")),
    }


def _abilities(capabilities: Fields) -> dict[str, Any]:
    efforts = _supported(capabilities, "effort", _EFFORTS)
    return {
        "image_input": capabilities.boolean("image_input.supported"),
        "file_input": capabilities.boolean("pdf_input.supported"),
        "reasoning": capabilities.boolean("thinking.supported"),
        "thinking_forms": _supported(capabilities, "thinking", _FORMS, "types."),
        "can_stop_thinking": capabilities.boolean("thinking.types.disabled.supported"),
        "reasoning_efforts": efforts,
        "usual_effort": Fact(_USUAL, efforts.source, efforts.field) if efforts and _USUAL in efforts.value else None,
        "context_edits": _supported(capabilities, "context_management", _EDITS),
    }


def _supported(
    capabilities: Fields, ability: str, ours: Mapping[str, Any], below: str = ""
) -> Fact[tuple[Any, ...]] | None:
    """What is supported of an ability, in our words; None where the server does not say."""
    as_a_whole = capabilities.boolean(f"{ability}.supported")
    if as_a_whole is None:
        return None
    said = {name: capabilities.boolean(f"{ability}.{below}{name}.supported") for name in ours}
    taken = tuple(ours[name] for name, fact in said.items() if as_a_whole.value and fact is not None and fact.value)
    return Fact(taken, capabilities.source, f"capabilities.{ability}")


def _is_anthropic(fields: Fields) -> bool:
    return fields.text("type") == "model" and "created_at" in fields


ANTHROPIC_SHAPE: Final = Shape("Anthropic", _is_anthropic, _read, lambda fields: True)
