"""Ollama: lines of an answer in, VS Code's parts out.

Rule 1: how far a response has come is one table, :mod:`partstream.protocols.read_response`; a handler never looks at the state.
Rule 2: `_MESSAGE` says what is read of a line's message, in this order: one line may hold thinking, text, calls and
images, the last line too (docs/wires/ollama.md#lines).
Rule 3: nothing is checked against a schema. What is missing, null or of another type says nothing; what is not known is
counted as :class:`Unmapped`.
Rule 4: a whole answer has a line with `done: true`, or with a reason for its end. Without either it was cut, whatever
came before: a runner that stops by itself says nothing (docs/wires/ollama.md#framing).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.errors import AdapterUsageError, LanguageModelError, ToolArgumentsError
from partstream.outputs import Finish, Outcome, StreamOptions, StreamOutput, Unmapped
from partstream.protocols.ollama.ending import Ending
from partstream.protocols.ollama.errors import ERRORS
from partstream.protocols.ollama.images import image_part
from partstream.protocols.ollama.short_way import FREQUENT, LineFastPath
from partstream.protocols.ollama.texts import Texts
from partstream.protocols.ollama.thinking import Thinking
from partstream.protocols.ollama.tool_calls import ToolCalls
from partstream.protocols.protocol import MatchConfidence, ResponseReaderSpec
from partstream.protocols.read_response import (
    TRANSITIONS,
    Action,
    Adapter,
    LifecycleEvent,
    LifecycleState,
    Wire,
    identifier,
    mapping,
    objects,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from partstream.usage import FinishReason, Usage

__all__ = ["READ_RESPONSE", "OllamaStream", "claims", "events_of"]

_Outputs: TypeAlias = list[StreamOutput]


class OllamaStream(Adapter):
    """One answer of Ollama's `/api/chat`; see :class:`partstream.outputs.ResponseStream`.

    Attributes:
        sink: The short way, or None.
        ending: Whether a line gave a reason for the end without `done`: only the rest of that end may follow.
    """

    def __init__(self, options: StreamOptions = StreamOptions()) -> None:  # noqa: B008 - immutable
        super().__init__()
        self.ending = False
        self._ending = Ending()
        self._thinking = Thinking(options)
        self._texts = Texts(options, self._thinking)
        self._calls = ToolCalls(options.call_id_prefix)
        self._short_way = LineFastPath(options, self._texts, self._thinking)
        self._counted: set[str] = set()

    @property
    def usage(self) -> Usage | None:
        """The tokens that the server has reported so far."""
        return self._ending.usage

    def feed_into(self, event: Mapping[str, Any], outputs: _Outputs) -> None:
        """Takes the next line and appends what it means."""
        self.sink = None
        if self._state is LifecycleState.ENDED:
            raise AdapterUsageError("fed a line after the stream was ended")
        chunk: Wire = event if isinstance(event, dict) else dict(event)
        kind = _kind(chunk)
        if kind is None:
            self._unknown(chunk, outputs)
            return
        next_state, action, _ = TRANSITIONS[self._state][kind]
        if action is not Action.HANDLE:
            return
        if (error := ERRORS.failure_in(chunk)) is not None:
            outputs += self.fail(error)
            return
        self._ending.read(chunk)
        try:
            self._read_message(mapping(chunk, "message"), outputs)
        except ToolArgumentsError as failure:
            outputs += self.fail(failure)
            return
        self._state = next_state
        if next_state is LifecycleState.FINISHED:
            self._complete(outputs)
            return
        self.ending = self._ending.word is not None
        if not self.ending and self._ending.is_known:
            self.sink = self._short_way.after(chunk.get("message"))

    @property
    def _word(self) -> str | None:
        return self._ending.word

    def _is_whole(self, *, told: bool) -> bool:
        return told or self._ending.word is not None

    def _settle(self, outputs: _Outputs) -> None:
        self._texts.settle(outputs)

    def _complete(self, outputs: _Outputs) -> None:
        self._texts.settle(outputs)
        self._thinking.hand_out(outputs)
        outcome = Outcome.INCOMPLETE if self._ending.is_cut else Outcome.COMPLETED
        self._emit_finish(outcome, self._ending.reason(has_calls=self._calls.count > 0), outputs)

    def _emit_finish(
        self,
        outcome: Outcome,
        reason: FinishReason | None,
        outputs: _Outputs,
        error: LanguageModelError | None = None,
    ) -> None:
        about = self._ending
        outputs.append(Finish(outcome, reason, about.usage, None, about.model, error, about.metadata))
        self._state = LifecycleState.FINISHED

    def _unknown(self, chunk: Wire, outputs: _Outputs) -> None:
        """Counts an object that is no line of this protocol."""
        if chunk and not self.finished:
            outputs.append(Unmapped(identifier(chunk, "type") or "a line without a message", chunk))

    # A message

    def _read_message(self, message: Wire, outputs: _Outputs) -> None:
        for name, value in message.items():
            if value and name not in _MESSAGE and name not in _NOISE:
                self._count(f"message.{name}", {name: value}, outputs)
        for name, handler in _MESSAGE.items():
            if value := message.get(name):
                handler(self, value, outputs)

    def thinking(self, value: Any, outputs: _Outputs) -> None:
        """Takes the `thinking` of a message."""
        if isinstance(value, str):
            self._texts.settle(outputs)
            self._thinking.read(value, outputs)
        else:
            self._count("message.thinking (of an unknown form)", {"thinking": value}, outputs)

    def content(self, value: Any, outputs: _Outputs) -> None:
        """Takes the `content` of a message."""
        if isinstance(value, str):
            self._texts.push(value, outputs)
        else:
            self._count("message.content (of an unknown form)", {"content": value}, outputs)

    def images(self, value: Any, outputs: _Outputs) -> None:
        """Takes the `images` of a message."""
        for one in value if isinstance(value, list) else [value]:
            self._texts.settle(outputs)
            self._thinking.close(outputs)
            part = image_part(one)
            outputs.append(part if part is not None else Unmapped("image (not readable)", {"images": [one]}))

    def tool_calls(self, value: Any, outputs: _Outputs) -> None:
        """Takes the `tool_calls` of a message: whole calls, handed out at once."""
        for wire in objects({"tool_calls": value}, "tool_calls"):
            self._texts.settle(outputs)
            self._thinking.close(outputs)
            call = self._calls.read(wire, f"{self._ending.model} {self._ending.created_at}")
            if call is not None:
                outputs.append(call)

    def _count(self, name: str, data: Wire, outputs: _Outputs) -> None:
        """Counts what has no part, once for each name."""
        if name not in self._counted:
            self._counted.add(name)
            outputs.append(Unmapped(name, data))


_MESSAGE: Final[dict[str, Callable[[OllamaStream, Any, _Outputs], None]]] = {
    "thinking": OllamaStream.thinking,
    "content": OllamaStream.content,
    "images": OllamaStream.images,
    "tool_calls": OllamaStream.tool_calls,
}
"""What is read of a message, in this order."""

_NOISE: Final = frozenset({"role"})


def _kind(chunk: Wire) -> LifecycleEvent | None:
    """What a line is for the life of the response; None for an object of something else."""
    if _is_of_generate(chunk):
        return None
    if chunk.get("error") or chunk.get("done") is True:
        return LifecycleEvent.TERMINAL
    if isinstance(chunk.get("done"), bool) or identifier(chunk, "done_reason"):
        return LifecycleEvent.CONTENT
    return LifecycleEvent.CONTENT if isinstance(chunk.get("message"), dict) and "type" not in chunk else None


def _is_of_generate(chunk: Wire) -> bool:
    """Whether a line is of `/api/generate`, which completes a text: it has no message."""
    return isinstance(chunk.get("response"), str) and "message" not in chunk


def claims(_kind: str | None, event: Wire) -> MatchConfidence:
    """Tells whether an event of a recording belongs to this protocol."""
    if _is_of_generate(event):
        return MatchConfidence.NO
    if isinstance(event.get("done"), bool) and (isinstance(event.get("model"), str) or "message" in event):
        return MatchConfidence.SURE
    return (
        MatchConfidence.POSSIBLE if isinstance(event.get("error"), str) and "type" not in event else MatchConfidence.NO
    )


def events_of(document: Wire) -> Sequence[Wire]:
    """The lines that a document stands for: it is the last one, with the whole message (`stream: false`)."""
    return (document,)


READ_RESPONSE: Final = ResponseReaderSpec(open=OllamaStream, claim=claims, frequent=FREQUENT, events_of=events_of)
