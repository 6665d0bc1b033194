"""Agents of the OpenAI Agents SDK whose model follows a script; its events are those of the SDK's `ScriptedModel`."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, FunctionTool, Usage, function_tool, set_tracing_disabled
from agents.models.interface import Model
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from openai.types.responses.response_reasoning_item import ResponseReasoningItem, Summary
from pydantic import BaseModel
from scenarios import DELETED, FOUND, ModelScript, Seen, Step, hang

set_tracing_disabled(True)  # a test sends nothing to anybody


class Place(BaseModel):
    """The output of an agent with an output of its own."""

    city: str
    people: int


@function_tool
def search(query: str) -> str:
    """Searches."""
    del query
    return json.dumps(FOUND)


@function_tool(needs_approval=True)
def delete_file(path: str) -> str:
    """Deletes a file."""
    del path
    return DELETED


class FollowingModel(Model):
    """A model of the SDK that follows a script."""

    def __init__(self, script: ModelScript) -> None:
        self._script = script

    async def get_response(self, **asked: Any) -> Any:  # type: ignore[override]
        """The SDK asks in this way for an agent that is a tool of another."""
        given, names = asked["input"], tuple(tool.name for tool in asked["tools"])
        scripted = ScriptedModel([_step(self._script.begin(Seen(json.dumps(given), names)), given)])
        return await scripted.get_response(**asked)

    async def stream_response(
        self, system_instructions: Any, given: Any, settings: Any, tools: Any, schema: Any, handoffs: Any, *rest: Any,
        **options: Any,
    ) -> AsyncIterator[Any]:  # fmt: skip
        names = (*(tool.name for tool in tools), *(handoff.tool_name for handoff in handoffs))
        step = self._script.begin(Seen(json.dumps(given), names))
        scripted = ScriptedModel([_step(step, given)])
        asked = (system_instructions, given, settings, tools, schema, handoffs, *rest)
        with self._script.streaming():
            async for event in scripted.stream_response(*asked, **options):
                yield event
                await asyncio.sleep(0)  # as from a socket: the SDK drops what is still in its queue when a model fails
                if event.type == "response.output_text.done" and step.error:
                    raise RuntimeError("the model broke")
                if event.type == "response.output_text.done" and step.hangs:
                    await hang()


def _step(step: Step, given: Any) -> ModelStep:
    output: list[Any] = []
    if step.thinking:
        thought = Summary(text=step.thinking, type="summary_text")
        output.append(
            ResponseReasoningItem(id="rs_1", type="reasoning", summary=[thought], encrypted_content=step.signature)
        )
    said = _last_words(given) if step.echo else "".join(step.text)
    if step.result is not None:
        said = json.dumps(step.result)
    if said:
        output.append(assistant_message(said))
    output += [function_call(call.name, dict(call.arguments), call_id=call.call_id) for call in step.calls]
    entered, left = step.usage
    usage = Usage(requests=1, input_tokens=entered, output_tokens=left, total_tokens=entered + left)
    return ModelStep(output=output, usage=usage)


def _last_words(given: Any) -> str:
    content = given[-1]["content"]
    return content if isinstance(content, str) else content[-1]["text"]


class OpenAIAgentsFramework:
    """What the tests of the framework offer."""

    name = "OpenAI Agents SDK"
    can = frozenset({"inner tools", "objects", "approvals", "thinking"})

    def agent(self, script: ModelScript, *, output: bool = False) -> Agent[Any]:
        """An agent with the own tools `search` and `delete_file`."""
        tools: list[FunctionTool] = [search, delete_file]
        return Agent("Agent", tools=tools, model=FollowingModel(script), output_type=Place if output else None)


FRAMEWORK = OpenAIAgentsFramework()
