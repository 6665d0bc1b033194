"""What the short examples of the documentation take for granted, each by the name that the example gives it.

An example that shows two lines of a program says `<!-- given: NAME -->` before it; the function of that name makes the
thing that the rest of the program would have made.
"""

from __future__ import annotations
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from partstream import ChatMessage, Tool, chat_model, user_request

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from partstream import RequestOptions

PARROT = """
from partstream import chat_model, user_request

@chat_model(name="Parrot")
async def provider(messages, options):
    yield f"You said: {user_request(messages)}"
"""


@chat_model(name="Parrot")
async def _parrot(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncGenerator[str, None]:
    yield f"You said: {user_request(messages)}"


def provider() -> Any:
    return _parrot


my_provider = provider


def MyProvider() -> Any:  # noqa: N802 - the name that the page gives it
    from partstream import connect

    return connect


def LanguageModelChatProvider() -> Any:  # noqa: N802 - the same
    from partstream import LanguageModelChatProvider

    return LanguageModelChatProvider


def my_provider_py() -> None:
    """The file `my_provider.py`, in the folder where the example runs."""
    Path("my_provider.py").write_text(PARROT, encoding="utf-8")


def messages() -> list[ChatMessage]:
    return [ChatMessage.user("How warm is it in Oslo?")]


def tools() -> list[Tool]:
    return [get_weather()]


def get_weather() -> Tool:
    return Tool("get_weather", "Says the weather.", {"type": "object", "properties": {}})


def my_tokenizer() -> Any:
    class Words:
        def count(self, text: str) -> int:
            return len(text.split())

    return Words()


def token() -> str:
    return "a-token-of-a-test"


def response() -> Any:
    """An answer of a server of Chat Completions, as httpx has it."""
    import httpx2

    choice = '{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,%s}]}'
    events = [choice % '"delta":{"content":"Hi"}', choice % '"delta":{},"finish_reason":"stop"', "[DONE]"]
    body = "".join(f"data: {event}\n\n" for event in events)
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body.encode())


def chunks() -> list[dict[str, Any]]:
    """Chunks of the AI SDK, version 5."""
    return [
        {"type": "text-start", "id": "1"},
        {"type": "text-delta", "id": "1", "text": "Hi"},
        {"type": "text-end", "id": "1"},
        {"type": "finish", "finishReason": "stop", "totalUsage": {"inputTokens": 1, "outputTokens": 2}},
    ]


def data() -> bytes:
    """A file of recorded traffic in the form HAR."""
    return (
        b'{"log": {"version": "1.2", "creator": {"name": "a", "version": "1"}, "entries": [{'
        b'"startedDateTime": "2026-01-01T00:00:00.000Z", "time": 1, '
        b'"request": {"method": "POST", "url": "http://127.0.0.1/v1/chat/completions", "httpVersion": "HTTP/1.1", '
        b'"headers": [], "postData": {"mimeType": "application/json", "text": "{}"}}, '
        b'"response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "headers": [], '
        b'"content": {"size": 2, "mimeType": "application/json", "text": "{}"}}, "timings": {}}]}}'
    )


def bundle() -> Any:
    """What a file of recorded traffic holds."""
    from partstream_devtools.bundles.forms import read_any

    return read_any(data(), "answer.har")


def starlette_or_fastapi() -> Any:
    from starlette.applications import Starlette

    return Starlette()


def model() -> Any:
    """A chat model of LangChain that needs no server."""
    from langchain_core.language_models import FakeMessagesListChatModel
    from langchain_core.messages import AIMessage

    class Scripted(FakeMessagesListChatModel):
        def bind_tools(self, tools: Any, **_: Any) -> Any:
            return self

    return Scripted(responses=[AIMessage("Hello")])


def search() -> Any:
    from langchain_core.tools import tool

    @tool
    def search(query: str) -> str:
        """Searches."""
        return query

    return search


def graph() -> Any:
    from langgraph.graph import START, MessagesState, StateGraph

    made = StateGraph(MessagesState).add_node("writer", lambda state: state).add_edge(START, "writer")
    return made.compile()


def my_library() -> ModuleType:
    """The module of another project's reader of streams."""

    class StreamReader:
        asked, answered, calls = 1, 2, ()

        def read(self, data: bytes) -> list[Any]:
            return []

    module = ModuleType("my_library")
    module.StreamReader = StreamReader  # type: ignore[attr-defined]
    return module


GIVEN = frozenset({chunks, graph, messages, model, my_provider, my_tokenizer, provider, response, search, token, tools})
"""What an example is given without asking for it; what else there is, it names."""
