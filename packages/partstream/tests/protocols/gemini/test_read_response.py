"""What chunks of Gemini mean (docs/wires/gemini.md)."""

import json
from base64 import b64encode
from typing import Any

import pytest

from partstream.conversation.citations import CITATION_MIME_TYPE
from partstream.errors import ToolArgumentsError, TruncatedStreamError, UpstreamFailureError
from partstream.lm.outputs import CitationMode, ExecutedCode, FileMode, Outcome, ThinkingMode
from partstream.lm.parts import DataPart, FinishReason, ToolCallPart, UnifiedFinishReason
from partstream.protocols.gemini.read_response import GeminiResponseReader
from partstream.protocols.read_response import MatchConfidence, checksum
from protocols.gemini.wire import (
    array,
    call,
    carried,
    chunk,
    read,
    read_bytes,
    said,
    sse,
    stop,
    thought,
    usage,
)
from protocols.openresponses.wire import Event, Result
from rows import one_test_for

STOP, CALLS = UnifiedFinishReason.STOP, UnifiedFinishReason.TOOL_CALLS
FILTERED, LENGTH = UnifiedFinishReason.CONTENT_FILTER, UnifiedFinishReason.LENGTH


def _reason(result: Result) -> UnifiedFinishReason | None:
    return result.finish.reason and result.finish.reason.unified


# ---- the end ----


@one_test_for(
    "last",
    [
        stop(),
        chunk(finish="STOP"),
        {"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]},
        {"candidates": [{"content": {}, "finishReason": "STOP"}]},
        chunk(said(""), finish="STOP"),
    ],
)
def test_a_finish_reason_ends_the_answer_also_without_a_part(last: Event) -> None:
    result = read([chunk(said("Hi")), last])
    assert (result.text, result.finish.outcome, _reason(result)) == ("Hi", Outcome.COMPLETED, STOP)


@pytest.mark.parametrize("events", [[chunk(said("Hi"))], [chunk(said("Hi")), {"usageMetadata": usage()}]])
def test_without_a_finish_reason_the_answer_is_truncated(events: list[Event]) -> None:
    result = read(events)
    assert result.finish.outcome is Outcome.TRUNCATED
    assert isinstance(result.finish.error, TruncatedStreamError)
    assert result.text == "Hi"


def test_content_behind_a_finish_reason_counts() -> None:
    """Proxies say STOP on early, empty chunks (docs/wires/gemini.md#observed-streams)."""
    result = read([chunk(finish="STOP"), chunk(said("Hi"), finish="STOP"), chunk(said(" you")), stop("MAX_TOKENS")])
    assert (result.text, _reason(result)) == ("Hi you", LENGTH)


def test_a_later_word_that_says_nothing_hides_no_earlier_one() -> None:
    assert _reason(read([chunk(said("Hi"), finish="SAFETY"), stop("FINISH_REASON_UNSPECIFIED")])) is FILTERED


@pytest.mark.parametrize("events", [[stop()], [chunk(thought("Hm.")), stop()]])
def test_an_empty_answer_is_a_legal_end(events: list[Event]) -> None:
    result = read(events)
    assert (result.finish.outcome, result.text) == (Outcome.COMPLETED, "")


# ---- errors ----

QUOTA = {
    "error": {
        "code": 429,
        "message": "You exceeded your current quota.",
        "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.4s"}],
    }
}
BEGUN = sse([chunk(said("Hi"))])[0]
FAILING = {
    "bare, behind an event": BEGUN + json.dumps(QUOTA, indent=2).encode(),
    "bare, right behind an event": BEGUN.rstrip() + b"\r\n" + json.dumps(QUOTA).encode(),
    "an event": BEGUN + sse([QUOTA])[0],
    "an event without its end": BEGUN + sse([QUOTA])[0].rstrip(),
    "in an array of its own": BEGUN + json.dumps([QUOTA]).encode(),
    "in the array": array([chunk(said("Hi")), QUOTA]),
    "in an array that was not closed": array([chunk(said("Hi")), QUOTA]).rstrip()[:-1],
    "behind the usage": BEGUN + b"".join(sse([{"usageMetadata": usage()}, QUOTA])),
}


