"""Turns as the prompt of a request: instructions first, as one string, then the messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.conversation.deferral import shown_by_user
from partstream.conversation.settings import ToolImages
from partstream.protocols.ai_sdk.media_forms import PROMPT_FORMS
from partstream.protocols.ai_sdk.prompt_messages import prompt_messages

if TYPE_CHECKING:
    from partstream.conversation.chat_request import ChatRequest
    from partstream.protocols.ai_sdk.media_forms import Wire

__all__ = ["prompt"]


def prompt(request: ChatRequest, version: int) -> list[Wire]:
    """The messages in the form of a version of the specification.

    Raises:
        RequestNotExpressibleError: The arguments of a call hold what JSON has no form for.
    """
    # The specification has a place for them in results: they stay there unless somebody says that the model's
    # provider does not take them.
    moved = request.settings.tool_images is ToolImages.USER_MESSAGE
    turns = shown_by_user(request.turns, of_results=moved, of_assistant=False)
    messages = prompt_messages(turns, PROMPT_FORMS[version])
    if request.instructions:
        messages.insert(0, {"role": "system", "content": request.instructions})
    return messages
