"""A session of an agent, with thinking, signed state and parallel calls, over each wire, from servers of each wire."""

from __future__ import annotations
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest

from partstream import ChatMessage, RequestOptions, TextPart, Tool, ToolCallPart, ToolResultPart
from partstream.codec.json_codec import dumps
from partstream.conversation.preparation import RequestSettings
from partstream.lm.parts import ThinkingPart
from partstream.lm.provider import LanguageModelChatInformation, LanguageModelChatProvider
from partstream.server.application import ServingApp, app
from partstream.server.settings import ServingSettings
from partstream.upstream.provider import GatewayProvider
from partstream_devtools.testing.upstream import ReplayUpstream
from serving.asgi import ask as ask_application
from serving.served import served
from serving.wires import WIRES, Wire
from upstreams.upstreams import ask, configuration, run

if TYPE_CHECKING:
    from partstream.lm.parts import ResponsePart

TOOLS = tuple(
    Tool(name, f"Does {name}.", {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})
    for name in ("read_file", "list_dir", "find_text")
)
ROUNDS = 3
MODELS = {wire.name: "gemini-3.8-flash" if wire.name == "gemini" else "claude-opus-5" for wire in WIRES}
OPAQUE = {"signature", "thoughtSignature", "encrypted_content", "data"}


class Watched(LanguageModelChatProvider):
    """The provider of a server, which notes what it has reported."""

    def __init__(self, provider: GatewayProvider) -> None:
        self.answers: list[list[ResponsePart]] = []
        self._provider = provider

    async def provide_language_model_chat_information(self, silent: Any, token: Any) -> Any:
        return await self._provider.provide_language_model_chat_information(silent, token)

    async def provide_language_model_chat_response(
        self, model: Any, messages: Any, options: Any, progress: Any, token: Any
    ) -> None:
        parts: list[ResponsePart] = []
        self.answers.append(parts)
        noted = Noted(progress, parts)
        await self._provider.provide_language_model_chat_response(model, messages, options, noted, token)

    async def provide_token_count(self, model: Any, text: Any, token: Any) -> int:
        return await self._provider.provide_token_count(model, text, token)


class Noted:
    """A progress that notes the parts that it hands on."""

    def __init__(self, progress: Any, parts: list[ResponsePart]) -> None:
        self.finish, self.drain, self._progress, self._parts = progress.finish, progress.drain, progress, parts

    def report(self, part: ResponsePart, /) -> None:
        self._parts.append(part)
        self._progress.report(part)


def opaque_in(value: Any) -> set[str]:
    """The opaque texts in the metadata of thinking, of whichever wire."""
    if isinstance(value, dict):
        own = {said for name, said in value.items() if name in OPAQUE and isinstance(said, str)}
        return own.union(*map(opaque_in, value.values()))
    return set().union(*map(opaque_in, value)) if isinstance(value, list | tuple) else set()


def shown(parts: list[Any]) -> tuple[str, str, list[tuple[str, Any]]]:
    """What a person sees of an answer."""
    return (
        "".join(one.value for one in parts if isinstance(one, TextPart)),
        "".join(one.value for one in parts if isinstance(one, ThinkingPart)),
        [(one.name, one.input) for one in parts if isinstance(one, ToolCallPart)],
    )


def model(name: str) -> LanguageModelChatInformation:
    return LanguageModelChatInformation(name, name, "f", "1", 200_000, 8000)


FROM = [wire for wire in WIRES if wire.name in {"openresponses", "chat-completions", "anthropic-messages", "gemini"}]
"""The wires whose servers give state that they want back."""
SHOWN = {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}
"""What a client of Gemini asks for that wants to see thoughts."""


