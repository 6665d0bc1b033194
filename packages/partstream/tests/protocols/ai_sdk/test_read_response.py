"""Chunk by chunk and version by version: what each means, alone and beside others."""

import json
from dataclasses import replace
from typing import Any

import pytest

from partstream.errors import AdapterUsageError, TruncatedStreamError, UpstreamFailureError, UpstreamProtocolError
from partstream.lm.outputs import CitationMode, FileMode, Finish, Outcome, ThinkingMode, Unmapped
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, UnifiedFinishReason
from partstream.protocols.ai_sdk.read_response import CHUNKS, FullStreamReader
from protocols.ai_sdk.wire import DEFAULTS, Chunk, read
from rows import one_test_for

START: list[Chunk] = [{"type": "start"}, {"type": "start-step", "request": {}, "warnings": []}]


def _end(reason: Any = "stop", **fields: Any) -> list[Chunk]:
    return [
        {"type": "finish-step", "finishReason": reason, **fields},
        {"type": "finish", "finishReason": reason},
    ]


def _whole(*chunks: Chunk, reason: Any = "stop") -> list[Chunk]:
    return [*START, *chunks, *_end(reason)]


TEXT = {"type": "text-delta", "id": "t", "text": "Hi"}
CALL = {"type": "tool-call", "toolCallId": "c", "toolName": "add", "input": {"a": 1}}
PART = ToolCallPart("gw-c", "add", {"a": 1})


# ---- framing ----

SILENT = [
    {"type": "start", "messageId": "m"},
    {"type": "start-step", "request": {}, "warnings": []},
    {"type": "step-start", "messageId": "m", "request": {}, "warnings": []},
    {"type": "stream-start", "warnings": []},
    {"type": "response-metadata", "id": "r", "modelId": "m"},
    {"type": "message-metadata", "messageMetadata": {"a": 1}},
    {"type": "text-start", "id": "x"},
    {"type": "text-end", "id": "x"},
    {"type": "text-delta", "id": "x", "text": ""},
    {"type": "reasoning-start", "id": "x"},
    {"type": "reasoning-delta", "id": "x", "text": ""},
    {"type": "reasoning-end", "id": "x"},
    {"type": "reasoning-part-finish"},
    {"type": "tool-input-end", "id": "x"},
    {"type": "finish-step", "usage": {}},
    {"type": "ping"},
    {"type": "reset-step"},
]


@one_test_for("chunk", SILENT, ids=lambda chunk: chunk["type"])
def test_a_framing_chunk_emits_nothing_and_only_the_end_of_a_step_separates_texts(chunk: Chunk) -> None:
    # The extension that came before this one answered each of them with a text part of one space.
    assert FullStreamReader().feed(chunk) == []
    said = read([chunk, TEXT, chunk, TEXT, *_end()]).text
    assert said == ("Hi\n\nHi" if chunk["type"] == "finish-step" else "HiHi")


def test_warnings_are_counted_where_there_are_any() -> None:
    for kind in ("start-step", "step-start", "stream-start"):
        result = read([{"type": kind, "warnings": [{"type": "unsupported", "feature": "topK"}]}, TEXT, *_end()])
        assert result.unmapped == {f"{kind} (warnings)": 1}


@one_test_for("kind", ["raw", "custom", "steering-message", "reasoning-file", "tool-approval-request", "new"])
def test_what_has_no_place_among_the_parts_is_counted(kind: str) -> None:
    result = read(_whole(TEXT, {"type": kind, "kind": "acme.thing"}, {"type": kind}, TEXT))
    assert result.text == "HiHi"
    assert result.unmapped == {kind: 2}


@one_test_for("chunk", [{}, {"type": 7}, {"type": None}, {"type": ""}, {"type": ["text-delta"]}])
def test_a_chunk_without_a_type_ends_no_stream_and_is_the_error_of_a_stream_of_them(chunk: Chunk) -> None:
    result = read(_whole(chunk, TEXT, chunk, TEXT))
    assert (result.text, result.finish.error) == ("HiHi", None)
    assert result.unmapped == {"a chunk without a type": 2}
    error = read([chunk]).finish.error
    assert isinstance(error, UpstreamProtocolError)
    assert error.field == "type"


def test_what_comes_after_the_end_changes_nothing_until_the_stream_was_ended() -> None:
    stream = FullStreamReader()
    assert isinstance(stream.feed({"type": "finish"})[-1], Finish)
    assert stream.finished
    assert stream.feed(TEXT) == []
    assert stream.end() == []
    with pytest.raises(AdapterUsageError, match="text-delta"):
        stream.feed(TEXT)
    with pytest.raises(AdapterUsageError):
        stream.end()


