"""Answers of Anthropic and of servers that break its rules (docs/wires/anthropic-messages.md#decisions)."""

import json
from itertools import chain
from typing import Any

import pytest

from partstream.errors import (
    AdapterUsageError,
    ToolArgumentsError,
    TruncatedStreamError,
    UpstreamFailureError,
    UpstreamProtocolError,
)
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart, UnifiedFinishReason
from partstream.protocols.anthropic_messages.read_response import MessagesStream
from partstream.protocols.reader import StreamReader
from protocols.anthropic_messages.wire import (
    OMIT,
    PING,
    PLAIN,
    STOP,
    Event,
    answer,
    call,
    closed,
    delta,
    event,
    opened,
    read,
    read_bytes,
    read_events,
    sse,
    started,
    stopped,
    text,
    thinking,
)
from protocols.openresponses.wire import comparable
from rows import one_test_for

CUT_WORDS = ["max_tokens", "model_context_window_exceeded", "refusal", "pause_turn"]


def _unified(result: Any) -> UnifiedFinishReason | None:
    reason = result.finish.reason
    return None if reason is None else reason.unified


# ---- decision 1: calls ----


@one_test_for(
    ("events", "given"),
    [
        (call("", '{"a": ', "[1, 2]", "}"), {"a": [1, 2]}),
        (call(""), {}),
        (call(), {}),
        (call(input=OMIT), {}),
        (call(input=None), {}),
        (call(input=""), {}),
        (call(input={"a": 1}), {"a": 1}),
        (call('{"a": 2}', input={"a": 1}), {"a": 2}),
        (call('{"a": 2', input={"a": 1}), {"a": 1}),
    ],
    ids=["in pieces", "empty", "no delta", "no input", "null", "empty input", "in the start", "in both", "half beside"],
)
def test_decision_1_a_call_is_handed_out_once_with_its_arguments(events: list[Event], given: Any) -> None:
    events = [{name: value for name, value in one.items() if value is not OMIT} for one in events]
    events[0]["content_block"] = {k: v for k, v in events[0]["content_block"].items() if v is not OMIT}
    result = read(answer(events, reason="tool_use"))
    assert result.calls == [("toolu_1", "look_up", given)]
    assert _unified(result) is UnifiedFinishReason.TOOL_CALLS
    assert result.finish.outcome is Outcome.COMPLETED


@pytest.mark.parametrize("word", CUT_WORDS)
def test_decision_1_half_a_call_of_an_answer_that_was_cut_is_no_call(word: str) -> None:
    result = read(answer(text("Let me see."), call('{"path": "/et', index=1), reason=word))
    assert (result.text, result.calls) == ("Let me see.", [])
    assert result.finish.outcome is Outcome.INCOMPLETE
    assert result.unmapped == {"tool call look_up (incomplete)": 1}


@pytest.mark.parametrize("word", ["tool_use", "end_turn", None, "stop_sequence"])
@pytest.mark.parametrize("pieces", [('{"path": "/et',), ('["a"]',), ('"a"',), ("not JSON",)])
def test_decision_1_half_a_call_of_a_whole_answer_is_an_error(word: Any, pieces: tuple[str, ...]) -> None:
    result = read(answer(call(*pieces), reason=word))
    assert result.calls == []
    assert result.finish.outcome is Outcome.FAILED
    error = result.finish.error
    assert isinstance(error, ToolArgumentsError)
    assert (error.call_id, error.name, error.arguments) == ("toolu_1", "look_up", pieces[0])


def test_decision_1_a_whole_call_before_half_a_call_is_handed_out() -> None:
    result = read(answer(call('{"a": 1}'), call('{"b"', call_id="toolu_2", index=1), reason="max_tokens"))
    assert [one for one, *_ in result.calls] == ["toolu_1"]
    assert _unified(result) is UnifiedFinishReason.LENGTH


def test_a_call_id_that_comes_twice_is_one_call_and_one_without_an_id_gets_its_own() -> None:
    twice = read(answer(call('{"a": 1}'), call('{"a": 1}', index=1), reason="tool_use"))
    assert len(twice.calls) == 1
    none = read(answer(call('{"a": 1}', call_id=None), call('{"a": 1}', call_id="", index=1), reason="tool_use"))
    assert len({one for one, *_ in none.calls}) == 2


