"""What is known of a model when a request to it is written, in no server's words; None means unknown.

A list of models says it (:mod:`partstream.models.records`), or a person who configured the model. Whoever sends the
request puts it into :attr:`partstream.conversation.settings.RequestSettings.capabilities`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["UNKNOWN_CAPABILITIES", "ContextEdit", "ModelCapabilities", "ThinkingForm"]


class ThinkingForm(StrEnum):
    """A way to ask a model to think."""

    ADAPTIVE = "adaptive"
    """The model decides how much; an effort may guide it."""
    BUDGET = "budget"
    """The request says how many tokens thinking may take."""


class ContextEdit(StrEnum):
    """A way in which a server shortens a conversation by itself."""

    CLEAR_THINKING = "clear-thinking"
    """It takes out the thinking of earlier turns."""
    CLEAR_TOOL_RESULTS = "clear-tool-results"
    """It takes out old results of tools."""
    SUMMARIZE = "summarize"
    """It puts a summary in the place of the conversation."""


@dataclass(frozen=True, slots=True)
class ModelCapabilities:
    """What is known of one model.

    Attributes:
        context_window: The most tokens of prompt and answer together.
        max_input_tokens: The most tokens of a prompt, if prompts have a limit of their own.
        max_output_tokens: The most tokens of an answer.
        image_input: Whether prompts may hold images.
        file_input: Whether prompts may hold files such as PDF.
        tool_calling: Whether the model calls tools.
        reasoning: Whether the model reasons before it answers.
        reasoning_efforts: The levels of reasoning that it takes, lowest first.
        thinking_forms: The ways in which it can be asked to think; empty for none.
        can_stop_thinking: Whether a request may ask it not to think.
        context_edits: What its server can do to shorten a conversation; empty for nothing.
        loaded_window: The window with which its server loads it, where requests may ask for another one.
        trained_window: The largest window with which it can be loaded.

    Example:
        >>> from partstream import ModelCapabilities
        >>> known = ModelCapabilities(context_window=100_000, tool_calling=True)
        >>> known.tool_calling, known.image_input
        (True, None)
    """

    context_window: int | None = None
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    image_input: bool | None = None
    file_input: bool | None = None
    tool_calling: bool | None = None
    reasoning: bool | None = None
    reasoning_efforts: tuple[str, ...] | None = None
    thinking_forms: tuple[ThinkingForm, ...] | None = None
    can_stop_thinking: bool | None = None
    context_edits: tuple[ContextEdit, ...] | None = None
    loaded_window: int | None = None
    trained_window: int | None = None


UNKNOWN_CAPABILITIES: Final = ModelCapabilities()
"""Of a model that no list described."""
