"""Writes turns as messages (docs/wires/anthropic-messages.md#messages).

User and assistant take turns, beginning and ending with the user; all results of an answer stand first in the message
behind it. Servers other than Anthropic's refuse what is not merged, so everything is merged here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from partstream.conversation.deferral import shown_by_user
from partstream.conversation.settings import ToolImages
from partstream.conversation.spoken_turns import spoken_turns
from partstream.conversation.turns import Attachment, Call, Reasoning, Text, TurnRole
from partstream.protocols.anthropic_messages.provider_state import (
    CONTAINER,
    ITEM_TYPE,
    answer_blocks,
    input_blocks,
    paired,
    result_block,
    text_blocks,
    waits_for_server,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from partstream.conversation.chat_request import ChatRequest
    from partstream.conversation.spoken_turns import MergedTurn
    from partstream.conversation.turns import Piece, Turn
    from partstream.protocols.anthropic_messages.models import ServerRules
    from partstream.protocols.anthropic_messages.provider_state import Wire

__all__ = ["CONTINUE", "NO_BEGINNING", "WrittenConversation", "write_conversation"]

CONTINUE: Final = "Please continue."
"""The user's text after a last answer, which models refuse (docs/wires/anthropic-messages.md#messages)."""
NO_BEGINNING: Final = "[The beginning of the conversation is missing.]"
"""What the user says before a first answer: the first message has to be a user's."""


class WrittenConversation(NamedTuple):
    """A conversation on the wire.

    Attributes:
        system: The text of the system messages at the beginning; empty for none.
        messages: The messages.
        container: The id of the container that the last answer ran code in, or None.
    """

    system: str
    messages: list[Wire]
    container: str | None


def write_conversation(request: ChatRequest, rules: ServerRules, *, has_system_turns: bool) -> WrittenConversation:
    """The messages of a conversation, in order.

    Args:
        request: The request.
        rules: What the server takes.
        has_system_turns: Whether late system messages stay in their places.

    Raises:
        RequestNotExpressibleError: The server does not take a file of the user, or a call holds what JSON has no form
            for.
    """
    deferred = request.settings.tool_images is ToolImages.USER_MESSAGE
    writer = _Writer(rules, request.instructions, keeps_places=has_system_turns)
    for turn in spoken_turns(shown_by_user(request.turns, of_results=deferred, of_assistant=True)):
        writer.write(turn)
    return WrittenConversation(writer.system, writer.end(), _container(request.turns))


class _Writer:
    """The messages of one request so far.

    Attributes:
        system: The text of the system messages at the beginning.
    """

    def __init__(self, rules: ServerRules, instructions: str, *, keeps_places: bool) -> None:
        self.system = instructions
        self._rules = rules
        self._keeps_places = keeps_places
        self._messages: list[Wire] = []
        self._late: list[str] = []

    def write(self, turn: MergedTurn) -> None:
        if turn.role is TurnRole.SYSTEM:
            self._system(_text(turn.content))
        elif turn.role is TurnRole.USER:
            self._user(input_blocks(_said(turn.content), self._rules))
        elif turn.role is TurnRole.ASSISTANT:
            self._assistant(turn)
        self._results(turn)

    def end(self) -> list[Wire]:
        """The messages, of which the last is the user's, or a system message behind it."""
        if not self._messages or self._messages[-1]["role"] == "assistant":
            self._user(text_blocks(CONTINUE))
        self._say_late()
        return _keeping_results_alone(_merged(paired(self._messages)))

    def _system(self, text: str) -> None:
        if not text.strip():
            return
        if self._keeps_places and self._messages:
            self._late.append(text)
        else:
            self.system = f"{self.system}\n\n{text}" if self.system else text

    def _say_late(self) -> None:
        """Adds the system messages that wait: they stand right behind a user's, and before an answer or at the end."""
        if self._late and self._messages and self._messages[-1]["role"] == "user":
            self._messages.append({"role": "system", "content": text_blocks("\n\n".join(self._late))})
            self._late = []

    def _user(self, blocks: list[Wire]) -> None:
        if not blocks:
            return
        if self._messages and self._messages[-1]["role"] == "user":
            self._messages[-1]["content"] += blocks
        else:
            self._messages.append({"role": "user", "content": list(blocks)})

    def _assistant(self, turn: MergedTurn) -> None:
        blocks: list[Wire] = []
        for one in turn.turns:
            blocks += answer_blocks(one.content)
        if not blocks:
            return
        if not self._messages:
            self._user(text_blocks(NO_BEGINNING))
        self._say_late()
        if self._messages[-1]["role"] == "assistant":
            self._messages[-1]["content"] += blocks
        else:
            self._messages.append({"role": "assistant", "content": blocks})

    def _results(self, turn: MergedTurn) -> None:
        order = {piece.call_id: place for place, piece in enumerate(turn.content) if isinstance(piece, Call)}
        results = sorted(turn.results, key=lambda result: order.get(result.call_id, len(order)))
        self._user([result_block(result, self._rules) for result in results])


def _said(pieces: Iterable[Piece]) -> list[Text | Attachment]:
    return [piece for piece in pieces if isinstance(piece, Text | Attachment)]


def _text(pieces: Iterable[Piece]) -> str:
    return "".join(piece.value for piece in pieces if isinstance(piece, Text))


def _merged(messages: Iterable[Wire]) -> list[Wire]:
    """The messages, those of one role that follow each other as one."""
    merged: list[Wire] = []
    for message in messages:
        if merged and merged[-1]["role"] == message["role"]:
            merged[-1] = {**merged[-1], "content": [*merged[-1]["content"], *message["content"]]}
        else:
            merged.append(message)
    return merged


def _keeping_results_alone(messages: Sequence[Wire]) -> list[Wire]:
    """The messages, where one that follows a waiting tool of the server holds results alone.

    Other content ends the turn, and the waiting call is refused (docs/wires/anthropic-messages.md#mixed-turns). So it
    goes into the last result, where the model reads it too.
    """
    kept: list[Wire] = []
    for message in messages:
        waits = message["role"] == "user" and bool(kept) and waits_for_server(kept[-1]["content"])
        kept.append(_with_results_alone(message) if waits else message)
    return kept


def _with_results_alone(message: Wire) -> Wire:
    results = [block for block in message["content"] if block["type"] == "tool_result"]
    others = [block for block in message["content"] if block["type"] != "tool_result"]
    if not results or not others:
        return message
    given = results[-1].get("content", [])
    content = text_blocks(given) if isinstance(given, str) else list(given)
    results[-1] = {**results[-1], "content": [*content, *others]}
    return {**message, "content": results}


def _container(turns: Sequence[Turn]) -> str | None:
    """The container of the last answer: one of an earlier answer may be gone."""
    last = next((turn for turn in reversed(turns) if turn.role is TurnRole.ASSISTANT), None)
    for piece in reversed(last.content if last is not None else ()):
        held = piece.item if isinstance(piece, Reasoning) and piece.item.get("type") == ITEM_TYPE else {}
        container = held.get(CONTAINER)
        if isinstance(container, dict) and isinstance(container.get("id"), str):
            return str(container["id"])
    return None
