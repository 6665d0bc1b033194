"""What a request loses on its way over Chat Completions with default settings, to a server that nobody knows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from partstream.conversation.texts import joined_texts
from partstream.parts import TextPart, ToolResultPart
from partstream.protocols.chat_completions.messages import NO_OUTPUT
from partstream.protocols.chat_completions.options import read_options
from partstream.protocols.chat_completions.quirks import Quirks
from partstream.protocols.common_losses import each_part_of_a_request
from partstream.protocols.joined_losses import ANSWERS, each_run_of_users
from partstream.protocols.losses import RequestLoss
from partstream.protocols.prepared_losses import (
    FAILED_RESULTS,
    INSTRUCTIONS,
    PICTURES,
    PREPARED,
    TEXTS_OF_RESULTS,
    TOOL_MODE,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.outputs import Asked
    from partstream.parts import MessagePart

__all__ = ["REQUEST"]


def _one_text(said: Sequence[MessagePart]) -> Sequence[MessagePart]:
    """What a user says as one text, if it is text alone."""
    texts = [part.value for part in said if isinstance(part, TextPart)]
    return [TextPart(joined_texts(texts))] if len(texts) == len(said) else said


def _with_output(part: MessagePart) -> MessagePart:
    said = any(not isinstance(one, TextPart) or one.value for one in getattr(part, "content", ()))
    return part if said or not isinstance(part, ToolResultPart) else replace(part, content=(TextPart(NO_OUTPUT),))


def _options(asked: Asked) -> Asked:
    options = asked.options
    chosen = read_options(options.model_options)
    kept = {name: value for name, value in chosen.fields.items() if value is not None and not name.startswith("_")}
    if chosen.limit is not None:
        kept[Quirks().limit_field] = chosen.limit
    effort = {} if chosen.effort is None else {"reasoningEffort": chosen.effort}
    configuration = {**options.model_configuration, **effort}
    return replace(asked, options=replace(options, model_options=kept, model_configuration=configuration))


REQUEST: Final = (
    *PREPARED,
    FAILED_RESULTS,
    RequestLoss(
        "texts-of-users",
        "That a message of the user is several texts: they become one, with a line end between two that no white space "
        "separates.",
        each_run_of_users(_one_text),
    ),
    PICTURES,
    TEXTS_OF_RESULTS,
    RequestLoss("empty-results", "That a tool gave nothing: words say so.", each_part_of_a_request(_with_output)),
    INSTRUCTIONS,
    ANSWERS,
    RequestLoss(
        "options",
        "Options have the names of this protocol; those that would replace the request itself are left out. The name "
        "of the conversation goes only to servers that are known to take it.",
        _options,
    ),
    TOOL_MODE,
)
"""In the order in which they are taken out."""
