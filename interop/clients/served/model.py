"""The model that the clients ask: `partstream serve interop/clients/served/model.py`. What it does is in the
question.

It is an ordinary provider in Python and knows no wire. Where it is left while it waits, it says so in the file that the
variable `LEFT_FILE` names.
"""

from __future__ import annotations
import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from partstream import (
    ChatMessage,
    Finish,
    FinishReason,
    Outcome,
    RequestOptions,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    UnifiedFinishReason,
    UpstreamFailureError,
    Usage,
    chat_model,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

USAGE = Usage(input_tokens=11, output_tokens=7)
_LONGEST = 60
_BUSY: set[str] = set()
"""The questions that were refused once, as of a server that is busy."""


@chat_model(id="parrot")
async def provider(
    messages: Sequence[ChatMessage], options: RequestOptions
) -> AsyncIterator[str | ThinkingPart | ToolCallPart | Finish]:
    """Answers as the question says; a turn of the user with results of tools goes on with the question before."""
    question = next((text for one in reversed(messages) if (text := _text(one)) and not _results([one])), "")
    if "weather" in question:
        async for part in _two_rounds(_results(messages)):
            yield part
    elif question.startswith("Think"):
        yield ThinkingPart("I was asked to think.", "thinking-1")
        yield "Thought."
    elif question.startswith("Wait"):
        yield "One moment."
        await _wait()
    elif question.startswith("Spend"):
        raise UpstreamFailureError("The budget is spent.", provider_code="insufficient_quota", http_status=429)
    elif question.startswith("Be busy") and _is_first(question):
        raise UpstreamFailureError("The model is busy.", http_status=503, retry_after=0.05)
    elif question.startswith("Break"):
        yield "It is"
        raise UpstreamFailureError("The model broke while it was answering.", http_status=500)
    else:
        for word in ("Hello", " from", " Partstream."):
            yield word
    yield Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.STOP), USAGE)


def _is_first(question: str) -> bool:
    """Whether a question was not asked just now."""
    is_first = question not in _BUSY
    (_BUSY.add if is_first else _BUSY.discard)(question)
    return is_first


async def _two_rounds(results: Sequence[str]) -> AsyncIterator[str | ToolCallPart]:
    """A tool, then with its result another one, then what both have said."""
    if not results:
        yield ToolCallPart("call-weather", "weather", {"place": "Lisbon"})
    elif len(results) == 1:
        yield ToolCallPart("call-time", "time", {"place": "Lisbon", "weather": results[0]})
    else:
        yield f"It is {results[0]} at {results[1]}."


async def _wait() -> None:
    """Waits to be left."""
    try:
        await asyncio.sleep(_LONGEST)
    except asyncio.CancelledError:
        with Path(os.environ["LEFT_FILE"]).open("a", encoding="utf-8") as file:
            file.write("left\n")
        raise


def _text(message: ChatMessage) -> str:
    return "".join(part.value for part in message.content if isinstance(part, TextPart))


def _results(messages: Sequence[ChatMessage]) -> list[str]:
    """What tools have said, in order."""
    return [
        "".join(part.value for part in result.content if isinstance(part, TextPart)).strip('"')
        for message in messages
        for result in message.content
        if isinstance(result, ToolResultPart)
    ]
