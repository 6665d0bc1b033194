"""Writes turns as the messages of AG-UI, with what the agent has done by itself at its place.

An agent has no other memory than these messages (docs/wires/ai-sdk.md#ag-ui-memory): its own calls and their results,
which VS Code does not know, come back as items (:mod:`partstream.protocols.ag_ui.provider_state`). Where they are lost,
the messages hold what VS Code knows, which is a conversation too. Every call is followed by its result.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.deferral import shown_by_user
from partstream.conversation.settings import ToolImages
from partstream.conversation.spoken_turns import spoken_turns
from partstream.conversation.texts import joined_texts
from partstream.conversation.turns import Attachment, Call, Reasoning, Text, TurnRole
from partstream.conversation.wording import FAILED_SILENTLY
from partstream.protocols.ag_ui.answers import Answer
from partstream.protocols.ag_ui.content import content_of, result_content_of
from partstream.protocols.ag_ui.provider_state import with_ids
from partstream.protocols.ag_ui.tool_calls import resume_entries
from partstream.protocols.read_response import identifier, objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from partstream.conversation.chat_request import ChatRequest
    from partstream.conversation.spoken_turns import MergedTurn
    from partstream.conversation.turns import Result

__all__ = ["Conversation", "conversation_of"]

_Wire = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation on the wire.

    Attributes:
        messages: The messages, each with an id.
        resume: The answers to what the last run waits for; empty where it waits for nothing.
        thread_id: The thread of that run; None where it waits for nothing, or does not say.
    """

    messages: list[_Wire]
    resume: list[_Wire] = field(default_factory=list)
    thread_id: str | None = None


def conversation_of(request: ChatRequest) -> Conversation:
    """The messages of a conversation, and the person's reply if a run waits for one.

    Raises:
        RequestNotExpressibleError: A call holds what JSON has no form for.
    """
    native = request.settings.tool_images is ToolImages.NATIVE
    turns = spoken_turns(shown_by_user(request.turns, of_results=not native, of_assistant=True))
    writer = _Writer()
    if request.instructions:
        writer.messages.append({"role": "system", "content": request.instructions})
    for place, turn in enumerate(turns):
        writer.add(turn, is_last=place == len(turns) - 1)
    return writer.end()


class _Writer:
    """The conversation so far.

    Attributes:
        messages: The messages; an answer stands there until its results are known.
    """

    def __init__(self) -> None:
        self.messages: list[_Wire | Answer] = []
        self._answers: list[Answer] = []
        self._asked: Mapping[str, Any] | None = None  # what the run before waits for
        self._reply: tuple[int, Mapping[str, Any]] | None = None  # where a reply stands, and to what
        self._resume: list[_Wire] = []
        self._thread_id: str | None = None

    def add(self, turn: MergedTurn, *, is_last: bool) -> None:
        _WRITERS[turn.role](self, turn, is_last)

    def end(self) -> Conversation:
        waits = {identifier(one, "toolCallId") for one in objects(self._asked, "interrupts")} if self._resume else set()
        said = (one.messages(waits) if isinstance(one, Answer) else [one] for one in self.messages)
        return Conversation(with_ids([*chain.from_iterable(said)]), self._resume, self._thread_id)

    def _system(self, turn: MergedTurn, _is_last: bool) -> None:
        if text := "".join(piece.value for piece in turn.content if isinstance(piece, Text)):
            self.messages.append({"role": "system", "content": text})

    def _user(self, turn: MergedTurn, is_last: bool) -> None:
        said = [piece for piece in turn.content if isinstance(piece, Text | Attachment)]
        if self._asked is not None and is_last:
            self._resume = resume_entries(self._asked, joined_texts(one.value for one in said if isinstance(one, Text)))
            self._thread_id = identifier(self._asked, "threadId")
            said = [one for one in said if isinstance(one, Attachment)]
        elif self._asked is not None:
            self._reply = len(self.messages), self._asked
            self._asked = None
        if said:
            self.messages.append({"role": "user", "content": content_of(said)})

    def _assistant(self, turn: MergedTurn, _is_last: bool) -> None:
        answer = Answer(self._answers)
        for piece in _joined(turn):
            answer.add(piece)
        for result in turn.results:
            answer.give(result.call_id, _result(result))
        self.messages.append(answer)
        self._answers.append(answer)
        self._forget_reply()
        self._asked = answer.asked

    def _forget_reply(self) -> None:
        """Takes the reply out to which the agent has an outcome now: it stands in the results of its calls."""
        if self._reply is not None:
            place, asked = self._reply
            self._reply = None
            calls = [identifier(one, "toolCallId") for one in objects(asked, "interrupts")]
            if calls and all(call is not None and any(one.has_result(call) for one in self._answers) for call in calls):
                del self.messages[place]

    def _tool(self, turn: MergedTurn, _is_last: bool) -> None:
        """Writes results whose calls stand nowhere: pairing leaves none."""
        self.messages += [{"role": "tool", "toolCallId": one.call_id, **_result(one)} for one in turn.results]


_WRITERS: Final = {
    TurnRole.SYSTEM: _Writer._system,  # noqa: SLF001 - the table of the class
    TurnRole.USER: _Writer._user,  # noqa: SLF001
    TurnRole.ASSISTANT: _Writer._assistant,  # noqa: SLF001
    TurnRole.TOOL: _Writer._tool,  # noqa: SLF001
}


def _joined(turn: MergedTurn) -> Iterable[Text | Call | Reasoning]:
    """The pieces of an answer; the texts of two turns are paragraphs, and an attachment has moved to the user."""
    for place, one in enumerate(turn.turns):
        for piece in one.content:
            if isinstance(piece, Text | Call | Reasoning):
                yield piece
        if place < len(turn.turns) - 1:
            yield Text("")


def _result(result: Result) -> _Wire:
    """The fields of a result; a tool that failed says so beside its content."""
    content = result_content_of(result.content)
    if not result.is_error:
        return {"content": content}
    said = content if isinstance(content, str) else ""
    return {"content": content or FAILED_SILENTLY, "error": said or FAILED_SILENTLY}
