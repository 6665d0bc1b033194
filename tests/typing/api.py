"""The public surface as a typed program uses it: never run, checked by mypy."""

from __future__ import annotations
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import assert_type

from partstream import (
    PROTOCOLS,
    CancellationToken,
    CancellationTokenSource,
    ChatMessage,
    CheckMode,
    DataPart,
    Finish,
    FinishReason,
    GatewayConfiguration,
    GatewayProvider,
    LanguageModelChat,
    LanguageModelChatInformation,
    LanguageModelChatProvider,
    LanguageModelError,
    LanguageModels,
    Outcome,
    Progress,
    RequestOptions,
    ResponsePart,
    Role,
    StreamAdapter,
    StreamReader,
    TextPart,
    ThinkingPart,
    Tool,
    ToolCallPart,
    ToolMode,
    ToolResultContent,
    ToolResultPart,
    Usage,
    ask_sync,
    chat_model,
    connect,
    from_events,
    in_thread,
    read_stream,
)
from partstream_agents import AgentModel, as_model


class OwnProvider(LanguageModelChatProvider):
    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        return [LanguageModelChatInformation("own", "Own", "own", "1", 1000, 1000)]

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        progress.report(TextPart(model.name))
        progress.report(ToolCallPart("call", "tool", {"key": 1}))
        progress.report(DataPart.json({"key": [1]}))
        progress.report(ToolResultPart("call"))  # type: ignore[arg-type]

    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        return len(text) if isinstance(text, str) else len(text.content)


@chat_model(name="Function", isUserSelectable=False, extra={"later": 1})
async def iterator_provider(
    messages: Sequence[ChatMessage], options: RequestOptions
) -> AsyncIterator[str | ResponsePart | Finish]:
    yield "text"
    yield Finish(Outcome.COMPLETED)


@chat_model
async def bare_provider(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[str]:
    yield "text"


chat_model(name="A", tols=True)  # type: ignore[call-overload]
chat_model(name="A", max_input_tokens="x")  # type: ignore[call-overload]
ChatMessage("user", "hi")  # type: ignore[arg-type]
assert_type(ChatMessage(Role.USER, [TextPart("hi")]), ChatMessage)
assert_type(ToolResultPart("call", [TextPart("done")]).content, tuple[ToolResultContent, ...])
assert_type(RequestOptions(tools=[Tool("tool", "Does it.")]).tools, tuple[Tool, ...])
assert_type(LanguageModelError.blocked("No."), LanguageModelError)


@chat_model(name="Function")
async def function_provider(
    messages: Sequence[ChatMessage], options: RequestOptions
) -> AsyncGenerator[str | ResponsePart, None]:
    yield "text"
    yield TextPart("text")


async def consume(configuration: GatewayConfiguration) -> None:
    source = CancellationTokenSource()
    options = RequestOptions(tools=(Tool("tool", "Does it.", {"type": "object"}),), tool_mode=ToolMode.REQUIRED)
    async with LanguageModels() as models:
        models.register_language_model_chat_provider("own", OwnProvider()).dispose()
        models.register_language_model_chat_provider("function", function_provider)
        models.register_language_model_chat_provider("gateway", GatewayProvider(configuration))
        await models.select_chat_models({"vendor": "own"})
        await models.select_chat_models({"vendr": "own"})  # type: ignore[arg-type]
        found = await models.select_chat_models()
        assert_type(found, list[LanguageModelChat])
        response = await found[0].send_request([ChatMessage.user("hello")], options, source.token)
        async for part in response.stream:
            assert_type(part, ResponsePart)
        assert_type(await response.read_text(), str)
        assert_type(await found[0].count_tokens("hello"), int)


async def ask(configuration: GatewayConfiguration) -> None:
    async with connect("http://localhost:1234/v1", api_key="key", model="model") as model:
        assert_type(model, LanguageModelChat)
        assert_type(await model.ask("Hi"), str)
        response = model.stream([ChatMessage.user("Hi")])
        async for part in response:
            assert_type(part, ResponsePart)
        assert_type(response.usage, Usage | None)
        assert_type(response.finish_reason, FinishReason | None)
    async with connect(configuration, model="model") as model:
        assert_type(model.id, str)
    assert_type(await model.ask([{"role": "user", "content": "Hi"}], temperature=0, max_tokens=10), str)
    await model.ask("Hi", temprature=0)  # type: ignore[call-arg]
    connect("http://localhost:1234/v1", protocol="openai")
    connect("http://localhost:1234/v1", protocol="opnai")  # type: ignore[arg-type]
    connect("http://localhost:1234/v1", temperature=0)  # type: ignore[call-arg]
    connect("http://localhost:1234/v1").ask("Hi")  # type: ignore[attr-defined]
    assert_type(ask_sync("http://localhost:1234/v1", "Hi", model="m", temperature=0.5, stop=["."]), str)
    ask_sync("http://localhost:1234/v1", "Hi", temprature=0)  # type: ignore[call-arg]
    async with connect(iterator_provider, contract_mode=CheckMode.STRICT) as model:
        assert_type(model, LanguageModelChat)
    assert_type([piece async for piece in bare_provider([])], list[str | ResponsePart | Finish])
    async for part in StreamAdapter().adapt_stream([{"type": "finish"}]):
        assert_type(part, ResponsePart)


def read(chunks: list[bytes]) -> None:
    for part in read_stream(chunks):
        assert_type(part, TextPart | ThinkingPart | ToolCallPart | DataPart | Finish)
    read_stream(chunks, protocol="anthropic")
    read_stream(chunks, protocol=PROTOCOLS["of-another-package"])
    read_stream(chunks, protocol="antropic")  # type: ignore[call-overload]
    StreamReader("claude")
    StreamReader("cloude")  # type: ignore[arg-type]


async def agents(agent: object, stop: threading.Event) -> None:
    assert_type(
        as_model(agent, name="Agent", tools="text", host_tools=["read_file"], isUserSelectable=True), AgentModel
    )
    as_model(agent, approve=lambda approval: approval.name == "search", host_tools=lambda tool: "read" in tool.name)
    as_model(agent, approve="always")  # type: ignore[arg-type]
    async for part in from_events([{"type": "response.created"}], "openresponses"):
        assert_type(part, ResponsePart | Finish)
    async for text in in_thread(["a", "b"], stop):
        assert_type(text, str)
