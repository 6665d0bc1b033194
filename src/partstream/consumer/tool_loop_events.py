"""What happens while a tool loop runs, and what it leaves; values for a screen or a log, which they do not know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from partstream.messages import ChatMessage
    from partstream.outputs import Finish
    from partstream.parts import DataPart, ResponsePart, ToolCallPart, ToolResultPart

__all__ = [
    "LoopFinished",
    "PartReceived",
    "RoundStarted",
    "ToolCallStarted",
    "ToolLoopEvent",
    "ToolLoopResult",
    "ToolResultReceived",
]


@dataclass(frozen=True, slots=True)
class RoundStarted:
    """A request goes out.

    Attributes:
        number: Which one, from 1.
        messages: What it says.
    """

    number: int
    messages: tuple[ChatMessage, ...]


@dataclass(frozen=True, slots=True)
class PartReceived:
    """The model reported a part, of whatever kind."""

    part: ResponsePart


@dataclass(frozen=True, slots=True)
class ToolCallStarted:
    """The response is whole and the tool it asked for is being executed."""

    call: ToolCallPart


@dataclass(frozen=True, slots=True)
class ToolResultReceived:
    """A tool is done; those of one round come in the order in which they end.

    Attributes:
        call: The call that it answers.
        result: What the model will be told.
        error: What the tool raised, or None.
    """

    call: ToolCallPart
    result: ToolResultPart
    error: BaseException | None


@dataclass(frozen=True, slots=True)
class ToolLoopResult:
    """What a tool loop leaves.

    Attributes:
        text: The text of the last round; of a cancelled one, what had come.
        messages: The whole conversation: the messages given, then those of the loop. After a cancellation it ends
            with what had come, except that calls without results are left out: no model takes them.
        rounds: How many requests went out.
        usage_parts: The data parts of media type `usage`, in order: normally one a round.
        is_cancelled: Whether the loop ended because somebody cancelled it.
        finish: How the last round's answer ended, or None where the provider did not say it.
    """

    text: str
    messages: tuple[ChatMessage, ...]
    rounds: int
    usage_parts: tuple[DataPart, ...]
    is_cancelled: bool
    finish: Finish | None = None


@dataclass(frozen=True, slots=True)
class LoopFinished:
    """The last event of every loop that does not fail."""

    result: ToolLoopResult


ToolLoopEvent: TypeAlias = RoundStarted | PartReceived | ToolCallStarted | ToolResultReceived | LoopFinished
