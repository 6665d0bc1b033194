"""A request to a model in the form common to all protocols; a protocol's folder writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.conversation.settings import RequestSettings
    from partstream.conversation.turns import Turn
    from partstream.lm.messages import Tool, ToolMode

__all__ = ["ASKED_IN", "ChatRequest"]

ASKED_IN: Final = "_askedIn"
"""The option of a host that names the wire of the client; see :attr:`ChatRequest.asked_in`."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request, ready to be written.

    Attributes:
        model_id: The model's id on the server.
        turns: The conversation, or its part after `previous_response_id`.
        instructions: The system messages as one text; empty if the settings keep them among the turns.
        tools: The tools under the names to send, each with a schema.
        tool_mode: Whether the model may or must call a tool.
        options: The caller's options for this request, by the caller's names.
        reasoning_effort: The person's choice of reasoning effort, or None.
        context_size: The person's choice of context size in tokens, or None.
        cache_key: A key that requests with a common beginning share, at most 64 characters, or None.
        previous_response_id: The id of the stored response that the turns follow, or None.
        has_reasoning: Whether the turns hold reasoning items.
        settings: How to write the request.
        reasoning_is_refused: Whether the current turn may have reasoning that the turns do not hold, because the server
            refused to take it back, or missed some of it.
        input_tokens: The expected tokens of the prompt, or None where nobody counted, or the protocol needs no number.
        asked_in: The wire whose words the options are in; empty for those of the server that is asked.
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
    reasoning_is_refused: bool = False
    input_tokens: int | None = None
    asked_in: str = ""