@one_test_for("data", FAILING.values(), ids=FAILING)
@one_test_for("size", [None, 1])
def test_an_error_in_the_stream_is_the_error_of_the_answer(data: bytes, size: int | None) -> None:
    result = read_bytes([data[at : at + (size or len(data))] for at in range(0, len(data), size or len(data))])
    error = result.finish.error
    assert isinstance(error, UpstreamFailureError)
    assert "You exceeded your current quota." in str(error)
    assert (error.http_status, error.provider_type, error.retry_after) == (429, "RESOURCE_EXHAUSTED", 34.4)
    assert (result.text, result.finish.outcome) == ("Hi", Outcome.FAILED)


def test_an_array_with_nothing_but_an_error_is_that_error() -> None:
    result = read_bytes([json.dumps([QUOTA]).encode()])
    assert isinstance(result.finish.error, UpstreamFailureError)


# ---- calls ----


@pytest.mark.parametrize(
    "events",
    [
        [chunk(call(args={"word": "a"}), finish="STOP")],
        [chunk(call(args={"word": "a"})), chunk(said("")), stop()],
        [chunk(said("Wait.")), chunk(call(args={"word": "a"})), {"usageMetadata": usage()}, stop()],
    ],
)
def test_a_stop_after_a_call_finishes_as_tool_calls(events: list[Event]) -> None:
    result = read(events)
    assert [(name, given) for _, name, given in result.calls] == [("look_up", {"word": "a"})]
    assert (_reason(result), result.finish.outcome) == (CALLS, Outcome.COMPLETED)


RUN_BY_THE_SERVER = {
    "code": [{"executableCode": {"language": "PYTHON", "code": "print(1)"}}],
    "its result": [{"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}],
    "a tool": [{"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "args": {}}}],
    "its response": [{"toolResponse": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "response": {}}}],
    "an MCP server": [call(), {"functionResponse": {"name": "look_up", "response": {}}}],
    "two of an MCP server": [
        call(id="a"),
        call(id="b"),
        {"functionResponse": {"name": "look_up", "id": "b", "response": {}}},
        {"functionResponse": {"name": "look_up", "id": "a", "response": {}}},
    ],
}


@one_test_for("parts", RUN_BY_THE_SERVER.values(), ids=RUN_BY_THE_SERVER)
def test_what_the_server_runs_is_no_call(parts: list[Event]) -> None:
    result = read([*map(chunk, parts), chunk(said("Done."), finish="STOP")])
    assert (result.calls, _reason(result)) == ([], STOP)
    assert result.text.endswith("Done.")


def test_code_that_the_server_ran_is_shown_in_fences_that_hold_it() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "print('```')\n"}}
    failed = {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "no"}}
    text = read([chunk(said("So:"), code, failed, said("Hm.")), stop()]).text
    assert text == "So:\n\n````python\nprint('```')\n````\n\n\n\nThe code failed.\n\n\n\n```text\nno\n```\n\nHm."


def test_a_response_to_another_call_leaves_the_calls_of_the_client() -> None:
    other = {"functionResponse": {"name": "look_up", "id": "x", "response": {}}}
    assert len(read([chunk(call(id="a")), chunk(other), stop()]).calls) == 1


def test_code_that_the_server_ran_is_left_out_where_a_setting_says_so_and_goes_back_all_the_same() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    result = read([chunk(said("So:"), code, said("Hm.")), stop()], executed_code=ExecutedCode.OFF)
    assert (result.text, result.unmapped) == ("So:Hm.", {"executableCode": 1})
    assert carried(result) == [{"part": code, "textLength": 0}]


def test_a_call_without_an_id_gets_one_that_is_told_from_a_servers() -> None:
    result = read([chunk(call(args={"a": 1}), call(args={"a": 1}), call(args={"a": 1}, id="srv-1")), stop()])
    (first, *_), (second, *_), (third, *_) = result.calls
    assert first.startswith("gemini_call_")
    assert second.startswith("gemini_call_")
    assert first != second
    assert third == "srv-1"
    assert [item for item in carried(result) if item["toolCallId"] == "srv-1"] == [
        {"toolCallId": "srv-1", "given": True}
    ]


