"""The eight faults of the extension that came before this one, each over real HTTP with the right behaviour."""

import json
from dataclasses import replace

from conversation.rows import PIXEL, PNG_URL
from conversation.samples import asked, assistant, call, called, gave, image, output, said, text, user
from openresponses_schema import validate_request
from partstream import ChatMessage, DataPart, TextPart, ThinkingPart
from partstream.conversation.preparation import RequestSettings, ToolImages
from partstream.errors import TimeoutPhase, TruncatedStreamError, UpstreamTimeoutError
from partstream.upstream.configuration import GatewayConfiguration, Timeouts
from upstreams.upstreams import HELLO, LIMITS, ask, gateway_to, replay, run


def sent(*messages: ChatMessage, **settings: RequestSettings) -> dict[str, object]:
    """The body that reaches the upstream."""
    bodies = []

    async def test() -> None:
        async with replay(**settings) as (upstream, provider):
            assert (await ask(provider, messages)).error is None
            bodies.append(upstream.requests[0].body)

    run(test())
    validate_request(bodies[0])
    return bodies[0]


def test_1_cache_control_and_stateful_marker_are_not_decoded_into_the_prompt():
    body = sent(
        user([TextPart("Hi"), DataPart(b"ephemeral", "cache_control")]),
        assistant([DataPart(b"model\\resp_1", "stateful_marker"), TextPart("Ho")]),
        user("And?"),
    )
    assert body["input"] == [asked("Hi"), said("Ho"), asked("And?")]


def test_2_thinking_does_not_go_upstream_as_words_of_the_assistant():
    metadata = {"signature": "s", "encrypted_content": "e"}
    body = sent(user("Hi"), assistant([ThinkingPart("I wonder", "rs_1", metadata), TextPart("Ho")]), user("And?"))
    assert body["input"] == [asked("Hi"), said("Ho"), asked("And?")]
    assert "wonder" not in json.dumps(body)


def test_3_a_tool_result_without_text_does_not_orphan_its_call():
    for content in ((), (TextPart(""),), (PIXEL,), (DataPart(b"ephemeral", "cache_control"),)):
        items = sent(assistant([called()]), user([gave("gw-1", *content)]))["input"]
        assert [item["type"] for item in items[:2]] == ["function_call", "function_call_output"]


def test_4_images_in_tool_results_reach_the_model():
    messages = [assistant([called()]), user([gave("gw-1", "look", PIXEL)])]
    assert sent(*messages)["input"][2] == asked(image(PNG_URL))
    native = RequestSettings(tool_images=ToolImages.NATIVE)
    assert sent(*messages, request=native)["input"] == [call(), output("1", [text("look"), image(PNG_URL)])]


def test_5_parallel_calls_stay_together():
    body = sent(
        user("Hi"),
        assistant([TextPart("Both."), called("gw-1"), called("gw-2")]),
        user([gave("gw-1", "a")]),
        user([gave("gw-2", "b")]),
    )
    assert body["input"] == [asked("Hi"), said("Both."), call("1"), call("2"), output("1", "a"), output("2", "b")]


def test_6_a_slow_answer_is_waited_for_and_one_that_breaks_off_is_an_error():
    assert Timeouts() == GatewayConfiguration("http://127.0.0.1/v1").timeouts
    assert Timeouts().total >= 3600
    assert Timeouts().first_event >= 300

    async def test() -> None:
        async with replay() as (_, provider):
            assert isinstance((await ask(provider, "fault:truncate=6")).error, TruncatedStreamError)
        async with replay(timeouts=replace(LIMITS, idle=1.0)) as (_, provider):
            error = (await ask(provider, "fault:stall=6")).error
            assert isinstance(error, UpstreamTimeoutError)
            assert error.phase is TimeoutPhase.IDLE

    run(test())


def test_7_the_usage_is_reported():
    async def test() -> None:
        async with replay() as (_, provider):
            usage = (await ask(provider, "Hi")).parts[-1]
            assert isinstance(usage, DataPart)
            counts = json.loads(usage.data)
            assert all(counts[name] > 0 for name in ("prompt_tokens", "completion_tokens", "total_tokens"))

    run(test())


def test_8_no_limit_of_output_is_sent_that_nobody_set():
    body = sent(user("Hi"))
    assert body.keys() == {"model", "input", "stream", "store"}


def test_errors_are_raised_and_never_written_into_the_answer():
    async def test() -> None:
        async with replay("status=400") as (_, provider):
            answer = await ask(provider, "Hi")
            assert answer.error is not None
            assert answer.parts == []
        async with replay() as (upstream, _), gateway_to(upstream.base_url) as provider:
            assert (await ask(provider, "Hi")).text == HELLO

    run(test())
