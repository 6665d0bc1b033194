"""Cancelling a request at every point, providers that do not listen, late reports, and the contract's watch."""

import asyncio
import logging

import pytest
import scripted
from hypothesis import given
from hypothesis import strategies as st
from scripted import HELLO, Request, answers, model_with, read_into, run, until

from partstream import CancellationTokenSource, LanguageModelError, ResponsePart, TextPart, ToolCallPart
from partstream.errors import ContractViolationError, ProviderStuckError
from partstream.lm.contract import RULES, CheckMode
from partstream.lm.parts import unchecked_part
from partstream.runtime.requests import ConsumerLimits
from rows import one_test_for

TEXTS = [TextPart(letter) for letter in "abcd"]


async def polite(request: Request) -> None:
    """Looks at its token and resolves."""
    for part in TEXTS:
        await asyncio.sleep(0)
        if request.token.is_cancellation_requested:
            return
        request.report(part)
    stopped = asyncio.Event()
    request.token.on_cancellation_requested(stopped.set)
    await stopped.wait()


async def deaf(request: Request) -> None:
    """Never looks at its token."""
    for part in TEXTS:
        await asyncio.sleep(0)
        request.report(part)
    await asyncio.Event().wait()


async def hasty(request: Request) -> None:
    """Reports everything at once, so that parts wait in the buffer."""
    request.report(*TEXTS)
    await asyncio.Event().wait()


async def talkative(request: Request) -> None:
    """Goes on reporting after the cancellation, and also while it is being stopped."""
    try:
        await deaf(request)
    finally:
        request.report(TextPart("late"))


async def angry(request: Request) -> None:
    """Answers a cancellation with an error."""
    try:
        await deaf(request)
    except asyncio.CancelledError:
        raise ConnectionError("closed") from None


PROVIDERS = [polite, deaf, hasty, talkative, angry]


@one_test_for("answer", PROVIDERS)
@one_test_for("count", range(len(TEXTS) + 1))
def test_cancelling_ends_the_stream_at_once_and_normally_and_nothing_comes_after_it(answer, count: int) -> None:
    async def scenario() -> None:
        source = CancellationTokenSource()
        model = await model_with(answer, on_violation=lambda *_: None, on_provider_error=lambda *_: None)
        response = await model.send_request(HELLO, token=source.token)
        received: list[ResponsePart] = []
        stream = response.stream
        while len(received) < count:
            received.append(await anext(stream))
        source.cancel()
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        assert received == TEXTS[:count]
        assert response.is_cancelled
        at_the_end = response.parts
        await response.aclose()
        assert response.parts == at_the_end
        assert await response.read_text() == "".join(part.value for part in at_the_end)
        assert [part async for part in response.stream] == []

    run(scenario())


def test_a_reader_that_waits_is_released_before_the_provider_is_gone() -> None:
    async def scenario() -> None:
        source = CancellationTokenSource()
        gone = asyncio.Event()

        async def answer(request: Request) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                gone.set()

        response = await (await model_with(answer)).send_request(HELLO, token=source.token)
        reading = asyncio.create_task(response.read_text())
        await asyncio.sleep(0)
        source.cancel()
        assert await reading == ""
        assert not gone.is_set()
        await gone.wait()

    run(scenario())


def test_a_provider_that_resolves_on_its_token_is_not_interrupted() -> None:
    async def scenario() -> None:
        source = CancellationTokenSource()
        ended: list[str] = []

        async def answer(request: Request) -> None:
            stopped = asyncio.Event()
            request.token.on_cancellation_requested(stopped.set)
            await stopped.wait()
            await asyncio.sleep(0)
            ended.append("resolved")

        response = await (await model_with(answer)).send_request(HELLO, token=source.token)
        await asyncio.sleep(0)
        source.cancel()
        await response.aclose()
        assert ended == ["resolved"]

    run(scenario())


def test_a_request_whose_token_was_cancelled_before_never_reaches_the_provider() -> None:
    async def scenario() -> None:
        source = CancellationTokenSource()
        source.cancel()
        answer, requests = answers(TEXTS)
        response = await (await model_with(answer)).send_request(HELLO, token=source.token)
        assert [part async for part in response.stream] == []
        assert response.is_cancelled
        await response.aclose()
        assert requests == []

    run(scenario())


