"""The tool loop of section 7.3, from no call to calls that never end."""

import asyncio
import threading
from contextlib import aclosing

import pytest
from scripted import HELLO, Request, answers, model_with, run, until

from partstream import (
    CancellationTokenSource,
    ChatMessage,
    DataPart,
    LanguageModelError,
    RequestOptions,
    ResponsePart,
    TextPart,
    ThinkingPart,
    Tool,
    ToolCallPart,
    ToolMode,
    ToolResultPart,
    run_tool_loop,
)
from partstream.errors import CallerError, ToolRoundLimitError
from partstream.runtime.tool_loop import (
    LoopFinished,
    PartReceived,
    RoundStarted,
    ToolCallStarted,
    ToolFunction,
    ToolResultReceived,
    stream_tool_loop,
)


async def _look(tool_input):
    return f"{tool_input['at']} is clear"


async def _fall(tool_input):
    raise OSError("fell")


LOOK = ToolFunction(Tool("look", "Looks."), _look)
FALL = ToolFunction(Tool("fall", "Falls."), _fall)
SKY = ToolCallPart("c1", "look", {"at": "sky"})
SEA = ToolCallPart("c2", "look", {"at": "sea"})
SKY_RESULT = ToolResultPart("c1", (TextPart("sky is clear"),))
SEA_RESULT = ToolResultPart("c2", (TextPart("sea is clear"),))
FELL = ToolCallPart("c3", "fall", {})
FELL_RESULT = ToolResultPart("c3", (TextPart("The tool 'fall' failed with OSError: fell"),), is_error=True)
DONE = [TextPart("Do"), TextPart("ne.")]
DONE_MESSAGE = ChatMessage.assistant("Done.")
THOUGHT = ThinkingPart("Hm", "r1", {"signature": "s"})
INVENTED = ToolCallPart("c4", "listen", {})
INVENTED_RESULT = ToolResultPart(
    "c4", (TextPart("The tool 'listen' does not exist. Available tools: look, fall."),), is_error=True
)