def test_every_type_of_the_table_takes_a_chunk_with_no_field_but_its_type() -> None:
    for kind in CHUNKS:
        read([*START, {"type": kind}, *_end()])


def _answer(text: str, call_id: str) -> list[Chunk]:
    return [
        *START,
        {"type": "text-delta", "id": "1", "text": text},
        {**CALL, "toolCallId": call_id},
        {"type": "finish-step"},
        {"type": "finish", "finishReason": "stop", "usage": {"inputTokens": 2, "outputTokens": 3}},
    ]


LATE = {"type": "data-late", "data": 1}
SEVERAL = [*_answer("One", "a"), LATE, *_answer("Two", "b"), LATE]


@pytest.mark.parametrize("protocol", ["ai-sdk-ui", "ai-sdk-data"])
def test_an_application_may_stream_several_answers_as_one_and_data_of_its_own_behind_them(protocol: str) -> None:
    # As `createUIMessageStream` of 5.0.277 and 6.0.322 does with two merged answers and an `onFinish` that writes.
    result = read(SEVERAL, protocol)
    assert result.text == "One\n\nTwo"
    assert [call_id for call_id, _, _ in result.calls] == ["gw-a", "gw-b"]
    assert len(result.data) == 2
    assert result.finish.outcome is Outcome.COMPLETED
    assert result.finish.usage is not None
    assert (result.finish.usage.input_tokens, result.finish.usage.output_tokens) == (4, 6)
    assert [output for output in result.outputs if isinstance(output, Finish)] == result.outputs[-1:]


@pytest.mark.parametrize("protocol", ["ai-sdk-ui", "ai-sdk-data"])
def test_the_last_of_several_answers_says_how_all_ended(protocol: str) -> None:
    assert read(SEVERAL[:-3], protocol).finish.outcome is Outcome.TRUNCATED
    assert read([*SEVERAL, {"type": "error", "error": "no"}], protocol).finish.outcome is Outcome.FAILED
    assert read([*SEVERAL, {"type": "abort"}], protocol).finish.outcome is Outcome.FAILED


@pytest.mark.parametrize("protocol", ["ai-sdk", "ai-gateway"])
def test_where_no_application_adds_to_a_stream_its_first_end_is_the_end(protocol: str) -> None:
    assert read(SEVERAL, protocol).outputs == read(SEVERAL[:6], protocol).outputs


# ---- text and reasoning ----


@one_test_for(
    "chunk",
    [
        {"type": "text-delta", "id": "t", "text": "Hi"},
        {"type": "text-delta", "textDelta": "Hi"},
        {"type": "text-delta", "id": "t", "delta": "Hi"},
        {"type": "text", "text": "Hi"},
        {"type": "text", "id": "t", "text": "Hi"},
        {"type": "text-delta", "text": None, "textDelta": "Hi", "delta": "no"},
        {"type": "text-delta", "text": {"$undefined": True}, "delta": "Hi"},
    ],
)
@one_test_for("protocol", ["ai-sdk", "ai-sdk-ui", "ai-gateway"])
def test_text_has_a_name_in_every_version(chunk: Chunk, protocol: str) -> None:
    assert read([chunk, chunk, *_end()], protocol).outputs[:-1] == [TextPart("Hi"), TextPart("Hi")]


def test_an_empty_string_is_there_and_hides_the_next_name() -> None:
    assert read(_whole({"type": "text-delta", "text": "", "delta": "no"})).text == ""


@pytest.mark.parametrize("value", [7, [], {}, True])
def test_text_that_is_no_string_is_a_clear_error(value: Any) -> None:
    error = read(_whole(TEXT, {"type": "text-delta", "id": "t", "text": value})).finish.error
    assert isinstance(error, UpstreamProtocolError)
    assert error.expected == "a string"


@pytest.mark.parametrize(
    "chunk",
    [
        {"type": "reasoning-delta", "id": "r", "text": "hm"},
        {"type": "reasoning-delta", "id": "r", "delta": "hm"},
        {"type": "reasoning", "id": "r", "text": "hm"},
        {"type": "reasoning", "id": "r", "textDelta": "hm"},
    ],
)
def test_reasoning_is_shown_as_the_options_say(chunk: Chunk) -> None:
    assert read([chunk, chunk, *_end()]).outputs[:-1] == [ThinkingPart("hm", "r")] * 2
    assert read([chunk, chunk, *_end()], thinking=ThinkingMode.TEXT).text == "> hmhm\n\n"
    assert read([chunk, chunk, *_end()], thinking=ThinkingMode.OFF).outputs[:-1] == []


