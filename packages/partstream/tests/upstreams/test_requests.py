"""Requests as they reach an upstream over real HTTP, and what comes back of them: rows, names, state, refusals."""

import json
import logging
from dataclasses import replace
from typing import Any

import pytest

from conversation.rows import ROWS, Row
from conversation.samples import WEATHER, asked, assistant, call, called, gave, output, said, system, user
from openresponses_schema import validate_request
from partstream import (
    ChatMessage,
    DataPart,
    RequestOptions,
    ResponsePart,
    TextPart,
    ThinkingPart,
    Tool,
    ToolCallPart,
)
from partstream.conversation.preparation import ASKED_IN, Continuation, RequestSettings
from partstream.conversation.provider_state import read_marker
from partstream.errors import UpstreamHTTPError
from partstream.server.loopback import LoopbackRequest
from partstream.upstream.context import DROPPED
from partstream_devtools.testing.faults import Step, document
from rows import one_test_for
from upstreams.upstreams import Answer, ask, gateway_to, replay, run, server_of

STORING = RequestSettings(continuation=Continuation.ON)


@one_test_for("row", ROWS.values(), ids=ROWS)
def test_the_upstream_gets_exactly_the_items_of(row: Row):
    async def test() -> None:
        async with replay(request=row.settings) as (upstream, provider):
            assert (await ask(provider, row.messages)).error is None
            (request,) = upstream.requests
            assert request.body["input"] == row.items
            validate_request(request.body)

    run(test())


# ---- names ----


def test_names_that_servers_refuse_are_mapped_and_mapped_back():
    tools = (
        Tool("mcp.find/it", "One.", WEATHER.input_schema),
        Tool("mcp_find/it", "Another.", WEATHER.input_schema),
        Tool("mcp_find_it", "A third."),
    )

    async def test() -> None:
        async with replay() as (upstream, provider):
            options = RequestOptions(tools=tools)
            first = await ask(provider, "Find it in Lisbon.", model_id="tools", options=options)
            calls = [part for part in first.parts if isinstance(part, ToolCallPart)]
            assert [part.name for part in calls] == ["mcp.find/it", "mcp_find/it"]
            results = [gave(part.call_id, "found") for part in calls]
            history = [user("Find it in Lisbon."), assistant(calls), user(results)]
            second = await ask(provider, history, model_id="tools", options=options)
            assert second.error is None
            one, two = (request.body for request in upstream.requests)
            validate_request(two)
            sent = [tool["name"] for tool in one["tools"]]
            assert len(set(sent)) == 3
            assert sent[2] == "mcp_find_it"
            assert sent == [tool["name"] for tool in two["tools"]]
            assert [item["name"] for item in two["input"] if item["type"] == "function_call"] == sent[:2]

    run(test())


# ---- state ----


def stream_of(*items: dict[str, Any], response_id: str = "resp_1") -> list[Step]:
    """An answer that holds these items, as a server streams it."""
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {"id": response_id}}]
    for index, item in enumerate(items):
        for kind in ("added", "done"):
            events.append({"type": f"response.output_item.{kind}", "output_index": index, "item": item})
    events.append(
        {"type": "response.completed", "response": {"id": response_id, "status": "completed", "output": list(items)}}
    )
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return list(document(200, body.encode(), "text/event-stream"))


def thought(number: int) -> dict[str, Any]:
    item = {
        "type": "reasoning",
        "id": f"rs_{number}",
        "summary": [{"type": "summary_text", "text": f"thought {number}"}],
    }
    return {**item, "encrypted_content": f"secret {number}"}


