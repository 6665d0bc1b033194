"""Reading a response: order, independence, errors, and leaving early."""

import asyncio
import gc
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import HELLO, Request, answers, model_with, read_into, run, until

from garbage import only_own_garbage
from partstream import (
    ChatMessage,
    DataPart,
    LanguageModelChat,
    LanguageModelError,
    RequestOptions,
    ResponsePart,
    TextPart,
    ThinkingPart,
    Tool,
    ToolCallPart,
)
from partstream.errors import UpstreamHTTPError
from partstream.runtime.requests import LanguageModelChatResponse

OPTIONS = RequestOptions(tools=(Tool("look", "Looks."),))
PARTS: list[ResponsePart] = [
    ThinkingPart("Hm", "r1", {"signature": "s"}),
    TextPart("Let me "),
    TextPart("look. "),
    ToolCallPart("c1", "look", {"at": "sky"}),
    DataPart.json({"total_tokens": 3}, "usage"),
    TextPart("Done."),
]


async def collect(response: LanguageModelChatResponse) -> list[ResponsePart]:
    return [part async for part in response.stream]


async def fragments(response: LanguageModelChatResponse) -> list[str]:
    return [fragment async for fragment in response.text]


def test_the_stream_gives_all_parts_in_the_order_in_which_they_were_reported() -> None:
    async def scenario() -> None:
        answer, _ = answers(PARTS)
        response = await (await model_with(answer)).send_request(HELLO, OPTIONS)
        assert await collect(response) == PARTS
        assert response.parts == tuple(PARTS)
        assert not response.is_cancelled

    run(scenario())


def test_the_text_gives_the_fragments_as_they_came_and_joined() -> None:
    async def scenario() -> None:
        answer, _ = answers(PARTS)
        response = await (await model_with(answer)).send_request(HELLO, OPTIONS)
        assert await fragments(response) == ["Let me ", "look. ", "Done."]
        assert await response.read_text() == "Let me look. Done."

    run(scenario())


def test_stream_text_and_joined_text_are_independent_also_at_the_same_time() -> None:
    async def scenario() -> None:
        answer, _ = answers(PARTS)
        response = await (await model_with(answer)).send_request(HELLO, OPTIONS)
        parts, texts, text = await asyncio.gather(collect(response), fragments(response), response.read_text())
        assert parts == PARTS
        assert "".join(texts) == text == "Let me look. Done."
        assert await collect(response) == PARTS, "a response can be read again"

    run(scenario())


def test_a_part_is_delivered_before_the_next_one_exists() -> None:
    async def scenario() -> None:
        received: list[ResponsePart] = []

        async def answer(request: Request) -> None:
            for count, part in enumerate(PARTS):
                await until(lambda count=count: len(received) == count)
                request.report(part)

        response = await (await model_with(answer)).send_request(HELLO, OPTIONS)
        async for part in response.stream:
            received.append(part)
        assert received == PARTS

    run(scenario())


class OddError(Exception):
    pass


ERRORS = [
    (UpstreamHTTPError(429, retry_after=3.0), None),
    (LanguageModelError("refused"), None),
    (OddError("boom"), OddError),
    (OddError(), OddError),
    (asyncio.CancelledError("by its own code"), asyncio.CancelledError),
]


@pytest.mark.parametrize(("error", "cause"), ERRORS)
@pytest.mark.parametrize("count", [0, 1, len(PARTS)])
def test_an_error_is_raised_after_the_parts_before_it_by_everything_that_reads(error, cause, count: int) -> None:
    async def scenario() -> None:
        async def answer(request: Request) -> None:
            request.report(*PARTS[:count])
            raise error

        response = await (await model_with(answer, on_violation=lambda *_: None)).send_request(HELLO, OPTIONS)
        received: list[ResponsePart] = []
        with pytest.raises(LanguageModelError) as caught:
            await read_into(received, response)
        assert received == PARTS[:count]
        assert response.parts == tuple(PARTS[:count])
        if cause is None:
            assert caught.value is error
        else:
            assert caught.value.__cause__ is error
            assert f"the provider of test failed with {cause.__name__}" in caught.value.message
        for read in (collect, fragments, LanguageModelChatResponse.read_text):
            with pytest.raises(LanguageModelError):
                await read(response)

    run(scenario())