def test_a_call_has_the_prefix_of_the_upstream() -> None:
    assert read(answer(call("{}"), reason="tool_use"), call_id_prefix="gw-").calls[0][0] == "gw-toolu_1"


@pytest.mark.parametrize("word", ["end_turn", "stop_sequence", None, "", "something_new"])
def test_calls_decide_and_not_the_stop_reason(word: Any) -> None:
    """BerriAI/litellm#34692: `end_turn` with a call, and an empty block of text before it."""
    result = read(answer(text(""), call("{}", index=1), reason=word))
    assert len(result.calls) == 1
    assert _unified(result) is UnifiedFinishReason.TOOL_CALLS


def test_arguments_that_belong_to_no_call_are_an_error_that_shows_them() -> None:
    result = read(answer(delta("input_json_delta", 3, partial_json='{"a": 1}'), reason="tool_use"))
    assert isinstance(result.finish.error, ToolArgumentsError)
    assert result.finish.error.name is None


def test_parallel_calls_keep_their_order_and_the_text_between_them_its_place() -> None:
    result = read_events(answer(call("{}"), text("and", index=1), call("{}", call_id="toolu_2", index=2)))
    kinds = [type(one) for one in result.outputs]
    assert kinds == [ToolCallPart, TextPart, ToolCallPart, Finish]


# ---- decision 2: blocks in message_start ----


def test_decision_2_a_message_that_starts_whole_is_read_whole() -> None:
    """Recording anthropic-programmatic-tool-calling: no block event and no `message_delta`."""
    content = [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "text", "text": "Prefilled "},
        {"type": "tool_use", "id": "toolu_1", "name": "roll", "input": {"n": 1}, "caller": {"type": "code_execution"}},
    ]
    result = read([started(*content, stop_reason="tool_use"), STOP])
    assert (result.thinking, result.text, result.calls) == ("Hm.", "Prefilled ", [("toolu_1", "roll", {"n": 1})])
    assert result.finish.reason is not None
    assert result.finish.reason.raw == "tool_use"


def test_decision_2_text_that_was_prefilled_goes_on() -> None:
    result = read([started({"type": "text", "text": "Once "}), *text("upon", index=1), stopped(), STOP])
    assert result.text == "Once upon"


# ---- decision 3: blocks by index, and deltas by their own kind ----

LLAMA = [
    started(),
    opened("thinking", 0, thinking=""),
    delta("thinking_delta", 0, thinking="Hm. "),
    opened("text", 1, text=""),
    delta("text_delta", 1, text="I look "),
    delta("thinking_delta", 0, thinking="Well."),
    opened("tool_use", 2, id="c1", name="look_up"),
    delta("text_delta", 1, text="it up."),
    delta("input_json_delta", 2, partial_json='{"a":'),
    opened("tool_use", 3, id="c2", name="look_up"),
    delta("input_json_delta", 3, partial_json='{"b": 2}'),
    delta("input_json_delta", 2, partial_json="1}"),
    *(closed(index) for index in range(4)),
    stopped("tool_use"),
    STOP,
]


def test_decision_3_blocks_that_are_all_open_at_once_are_told_apart() -> None:
    """llama.cpp closes every block only at the end, and its calls have no input and no signature."""
    result = read(LLAMA)
    assert result.thinking == "Hm. Well."
    assert result.text == "I look it up."
    assert result.calls == [("c1", "look_up", {"a": 1}), ("c2", "look_up", {"b": 2})]
    assert result.unmapped == {}


def test_decision_3_blocks_that_nobody_closes_are_closed_by_the_message() -> None:
    events = [one for one in LLAMA if one["type"] != "content_block_stop"]
    assert comparable(read(events)) == comparable(read(LLAMA))


@pytest.mark.parametrize("index", [0, 7, None, "0", OMIT])
def test_decision_3_a_delta_that_nothing_opened_opens_its_own_block(index: Any) -> None:
    events = [delta("thinking_delta", index, thinking="Hm."), delta("text_delta", index, text="Hi")]
    events = [{name: value for name, value in one.items() if value is not OMIT} for one in events]
    result = read(answer(*events))
    assert (result.thinking, result.text, result.unmapped) == ("Hm.", "Hi", {})


