"""A conversation of VS Code as messages of Chat Completions, and their chunks as parts.

It is what a developer writes around a client of that wire.
"""

from __future__ import annotations
import json
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from partstream import (
    EmptyAnswerError,
    Finish,
    LanguageModelError,
    Outcome,
    Role,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Sequence

    from partstream import ChatMessage, ResponsePart, Tool


def messages_of(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """The messages of a request."""
    written: list[dict[str, Any]] = []
    for message in messages:
        texts = "".join(part.value for part in message.content if isinstance(part, TextPart))
        calls = [part for part in message.content if isinstance(part, ToolCallPart)]
        results = [part for part in message.content if isinstance(part, ToolResultPart)]
        for result in results:
            text = "".join(one.value for one in result.content if isinstance(one, TextPart))
            written.append({"role": "tool", "tool_call_id": result.call_id, "content": text})
        if message.role is Role.ASSISTANT:
            said: dict[str, Any] = {"role": "assistant", "content": texts or None}
            if calls:
                said["tool_calls"] = [_call(call) for call in calls]
            written.append(said)
        elif texts or not results:
            written.append({"role": "system" if message.role is Role.SYSTEM else "user", "content": texts})
    return written


def _call(call: ToolCallPart) -> dict[str, Any]:
    function = {"name": call.name, "arguments": json.dumps(dict(call.input))}
    return {"id": call.call_id, "type": "function", "function": function}


def tools_of(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """The tools of a request."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema or {"type": "object", "properties": {}},
            },
        }
        for tool in tools
    ]


async def parts_of(asked: Awaitable[Any]) -> AsyncIterator[ResponsePart | Finish]:
    """The parts of a stream, put together as the documentation of such clients does it.

    Raises:
        LanguageModelError: The client raised an error, or nothing visible came.
    """
    try:
        async with aclosing(_parts_of(await asked)) as parts:
            async for part in parts:
                yield part
    except LanguageModelError:
        raise
    except Exception as error:
        raise LanguageModelError(f"{type(error).__name__}: {error}") from error


async def _parts_of(chunks: Any) -> AsyncGenerator[ResponsePart | Finish]:
    calls: dict[int, list[str]] = {}
    usage: Usage | None = None
    is_visible = False
    try:
        async for chunk in chunks:
            said = getattr(chunk, "usage", None)
            if said is not None:
                usage = Usage(said.prompt_tokens, said.completion_tokens, said.total_tokens)
            for choice in chunk.choices:
                delta = choice.delta
                reasoning = getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None)
                thought = reasoning if isinstance(reasoning, str) else getattr(reasoning, "content", None)
                if thought:
                    yield ThinkingPart(thought)
                if delta.content:
                    is_visible = True
                    yield TextPart(delta.content)
                for one in delta.tool_calls or ():
                    call = calls.setdefault(one.index, ["", "", ""])
                    call[0] = one.id or call[0]
                    call[1] = (one.function and one.function.name) or call[1]
                    call[2] += (one.function and one.function.arguments) or ""
    finally:
        close = getattr(chunks, "close", None) or getattr(chunks, "aclose", None)
        if close is not None:
            await close()
    for call_id, name, arguments in calls.values():
        yield ToolCallPart(call_id, name, json.loads(arguments or "{}"))
    if not (is_visible or calls):
        raise EmptyAnswerError(None)
    yield Finish(Outcome.COMPLETED, usage=usage)