# What the model reports in each round, and the messages that the loop adds.
LOOPS = {
    "no calls": ([DONE], [DONE_MESSAGE]),
    "one call": ([[SKY], DONE], [ChatMessage.assistant([SKY]), ChatMessage.user([SKY_RESULT]), DONE_MESSAGE]),
    "parallel calls amid text and thinking": (
        [[THOUGHT, TextPart("Let me "), TextPart("look."), SKY, SEA, DataPart.json({}, "usage")], DONE],
        [
            ChatMessage.assistant([THOUGHT, TextPart("Let me look."), SKY, SEA]),
            ChatMessage.user([SKY_RESULT, SEA_RESULT]),
            DONE_MESSAGE,
        ],
    ),
    "two rounds of calls": (
        [[SKY], [SEA], DONE],
        [
            ChatMessage.assistant([SKY]),
            ChatMessage.user([SKY_RESULT]),
            ChatMessage.assistant([SEA]),
            ChatMessage.user([SEA_RESULT]),
            DONE_MESSAGE,
        ],
    ),
    "a tool that raises beside one that does not": (
        [[FELL, SKY], DONE],
        [ChatMessage.assistant([FELL, SKY]), ChatMessage.user([FELL_RESULT, SKY_RESULT]), DONE_MESSAGE],
    ),
    "a tool that does not exist": (
        [[INVENTED, SKY], DONE],
        [ChatMessage.assistant([INVENTED, SKY]), ChatMessage.user([INVENTED_RESULT, SKY_RESULT]), DONE_MESSAGE],
    ),
    "no answer after the results": (
        [[SKY], [ThinkingPart("")]],
        [ChatMessage.assistant([SKY]), ChatMessage.user([SKY_RESULT]), ChatMessage.assistant([ThinkingPart("")])],
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_the_loop_goes_on_until_the_model_calls_no_tool(name: str) -> None:
    rounds, added = LOOPS[name]

    async def scenario() -> None:
        answer, requests = answers(*rounds)
        seen: list[ResponsePart] = []
        model = await model_with(answer, on_violation=lambda *_: None)
        result = await run_tool_loop(model, HELLO, [LOOK, FALL], on_part=seen.append)
        assert list(result.messages) == [*HELLO, *added]
        assert result.rounds == len(rounds) == len(requests)
        assert result.text == "".join(part.value for part in rounds[-1] if isinstance(part, TextPart))
        assert not result.is_cancelled
        assert seen == [part for parts in rounds for part in parts]
        # Each request holds all that was said before it: two messages more than the last one.
        for number, request in enumerate(requests):
            assert list(request.messages) == [*HELLO, *added][: 1 + 2 * number]
            assert request.options.tools == (LOOK.tool, FALL.tool)

    run(scenario())


def test_usage_parts_of_all_rounds_are_kept() -> None:
    async def scenario() -> None:
        usage = [DataPart.json({"total_tokens": count}, "usage") for count in (1, 2)]
        answer, _ = answers([SKY, usage[0]], [*DONE, DataPart.json({}), usage[1]])
        result = await run_tool_loop(await model_with(answer), HELLO, [LOOK])
        assert result.usage_parts == tuple(usage)

    run(scenario())


def test_calls_of_one_response_run_at_the_same_time_and_results_keep_the_order_of_the_calls() -> None:
    async def scenario() -> None:
        meeting = asyncio.Barrier(2)
        sky_may_end = asyncio.Event()

        async def look(tool_input):
            await meeting.wait()
            if tool_input["at"] == "sky":
                await sky_may_end.wait()
            return tool_input["at"]

        answer, requests = answers([SKY, SEA], DONE)
        tools = [ToolFunction(LOOK.tool, look)]
        ended: list[str] = []
        async for event in stream_tool_loop(await model_with(answer), HELLO, tools):
            if isinstance(event, ToolResultReceived):
                ended.append(event.call.call_id)
                sky_may_end.set()
        assert ended == ["c2", "c1"], "the event says it as soon as a tool is done"
        assert [part.call_id for part in requests[1].messages[-1].content] == ["c1", "c2"]

    run(scenario())


def test_plain_functions_run_at_the_same_time_too() -> None:
    async def scenario() -> None:
        meeting = threading.Barrier(2, timeout=30)

        def look(tool_input):
            meeting.wait()
            return "met"

        answer, requests = answers([SKY, SEA], DONE)
        await run_tool_loop(await model_with(answer), HELLO, [ToolFunction(LOOK.tool, look)])
        assert [part.content for part in requests[1].messages[-1].content] == [(TextPart("met"),)] * 2

    run(scenario())


def test_the_events_tell_what_happens_in_its_order() -> None:
    async def scenario() -> None:
        answer, _ = answers([FELL], DONE)
        events = [event async for event in stream_tool_loop(await model_with(answer), HELLO, [FALL])]
        assert [type(event) for event in events] == [
            RoundStarted,
            PartReceived,
            ToolCallStarted,
            ToolResultReceived,
            RoundStarted,
            PartReceived,
            PartReceived,
            LoopFinished,
        ]
        first, part, started, received, second, *_, finished = events
        assert (first.number, first.messages) == (1, tuple(HELLO))
        assert part.part == started.call == received.call == FELL
        assert received.result == FELL_RESULT
        assert isinstance(received.error, OSError)
        assert (second.number, len(second.messages)) == (2, 3)
        assert finished.result.text == "Done."

    run(scenario())


def test_a_required_tool_call_is_required_in_the_first_round_only() -> None:
    async def scenario() -> None:
        answer, requests = answers([SKY], DONE)
        options = RequestOptions(tool_mode=ToolMode.REQUIRED, model_options={"temperature": 0})
        await run_tool_loop(await model_with(answer), HELLO, [LOOK], options)
        assert [request.options.tool_mode for request in requests] == [ToolMode.REQUIRED, ToolMode.AUTO]
        assert all(request.options.model_options == {"temperature": 0} for request in requests)

    run(scenario())


@pytest.mark.parametrize("max_rounds", [1, 3])
def test_a_model_that_never_stops_calling_ends_in_an_error_and_its_last_calls_are_not_executed(max_rounds) -> None:
    async def scenario() -> None:
        executed: list[object] = []
        answer, requests = answers(*[[SKY, SEA]] * (max_rounds + 1))
        tools = [ToolFunction(LOOK.tool, executed.append)]
        with pytest.raises(ToolRoundLimitError) as caught:
            await run_tool_loop(await model_with(answer), HELLO, tools, max_rounds=max_rounds)
        assert caught.value.max_rounds == max_rounds == len(requests)
        assert caught.value.pending == ("look", "look")
        assert len(executed) == 2 * (max_rounds - 1)

    run(scenario())


def test_a_failed_request_ends_the_loop_after_its_parts() -> None:
    async def scenario() -> None:
        async def answer(request: Request) -> None:
            request.report(TextPart("a"), SKY)
            raise LanguageModelError("broken")

        seen: list[ResponsePart] = []
        with pytest.raises(LanguageModelError, match="broken"):
            await run_tool_loop(await model_with(answer), HELLO, [LOOK], on_part=seen.append)
        assert seen == [TextPart("a"), SKY]

    run(scenario())


MISTAKES = [
    ({"max_rounds": 0}, "max_rounds: got 0"),
    ({"options": RequestOptions(tools=(LOOK.tool,))}, "options.tools"),
    ({"tools": [LOOK, FALL, LOOK]}, "tools: got look more than once"),
]


@pytest.mark.parametrize(("mistake", "sentence"), MISTAKES)
def test_arguments_that_contradict_each_other_are_refused_before_anything_is_sent(mistake, sentence) -> None:
    async def scenario() -> None:
        answer, requests = answers(DONE)
        with pytest.raises(CallerError, match=sentence):
            await run_tool_loop(await model_with(answer), HELLO, **{"tools": [LOOK], **mistake})
        assert requests == []

    run(scenario())


CANCELLED_LOOP = [[TextPart("a"), TextPart("b"), SKY, SEA], DONE]


def test_the_loop_can_be_cancelled_at_every_event_and_ends_at_once_and_normally() -> None:
    async def cancelled_at(count: int) -> bool:
        source = CancellationTokenSource()
        answer, requests = answers(*CANCELLED_LOOP)
        events = []
        async for event in stream_tool_loop(await model_with(answer), HELLO, [LOOK], token=source.token):
            events.append(event)
            if len(events) == count:
                source.cancel()
        finished = events[-1]
        assert isinstance(finished, LoopFinished)
        if len(events) == count:
            return False  # It was over before.
        assert len(events) == count + 1, "nothing but the end comes after the cancellation"
        result = finished.result
        assert result.is_cancelled
        assert result.rounds == sum(isinstance(event, RoundStarted) for event in events)
        assert len(requests) <= result.rounds
        called = [part.call_id for m in result.messages for part in m.content if isinstance(part, ToolCallPart)]
        answered = [part.call_id for m in result.messages for part in m.content if isinstance(part, ToolResultPart)]
        assert called == answered, "a conversation with open calls could not be continued"
        return True

    async def scenario() -> None:
        count = 1
        while await cancelled_at(count):
            count += 1
        assert count == 1 + 4 + 2 + 2 + 1 + 2 + 1

    run(scenario())


def test_a_token_that_outlives_the_loop_keeps_no_listener_of_it() -> None:
    async def scenario() -> None:
        source = CancellationTokenSource()
        answer, _ = answers([SKY, SEA], DONE)
        await run_tool_loop(await model_with(answer), HELLO, [LOOK], token=source.token)
        assert len(source.token._emitter._listeners) == 0

    run(scenario())


def test_cancelling_stops_a_tool_that_runs_and_keeps_the_results_that_came() -> None:
    async def scenario() -> None:
        source = CancellationTokenSource()
        stopped: list[str] = []

        async def look(tool_input):
            if tool_input["at"] == "sky":
                return "sky is clear"
            try:
                await asyncio.Event().wait()
            finally:
                stopped.append(tool_input["at"])

        answer, requests = answers([TextPart("a"), SKY, SEA])
        tools = [ToolFunction(LOOK.tool, look)]
        result = None
        async for event in stream_tool_loop(await model_with(answer), HELLO, tools, token=source.token):
            if isinstance(event, ToolResultReceived):
                source.cancel()
            elif isinstance(event, LoopFinished):
                result = event.result
        assert stopped == ["sea"]
        assert result.is_cancelled
        assert result.text == "a"
        assert result.messages[1:] == (
            ChatMessage.assistant([TextPart("a"), SKY]),
            ChatMessage.user([SKY_RESULT]),
        )
        assert len(requests) == 1

    run(scenario())


def test_a_plain_function_that_still_runs_does_not_hold_up_the_cancellation() -> None:
    async def scenario() -> None:
        source = CancellationTokenSource()
        let_go = threading.Event()
        began = threading.Event()

        def look(tool_input):
            began.set()
            let_go.wait(10)

        answer, _ = answers([SKY])
        model = await model_with(answer)
        looping = asyncio.create_task(run_tool_loop(model, HELLO, [ToolFunction(LOOK.tool, look)], token=source.token))
        await until(began.is_set)
        source.cancel()
        result = await looping
        assert result.is_cancelled
        assert not let_go.is_set()
        let_go.set()

    run(scenario())


def test_leaving_the_loop_early_stops_its_tools() -> None:
    async def scenario() -> None:
        stopped: list[str] = []

        async def look(tool_input):
            try:
                await asyncio.Event().wait()
            finally:
                stopped.append(tool_input["at"])

        answer, _ = answers([SKY])
        model = await model_with(answer)
        async with aclosing(stream_tool_loop(model, HELLO, [ToolFunction(LOOK.tool, look)])) as events:
            async for event in events:
                if isinstance(event, ToolCallStarted):
                    await asyncio.sleep(0)
                    break
        assert stopped == ["sky"]

    run(scenario())


def test_leaving_the_loop_early_cancels_its_request() -> None:
    async def scenario() -> None:
        requests: list[Request] = []

        async def answer(request: Request) -> None:
            requests.append(request)
            request.report(TextPart("a"))
            await asyncio.Event().wait()

        async with aclosing(stream_tool_loop(await model_with(answer), HELLO, [])) as events:
            async for event in events:
                if isinstance(event, PartReceived):
                    break
        assert requests[0].token.is_cancellation_requested

    run(scenario())
