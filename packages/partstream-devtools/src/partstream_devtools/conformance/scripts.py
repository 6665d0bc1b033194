"""Scripts: what the model of a target says, answer by answer, and actions: what the consumer does, one after the other.

Both are JSON values and short texts, so that a person reads them and a transcript holds them; together they are a whole
conversation, which can be generated, shrunk and replayed. The upstream of a sandwich plays a script, and a target with
a hook of its own is made from one. The results that the kit gives for tool calls hold a word of their own, so that a
check finds where they go.
"""

from __future__ import annotations
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, TypeAlias

from partstream.codec.checks import dataclass
from partstream.errors import CallerError, LanguageModelError, UpstreamFailureError
from partstream.lm import parts as values
from partstream.lm.messages import ChatMessage, Role
from partstream.lm.outputs import Finish, InboundRequest, Outcome
from partstream_devtools.testing.admission import ScriptedReply
from partstream_devtools.testing.directives import parse_choices, user_text
from partstream_devtools.testing.scripted_model import pieces

# ---- Scripts ----


@dataclass(frozen=True, slots=True)
class Say:
    """The model says a text, which arrives in pieces."""

    text: str


@dataclass(frozen=True, slots=True)
class Think:
    """The model thinks, in pieces."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """The model calls a tool."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Echo:
    """The model says the last text of the user, in pieces: which request an answer belongs to can be seen in it."""


Block: TypeAlias = Say | Think | Call | Echo
"""A piece of a scripted answer."""


class Ending(StrEnum):
    """How a scripted answer ends."""

    DONE = "done"
    LENGTH = "length"
    """A limit of tokens stopped the model."""
    FILTERED = "filtered"
    """A filter stopped the model."""
    FAILED = "failed"
    """The upstream reports an error after what it has said."""


USAGE: Final = values.Usage(210, 21, 231)
"""The tokens that every answer of a script reports."""

FAILURE: Final = "The model broke while it was answering."
"""The words of an answer that fails."""

_HARMLESS_FAULTS: Final = frozenset({"split", "keep_open"})
"""Faults of the upstream that lose nothing."""