def message(value: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": value, "annotations": []}]
    return {"type": "message", "id": f"m_{value}", "role": "assistant", "status": "completed", "content": content}


def function(call_id: str) -> dict[str, Any]:
    return {"type": "function_call", "id": f"fc_{call_id}", **{k: v for k, v in call(call_id).items() if k != "type"}}


def replayed(number: int) -> dict[str, Any]:
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": f"secret {number}"}


def bodies(requests: list[LoopbackRequest]) -> list[dict[str, Any]]:
    found = [json.loads(request.body) for request in requests]
    for body in found:
        validate_request(body)
    return found


def kept(parts: list[ResponsePart], *, thinking: bool) -> ChatMessage:
    """The answer as Copilot sends it back: marker, then thinking as one part, then text as one part, then calls.

    The marker is sent under the name of the model that is asked, thinking only within the turn of the user.
    """
    thoughts = [part for part in parts if isinstance(part, ThinkingPart)]
    metadata = [part.metadata for part in thoughts if part.metadata]
    merged = ThinkingPart("".join(part.value for part in thoughts), thoughts[-1].id, metadata[-1]) if metadata else None
    markers = [part for part in parts if isinstance(part, DataPart) and part.mime_type == "stateful_marker"]
    renamed = [DataPart(b"asked-now\\" + part.data.split(b"\\")[1], part.mime_type) for part in markers[-1:]]
    text = "".join(part.value for part in parts if isinstance(part, TextPart))
    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    return assistant([*renamed, *([merged] if merged and thinking else []), TextPart(text), *calls])


REASONED = [thought(1), message("Wait."), thought(2), function("c1"), thought(3), function("c2")]
RESULTS = [user([gave("gw-c1", "a")]), user([gave("gw-c2", "b")])]
WITH_REASONING = [
    replayed(1), said("Wait."), replayed(2), call("c1"), replayed(3), call("c2"), output("c1", "a"), output("c2", "b")
]  # fmt: skip
WITHOUT_REASONING = [item for item in WITH_REASONING if item["type"] != "reasoning"]


@pytest.mark.parametrize("thinking", [True, False], ids=["within the turn", "in a later turn"])
def test_reasoning_goes_back_where_it_stood(thinking: bool):
    async def test() -> None:
        async with server_of(stream_of(*REASONED)) as (url, requests), gateway_to(url) as provider:
            first = await ask(provider, "Hi")
            await ask(provider, [user("Hi"), kept(first.parts, thinking=thinking), *RESULTS])
            _, body = bodies(requests)
            assert body["input"] == [asked("Hi"), *WITH_REASONING]
            assert body["include"] == ["reasoning.encrypted_content"]

    run(test())


@pytest.mark.parametrize("thinking", [True, False], ids=["within the turn", "in a later turn"])
def test_reasoning_of_another_model_is_dropped_and_never_becomes_text(thinking: bool):
    async def test() -> None:
        async with server_of(stream_of(*REASONED)) as (url, requests), gateway_to(url) as provider:
            first = await ask(provider, "Hi")
            await ask(provider, [user("Hi"), kept(first.parts, thinking=thinking), *RESULTS], model_id="another")
            assert bodies(requests)[1]["input"] == [asked("Hi"), *WITHOUT_REASONING]

    run(test())


@pytest.mark.parametrize("thinking", [True, False], ids=["within the turn", "in a later turn"])
def test_reasoning_of_another_upstream_is_dropped_and_never_becomes_text(thinking: bool):
    async def test() -> None:
        async with (
            server_of(stream_of(*REASONED)) as (url, _),
            server_of(stream_of(message("x"))) as (other_url, requests),
            gateway_to(url) as provider,
            gateway_to(other_url) as other,
        ):
            first = await ask(provider, "Hi")
            await ask(other, [user("Hi"), kept(first.parts, thinking=thinking), *RESULTS])
            assert bodies(requests)[0]["input"] == [asked("Hi"), *WITHOUT_REASONING]

    run(test())


def test_reasoning_that_the_upstream_does_not_take_back_is_left_out_the_second_time():
    refusal = document(400, b'{"error":{"code":"invalid_encrypted_content","message":"no"}}', "application/json")

    async def test() -> None:
        replies = [stream_of(*REASONED), list(refusal), stream_of(message("Done."))]
        async with server_of(*replies) as (url, requests), gateway_to(url) as provider:
            first = await ask(provider, "Hi")
            second = await ask(provider, [user("Hi"), kept(first.parts, thinking=True), *RESULTS])
            assert second.text == "Done."
            _, refused, accepted = bodies(requests)
            assert refused["input"] == [asked("Hi"), *WITH_REASONING]
            assert accepted["input"] == [asked("Hi"), *WITHOUT_REASONING]

    run(test())


def test_an_answer_that_leaves_nothing_has_no_marker_and_the_marker_comes_before_the_usage():
    async def test() -> None:
        async with replay() as (_, provider):
            types = [part.mime_type for part in (await ask(provider, "Hi")).parts if isinstance(part, DataPart)]
            assert types == ["usage"]
        async with replay(request=STORING) as (_, provider):
            parts = (await ask(provider, "Hi")).parts
            assert [part.mime_type for part in parts if isinstance(part, DataPart)] == ["stateful_marker", "usage"]
            assert parts[-2].data.startswith(b"text\\")
            assert parts[-2].data.count(b"\\") == 1

    run(test())


# ---- continuation ----

FIRST = stream_of(message("Ho"), response_id="resp_1")
SECOND = stream_of(message("Done."), response_id="resp_2")
OPENING = [system("Be brief."), user("Hi")]


async def round_of(url: str, *extra: ChatMessage, edit: Any = None, **settings: Any) -> Answer:
    """An answer, then a request after it; `edit` changes the history in between."""
    async with gateway_to(url, request=replace(STORING, **settings)) as provider:
        first = await ask(provider, OPENING)
        history = [*OPENING, kept(first.parts, thinking=False), *(extra or [user("And?")])]
        return await ask(provider, edit(history) if edit else history)


def test_a_stored_response_is_continued_and_only_what_came_after_it_is_sent():
    async def test() -> None:
        async with server_of(FIRST, SECOND) as (url, requests):
            assert (await round_of(url)).text == "Done."
            one, two = bodies(requests)
            assert (one["store"], "previous_response_id" in one) == (True, False)
            assert (two["previous_response_id"], two["input"]) == ("resp_1", [asked("And?")])
            assert two["instructions"] == "Be brief."

    run(test())


def test_results_of_the_calls_of_a_stored_response_follow_it():
    async def test() -> None:
        async with server_of(stream_of(function("c1")), SECOND) as (url, requests):
            await round_of(url, user([gave("gw-c1", "a")]))
            assert bodies(requests)[1]["input"] == [output("c1", "a")]
            assert json.loads(requests[1].body)["previous_response_id"] == "resp_1"

    run(test())


def test_marks_that_move_do_not_break_a_continuation():
    def mark(history: list[ChatMessage]) -> list[ChatMessage]:
        cached = ChatMessage(history[1].role, (*history[1].content, DataPart(b"ephemeral", "cache_control")))
        return [history[0], cached, *history[2:]]

    async def test() -> None:
        async with server_of(FIRST, SECOND) as (url, requests):
            await round_of(url, edit=mark)
            assert bodies(requests)[1]["previous_response_id"] == "resp_1"

    run(test())


EDITS: dict[str, Any] = {
    "an edited question": lambda history: [history[0], user("Hello"), *history[2:]],
    "other instructions": lambda history: [system("Be long."), *history[1:]],
    "an edited answer": lambda history: [
        *history[:2], assistant([history[2].content[0], TextPart("Ho ho")]), history[3]
    ],
    "a call that the answer did not hold": lambda history: [
        *history[:2], assistant([*history[2].content, called("gw-c9")]), user([gave("gw-c9")]), history[3]
    ],
    "a summary instead of the beginning": lambda history: [user("They greeted."), *history[2:]],
    "a message that was taken out": lambda history: [history[0], *history[2:]],
    "a marker of another provider": lambda history: [
        *history[:2], assistant([DataPart(b"text\\resp_1", "stateful_marker"), TextPart("Ho")]), history[3]
    ],
    "a damaged marker": lambda history: [
        *history[:2],
        assistant([DataPart(history[2].content[0].data[:-1] + b"!", "stateful_marker"), TextPart("Ho")]),
        history[3],
    ],
    "nothing after the answer": lambda history: history[:3],
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_a_history_that_the_response_did_not_see_is_sent_whole(edit: Any):
    async def test() -> None:
        async with server_of(FIRST, SECOND) as (url, requests):
            await round_of(url, edit=edit)
            _, body = bodies(requests)
            assert "previous_response_id" not in body
            assert said("Ho") in body["input"] or said("Ho ho") in body["input"]

    run(test())


@pytest.mark.parametrize(
    ("settings", "continued"),
    [
        ({"continuation": Continuation.OFF, "store": True}, False),
        ({"continuation": Continuation.AUTO, "store": False}, False),
        ({"continuation": Continuation.AUTO, "store": True}, True),
        ({"continuation": Continuation.ON}, True),
    ],
    ids=str,
)
def test_the_settings_say_whether_a_response_is_continued(settings: dict[str, Any], continued: bool):
    async def test() -> None:
        async with server_of(FIRST, SECOND) as (url, requests):
            await round_of(url, **settings)
            one, two = bodies(requests)
            assert one["store"] is (settings.get("store", True))
            assert ("previous_response_id" in two) is continued

    run(test())


def test_a_response_is_continued_by_its_own_model_only():
    async def test() -> None:
        async with server_of(FIRST, SECOND) as (url, requests), gateway_to(url, request=STORING) as provider:
            first = await ask(provider, OPENING)
            await ask(provider, [*OPENING, kept(first.parts, thinking=False), user("And?")], model_id="another")
            assert "previous_response_id" not in bodies(requests)[1]

    run(test())


def failing_stream(code: str) -> list[Step]:
    failed = {
        "type": "response.failed",
        "response": {"id": "r", "status": "failed", "error": {"code": code, "message": "no"}},
    }
    return list(document(200, f"data: {json.dumps(failed)}\n\n".encode(), "text/event-stream"))


UNKNOWN: dict[str, list[Step]] = {
    "as an HTTP error": list(
        document(400, b'{"error":{"code":"previous_response_not_found","message":"gone"}}', "application/json")
    ),
    "inside the stream": failing_stream("previous_response_not_found"),
}


@pytest.mark.parametrize("refusal", UNKNOWN.values(), ids=UNKNOWN)
def test_an_unknown_response_id_sends_the_whole_request_again_once(refusal: list[Step]):
    async def test() -> None:
        async with server_of(FIRST, refusal, SECOND) as (url, requests):
            answer = await round_of(url)
            assert (answer.text, answer.error) == ("Done.", None)
            assert sum(isinstance(part, DataPart) for part in answer.parts) == 1  # the marker of the one that answered
            _, continued, whole = bodies(requests)
            assert continued["previous_response_id"] == "resp_1"
            assert "previous_response_id" not in whole
            assert whole["input"] == [asked("Hi"), said("Ho"), asked("And?")]

    run(test())


def test_a_request_that_is_refused_whole_is_not_sent_a_third_time():
    async def test() -> None:
        async with server_of(FIRST, UNKNOWN["as an HTTP error"]) as (url, requests):
            answer = await round_of(url)
            assert isinstance(answer.error, UpstreamHTTPError)
            assert len(requests) == 3

    run(test())


def test_nothing_is_sent_again_once_a_part_was_reported():
    events = [
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "So"},
        {"type": "response.failed", "response": {"error": {"code": "previous_response_not_found", "message": "no"}}},
    ]
    late = document(200, "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode(), "text/event-stream")

    async def test() -> None:
        async with server_of(FIRST, list(late), SECOND) as (url, requests):
            answer = await round_of(url)
            assert (answer.text, len(requests)) == ("So", 2)
            assert answer.error is not None

    run(test())


# ---- configuration and log ----


def test_headers_and_fields_of_a_model_go_with_its_requests_only():
    own = RequestSettings(extra_body={"service_tier": "flex"}, extra_headers={"X-Team": "blue"})

    async def test() -> None:
        async with replay(model_requests={"tools": own}, headers={"x-team": "red"}) as (upstream, provider):
            await ask(provider, "Hi", model_id="tools")
            await ask(provider, "Hi")
            one, two = upstream.requests
            assert (one.headers["x-team"], one.body["service_tier"]) == ("blue", "flex")
            assert (two.headers["x-team"], "service_tier" in two.body) == ("red", False)

    run(test())


def test_what_was_kept_out_or_put_in_is_logged_once(caplog: pytest.LogCaptureFixture):
    strange = [TextPart("Hi"), DataPart(b"{}", "acme_state"), DataPart(b"secret words", "cache_control")]

    async def test() -> None:
        async with replay() as (_, provider):
            for _ in range(3):
                await ask(provider, [user(strange), user([gave("gw-9", "x")]), assistant([called("gw-8")])])

    with caplog.at_level(logging.WARNING, "partstream.upstreams"):
        run(test())
    assert [record.getMessage() for record in caplog.records] == [
        "messages[0].content[1]: data of the unknown type 'acme_state', left out of the prompt; said once",
        "messages[1].content[0]: a tool result without a call; said once",
        "messages[2].content[0]: a tool call without a result; said once",
    ]


def test_what_the_wire_of_the_upstream_has_no_place_for_is_told_to_the_host_of_the_answer():
    messages = [ChatMessage.user("Hi", "Ada"), assistant([ThinkingPart("hm"), TextPart("Ho")]), user("Go on")]
    asked_in_chat = {ASKED_IN: "chat-completions", "logit_bias": {"1": 1}, "temperature": 0.5}
    told: list[str] = []

    async def test() -> None:
        async with replay() as (_, provider):
            DROPPED.set(told.extend)
            await ask(provider, messages, options=RequestOptions(model_options=asked_in_chat))

    run(test())
    assert told == ["thinking", "logit_bias", "messages[].name"]


def test_a_marker_can_be_read_by_us_alone():
    async def test() -> None:
        async with replay(request=STORING) as (_, provider):
            (marker, _) = [part for part in (await ask(provider, "Hi")).parts if isinstance(part, DataPart)]
            read = read_marker(marker)
            assert read is not None
            assert (read.origin.model, read.reasoning) == ("text", ())
            assert read.response_id

    run(test())