def test_an_id_of_ours_differs_from_answer_to_answer_and_is_the_same_for_the_same() -> None:
    first, again = read([chunk(call()), stop()]), read([chunk(call()), stop()])
    other = read([chunk(call(), responseId="r-2"), stop()])
    assert first.calls == again.calls != other.calls


@pytest.mark.parametrize(("args", "given"), [({}, {}), (None, {}), ("", {}), ('{"a": 1}', {"a": 1})])
def test_the_arguments_of_a_call_may_be_missing_or_a_text(args: Any, given: Event) -> None:
    assert [one[2] for one in read([chunk(call(args=args)), stop()]).calls] == [given]


@pytest.mark.parametrize("args", [[1], "no", 7])
def test_arguments_that_are_no_object_make_no_call(args: Any) -> None:
    result = read([chunk(said("a"), call(args=args), said("b")), stop()])
    assert isinstance(result.finish.error, ToolArgumentsError)
    assert (result.calls, result.text) == ([], "ab")


def test_a_call_and_text_keep_their_order() -> None:
    outputs = read([chunk(said("a"), call("one"), said("b"), call("two")), stop()]).outputs
    kinds = [one.name if isinstance(one, ToolCallPart) else getattr(one, "value", None) for one in outputs]
    assert [kind for kind in kinds if kind] == ["a", "one", "b", "two"]


def _leaf(path: str, goes_on: bool = False, **value: Any) -> Event:
    return {"jsonPath": path, **value, **({"willContinue": True} if goes_on else {})}


def _pieces(*leaves: Event, goes_on: bool = True) -> Event:
    return {"functionCall": {"partialArgs": list(leaves), **({"willContinue": True} if goes_on else {})}}


STREAMED = {
    "ended by an empty part": [
        _pieces(_leaf("$.a", stringValue="x", goes_on=True)),
        _pieces(_leaf("$.a", stringValue="y")),
        {"functionCall": {}},
    ],
    "ended by its last piece": [
        _pieces(_leaf("$.a", stringValue="xy", goes_on=True)),
        _pieces(_leaf("$.a", stringValue=""), goes_on=False),
    ],
    "ended by the next call": [_pieces(_leaf("$.a", stringValue="xy")), call("next")],
    "ended by the finish": [_pieces(_leaf("$.a", stringValue="xy"))],
    "a quoted name": [_pieces(_leaf("$['a']", stringValue="xy")), {"functionCall": {}}],
}


@pytest.mark.parametrize("parts", STREAMED.values(), ids=STREAMED)
def test_streamed_arguments_are_put_together(parts: list[Event]) -> None:
    """The forms of docs/wires/gemini.md#streamed-arguments."""
    opening = call("write", signature="s", willContinue=True)
    result = read([*map(chunk, [opening, *parts]), stop()])
    assert result.calls[0][1:] == ("write", {"a": "xy"})
    assert carried(result)[0]["thoughtSignature"] == "s"


def test_streamed_arguments_have_every_kind_of_leaf() -> None:
    leaves = (
        _leaf("$.edits[0].text", stringValue="a"),
        _leaf("$.edits[0].line", numberValue=3),
        _leaf("$.edits[1].text", stringValue="b"),
        _leaf("$['odd.name']", boolValue=False),
        _leaf('$["none"]', nullValue="NULL_VALUE"),
        _leaf("$.list[0]", numberValue=1.5),
        _leaf("$.list[1]", numberValue=2),
    )
    result = read([chunk(call("write", willContinue=True)), *(chunk(_pieces(one)) for one in leaves), stop()])
    expected = {
        "edits": [{"text": "a", "line": 3}, {"text": "b"}],
        "odd.name": False,
        "none": None,
        "list": [1.5, 2],
    }
    assert result.calls[0][2] == expected