SIGNED = {
    "5 and later": [
        {"type": "reasoning-start", "id": "r", "providerMetadata": {"openai": {"itemId": "rs_1"}}},
        {"type": "reasoning-delta", "id": "r", "text": "hm"},
        {"type": "reasoning-delta", "id": "r", "text": "", "providerMetadata": {"anthropic": {"signature": "s"}}},
        {"type": "reasoning-end", "id": "r", "providerMetadata": {"openai": {"encrypted": "e"}}},
    ],
    "4": [{"type": "reasoning", "textDelta": "hm"}, {"type": "reasoning-signature", "signature": "s"}],
}


@pytest.mark.parametrize(
    ("version", "options"),
    [
        ("5 and later", {"openai": {"itemId": "rs_1", "encrypted": "e"}, "anthropic": {"signature": "s"}}),
        ("4", {"anthropic": {"signature": "s"}}),
    ],
)
def test_signed_reasoning_is_kept_whole_in_the_metadata(version: str, options: Chunk) -> None:
    result = read(_whole(*SIGNED[version]))
    item = {"type": "reasoning", "text": "hm", "providerOptions": options}
    assert result.metadata == [{"reasoning_items": [item]}]
    assert result.thinking == "hm"
    for mode in (ThinkingMode.OFF, ThinkingMode.TEXT):
        assert read(_whole(*SIGNED[version]), thinking=mode).metadata == []


@pytest.mark.parametrize(
    "chunks",
    [
        [
            {"type": "reasoning-start", "id": "r", "providerMetadata": {"anthropic": {"redactedData": "x"}}},
            {"type": "reasoning-end", "id": "r"},
        ],
        [{"type": "redacted-reasoning", "data": "x"}],
    ],
)
def test_redacted_reasoning_is_an_item_without_text(chunks: list[Chunk]) -> None:
    item = {"type": "reasoning", "text": "", "providerOptions": {"anthropic": {"redactedData": "x"}}}
    assert read(_whole(*chunks)).metadata == [{"reasoning_items": [item]}]


def test_the_last_metadata_lists_all_items_before_it() -> None:
    call = {**CALL, "providerMetadata": {"google": {"thoughtSignature": "t"}, "gateway": {"generationId": "g"}}}
    result = read(_whole(*SIGNED["4"], {"type": "redacted-reasoning", "data": "x"}, call))
    kinds = [[item["type"] for item in metadata["reasoning_items"]] for metadata in result.metadata]
    assert kinds == [["reasoning"], ["reasoning"] * 2, ["reasoning", "reasoning", "tool-call"]]
    *_, thinking, part, finish = result.outputs
    assert (thinking, part) == (ThinkingPart("", None, result.metadata[-1]), PART)
    marked = {"type": "tool-call", "toolCallId": "c", "providerOptions": {"google": {"thoughtSignature": "t"}}}
    assert result.metadata[-1]["reasoning_items"][-1] == marked
    assert isinstance(finish, Finish)
    assert finish.provider_metadata == {"gateway": {"generationId": "g"}}


def test_the_summary_of_a_compacted_conversation_is_no_answer_and_goes_back_to_its_provider() -> None:
    start = {"type": "text-start", "id": "c", "providerMetadata": {"anthropic": {"type": "compaction"}}}
    deltas = [{"type": "text-delta", "id": "c", "text": text} for text in ("sum", "mary")]
    for end in ([{"type": "text-end", "id": "c"}], []):
        result = read(_whole(start, *deltas, *end, TEXT))
        assert result.text == "Hi"
        assert result.unmapped == {}
        options = {"anthropic": {"type": "compaction"}}
        item = {"type": "text", "text": "summary", "providerOptions": options}
        assert result.metadata == [{"reasoning_items": [item]}]
    hidden = read(_whole(start, *deltas, TEXT), thinking=ThinkingMode.OFF)
    assert hidden.unmapped == {"text (compaction)": 1}
    (counted,) = [output for output in hidden.outputs if getattr(output, "type", "") == "text (compaction)"]
    assert counted.data["text"] == "summary"  # type: ignore[union-attr]


# ---- tool calls ----

ARGUMENTS = '{"a":1}'
STREAMED = {
    "5 and later": [
        {"type": "tool-input-start", "id": "c", "toolName": "add"},
        {"type": "tool-input-delta", "id": "c", "delta": '{"a"'},
        {"type": "tool-input-delta", "id": "c", "delta": ":1}"},
    ],
    "UI": [
        {"type": "tool-input-start", "toolCallId": "c", "toolName": "add"},
        {"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": '{"a"'},
        {"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": ":1}"},
    ],
    "4": [
        {"type": "tool-call-streaming-start", "toolCallId": "c", "toolName": "add"},
        {"type": "tool-call-delta", "toolCallId": "c", "toolName": "add", "argsTextDelta": '{"a"'},
        {"type": "tool-call-delta", "toolCallId": "c", "toolName": "add", "argsTextDelta": ":1}"},
    ],
}


