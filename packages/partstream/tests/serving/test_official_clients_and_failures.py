"""The official clients act on a failure as it is meant: they repeat what may succeed, and never a spent budget."""

from __future__ import annotations
import asyncio
from typing import Any

import pytest

from partstream.errors import ContextLengthExceededError, LanguageModelError, UpstreamHTTPError
from partstream.lm.parts import TextPart
from partstream.server.application import app
from serving.providers import Driven
from serving.served import served

SPENT = UpstreamHTTPError(402, provider_message="No money is left.")
BUSY = UpstreamHTTPError(429, provider_message="Slow down.", retry_after=0.0)
LONG = ContextLengthExceededError("m", limit=200, count=215)
SAID = [{"role": "user", "content": "Hi"}]


def _failing(error: LanguageModelError, *, begun: bool = False) -> Driven:
    async def answer(progress: Any, token: Any) -> None:
        if begun:
            progress.report(TextPart("This begins"))
        raise error

    return Driven(answer)


async def _responses(client: Any, stream: bool) -> None:
    answer = await client.responses.create(model="m", input="Hi", stream=stream)
    if stream:
        async for _ in answer:
            pass


async def _chat(client: Any, stream: bool) -> None:
    answer = await client.chat.completions.create(model="m", messages=SAID, stream=stream)
    if stream:
        async for _ in answer:
            pass


async def _messages(client: Any, stream: bool) -> None:
    if not stream:
        await client.messages.create(model="m", max_tokens=9, messages=SAID)
        return
    async with client.messages.stream(model="m", max_tokens=9, messages=SAID) as answer:
        async for _ in answer:
            pass


ASKING = {"responses": _responses, "chat": _chat, "messages": _messages}


async def _ask(provider: Driven, wire: str, stream: bool) -> Any:
    """The error that the official client raises."""
    from anthropic import APIStatusError as AnthropicError
    from anthropic import AsyncAnthropic
    from openai import APIError, AsyncOpenAI

    async with served(app(provider)) as url:
        kind, base_url = (AsyncAnthropic, url) if wire == "messages" else (AsyncOpenAI, f"{url}/v1")
        async with kind(base_url=base_url, api_key="k") as client:
            with pytest.raises((AnthropicError, APIError)) as caught:
                await ASKING[wire](client, stream)
    return caught.value


@pytest.mark.parametrize(
    ("wire", "stream", "status", "code"),
    [
        ("responses", True, 429, "insufficient_quota"),
        ("chat", False, 429, "insufficient_quota"),
        ("chat", True, 429, "insufficient_quota"),
        ("messages", False, 402, "billing_error"),
        ("messages", True, 402, "billing_error"),
    ],
)
def test_a_spent_budget_is_asked_for_once(wire: str, stream: bool, status: int, code: str) -> None:
    provider = _failing(SPENT)
    error = asyncio.run(_ask(provider, wire, stream))
    assert provider.events.count("begun") == 1
    assert error.status_code == status
    said = error.body["error"]["type"] if wire == "messages" else error.code
    assert said == code
    assert "No money is left." in str(error)
    assert error.request_id


def test_a_rate_limit_is_asked_again() -> None:
    provider = _failing(BUSY)
    error = asyncio.run(_ask(provider, "chat", stream=False))
    assert provider.events.count("begun") == 3
    assert error.status_code == 429


@pytest.mark.parametrize(("wire", "said"), [("chat", "context_length_exceeded"), ("messages", "prompt is too long")])
@pytest.mark.parametrize("begun", [False, True], ids=["before the first part", "behind it"])
def test_a_conversation_that_is_too_long_is_told_in_the_words_that_clients_look_for(
    wire: str, said: str, begun: bool
) -> None:
    provider = _failing(LONG, begun=begun)
    error = asyncio.run(_ask(provider, wire, stream=True))
    assert provider.events.count("begun") == 1
    assert said in f"{error.body} {getattr(error, 'code', '')}"