def test_what_nobody_has_read_is_not_delivered_after_a_cancellation_even_when_the_provider_is_done() -> None:
    async def scenario() -> None:
        source = CancellationTokenSource()

        async def answer(request: Request) -> None:
            request.report(*TEXTS)

        response = await (await model_with(answer)).send_request(HELLO, token=source.token)
        await until(lambda: response.parts)
        stream = response.stream
        assert await anext(stream) == TEXTS[0]
        source.cancel()
        assert [part async for part in stream] == []
        assert response.is_cancelled
        assert response.parts == tuple(TEXTS)

    run(scenario())


def test_an_error_that_nobody_has_read_when_the_consumer_cancels_is_reported() -> None:
    async def scenario() -> None:
        source = CancellationTokenSource()
        reported: list[Exception] = []
        error = LanguageModelError("broken")

        async def answer(request: Request) -> None:
            request.report(TEXTS[0])
            raise error

        model = await model_with(answer, on_provider_error=lambda _, failure: reported.append(failure))
        response = await model.send_request(HELLO, token=source.token)
        await until(lambda: response.parts)
        source.cancel()
        assert await response.read_text() == "a"
        assert reported == [error]

    run(scenario())


def test_a_call_of_a_tool_that_does_not_exist_reaches_the_consumer_who_can_tell_the_model() -> None:
    async def scenario() -> None:
        answer, _ = answers([UNKNOWN_CALL])
        response = await (await model_with(answer)).send_request(HELLO)
        assert [part async for part in response.stream] == [UNKNOWN_CALL]

    run(scenario())


def test_cancelling_after_the_end_was_read_changes_nothing() -> None:
    async def scenario() -> None:
        source = CancellationTokenSource()
        answer, requests = answers(TEXTS)
        response = await (await model_with(answer)).send_request(HELLO, token=source.token)
        assert await response.read_text() == "abcd"
        source.cancel()
        assert [part async for part in response.stream] == TEXTS
        assert not response.is_cancelled
        assert not requests[0].token.is_cancellation_requested

    run(scenario())


def test_a_token_that_outlives_its_requests_keeps_no_listener_of_them() -> None:
    async def scenario() -> None:
        source = CancellationTokenSource()
        answer, _ = answers(TEXTS, TEXTS)
        model = await model_with(answer)
        for _ in range(2):
            await (await model.send_request(HELLO, token=source.token)).read_text()
            await asyncio.sleep(0)
        assert len(source.token._emitter._listeners) == 0

    run(scenario())


def test_a_provider_that_cannot_be_stopped_is_reported_and_waited_for_no_longer_than_the_limit() -> None:
    async def scenario() -> None:
        let_go = asyncio.Event()
        reported: list[tuple[str, Exception]] = []

        async def answer(request: Request) -> None:
            while not let_go.is_set():
                try:
                    await let_go.wait()
                except asyncio.CancelledError:
                    continue

        model = await model_with(
            answer,
            on_provider_error=lambda *report: reported.append(report),
            limits=ConsumerLimits(cancel_grace_seconds=0.01, cancel_seconds=0.01),
        )
        response = await model.send_request(HELLO)
        await asyncio.sleep(0)
        await response.aclose()
        ((vendor, error),) = reported
        assert isinstance(error, ProviderStuckError)
        assert (vendor, error.vendor, error.model_id, error.seconds) == ("test", "test", "small", 0.01)
        let_go.set()

    run(scenario())


def test_an_error_after_the_cancellation_is_reported_because_nobody_reads_it() -> None:
    async def scenario() -> None:
        reported: list[Exception] = []
        violations: list[str] = []
        model = await model_with(
            angry,
            on_provider_error=lambda _, error: reported.append(error),
            on_violation=lambda vendor, model_id, violation: violations.append(violation.rule.id),
        )
        response = await model.send_request(HELLO)
        await anext(response.stream)
        await response.aclose()
        (error,) = reported
        assert isinstance(error.__cause__, ConnectionError)
        assert "cancellation.resolves" in violations

    run(scenario())