@pytest.mark.parametrize(
    "chunk",
    [
        CALL,
        {"type": "tool-call", "toolCallId": "c", "toolName": "add", "args": {"a": 1}},
        {"type": "tool-call", "toolCallId": "c", "toolName": "add", "input": ARGUMENTS},
        {"type": "tool-input-available", "toolCallId": "c", "toolName": "add", "input": {"a": 1}},
        {"type": "tool-call", "id": "c", "toolName": "add", "input": {"a": 1}},
    ],
)
@pytest.mark.parametrize("protocol", ["ai-sdk", "ai-sdk-ui", "ai-gateway"])
def test_a_complete_call_is_handed_out_once(chunk: Chunk, protocol: str) -> None:
    twice = read(_whole(chunk, chunk), protocol)
    assert [one for one in twice.outputs[:-1] if not isinstance(one, Unmapped)] == [PART]
    assert twice.unmapped == {"tool call add (repeated)": 1}
    for streamed in STREAMED.values():
        assert read(_whole(*streamed, chunk), protocol).outputs[:-1] == [PART]


@one_test_for("streamed", STREAMED.values(), ids=STREAMED)
@one_test_for(
    ("reason", "handed_out"),
    [("stop", True), ("tool-calls", True), ("other", True), (None, True), ("length", False), ("content-filter", False),
     ("error", False), ("interrupted", False)],
)  # fmt: skip
def test_input_that_was_only_streamed_is_handed_out_where_nothing_was_cut(
    streamed: list[Chunk], reason: str | None, handed_out: bool
) -> None:
    result = read(_whole(*streamed, reason=reason))
    assert result.calls == ([("gw-c", "add", {"a": 1})] if handed_out else [])
    assert result.unmapped == ({} if handed_out else {"tool-input add (incomplete)": 1})


@one_test_for("joined", ["{", "[1]", "7", '"a"', '{"a":1}}', "null"])
def test_streamed_input_that_is_no_object_is_never_a_call(joined: str) -> None:
    chunks = [STREAMED["4"][0], {"type": "tool-call-delta", "toolCallId": "c", "argsTextDelta": joined}]
    result = read(_whole(*chunks))
    assert result.calls == []
    assert result.unmapped == {"tool-input add (incomplete)": 1}


def test_no_input_at_all_is_an_empty_object() -> None:
    assert read(_whole(STREAMED["4"][0])).calls == [("gw-c", "add", {})]
    assert read(_whole({**CALL, "input": ""}), "ai-gateway").calls == [("gw-c", "add", {})]


def test_streamed_input_is_no_call_after_an_error_or_an_abort() -> None:
    for broken in ({"type": "error", "error": "no"}, {"type": "abort"}):
        result = read(_whole(*STREAMED["4"], broken))
        assert result.calls == []
        assert result.finish.outcome is Outcome.FAILED


NEVER = {
    "invalid": ([{**CALL, "invalid": True, "input": "{"}], {"tool-call add (invalid)": 1}),
    "no object": ([{**CALL, "input": [1]}], {"tool-call add (invalid)": 1}),
    "no name": ([{**CALL, "toolName": ""}], {"tool-call (invalid)": 1}),
    "no id": ([{**CALL, "toolCallId": None}], {"tool-call add (invalid)": 1}),
    "error in the UI": ([{**CALL, "type": "tool-input-error"}], {"tool-input-error add (invalid)": 1}),
    "run by the provider": ([{**CALL, "providerExecuted": True}], {"tool-call add (run by the provider)": 1}),
    "streamed for the provider": (
        [{"type": "tool-input-start", "id": "c", "toolName": "add", "providerExecuted": True}],
        {"tool-input add (run by the provider)": 1},
    ),
}


@one_test_for(("chunks", "unmapped"), NEVER.values(), ids=NEVER)
def test_what_the_consumer_must_not_run_is_reported_and_no_call(chunks: list[Chunk], unmapped: dict[str, int]) -> None:
    result = read(_whole(*STREAMED["4"], *chunks) if len(chunks) > 1 else _whole(*chunks))
    assert result.calls == []
    assert result.unmapped == unmapped


OUTCOMES = {
    "tool-result": {"output": 1},
    "tool-error": {"error": "no"},
    "tool-output-available": {"output": 1},
    "tool-output-error": {"errorText": "no"},
    "tool-output-denied": {},
}


@pytest.mark.parametrize("kind", OUTCOMES)
def test_a_call_with_an_outcome_was_run_by_the_sdk_and_is_not_handed_out(kind: str) -> None:
    other = {**CALL, "toolCallId": "d"}
    outcome = {"type": kind, "toolCallId": "c", **OUTCOMES[kind]}
    for protocol in ("ai-sdk", "ai-sdk-ui"):
        result = read(_whole(CALL, other, outcome), protocol, waits_for_outcomes=True)
        assert [call_id for call_id, _, _ in result.calls] == ["gw-d"]
        assert result.unmapped == {kind: 1}
        assert len(read(_whole(CALL, other, outcome), protocol).calls) == 2
    # Nothing runs tools between a provider and its client.
    assert len(read(_whole(CALL, other, outcome), "ai-gateway", waits_for_outcomes=True).calls) == 2


