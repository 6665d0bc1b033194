"""Agents of the Microsoft Agent Framework whose model follows a script."""

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    tool,
)
from pydantic import BaseModel
from scenarios import DELETED, FOUND, ModelScript, Seen, Step, hang


class Place(BaseModel):
    """The output of an agent with an output of its own."""

    city: str
    people: int


@tool(approval_mode="never_require")
def search(query: str) -> str:
    """Searches."""
    del query
    return json.dumps(FOUND)


@tool(approval_mode="always_require")
def delete_file(path: str) -> str:
    """Deletes a file."""
    del path
    return DELETED


class FollowingClient(FunctionInvocationLayer, BaseChatClient):  # type: ignore[type-arg]
    """A chat client of the framework that follows a script."""

    def __init__(self, script: ModelScript) -> None:
        super().__init__()
        self._script = script

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Any, **_arguments: Any
    ) -> ResponseStream[ChatResponseUpdate, ChatResponse]:
        assert stream, "the adapter streams"
        return self._build_response_stream(self._updates(messages, options))

    async def _updates(self, messages: Sequence[Message], options: Any) -> AsyncIterator[ChatResponseUpdate]:
        names = tuple(one.name for one in options.get("tools") or ())
        step = self._script.begin(Seen(json.dumps([message.to_dict() for message in messages]), names))
        with self._script.streaming():
            for content in contents_of(step, messages):
                yield ChatResponseUpdate(role="assistant", contents=[content])
            if step.error:
                raise RuntimeError("the model broke")
            if step.hangs:
                await hang()
            yield ChatResponseUpdate(
                role="assistant", contents=[_usage(step)], finish_reason="tool_calls" if step.calls else "stop"
            )


def contents_of(step: Step, messages: Sequence[Message]) -> list[Content]:
    """The contents of a step, one an update; the arguments of a call come in pieces."""
    contents: list[Content] = []
    if step.thinking:
        contents.append(Content.from_text_reasoning(text=step.thinking, protected_data=step.signature))
    texts = (messages[-1].text,) if step.echo else step.text
    if step.result is not None:
        texts = (json.dumps(step.result),)
    contents += map(Content.from_text, texts)
    for call in step.calls:
        arguments = json.dumps(call.arguments)
        contents.append(Content.from_function_call(call.call_id, call.name, arguments=arguments[:5]))
        contents.append(Content.from_function_call(call.call_id, "", arguments=arguments[5:]))
    return contents


def _usage(step: Step) -> Content:
    entered, left = step.usage
    return Content("usage", usage_details={"input_token_count": entered, "output_token_count": left})


class AgentFrameworkFramework:
    """What the tests of the framework offer."""

    name = "Microsoft Agent Framework"
    can = frozenset({"inner tools", "objects", "approvals", "thinking"})

    def agent(self, script: ModelScript, *, output: bool = False) -> Agent[Any]:
        """An agent with the own tools `search` and `delete_file`."""
        options: Any = {"response_format": Place} if output else None
        return Agent(FollowingClient(script), name="Agent", tools=[search, delete_file], default_options=options)


FRAMEWORK = AgentFrameworkFramework()
