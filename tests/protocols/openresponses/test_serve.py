"""What the served side of OpenResponses writes: valid by the schema, in canonical order, whole."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openresponses_schema import EVENT_MODELS, validate_event, validate_response
from partstream.outputs import Reply
from partstream.protocols.openresponses.serve import PROTOCOL, error_body, frame, write_document, write_events
from partstream.protocols.serving import (
    Answer,
    Citation,
    Completed,
    Failed,
    Incomplete,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    count_tokens,
)

REPLY = Reply("identity", 1_700_000_000)
TOOL = {"type": "function", "name": "get_weather", "parameters": {"type": "object"}}
TEXT = TextBlock(("Hé", "llo"))
THINKING = ThinkingBlock(("I ", "think"))
CALL = ToolCallBlock("get_weather", ('{"ci', 'ty":1}'))

blocks = st.lists(
    st.one_of(
        st.builds(TextBlock, st.lists(st.text(), max_size=3).map(tuple)),
        st.builds(RefusalBlock, st.lists(st.text(), max_size=3).map(tuple)),
        st.builds(ThinkingBlock, st.lists(st.text(), max_size=3).map(tuple)),
        st.builds(ToolCallBlock, st.just("tool"), st.lists(st.text(), max_size=3).map(tuple)),
    ),
    max_size=5,
).map(tuple)
endings = st.one_of(st.just(Completed()), st.builds(Incomplete, st.text()), st.builds(Failed, st.text(), st.text()))


def _write(*answer_blocks: Any, ending: Any = None, **body: Any) -> list[dict[str, Any]]:
    request = PROTOCOL.read_request({"model": "m", "input": "Hi"} | body, {})
    return write_events(request, Answer(answer_blocks, ending or Completed()), REPLY)


def _types(events: Sequence[Mapping[str, Any]]) -> list[str]:
    return [event["type"].removeprefix("response.") for event in events]


def _rebuilt(events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The output that the incremental events alone give, by output index."""
    items: dict[int, dict[str, Any]] = {}
    for event in events:
        index, kind = event.get("output_index"), event["type"].removeprefix("response.")
        if kind == "output_item.added":
            assert index == len(items)
            items[index] = {"item": event["item"], "deltas": "", "open": True}
        elif index is not None:
            assert items[index]["open"]
            assert event.get("item_id", items[index]["item"]["id"]) == items[index]["item"]["id"]
        if kind.endswith(".delta"):
            items[index]["deltas"] += event["delta"]
        elif kind == "output_item.done":
            items[index] |= {"item": event["item"], "open": False}
    return [items[index] for index in sorted(items)]


@given(blocks, endings)
def test_every_event_of_every_answer_is_valid_and_the_output_is_what_the_deltas_said(answer_blocks, ending):
    events = _write(*answer_blocks, ending=ending)
    for event in events:
        validate_event(event)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    response = events[-1]["response"]
    validate_response(response)
    rebuilt = _rebuilt(events)
    assert response["output"] == [item["item"] for item in rebuilt if not item["open"]]
    assert [item["deltas"] for item in rebuilt] == ["".join(block.pieces) for block in answer_blocks]
    assert len({item["item"]["id"] for item in rebuilt}) == len(answer_blocks)
    if not isinstance(ending, Failed):
        assert not any(item["open"] for item in rebuilt)


def test_a_message_is_written_in_the_order_of_the_specification():
    assert _types(_write(TEXT)) == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]


def test_a_reasoning_summary_is_written_in_the_order_of_the_specification():
    assert _types(_write(THINKING))[2:-1] == [
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
    ]


def test_neighbouring_function_calls_are_open_together_and_their_deltas_alternate():
    events = _write(CALL, ToolCallBlock("get_time", ("{", "}", "")))
    assert [(name, event.get("output_index")) for name, event in zip(_types(events), events, strict=True)][2:-1] == [
        ("output_item.added", 0),
        ("output_item.added", 1),
        ("function_call_arguments.delta", 0),
        ("function_call_arguments.delta", 1),
        ("function_call_arguments.delta", 0),
        ("function_call_arguments.delta", 1),
        ("function_call_arguments.delta", 1),
        ("function_call_arguments.done", 0),
        ("output_item.done", 0),
        ("function_call_arguments.done", 1),
        ("output_item.done", 1),
    ]
    first, second = events[-1]["response"]["output"]
    assert (first["name"], first["arguments"], first["status"]) == ("get_weather", '{"city":1}', "completed")
    assert first["call_id"] != second["call_id"] != first["id"]


def test_the_events_of_a_call_carry_neither_call_id_nor_name():
    for event in _write(CALL):
        if "function_call_arguments" in event["type"]:
            assert not {"call_id", "name"} & set(event)


def test_calls_on_both_sides_of_a_text_are_not_parallel():
    events = _write(CALL, TEXT, CALL)
    added = [event["item"]["type"] for event in events if event["type"] == "response.output_item.added"]
    assert added == ["function_call", "message", "function_call"]
    assert _types(events)[6:8] == ["output_item.done", "output_item.added"]


def test_the_same_block_twice_is_written_twice():
    assert len(_write(TEXT, TEXT)[-1]["response"]["output"]) == 2


