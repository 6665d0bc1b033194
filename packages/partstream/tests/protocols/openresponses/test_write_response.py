"""What the writer of OpenResponses gives: valid by the schema, in the order of the specification, as the parts come."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given

from openresponses_schema import EVENT_MODELS, validate_event, validate_response
from partstream import DataPart, FinishReason, TextPart, ThinkingPart, ToolCallPart, UnifiedFinishReason, Usage
from partstream.errors import AdapterUsageError, TruncatedStreamError, UpstreamFailureError, UpstreamHTTPError
from partstream.lm.outputs import Finish, InboundRequest, Outcome, Reply, StreamOutput, Unmapped
from partstream.protocols.openresponses.read_response import EVENTS
from partstream.protocols.openresponses.serve import READ_REQUEST, OpenResponsesWriter
from partstream.protocols.read_response import LifecycleState
from partstream.protocols.serve import WireRequest
from protocols.answers import answers
from protocols.feeding import strict_step
from rows import one_test_for

REPLY = Reply("identity", 1_700_000_000)
TOOL = {"type": "function", "name": "get_weather", "parameters": {"type": "object"}}
COMPLETED = Finish(Outcome.COMPLETED)
CUT = Finish(Outcome.INCOMPLETE, FinishReason(UnifiedFinishReason.LENGTH))
FAILED = Finish(Outcome.FAILED, error=UpstreamFailureError("It broke.", provider_code="odd"))
CALL = ToolCallPart("call_1", "get_weather", {"city": "Zürich"})


def _asked(**body: Any) -> InboundRequest:
    return READ_REQUEST.read(WireRequest("/responses", {"model": "small", "input": "Hi"} | body))


def _write(*outputs: StreamOutput, reply: Reply = REPLY, **body: Any) -> list[dict[str, Any]]:
    writer = OpenResponsesWriter(_asked(**body), reply)
    ending = () if isinstance(outputs[-1], Finish) else (COMPLETED,)
    return [event for output in (*outputs, *ending) for event in writer.write(output)]


def _types(events: Sequence[Mapping[str, Any]]) -> list[str]:
    return [event["type"].removeprefix("response.") for event in events]


def _said(*outputs: StreamOutput, **body: Any) -> list[str]:
    """The types between the opening events and the terminal event."""
    return _types(_write(*outputs, **body))[2:-1]


def _output(*outputs: StreamOutput, **body: Any) -> list[dict[str, Any]]:
    output: list[dict[str, Any]] = _write(*outputs, **body)[-1]["response"]["output"]
    return output


def _rebuilt(events: Sequence[Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
    """The items that are closed, with the text of their deltas, by output index."""
    items: dict[int, dict[str, Any]] = {}
    for event in events:
        place, kind = event.get("output_index"), event["type"].removeprefix("response.")
        if kind == "output_item.added":
            assert place == len(items)
            items[place] = {"item": event["item"], "deltas": "", "open": True}
        elif place is not None:
            assert items[place]["open"], "an item that is closed never changes"
            assert event.get("item_id", items[place]["item"]["id"]) == items[place]["item"]["id"]
        if kind.endswith(".delta"):
            assert place is not None
            items[place]["deltas"] += event["delta"]
        elif kind == "output_item.done":
            assert place is not None
            items[place] |= {"item": event["item"], "open": False}
    return items


def _text_of(item: Mapping[str, Any]) -> str:
    if item["type"] == "function_call":
        return str(item["arguments"])
    return "".join(part["text"] for part in (*item.get("content", ()), *item.get("summary", ())))


@given(answers())
def test_every_event_of_every_answer_is_valid_and_the_output_is_what_the_deltas_said(outputs):
    events = _write(*outputs)
    for event in events:
        validate_event(event)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    response = events[-1]["response"]
    validate_response(response)
    items = _rebuilt(events)
    assert response["output"] == [item["item"] for item in items.values() if not item["open"]]
    assert all(_text_of(item["item"]) == item["deltas"] for item in items.values() if not item["open"])
    assert len({item["item"]["id"] for item in items.values()}) == len(items)
    if response["status"] != "failed":
        assert not any(item["open"] for item in items.values())


@given(answers())
def test_every_answer_lives_by_the_strict_rows_of_the_table(outputs):
    state = LifecycleState.IDLE
    for event in _write(*outputs):
        step = strict_step(state, EVENTS[event["type"]].kind)
        assert step is not None, f"{event['type']} in the state {state.name}"
        state = step.next_state
    assert state is LifecycleState.FINISHED


def test_events_come_as_their_parts_do():
    writer = OpenResponsesWriter(_asked(), REPLY)
    assert _types(writer.write(TextPart("Hé"))) == [
        "created", "in_progress", "output_item.added", "content_part.added", "output_text.delta"
    ]  # fmt: skip
    assert _types(writer.write(TextPart("llo"))) == ["output_text.delta"]
    assert _types(writer.write(Unmapped("x", {}))) == []
    assert _types(writer.write(CALL)) == [
        "output_text.done", "content_part.done", "output_item.done", "output_item.added",
        "function_call_arguments.delta", "function_call_arguments.done", "output_item.done",
    ]  # fmt: skip
    assert _types(writer.write(COMPLETED)) == ["completed"]
    with pytest.raises(AdapterUsageError, match="after the Finish"):
        writer.write(COMPLETED)


def test_a_message_is_written_in_the_order_of_the_specification():
    assert _said(TextPart("Hé"), TextPart(""), TextPart("llo")) == [
        "output_item.added", "content_part.added", "output_text.delta", "output_text.delta", "output_text.done",
        "content_part.done", "output_item.done",
    ]  # fmt: skip


def test_reasoning_is_a_summary_which_every_client_reads():
    assert _said(ThinkingPart("I "), ThinkingPart("think")) == [
        "output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta",
        "reasoning_summary_text.delta", "reasoning_summary_text.done", "reasoning_summary_part.done",
        "output_item.done",
    ]  # fmt: skip


def test_reasoning_is_raw_only_where_the_server_is_told_so():
    reply = Reply("identity", 1, raw_reasoning=True)
    events = _write(ThinkingPart("H", "rs_1"), ThinkingPart("m.", "rs_1"), TextPart("Hi"), reply=reply)
    for event in events:
        validate_event(event)
    assert _types(events)[2:9] == [
        "output_item.added",
        "content_part.added",
        "reasoning.delta",
        "reasoning.delta",
        "reasoning.done",
        "content_part.done",
        "output_item.done",
    ]
    item = events[-1]["response"]["output"][0]
    assert (item["summary"], item["content"]) == ([], [{"type": "reasoning_text", "text": "Hm."}])
    assert not any("reasoning." in kind for kind in _types(_write(ThinkingPart("Hm."))))


def test_a_thought_keeps_the_identifier_that_its_upstream_gave():
    first, second, third = _output(ThinkingPart("a", "rs_1"), ThinkingPart("b", "rs_2"), ThinkingPart("c", "rs_1"))
    assert (first["id"], second["id"]) == ("rs_1", "rs_2")
    assert third["id"] not in {"rs_1", "rs_2"}, "two items never share an identifier"


def test_the_state_of_a_thought_goes_on_to_the_client():
    items = [{"id": "rs_1", "encrypted_content": "first"}, {"encrypted_content": "second"}]
    first, second, message = _output(
        ThinkingPart("a", "rs_1"),
        ThinkingPart("", "rs_1", {**items[0], "reasoning_items": items[:1]}),
        ThinkingPart("", None, {**items[1], "reasoning_items": items}),
        TextPart("b"),
    )
    assert (first["summary"][0]["text"], first["encrypted_content"]) == ("a", "first")
    assert (second["summary"], second["encrypted_content"]) == ([], "second")
    assert message["type"] == "message"


def test_a_summary_of_the_conversation_is_an_item_of_its_own():
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "sealed"}
    assert _output(ThinkingPart("", None, {"reasoning_items": [item]})) == [item]


def test_a_call_is_whole_and_its_arguments_come_in_pieces_of_the_size_that_is_asked_for():
    events = _write(CALL, reply=Reply("identity", 1, argument_size=4))
    pieces = [event["delta"] for event in events if event["type"].endswith("arguments.delta")]
    assert pieces == ['{"ci', 'ty":', '"Zür', 'ich"', "}"]
    (item,) = events[-1]["response"]["output"]
    assert (item["call_id"], item["name"], item["status"]) == ("call_1", "get_weather", "completed")
    assert json.loads(item["arguments"]) == CALL.input


def test_a_source_is_an_annotation_of_the_text_before_it():
    mime_type = "application/vnd.vscode.citation+json"
    own = {"type": "url_citation", "url": "https://e.org/a", "title": "A", "start_index": 0, "end_index": 2}
    foreign = {"type": "source", "sourceType": "url", "url": "https://e.org/b"}
    nameless = {"type": "file_citation", "file_id": "file_1"}
    sources = [DataPart.json(source, mime_type) for source in (own, foreign, nameless)]
    (item,) = _output(TextPart("Hello"), *sources, DataPart(b"{", mime_type))
    places = {"title": "", "start_index": 5, "end_index": 5}
    assert item["content"][0]["annotations"] == [
        own,
        {"type": "url_citation", "url": "https://e.org/b", **places},
    ]


def test_data_that_has_no_place_gives_no_event():
    assert _said(DataPart(b"\x89PNG", "image/png"), DataPart(b"{}", "usage")) == []


def test_tokens_are_those_that_were_reported_and_no_others():
    assert _write(TextPart("Hi"))[-1]["response"]["usage"] is None
    half = Finish(Outcome.COMPLETED, usage=Usage(output_tokens=3))
    assert _write(half)[-1]["response"]["usage"] is None
    whole = Finish(Outcome.COMPLETED, usage=Usage(5, 3, None, 2, None, cache_write_tokens=1))
    assert _write(whole)[-1]["response"]["usage"] == {
        "input_tokens": 5,
        "input_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 1},
        "output_tokens": 3,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 8,
    }


@one_test_for(
    ("reason", "word"),
    [
        (FinishReason(UnifiedFinishReason.LENGTH, "length"), "max_output_tokens"),
        (FinishReason(UnifiedFinishReason.CONTENT_FILTER), "content_filter"),
        (FinishReason(UnifiedFinishReason.OTHER, "turn_limit"), "turn_limit"),
        (FinishReason(UnifiedFinishReason.OTHER), "other"),
        (None, "other"),
    ],
)
def test_an_incomplete_answer_says_why_and_its_last_item_is_incomplete(reason, word):
    events = _write(TextPart("Hel"), Finish(Outcome.INCOMPLETE, reason))
    response = events[-1]["response"]
    assert (events[-1]["type"], response["status"]) == ("response.incomplete", "incomplete")
    assert response["incomplete_details"] == {"reason": word}
    assert [item["status"] for item in response["output"]] == ["incomplete"]
    assert response["completed_at"] is None


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (UpstreamFailureError("It broke.", provider_code="odd"), "odd", "It broke."),
        (UpstreamFailureError("It broke."), "server_error", "It broke."),
        (UpstreamHTTPError(429, provider_message="Slow down."), "rate_limit_exceeded", "Slow down."),
        (UpstreamHTTPError(401), "permission_denied", "the server answered HTTP 401: it gave no reason"),
    ],
)
def test_a_failure_is_an_error_event_and_a_failed_response(error, code, message):
    events = _write(TextPart("Hel"), Finish(Outcome.FAILED, error=error))
    assert _types(events)[-2:] == ["error", "failed"]
    assert events[-2]["error"] == {"type": "server_error", "code": code, "message": message, "param": None}
    response = events[-1]["response"]
    assert (response["status"], response["error"]) == ("failed", {"code": code, "message": message})
    assert response["output"] == [], "the item that was open is not part of the output"


def test_an_answer_whose_bytes_ended_too_soon_has_failed():
    events = _write(TextPart("Hel"), Finish(Outcome.TRUNCATED, error=TruncatedStreamError("OPEN")))
    assert _types(events)[-2:] == ["error", "failed"]


def test_an_answer_keeps_the_names_that_its_upstream_gave():
    named = Finish(Outcome.COMPLETED, response_id="resp_1", model="acme/large")
    assert {(event["response"]["id"], event["response"]["model"]) for event in _write(named)} == {
        ("resp_1", "acme/large")
    }
    response = _write(COMPLETED)[-1]["response"]
    assert response["model"] == "small"
    assert response["id"].startswith("resp_")


def test_each_reply_has_its_own_identifiers_and_the_same_reply_the_same():
    one, same, other = (_write(TextPart("a"), CALL, reply=Reply(name, 0)) for name in ("a", "a", "b"))
    assert one == same
    identifiers, others = (
        {events[-1]["response"]["id"], *(item["id"] for item in events[-1]["response"]["output"])}
        for events in (one, other)
    )
    assert len(identifiers) == 3
    assert not identifiers & others


@one_test_for(
    "body",
    [
        {"tools": [TOOL], "tool_choice": "required", "parallel_tool_calls": False},
        {"tools": [TOOL], "tool_choice": {"type": "function", "name": "get_weather"}},
        {
            "tools": [TOOL],
            "tool_choice": {"type": "allowed_tools", "tools": [{"type": "function", "name": "get_weather"}]},
        },
        {"tools": [TOOL, {"type": "web_search"}], "tool_choice": {"type": "web_search"}},
        {"tools": None, "metadata": {"a": "b"}, "temperature": 0.5, "top_p": None, "store": False},
        {"temperature": "hot", "service_tier": 3, "truncation": "maybe", "metadata": None, "top_logprobs": True},
        {"reasoning": {"effort": "minimal"}, "max_output_tokens": 16, "prompt_cache_key": "k"},
        {"reasoning": {"effort": "high", "summary": "auto"}, "text": {"verbosity": "low"}},
        {"text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": True}}},
        {"text": {"format": {"type": "json_object"}, "verbosity": None}},
        {"input": None, "model": None, "instructions": None},
    ],
)
def test_the_response_repeats_the_request_in_a_valid_form(body):
    for event in _write(TextPart("Hi"), **body):
        validate_event(event)


def test_the_response_repeats_what_the_request_set():
    response = _write(TextPart("Hi"), temperature=0.5, metadata={"a": "b"}, tools=[TOOL], store=False)[-1]["response"]
    assert (response["temperature"], response["metadata"], response["store"]) == (0.5, {"a": "b"}, False)
    assert response["tools"] == [TOOL | {"description": None, "strict": None}]


def test_all_24_event_types_are_known_to_the_schema_that_validates():
    assert len(EVENT_MODELS) == 24


def test_a_frame_is_event_and_data_with_line_feeds_and_an_empty_line():
    event = {"type": "response.output_text.delta", "delta": "a\r\nb\u2028é"}
    name, data, *rest = OpenResponsesWriter.frame(event).decode().split("\n")
    assert name == "event: response.output_text.delta"
    assert json.loads(data.removeprefix("data: ")) == event
    assert rest == ["", ""]
    assert OpenResponsesWriter.end_of_stream == b"data: [DONE]\n\n"


def test_a_frame_of_an_event_without_a_type_has_no_event_line():
    assert OpenResponsesWriter.frame({"id": 1}) == b'data: {"id":1}\n\n'


def test_without_a_stream_the_document_is_the_response_of_the_terminal_event():
    events = _write(TextPart("Hi"))
    assert OpenResponsesWriter.document(events) == (200, events[-1]["response"])
    assert OpenResponsesWriter.document(_write(TextPart("Hi"), CUT))[0] == 200


def test_without_a_stream_a_failure_is_a_server_error():
    assert OpenResponsesWriter.document(_write(TextPart("Hi"), FAILED)) == (
        500,
        {"error": {"type": "server_error", "code": "odd", "message": "It broke.", "param": None}},
    )


@one_test_for(
    ("status", "kind"),
    [
        (400, "invalid_request"),
        (401, "authentication_error"),
        (404, "not_found"),
        (418, "invalid_request"),
        (429, "too_many_requests"),
        (500, "server_error"),
        (503, "server_error"),
    ],
)
def test_an_error_has_the_type_that_goes_with_its_status(status, kind):
    error = OpenResponsesWriter.error(status, "No.")["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["message"], error["type"]) == ("No.", kind)