def test_decision_3_a_delta_goes_by_its_own_kind() -> None:
    """BerriAI/litellm#32357 streams thinking into a block of text, musistudio/claude-code-router#1725 into a call."""
    result = read(
        answer(
            opened("text", 0, text=""),
            delta("thinking_delta", 0, thinking="Hm."),
            delta("text_delta", 0, text="Hi"),
            closed(0),
            opened("tool_use", 1, id="c1", name="look_up", input={}),
            delta("thinking_delta", 1, thinking=" Well."),
            delta("input_json_delta", 1, partial_json='{"a": 1}'),
            delta("signature_delta", 1, signature="s"),
            delta("text_delta", 1, text=" there"),
            closed(1),
            delta("thinking_delta", 0, thinking=" So."),
            reason="tool_use",
        )
    )
    assert (result.thinking, result.text) == ("Hm. Well. So.", "Hi there")
    assert result.calls == [("c1", "look_up", {"a": 1})]


def test_empty_arguments_in_place_of_text_are_nothing() -> None:
    """BerriAI/litellm#29286."""
    empty = delta("input_json_delta", 0, partial_json="")
    result = read(answer(opened("text", 0, text=""), empty, delta("text_delta", 0, text="Hi"), empty, closed(0)))
    assert (result.text, result.calls, result.unmapped) == ("Hi", [], {})
    assert result.finish.error is None


def test_pings_come_anywhere() -> None:
    calm = answer(text("a", "b"), call("{", "}", index=1), reason="tool_use")
    noisy = list(chain.from_iterable((PING, one) for one in calm))
    assert comparable(read(noisy)) == comparable(read(calm))


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "content_block_start", "index": 0},
        {"type": "content_block_start", "index": 0, "content_block": "text"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": None}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 5}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta"}},
        {"type": "content_block_delta", "index": 0},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "new_delta", "new": "x"}},
        {"type": "content_block_stop"},
        {"type": "content_block_stop", "index": 99},
        {"type": "message_delta"},
        {"type": "message_delta", "delta": None, "usage": None},
        {"type": "message_delta", "delta": {"stop_reason": 7}, "usage": [1]},
        {"type": "something_new", "data": {}},
    ],
    ids=json.dumps,
)
def test_what_is_wrong_or_new_takes_nothing_of_the_answer(wrong: Event) -> None:
    events = answer(wrong, text("Hi", index=1), wrong, call("{}", index=2), wrong, reason="tool_use")
    result = read(events)
    assert (result.text, len(result.calls), result.finish.outcome) == ("Hi", 1, Outcome.COMPLETED)


def test_what_is_new_is_counted() -> None:
    new = {"type": "content_block_delta", "index": 0, "delta": {"type": "new_delta"}}
    result = read(answer({"type": "something_new"}, new, opened("new_block", 0, text="not said"), closed(0)))
    assert result.unmapped == {"something_new": 1, "delta:new_delta": 1, "new_block": 1}
    assert result.text == ""


# ---- decision 4: beginnings and ends ----


def test_decision_4_a_second_start_with_the_same_id_is_ignored() -> None:
    """BerriAI/litellm#32357."""
    events = [started(), started(), *text("Hi"), started({"type": "text", "text": "again"}), stopped(), STOP]
    assert read(events).text == "Hi"


def test_another_message_in_the_middle_of_one_is_an_error_and_before_it_the_message() -> None:
    other = started(id="msg_2")
    result = read([started(), other, *text("Hi"), stopped(), STOP])
    assert (result.text, result.finish.response_id) == ("Hi", "msg_2")
    error = read([started(), *text("Hi"), other, *text("there"), stopped(), STOP]).finish.error
    assert isinstance(error, UpstreamProtocolError)
    assert "msg_2" in str(error)


def test_decision_4_what_comes_behind_the_end_is_ignored() -> None:
    """anthropics/claude-code#67809."""
    whole = answer(text("Hi"))
    late = [delta("text_delta", 0, text="late"), *call("{}", index=5), started(id="msg_2"), stopped(), STOP]
    assert comparable(read([*whole, *late])) == comparable(read(whole))