def test_a_cancellation_listener_of_the_provider_that_raises_does_not_reach_whoever_cancels() -> None:
    async def scenario() -> None:
        source = CancellationTokenSource()
        reported: list[Exception] = []

        def raising() -> None:
            raise OSError("cannot close")

        async def answer(request: Request) -> None:
            request.token.on_cancellation_requested(raising)
            await deaf(request)

        model = await model_with(answer, on_provider_error=lambda _, error: reported.append(error))
        response = await model.send_request(HELLO, token=source.token)
        await anext(response.stream)
        source.cancel()
        await response.aclose()
        assert [type(error) for error in reported] == [OSError]

    run(scenario())


@pytest.mark.parametrize("fails", [False, True])
def test_a_report_after_the_end_is_dropped_and_told(fails: bool) -> None:
    async def scenario() -> None:
        violations: list[tuple[str, str, str]] = []
        kept: list[Request] = []

        async def answer(request: Request) -> None:
            kept.append(request)
            request.report(TextPart("in time"))
            if fails:
                raise LanguageModelError("over")

        model = await model_with(
            answer,
            on_violation=lambda vendor, model_id, found: violations.append((vendor, model_id, found.rule.id)),
        )
        response = await model.send_request(HELLO)
        await until(lambda: kept)
        await asyncio.sleep(0)
        kept[0].report(TextPart("late"))
        assert response.parts == (TextPart("in time"),)
        assert violations == [("test", "small", "stream.nothing-after-completion")]

    run(scenario())


UNKNOWN_CALL = ToolCallPart("c1", "nobody", {})
CALL_WITHOUT_ID = unchecked_part(ToolCallPart, "", "nobody", {})


def test_a_part_that_breaks_the_contract_is_dropped_and_its_rule_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        parts = [TextPart("a"), CALL_WITHOUT_ID, CALL_WITHOUT_ID, TextPart("b")]
        answer, _ = answers(parts, parts)
        model = await model_with(answer)
        for _ in range(2):
            response = await model.send_request(HELLO)
            assert [part async for part in response.stream] == [TextPart("a"), TextPart("b")]

    with caplog.at_level(logging.WARNING, "partstream.consumer"):
        run(scenario())
    (line,) = caplog.messages
    assert line.startswith(f"test/small broke the rule tool-call.non-empty-call-id at {scripted.__file__}:")
    assert RULES["tool-call.non-empty-call-id"].text in line


async def _reports_a_bad_part(request: Request) -> None:
    request.report(TextPart("a"), UNKNOWN_CALL)


async def _hides_the_error(request: Request) -> None:
    request.report(TextPart("a"))
    try:
        request.report(UNKNOWN_CALL)
    except ContractViolationError:
        request.report(TextPart("as if nothing had happened"))


async def _answers_nothing(request: Request) -> None:
    await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("answer", "before"),
    [(_reports_a_bad_part, [TextPart("a")]), (_hides_the_error, [TextPart("a")]), (_answers_nothing, [])],
)
def test_in_strict_mode_a_broken_rule_reaches_the_consumer_after_the_good_parts(answer, before) -> None:
    async def scenario() -> None:
        model = await model_with(answer, contract_mode=CheckMode.STRICT, on_violation=lambda *_: None)
        response = await model.send_request(HELLO)
        received: list[ResponsePart] = []
        with pytest.raises(ContractViolationError) as caught:
            await read_into(received, response)
        assert received == before
        assert caught.value.rule_id

    run(scenario())


@given(cancel_at=st.integers(0, 12), answer=st.sampled_from(PROVIDERS))
def test_cancelling_in_any_turn_of_the_loop_delivers_a_beginning_of_the_answer(cancel_at: int, answer) -> None:
    async def scenario() -> None:
        source = CancellationTokenSource()
        model = await model_with(answer, on_violation=lambda *_: None, on_provider_error=lambda *_: None)
        response = await model.send_request(HELLO, token=source.token)
        received: list[ResponsePart] = []
        reading = asyncio.create_task(read_into(received, response))
        for _ in range(cancel_at):
            await asyncio.sleep(0)
        source.cancel()
        count = len(received)
        await reading
        assert received == TEXTS[:count]

    run(scenario())
