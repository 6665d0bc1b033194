"""pydantic-ai agents whose model follows a script, for the tests of their adapter."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, UserPromptPart
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.usage import RequestUsage
from scenarios import DELETED, FOUND, ModelScript, Seen, Step, hang

__all__ = ["City", "ScriptedModel", "ScriptedPydanticAI"]


class City(BaseModel):
    """The result of an agent whose output is an object."""

    city: str
    people: int


class ScriptedModel(WrapperModel):
    """Says what its script says, and reports the tokens of the script.

    Attributes:
        messages_seen: The messages of each request.
        settings_seen: The settings of each request.
    """

    def __init__(self, script: ModelScript) -> None:
        super().__init__(FunctionModel(stream_function=_no_stream))
        self._script = script
        self.messages_seen: list[list[Any]] = []
        self.settings_seen: list[Any] = []

    @asynccontextmanager
    async def request_stream(self, messages: list[Any], settings: Any, parameters: Any, *context: Any) -> Any:
        self.messages_seen.append([*messages])
        self.settings_seen.append(settings)
        tools = tuple(tool.name for tool in parameters.function_tools)
        step = self._script.begin(Seen(ModelMessagesTypeAdapter.dump_json(messages).decode(), tools))

        async def stream(_messages: Any, _info: Any) -> AsyncIterator[Any]:
            with self._script.streaming():
                async for delta in _deltas(step, messages, parameters.output_tools):
                    yield delta

        model = FunctionModel(stream_function=stream)
        async with model.request_stream(messages, settings, parameters, *context) as response:
            whole = response.get
            response.get = lambda: replace(
                whole(), usage=RequestUsage(input_tokens=step.usage[0], output_tokens=step.usage[1])
            )
            yield response


async def _no_stream(_messages: Any, _info: Any) -> AsyncIterator[str]:
    raise AssertionError("the scripted model streams by itself")
    yield ""


async def _deltas(step: Step, messages: list[Any], output_tools: list[Any]) -> AsyncIterator[Any]:
    if step.thinking:
        yield {0: DeltaThinkingPart(content=step.thinking)}
        yield {0: DeltaThinkingPart(content="", signature=step.signature or None)}
    for piece in (_last_words(messages),) if step.echo else step.text:
        yield piece
    for number, call in enumerate(step.calls, 1):
        arguments = json.dumps(dict(call.arguments))
        yield {number: DeltaToolCall(call.name, arguments[:5], tool_call_id=call.call_id)}
        yield {number: DeltaToolCall(None, arguments[5:])}
    if step.result is not None:
        yield {9: DeltaToolCall(output_tools[0].name, json.dumps(dict(step.result)), tool_call_id="result_1")}
    if step.error:
        raise RuntimeError("the model broke")
    if step.hangs:
        await hang()


def _last_words(messages: list[Any]) -> str:
    parts = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
    return [str(part.content) for part in parts if isinstance(part, UserPromptPart)][-1]


class ScriptedPydanticAI:
    """What the scenarios ask of a framework."""

    name = "pydantic-ai"
    can = frozenset({"inner tools", "objects", "approvals", "thinking"})

    def agent(self, script: ModelScript, *, output: bool = False, **settings: Any) -> Agent[None, Any]:
        """An agent with the own tools of the scenarios; `settings` are further arguments of `Agent`."""
        agent: Agent[None, Any] = Agent(ScriptedModel(script), **({"output_type": City} if output else {}), **settings)

        @agent.tool_plain
        def search(query: str) -> list[str]:
            return FOUND

        @agent.tool_plain(requires_approval=True)
        def delete_file(path: str) -> str:
            return DELETED

        return agent