def test_decision_4_the_end_of_the_bytes_is_one_behind_a_stop_reason_and_none_before() -> None:
    whole = answer(text("Hi"))
    assert comparable(read(whole[:-1])) == comparable(read(whole))
    cut = read(whole[:-2])
    assert cut.finish.outcome is Outcome.TRUNCATED
    assert isinstance(cut.finish.error, TruncatedStreamError)
    assert cut.text == "Hi"


@pytest.mark.parametrize("events", [[], [PING], [PING, PING]])
def test_a_stream_of_nothing_but_pings_never_began(events: list[Event]) -> None:
    result = read(events)
    assert result.finish.outcome is Outcome.TRUNCATED
    assert isinstance(result.finish.error, TruncatedStreamError)
    assert result.finish.error.state == "IDLE"


def test_an_answer_without_a_start_is_read() -> None:
    result = read([*text("Hi"), stopped(), STOP])
    assert (result.text, result.finish.outcome, result.finish.response_id) == ("Hi", Outcome.COMPLETED, None)


def test_a_mark_of_another_wire_ends_the_answer() -> None:
    """Some proxies send `[DONE]` in place of `message_stop` (docs/wires/anthropic-messages.md#events)."""
    events = sse([started(), *text("Hi")])
    assert read_bytes([*events, b"data: [DONE]\n\n"]).finish.outcome is Outcome.COMPLETED
    assert read_bytes([*sse(answer(text("Hi"))), b"data: [DONE]\n\n"]).finish.outcome is Outcome.COMPLETED


def test_the_kind_of_an_event_may_stand_in_its_name_alone() -> None:
    events = answer(text("Hi"), call('{"a": 1}', index=1), reason="tool_use")
    bare = [{name: value for name, value in one.items() if name != "type"} for one in events]
    framed = [
        b"event: " + str(whole["type"]).encode() + b"\ndata: " + json.dumps(one).encode() + b"\n\n"
        for whole, one in zip(events, bare, strict=True)
    ]
    assert comparable(read_bytes(framed)) == comparable(read(events))


def test_the_connection_may_close_soon_behind_a_stop_reason() -> None:
    stream = MessagesStream(PLAIN)
    for one in [started(), *text("Hi")]:
        stream.feed(one)
        assert not stream.ending
    stream.feed(stopped())
    assert stream.ending
    stream.feed(delta("text_delta", 0, text="more"))
    assert not stream.ending


def test_nothing_can_be_fed_behind_the_end() -> None:
    stream = MessagesStream(PLAIN)
    stream.end()
    with pytest.raises(AdapterUsageError):
        stream.end()
    with pytest.raises(AdapterUsageError):
        stream.feed(STOP)


# ---- decision 5: what is the server's ----

RESULTS = [
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "advisor_tool_result",
    "mcp_tool_result",
    "next_years_tool_result",
]


@pytest.mark.parametrize("kind", RESULTS)
@pytest.mark.parametrize("content", [{"type": "text", "text": "not said"}, [{"type": "text", "text": "not said"}]])
def test_decision_5_a_result_of_the_servers_tools_is_no_text(kind: str, content: Any) -> None:
    result = read(answer(opened(kind, 0, tool_use_id="srvtoolu_1", content=content), closed(0), text("Hi", index=1)))
    assert (result.text, result.calls, result.unmapped) == ("Hi", [], {kind: 1})


@pytest.mark.parametrize("kind", ["server_tool_use", "mcp_tool_use", "next_years_tool_use"])
@pytest.mark.parametrize("pieces", [('{"query": ', '"x"}'), ("",), (), ('{"half',)])
def test_decision_5_a_call_of_the_servers_tools_is_no_call_of_ours(kind: str, pieces: tuple[str, ...]) -> None:
    result = read(answer(call(*pieces, kind=kind, call_id="srvtoolu_1", name="web_search"), text("Hi", index=1)))
    assert (result.text, result.calls, result.unmapped) == ("Hi", [], {kind: 1})
    assert result.finish.outcome is Outcome.COMPLETED
    assert _unified(result) is UnifiedFinishReason.STOP