def test_calls_with_streamed_arguments_follow_each_other() -> None:
    parts = [call("one", willContinue=True), _pieces(_leaf("$.a", numberValue=1)), call("one", willContinue=True)]
    result = read([*map(chunk, [*parts, _pieces(_leaf("$.a", numberValue=2))]), chunk({"functionCall": {}}), stop()])
    assert [one[1:] for one in result.calls] == [("one", {"a": 1}), ("one", {"a": 2})]


@pytest.mark.parametrize("path", ["a", "$", "$[0]", "$.a[5]", "$.a[999999999]", "$.a" * 200, "$.a.b", "$.."])
def test_a_path_that_fits_nowhere_makes_no_call(path: str) -> None:
    parts = [call("one", willContinue=True), _pieces(_leaf("$.a", numberValue=1), _leaf(path, numberValue=2))]
    result = read([*map(chunk, parts), stop()])
    assert result.calls == []
    assert isinstance(result.finish.error, ToolArgumentsError)


def test_a_call_that_a_limit_cut_is_no_call() -> None:
    result = read([chunk(call("one", willContinue=True)), stop("MAX_TOKENS")])
    assert (result.calls, result.finish.error) == ([], None)
    assert result.unmapped == {"tool call one (incomplete)": 1}


# ---- signatures ----


def test_an_empty_text_with_a_signature_is_carried_behind_the_text() -> None:
    result = read([chunk(said("a")), chunk(said("b")), chunk(said("", thoughtSignature="s"), finish="STOP")])
    assert result.text == "ab"
    assert carried(result) == [{"textLength": 0, "thoughtSignature": "s"}]
    places = [place for place, one in enumerate(result.outputs) if getattr(one, "value", "") in {"a", "b"}]
    assert all(getattr(one, "metadata", None) is None for one in result.outputs[: places[-1] + 1])


def test_a_signed_text_is_a_part_of_its_own() -> None:
    result = read([chunk(said("ab"), said("cde", thoughtSignature="s"), said("f")), stop()])
    assert result.text == "abcdef"
    assert carried(result) == [{"textLength": 3, "checksum": checksum("cde"), "thoughtSignature": "s"}]


def test_a_signature_without_a_data_field_is_that_of_an_empty_text() -> None:
    """Some proxies leave empty texts out (docs/wires/gemini.md#parts)."""
    assert carried(read([chunk(said("a")), chunk({"thoughtSignature": "s"}), stop()])) == [
        {"textLength": 0, "thoughtSignature": "s"}
    ]


def test_a_signature_is_tied_to_its_call() -> None:
    result = read([chunk(call("one", signature="s", id="c1"), call("two", id="c2")), stop()])
    assert carried(result) == [
        {"toolCallId": "c1", "given": True, "thoughtSignature": "s"},
        {"toolCallId": "c2", "given": True},
    ]


@pytest.mark.parametrize("signature", ["", None, 7])
def test_a_signature_that_is_none_is_not_carried(signature: Any) -> None:
    parts = [said("a", thoughtSignature=signature), {"functionCall": {"name": "f"}, "thoughtSignature": signature}]
    assert carried(read([chunk(*parts), stop()])) == []


def test_parts_of_the_server_and_signed_thoughts_are_carried_as_they_came() -> None:
    parts = [
        {"executableCode": {"language": "PYTHON", "code": "1", "id": "x"}, "thoughtSignature": "s"},
        {"toolCall": {"id": "t", "toolType": "URL_CONTEXT"}, "thoughtSignature": "u"},
        thought("Hm.", thoughtSignature="v"),
    ]
    shown = "\n\n```python\n1\n```\n\n"
    assert carried(read([chunk(*parts), stop()])) == [
        {"part": parts[0], "textLength": len(shown), "checksum": checksum(shown)},
        {"part": parts[1]},
        {"part": parts[2]},
    ]


@pytest.mark.parametrize("mode", [ThinkingMode.OFF, ThinkingMode.TEXT])
def test_without_thinking_parts_nothing_is_carried(mode: ThinkingMode) -> None:
    result = read([chunk(said("a", thoughtSignature="s"), call(signature="s")), stop()], thinking=mode)
    assert carried(result) == []
    assert len(result.calls) == 1


