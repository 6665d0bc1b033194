"""What lines of Ollama mean (docs/wires/ollama.md)."""

import base64
import json
from typing import Any

import pytest

from conversation.samples import PNG
from partstream.conversation.provider_state import ITEMS
from partstream.errors import ToolArgumentsError, TruncatedStreamError, UpstreamFailureError, UpstreamProtocolError
from partstream.lm.outputs import Finish, Outcome, ThinkingMode, ThinkTags, Unmapped
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, UnifiedFinishReason
from partstream_devtools.recorded_stream import RecordingError, read_recording
from protocols.ollama.wire import as_lines, call, calls, done, line, read, read_bytes, read_document, said, thought
from rows import one_test_for

HELLO = [said("Hel"), said("lo"), done()]


# ---- lines ----


def test_a_character_may_be_cut_anywhere_and_the_last_line_may_lack_its_end() -> None:
    assert read([said("Grüße 😀"), said("\u2028"), done()]).text == "Grüße 😀\u2028"  # read() feeds it in every way


def test_a_line_that_is_no_json_fails_with_its_text() -> None:
    result = read_bytes([as_lines([said("Hi")]), b"<html>502 Bad Gateway</html>\n"])
    assert isinstance(result.finish.error, UpstreamProtocolError)
    assert "<html>502 Bad Gateway</html>" in str(result.finish.error)
    assert result.text == "Hi"


def test_blank_lines_say_nothing() -> None:
    assert read_bytes([b"\n\n" + as_lines(HELLO).replace(b"\n", b"\n\r\n\n")]).text == "Hello"


def test_a_document_in_place_of_a_stream_is_read_as_its_last_line() -> None:
    whole = done(message={"content": "Hello", "thinking": "Hm", "tool_calls": [call("add", {"a": 1})]})
    result = read_document(whole)
    assert (result.thinking, result.text, [one[1:] for one in result.calls]) == ("Hm", "Hello", [("add", {"a": 1})])
    assert result.finish.outcome is Outcome.COMPLETED


# ---- the end ----


@pytest.mark.parametrize("lines", [[], [said("Hi")], [calls(call("add", {"a": 1}))], [line()]])
def test_an_answer_without_an_end_is_truncated_also_behind_a_whole_call(lines: list[Any]) -> None:
    result = read(lines)
    assert isinstance(result.finish.error, TruncatedStreamError)
    assert result.finish.outcome is Outcome.TRUNCATED


@one_test_for(
    "end",
    [
        [done()],
        [done(None)],
        [line(done=True)],
        [{"model": "m-1", "done": True}],
        [line(done_reason="stop")],  # MLX models: a reason without `done`
        [line(done_reason="stop"), done()],
        [{"done": False, "done_reason": "stop"}],
    ],
    ids=json.dumps,
)
def test_done_or_a_reason_is_a_whole_answer(end: list[Any]) -> None:
    result = read([said("Hi"), *end])
    assert (result.text, result.finish.outcome, result.finish.error) == ("Hi", Outcome.COMPLETED, None)


ENDS = {
    "stop": (UnifiedFinishReason.STOP, Outcome.COMPLETED),
    "length": (UnifiedFinishReason.LENGTH, Outcome.INCOMPLETE),
    "load": (UnifiedFinishReason.STOP, Outcome.COMPLETED),
    "unload": (UnifiedFinishReason.STOP, Outcome.COMPLETED),
    "": (UnifiedFinishReason.OTHER, Outcome.COMPLETED),
    "tool_calls": (UnifiedFinishReason.OTHER, Outcome.COMPLETED),
    "new": (UnifiedFinishReason.OTHER, Outcome.COMPLETED),
}


@one_test_for("word", ENDS)
def test_the_reason_of_the_end_is_unified(word: str) -> None:
    finish = read([done(word)]).finish
    reason = finish.reason
    assert reason is not None
    assert (reason.unified, finish.outcome, reason.raw) == (*ENDS[word], word or None)


NESTED = {"error": {"code": 400, "message": "request (9 tokens) exceeds", "type": "exceed_context_size_error"}}


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ("model runner has unexpectedly stopped", "model runner has unexpectedly stopped"),
        (json.dumps(NESTED), "request (9 tokens) exceeds"),
    ],
)
def test_a_line_with_an_error_ends_the_answer_and_a_nested_message_is_unwrapped(error: str, message: str) -> None:
    result = read([said("The answer"), {"error": error}])
    assert isinstance(result.finish.error, UpstreamFailureError)
    assert result.finish.error.provider_message == message
    assert (result.text, result.finish.outcome) == ("The answer", Outcome.FAILED)


