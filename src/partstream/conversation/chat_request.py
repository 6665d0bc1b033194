"""A request as every protocol says it: what is asked of which model; a protocol's folder writes it down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.conversation.settings import RequestSettings
    from partstream.conversation.turns import Turn
    from partstream.messages import Tool, ToolMode

__all__ = ["ChatRequest"]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request, ready to be written.

    Attributes:
        model_id: The model as the server names it.
        turns: The conversation, or what came after `previous_response_id`.
        instructions: The system messages as one text, or empty where the settings keep them among the turns.
        tools: The tools, under the names that are sent, each with a schema.
        tool_mode: Whether the model must call one.
        options: Options that somebody set for this request, by the names that were given.
        reasoning_effort: What a person chose, or None.
        context_size: What a person chose, in tokens, or None.
        cache_key: The same for requests that share a beginning, at most 64 characters, or None.
        previous_response_id: The stored response that the turns follow, or None.
        has_reasoning: Whether the turns hold reasoning items.
        settings: How to write it.
    """

    model_id: str
    turns: tuple[Turn, ...]
    instructions: str
    tools: tuple[Tool, ...]
    tool_mode: ToolMode
    options: Mapping[str, Any]
    reasoning_effort: str | None
    context_size: int | None
    cache_key: str | None
    previous_response_id: str | None
    has_reasoning: bool
    settings: RequestSettings