async def endless_model(ended: list[str]) -> LanguageModelChat:
    """A model that never stops by itself, and says when it was stopped."""

    async def answer(request: Request) -> None:
        try:
            while True:
                request.report(TextPart("on "))
                await asyncio.sleep(0)
        finally:
            ended.append("cancelled" if request.token.is_cancellation_requested else "not cancelled")

    return await model_with(answer)


async def _leave_by_break(response: LanguageModelChatResponse) -> None:
    async for _ in response.stream:
        break


async def _leave_text_by_break(response: LanguageModelChatResponse) -> None:
    async for _ in response.text:
        break


async def _leave_by_closing(response: LanguageModelChatResponse) -> None:
    async with aclosing(response.stream) as parts:
        await anext(parts)


async def _leave_by_error(response: LanguageModelChatResponse) -> None:
    async def fail_at_the_first_part() -> None:
        async for _ in response.stream:
            raise OddError

    with pytest.raises(OddError):
        await fail_at_the_first_part()


async def _leave_response(response: LanguageModelChatResponse) -> None:
    async with response:
        await anext(response.stream)


async def _leave_unread(response: LanguageModelChatResponse) -> None:
    await response.aclose()
    await response.aclose()


async def _leave_by_timeout(response: LanguageModelChatResponse) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await response.read_text()


LEAVING = [
    _leave_by_break,
    _leave_text_by_break,
    _leave_by_closing,
    _leave_by_error,
    _leave_response,
    _leave_unread,
    _leave_by_timeout,
]


@pytest.mark.parametrize("leave", LEAVING)
def test_leaving_early_cancels_the_provider(leave) -> None:
    async def scenario() -> None:
        ended: list[str] = []
        response = await (await endless_model(ended)).send_request(HELLO)
        await asyncio.sleep(0)
        await leave(response)
        gc.collect()
        await until(lambda: ended)
        assert ended == ["cancelled"]
        assert response.is_cancelled
        assert await collect(response) == []

    with only_own_garbage():
        run(scenario())


def test_closing_an_iteration_waits_until_the_provider_is_gone() -> None:
    async def scenario() -> None:
        ended: list[str] = []
        response = await (await endless_model(ended)).send_request(HELLO)
        parts = response.stream
        await anext(parts)
        await parts.aclose()
        assert ended == ["cancelled"]

    run(scenario())


def test_leaving_one_iteration_does_not_end_another() -> None:
    async def scenario() -> None:
        go = asyncio.Event()

        async def answer(request: Request) -> None:
            request.report(TextPart("a"))
            await go.wait()
            request.report(TextPart("b"))

        response = await (await model_with(answer)).send_request(HELLO)
        reading = asyncio.create_task(response.read_text())
        await until(lambda: response.parts)
        await _leave_by_closing(response)
        go.set()
        assert await reading == "ab"

    run(scenario())


def test_leaving_after_the_end_is_no_cancellation() -> None:
    async def scenario() -> None:
        answer, _ = answers(PARTS)
        async with await (await model_with(answer)).send_request(HELLO, OPTIONS) as response:
            await response.read_text()
            await _leave_by_closing(response)
        assert not response.is_cancelled
        assert await collect(response) == PARTS

    run(scenario())


@given(
    scripts=st.lists(st.lists(st.integers(0, 9), max_size=5), min_size=2, max_size=3),
    order=st.lists(st.integers(0, 2), max_size=20),
)
def test_interleaved_requests_on_one_provider_never_mix(scripts: list[list[int]], order: list[int]) -> None:
    async def scenario() -> None:
        steps = [asyncio.Semaphore(0) for _ in scripts]

        async def answer(request: Request) -> None:
            number = int(request.messages[0].content[0].value)
            for value in scripts[number]:
                await steps[number].acquire()
                request.report(TextPart(f"{number}:{value} "))

        model = await model_with(answer, on_violation=lambda *_: None)
        responses = [await model.send_request([ChatMessage.user(str(number))]) for number in range(len(scripts))]
        reading = [asyncio.create_task(collect(response)) for response in responses]
        for number in [*(number % len(scripts) for number in order), *range(len(scripts))]:
            steps[number].release()
            await asyncio.sleep(0)
        for number, script in enumerate(scripts):
            for _ in script:
                steps[number].release()
        for number, parts in enumerate(await asyncio.gather(*reading)):
            assert parts == [TextPart(f"{number}:{value} ") for value in scripts[number]]

    run(scenario())