def test_a_preliminary_result_says_that_somebody_runs_the_call() -> None:
    result = read(
        _whole(CALL, {"type": "tool-result", "toolCallId": "c", "output": 1, "preliminary": True}),
        waits_for_outcomes=True,
    )
    assert result.calls == []
    assert result.unmapped == {"tool-result (preliminary)": 1}


@pytest.mark.parametrize(("approved", "handed_out", "name"), [(False, 0, "refused"), (True, 1, "allowed")])
def test_a_call_that_was_refused_is_over(approved: bool, handed_out: int, name: str) -> None:
    request = {"type": "tool-approval-request", "approvalId": "a", "toolCall": CALL}
    answer = {"type": "tool-approval-response", "approvalId": "a", "toolCall": CALL, "approved": approved}
    result = read(_whole(CALL, request, answer), waits_for_outcomes=True)
    assert len(result.calls) == handed_out
    assert result.unmapped == {"tool-approval-request": 1, f"tool-approval-response add ({name})": 1}


def test_a_call_that_waits_for_approval_is_the_consumers_who_asks_a_person_itself() -> None:
    assert read(_whole(CALL, {"type": "tool-approval-request", "approvalId": "a", "toolCall": CALL})).calls


@pytest.mark.parametrize(
    "error",
    [
        {"name": "AI_ToolExecutionError", "toolName": "add", "toolCallId": "c"},
        {"name": "AI_NoSuchToolError", "toolName": "add"},
    ],
)
def test_a_tool_that_failed_in_version_4_is_no_failed_response(error: Chunk) -> None:
    result = read(_whole(CALL, {"type": "error", "error": error}, reason="tool-calls"), waits_for_outcomes=True)
    assert result.calls == []
    assert result.finish.outcome is Outcome.COMPLETED
    assert result.unmapped == {"error of the tool add": 1}


@pytest.mark.parametrize(
    "message",
    [
        "Error executing tool add: it broke",
        "Invalid arguments for tool add: JSON parsing failed",
        "Model tried to call unavailable tool 'add'. No tools are available.",
    ],
)
def test_the_data_stream_says_of_a_tool_that_failed_only_a_sentence(message: str) -> None:
    chunks = [{"type": "tool-call", "toolCallId": "c", "toolName": "add", "args": {}}]
    end = [{"type": "finish", "finishReason": "tool-calls"}]
    result = read([*chunks, {"type": "error", "error": message}, *end], "ai-sdk-data", waits_for_outcomes=True)
    assert result.calls == []
    assert result.finish.outcome is Outcome.COMPLETED
    masked = read([*chunks, {"type": "error", "error": "An error occurred."}, *end], "ai-sdk-data")
    assert isinstance(masked.finish.error, UpstreamFailureError)
    assert masked.finish.error.provider_message == "An error occurred."


def test_calls_come_at_once_and_where_a_setting_waits_for_outcomes_when_their_step_ends() -> None:
    assert FullStreamReader(DEFAULTS).feed(CALL) == [PART]
    stream = FullStreamReader(replace(DEFAULTS, waits_for_outcomes=True))
    assert stream.feed(CALL) == []
    assert stream.feed({"type": "finish-step"}) == [PART]
    assert read([CALL]).calls == read([CALL, {"type": "error", "error": "no"}]).calls == [("gw-c", "add", {"a": 1})]


def test_a_step_that_is_taken_back_takes_its_calls_along() -> None:
    result = read([*START, CALL, *STREAMED["4"], {"type": "reset-step"}, *_end()], waits_for_outcomes=True)
    assert result.calls == []
    assert result.unmapped == {}
    assert read([*START, TEXT, {"type": "reset-step"}, *_end()]).unmapped == {"reset-step (of what was shown)": 1}


# ---- files, data, sources ----

PNG = b"\x89PNG\r\n\x1a\n0"
BASE64 = "iVBORw0KGgow"


