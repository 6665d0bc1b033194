"""What chunks of Chat Completions mean, whatever servers leave out or repeat (docs/wires/chat-completions.md)."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partstream.conversation.provider_state import ITEMS
from partstream.errors import ToolArgumentsError, TruncatedStreamError, UpstreamAbortedError, UpstreamFailureError
from partstream.lm.outputs import CitationMode, Finish, Outcome, Unmapped
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart, UnifiedFinishReason
from partstream.protocols.chat_completions.errors import ERRORS as ERRORS_OF_SERVERS
from partstream.upstream.requests import cost_of
from protocols.chat_completions.wire import (
    DONE,
    answered,
    call,
    calls,
    chunk,
    document,
    finished,
    read,
    read_bytes,
    read_events,
    said,
    sse,
    thought,
    usage,
)
from protocols.openresponses.wire import Event, Result, comparable
from rows import one_test_for

STREAM = [
    chunk({"role": "assistant", "content": ""}),
    thought("Hm"),
    said("Hi 😀 "),
    said("there."),
    calls(call(0, "a", "look_up", '{"word"')),
    calls(call(0, None, None, ': "x"}')),
    calls(call(1, "b", "add", "")),
    finished("tool_calls"),
    usage(),
    DONE,
]
TWO = [("a", "look_up", {"word": "x"}), ("b", "add", {})]


# ---- 1 ----

NOTHING: dict[str, Any] = {
    "empty": {"choices": []},
    "null": {"choices": None},
    "missing": {"object": "chat.completion.chunk", "id": "c-1"},
    "of Azure": {"id": "", "model": "", "object": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
    "of Copilot": {"choices": None, "id": "c-1", "copilot_references": []},
    "no delta": {"choices": [{"index": 0, "finish_reason": None}]},
    "a null delta": {"choices": [{"index": 0, "delta": None}]},
    "a null choice": {"choices": [None]},
    "a number": {"choices": 5},
}


@pytest.mark.parametrize("nothing", NOTHING.values(), ids=NOTHING)
def test_a_chunk_without_a_choice_emits_nothing(nothing: Event) -> None:
    alone = read_events([nothing])
    assert alone.outputs == [alone.finish]
    expected = comparable(read(STREAM))
    for place in range(len(STREAM)):
        assert comparable(read_events([*STREAM[:place], nothing, *STREAM[place:]])) == expected


@given(cuts=st.lists(st.integers(0, 5000), max_size=12))
@settings(max_examples=40)
def test_any_cut_of_the_bytes_gives_the_same_parts(cuts: list[int]) -> None:
    data = b"".join(sse(STREAM))
    borders = [0, *sorted(cut % len(data) for cut in cuts), len(data)]
    pieces = [data[start:end] for start, end in itertools.pairwise(borders)]
    assert comparable(read_bytes(pieces)) == comparable(read_bytes([data]))
    assert read_bytes(pieces).calls == TWO


# ---- 2 ----

ERRORS: dict[str, Any] = {
    "beside choices": {"error": {"message": "broke", "code": 502}, **finished("stop")},
    "an object": {"error": {"message": "broke", "type": "server_error"}},
    "a text": {"error": "broke"},
    "a text and a code": {"code": "E1", "error": "broke"},
    "flat": {"object": "error", "message": "broke", "type": "bad", "code": 400},
    "a list of one": [{"error": {"code": 400, "message": "broke", "status": "INVALID_ARGUMENT"}}],
    "of Groq": {"x_groq": {"error": "broke"}, **chunk({})},
    "of MiniMax": {"base_resp": {"status_code": 1002, "status_msg": "broke"}},
    "of a framework": {"detail": "broke"},
}


@one_test_for("error", ERRORS.values(), ids=ERRORS)
@one_test_for("before", [[], [said("Hi")]], ids=["first", "behind text"])
def test_an_error_is_found_before_choices_and_ends_the_answer(error: Any, before: list[Event]) -> None:
    data = json.dumps(error).encode()
    for stream in ([*before, data], [*before, data, finished(), usage(), DONE], [*before, data, said("more"), DONE]):
        result = read_bytes(sse(stream))
        assert result.finish.outcome is Outcome.FAILED
        assert isinstance(result.finish.error, UpstreamFailureError)
        assert "broke" in result.finish.error.provider_message
        assert result.text == ("Hi" if before else "")
        assert result.calls == []


@one_test_for("error", ERRORS.values(), ids=ERRORS)
def test_an_error_is_found_in_a_body_without_a_stream(error: Any) -> None:
    for body in (json.dumps(error), json.dumps(error, indent=2), "\n\n" + json.dumps(error) + "\n"):
        for piece in ([body.encode()], [bytes((byte,)) for byte in body.encode()]):
            result = read_bytes(piece)
            assert isinstance(result.finish.error, UpstreamFailureError)
            assert "broke" in result.finish.error.provider_message


def test_an_error_with_an_event_name_is_one_too() -> None:
    result = read_bytes([b'event: error\ndata: {"error":{"message":"broke","status_code":400}}\n\n'])
    assert isinstance(result.finish.error, UpstreamFailureError)


def test_tokens_that_follow_an_error_are_still_told() -> None:
    result = read([said("Hi"), {"error": {"message": "broke"}}, usage(41, 2), DONE])
    assert result.finish.usage is not None
    assert result.finish.usage.input_tokens == 41


# ---- 3 ----

MESSAGE = {
    "reasoning_content": "Hm",
    "content": "Hi 😀 there.",
    "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "look_up", "arguments": '{"word": "x"}'}},
        {"id": "b", "type": "function", "function": {"name": "add", "arguments": ""}},
    ],
}
DOCUMENT = document(MESSAGE, "tool_calls", usage=usage()["usage"])


def _merged(result: Result) -> list[Any]:
    """The outputs with neighbouring texts joined: a document says in one piece what a stream says in many."""
    merged: list[Any] = []
    for output in comparable(result):
        if merged and isinstance(output, TextPart | ThinkingPart) and type(merged[-1]) is type(output):
            joined = merged[-1].value + output.value
            metadata = [one.metadata for one in (merged[-1], output) if isinstance(one, ThinkingPart)]
            merged[-1] = TextPart(joined) if not metadata else ThinkingPart(joined, None, metadata[1] or metadata[0])
        else:
            merged.append(output)
    return merged


BODIES = {
    "one line": json.dumps(DOCUMENT),
    "many lines": json.dumps(DOCUMENT, indent=2),
    "blank lines first": "\n \r\n\n" + json.dumps(DOCUMENT) + "\n",
    "a mark glued on": json.dumps(DOCUMENT) + "data: [DONE]\n\n",
    "a mark behind": json.dumps(DOCUMENT, indent=1) + "\n\ndata: [DONE]\n\n",
    "as an event": f"data: {json.dumps(DOCUMENT)}\n\ndata: [DONE]\n\n",
    "a list of one": json.dumps([DOCUMENT]),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_document_gives_the_parts_of_the_equal_stream(body: str) -> None:
    expected = _merged(read(STREAM))
    data = body.encode()
    assert _merged(read_bytes([data])) == expected
    assert _merged(read_bytes(data[at : at + 1] for at in range(len(data)))) == expected


# ---- 4 ----


@one_test_for(
    "brought",
    [[], STREAM[1:2], STREAM[1:3], STREAM[1:4], STREAM[1:6], STREAM[1:7]],
    ids=["nothing", "thinking", "half the text", "the text", "a call", "everything"],
)
def test_a_frame_with_a_message_adds_what_no_delta_brought(brought: list[Any]) -> None:
    result = read([*brought, DOCUMENT, DONE])
    assert result.thinking == "Hm"
    assert result.text == "Hi 😀 there."
    assert result.calls == TWO
    assert result.finish.usage is not None


def test_a_message_beside_each_delta_says_nothing_new() -> None:
    chunks = [said("Hi "), said("there")]
    for one, whole in zip(chunks, ("Hi ", "Hi there"), strict=True):
        one["choices"][0]["message"] = {"role": "assistant", "content": whole}
    assert answered(*chunks).text == "Hi there"


def test_a_message_beside_deltas_that_never_say_anything_is_the_answer() -> None:
    chunks = [chunk({}), chunk({})]
    for one, whole in zip(chunks, ("Hi ", "Hi there"), strict=True):
        one["choices"][0]["message"] = {"role": "assistant", "content": whole}
    assert answered(*chunks).text == "Hi there"


# ---- 5 ----


@one_test_for("extra", [{}, {"tool_calls": []}, {"reasoning": None}, {"refusal": ""}, {"x": [1]}, {"role": ""}])
def test_all_that_a_delta_says_is_said_thinking_then_text_then_calls(extra: Event) -> None:
    delta = {"tool_calls": [call(0, "a", "look_up", "{}")], "content": "Hi", "reasoning_content": "Hm"}
    kinds = [type(output) for output in answered(chunk({**extra, **delta})).outputs]
    shown = [kind for kind, _ in itertools.groupby(kind for kind in kinds if kind not in {Unmapped, Finish})]
    assert shown == [ThinkingPart, TextPart, ToolCallPart]
    assert answered(chunk({"content": "Hi", **extra})).text == "Hi"


# ---- 6 ----

TWICE = [
    ({"reasoning_content": "Hm", "reasoning": "Hm"}, "reasoning_content"),
    ({"reasoning_content": "", "reasoning": "Hm"}, "reasoning"),
    ({"reasoning_content": None, "reasoning": "", "reasoning_text": "Hm"}, "reasoning_text"),
    ({"reasoning": {"text": "Hm"}}, "reasoning"),
    ({"cot_summary": "Hm"}, "cot_summary"),
    ({"thinking": "Hm"}, "thinking"),
]


@one_test_for(("delta", "field"), TWICE)
def test_one_field_of_thinking_is_shown_and_its_name_travels_with_it(delta: Event, field: str) -> None:
    result = answered(chunk(delta), said("Hi"))
    assert result.thinking == "Hm"
    (metadata,) = result.metadata
    assert metadata[ITEMS] == [{"type": "message-field", "field": field, "text": "Hm"}]


# ---- 7 ----


def test_calls_are_handed_out_at_the_end_in_the_order_of_their_opening() -> None:
    stream = [calls(call(1, "b", "add", "{}")), calls(call(0, "a", "look_up", '{"word": "x"}')), said("Hi")]
    for ends in ([finished("tool_calls"), DONE], [DONE], [finished("tool_calls")]):
        assert read([*stream, *ends]).calls == [TWO[1], TWO[0]]


def test_arguments_that_parse_are_no_end() -> None:
    stream = [calls(call(0, "a", "look_up", "{}")), said("Hi"), calls(call(0, "a", None, "{}")), said("!")]
    result = answered(*stream)
    assert result.calls == [("a", "look_up", {})]
    assert isinstance(result.outputs[-2], ToolCallPart)


def test_a_call_behind_the_finish_reason_is_handed_out_too() -> None:
    assert read([finished("tool_calls"), calls(call(0, "a", "add", "{}")), DONE]).calls == [("a", "add", {})]


# ---- 9 ----


@one_test_for("arguments", ["", None, "null", '""', "nullnull", 'null ""', "{}", {}, " "])
def test_no_arguments_are_an_empty_object(arguments: Any) -> None:
    assert answered(calls(call(0, "a", "add", arguments))).calls == [("a", "add", {})]


def test_an_object_is_itself() -> None:
    assert answered(calls(call(0, "a", "add", {"x": 1}))).calls == [("a", "add", {"x": 1})]


@one_test_for("word", ["stop", "tool_calls"])
@one_test_for("arguments", ['{"x": 1', '{"x": "', "["])
def test_arguments_without_an_end_are_an_error_and_no_call(word: str, arguments: str) -> None:
    result = read([calls(call(0, "a", "add", arguments)), finished(word), DONE])
    assert result.calls == []
    assert isinstance(result.finish.error, ToolArgumentsError)
    assert result.finish.error.name == "add"


@one_test_for(("word", "unified"), [("length", "length"), ("content_filter", "content-filter")])
@one_test_for("arguments", ['{"x": 1', '{"x": "', "[", "", {}])
def test_a_call_that_a_limit_or_a_filter_cuts_is_counted_and_no_error(word: str, unified: str, arguments: Any) -> None:
    result = read([said("Hi"), calls(call(0, "a", "add", arguments)), finished(word), DONE])
    assert (result.text, result.calls, result.finish.error) == ("Hi", [], None)
    assert result.finish.reason is not None
    assert (result.finish.reason.unified, result.unmapped) == (unified, {"tool call add (incomplete)": 1})


@one_test_for("arguments", ['"x"', "[]", "5", '{"a":1}{"b":2}', "x"])
def test_arguments_that_are_no_object_are_an_error(arguments: str) -> None:
    assert isinstance(answered(calls(call(0, "a", "add", arguments))).finish.error, ToolArgumentsError)


def test_arguments_that_come_twice_are_one_call() -> None:
    assert answered(calls(call(0, "a", "add", '{"a":1} {"a":1}'))).calls == [("a", "add", {"a": 1})]


# ---- 10 ----

WORDS = {
    "stop": UnifiedFinishReason.STOP,
    "eos": UnifiedFinishReason.STOP,
    "STOP": UnifiedFinishReason.STOP,
    "end_turn": UnifiedFinishReason.STOP,
    "tool_calls": UnifiedFinishReason.OTHER,
    "function_call": UnifiedFinishReason.OTHER,
    "length": UnifiedFinishReason.LENGTH,
    "max_tokens": UnifiedFinishReason.LENGTH,
    "MAX_TOKENS": UnifiedFinishReason.LENGTH,
    "model_length": UnifiedFinishReason.LENGTH,
    "content_filter": UnifiedFinishReason.CONTENT_FILTER,
    "SAFETY": UnifiedFinishReason.CONTENT_FILTER,
    "sensitive": UnifiedFinishReason.CONTENT_FILTER,
    "a word of tomorrow": UnifiedFinishReason.OTHER,
}


@one_test_for(("word", "unified"), WORDS.items())
def test_a_word_has_its_meaning_and_a_call_decides(word: str, unified: UnifiedFinishReason) -> None:
    plain = read([said("Hi"), finished(word), DONE]).finish
    assert plain.reason is not None
    assert (plain.reason.unified, plain.reason.raw) == (unified, word)
    with_call = read([calls(call(0, "a", "add", "{}")), finished(word), DONE]).finish
    assert with_call.reason is not None
    assert (with_call.reason.unified, with_call.reason.raw) == (UnifiedFinishReason.TOOL_CALLS, word)


@one_test_for("word", ["error", "network_error", "insufficient_system_resource", "abort", "ERROR"])
def test_a_word_of_failure_is_an_error(word: str) -> None:
    result = read([said("Hi"), finished(word), DONE])
    assert result.finish.outcome is Outcome.FAILED
    assert isinstance(result.finish.error, UpstreamAbortedError if word == "abort" else UpstreamFailureError)


@one_test_for(
    ("words", "raw"),
    [
        (["stop", "length"], "length"),
        (["length", "stop"], "length"),
        (["length", "tool_calls"], "tool_calls"),
        (["stop", "stop"], "stop"),
        (["", "stop"], "stop"),
        (["stop", None], "stop"),
    ],
)
def test_of_two_words_the_one_that_says_more_counts(words: list[Any], raw: str) -> None:
    finish = read([said("Hi"), *map(finished, words), DONE]).finish
    assert finish.reason is not None
    assert finish.reason.raw == raw


@pytest.mark.parametrize("word", ["model_context_window_exceeded", "compaction"])
def test_a_full_window_and_no_answer_is_an_input_that_is_too_long(word: str) -> None:
    error = read([finished(word), DONE]).finish.error
    assert isinstance(error, UpstreamFailureError)
    assert ERRORS_OF_SERVERS.overflow(error) is not None
    cut = read([said("Hi"), finished(word), DONE]).finish
    assert (cut.outcome, cut.reason and cut.reason.unified) == (Outcome.INCOMPLETE, UnifiedFinishReason.LENGTH)


# ---- 11 ----


@pytest.mark.parametrize("ends", [[], [chunk({})], [said("")]], ids=["nothing", "an empty chunk", "an empty text"])
def test_without_a_finish_reason_and_a_mark_the_stream_is_truncated(ends: list[Event]) -> None:
    result = read([said("Hi"), calls(call(0, "a", "add", "{}")), *ends])
    assert result.finish.outcome is Outcome.TRUNCATED
    assert isinstance(result.finish.error, TruncatedStreamError)
    assert result.calls == []


def test_usage_that_is_reported_with_each_piece_ends_nothing() -> None:
    counts = {"prompt_tokens": 3, "completion_tokens": 1}
    for piece in (said("Hi"), said(""), calls(call(0, "a", "add", "{}"))):
        assert read([{**piece, "usage": counts}]).finish.outcome is Outcome.TRUNCATED


@pytest.mark.parametrize("ends", [[finished()], [DONE], [finished(), DONE], [finished(), usage(), DONE]])
def test_either_of_them_is_enough(ends: list[Any]) -> None:
    assert read([said("Hi"), *ends]).finish.outcome is Outcome.COMPLETED


def test_a_stream_of_which_nothing_came_is_truncated() -> None:
    for nothing in ([], [DONE]):
        assert isinstance(read_bytes(sse(nothing)).finish.error, TruncatedStreamError)


# ---- 12 ----

COUNTS = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}
PLACES: dict[str, list[Any]] = {
    "its own chunk": [finished(), {"choices": [], "usage": COUNTS}],
    "the last chunk": [finished(usage=COUNTS)],
    "the choice": [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": COUNTS}]}],
    "x_groq": [finished(x_groq={"id": "r", "usage": COUNTS})],
    "the final message": [document({"content": "Hi"}, usage=COUNTS)],
    "every chunk": [chunk({}, usage={**COUNTS, "completion_tokens": 1}), finished(usage=COUNTS)],
    "zeros first": [chunk({}, usage={"total_tokens": 0, "total_characters": 0}), finished(usage=COUNTS)],
    "zeros last": [finished(usage=COUNTS), {"choices": [], "usage": dict.fromkeys(COUNTS, 0)}],
    "null last": [finished(usage=COUNTS), {"choices": [], "usage": None}],
}


@one_test_for("places", PLACES.values(), ids=PLACES)
def test_the_usage_is_the_last_with_numbers_wherever_it_stands(places: list[Event]) -> None:
    found = read([said("Hi"), *places, DONE]).finish.usage
    assert found is not None
    assert (found.input_tokens, found.output_tokens, found.total_tokens) == (12, 5, 17)


def test_reasoning_that_the_output_leaves_out_is_added_by_arithmetic() -> None:
    counts = {"prompt_tokens": 12, "completion_tokens": 1, "total_tokens": 303}
    details = {"completion_tokens_details": {"reasoning_tokens": 290}}
    found = read([said("Hi"), finished(usage={**counts, **details}), DONE]).finish.usage
    assert found is not None
    assert (found.input_tokens, found.output_tokens, found.reasoning_tokens) == (12, 291, 290)


@one_test_for(
    "fields",
    [
        {"prompt_tokens_details": {"cached_tokens": 4}},
        {"prompt_cache_hit_tokens": 4},
        {"cached_tokens": 4},
        {"num_cached_tokens": 4},
        {"prompt_tokens_details": None, "prompt_token_details": {"cached_tokens": 4}},
    ],
)
def test_cached_tokens_have_five_names(fields: Event) -> None:
    found = read([said("Hi"), finished(usage={**COUNTS, **fields}), DONE]).finish.usage
    assert found is not None
    assert found.cached_tokens == 4


@pytest.mark.parametrize(
    "fields", [{"cost": 0.25}, {"cost": {"total_cost": 0.25}}, {"cost_in_usd_ticks": 2_500_000_000}]
)
def test_a_cost_is_told_in_each_of_its_forms(fields: Event) -> None:
    assert cost_of(read([said("Hi"), finished(usage={**COUNTS, **fields}), DONE]).finish, None) == 0.25


# ---- 18 ----

URL, OTHER = "https://e.org/a", "https://e.org/b"


def _annotation(url: str = URL, title: str | None = "A") -> Event:
    return {"type": "url_citation", "url_citation": {"url": url, "title": title, "start_index": 0, "end_index": 2}}


SOURCES: dict[str, list[Event]] = {
    "annotations": [chunk({"annotations": [_annotation()]}), said("Hi"), chunk({"annotations": [_annotation()]})],
    "citations": [said("H", reasoning=None) | {"citations": [URL]}, said("i") | {"citations": [URL]}],
    "search results": [
        said("Hi") | {"citations": [URL], "search_results": [{"url": URL, "title": "A"}]},
        chunk({}) | {"citations": [URL]},
    ],
    "search results alone": [said("Hi") | {"search_results": [{"url": URL, "title": "A"}]}],
    "search results before citations": [
        said("H") | {"search_results": [{"url": URL, "title": "A"}]},
        said("i") | {"citations": [URL]},
    ],
    "a message": [document({"content": "Hi", "annotations": [_annotation(), _annotation()]})],
}


@pytest.mark.parametrize("stream", SOURCES.values(), ids=SOURCES)
def test_a_source_is_shown_once_behind_the_text(stream: list[Event]) -> None:
    result = read([*stream, finished(), DONE])
    assert result.text.startswith("Hi [")
    assert result.text.count(URL) == 1
    assert read([*stream, finished(), DONE], citations=CitationMode.OFF).text == "Hi"
    (part,) = read([*stream, finished(), DONE], citations=CitationMode.DATA).data
    assert json.loads(part.data)["url"] == URL


def test_a_tool_that_the_server_ran_is_no_call() -> None:
    ran = {"executed_tools": [{"index": 0, "type": "search", "arguments": "{}", "output": "x"}]}
    result = answered(chunk({"role": "assistant", **ran}), said("Hi"), chunk(ran))
    assert result.calls == []
    assert result.unmapped == {"delta.executed_tools": 1}


# ---- 20 ----


def test_choices_that_compete_and_unknown_fields_change_nothing() -> None:
    expected = comparable(read(STREAM))
    other = [
        chunk({"content": "no"}, index=1),
        chunk({"reasoning": "no", "tool_calls": [call(0, "z", "add", "{}")]}, "length", index=2),
    ]
    goes_on = STREAM.index(finished("tool_calls"))  # from there on, the other choices continue the answer
    for place in range(goes_on):
        stream = [*STREAM[:place], *other, *STREAM[place:]]
        outputs = [one for one in comparable(read_events(stream)) if type(one).__name__ != "Unmapped"]
        assert outputs == expected
    strange = [one if isinstance(one, bytes) else {**one, "x": {"y": [1]}, "timings": {}} for one in STREAM]
    assert comparable(read(strange)) == expected


def test_a_choice_of_calls_alone_goes_on_with_the_answer() -> None:
    result = answered(said("Hi"), chunk({"tool_calls": [call(0, "a", "add", "{}")]}, index=1))
    assert result.calls == [("a", "add", {})]
