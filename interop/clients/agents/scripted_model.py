"""The model that coding agents talk to: it does what the prompt says, and writes down what it saw of each request.

The prompt of a person holds a line `PLAN {...}`::

    {"calls": [["read", {"path": "one.txt"}], ...],   one call a round, each of a tool that the agent offers
     "thinking": "...", "text": "...",                 what is said in the end; "{results}" is what the tools gave
     "waits": true,                                    never ends
     "fails": 400}                                     fails as a model server does that answers with this status

A request without tools is one for a title, and gets one. The file that `PARTSTREAM_AGENT_LOG` names gets a line of JSON
when a request comes, and one when its answer is over.
"""

from __future__ import annotations
import asyncio
import json
import os
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from partstream import (
    ChatMessage,
    Finish,
    FinishReason,
    LanguageModelError,
    Outcome,
    RequestOptions,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    UnifiedFinishReason,
    Usage,
    chat_model,
)
from partstream.errors import UpstreamHTTPError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

__all__ = ["FAILURE", "INPUT_TOKENS", "MODEL", "OUTPUT_TOKENS", "TITLE", "provider"]

MODEL: Final = "scripted"
TITLE: Final = "A title"
FAILURE: Final = "The scripted model has no answer to this."
INPUT_TOKENS: Final = 4321
OUTPUT_TOKENS: Final = 8765
"""The usage that every answer reports: numbers that nothing else has."""

_NUMBERS: Final = count(1)
_WORDS: Final = ("apple", "pear")
"""What the files hold that an agent is asked to read."""


@chat_model(id=MODEL, name="Scripted", max_input_tokens=200_000, max_output_tokens=32_000)
async def provider(
    messages: Sequence[ChatMessage], options: RequestOptions
) -> AsyncIterator[str | ThinkingPart | ToolCallPart | Finish]:
    """Does what the plan says."""
    number = next(_NUMBERS)
    plan = _plan(messages) if options.tools else {"text": TITLE}
    results = list(_results(messages))
    _log(
        number=number,
        event="asked",
        tools=len(options.tools),
        results=results,
        roles=[message.role.name for message in messages],
    )
    end = "cancelled"
    try:
        async for part in _answer(plan, results, number):
            yield part
        end = "answered"
    except LanguageModelError:
        end = "failed"
        raise
    finally:
        _log(number=number, event=end)


async def _answer(
    plan: dict[str, Any], results: Sequence[str], number: int
) -> AsyncIterator[str | ThinkingPart | ToolCallPart | Finish]:
    calls = plan.get("calls", [])
    reason = UnifiedFinishReason.STOP
    if "fails" in plan:
        raise UpstreamHTTPError(plan["fails"], provider_message=FAILURE)
    if plan.get("waits"):
        yield "One moment."
        await asyncio.Event().wait()
    if plan.get("thinking"):
        yield ThinkingPart(plan["thinking"])
    if len(results) < len(calls):
        tool, arguments = calls[len(results)]
        yield ToolCallPart(f"call_{number}", tool, arguments)
        reason = UnifiedFinishReason.TOOL_CALLS
    else:
        found = " and ".join(word for word in _WORDS if any(word in result for result in results))
        yield plan.get("text", "").replace("{results}", found)
    yield Finish(Outcome.COMPLETED, FinishReason(reason), Usage(input_tokens=INPUT_TOKENS, output_tokens=OUTPUT_TOKENS))


def _plan(messages: Sequence[ChatMessage]) -> dict[str, Any]:
    """The plan in the last message of a person that has one."""
    for text in reversed(list(_texts(messages))):
        _, found, rest = text.partition("PLAN ")
        if found:
            said = rest.replace('\\"', '"') if rest.startswith('{\\"') else rest  # some quote what a person said
            plan: dict[str, Any] = json.JSONDecoder().raw_decode(said)[0]
            return plan
    return {"text": "There is no plan."}


def _texts(messages: Sequence[ChatMessage]) -> Iterator[str]:
    for message in messages:
        yield from (part.value for part in message.content if isinstance(part, TextPart))


def _results(messages: Sequence[ChatMessage]) -> Iterator[str]:
    """What the tools gave, in their order."""
    for message in messages:
        for part in message.content:
            if isinstance(part, ToolResultPart):
                yield "".join(item.value for item in part.content if isinstance(item, TextPart))


def _log(**fields: Any) -> None:
    with Path(os.environ["PARTSTREAM_AGENT_LOG"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(fields) + "\n")