@one_test_for(
    "file",
    [
        {"base64": BASE64, "mediaType": "image/png"},
        {"base64": BASE64, "mimeType": "image/png"},
        {"file": {"base64": BASE64, "uint8Array": {"$uint8array": BASE64}, "mediaType": "image/png"}},
        {"file": {"base64Data": BASE64, "mediaType": "image/png"}},
        {"file": {"uint8ArrayData": {str(place): byte for place, byte in enumerate(PNG)}, "mediaType": "image/png"}},
        {"file": {"uint8Array": list(PNG), "mediaType": "image/*"}},
        {"data": BASE64, "mediaType": "image/png"},
        {"data": {"type": "data", "data": BASE64}, "mediaType": "image/png"},
        {"data": {"type": "url", "url": f"data:image/png;base64,{BASE64}"}},
        {"data": {"type": "data", "data": {"$uint8array": BASE64}}, "mediaType": "image/png"},
        {"data": {"type": "data", "data": {str(place): byte for place, byte in enumerate(PNG)}}},
        {"data": {"type": "url", "url": {"$url": f"data:image/png;base64,{BASE64}"}}},
        {"file": {"base64": {"$undefined": True}, "uint8Array": {"$uint8array": BASE64}, "mediaType": "image/png"}},
        {"url": f"data:image/png;base64,{BASE64}", "mediaType": "image/png"},
        {"url": "data:image/png,%89PNG%0d%0a%1a%0a0"},
        {"data": BASE64},
    ],
)
def test_a_file_is_data_whatever_form_its_bytes_have(file: Chunk) -> None:
    assert read(_whole({"type": "file", **file})).data == [DataPart(PNG, "image/png")]


@one_test_for(
    "file",
    [
        {},
        {"base64": "%%%"},
        {"data": 7},
        {"uint8ArrayData": {"0": 300}},
        {"uint8ArrayData": {"1": 1}},
        {"url": "data:x"},
    ],
)
def test_a_file_whose_bytes_cannot_be_read_is_counted(file: Chunk) -> None:
    result = read(_whole({"type": "file", "mediaType": "image/png", **file}))
    assert result.data == []
    assert result.unmapped == {"file (not readable)": 1}


@pytest.mark.parametrize("data", [PNG, bytearray(PNG), memoryview(PNG)])
def test_a_program_may_hand_over_bytes_as_they_are(data: Any) -> None:
    file = {"type": "file", "file": {"uint8Array": data, "mediaType": "image/png"}}
    assert FullStreamReader().feed(file) == [DataPart(PNG, "image/png")]


ADDRESS = "https://e.org/a.png"


@one_test_for(
    "file",
    [
        {"url": ADDRESS},
        {"url": {"$url": ADDRESS}},
        {"data": ADDRESS},
        {"data": {"type": "url", "url": ADDRESS}},
        {"data": {"type": "url", "url": {"$url": ADDRESS}}},
    ],
)
def test_a_file_that_is_somewhere_else_is_a_link_that_a_chat_shows_or_its_address(file: Chunk) -> None:
    chunks = _whole(TEXT, {"type": "file", "mediaType": "image/png", **file})
    shown = read(chunks)
    assert (shown.text, shown.data) == (f"Hi\n\n[{ADDRESS.rpartition('/')[2]}]({ADDRESS})\n\n", [])
    for mode in (FileMode.ADDRESS, FileMode.FETCH):
        assert read(chunks, files=mode).data == [DataPart(ADDRESS.encode(), "text/uri-list")]


@pytest.mark.parametrize(
    ("address", "link"),
    [
        ("https://e.org/a%20b.png?k=1#x", "[a b.png](https://e.org/a%20b.png?k=1#x)"),
        ("https://e.org", "[e.org](https://e.org)"),
        ("https://e.org/a]b(c).png", "[a\\]b(c).png](https://e.org/a]b%28c%29.png)"),
    ],
)
def test_a_link_to_a_file_has_its_name_and_is_markdown_that_nothing_can_break_out_of(address: str, link: str) -> None:
    assert read(_whole({"type": "file", "mediaType": "image/png", "url": address})).text == f"\n\n{link}\n\n"


def test_an_address_that_no_link_can_hold_is_counted() -> None:
    result = read(_whole({"type": "file", "mediaType": "image/png", "url": "https://[broken"}))
    assert (result.text, result.unmapped) == ("", {"file (not readable)": 1})


def test_data_of_the_application_keeps_its_name() -> None:
    result = read(_whole({"type": "data-weather", "data": {"a": [1]}}, {"type": "data-", "data": 1}), "ai-sdk-ui")
    (part,) = result.data
    assert (part.mime_type, json.loads(part.data)) == ("application/vnd.vercel.weather+json", {"a": [1]})
    assert result.unmapped == {"data-": 1}