def test_decision_5_a_summary_of_the_conversation_is_no_text_and_is_shown_as_an_edit() -> None:
    summary = [opened("compaction", 0, content=None), delta("compaction_delta", 0, content="Long ago."), closed(0)]
    result = read(answer(summary, text("Hi", index=1)))
    assert (result.text, result.unmapped) == ("Hi", {"compaction": 1})
    assert result.finish.edits == ("the conversation was summarised",)
    failed = read(answer(opened("compaction", 0), delta("compaction_delta", 0, content=None), closed(0), text("Hi")))
    assert (failed.text, failed.finish.edits) == ("Hi", ())


def test_decision_5_calls_before_another_model_went_on_are_void() -> None:
    """The text stays, and what follows is the other model's (docs/wires/anthropic-messages.md#fallback-models)."""
    fallback = opened("fallback", 2, **{"from": {"model": "a"}, "to": {"model": "b"}, "trigger": "refusal"})
    events = [
        *text("I look it up."),
        *call("{}", index=1),
        fallback,
        closed(2),
        *text(" No:", index=3),
        *call('{"a": 1}', call_id="toolu_2", index=4),
    ]
    result = read(answer(events, reason="tool_use"))
    assert result.finish.model == "b"
    assert result.text == "I look it up. No:"
    assert [one for one, *_ in result.calls] == ["toolu_2"]
    none = read(answer(*events[:7], closed(2), text("No.", index=3)))
    assert none.calls == []
    assert _unified(none) is UnifiedFinishReason.STOP


def test_what_comes_behind_a_fallback_does_not_wait() -> None:
    stream = MessagesStream(PLAIN)
    for one in [started(), *call("{}"), opened("fallback", 1), closed(1), opened("text", 2, text="")]:
        stream.feed(one)
    assert stream.feed(delta("text_delta", 2, text="Hi"))[-1] == TextPart("Hi")


# ---- docs/wires/anthropic-messages.md#stop-reasons ----


@one_test_for(
    ("word", "unified", "outcome"),
    [
        ("end_turn", UnifiedFinishReason.STOP, Outcome.COMPLETED),
        ("stop_sequence", UnifiedFinishReason.STOP, Outcome.COMPLETED),
        ("max_tokens", UnifiedFinishReason.LENGTH, Outcome.INCOMPLETE),
        ("model_context_window_exceeded", UnifiedFinishReason.LENGTH, Outcome.INCOMPLETE),
        ("refusal", UnifiedFinishReason.CONTENT_FILTER, Outcome.INCOMPLETE),
        ("pause_turn", UnifiedFinishReason.OTHER, Outcome.INCOMPLETE),
        ("compaction", UnifiedFinishReason.OTHER, Outcome.INCOMPLETE),
        (None, UnifiedFinishReason.STOP, Outcome.COMPLETED),
        ("", UnifiedFinishReason.STOP, Outcome.COMPLETED),
        ("tool_use", UnifiedFinishReason.OTHER, Outcome.COMPLETED),
        ("next_years_reason", UnifiedFinishReason.OTHER, Outcome.COMPLETED),
    ],
)
def test_every_stop_reason_has_its_meaning(word: Any, unified: UnifiedFinishReason, outcome: Outcome) -> None:
    result = read(answer(text("Hi"), reason=word))
    assert (_unified(result), result.finish.outcome) == (unified, outcome)
    assert result.finish.reason is not None
    assert result.finish.reason.raw == (word or None)


def test_a_refusal_says_why() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "Not this.", "recommended_model": "m-2"}
    result = read([started(), stopped("refusal", stop_details=details), STOP])
    assert result.finish.explanation == "Not this."
    assert result.finish.provider_metadata == {
        "anthropic": {
            "stopDetails": {
                "type": "refusal",
                "category": "cyber",
                "explanation": "Not this.",
                "recommendedModel": "m-2",
            }
        }
    }


def test_the_stop_sequence_is_told() -> None:
    result = read([started(), *text("Hi"), stopped("stop_sequence", stop_sequence="END"), STOP])
    assert result.finish.provider_metadata == {"anthropic": {"stopSequence": "END"}}