_REASONS: Final = {
    Ending.DONE: values.FinishReason(values.UnifiedFinishReason.STOP),
    Ending.LENGTH: values.FinishReason(values.UnifiedFinishReason.LENGTH, "max_output_tokens"),
    Ending.FILTERED: values.FinishReason(values.UnifiedFinishReason.CONTENT_FILTER, "content_filter"),
}


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """One answer of a script.

    Attributes:
        blocks: What the model says, in order.
        ending: How the answer ends.
        fault: Faults of the upstream's bytes, as `NAME[=VALUE]`, separated by commas
            (:data:`partstream_devtools.testing.faults.FAULTS`); only an upstream can play them.
        pace: Seconds between two pieces of the answer.
    """

    blocks: tuple[Block, ...]
    ending: Ending = Ending.DONE
    fault: str = ""
    pace: float = 0.0

    @property
    def text(self) -> str:
        """The text that the answer says, without echoes."""
        return "".join(block.text for block in self.blocks if isinstance(block, Say))

    @property
    def thinking(self) -> str:
        """The thinking of the answer."""
        return "".join(block.text for block in self.blocks if isinstance(block, Think))

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls of the answer, in order."""
        return tuple(block for block in self.blocks if isinstance(block, Call))

    @property
    def is_cut(self) -> bool:
        """Whether the answer does not arrive as it was written: it fails, or has a fault that loses something."""
        faults = {choice.name for choice in parse_choices(self.fault)}
        return bool(faults - _HARMLESS_FAULTS) or self.ending is Ending.FAILED

    def parts(self, messages: Sequence[ChatMessage]) -> Iterator[values.ResponsePart]:
        """The answer as parts, with call ids that are unique within the conversation."""
        turn = _answers_in(messages)
        for number, block in enumerate(self.blocks):
            if isinstance(block, Call):
                yield values.ToolCallPart(f"call_{turn}_{number}", block.name, dict(block.arguments))
            elif isinstance(block, Think):
                yield from map(values.ThinkingPart, pieces(block.text))
            else:
                text = user_text(messages) if isinstance(block, Echo) else block.text
                yield from map(values.TextPart, pieces(text))

    def finish(self) -> Finish:
        """The end of the answer."""
        if self.ending is Ending.FAILED:
            return Finish(
                Outcome.FAILED, values.FinishReason(values.UnifiedFinishReason.ERROR), USAGE, error=self.error()
            )
        outcome = Outcome.COMPLETED if self.ending is Ending.DONE else Outcome.INCOMPLETE
        reason = _REASONS[self.ending]
        if self.ending is Ending.DONE and self.calls:
            reason = values.FinishReason(values.UnifiedFinishReason.TOOL_CALLS)
        return Finish(outcome, reason, USAGE)

    def error(self) -> LanguageModelError:
        """The error of an answer that fails."""
        return UpstreamFailureError(FAILURE, provider_code="server_error")

    def to_json(self) -> dict[str, Any]:
        """The answer as JSON values; what is as usual is left out."""
        said: dict[str, Any] = {"blocks": [_block_json(block) for block in self.blocks]}
        if self.ending is not Ending.DONE:
            said["ending"] = self.ending.value
        if self.fault:
            said["fault"] = self.fault
        if self.pace:
            said["pace"] = self.pace
        return said

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ScriptedAnswer:
        """The opposite of :meth:`to_json`.

        Raises:
            CallerError: The value is no scripted answer.
        """
        try:
            blocks = tuple(_read_block(block) for block in value["blocks"])
            return cls(blocks, Ending(value.get("ending", "done")), value.get("fault", ""), value.get("pace", 0.0))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CallerError(f"script: got {str(value)[:80]!r}, expected an answer with blocks ({error})") from error


@dataclass(frozen=True, slots=True)
class Script:
    """What the model says in a conversation.

    Attributes:
        answers: The answers, in order; the last one again where a conversation goes on.
        answers_before: The number of answers that the conversation holds before the first request.
    """

    answers: tuple[ScriptedAnswer, ...]
    answers_before: int = 0

    def answer_to(self, messages: Sequence[ChatMessage]) -> ScriptedAnswer:
        """The answer to a conversation: the same one for the same conversation, also when a request is repeated."""
        turn = max(_answers_in(messages) - self.answers_before, 0)
        return self.answers[min(turn, len(self.answers) - 1)]

    def perform(self, asked: InboundRequest) -> ScriptedReply:
        """The answer to a request as the upstream of a sandwich gives it."""
        answer = self.answer_to(asked.messages)
        outputs = iter((*answer.parts(asked.messages), answer.finish()))
        return ScriptedReply(outputs, answer.fault, answer.pace)

    def to_json(self) -> dict[str, Any]:
        """The script as JSON values."""
        said: dict[str, Any] = {"answers": [answer.to_json() for answer in self.answers]}
        if self.answers_before:
            said["answers_before"] = self.answers_before
        return said

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Script:
        """The opposite of :meth:`to_json`.

        Raises:
            CallerError: The value is no script.
        """
        answers = value.get("answers")
        if not isinstance(answers, list) or not answers:
            raise CallerError(f"script: got {str(value)[:80]!r}, expected an object with answers")
        return cls(tuple(map(ScriptedAnswer.from_json, answers)), value.get("answers_before", 0))


def _answers_in(messages: Sequence[ChatMessage]) -> int:
    """The number of answers of the model: messages of the assistant that follow each other are one answer."""
    roles = [message.role for message in messages]
    return sum(
        role is Role.ASSISTANT and (place == 0 or roles[place - 1] is not Role.ASSISTANT)
        for place, role in enumerate(roles)
    )


def _block_json(block: Block) -> dict[str, Any]:
    match block:
        case Say(text):
            return {"say": text}
        case Think(text):
            return {"think": text}
        case Call(name, arguments):
            return {"call": name, "arguments": dict(arguments)}
        case Echo():
            return {"echo": True}


def _read_block(value: Mapping[str, Any]) -> Block:
    if "say" in value:
        return Say(value["say"])
    if "think" in value:
        return Think(value["think"])
    if "call" in value:
        return Call(value["call"], value.get("arguments", {}))
    if "echo" in value:
        return Echo()
    raise ValueError(f"the block {str(value)[:80]} is none of say, think, call, echo")


# ---- Actions ----

ACTIONS: Final = {
    "send": "Sends the conversation, with the text after the word as a new message of the user; does not wait.",
    "send_cancelled": "The same, with a token that is already cancelled.",
    "cancel_after": "Cancels the running answer once it has so many parts, or has ended before.",
    "cancel_quiet": "Cancels the running answer once nothing has come of it for so many milliseconds.",
    "answer_call": "Adds a result for a call of the last answer, by its number from 0: `answer_call 0 [KIND]`.",
    "answer_calls": "Adds a result for every call of the last answer that has none yet: `answer_calls [KIND]`.",
    "wait": "Waits for the end of the running answer.",
    "cancel_ended": "Waits for the end of the running answer, and then cancels its token.",
    "retry": "Sends the last request once more, without its answer.",
}
"""Every action by name, with its meaning. Each one but `cancel_...` first waits for the end of the running answer."""


@dataclass(frozen=True, slots=True)
class Action:
    """One action.

    Attributes:
        name: A name in :data:`ACTIONS`.
        argument: The text after the name; may be empty.

    Raises:
        CallerError: The name is unknown.
    """

    name: str
    argument: str = ""

    def __post_init__(self) -> None:
        if self.name not in ACTIONS:
            raise CallerError(f"move: got {self.name!r}, expected one of {', '.join(ACTIONS)}")

    @classmethod
    def read(cls, text: str) -> Action:
        """Reads an action such as `cancel_after 3`.

        Raises:
            CallerError: The name is unknown.
        """
        name, _, argument = text.partition(" ")
        return cls(name, argument)

    def __str__(self) -> str:
        return f"{self.name} {self.argument}" if self.argument else self.name


def read_actions(*texts: str) -> tuple[Action, ...]:
    """Reads actions, in order.

    Raises:
        CallerError: A name is unknown.
    """
    return tuple(map(Action.read, texts))


# ---- Results of tools ----

PIXEL: Final = values.DataPart.image(
    b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="),
    "image/png",
)
"""An image of one pixel."""

RESULT_WORD: Final = "seventeen"
"""The word that every result with text holds: where it goes can be seen."""


def _text(call: values.ToolCallPart) -> tuple[values.ToolResultContent, ...]:
    return (values.TextPart(f"{call.name}: {RESULT_WORD} degrees"),)


_CONTENT: Final[Mapping[str, Callable[[values.ToolCallPart], tuple[values.ToolResultContent, ...]]]] = {
    "": _text,
    "text": _text,
    "image": lambda _: (values.TextPart(f"A picture of {RESULT_WORD}."), PIXEL),
    "error": lambda call: (values.TextPart(f"{call.name} failed: {RESULT_WORD} is no place"),),
    "empty": lambda _: (),
}
RESULT_KINDS: Final = tuple(_CONTENT)
"""The kinds of results; the empty one is text."""


def result_of(call: values.ToolCallPart, kind: str = "") -> values.ToolResultPart:
    """A result of a kind for a call.

    Raises:
        CallerError: The kind is unknown.
    """
    if kind not in _CONTENT:
        raise CallerError(f"result: got {kind!r}, expected one of {', '.join(filter(None, RESULT_KINDS))}")
    return values.ToolResultPart(call.call_id, _CONTENT[kind](call), is_error=kind == "error")
