"""The events and the result of a tool loop: values that a screen or a log can show; they know neither."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from partstream.lm.messages import ChatMessage
    from partstream.lm.outputs import Finish
    from partstream.lm.parts import DataPart, ResponsePart, ToolCallPart, ToolResultPart

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
    """The loop sends a request.

    Attributes:
        number: The number of the round, from 1.
        messages: The messages of the request.
    """

    number: int
    messages: tuple[ChatMessage, ...]


@dataclass(frozen=True, slots=True)
class PartReceived:
    """The model reported a part."""

    part: ResponsePart


@dataclass(frozen=True, slots=True)
class ToolCallStarted:
    """The response is complete, and a tool that it called is starting."""

    call: ToolCallPart


@dataclass(frozen=True, slots=True)
class ToolResultReceived:
    """A tool has ended; the results of a round come in the order in which the tools end.

    Attributes:
        call: The call that the result answers.
        result: The result for the model.
        error: The error that the tool raised, or None.
    """

    call: ToolCallPart
    result: ToolResultPart
    error: BaseException | None


@dataclass(frozen=True, slots=True)
class ToolLoopResult:
    """The result of a tool loop.

    Attributes:
        text: The text of the last round; after a cancellation, the text until then.
        messages: The whole conversation: the given messages, then those of the loop. After a cancellation, it ends
            with the parts until then, without the calls that have no results: no model accepts such calls.
        rounds: The number of requests that were sent.
        usage_parts: The data parts of media type `usage`, in order: normally one per round.
        is_cancelled: Whether a cancellation ended the loop.
        finish: How the last round's answer ended, or None if the provider did not report it.
    """

    text: str
    messages: tuple[ChatMessage, ...]
    rounds: int
    usage_parts: tuple[DataPart, ...]
    is_cancelled: bool
    finish: Finish | None = None


@dataclass(frozen=True, slots=True)
class LoopFinished:
    """The loop has ended without an error; the last event."""

    result: ToolLoopResult


ToolLoopEvent: TypeAlias = RoundStarted | PartReceived | ToolCallStarted | ToolResultReceived | LoopFinished
"""What :func:`~partstream.stream_tool_loop` yields, in the order in which it happens."""
