"""A response from its first event to its last: order, outcomes, what is counted and what is ignored."""

from typing import Any

import pytest

from openresponses_schema import EVENT_MODELS
from partstream.errors import ToolArgumentsError, TruncatedStreamError, UpstreamFailureError, UpstreamProtocolError
from partstream.lm.outputs import Outcome, StreamOptions, Unmapped
from partstream.lm.parts import FinishReason, UnifiedFinishReason
from partstream.protocols.openresponses.read_response import EVENTS, OpenResponsesStream
from protocols.openresponses.wire import (
    OMIT,
    Event,
    Result,
    added,
    annotation,
    arguments_delta,
    arguments_done,
    call,
    comparable,
    created,
    delta,
    done,
    event,
    message,
    opened_call,
    part_added,
    part_done,
    read,
    read_bytes,
    read_events,
    reasoning,
    spread,
    sse,
    terminal,
    text_done,
    thinking_delta,
)
from rows import one_test_for

ONE_CALL = [("gw-call_0", "look_up", {"a": 1})]
TWO_CALLS = [("gw-call_0", "look_up", {"a": 1}), ("gw-call_1", "look_up", {"b": 2})]


def test_openrouter_closes_without_a_terminal_event() -> None:
    result = read([created(), delta("Hello"), done(message("Hello"))])
    assert result.text == "Hello"
    assert result.finish.outcome is Outcome.TRUNCATED
    assert isinstance(result.finish.error, TruncatedStreamError)


def test_openrouter_sends_done_too_early_and_messages_without_data() -> None:
    chunks = [b"data:\n\n", *sse([created(), delta("Hel")]), b"data: [DONE]\n\n", *sse([delta("lo"), terminal()])]
    result = read_bytes(chunks)
    assert result.text == "Hello"
    assert result.finish.outcome is Outcome.COMPLETED


def test_vllm_leaks_calls_as_text_and_text_they_stay() -> None:
    leaked = '<tool_call>{"name": "look_up"}</tool_call>'
    result = read([created(), delta(leaked), terminal(output=(message(leaked),))])
    assert result.text == leaked
    assert result.calls == []


def test_ollama_text_before_a_call_at_the_same_place_stays_before_it() -> None:
    result = read([added(message(content=[])), delta("Look."), opened_call(0), arguments_done('{"a":1}'), terminal()])
    assert [type(output).__name__ for output in result.outputs] == ["TextPart", "TextPart", "ToolCallPart", "Finish"]
    assert (result.text, result.calls) == ("Look.", ONE_CALL)


def test_arguments_that_cannot_be_told_whose_they_are_are_counted_when_the_calls_came_whole() -> None:
    events = spread(
        added(call("", OMIT), OMIT),
        added(call("", OMIT, "call_1"), OMIT),
        arguments_delta('{"a":1}', OMIT, OMIT),
        done(call('{"a":1}', OMIT), OMIT),
        done(call('{"b":2}', OMIT, "call_1"), OMIT),
    )
    result = read(events)
    assert sorted(result.calls) == TWO_CALLS
    assert result.finish.outcome is Outcome.COMPLETED


def test_arguments_of_no_call_at_all_are_a_clear_error() -> None:
    result = read([created(), arguments_delta('{"a":1}'), terminal()])
    error = result.finish.error
    assert isinstance(error, ToolArgumentsError)
    assert (error.name, error.call_id, error.arguments) == (None, None, '{"a":1}')
    assert "a name for these arguments" in str(error)


# ---- which events are known ----

# All event types of the specification of 2026-04-24, in its order (docs/wires/openresponses.md#events).
SPECIFIED = [
    "response.created",
    "response.queued",
    "response.in_progress",
    "response.completed",
    "response.failed",
    "response.incomplete",
    "response.output_item.added",
    "response.output_item.done",
    "response.reasoning_summary_part.added",
    "response.reasoning_summary_part.done",
    "response.content_part.added",
    "response.content_part.done",
    "response.output_text.delta",
    "response.output_text.done",
    "response.refusal.delta",
    "response.refusal.done",
    "response.reasoning.delta",
    "response.reasoning.done",
    "response.reasoning_summary_text.delta",
    "response.reasoning_summary_text.done",
    "response.output_text.annotation.added",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "error",
]