@pytest.mark.parametrize("upstream_wire", FROM, ids=lambda wire: f"from {wire.name}")
def test_a_session_loses_nothing(upstream_wire: Wire) -> None:
    async def test() -> None:
        async with AsyncExitStack() as stack:
            upstream = await stack.enter_async_context(ReplayUpstream(scenario=f"tools={ROUNDS}"))
            base_url = upstream.base_url_of(upstream_wire.name)
            name = MODELS[upstream_wire.name]
            behind = GatewayProvider(configuration(base_url, protocol=upstream_wire.name, models=(model(name),)))
            stack.push_async_callback(behind.aclose)
            provider = Watched(behind)
            url = await stack.enter_async_context(served(app(provider)))
            for wire in WIRES:
                request = RequestSettings(extra_body=SHOWN if wire.name == "gemini" else {})
                client = GatewayProvider(
                    configuration(url + wire.base_path, protocol=wire.name, models=(model(name),), request=request)
                )
                stack.push_async_callback(client.aclose)
                await session(client, provider, upstream, wire, name)

    run(test(), 60)


async def session(client: Any, provider: Watched, upstream: ReplayUpstream, wire: Wire, name: str) -> None:
    """A turn up to its answer: the client sees what the provider says, and all that is opaque comes back to the server
    of the model."""
    messages = [ChatMessage.system("You are an agent."), ChatMessage.user("Why does it fail?")]
    options = RequestOptions(tools=TOOLS, model_configuration={"reasoningEffort": "high"})
    opaque: set[str] = set()
    for number in range(ROUNDS + 1):
        answer = await ask(client, messages, model_id=name, options=options)
        assert answer.error is None, (wire.name, number, answer.error)
        assert shown(answer.parts) == shown(provider.answers[-1]), (wire.name, number)
        sent = dumps(upstream.requests[-1].body).decode()
        assert [one for one in opaque if one not in sent] == [], (wire.name, number)
        opaque |= opaque_in([one.metadata for one in provider.answers[-1] if isinstance(one, ThinkingPart)])
        messages.append(ChatMessage.assistant(answer.parts))
        calls = [one for one in answer.parts if isinstance(one, ToolCallPart)]
        messages.append(ChatMessage.user([ToolResultPart(one.call_id, (TextPart(f"{one.input}"),)) for one in calls]))
    assert not calls


def test_a_client_that_drops_all_but_text_and_calls_costs_the_model_nothing() -> None:
    """As libraries build the history of Chat Completions; the server remembers the state for its caller."""

    async def test() -> None:
        async with AsyncExitStack() as stack:
            upstream = await stack.enter_async_context(ReplayUpstream(scenario=f"tools={ROUNDS}"))
            base_url = upstream.base_url_of("anthropic-messages")
            behind = GatewayProvider(
                configuration(base_url, protocol="anthropic-messages", models=(model("claude-opus-5"),))
            )
            stack.push_async_callback(behind.aclose)
            for bytes_kept, comes_back in ((32 * 1024 * 1024, True), (0, False)):
                settings = ServingSettings(thinking_bytes=bytes_kept)
                assert await _sent_back(app(behind, settings), upstream) is comes_back

    run(test())


async def _sent_back(application: ServingApp, upstream: ReplayUpstream) -> bool:
    """Whether the signed thinking of the first answer is in the second request of a client that drops it."""
    tool = TOOLS[0]
    function = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Why does it fail?"}]
    body = {"model": "claude-opus-5", "tools": [{"type": "function", "function": function}], "reasoning_effort": "high"}
    for _ in range(2):
        reply = await ask_application(application, "/v1/chat/completions", {**body, "messages": messages})
        assert reply.status == 200, reply.body
        said = reply.json["choices"][0]["message"]
        calls = [{name: one[name] for name in ("id", "type", "function")} for one in said["tool_calls"]]
        messages.append({"role": "assistant", "content": said["content"], "tool_calls": calls})
        messages += [{"role": "tool", "tool_call_id": one["id"], "content": "x = 1"} for one in calls]
    blocks = [one for message in upstream.requests[-1].body["messages"] for one in message["content"]]
    return any(isinstance(one, dict) and one.get("signature") for one in blocks)