# ---- usage ----


def test_thoughts_are_output_and_reports_are_not_added_up() -> None:
    reports = [usage(9, 13, 302), usage(9, 23, 302), {"trafficType": "ON_DEMAND"}, {"candidatesTokenCount": None}]
    counted = read([*(chunk(said("a"), usageMetadata=one) for one in reports), chunk(finish="STOP")]).finish.usage
    assert counted is not None
    assert (counted.input_tokens, counted.output_tokens, counted.reasoning_tokens) == (9, 325, 302)
    assert counted.total_tokens == 334


@one_test_for(
    ("report", "counts"),
    [
        (usage(9, 23, 302, toolUsePromptTokenCount=100, totalTokenCount=434), (109, 325, 302, None)),
        (usage(9, 325, 302, totalTokenCount=334), (9, 325, 302, None)),  # a proxy that counts thoughts in
        (usage(9, 23, cachedContentTokenCount=8), (9, 23, None, 8)),
        (usage(9, None, 300), (9, 300, 300, None)),
        (usage(9, None), (9, 0, None, None)),
        (usage(9, None, totalTokenCount=None), (9, None, None, None)),
    ],
)
def test_what_is_part_of_what(report: Event, counts: tuple[Any, ...]) -> None:
    counted = read([chunk(said("a"), finish="STOP", usageMetadata=report)]).finish.usage
    assert counted is not None
    found = (counted.input_tokens, counted.output_tokens, counted.reasoning_tokens, counted.cached_tokens)
    assert found == counts


def test_a_report_without_a_count_is_no_usage() -> None:
    result = read([chunk(said("a"), finish="STOP", usageMetadata={"trafficType": "ON_DEMAND"})])
    assert result.finish.usage is None
    assert result.finish.provider_metadata == {"gemini": {"trafficType": "ON_DEMAND"}}


# ---- finish words ----


def test_a_malformed_call_is_an_error_with_what_the_server_says() -> None:
    last = {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "print(f("}]}
    result = read([chunk({"thoughtSignature": "s"}), last])
    assert result.finish.outcome is Outcome.FAILED
    assert "print(f(" in str(result.finish.error)
    assert result.finish.reason is not None
    assert (result.finish.reason.unified, result.finish.reason.raw) == (
        UnifiedFinishReason.ERROR,
        "MALFORMED_FUNCTION_CALL",
    )


@one_test_for("word", ["SAFETY", "RECITATION", "SPII", "LANGUAGE", "IMAGE_SAFETY", "ESCALATION"])
def test_a_filter_keeps_the_text_before(word: str) -> None:
    result = read([chunk(said("Well")), stop(word)])
    assert (result.text, _reason(result), result.finish.outcome) == ("Well", FILTERED, Outcome.INCOMPLETE)


@pytest.mark.parametrize("word", ["SAFETY", "OTHER", "BLOCKLIST", "MODEL_ARMOR"])
def test_a_refused_prompt_is_filtered_content(word: str) -> None:
    feedback = {"blockReason": word, "blockReasonMessage": "It must not be."}
    result = read([{"promptFeedback": feedback, "usageMetadata": usage(5, None)}])
    assert (_reason(result), result.finish.outcome) == (FILTERED, Outcome.INCOMPLETE)
    assert result.finish.explanation == "It must not be."
    assert result.finish.provider_metadata == {"gemini": {"finishMessage": "It must not be."}}
    assert result.finish.usage is not None
    assert result.finish.usage.input_tokens == 5


def test_an_answer_that_goes_on_in_another_request_is_an_end_by_length() -> None:
    result = read([chunk(said("Once")), stop("CONTINUATION")])
    assert (result.text, _reason(result), result.finish.outcome) == ("Once", LENGTH, Outcome.INCOMPLETE)