SOURCES = [
    {"type": "source", "sourceType": "url", "id": "s", "url": "https://e.org/a", "title": "A"},
    {"type": "source", "source": {"sourceType": "url", "id": "s", "url": "https://e.org/a", "title": "A"}},
    {"type": "source-url", "sourceId": "s", "url": "https://e.org/a", "title": "A"},
    {"type": "text-end", "id": "t", "citations": [
        {"source": {"sourceType": "url", "id": "s", "url": "https://e.org/a", "title": "A"}}
    ]},
]  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_is_a_citation_as_the_options_say(source: Chunk) -> None:
    chunks = _whole(TEXT, source, source)
    assert read(chunks).text == "Hi [A](https://e.org/a)"
    assert read(chunks, citations=CitationMode.END).text == "Hi\n\nSources:\n\n1. [A](https://e.org/a)\n"
    assert read(chunks, citations=CitationMode.OFF).outputs[:-1] == [TextPart("Hi")]
    (part,) = read(chunks, citations=CitationMode.DATA).data
    assert json.loads(part.data) == {
        "type": "citation", "sourceType": "url", "sourceId": "s", "url": "https://e.org/a", "title": "A"
    }  # fmt: skip


def test_a_source_without_an_address_is_counted_where_a_link_would_be() -> None:
    document = {"type": "source-document", "sourceId": "s", "mediaType": "application/pdf", "title": "Manual"}
    assert read(_whole(TEXT, document)).unmapped == {"source:document": 1}
    assert len(read(_whole(TEXT, document), citations=CitationMode.DATA).data) == 1


# ---- the end ----


@one_test_for(
    ("reason", "outcome", "unified", "raw"),
    [
        ("stop", Outcome.COMPLETED, "stop", None),
        ({"unified": "tool-calls", "raw": "tool_use"}, Outcome.COMPLETED, "tool-calls", "tool_use"),
        ("length", Outcome.INCOMPLETE, "length", None),
        ("content-filter", Outcome.INCOMPLETE, "content-filter", None),
        ("unknown", Outcome.COMPLETED, "other", "unknown"),
        ("other", Outcome.COMPLETED, "other", None),
        ("error", Outcome.FAILED, "error", None),
        ("interrupted", Outcome.TRUNCATED, "other", "interrupted"),
        ({"unified": "interrupted", "raw": "x"}, Outcome.TRUNCATED, "other", "interrupted"),
        ("brand-new", Outcome.COMPLETED, "other", "brand-new"),
    ],
)
def test_the_finish_reason_says_how_it_ended(reason: Any, outcome: Outcome, unified: str, raw: str | None) -> None:
    finish = read(_whole(TEXT, reason=reason)).finish
    assert finish.outcome is outcome
    assert finish.reason is not None
    assert (finish.reason.unified, finish.reason.raw) == (UnifiedFinishReason(unified), raw)


def test_a_finish_without_a_reason_says_none() -> None:
    assert read([TEXT, {"type": "finish"}]).finish.reason is None


NESTED = {"inputTokens": {"total": 9, "cacheRead": 4}, "outputTokens": {"total": 5, "reasoning": 2}}
USAGES = [
    ({"usage": {"promptTokens": 9, "completionTokens": 5}}, (9, 5, 14, None, None)),
    ({"totalUsage": {"inputTokens": 9, "outputTokens": 5, "totalTokens": 15, "reasoningTokens": 2,
                     "cachedInputTokens": 4}}, (9, 5, 15, 4, 2)),
    ({"totalUsage": {"inputTokens": 9, "outputTokens": 5, "inputTokenDetails": {"cacheReadTokens": 4},
                     "outputTokenDetails": {"reasoningTokens": 2}}}, (9, 5, 14, 4, 2)),
    ({"usage": NESTED}, (9, 5, 14, 4, 2)),
    ({"usage": {"inputTokens": 9.0, "outputTokens": 5}}, (9, 5, 14, None, None)),
    ({"usage": {"inputTokens": -1, "outputTokens": 5}}, (None, 5, None, None, None)),
]  # fmt: skip


@one_test_for(("fields", "expected"), USAGES)
def test_tokens_are_read_in_the_form_of_every_version(fields: Chunk, expected: tuple[int | None, ...]) -> None:
    usage = read([TEXT, {"type": "finish", "finishReason": "stop", **fields}]).finish.usage
    assert usage is not None
    found = (usage.input_tokens, usage.output_tokens, usage.total_tokens, usage.cached_tokens, usage.reasoning_tokens)
    assert found == expected


@pytest.mark.parametrize(
    "fields",
    [
        {"usage": {"inputTokens": {"total": 9, "cacheWrite": 3}, "outputTokens": {"total": 5}}},
        {"totalUsage": {"inputTokens": 9, "outputTokens": 5, "inputTokenDetails": {"cacheWriteTokens": 3}}},
    ],
)
def test_what_was_written_into_the_cache_is_read_where_it_is_said(fields: Chunk) -> None:
    assert _written({"type": "finish", "finishReason": "stop", **fields}) == 3
    step = {"type": "finish-step", "usage": next(iter(fields.values()))}
    assert _written(step, step, {"type": "finish", "finishReason": "stop"}) == 6
    silent = {"type": "finish-step", "usage": {"inputTokens": 9, "outputTokens": 5}}
    assert _written(step, silent, {"type": "finish", "finishReason": "stop"}) is None


