"""What a request loses on its way over OpenResponses with default settings."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.media import MediaKind, read_media
from partstream.conversation.wording import FAILED, FAILED_SILENTLY, SHOWN_BY_ASSISTANT, in_next_user_message
from partstream.messages import ChatMessage, Role, ToolMode
from partstream.parts import DataPart, TextPart, ToolResultPart
from partstream.protocols.common_losses import each_part_of_a_request
from partstream.protocols.losses import RequestLoss
from partstream.protocols.openresponses.write_request import NOT_OPTIONS, OPTION_NAMES
from partstream.protocols.prepared_losses import PREPARED, TEXTS_OF_RESULTS

if TYPE_CHECKING:
    from partstream.outputs import Asked
    from partstream.parts import MessagePart

__all__ = ["REQUEST"]


def _in_words(part: MessagePart) -> MessagePart:
    if not isinstance(part, ToolResultPart) or not part.is_error:
        return part
    words = TextPart(FAILED if part.content else FAILED_SILENTLY)
    return ToolResultPart(part.call_id, (words, *part.content))


def _pictures(asked: Asked) -> Asked:
    return replace(asked, messages=tuple(_Pictures().move(asked.messages)))


class _Pictures:
    """The images and files of one request that wait for the next message of the user."""

    def __init__(self) -> None:
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
        if not isinstance(part, DataPart):
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


def _options(asked: Asked) -> Asked:
    named = {OPTION_NAMES.get(name, name): value for name, value in asked.options.model_options.items()}
    kept = {name: value for name, value in named.items() if name not in NOT_OPTIONS and value is not None}
    return replace(asked, options=replace(asked.options, model_options=kept))


def _mode(asked: Asked) -> Asked:
    return asked if asked.options.tools else replace(asked, options=replace(asked.options, tool_mode=ToolMode.AUTO))


REQUEST: Final = (
    *PREPARED,
    RequestLoss(
        "failed-results",
        "That a tool failed is said in the words of its result.",
        each_part_of_a_request(_in_words),
    ),
    RequestLoss(
        "pictures",
        "Images and files in results of tools, and those of the assistant, follow in the next message of the user; "
        "with the setting `toolImages: native` those of tools stay.",
        _pictures,
    ),
    TEXTS_OF_RESULTS,
    RequestLoss(
        "instructions", "System messages are one text before the conversation, unless a setting says so.", _instructions
    ),
    RequestLoss(
        "options",
        "Options have the names of this protocol; those that would replace the request itself are left out.",
        _options,
    ),
    RequestLoss("tool-mode", "Without a tool, none can be demanded.", _mode),
)
"""In the order in which they are taken out."""