@pytest.mark.parametrize(
    ("word", "failed"),
    [
        ("MALFORMED_RESPONSE", "the model made an answer that the server cannot read"),
        ("PUP_LIMITED_DISABLED", "the account is limited or disabled"),
    ],
)
def test_a_word_of_failure_is_an_error_that_says_what_failed(word: str, failed: str) -> None:
    result = read([chunk(said("Well")), stop(word)])
    assert result.finish.outcome is Outcome.FAILED
    assert failed in str(result.finish.error)


@pytest.mark.parametrize("word", ["OTHER", "NO_IMAGE", "IMAGE_OTHER", "A_NEW_WORD"])
def test_a_word_that_is_not_known_keeps_its_name(word: str) -> None:
    result = read([chunk(said("a"), finish=word)])
    assert result.finish.reason == FinishReason(UnifiedFinishReason.OTHER, word)


def test_a_limit_without_an_answer_is_an_end_by_length() -> None:
    """Thoughts share the limit (docs/wires/gemini.md#finish-reasons); the report of the answer says what helps."""
    result = read([chunk(thought("Hm.")), stop("MAX_TOKENS")])
    assert (_reason(result), result.finish.outcome) == (LENGTH, Outcome.INCOMPLETE)


# ---- other parts ----

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


def _blob(data: bytes = PNG, **modifiers: Any) -> Event:
    return {"inlineData": {"mimeType": "image/png", "data": b64encode(data).decode()}, **modifiers}


def test_an_image_is_a_data_part_and_one_of_a_thought_is_not_shown() -> None:
    result = read([chunk(_blob(b"draft", thought=True), said("Here:"), _blob(thoughtSignature="s")), stop()])
    assert [one for one in result.outputs if isinstance(one, DataPart)] == [DataPart(PNG, "image/png")]
    assert carried(result) == [{"file": 0, "thoughtSignature": "s"}]
    assert result.unmapped == {"inlineData (of a thought)": 1}


@pytest.mark.parametrize("data", ["", "é", 7, "a"])
def test_an_image_that_cannot_be_read_is_counted(data: Any) -> None:
    result = read([chunk({"inlineData": {"mimeType": "image/png", "data": data}}, said("x")), stop()])
    assert result.unmapped == {"inlineData (not readable)": 1}


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(FileMode.LINK, "\n\n[a.pdf](https://e.org/a.pdf)\n\n"), (FileMode.ADDRESS, "")],
)
def test_a_file_that_is_an_address_is_a_link(mode: FileMode, expected: str) -> None:
    part = {"fileData": {"fileUri": "https://e.org/a.pdf", "mimeType": "application/pdf"}}
    result = read([chunk(part), stop()], files=mode)
    assert result.text == expected
    assert any(isinstance(one, DataPart) for one in result.outputs) is (mode is FileMode.ADDRESS)


def test_candidates_but_the_first_are_counted() -> None:
    other = {"content": {"parts": [{"text": "no"}]}, "index": 1, "finishReason": "SAFETY"}
    first = {"content": {"parts": [{"text": "yes"}]}, "finishReason": "STOP"}
    result = read([{"candidates": [other, first]}, {"candidates": [other]}])
    assert (result.text, _reason(result), result.unmapped) == ("yes", STOP, {"candidates[1]": 1})


def test_a_part_of_no_known_kind_is_counted() -> None:
    assert read([chunk({"hologram": {}}, said("a"), {}), stop()]).unmapped == {"part:hologram": 1}


@one_test_for(
    "event",
    [
        {"candidates": None},
        {"candidates": [None, 7, "x"]},
        {"candidates": [{"content": None}]},
        {"candidates": [{"content": {"parts": None}}]},
        {"candidates": [{"content": {"parts": ["x", None, {"text": None}, {"functionCall": None}]}}]},
        {"candidates": [{"groundingMetadata": {"groundingChunks": [None], "groundingSupports": 7}}]},
        {"usageMetadata": 7},
        {"promptFeedback": {}},
    ],
)
def test_what_has_no_shape_says_nothing(event: Event) -> None:
    result = read([chunk(said("a")), event, stop()])
    assert (result.text, result.finish.outcome) == ("a", Outcome.COMPLETED)


# ---- sources ----