def test_the_address_for_signing_in_is_part_of_the_error() -> None:
    """Cloud models answer so without a sign-in (docs/wires/ollama.md#errors)."""
    error = read([{"error": "unauthorized", "signin_url": "https://ollama.com/connect?name=me"}]).finish.error
    assert "unauthorized; sign in at https://ollama.com/connect?name=me" in str(error)


def test_nothing_behind_the_end_changes_the_answer() -> None:
    assert read([*HELLO, said("!"), {"error": "late"}]).text == "Hello"


# ---- calls ----


def test_calls_in_the_last_line_are_delivered_and_decide_why_the_model_stopped() -> None:
    result = read([thought("Two."), said("I look."), done("stop", {"tool_calls": [call("a", {}), call("b", {})]})])
    assert [one[1] for one in result.calls] == ["a", "b"]
    assert result.finish.reason is not None
    assert result.finish.reason.unified is UnifiedFinishReason.TOOL_CALLS
    assert result.finish.reason.raw == "stop"


@pytest.mark.parametrize("word", ["stop", "tool_calls", "length", None])
def test_a_call_makes_the_reason_whatever_the_server_says(word: str | None) -> None:
    reason = read([calls(call()), done(word)]).finish.reason
    assert reason is not None
    assert reason.unified is UnifiedFinishReason.TOOL_CALLS


# ---- ids ----


def test_calls_without_ids_and_with_equal_indices_are_distinct_calls() -> None:
    result = read([calls(call("add", {"a": 1}), call("add", {"a": 1})), calls(call("add", {"a": 1})), done()])
    assert len({one[0] for one in result.calls}) == len(result.calls) == 3


def test_ids_of_ours_differ_between_answers_and_are_the_same_when_an_answer_is_read_again() -> None:
    lines = [calls(call("add", {})), done()]
    later = [{**one, "created_at": "2026-08-21T20:22:20Z"} for one in lines]
    assert read(lines).calls == read(lines).calls
    assert read(lines).calls != read(later).calls


def test_an_id_of_the_server_stays_and_an_id_that_names_two_calls_names_one() -> None:
    one, two = call("add", {"a": 1}, id="call_1"), call("add", {"a": 2}, id="call_1")
    first, second = read([calls(one, two), done()]).calls
    assert first[0] == "call_1" != second[0]


def test_a_call_that_is_said_again_under_its_id_is_one_call() -> None:
    one = call("add", {"a": 1}, id="call_1")
    assert len(read([calls(one), done(message={"tool_calls": [one]})]).calls) == 1


# ---- arguments ----


@one_test_for("arguments", [{}, None, "", "{}", " {} "])
def test_no_arguments_are_an_empty_object_in_every_form(arguments: Any) -> None:
    as_null = {"function": {"name": "look_up", "arguments": None}}
    assert [one[1:] for one in read([calls(call(arguments=arguments), as_null), done()]).calls] == [("look_up", {})] * 2


@pytest.mark.parametrize("arguments", [{"city": "Jyväskylä", "n": [1, None]}, '{"city":"Jyväskylä","n":[1,null]}'])
def test_arguments_mean_the_same_as_an_object_and_as_text(arguments: Any) -> None:
    (one,) = read([calls(call(arguments=arguments)), done()]).calls
    assert one[2] == {"city": "Jyväskylä", "n": [1, None]}


@pytest.mark.parametrize("element", [call(arguments='{"a":'), call(arguments=[1]), call(name=None, arguments={}), {}])
def test_a_call_that_is_none_fails_the_answer(element: Any) -> None:
    result = read([said("Hi"), calls(element), done()])
    assert isinstance(result.finish.error, ToolArgumentsError)
    assert result.calls == []


# ---- messages ----


def test_thinking_text_calls_and_images_may_share_a_line_in_this_order() -> None:
    image = base64.b64encode(PNG).decode()
    message = {"images": [image], "tool_calls": [call("add", {})], "content": "Hi", "thinking": "Hm"}
    kinds = [type(one).__name__ for one in read([line(message), done()]).outputs]
    assert kinds == ["ThinkingPart", "ThinkingPart", "TextPart", "DataPart", "ToolCallPart", "Finish"]


