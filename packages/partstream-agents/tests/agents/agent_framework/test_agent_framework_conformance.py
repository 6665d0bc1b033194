"""An agent of the Microsoft Agent Framework keeps the contract: the conformance kit is the server of its model."""

import asyncio
import base64
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
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
)

from extent import IS_WHOLE, TELLING
from partstream import ChatMessage, DataPart, RequestOptions, TextPart, ThinkingPart, Tool, ToolCallPart, connect
from partstream.lm.messages import Role
from partstream.lm.parts import ToolResultPart
from partstream.protocols.read_response import read_arguments
from partstream_agents import RunStates, as_model
from partstream_devtools.conformance.driver import TimeLimits
from partstream_devtools.conformance.report import Verdict
from partstream_devtools.conformance.running import run
from partstream_devtools.conformance.scenarios import SCENARIOS

LONG = {"long-text", "fifty-at-once"}
"""Left out: they show the same, for longer. Many runs at once are a scenario of every framework."""
CHOSEN = set(SCENARIOS) - LONG if IS_WHOLE else TELLING


class AskingClient(FunctionInvocationLayer, BaseChatClient):  # type: ignore[type-arg]
    """A chat client of the framework that asks a server through Partstream."""

    def __init__(self, base_url: str) -> None:
        super().__init__()
        self._base_url = base_url

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Any, **_arguments: Any
    ) -> ResponseStream[ChatResponseUpdate, ChatResponse]:
        assert stream, "the adapter streams"
        return self._build_response_stream(self._updates(messages, options))

    async def _updates(self, messages: Sequence[Message], options: Any) -> AsyncIterator[ChatResponseUpdate]:
        tools = tuple(Tool(one.name, one.description, one.parameters()) for one in options.get("tools") or ())
        async with connect(self._base_url, model="any") as model:
            response = model.stream([_message(message) for message in messages], RequestOptions(tools))
            async for part in response:
                if (content := _content(part)) is not None:
                    yield ChatResponseUpdate(role="assistant", contents=[content])
            reason, usage = response.finish_reason, response.usage
            contents = [] if usage is None else [_usage(usage.input_tokens, usage.output_tokens)]
            yield ChatResponseUpdate(role="assistant", contents=contents, finish_reason=reason and reason.unified.value)


def _usage(entered: int | None, left: int | None) -> Content:
    return Content("usage", usage_details={"input_token_count": entered, "output_token_count": left})


def _content(part: Any) -> Content | None:
    match part:
        case TextPart(value=text):
            return Content.from_text(text)
        case ThinkingPart(value=text, id=name):
            return Content.from_text_reasoning(id=name, text=text)
        case ToolCallPart(call_id=call_id, name=name, input=given):
            return Content.from_function_call(call_id, name, arguments=dict(given))
    return None


def _message(message: Message) -> ChatMessage:
    role = {"assistant": Role.ASSISTANT, "system": Role.SYSTEM}.get(str(message.role), Role.USER)
    return ChatMessage(role, tuple(_parts(message.contents)))


def _parts(contents: Iterable[Content]) -> Iterable[Any]:
    for content in contents:
        if content.type == "text":
            yield TextPart(content.text or "")
        elif content.type == "data":
            yield DataPart(base64.b64decode(str(content.uri).partition(",")[2]), str(content.media_type))
        elif content.type == "function_call":
            yield ToolCallPart(str(content.call_id), str(content.name), read_arguments(content.arguments) or {})
        elif content.type == "function_result":
            yield ToolResultPart(str(content.call_id), tuple(_parts(content.items or ())))


def test_an_agent_keeps_the_contract_whatever_its_model_server_does(tmp_path: Path) -> None:
    def made(upstream: str) -> Any:
        agent: Agent[Any] = Agent(AskingClient(upstream), name="A")
        return as_model(agent, image_input=True, states=RunStates(tmp_path))

    limits = TimeLimits(grace_seconds=0.003)
    report = asyncio.run(run(made, select=CHOSEN, limits=limits, capabilities={"usage": True}))
    assert report.exit_code == 0, [(check.id, check.got) for check in report.broken]
    assert report.counts[Verdict.PASSED] > (200 if IS_WHOLE else 50)