def _grounding(*sources: Event, supports: tuple[Event, ...] = (), **fields: Any) -> Event:
    return {"groundingMetadata": {"groundingChunks": list(sources), "groundingSupports": list(supports), **fields}}


WEB = {"web": {"uri": "https://e.org/a", "title": "A"}}
OTHER = {"retrievedContext": {"uri": "https://e.org/b", "title": "B", "text": "words"}}


def test_sources_come_once_however_often_they_are_said_and_the_last_list_counts() -> None:
    events = [
        chunk(said("Hi."), candidate=_grounding(WEB)),
        chunk(candidate=_grounding(WEB, OTHER, {"web": dict(WEB["web"])}), finish="STOP"),
    ]
    assert read(events).text == "Hi. [A](https://e.org/a) [B](https://e.org/b)"
    assert read(events, citations=CitationMode.OFF).text == "Hi."
    assert read(events, citations=CitationMode.END).text.endswith("1. [A](https://e.org/a)\n2. [B](https://e.org/b)\n")


def test_places_of_sources_are_bytes_of_the_text_and_become_characters() -> None:
    """Places count bytes of UTF-8 (docs/wires/gemini.md#grounding).

    Recording pai-google-google-model-file-search-tool-stream.3 counts without the code.
    """
    supports = (
        {"segment": {"startIndex": 0, "endIndex": 5, "text": "Grüß"[:3]}, "groundingChunkIndices": [0]},
        {"segment": {"startIndex": 7, "endIndex": 10, "text": "dir"}, "groundingChunkIndices": [1]},
    )
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    shown = "\n\n```python\n1\n```\n\n"
    events = [
        chunk(code, said("Grü")),
        chunk(said("ß dir"), finish="STOP", candidate=_grounding(WEB, OTHER, supports=supports)),
    ]
    result = read(events, citations=CitationMode.DATA)
    found = [json.loads(one.data) for one in result.outputs if isinstance(one, DataPart)]
    assert all(one.mime_type == CITATION_MIME_TYPE for one in result.outputs if isinstance(one, DataPart))
    places = [result.text[one["startIndex"] : one["endIndex"]] for one in found]
    assert result.text == shown + "Grüß dir"
    assert places == ["Grü", "dir"]
    assert found[1]["citedText"] == "words"


def test_sources_of_a_candidate_without_an_index_are_read() -> None:
    candidate = {"content": {"parts": [{"text": "Hi"}]}, **_grounding(WEB)}
    assert read([{"candidates": [candidate]}, stop()]).text == "Hi [A](https://e.org/a)"


def test_citations_of_both_surfaces_are_sources() -> None:
    for name in ("citationSources", "citations"):
        cited = {"citationMetadata": {name: [{"uri": "https://e.org/a", "startIndex": 0, "endIndex": 2}]}}
        assert read([chunk(said("Hi"), candidate=cited), stop()]).text == "Hi [e.org](https://e.org/a)"


def test_what_google_asks_to_show_of_a_search_is_in_the_metadata() -> None:
    about = {"webSearchQueries": ["q"], "searchEntryPoint": {"renderedContent": "<div>"}}
    pages = {"urlContextMetadata": {"urlMetadata": [{"retrievedUrl": "https://e.org"}]}}
    result = read([chunk(said("Hi"), candidate=_grounding(**about) | pages), stop()])
    assert result.finish.provider_metadata["gemini"] == {"groundingMetadata": about, **pages}


# ---- whose event it is ----


@pytest.mark.parametrize(
    "event", [chunk(said("a")), {"usageMetadata": {}}, {"promptFeedback": {"blockReason": "SAFETY"}}]
)
def test_a_chunk_is_surely_of_this_protocol(event: Event) -> None:
    assert GeminiResponseReader.claim("", event) is MatchConfidence.SURE


@pytest.mark.parametrize(
    "event", [{"choices": []}, {"type": "ping"}, {"model": "m", "done": True}, {"type": "error", "error": {}}]
)
def test_an_event_of_another_wire_is_not(event: Event) -> None:
    assert GeminiResponseReader.claim("", event) is MatchConfidence.NO
