"""What a model passes to its provider, and what it refuses."""

import asyncio

import pytest
from scripted import HELLO, MODEL, Request, answers, model_with, run

from partstream import (
    CancellationTokenSource,
    ChatMessage,
    LanguageModelError,
    RequestOptions,
    TextPart,
    Tool,
    ToolMode,
)
from partstream.errors import CallerError


def test_the_provider_gets_the_very_model_that_it_listed_and_what_the_consumer_sent() -> None:
    async def scenario() -> None:
        answer, requests = answers([TextPart("Hi")])
        options = RequestOptions(tools=(Tool("look", "Looks."),), tool_mode=ToolMode.REQUIRED)
        messages = list(HELLO)
        response = await (await model_with(answer)).send_request(messages, options)
        messages.append(ChatMessage.user("added later"))
        await response.read_text()
        (request,) = requests
        assert request.model is MODEL
        assert list(request.messages) == HELLO
        assert request.options is options
        assert not request.token.is_cancellation_requested

    run(scenario())


def test_the_provider_begins_before_anybody_reads() -> None:
    async def scenario() -> None:
        began = asyncio.Event()

        async def answer(request: Request) -> None:
            began.set()
            request.report(TextPart("Hi"))

        response = await (await model_with(answer)).send_request(HELLO)
        await began.wait()
        assert await response.read_text() == "Hi"

    run(scenario())


def test_something_that_is_not_a_message_is_refused_with_its_place() -> None:
    async def scenario() -> None:
        answer, requests = answers()
        model = await model_with(answer)
        with pytest.raises(CallerError, match=r"messages\[1\]: got 'again' \(str\), expected a ChatMessage"):
            await model.send_request([*HELLO, "again"])
        assert requests == []

    run(scenario())


def test_tokens_are_counted_by_the_provider() -> None:
    async def scenario() -> None:
        answer, _ = answers()
        model = await model_with(answer)
        assert await model.count_tokens("Hello") == 5
        assert await model.count_tokens("Hello", CancellationTokenSource().token) == 5

    run(scenario())


def test_a_count_that_fails_is_a_language_model_error_with_its_cause() -> None:
    async def scenario() -> None:
        answer, _ = answers()
        model = await model_with(answer)
        with pytest.raises(LanguageModelError, match="cannot count messages") as caught:
            await model.count_tokens(HELLO[0])
        assert isinstance(caught.value.__cause__, ValueError)

    run(scenario())