# Other names of the same events (docs/wires/openresponses.md#names-of-reasoning-events), and what means nothing.
VARIANTS = [
    "response.reasoning_text.delta",
    "response.reasoning_text.done",
    "response.reasoning_content.delta",
    "response.reasoning_content.done",
    "response.reasoning_summary.delta",
    "response.reasoning_summary.done",
    "keepalive",
    "response.error",
    "response.compaction.compacting",
    "response.image_generation_call.in_progress",
    "response.image_generation_call.generating",
    "response.image_generation_call.partial_image",
    "response.image_generation_call.completed",
]

# OpenAI's events of tools that run at the upstream, and others that have no place among parts
# (docs/wires/openresponses.md#events-outside-the-specification).
FOREIGN = [
    "response.web_search_call.in_progress",
    "response.web_search_call.searching",
    "response.web_search_call.completed",
    "response.file_search_call.searching",
    "response.code_interpreter_call.interpreting",
    "response.code_interpreter_call_code.delta",
    "response.code_interpreter_call_code.done",
    "response.mcp_call.completed",
    "response.mcp_call_arguments.delta",
    "response.mcp_call_arguments.done",
    "response.mcp_list_tools.completed",
    "response.custom_tool_call_input.delta",
    "response.custom_tool_call_input.done",
    "response.shell_call_command.delta",
    "response.audio.delta",
    "response.audio.transcript.delta",
    "response.reasoning.started",
    "response.reasoning.search_queries",
    "acme:trace_event",
]


def test_the_table_of_events_is_the_specification_and_the_known_variants() -> None:
    assert len(SPECIFIED) == 24
    assert set(SPECIFIED) == EVENT_MODELS.keys(), "the published schema has the same"
    assert EVENTS.keys() == {*SPECIFIED, *VARIANTS}


@one_test_for("kind", [*SPECIFIED, *VARIANTS])
def test_a_known_event_is_never_counted_as_unmapped(kind: str) -> None:
    known = event_of(kind)
    assert kind not in read([created(), known]).unmapped
    assert kind not in read([known, terminal()]).unmapped


def event_of(kind: str) -> Event:
    """A plausible event of any type."""
    text = {"delta": "{}", "text": "{}", "refusal": "{}", "arguments": "{}"}
    place = {"item_id": "x_0", "output_index": 0, "content_index": 0, "summary_index": 0}
    return {"type": kind, "response": {"id": "resp_1"}, "item": call(), **place, **text}


@pytest.mark.parametrize("kind", FOREIGN)
def test_an_unknown_event_is_counted_by_its_type_and_changes_nothing(kind: str) -> None:
    unknown = event_of(kind)
    result = read([unknown, created(), delta("Hel"), unknown, delta("lo"), terminal(), unknown])
    assert result.text == "Hello"
    assert result.calls == []
    assert result.unmapped == {kind: 2}, "the one after the end is ignored"
    assert result.finish.outcome is Outcome.COMPLETED
    assert [output.data for output in result.outputs if isinstance(output, Unmapped)] == [unknown, unknown]


HOSTED = [
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "mcp_call",
    "mcp_list_tools",
    "mcp_approval_request",
    "image_generation_call",
    "computer_call",
    "computer_call_output",
    "local_shell_call",
    "shell_call",
    "shell_call_output",
    "apply_patch_call",
    "tool_search_call",
    "tool_search_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "program",
    "program_output",
    "function_call_output",
    "openai:web_search_call",
    "acme:anything",
]


@one_test_for("kind", HOSTED)
def test_the_item_of_a_hosted_tool_is_never_a_call_and_is_counted_once(kind: str) -> None:
    item = {**call('{"a":1}', "ws_0", "call_9"), "type": kind}
    own = call('{"a":1}')
    events = [added(item, 0), done(item, 0), opened_call(1), done(own, 1), terminal(output=(item, own))]
    result = read(events)
    assert result.calls == ONE_CALL
    assert result.unmapped == {kind: 1}