@pytest.mark.parametrize("head", ["", "data:image/png;base64,"])
def test_an_image_is_a_data_part_of_the_type_of_its_bytes(head: str) -> None:
    result = read([line({"images": [head + base64.b64encode(PNG).decode()]}), done()])
    assert result.outputs[0] == DataPart(PNG, "image/png")


def test_an_image_that_is_no_base64_is_counted() -> None:
    result = read([line({"images": ["%%"]}), done()])
    assert [one.type for one in result.outputs if isinstance(one, Unmapped)] == ["image (not readable)"]


def test_thinking_leaves_an_item_that_takes_it_back_into_its_own_field() -> None:
    """They go back in the field in which they came (docs/wires/ollama.md#thinking)."""
    result = read([thought("A "), thought("greeting."), said("Hi"), done()])
    carried = [one.metadata for one in result.outputs if isinstance(one, ThinkingPart) and one.metadata]
    assert carried == [{ITEMS: [{"type": "message-field", "field": "thinking", "text": "A greeting."}]}]
    assert result.outputs[3] == TextPart("Hi")


def test_thinking_that_comes_in_turns_is_carried_whole() -> None:
    result = read([thought("A"), said("Hi"), thought("B"), calls(call()), done()])
    carried = [one.metadata for one in result.outputs if isinstance(one, ThinkingPart) and one.metadata]
    assert [one["text"] for one in carried[-1][ITEMS]] == ["A", "B"]


def test_thinking_in_tags_is_taken_out_of_the_text_and_goes_back_as_it_came() -> None:
    result = read([said("<thi"), said("nk>Hm</think>\n\nHi"), done()])
    assert (result.thinking, result.text) == ("Hm", "Hi")
    (metadata,) = [one.metadata for one in result.outputs if isinstance(one, ThinkingPart) and one.metadata]
    assert [(one["field"], one["text"]) for one in metadata[ITEMS]] == [("content", "<think>Hm</think>\n\n")]
    assert read([said("<think>Hm</think>Hi"), done()], think_tags=ThinkTags.OFF).text == "<think>Hm</think>Hi"


def test_tags_are_text_where_thinking_has_its_own_field() -> None:
    assert read([thought("Hm"), said("<think>a</think>"), done()]).text == "<think>a</think>"
    hidden = read([thought("Hm"), said("<think>a</think>"), done()], thinking=ThinkingMode.OFF)
    assert (hidden.thinking, hidden.text) == ("", "<think>a</think>")


@pytest.mark.parametrize("mode", [ThinkingMode.TEXT, ThinkingMode.OFF])
def test_thinking_moves_or_disappears(mode: ThinkingMode) -> None:
    result = read([thought("Hm"), thought("m"), said("Hi"), said("!"), done()], thinking=mode)
    assert result.thinking == ""
    assert result.text == ("> Hmm\n\nHi!" if mode is ThinkingMode.TEXT else "Hi!")


def test_a_field_that_nobody_knows_is_counted_once() -> None:
    result = read([said("Hi", audio="x"), said("!", audio="y"), done()])
    assert [one.type for one in result.outputs if isinstance(one, Unmapped)] == ["message.audio"]
    assert result.text == "Hi!"


def test_lines_of_another_endpoint_are_no_answer() -> None:
    lines = [{"model": "m", "response": "Hi", "done": False}, {"model": "m", "response": "", "done": True}]
    with pytest.raises(RecordingError, match=r"expected events of one of|nothing in it is an event of"):
        list(read_recording(as_lines(lines), "a.jsonl"))


def test_log_probabilities_of_empty_lines_say_nothing() -> None:
    assert read([said("Hi"), line(logprobs=[{"token": "Hi", "logprob": -1}]), done()]).outputs[:-1] == [TextPart("Hi")]


# ---- usage ----


def _finish(**fields: Any) -> Finish:
    return read([said("Hi"), done(**fields)]).finish


def test_tokens_are_those_of_the_last_line_and_times_stand_beside_them() -> None:
    finish = _finish(remote_model="big:cloud", remote_host="https://ollama.com")
    usage = finish.usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (7, 3, 10)
    assert finish.provider_metadata == {
        "ollama": {
            "total_duration": 5,
            "load_duration": 1,
            "remote_model": "big:cloud",
            "remote_host": "https://ollama.com",
        }
    }
    assert finish.model == "m-1"


def test_a_count_that_is_missing_is_unknown() -> None:
    usage = _finish(prompt_eval_count=None).usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (None, 3, None)
    assert _finish(prompt_eval_count=None, eval_count="3").usage is None
