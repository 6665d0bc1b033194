"""How an answer ended, as its consumer reads it: usage, finish reason, and the whole of it."""

import asyncio

import pytest
from scripted import HELLO, Request, answers, model_with, run

from partstream import (
    CancellationTokenSource,
    ChatMessage,
    FinishReason,
    LanguageModelError,
    LanguageModels,
    TextPart,
    Tool,
    ToolCallPart,
    UnifiedFinishReason,
    Usage,
)
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.provider import FinishingProgress
from partstream.runtime.simple import chat_model
from partstream.runtime.tool_loop import ToolFunction, run_tool_loop

STOP = FinishReason(UnifiedFinishReason.STOP, "done")
FINISH = Finish(Outcome.COMPLETED, STOP, Usage(10, 2, 12), "resp_1", "m-1", provider_metadata={"p": {"tier": "fast"}})


async def ending(request: Request) -> None:
    """Reports a text, then how the answer ended."""
    assert isinstance(request.progress, FinishingProgress)
    request.report(TextPart("Hi"))
    request.progress.finish(FINISH)


def test_a_response_has_its_usage_its_finish_reason_and_all_else_that_was_said() -> None:
    async def scenario() -> None:
        response = await (await model_with(ending)).send_request(HELLO)
        assert await response.read_text() == "Hi"
        assert response.finish == FINISH
        assert response.usage == Usage(10, 2, 12)
        assert response.finish_reason == STOP

    run(scenario())


def test_before_the_end_of_the_answer_nothing_is_known_of_it() -> None:
    async def scenario() -> None:
        may_end = asyncio.Event()

        async def slow(request: Request) -> None:
            request.report(TextPart("Hi"))
            await may_end.wait()
            request.progress.finish(FINISH)

        response = await (await model_with(slow)).send_request(HELLO)
        async for _ in response.stream:
            assert (response.finish, response.usage, response.finish_reason) == (None, None, None)
            may_end.set()
        assert response.finish == FINISH

    run(scenario())


def test_of_a_provider_that_says_nothing_nothing_is_known() -> None:
    async def scenario() -> None:
        answer, _ = answers([TextPart("Hi")])
        response = await (await model_with(answer)).send_request(HELLO)
        await response.read_text()
        assert (response.finish, response.usage, response.finish_reason) == (None, None, None)

    run(scenario())


def test_a_response_that_fails_has_its_end_too() -> None:
    async def scenario() -> None:
        error = LanguageModelError("broken")
        failed = Finish(Outcome.FAILED, usage=Usage(10), error=error)

        async def failing(request: Request) -> None:
            request.report(TextPart("so far"))
            request.progress.finish(failed)
            raise error

        response = await (await model_with(failing)).send_request(HELLO)
        with pytest.raises(LanguageModelError):
            await response.read_text()
        assert response.finish == failed
        assert response.usage == Usage(10)

    run(scenario())


def test_what_a_provider_says_of_the_end_after_a_cancellation_is_dropped() -> None:
    async def scenario() -> None:
        source, said = CancellationTokenSource(), asyncio.Event()

        async def late(request: Request) -> None:
            request.report(TextPart("Hi"))
            try:
                await asyncio.Event().wait()
            finally:
                request.progress.finish(FINISH)
                said.set()

        response = await (await model_with(late)).send_request(HELLO, token=source.token)
        async for _ in response.stream:
            source.cancel()
        await said.wait()
        assert response.finish is None
        await response.aclose()

    run(scenario())


def test_of_several_ends_the_last_counts() -> None:
    async def scenario() -> None:
        async def twice(request: Request) -> None:
            request.progress.finish(Finish(Outcome.COMPLETED))
            await ending(request)

        response = await (await model_with(twice)).send_request(HELLO)
        await response.read_text()
        assert response.finish == FINISH

    run(scenario())


def test_an_end_that_is_none_is_an_error_of_the_provider() -> None:
    async def scenario() -> None:
        async def wrong(request: Request) -> None:
            request.report(TextPart("Hi"))
            request.progress.finish("stop")

        response = await (await model_with(wrong)).send_request(HELLO)
        with pytest.raises(LanguageModelError, match="got a str, expected a partstream"):
            await response.read_text()

    run(scenario())


def test_a_plain_function_says_the_end_by_yielding_it() -> None:
    @chat_model(name="Plain")
    async def provider(messages, options):
        yield "Hi"
        yield FINISH

    async def scenario() -> None:
        models = LanguageModels()
        models.register_language_model_chat_provider("test", provider)
        (model,) = await models.select_chat_models()
        response = await model.send_request(HELLO)
        assert await response.read_text() == "Hi"
        assert response.finish == FINISH

    run(scenario())


def test_a_tool_loop_leaves_the_end_of_its_last_answer() -> None:
    async def scenario() -> None:
        async def answer(request: Request) -> None:
            if len(request.messages) == 1:
                request.report(ToolCallPart("c", "look", {}))
                request.progress.finish(Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.TOOL_CALLS)))
            else:
                await ending(request)

        look = ToolFunction(Tool("look", "Looks."), lambda tool_input: "nothing")
        result = await run_tool_loop(await model_with(answer), [ChatMessage.user("?")], [look])
        assert result.finish == FINISH

    run(scenario())