def _written(*chunks: Chunk) -> int | None:
    usage = read([TEXT, *chunks]).finish.usage
    assert usage is not None
    return usage.cache_write_tokens


@one_test_for("number", [None, True, -1, 0.5, "9", {"$number": "NaN"}, {"$undefined": True}, []])
def test_what_counts_nothing_is_unknown_and_never_zero(number: Any) -> None:
    usage = {"promptTokens": number, "completionTokens": number, "totalTokens": number}
    assert read([TEXT, {"type": "finish", "usage": usage}]).finish.usage is None


def test_zeros_of_a_stream_that_broke_off_are_unknown() -> None:
    usage = {"promptTokens": 0, "completionTokens": 0, "totalTokens": 0}
    assert read([TEXT, {"type": "finish", "finishReason": "unknown", "usage": usage}]).finish.usage is None
    assert read([TEXT, {"type": "finish", "finishReason": "stop", "usage": usage}]).finish.usage is not None


def test_the_tokens_of_steps_are_added_up_where_nobody_says_the_sum() -> None:
    steps = [{"type": "finish-step", "usage": {"inputTokens": 2, "outputTokens": number}} for number in (1, 3)]
    usage = read([*steps, {"type": "finish", "finishReason": "stop"}]).finish.usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (4, 4, 8)
    (alone,) = [read([steps[0], {"type": "finish"}]).finish.usage]
    assert alone is not None
    assert alone.raw == steps[0]["usage"]


def test_what_providers_say_of_the_whole_is_kept() -> None:
    edits = {"contextManagement": {"appliedEdits": [{"type": "clear_tool_uses_20250919"}]}}
    chunks = [
        {"type": "text-start", "id": "t", "providerMetadata": {"gateway": {"generationId": "g"}, "openai": {"x": 1}}},
        {"type": "finish-step", "providerMetadata": {"anthropic": edits, "gateway": {"cost": "0.1"}}},
        {"type": "finish", "providerMetadata": {"anthropic": {"y": 1}}},
    ]
    assert read(chunks).finish.provider_metadata == {
        "gateway": {"generationId": "g", "cost": "0.1"},
        "anthropic": {**edits, "y": 1},
    }


def test_what_a_provider_took_out_of_the_conversation_is_in_the_finish_in_words():
    cleared = {"type": "clear_tool_uses_20250919", "clearedToolUses": 2, "clearedInputTokens": 5000}
    metadata = {"anthropic": {"contextManagement": {"appliedEdits": [cleared]}}}
    chunks = [{"type": "finish", "finishReason": "stop", "totalUsage": {}, "providerMetadata": metadata}]
    assert read(chunks).finish.edits == ("2 tool calls, 5,000 tokens",)


def test_identity_is_the_responses_own_and_else_the_messages() -> None:
    step = {"type": "finish-step", "response": {"id": "r", "modelId": "m"}}
    finish = read([{"type": "start", "messageId": "msg"}, step, {"type": "finish"}]).finish
    assert (finish.response_id, finish.model) == ("r", "m")
    assert read([{"type": "start", "messageId": "msg"}, {"type": "finish"}]).finish.response_id == "msg"
    metadata = {"type": "response-metadata", "id": "r", "modelId": "m"}
    assert read([metadata, {"type": "finish"}], "ai-gateway").finish.model == "m"


def test_the_application_may_say_the_tokens_of_a_ui_stream() -> None:
    said = {"totalUsage": {"inputTokens": 9, "outputTokens": 5}, "model": "m"}
    finish = read([TEXT, {"type": "finish", "messageMetadata": said}], "ai-sdk-ui").finish
    assert finish.usage is not None
    assert finish.usage.input_tokens == 9
    assert finish.provider_metadata == {"messageMetadata": said}


def test_an_error_waits_for_the_end_and_keeps_what_comes_in_between() -> None:
    stream = FullStreamReader()
    assert stream.feed({"type": "error", "error": "no"}) == []
    assert stream.failing
    assert stream.feed(TEXT) == [TextPart("Hi")]
    (finish,) = stream.feed({"type": "finish", "finishReason": "error", "usage": {"inputTokens": 1}})
    assert isinstance(finish, Finish)
    assert isinstance(finish.error, UpstreamFailureError)
    assert finish.usage is not None
    assert not stream.failing


def test_a_stream_without_an_end_is_truncated() -> None:
    finish = read([*START, TEXT]).finish
    assert isinstance(finish.error, TruncatedStreamError)
    assert finish.error.state == "OPEN"