def test_a_citation_follows_the_delta_that_ends_its_span():
    citations = (Citation("https://a.example", "A", 0, 2), Citation("https://b.example", "B", 2, 5))
    events = _write(TextBlock(("Hé", "llo"), citations))
    assert _types(events)[4:8] == [
        "output_text.delta",
        "output_text.annotation.added",
        "output_text.delta",
        "output_text.annotation.added",
    ]
    annotations = events[-1]["response"]["output"][0]["content"][0]["annotations"]
    assert [annotation["url"] for annotation in annotations] == ["https://a.example", "https://b.example"]
    assert (annotations[1]["start_index"], annotations[1]["end_index"]) == (2, 5)


def test_an_answer_without_output_has_only_the_events_of_the_response():
    assert _types(_write()) == ["created", "in_progress", "completed"]


def test_an_incomplete_response_ends_with_an_incomplete_item_and_says_why():
    events = _write(THINKING, TEXT, ending=Incomplete("max_output_tokens"))
    response = events[-1]["response"]
    assert events[-1]["type"] == "response.incomplete"
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}
    assert response["output"][-1]["status"] == "incomplete"


def test_a_failure_is_an_error_event_and_a_failed_response_with_the_item_left_open():
    events = _write(TEXT, ending=Failed("server_error", "It broke."))
    assert _types(events)[-3:] == ["output_text.delta", "error", "failed"]
    assert events[-2]["error"]["message"] == "It broke."
    assert events[-1]["response"]["error"] == {"code": "server_error", "message": "It broke."}


def test_usage_is_worked_out_from_the_request_and_the_answer():
    usage = _write(THINKING, TEXT, CALL, input="12345678", instructions="1234")[-1]["response"]["usage"]
    thinking, text, call = count_tokens("I think"), count_tokens("Héllo"), count_tokens('{"city":1}')
    assert usage == {
        "input_tokens": 3,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": thinking + text + call,
        "output_tokens_details": {"reasoning_tokens": thinking},
        "total_tokens": 3 + thinking + text + call,
    }


def test_encrypted_reasoning_is_sent_when_it_is_asked_for_and_omitted_otherwise():
    asked = _write(THINKING, include=["reasoning.encrypted_content"])[-1]["response"]["output"][0]
    assert asked["encrypted_content"]
    assert "encrypted_content" not in _write(THINKING)[-1]["response"]["output"][0]


def test_a_reply_has_its_own_identifiers_and_the_same_reply_the_same():
    request = PROTOCOL.read_request({"input": "Hi"}, {})
    answer = Answer((CALL,))
    one, same, other = (write_events(request, answer, Reply(name, 0)) for name in ("a", "a", "b"))
    assert one == same
    assert one[-1]["response"]["id"] != other[-1]["response"]["id"]
    assert one[-1]["response"]["output"][0]["call_id"] != other[-1]["response"]["output"][0]["call_id"]


@pytest.mark.parametrize(
    "body",
    [
        {"tools": [TOOL], "tool_choice": "required", "parallel_tool_calls": False},
        {"tools": [TOOL], "tool_choice": {"type": "function", "name": "get_weather"}},
        {"tools": [TOOL], "tool_choice": {"type": "allowed_tools", "tools": [{"type": "function", "name": "x"}]}},
        {"tools": None, "metadata": {"a": "b"}, "temperature": 0.5, "top_p": None, "store": False},
        {"reasoning": {"effort": "minimal"}, "max_output_tokens": 16, "prompt_cache_key": "k"},
        {"reasoning": {"effort": "high", "summary": "auto"}, "text": {"verbosity": "low"}},
        {"text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": True}}},
        {"input": None, "model": None, "instructions": None},
    ],
)
def test_the_response_repeats_the_request_in_a_valid_form(body):
    for event in _write(TEXT, **body):
        validate_event(event)


def test_the_response_repeats_what_the_request_set():
    response = _write(TEXT, temperature=0.5, metadata={"a": "b"}, tools=[TOOL], store=False)[-1]["response"]
    assert (response["temperature"], response["metadata"], response["store"]) == (0.5, {"a": "b"}, False)
    assert response["tools"] == [TOOL | {"description": None, "strict": None}]


def test_all_24_event_types_are_known_to_the_schema_that_validates():
    assert len(EVENT_MODELS) == 24


def test_a_frame_is_event_and_data_with_line_feeds_and_an_empty_line():
    event = {"type": "response.output_text.delta", "delta": "a\r\nb\u2028é"}
    name, data, *rest = frame(event).decode().split("\n")
    assert name == "event: response.output_text.delta"
    assert json.loads(data.removeprefix("data: ")) == event
    assert rest == ["", ""]
    assert PROTOCOL.end_of_stream == b"data: [DONE]\n\n"


def test_a_frame_of_an_event_without_a_type_has_no_event_line():
    assert frame({"id": 1}) == b'data: {"id":1}\n\n'


def test_without_a_stream_the_document_is_the_response_of_the_terminal_event():
    events = _write(TEXT)
    assert write_document(events) == (200, events[-1]["response"])


def test_without_a_stream_a_failure_is_a_server_error():
    status, body = write_document(_write(TEXT, ending=Failed("server_error", "It broke.")))
    assert (status, body["error"]["message"]) == (500, "It broke.")


@pytest.mark.parametrize(
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
def test_an_error_body_has_the_type_that_goes_with_its_status(status, kind):
    error = error_body(status, "No.")["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["message"], error["type"]) == ("No.", kind)
