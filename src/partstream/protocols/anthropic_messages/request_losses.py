"""What a request loses on its way over Anthropic Messages with default settings, to a server that nobody knows."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.capabilities import UNKNOWN_CAPABILITIES
from partstream.messages import ChatMessage, Role, ToolMode
from partstream.parts import TextPart, ToolResultPart
from partstream.protocols.anthropic_messages.answer_limits import answer_limit
from partstream.protocols.anthropic_messages.asked_options import read_thinking
from partstream.protocols.anthropic_messages.input_messages import CONTINUE, NO_BEGINNING
from partstream.protocols.anthropic_messages.model_table import abilities_of
from partstream.protocols.anthropic_messages.request_options import read_options
from partstream.protocols.anthropic_messages.request_thinking import ThinkingChoice, thinking_fields
from partstream.protocols.anthropic_messages.server_rules import rules_of
from partstream.protocols.anthropic_messages.settings import AnthropicMessagesSettings
from partstream.protocols.losses import RequestLoss
from partstream.protocols.prepared_losses import INSTRUCTIONS, PICTURES_OF_ANSWERS, PREPARED, TOOL_MODE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from partstream.outputs import Asked
    from partstream.parts import MessagePart

__all__ = ["REQUEST"]


def _blank(asked: Asked) -> Asked:
    """Leaves out texts of white space alone that the system, the user or a tool says."""
    messages = (
        one if one.role is Role.ASSISTANT else replace(one, content=_filled(one.content)) for one in asked.messages
    )
    return replace(asked, messages=tuple(one for one in messages if one.content))


def _filled(parts: Iterable[MessagePart]) -> tuple[Any, ...]:
    kept = (part for part in parts if not isinstance(part, TextPart) or part.value.strip())
    return tuple(replace(one, content=_filled(one.content)) if isinstance(one, ToolResultPart) else one for one in kept)


def _joined(parts: Iterable[MessagePart]) -> Iterator[MessagePart]:
    """The parts of an answer, neighbouring texts as one, without those of white space alone."""
    for is_text, run in groupby(parts, lambda part: isinstance(part, TextPart)):
        if not is_text:
            yield from run
            continue
        text = "".join(part.value for part in run if isinstance(part, TextPart))
        if text.strip():
            yield TextPart(text)


def _answers(asked: Asked) -> Asked:
    """Makes one message of what the assistant says in a row, without white space at its end."""
    messages: list[ChatMessage] = []
    for role, run in groupby(asked.messages, lambda message: message.role):
        said = list(run)
        if role is Role.ASSISTANT:
            parts = [*_joined(part for message in said for part in message.content)]
            if parts and isinstance(parts[-1], TextPart):
                parts[-1] = TextPart(parts[-1].value.rstrip())
            said = [ChatMessage.assistant(parts)] if parts else []
        messages += said
    return replace(asked, messages=tuple(messages))


def _ends(asked: Asked) -> Asked:
    """Lets the user have the first word and the last."""
    orders = [message for message in asked.messages if message.role is Role.SYSTEM]
    said = [message for message in asked.messages if message.role is not Role.SYSTEM]
    if said and said[0].role is not Role.USER:
        said.insert(0, ChatMessage.user(NO_BEGINNING))
    if not said or said[-1].role is not Role.USER:
        said.append(ChatMessage.user(CONTINUE))
    return replace(asked, messages=(*orders, *said))


def _options(asked: Asked) -> Asked:
    """Chooses a limit where nobody did, and says the effort as the server is told it."""
    chosen = read_options(asked.options.model_options)
    abilities = abilities_of(asked.model, UNKNOWN_CAPABILITIES)
    limit = answer_limit(chosen.limit, abilities, None, reserves=False)
    kept = {name: value for name, value in chosen.fields.items() if value is not None and not name.startswith("_")}
    effort = chosen.effort or asked.options.model_configuration.get("reasoningEffort")
    must_call = bool(asked.options.tools) and asked.options.tool_mode is ToolMode.REQUIRED
    own, rules = AnthropicMessagesSettings(), rules_of(None, asked.model)
    said = thinking_fields(ThinkingChoice(own, effort, abilities, rules, limit, must_call, ()))
    read, options = read_thinking({**said, **kept})
    configuration: dict[str, Any] = {"reasoningEffort": read} if read else {}
    model_options = {**kept, **options, "max_tokens": limit}
    return replace(
        asked, options=replace(asked.options, model_options=model_options, model_configuration=configuration)
    )


REQUEST: Final = (
    *PREPARED,
    PICTURES_OF_ANSWERS,
    INSTRUCTIONS,
    RequestLoss("blank-texts", "Texts of white space alone are left out: servers refuse them.", _blank),
    RequestLoss(
        "answers",
        "What the assistant says in a row is one message, without white space at its end.",
        _answers,
    ),
    RequestLoss(
        "first-and-last-word",
        "A conversation begins and ends with the user: where it does not, words for it are put into the user's mouth.",
        _ends,
    ),
    RequestLoss(
        "options",
        "Options have the names of this protocol. An answer always has a limit; for models whose thinking takes no "
        "effort, the effort is a number of tokens, and without that where a tool must be called. The name of the "
        "conversation is not sent.",
        _options,
    ),
    TOOL_MODE,
)
"""In the order in which they are taken out."""
