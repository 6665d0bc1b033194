"""The gateway provider over real HTTP: what it reports, how it stops, and that its requests share nothing."""

import asyncio
import logging
import traceback
from dataclasses import replace

import pytest

from partstream import (
    CancellationTokenSource,
    ChatMessage,
    DataPart,
    RequestOptions,
    ResponsePart,
    TextPart,
    ThinkingPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from partstream.codec.json_codec import loads
from partstream.errors import (
    RequestNotExpressibleError,
    TruncatedStreamError,
    UpstreamConnectionError,
    UpstreamFailureError,
    UpstreamHTTPError,
)
from partstream.lm.outputs import StreamOptions, ThinkingMode
from partstream.upstream.configuration import RetryPolicy
from partstream.upstream.endpoint import Secret
from partstream.upstream.provider import GatewayProvider
from partstream_devtools.testing.faults import document
from partstream_devtools.testing.replaying import Outcome
from partstream_devtools.testing.upstream import ReplayUpstream
from upstreams.upstreams import (
    HELLO,
    LIMITS,
    MODEL,
    Answer,
    ask,
    configuration,
    gateway_to,
    replay,
    respond,
    run,
    server_of,
)

KEY = "sk-planted-0123456789"
WEATHER = Tool("get_weather", "Tells the weather.", {"type": "object", "properties": {"city": {"type": "string"}}})
TIME = Tool("get_time", "Tells the time.", {"type": "object", "properties": {"city": {"type": "string"}}})


# ---- what it reports ----


def test_it_offers_the_configured_models_and_estimates_tokens():
    async def test() -> None:
        provider = GatewayProvider(configuration("http://127.0.0.1:9/v1"))
        token = CancellationTokenSource().token
        assert await provider.provide_language_model_chat_information(True, token) == (MODEL,)
        few, many = [await provider.provide_token_count(MODEL, text, token) for text in ("word", "word " * 100)]
        assert 0 < few < many
        assert await provider.provide_token_count(MODEL, ChatMessage.user("word"), token) >= few

    run(test())


def test_an_answer_is_reported_in_fragments_with_the_usage_as_the_last_part():
    async def test() -> None:
        async with replay() as (upstream, provider):
            answer = await ask(provider, "Hi")
            assert answer.error is None
            assert answer.text == HELLO
            assert len(answer.parts) > 5
            assert isinstance(answer.parts[-1], DataPart)
            assert answer.parts[-1].mime_type == "usage"
            assert loads(answer.parts[-1].data)["completion_tokens"] > 0
            (request,) = upstream.requests
            assert (request.path, request.body["stream"], request.body["model"]) == ("/v1/responses", True, "text")

    run(test())


def test_a_tool_call_is_reported_under_our_prefix_and_answered_under_the_upstreams_own_id():
    async def test() -> None:
        async with replay() as (upstream, provider):
            options = RequestOptions(tools=(WEATHER, TIME))
            question = ChatMessage.user("The weather in Lisbon?")
            first = await ask(provider, [question], model_id="tools", options=options)
            calls = [part for part in first.parts if isinstance(part, ToolCallPart)]
            assert [call.name for call in calls] == ["get_weather", "get_time"]
            assert all(call.call_id.startswith("gw-") for call in calls)
            results = [ToolResultPart(call.call_id, (TextPart(f"for {call.name}"),)) for call in calls]
            conversation = [question, ChatMessage.assistant(calls), ChatMessage.user(results)]
            second = await ask(provider, conversation, model_id="tools", options=options)
            assert "get_weather: for get_weather" in second.text
            assert "get_time: for get_time" in second.text
            sent = upstream.requests[1].body["input"]
            assert [item["call_id"] for item in sent[1:]] == [call.call_id.removeprefix("gw-") for call in calls] * 2

    run(test())


@pytest.mark.parametrize(
    ("mode", "types"),
    [(ThinkingMode.PART, {ThinkingPart, TextPart}), (ThinkingMode.TEXT, {TextPart}), (ThinkingMode.OFF, {TextPart})],
)
def test_stream_options_decide_what_becomes_of_thinking(mode: ThinkingMode, types: set[type[ResponsePart]]):
    async def test() -> None:
        async with replay(stream=StreamOptions(thinking=mode)) as (_, provider):
            answer = await ask(provider, "Hi", model_id="thinking")
            assert {type(part) for part in answer.parts} - {DataPart} == types

    run(test())


def test_an_answer_that_breaks_raises_after_its_parts():
    async def test() -> None:
        async with replay() as (_, provider):
            failed = await ask(provider, "Hi", model_id="failed")
            assert failed.text == "This answer begins well, and then"
            assert isinstance(failed.error, UpstreamFailureError)
            cut = await ask(provider, "fault:truncate=6")
            assert HELLO.startswith(cut.text)
            assert isinstance(cut.error, TruncatedStreamError)

    run(test())


def test_a_request_that_cannot_be_said_is_refused_before_anything_is_sent():
    async def test() -> None:
        async with replay() as (upstream, provider):
            answer = await ask(provider, [ChatMessage.assistant([ToolCallPart("1", "f", {"x": float("nan")})])])
            assert isinstance(answer.error, RequestNotExpressibleError)
            assert answer.error.where == "messages[0].content[0].input"
            assert upstream.requests == []

    run(test())


def test_what_has_no_part_is_logged_by_type(caplog: pytest.LogCaptureFixture):
    async def test() -> None:
        async with (
            server_of(
                document(
                    200,
                    b'data: {"type":"response.created","response":{"id":"r"}}\n\n'
                    b'data: {"type":"response.of_tomorrow"}\n\ndata: {"type":"response.of_tomorrow"}\n\n'
                    b'data: {"type":"response.output_text.delta","delta":"Hi"}\n\n'
                    b'data: {"type":"response.completed","response":{"id":"r","status":"completed"}}\n\n',
                    "text/event-stream",
                )
            ) as (url, _),
            gateway_to(url) as provider,
        ):
            assert (await ask(provider, "Hi")).error is None

    with caplog.at_level(logging.INFO, "partstream.upstreams"):
        run(test())
    assert "{'response.of_tomorrow': 2}" in caplog.text


class Slow(Answer):
    """A consumer that says when it has caught up."""

    def __init__(self) -> None:
        super().__init__()
        self.drained = 0

    async def drain(self) -> None:
        self.drained += 1
        await asyncio.sleep(0)


def test_a_progress_that_can_drain_is_waited_for():
    async def test() -> None:
        async with replay() as (_, provider):
            slow = Slow()
            await respond(provider, "pace:1", slow)
            assert slow.text == HELLO
            assert slow.drained > 5

    run(test())


# ---- cancelling ----

# What is asked for, and how many events the upstream sends before its next piece is due.
CANCELLED: dict[str, tuple[str, int]] = {
    "between two pieces": ("pace:60000", 5),
    "while it stalls in the middle": ("fault:stall=6", 6),
    "while it stalls before the first event": ("fault:stall_before_events", 0),
    "while it stalls before the headers": ("fault:stall_before_headers", 0),
}


@pytest.mark.parametrize(("said", "events"), CANCELLED.values(), ids=CANCELLED)
def test_cancelling_closes_the_upstream_socket_before_the_next_piece_and_reports_nothing_more(said: str, events: int):
    async def test() -> None:
        async with replay() as (upstream, provider):
            source, answer = CancellationTokenSource(), Answer()
            request = asyncio.create_task(respond(provider, said, answer, source.token))
            await upstream.until(lambda: upstream.exchanges and upstream.exchanges[0].delivery.events_sent == events)
            if events:
                await answer.came.wait()
            reported = len(answer.parts)
            source.cancel()
            await request
            ended = await upstream.wait_for_end()
            assert (ended.delivery.outcome, ended.delivery.events_sent) == (Outcome.CLIENT_CLOSED, events)
            assert len(answer.parts) == reported

    run(test())


def test_cancelling_while_text_streams_closes_the_upstream_socket_and_reports_nothing_more():
    async def test() -> None:
        async with replay() as (upstream, provider):
            source, answer = CancellationTokenSource(), Answer()
            request = asyncio.create_task(respond(provider, "scenario:long=10000 pace:5", answer, source.token))
            await upstream.until(lambda: len(answer.parts) >= 3)
            reported = len(answer.parts)
            source.cancel()
            await request
            assert (await upstream.wait_for_end()).delivery.outcome is Outcome.CLIENT_CLOSED
            assert len(answer.parts) == reported

    run(test())


def test_cancelling_while_a_retry_waits_resolves_and_sends_no_further_request():
    async def test() -> None:
        async with replay("status=429:60", retry=RetryPolicy(3, 0.01, 60.0)) as (upstream, provider):
            source, answer = CancellationTokenSource(), Answer()
            request = asyncio.create_task(respond(provider, "Hi", answer, source.token))
            await upstream.wait_for_end(1)
            source.cancel()
            await request  # long before the minute is over that the upstream asks for
            assert (len(upstream.requests), answer.parts) == (1, [])

    run(test())


def test_cancelling_while_the_body_of_an_error_stalls_resolves():
    async def test() -> None:
        async with replay("status=500,stall_before_events") as (upstream, provider):
            source, answer = CancellationTokenSource(), Answer()
            request = asyncio.create_task(respond(provider, "Hi", answer, source.token))
            await upstream.until(lambda: upstream.requests)
            source.cancel()
            await request
            assert (await upstream.wait_for_end()).delivery.outcome is Outcome.CLIENT_CLOSED

    run(test())


class CancelsItself(Answer):
    """A consumer that cancels from inside the report of its third part."""

    def __init__(self, source: CancellationTokenSource) -> None:
        super().__init__()
        self._source = source

    def report(self, part: ResponsePart, /) -> None:
        super().report(part)
        if len(self.parts) == 3:
            self._source.cancel()


@pytest.mark.parametrize("said", ["scenario:long=10000 pace:5", "scenario:long=2000"])
def test_cancelling_from_inside_a_report_stops_there_and_closes(said: str):
    async def test() -> None:
        async with replay() as (upstream, provider):
            source = CancellationTokenSource()
            answer = CancelsItself(source)
            await respond(provider, said, answer, source.token)
            assert len(answer.parts) == 3
            await upstream.until(lambda: not upstream.open_streams)

    run(test())


def test_a_token_cancelled_before_sends_nothing():
    async def test() -> None:
        async with replay() as (upstream, provider):
            source, answer = CancellationTokenSource(), Answer()
            source.cancel()
            await respond(provider, "Hi", answer, source.token)
            assert (upstream.requests, answer.parts) == ([], [])

    run(test())


def test_a_token_cancelled_after_the_end_changes_nothing():
    async def test() -> None:
        async with replay() as (_, provider):
            source, answer = CancellationTokenSource(), Answer()
            await respond(provider, "Hi", answer, source.token)
            reported = list(answer.parts)
            source.cancel()
            await asyncio.sleep(0)
            assert answer.parts == reported
            assert (await ask(provider, "Hi")).text == HELLO

    run(test())


@pytest.mark.parametrize("said", ["pace:60000", "fault:stall_before_events", "fault:stall_before_headers"])
def test_a_cancelled_task_raises_and_closes_the_upstream_socket(said: str):
    async def test() -> None:
        async with replay() as (upstream, provider):
            answer = Answer()
            request = asyncio.create_task(respond(provider, said, answer))
            await upstream.until(lambda: upstream.requests)
            request.cancel()
            with pytest.raises(asyncio.CancelledError):
                await request
            ended = await upstream.wait_for_end()
            assert ended.delivery.outcome is Outcome.CLIENT_CLOSED

    run(test())


def test_a_task_cancelled_right_after_its_token_still_raises():
    async def test() -> None:
        async with replay() as (upstream, provider):
            source = CancellationTokenSource()
            request = asyncio.create_task(respond(provider, "fault:stall_before_events", Answer(), source.token))
            await upstream.until(lambda: upstream.requests)
            source.cancel()
            request.cancel()
            with pytest.raises(asyncio.CancelledError):
                await request
            await upstream.wait_for_end()

    run(test())


# ---- many at once ----


def test_requests_of_one_provider_that_run_at_once_never_mix():
    async def test() -> None:
        models = ["text", "thinking", "citations", "refusal", "incomplete", "text", "failed", "thinking"]
        async with replay(pace=0.002) as (upstream, provider):
            alone = [await ask(provider, "Hi", model_id=model) for model in models]
            together = await asyncio.gather(*(ask(provider, "Hi", model_id=model) for model in models))
            assert len(upstream.requests) == 2 * len(models)
        for one, other in zip(alone, together, strict=True):
            assert one.text == other.text
            assert type(one.error) is type(other.error)

    run(test())


def test_cancelling_one_request_leaves_the_other_whole():
    async def test() -> None:
        async with replay(pace=0.01) as (_, provider):
            source, stopped, kept = CancellationTokenSource(), Answer(), Answer()
            first = asyncio.create_task(respond(provider, "scenario:long", stopped, source.token))
            second = asyncio.create_task(respond(provider, "Hi", kept))
            await stopped.came.wait()
            await kept.came.wait()
            source.cancel()
            await asyncio.gather(first, second)
            assert kept.text == HELLO

    run(test())


def test_a_provider_works_again_after_it_was_closed():
    async def test() -> None:
        async with replay() as (_, provider):
            await provider.aclose()
            await provider.aclose()
            assert (await ask(provider, "Hi")).text == HELLO
            await provider.aclose()
            assert (await ask(provider, "Hi")).text == HELLO

    run(test())


# ---- the key ----


def test_the_key_opens_the_upstream_and_the_wrong_one_does_not():
    async def test() -> None:
        async with ReplayUpstream(token=KEY) as upstream:
            async with gateway_to(upstream.base_url, api_key=Secret(KEY)) as provider:
                assert (await ask(provider, "Hi")).text == HELLO
            async with gateway_to(upstream.base_url, headers={"Authorization": f"Bearer {KEY}"}) as provider:
                assert (await ask(provider, "Hi")).text == HELLO
            async with gateway_to(upstream.base_url, api_key=Secret("sk-another-key")) as provider:
                assert (await ask(provider, "Hi")).error.http_status == 401

    run(test())


SAID_WITH_A_KEY = ["Hi", "fault:status=401", "fault:status=503", "fault:cut=6", "fault:html", "fault:stall=6"]


def test_a_planted_key_is_in_no_log_and_no_error(caplog: pytest.LogCaptureFixture):
    planted = {"api_key": Secret(KEY), "headers": {"x-api-key": f"{KEY}-header"}}
    shown: list[str] = []

    def show(answer: Answer, provider: GatewayProvider) -> None:
        shown.append(repr(provider) + repr(provider.configuration) + str(provider.configuration))
        if answer.error is not None:
            shown.extend((repr(answer.error), str(vars(answer.error))))
            shown.extend(traceback.TracebackException.from_exception(answer.error, capture_locals=False).format())

    async def test() -> None:
        async with replay(**planted, timeouts=replace(LIMITS, idle=0.2)) as (_, provider):
            for said in SAID_WITH_A_KEY:
                show(await ask(provider, said), provider)
        for body, content_type in (
            (f"Incorrect API key provided: {KEY}".encode(), "text/plain"),
            (b'{"error":{"message":"no such key: %b-header"}}' % KEY.encode(), "application/json"),
        ):
            async with server_of(document(401, body, content_type)) as (url, _), gateway_to(url, **planted) as provider:
                answer = await ask(provider, "Hi")
                assert isinstance(answer.error, UpstreamHTTPError)
                assert "***" in answer.error.provider_message
                show(answer, provider)
        async with gateway_to("http://127.0.0.1:9/v1", **planted) as provider:
            answer = await ask(provider, "Hi")
            assert isinstance(answer.error, UpstreamConnectionError)
            show(answer, provider)

    with caplog.at_level(logging.DEBUG):
        run(test(), seconds=20)
    assert "partstream" in {record.name.partition(".")[0] for record in caplog.records}
    assert KEY not in caplog.text
    assert KEY not in "".join(shown)
    assert len(shown) > len(SAID_WITH_A_KEY)
