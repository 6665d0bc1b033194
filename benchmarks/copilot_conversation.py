"""A conversation as Copilot keeps it between two requests, for tests and measurements without VS Code.

Observed in Copilot 0.67: of an answer it keeps the last stateful marker, which comes back under the name of the model
that is asked then; all thinking as one part, with the last id and the last metadata, within the turn of the user and
for the model that thought it; all text as one part; and the calls. Each result is a message of its own.
"""

from __future__ import annotations
from collections.abc import Iterable, Sequence
from typing import Final

from partstream.codec.checks import dataclass, field
from partstream.lm.messages import ChatMessage
from partstream.lm.parts import (
    STATEFUL_MARKER_MIME_TYPE,
    DataPart,
    MessagePart,
    ResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)

_SEPARATOR: Final = b"\\"


@dataclass(frozen=True, slots=True)
class _Said:
    """A message that comes back the same in every request."""

    message: ChatMessage


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer as Copilot keeps it, with the number of its turn and its model."""

    turn: int
    model_id: str
    marker: bytes | None
    thinking: ThinkingPart | None
    text: str
    calls: tuple[ToolCallPart, ...]

    def message(self, turn: int, model_id: str) -> ChatMessage:
        """The message of a request to a model, in the turn with that number."""
        parts: list[MessagePart] = []
        if self.marker is not None:
            parts.append(DataPart(model_id.encode() + _SEPARATOR + self.marker, STATEFUL_MARKER_MIME_TYPE))
        if self.thinking is not None and (turn, model_id) == (self.turn, self.model_id):
            parts.append(self.thinking)
        return ChatMessage.assistant([*parts, TextPart(self.text), *self.calls])


@dataclass(slots=True)
class CopilotConversation:
    """A conversation in one chat, with the text of its system message and the number of its current turn."""

    system: str
    turn: int = 0
    _history: list[_Said | _Answer] = field(default_factory=list)

    def ask(self, text: str) -> None:
        """The user says something: the turn before it is finished."""
        self.turn += 1
        self._history.append(_Said(ChatMessage.user(text)))

    def answer(self, parts: Sequence[ResponsePart], model_id: str) -> tuple[ToolCallPart, ...]:
        """Keeps the answer of a model; returns its calls."""
        calls = tuple(part for part in parts if isinstance(part, ToolCallPart))
        text = "".join(part.value for part in parts if isinstance(part, TextPart))
        self._history.append(_Answer(self.turn, model_id, _marker(parts), _thinking(parts), text, calls))
        return calls

    def give(self, results: Iterable[ToolResultPart]) -> None:
        """Gives the results of calls, each in a message of its own."""
        self._history += (_Said(ChatMessage.user([result])) for result in results)

    def edit(self, turns: int, text: str) -> None:
        """The user edits the message of so many turns before the current one (0): what came after it is gone."""
        starts = [
            number
            for number, one in enumerate(self._history)
            if isinstance(one, _Said) and not any(isinstance(part, ToolResultPart) for part in one.message.content)
        ]
        del self._history[starts[-1 - turns] :]
        self.ask(text)

    def messages(self, model_id: str) -> list[ChatMessage]:
        """The messages of the next request."""
        return [
            ChatMessage.system(self.system),
            *(one.message if isinstance(one, _Said) else one.message(self.turn, model_id) for one in self._history),
        ]


def _marker(parts: Sequence[ResponsePart]) -> bytes | None:
    """What Copilot keeps of the last marker: the text between its first and its second backslash."""
    markers = [one for one in parts if isinstance(one, DataPart) and one.mime_type == STATEFUL_MARKER_MIME_TYPE]
    return markers[-1].data.split(_SEPARATOR)[1] if markers else None


def _thinking(parts: Sequence[ResponsePart]) -> ThinkingPart | None:
    thoughts = [part for part in parts if isinstance(part, ThinkingPart)]
    if not thoughts:
        return None
    ids = [part.id for part in thoughts if part.id]
    metadata = [part.metadata for part in thoughts if part.metadata]
    text = "".join(part.value for part in thoughts)
    return ThinkingPart(text, ids[-1] if ids else None, metadata[-1] if metadata else None)
