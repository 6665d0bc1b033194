"""What of a model's facts the writer of a request is told, without their sources."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from partstream.conversation.preparation import ModelCapabilities

if TYPE_CHECKING:
    from partstream.lm.provider import LanguageModelChatInformation
    from partstream.models.records import ModelRecord

__all__ = ["known_capabilities", "stated_capabilities"]


def known_capabilities(record: ModelRecord) -> ModelCapabilities:
    """The facts of a record; what is assumed where a fact is unknown is none of them."""
    facts: dict[str, Any] = {one.name: getattr(record, one.name) for one in fields(ModelCapabilities)}
    return ModelCapabilities(**{name: None if fact is None else fact.value for name, fact in facts.items()})


def stated_capabilities(model: LanguageModelChatInformation) -> ModelCapabilities:
    """What a person states who configures a model as VS Code is shown it."""
    tools = model.capabilities.tool_calling
    return ModelCapabilities(
        max_input_tokens=model.max_input_tokens,
        max_output_tokens=model.max_output_tokens,
        image_input=model.capabilities.image_input,
        tool_calling=bool(tools),
    )