def test_what_the_server_took_out_of_the_conversation_is_shown() -> None:
    edits = [
        {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 8, "cleared_input_tokens": 50000},
        {"type": "clear_thinking_20251015", "cleared_thinking_turns": 1, "cleared_input_tokens": 700},
    ]
    result = read([started(), *text("Hi"), stopped(about={"applied_edits": edits}), STOP])
    assert result.finish.edits == ("8 tool calls, 50,000 tokens", "1 thinking turn, 700 tokens")
    first = started(context_management={"applied_edits": edits[:1]})
    again = read([first, *text("Hi"), stopped(about={"applied_edits": edits}), STOP])
    assert again.finish.edits == result.finish.edits


# ---- docs/wires/anthropic-messages.md#errors ----


@pytest.mark.parametrize(
    ("kind", "status"),
    [("overloaded_error", 529), ("api_error", 500), ("rate_limit_error", 429), ("internal_error", 500)],
)
def test_an_error_in_the_stream_ends_it_with_the_status_that_it_stands_for(kind: str, status: int) -> None:
    error = {"type": "error", "error": {"type": kind, "message": "Busy."}, "request_id": "req_1"}
    result = read([error, STOP])
    assert isinstance(result.finish.error, UpstreamFailureError)
    found = result.finish.error
    assert (found.provider_message, found.provider_code, found.http_status) == ("Busy.", kind, status)
    late = read([started(), *text("Hi"), *call("{}", index=1), error])
    assert (late.text, late.calls, late.finish.outcome) == ("Hi", [], Outcome.FAILED)


@pytest.mark.parametrize(
    "error",
    [
        {"error": {"message": "No."}},
        {"type": "error", "error": "No."},
        {"type": "error", "message": "No."},
        {"error": {"code": 400, "message": "No.", "type": "invalid_request_error"}},
    ],
    ids=json.dumps,
)
def test_errors_of_other_forms_are_errors(error: Event) -> None:
    result = read([started(), error])
    assert result.finish.outcome is Outcome.FAILED
    assert "No." in str(result.finish.error)


def test_an_error_without_a_word_is_one() -> None:
    assert read([{"type": "error"}]).finish.outcome is Outcome.FAILED


# ---- the document in place of a stream ----


def _document(**fields: Any) -> bytes:
    message = started(
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "text", "text": "Hi"},
        {"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": {"a": 1}},
        stop_reason="tool_use",
        **fields,
    )["message"]
    return json.dumps(message).encode()


def test_a_document_means_what_its_stream_means() -> None:
    reader = StreamReader("anthropic-messages", PLAIN)
    outputs = [*reader.feed_document(_document()), *reader.end()]
    events = answer(
        *(thinking("Hm.", signature="s"), text("Hi", index=1), call('{"a": 1}', index=2)),
        reason="tool_use",
        usage={"output_tokens": 1},
    )
    streamed = read(events)
    shown = [one for one in outputs if not isinstance(one, Finish)]
    assert shown == streamed.outputs[:-1]
    assert comparable(type(streamed)([*shown, outputs[-1]])) == comparable(streamed)


def test_a_document_that_is_an_error_is_one() -> None:
    reader = StreamReader("anthropic-messages", PLAIN)
    body = b'{"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}'
    finish = [*reader.feed_document(body), *reader.end()][-1]
    assert isinstance(finish, Finish)
    assert isinstance(finish.error, UpstreamFailureError)
    assert finish.error.http_status == 401


def test_thinking_parts_come_as_the_deltas_come() -> None:
    stream = MessagesStream(PLAIN)
    stream.feed(started())
    stream.feed(opened("thinking", 0, thinking=""))
    assert stream.feed(delta("thinking_delta", 0, thinking="Hm.")) == [ThinkingPart("Hm.")]


def test_an_event_that_says_no_kind_is_an_error_that_shows_it() -> None:
    result = read_events([started(), {"type": 5}])
    assert isinstance(result.finish.error, UpstreamProtocolError)
    assert "5" in str(result.finish.error)
    assert event("x") == {"type": "x"}