def test_the_summary_of_a_conversation_goes_back_with_the_reasoning_and_is_said_once() -> None:
    first = {"type": "compaction", "id": "cmp_1", "encrypted_content": "part"}
    whole = {**first, "encrypted_content": "whole"}
    result = read([created(), added(first, 0), done(whole, 0), terminal(output=(whole,))])
    assert result.unmapped == {}
    assert (result.text, result.thinking, result.metadata) == ("", "", [{"reasoning_items": [whole]}])
    edits = result.finish.provider_metadata["openresponses"]["contextManagement"]["appliedEdits"]
    assert edits == [{"type": "compaction"}]
    assert read([created(), terminal(output=(whole,))]).metadata == result.metadata
    assert read([created(), terminal()]).finish.provider_metadata == {}


def test_two_items_of_one_hosted_tool_are_two_and_the_snapshot_repeats_them() -> None:
    items = [{"type": "web_search_call", "id": f"ws_{place}"} for place in range(2)]
    closing = [done(item, place) for place, item in enumerate(items)]
    assert read([*closing, terminal(output=tuple(items))]).unmapped == {"web_search_call": 2}
    assert read([terminal(output=tuple(items))]).unmapped["web_search_call"] >= 1


@pytest.mark.parametrize("item", [None, {}, {"type": None}, {"type": 7}])
def test_an_item_without_a_type_is_counted(item: Any) -> None:
    result = read([added(item), done(item), terminal()])
    assert result.unmapped == {"an item without a type": 1}
    assert result.finish.outcome is Outcome.COMPLETED


# ---- outcomes ----


def test_response_id_model_and_usage_come_with_the_finish() -> None:
    usage = {"input_tokens": 3, "output_tokens": 4}
    finish = read([created(), terminal(id="resp_2", model="m-2-2026", usage=usage)]).finish
    assert (finish.response_id, finish.model) == ("resp_2", "m-2-2026")
    assert finish.usage is not None
    assert (finish.usage.input_tokens, finish.usage.total_tokens) == (3, 7)
    earlier = read([created(), event("completed", response={})]).finish
    assert (earlier.response_id, earlier.model, earlier.usage) == ("resp_1", "m-1", None)
    assert read([event("created"), event("completed")]).finish.response_id is None


def test_incomplete_is_no_error() -> None:
    result = read([delta("Hel"), terminal("incomplete", incomplete_details={"reason": "max_output_tokens"})])
    assert result.text == "Hel"
    assert result.finish.outcome is Outcome.INCOMPLETE
    assert result.finish.error is None
    assert result.finish.reason == FinishReason(UnifiedFinishReason.LENGTH, "max_output_tokens")


@pytest.mark.parametrize("ending", ["completed", "incomplete", "failed"])
def test_nothing_that_comes_after_the_terminal_event_changes_anything(ending: str) -> None:
    late = [
        *(
            delta("late"),
            done(call('{"a":1}')),
            terminal("failed"),
            terminal("completed"),
            event("error", message="late"),
        ),
        *(event("unheard.of"), {"type": 7}, {"no": "type"}, added("wrong")),
    ]
    result = read([created(), delta("Hi"), terminal(ending), *late])
    assert comparable(result) == comparable(read([created(), delta("Hi"), terminal(ending)]))


@one_test_for(
    "events", [[], [created()], [created(), delta("Hi")], [event("queued"), event("in_progress")], [delta("Hi")]]
)
def test_the_end_of_bytes_without_a_terminal_event_is_a_truncated_stream(events: list[Event]) -> None:
    finish = read(events).finish
    assert finish.outcome is Outcome.TRUNCATED
    assert finish.reason is None
    assert isinstance(finish.error, TruncatedStreamError)
    assert finish.error.state == ("OPEN" if events else "IDLE")
    assert finish.response_id == ("resp_1" if created() in events else None)


