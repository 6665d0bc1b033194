"""A model behind LiteLLM's proxy: what it says depends on the last words of the conversation.

Runs in the proxy's own environment, as one of its custom handlers; so LiteLLM itself writes the wire.
"""

from __future__ import annotations
import json
from typing import TYPE_CHECKING, Any

from litellm import ContextWindowExceededError, CustomLLM, ModelResponseStream, RateLimitError, Usage
from litellm.types.utils import Delta, StreamingChoices

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

HELLO = "Hello! Grüße, 你好, 👋."

_TOO_LONG = "This model's maximum context length is 8192 tokens, however you requested 9000 tokens"


class ScriptedModel(CustomLLM):
    """Answers every conversation by :func:`answer`."""

    async def astreaming(self, *_: Any, messages: list[dict[str, Any]], **__: Any) -> AsyncIterator[Any]:
        """One answer, chunk by chunk."""
        for chunk in answer(messages):
            yield chunk


def answer(messages: list[dict[str, Any]]) -> Iterator[Any]:
    """The chunks that answer a conversation."""
    asked = _text(next(message for message in reversed(messages) if message["role"] == "user"))
    if messages[-1]["role"] == "tool":
        yield from _said("It is 21 degrees in Lisbon.")
    elif "weather in two cities" in asked:
        yield from _called("Lisbon", "Oslo")
    elif "weather" in asked:
        yield from _called("Lisbon")
    elif "Think" in asked:
        yield _chunk(reasoning_content="Six times seven is 42.")
        yield from _said("42")
    elif "Which word" in asked:
        yield from _said("bluebird" if "bluebird" in _text(messages[0]) else "I have not been given a word.")
    elif "Limit me" in asked:
        raise RateLimitError("Too many requests", llm_provider="scripted", model="model")
    elif "Read all" in asked:
        raise ContextWindowExceededError(_TOO_LONG, llm_provider="scripted", model="model")
    else:
        yield from _said(HELLO)


def _text(message: dict[str, Any]) -> str:
    content = message["content"] or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _said(text: str) -> Iterator[Any]:
    for start in range(0, len(text), 6):
        yield _chunk(content=text[start : start + 6])
    yield _chunk("stop")


def _called(*cities: str) -> Iterator[Any]:
    for index, city in enumerate(cities):
        function = {"name": "get_weather", "arguments": json.dumps({"city": city})}
        yield _chunk(tool_calls=[{"index": index, "id": f"call_{index}", "type": "function", "function": function}])
    yield _chunk("tool_calls")


def _chunk(finish_reason: str | None = None, **delta: Any) -> Any:
    choice = StreamingChoices(index=0, delta=Delta(**delta), finish_reason=finish_reason)
    # Without an id of its own, so that each chunk gets another one, as those of several providers do.
    chunk = ModelResponseStream(model="scripted", choices=[choice])
    if finish_reason is not None:
        chunk.usage = Usage(prompt_tokens=11, completion_tokens=7, total_tokens=18)
    return chunk


model = ScriptedModel()
