"""What a request loses on its way over Anthropic Messages with default settings, to a server that nobody knows."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

from partstream.messages import ChatMessage, Role
from partstream.parts import TextPart
from partstream.protocols.anthropic_messages.answer_limits import UNKNOWN_MODEL_TOKENS
from partstream.protocols.anthropic_messages.input_messages import CONTINUE, NO_BEGINNING
from partstream.protocols.anthropic_messages.request_options import read_options
from partstream.protocols.common_losses import each_part_of_a_request
from partstream.protocols.losses import RequestLoss
from partstream.protocols.prepared_losses import INSTRUCTIONS, PREPARED, TOOL_MODE

if TYPE_CHECKING:
    from partstream.outputs import Asked
    from partstream.parts import MessagePart

__all__ = ["REQUEST"]


def _without_blanks(part: MessagePart) -> MessagePart | None:
    return None if isinstance(part, TextPart) and not part.value.strip() else part


def _endings(asked: Asked) -> Asked:
    """Takes white space from the end of what the assistant says in a row."""
    messages: list[ChatMessage] = []
    said = [message for message in asked.messages if message.content]
    for (role, name), run in groupby(said, lambda message: (message.role, message.name)):
        content = [part for message in run for part in message.content]
        if role is Role.ASSISTANT and content and isinstance(content[-1], TextPart):
            content[-1] = TextPart(content[-1].value.rstrip())
        messages.append(ChatMessage(role, tuple(content), name))
    return replace(asked, messages=tuple(messages))


def _framed(asked: Asked) -> Asked:
    """Lets a user begin and end the conversation."""
    leading = [message for message in asked.messages if message.role is Role.SYSTEM]
    said = [message for message in asked.messages if message.role is not Role.SYSTEM]
    if said and said[0].role is Role.ASSISTANT:
        said.insert(0, ChatMessage.user(NO_BEGINNING))
    if not said or said[-1].role is Role.ASSISTANT:
        said.append(ChatMessage.user(CONTINUE))
    return replace(asked, messages=(*leading, *said))


def _options(asked: Asked) -> Asked:
    options = asked.options
    chosen = read_options(options.model_options)
    kept = {name: value for name, value in chosen.fields.items() if name != "thinking" and not name.startswith("_")}
    kept["max_tokens"] = UNKNOWN_MODEL_TOKENS if chosen.limit is None else chosen.limit
    effort = {} if chosen.effort is None else {"reasoningEffort": chosen.effort}
    configuration = {**options.model_configuration, **effort}
    return replace(asked, options=replace(options, model_options=kept, model_configuration=configuration))


REQUEST: Final = (
    *PREPARED,
    RequestLoss(
        "white-space",
        "Texts of white space alone are left out, and white space behind what the assistant says: servers refuse both.",
        lambda asked: _endings(each_part_of_a_request(_without_blanks)(asked)),
    ),
    INSTRUCTIONS,
    RequestLoss("ends", "A user begins and ends every conversation: where none does, one is put there.", _framed),
    RequestLoss(
        "options",
        "Options have the names of this protocol; those that would replace the request itself are left out, and so is "
        "the name of the conversation. How long an answer may be is always said, and a chosen effort also as a budget.",
        _options,
    ),
    TOOL_MODE,
)
"""In the order in which they are taken out."""