def test_content_after_an_error_is_counted_and_the_failure_still_comes() -> None:
    result = read([delta("Hi"), event("error", code="c", message="m"), delta("more"), terminal("failed")])
    assert result.text == "Hi"
    assert result.unmapped == {"response.output_text.delta": 1}
    assert isinstance(result.finish.error, UpstreamFailureError)


def test_an_own_error_after_a_reported_one_is_the_finish_and_only_one() -> None:
    result = read([event("error", code="c", message="m"), {"type": 7}, terminal("failed")])
    assert isinstance(result.finish.error, UpstreamProtocolError)


WRONG_TYPES: list[tuple[Event, str]] = [
    (created() | {"response": "none"}, "response"),
    (terminal() | {"response": []}, "response"),
    (terminal(output="none"), "output"),
    (terminal(output=["none"]), "output"),
    (added("none"), "item"),
    (done(["none"]), "item"),
    (delta(7), "delta"),
    (delta(["a"]), "delta"),
    (text_done({}), "text"),
    (thinking_delta(7), "delta"),
    (arguments_delta(7), "delta"),
    (part_added() | {"part": "none"}, "part"),
    (part_done("x") | {"part": [1]}, "part"),
    (done(message(content=7)), "content"),
    (done(message(content=[7])), "content"),
    (done(message(content=[{"type": "output_text", "text": 7}])), "text"),
    (done({**reasoning(), "summary": "none"}), "summary"),
    (annotation("https://e.org") | {"annotation": "none"}, "annotation"),
    (event("refusal.done", refusal=7), "refusal"),
]


@one_test_for(("wrong", "field"), WRONG_TYPES)
def test_a_field_of_the_wrong_type_is_one_clear_error_that_names_it(wrong: Event, field: str) -> None:
    result = read([delta("Hi"), wrong, delta("more"), terminal()])
    assert result.text == "Hi"
    error = result.finish.error
    assert isinstance(error, UpstreamProtocolError)
    assert error.field == field
    assert result.finish.outcome is Outcome.FAILED
    # The raw reason is the upstream's own word, and only a terminal event says one.
    assert result.finish.reason == FinishReason(UnifiedFinishReason.ERROR, "completed" if field == "output" else None)


@one_test_for("wrong", [delta, text_done, arguments_delta, arguments_done])
@one_test_for("index", [None, "0", 0.5, [], {}, True, -1, 10**30])
def test_an_index_of_the_wrong_type_is_as_good_as_none(wrong: Any, index: Any) -> None:
    result = read_bytes(b"".join(sse([opened_call(), *[wrong('{"a":1}', index)] * 3])).splitlines(keepends=True))
    assert result.finish.outcome is Outcome.TRUNCATED


def test_an_event_of_an_unknown_kind_or_none_is_told_by_the_adapter_too() -> None:
    for broken in ({}, {"type": None}, {"type": []}, {"type": {}}, {"type": ""}):
        error = read_events([broken]).finish.error
        assert isinstance(error, UpstreamProtocolError)
        assert error.field == "type"


def test_two_streams_that_are_fed_by_turns_never_mix() -> None:
    streams = [OpenResponsesStream(StreamOptions(call_id_prefix="gw-")) for _ in range(2)]
    outputs: list[list[Any]] = [[], []]
    for make in (
        lambda n: created(id=f"resp_{n}"), lambda n: opened_call(call_id=f"call_{n}"),
        lambda n: arguments_delta(f'{{"n":{n}}}'), lambda n: delta(f"text {n}", 1), lambda n: arguments_done(""),
        lambda n: done(reasoning([f"thought {n}"], encrypted_content=f"x{n}"), 2), lambda n: terminal(id=f"resp_{n}"),
    ):  # fmt: skip
        for number, stream in enumerate(streams):
            outputs[number] += stream.feed(make(number))
    for number, stream in enumerate(streams):
        result = Result(outputs[number] + stream.end())
        assert result.text == f"text {number}"
        assert result.thinking == f"thought {number}"
        assert result.calls == [(f"gw-call_{number}", "look_up", {"n": number})]
        assert len(result.metadata[0]["reasoning_items"]) == 1
        assert result.finish.response_id == f"resp_{number}"
