import asyncio

import pytest

from partstream import (
    CancellationTokenSource,
    ChatMessage,
    DataPart,
    LanguageModelError,
    RequestOptions,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from partstream.outputs import Finish, Outcome
from partstream.simple import chat_model, text_of, user_request


def _answer(provider, *, cancel_after=None, progress=None):
    """The parts of an answer; cancels after so many of them."""
    source, parts = CancellationTokenSource(), []

    class Collected:
        def report(self, part):
            parts.append(part)
            if len(parts) == cancel_after:
                source.cancel()

    async def run():
        async with asyncio.timeout(30):
            [model] = await provider.provide_language_model_chat_information(True, source.token)
            await provider.provide_language_model_chat_response(
                model, [ChatMessage.user("hi")], RequestOptions(), progress or Collected(), source.token
            )

    asyncio.run(run())
    return parts


def test_text_and_parts_are_reported_as_they_are_yielded():
    @chat_model(name="M")
    async def provider(messages, options):
        yield text_of(messages[-1])
        yield ThinkingPart("hm")
        yield ToolCallPart("c", "t", {})
        yield DataPart(b"", "usage")

    assert _answer(provider) == [
        TextPart("hi"),
        ThinkingPart("hm"),
        ToolCallPart("c", "t", {}),
        DataPart(b"", "usage"),
    ]


def test_the_model_is_described_by_what_the_decorator_was_given():
    @chat_model(name="M", max_input_tokens=5, image_input=True, detail="d", tooltip="t", isUserSelectable=True)
    async def my_model(messages, options):
        yield ""

    information = my_model.information
    assert (information.id, information.name, information.family) == ("my_model", "M", "my_model")
    assert (information.max_input_tokens, information.detail, information.tooltip) == (5, "d", "t")
    assert information.capabilities.image_input
    assert information.capabilities.tool_calling
    assert information.extra == {"isUserSelectable": True}


@pytest.mark.parametrize("piece", [1, None, ToolResultPart("c")])
def test_yielding_anything_else_is_a_clear_error(piece):
    @chat_model(name="M")
    async def provider(messages, options):
        yield piece

    with pytest.raises(TypeError, match=f"the answer function yielded a {type(piece).__name__}, expected a text"):
        _answer(provider)


def test_the_error_of_a_yielded_finish_is_raised_after_the_progress_was_told():
    error = LanguageModelError("broken")

    @chat_model(name="M")
    async def provider(messages, options):
        yield "so far"
        yield Finish(Outcome.FAILED, error=error)

    told = []

    class Progress:
        def report(self, part):
            told.append(part)

        def finish(self, finish):
            told.append(finish)

    with pytest.raises(LanguageModelError, match="broken"):
        _answer(provider, progress=Progress())
    assert told == [TextPart("so far"), Finish(Outcome.FAILED, error=error)]


def test_a_yielded_finish_does_no_harm_where_nobody_takes_it():
    @chat_model(name="M")
    async def provider(messages, options):
        yield "text"
        yield Finish(Outcome.COMPLETED)

    assert _answer(provider) == [TextPart("text")]


def test_a_function_that_is_no_async_generator_is_refused():
    async def answer(messages, options):
        return "text"

    with pytest.raises(TypeError, match="got answer, expected an async generator function"):
        chat_model(name="M")(answer)


def test_cancellation_ends_the_generator_where_it_waits_and_runs_its_finally():
    ended = []

    @chat_model(name="M")
    async def provider(messages, options):
        try:
            yield "a"
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    assert _answer(provider, cancel_after=1) == [TextPart("a")]
    assert ended == [True]


def test_cancelling_the_task_itself_is_no_silent_success():
    @chat_model(name="M")
    async def provider(messages, options):
        asyncio.get_running_loop().call_soon(outer[0].cancel)
        await asyncio.Event().wait()
        yield ""

    outer = []

    async def run():
        source = CancellationTokenSource()
        call = provider.provide_language_model_chat_response(
            provider.information, [], RequestOptions(), None, source.token
        )
        outer.append(asyncio.ensure_future(call))
        await asyncio.wait(outer, timeout=30)
        assert outer[0].cancelled()

    asyncio.run(run())


def test_a_progress_that_drains_is_waited_for_after_every_part():
    said = []

    class Draining:
        def report(self, part):
            said.append(part.value)

        async def drain(self):
            said.append("drained")

    @chat_model(name="M")
    async def provider(messages, options):
        yield "a"
        yield "b"

    _answer(provider, progress=Draining())
    assert said == ["a", "drained", "b", "drained"]


@pytest.mark.parametrize(
    ("messages", "request_"),
    [
        ([], ""),
        ([ChatMessage.user("hello")], "hello"),
        ([ChatMessage.user("<context>\nnow\n</context>\n<userRequest>\nsay hi\n</userRequest>")], "say hi"),
        ([ChatMessage.user("first"), ChatMessage.user("second"), ChatMessage.assistant("answer")], "second"),
        ([ChatMessage.user("question"), ChatMessage.user([ToolResultPart("c", (TextPart("result"),))])], "question"),
    ],
    ids=["nobody spoke", "words as they are", "words inside Copilot's context", "the last ones", "before tool results"],
)
def test_the_request_of_the_person_is_found(messages, request_):
    assert user_request(messages) == request_
