"""What a request loses while it is prepared, whatever its protocol, and what it loses on most wires.

Source: :mod:`partstream.conversation.preparation`, which makes what is asked of what VS Code says, and
:mod:`partstream.conversation.deferral`.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.call_ids import CallIds
from partstream.conversation.greeting import leading_instructions
from partstream.conversation.markers import is_mark
from partstream.conversation.media import MediaKind, read_media
from partstream.conversation.texts import joined_texts, well_formed
from partstream.conversation.tool_names import ToolNames
from partstream.conversation.wording import FAILED, FAILED_SILENTLY, SHOWN_BY_ASSISTANT, in_next_user_message
from partstream.messages import ChatMessage, Role, ToolMode
from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.protocols.common_losses import SPEAKER_NAMES, TEXT_DOCUMENTS, each_part_of_a_request
from partstream.protocols.losses import RequestLoss

if TYPE_CHECKING:
    from partstream.outputs import Asked
    from partstream.parts import MessagePart

__all__ = [
    "FAILED_RESULTS",
    "INSTRUCTIONS",
    "PICTURES",
    "PICTURES_OF_ANSWERS",
    "PREPARED",
    "TEXTS_OF_RESULTS",
    "TOOL_MODE",
]

_EMPTY_SCHEMA: Final[dict[str, Any]] = {"type": "object", "properties": {}}


def _without_mark(part: MessagePart) -> MessagePart | None:
    return None if isinstance(part, DataPart) and is_mark(part.mime_type) else part


def _with_true_label(part: MessagePart) -> MessagePart:
    if not isinstance(part, DataPart) or (media := read_media(part)).url:
        return part
    return DataPart(part.data, media.media_type)


def _without_thinking(part: MessagePart) -> MessagePart | None:
    return None if isinstance(part, ThinkingPart) else part


def _with_whole_characters(part: MessagePart) -> MessagePart:
    return TextPart(well_formed(part.value)) if isinstance(part, TextPart) else part


def _with_one_text(part: MessagePart) -> MessagePart:
    """Joins the neighbouring texts of a result, as they are sent."""
    if not isinstance(part, ToolResultPart):
        return part
    content: list[TextPart | DataPart] = []
    for is_text, run in groupby(part.content, lambda one: isinstance(one, TextPart)):
        pieces = list(run)
        texts = (one.value for one in pieces if isinstance(one, TextPart))
        content += [TextPart(joined_texts(texts))] if is_text else pieces
    return replace(part, content=tuple(content))


def _identifiers(asked: Asked) -> Asked:
    calls = [part for message in asked.messages for part in message.content if isinstance(part, ToolCallPart)]
    names = ToolNames([*(tool.name for tool in asked.options.tools), *(call.name for call in calls)])
    ids = CallIds("")
    sent = {call.call_id: ids.open(call.call_id) for call in calls}

    def renamed(part: MessagePart) -> MessagePart:
        if isinstance(part, ToolCallPart):
            return replace(part, call_id=sent[part.call_id], name=names.to_upstream(part.name))
        if isinstance(part, ToolResultPart):
            return replace(part, call_id=sent.get(part.call_id, part.call_id))
        return part

    tools = tuple(replace(tool, name=names.to_upstream(tool.name)) for tool in asked.options.tools)
    return each_part_of_a_request(renamed)(replace(asked, options=replace(asked.options, tools=tools)))


def _tools(asked: Asked) -> Asked:
    tools = tuple(
        replace(tool, description=well_formed(tool.description), input_schema=tool.input_schema or _EMPTY_SCHEMA)
        for tool in asked.options.tools
    )
    return replace(asked, options=replace(asked.options, tools=tools))


def _orders(asked: Asked) -> Asked:
    orders = leading_instructions(asked.messages)
    leading = (replace(message, role=Role.SYSTEM) for message in asked.messages[:orders])
    return replace(asked, messages=(*leading, *asked.messages[orders:]))


def _host(asked: Asked) -> Asked:
    options = asked.options
    effort = options.model_configuration.get("reasoningEffort")
    return replace(
        asked,
        options=replace(
            options,
            model_options={
                name: value
                for name, value in options.model_options.items()
                if not name.startswith("_") or name == "_conversationId"
            },
            model_configuration={"reasoningEffort": effort} if isinstance(effort, str) and effort else {},
            request_initiator=None,
        ),
    )


PREPARED: Final = (
    RequestLoss("marks", "Data parts that are marks of the host are left out.", each_part_of_a_request(_without_mark)),
    TEXT_DOCUMENTS,
    RequestLoss(
        "labels", "The media type of bytes is what their first bytes say.", each_part_of_a_request(_with_true_label)
    ),
    RequestLoss(
        "thinking",
        "What the model thought is left out; its opaque state goes back to the server that gave it.",
        each_part_of_a_request(_without_thinking),
    ),
    RequestLoss(
        "half-characters",
        "Halves of characters are replaced by U+FFFD.",
        each_part_of_a_request(_with_whole_characters),
    ),
    RequestLoss(
        "names", "Names of tools and identifiers of calls that servers refuse are replaced by others.", _identifiers
    ),
    RequestLoss("schemas", "A tool without a schema gets one that describes an empty object.", _tools),
    SPEAKER_NAMES,
    RequestLoss("orders", "Orders that an assistant gives before anyone asked are system messages.", _orders),
    RequestLoss(
        "host",
        "Options of the host itself, who asks, and what a person chose beside the reasoning effort are left out.",
        _host,
    ),
)
"""In the order in which they are taken out."""

TEXTS_OF_RESULTS: Final = RequestLoss(
    "texts-of-results",
    "That the result of a tool is several texts: they become one, with a line end between two that no white space "
    "separates.",
    each_part_of_a_request(_with_one_text),
)
"""Taken out behind everything that puts texts into results."""


# ---- what many wires have no place for ----


def _in_words(part: MessagePart) -> MessagePart:
    if not isinstance(part, ToolResultPart) or not part.is_error:
        return part
    words = TextPart(FAILED if part.content else FAILED_SILENTLY)
    return ToolResultPart(part.call_id, (words, *part.content))


def _pictures(asked: Asked) -> Asked:
    return replace(asked, messages=tuple(_Pictures(of_results=True).move(asked.messages)))


def _pictures_of_answers(asked: Asked) -> Asked:
    return replace(asked, messages=tuple(_Pictures(of_results=False).move(asked.messages)))


class _Pictures:
    """The images and files of one request that wait for the next message of the user.

    Args:
        of_results: Whether those in results of tools wait as well.
    """

    def __init__(self, *, of_results: bool) -> None:
        self._of_results = of_results
        self._messages: list[ChatMessage] = []
        self._waiting: list[MessagePart] = []

    def move(self, messages: tuple[ChatMessage, ...]) -> list[ChatMessage]:
        for message in messages:
            for of_tools, run in groupby(message.content, lambda part: isinstance(part, ToolResultPart)):
                if not of_tools:
                    self._release()
                self._add(message, list(run))
        self._release()
        return self._messages

    def _add(self, message: ChatMessage, run: list[MessagePart]) -> None:
        if message.role is Role.ASSISTANT:
            shown = [part for part in run if isinstance(part, DataPart)]
            self._waiting += [part for one in shown for part in (TextPart(SHOWN_BY_ASSISTANT), one)]
            run = [part for part in run if not isinstance(part, DataPart)]
        content = tuple(self._of_result(part) if isinstance(part, ToolResultPart) else part for part in run)
        self._messages.append(replace(message, content=content))

    def _of_result(self, result: ToolResultPart) -> ToolResultPart:
        return replace(result, content=tuple(map(self._mention, result.content)))

    def _mention(self, part: Any) -> Any:
        if not isinstance(part, DataPart) or not self._of_results:
            return part
        self._waiting.append(part)
        number = sum(isinstance(waiting, DataPart) for waiting in self._waiting)
        kind = read_media(part).kind
        return TextPart(in_next_user_message(MediaKind.FILE if kind is MediaKind.TEXT else kind, number))

    def _release(self) -> None:
        if self._waiting:
            self._messages.append(ChatMessage.user(self._waiting))
            self._waiting = []


def _instructions(asked: Asked) -> Asked:
    texts = [
        "".join(part.value for part in message.content if isinstance(part, TextPart))
        for message in asked.messages
        if message.role is Role.SYSTEM
    ]
    others = tuple(message for message in asked.messages if message.role is not Role.SYSTEM)
    said = "\n\n".join(text for text in texts if text)
    return replace(asked, messages=(ChatMessage.system(said), *others) if said else others)


def _mode(asked: Asked) -> Asked:
    return asked if asked.options.tools else replace(asked, options=replace(asked.options, tool_mode=ToolMode.AUTO))


FAILED_RESULTS: Final = RequestLoss(
    "failed-results",
    "That a tool failed is said in the words of its result.",
    each_part_of_a_request(_in_words),
)
PICTURES: Final = RequestLoss(
    "pictures",
    "Images and files in results of tools, and those of the assistant, follow in the next message of the user; "
    "with the setting `toolImages: native` those of tools stay.",
    _pictures,
)
PICTURES_OF_ANSWERS: Final = RequestLoss(
    "pictures-of-answers",
    "Images and files of the assistant follow in the next message of the user.",
    _pictures_of_answers,
)
INSTRUCTIONS: Final = RequestLoss(
    "instructions", "System messages are one text before the conversation, unless a setting says so.", _instructions
)
TOOL_MODE: Final = RequestLoss("tool-mode", "Without a tool, none can be demanded.", _mode)
