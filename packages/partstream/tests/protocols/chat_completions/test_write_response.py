"""What the writer of Chat Completions gives: chunks as the official clients read them, as the parts come."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given

from conversation.samples import PDF, PNG
from partstream import DataPart, FinishReason, TextPart, ThinkingPart, ToolCallPart, UnifiedFinishReason, Usage
from partstream.conversation.citations import CITATION_MIME_TYPE
from partstream.conversation.media import URI_LIST
from partstream.conversation.provider_state import ITEMS
from partstream.errors import AdapterUsageError, LanguageModelError, TruncatedStreamError, UpstreamFailureError
from partstream.lm.outputs import Finish, InboundRequest, Outcome, Reply, StreamOutput, Unmapped
from partstream.protocols.chat_completions.provider_state import read_sealed
from partstream.protocols.chat_completions.serve import READ_REQUEST, ChatCompletionsWriter
from partstream.protocols.serve import WireRequest
from protocols.answers import answers
from rows import one_test_for

REPLY = Reply("identity", 1_700_000_000)
COMPLETED = Finish(Outcome.COMPLETED)
USAGE = Usage(10, 5, 15, 3, 2)
TOLD = {
    "prompt_tokens": 10,
    "completion_tokens": 5,
    "total_tokens": 15,
    "prompt_tokens_details": {"cached_tokens": 3},
    "completion_tokens_details": {"reasoning_tokens": 2},
}
CALL = ToolCallPart("call_1", "get_weather", {"city": "Zürich"})
WORDS = {
    UnifiedFinishReason.STOP: "stop",
    UnifiedFinishReason.LENGTH: "length",
    UnifiedFinishReason.CONTENT_FILTER: "content_filter",
    UnifiedFinishReason.OTHER: "stop",
}


def _asked(**body: Any) -> InboundRequest:
    whole = {"model": "small", "messages": [{"role": "user", "content": "Hi"}], "stream": True, **body}
    return READ_REQUEST.read(WireRequest("/chat/completions", whole))


def _write(*outputs: StreamOutput, reply: Reply = REPLY, **body: Any) -> list[dict[str, Any]]:
    writer = ChatCompletionsWriter(_asked(**body), reply)
    ending = () if isinstance(outputs[-1], Finish) else (COMPLETED,)
    return [event for output in (*outputs, *ending) for event in writer.write(output)]


def _deltas(events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [choice["delta"] for event in events for choice in event.get("choices", ())]


def _said(*outputs: StreamOutput, **body: Any) -> list[dict[str, Any]]:
    """The deltas between the role and the finish reason."""
    first, *said, last = _deltas(_write(*outputs, **body))
    assert (first, last) == ({"role": "assistant", "content": ""}, {})
    return said


def _document(*outputs: StreamOutput, **body: Any) -> tuple[int, dict[str, Any]]:
    return ChatCompletionsWriter.document(_write(*outputs, **{"stream": False, **body}))


def _item(**fields: Any) -> dict[str, Any]:
    return {"type": "message-field", **fields}


def _stated(*items: Any, **beside: Any) -> ThinkingPart:
    return ThinkingPart("", None, {**beside, ITEMS: list(items)})


# ---- chunks ----


def test_all_chunks_have_the_same_head():
    events = _write(TextPart("Hi"), CALL)
    heads = [{name: event[name] for name in ("id", "object", "created", "model")} for event in events]
    assert all(head == heads[0] for head in heads)
    assert heads[0] | {"id": ""} == {
        "id": "",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "small",
    }
    assert heads[0]["id"].startswith("chatcmpl-")


def test_two_replies_have_two_ids_and_the_same_reply_has_the_same():
    ids = [_write(TextPart("Hi"), reply=Reply(identity, 1))[0]["id"] for identity in ("a", "a", "b")]
    assert ids[0] == ids[1] != ids[2]


def test_text_and_thinking_are_said_as_they_come():
    assert _said(ThinkingPart("Hm."), TextPart("Hi "), TextPart("there"), TextPart(""), ThinkingPart("Oh.")) == [
        {"reasoning_content": "Hm."},
        {"content": "Hi "},
        {"content": "there"},
        {"reasoning_content": "Oh."},
    ]


def test_a_call_is_its_name_and_then_its_arguments():
    deltas = [call for delta in _said(CALL, ToolCallPart("call_2", "f", {})) for call in delta["tool_calls"]]
    named = {"name": "get_weather", "arguments": ""}
    assert deltas == [
        {"index": 0, "id": "call_1", "type": "function", "function": named},
        {"index": 0, "function": {"arguments": '{"city":"Zürich"}'}},
        {"index": 1, "id": "call_2", "type": "function", "function": {"name": "f", "arguments": ""}},
        {"index": 1, "function": {"arguments": "{}"}},
    ]


def test_arguments_may_come_in_pieces():
    events = _write(CALL, reply=Reply("identity", 1, argument_size=5))
    pieces = [call["function"]["arguments"] for delta in _deltas(events) for call in delta.get("tool_calls", ())]
    assert pieces == ["", '{"cit', 'y":"Z', "ürich", '"}']


def test_a_picture_is_its_bytes_or_its_address():
    address = DataPart.text("https://a.example/b.png", URI_LIST)
    first, second = _said(DataPart(PNG, "image/png"), address, DataPart(PDF, "application/pdf"))
    assert first["images"][0]["image_url"]["url"].startswith("data:image/png;base64,")
    assert second == {"images": [{"index": 1, "type": "image_url", "image_url": {"url": "https://a.example/b.png"}}]}


def test_a_source_is_an_annotation_of_the_text_before_it():
    source = {"type": "url_citation", "url": "https://a.example", "title": "A"}
    spans = {"start_index": 1, "end_index": 2}
    said = _said(
        TextPart("Hello"),
        DataPart.json(source, CITATION_MIME_TYPE),
        DataPart.json(source | spans, CITATION_MIME_TYPE),
        DataPart.json({"type": "file", "file_id": "x"}, CITATION_MIME_TYPE),
    )
    cited = {"url": "https://a.example", "title": "A"}
    behind = {"start_index": 5, "end_index": 5}
    assert said[1:] == [
        {"annotations": [{"index": 0, "type": "url_citation", "url_citation": cited | behind}]},
        {"annotations": [{"index": 1, "type": "url_citation", "url_citation": cited | spans}]},
    ]


def test_what_has_no_place_is_nothing():
    assert _said(Unmapped("odd", {}), DataPart.json({}, "usage"), DataPart(PDF, "application/pdf")) == []


# ---- the state of thinking ----


def test_the_entries_of_a_server_keep_their_form_and_are_numbered_through():
    first, second = (
        {"type": "reasoning.text", "signature": "x", "index": 0},
        {"type": "reasoning.encrypted", "data": "y"},
    )
    items = _item(reasoning_details=[first]), _item(reasoning_details=[second])
    assert _said(_stated(items[0]), _stated(*items)) == [
        {"reasoning_details": [first | {"index": 0}]},
        {"reasoning_details": [second | {"index": 1}]},
    ]


def test_plain_text_is_its_own_state():
    assert _said(ThinkingPart("Hm."), _stated(_item(field="reasoning", text="Hm."))) == [{"reasoning_content": "Hm."}]


def test_hidden_text_and_blocks_stand_in_their_own_fields():
    items = (
        _item(field="reasoning_opaque", text="x"),
        _item(thinking_blocks=[{"type": "redacted_thinking", "data": "y"}]),
    )
    assert _said(_stated(*items)) == [
        {"reasoning_opaque": "x"},
        {"thinking_blocks": [{"type": "redacted_thinking", "data": "y", "index": 0}]},
    ]


@pytest.mark.parametrize("first", ["state", "call"])
def test_the_state_of_a_call_stands_at_the_call(first: str):
    state = {"google": {"thought_signature": "x"}}
    outputs: list[StreamOutput] = [_stated(_item(toolCallId="call_1", extra_content=state)), CALL]
    _, document = _document(*(outputs if first == "state" else reversed(outputs)))
    assert document["choices"][0]["message"]["tool_calls"] == [
        {
            "id": "call_1",
            "type": "function",
            "function": {"name": "get_weather", "arguments": '{"city":"Zürich"}'},
            "extra_content": state,
        }
    ]


def test_the_state_of_other_protocols_is_sealed_with_its_place_and_its_origin():
    item = {"type": "reasoning", "encrypted_content": "x", "after": [1, False]}
    (delta,) = _said(_stated(item, origin="server/model"))
    (entry,) = delta["reasoning_details"]
    assert (entry["type"], entry["index"]) == ("reasoning.encrypted", 0)
    assert read_sealed(entry) == (item, {"origin": "server/model"})


def test_metadata_without_a_list_is_sealed_if_it_holds_state():
    assert _said(ThinkingPart("", None, {"id": "rs_1"})) == []
    (delta,) = _said(ThinkingPart("", None, {"signature": "x"}))
    assert read_sealed(delta["reasoning_details"][0]) == (None, {"signature": "x"})


@one_test_for(
    "metadata",
    [
        {"origin": "server/model", ITEMS: [_item(field="reasoning", text="Hm.")]},
        {"origin": "server/model", ITEMS: [{"encrypted_content": "x", "after": [1, True]}, {"encrypted_content": "y"}]},
        {ITEMS: [{"type": "reasoning", "text": "Hm.", "providerOptions": {"anthropic": {"signature": "x"}}}]},
        {ITEMS: [_item(reasoning_details=[{"type": "reasoning.encrypted", "data": "x", "index": 0}])]},
        {ITEMS: [_item(thinking_blocks=[{"type": "thinking", "thinking": "Hm.", "signature": "x", "index": 0}])]},
        {ITEMS: [_item(field="reasoning_content", text="Hm."), _item(field="reasoning_opaque", text="x")]},
        {ITEMS: [_item(field="reasoning_content", text="Hm."), _item(extra_content={"a": 1})]},
        {ITEMS: [_item(field="reasoning_content", text="Hm.")]},
        {ITEMS: [_item(field="reasoning_content", text="Hm."), _item(toolCallId="call_1", extra_content={"a": 1})]},
        {"signature": "x"},
    ],
    ids=[
        "origin",
        "two items",
        "other protocol",
        "entries",
        "blocks",
        "opaque",
        "state of the message",
        "text",
        "state of a call",
        "no list",
    ],
)
def test_state_that_a_client_gives_back_is_what_it_was(metadata: dict[str, Any]):
    _, document = _document(ThinkingPart("Hm."), ThinkingPart("", None, metadata), CALL)
    message = document["choices"][0]["message"]
    thinking, call = _asked(messages=[message]).messages[0].content
    assert isinstance(thinking, ThinkingPart)
    assert (thinking.value, {ITEMS: [], **(thinking.metadata or {})}, call) == ("Hm.", {ITEMS: [], **metadata}, CALL)


# ---- the end ----


@pytest.mark.parametrize(("reason", "word"), WORDS.items())
def test_the_finish_reason_is_a_word_of_the_reference(reason: UnifiedFinishReason, word: str):
    assert _finish_word(Finish(Outcome.COMPLETED, FinishReason(reason, "odd"))) == word


def test_an_answer_with_calls_finishes_with_calls_and_one_that_is_cut_says_so():
    assert _finish_word(COMPLETED, CALL) == "tool_calls"
    assert _finish_word(Finish(Outcome.INCOMPLETE, FinishReason(UnifiedFinishReason.LENGTH)), CALL) == "length"
    assert _finish_word(Finish(Outcome.INCOMPLETE, FinishReason(UnifiedFinishReason.OTHER, "turn_limit"))) == "length"
    filtered = Finish(Outcome.INCOMPLETE, FinishReason(UnifiedFinishReason.CONTENT_FILTER))
    assert _finish_word(filtered) == "content_filter"


def _finish_word(finish: Finish, *parts: StreamOutput) -> str | None:
    words = [choice["finish_reason"] for event in _write(*parts, finish) for choice in event["choices"]]
    assert not any(words[:-1])
    word: str | None = words[-1]
    return word


def test_usage_stands_in_a_chunk_of_its_own_where_it_is_asked_for():
    *said, last = _write(TextPart("Hi"), Finish(Outcome.COMPLETED, usage=USAGE), stream_options={"include_usage": True})
    assert (last["choices"], last["usage"]) == ([], TOLD)
    assert [event["usage"] for event in said] == [None] * len(said)


def test_usage_stands_beside_the_finish_reason_where_nobody_asks():
    *said, last = _write(TextPart("Hi"), Finish(Outcome.COMPLETED, usage=USAGE))
    assert (last["choices"][0]["finish_reason"], last["usage"]) == ("stop", TOLD)
    assert not any("usage" in event for event in said)


def test_usage_is_left_out_where_nobody_wants_it_or_nobody_knows_it():
    finish = Finish(Outcome.COMPLETED, usage=USAGE)
    assert not any("usage" in event for event in _write(finish, stream_options={"include_usage": False}))
    assert not any("usage" in event for event in _write(Finish(Outcome.COMPLETED, usage=Usage(10))))
    unknown = _write(Finish(Outcome.COMPLETED, usage=Usage(10)), stream_options={"include_usage": True})
    assert not any(event["usage"] for event in unknown)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (UpstreamFailureError("It broke.", provider_code="odd"), ("It broke.", "odd")),
        (TruncatedStreamError("OPEN"), (str(TruncatedStreamError("OPEN")), "server_error")),
        (None, ("it gave no reason", "server_error")),
    ],
    ids=["failed", "truncated", "without an error"],
)  # fmt: skip
def test_a_failed_answer_ends_with_an_error_and_without_a_finish_reason(error: Any, said: tuple[str, str]):
    *chunks, last = _write(TextPart("Hi"), Finish(Outcome.FAILED, usage=USAGE, error=error))
    assert last == {"error": {"message": said[0], "type": "server_error", "param": None, "code": said[1]}}
    assert not any(choice["finish_reason"] for event in chunks for choice in event["choices"])
    assert chunks[-1]["usage"] == TOLD


def test_the_kind_of_an_error_of_ours_gives_its_code():
    *_, last = _write(Finish(Outcome.FAILED, error=LanguageModelError.blocked("slow down")))
    assert last["error"]["code"] == "rate_limit_exceeded"


def test_nothing_is_written_behind_the_end():
    writer = ChatCompletionsWriter(_asked(), REPLY)
    writer.write(COMPLETED)
    with pytest.raises(AdapterUsageError):
        writer.write(TextPart("Hi"))


# ---- documents, frames, errors ----


def test_a_document_says_everything_once():
    source = DataPart.json({"url": "https://a.example", "title": "A"}, CITATION_MIME_TYPE)
    outputs = (
        ThinkingPart("H"),
        ThinkingPart("m."),
        TextPart("H"),
        TextPart("i"),
        DataPart(PNG, "image/png"),
        source,
        CALL,
    )
    status, document = _document(*outputs, Finish(Outcome.COMPLETED, usage=USAGE))
    (choice,) = document["choices"]
    message = choice["message"]
    assert (status, document["object"], choice["finish_reason"], document["usage"]) == (
        200,
        "chat.completion",
        "tool_calls",
        TOLD,
    )
    assert (message["role"], message["content"], message["reasoning_content"]) == ("assistant", "Hi", "Hm.")
    assert [call["function"]["arguments"] for call in message["tool_calls"]] == ['{"city":"Zürich"}']
    assert [list(entry) for entry in (*message["images"], *message["annotations"])] == [
        ["type", "image_url"],
        ["type", "url_citation"],
    ]


def test_a_document_without_text_says_null_beside_calls_and_nothing_else():
    assert _document(CALL)[1]["choices"][0]["message"]["content"] is None
    assert _document(COMPLETED)[1]["choices"][0]["message"] == {"role": "assistant", "content": "", "refusal": None}


def test_a_failed_document_is_an_http_error():
    status, document = _document(TextPart("Hi"), Finish(Outcome.FAILED, error=UpstreamFailureError("It broke.")))
    assert (status, document["error"]["message"]) == (500, "It broke.")


@one_test_for(
    ("status", "kind", "code"),
    [
        (400, "invalid_request_error", None),
        (401, "invalid_request_error", "invalid_api_key"),
        (404, "invalid_request_error", "not_found"),
        (418, "invalid_request_error", None),
        (429, "requests", "rate_limit_exceeded"),
        (503, "server_error", "server_error"),
    ],
)
def test_an_http_error_has_the_form_of_the_reference(status: int, kind: str, code: str | None):
    error = {"message": "No.", "type": kind, "param": None, "code": code}
    assert ChatCompletionsWriter.error(status, "No.") == {"error": error}


def test_a_frame_is_one_line_of_data():
    assert ChatCompletionsWriter.frame({"a": "ü\n"}) == 'data: {"a":"ü\\n"}\n\n'.encode()
    assert ChatCompletionsWriter.end_of_stream == b"data: [DONE]\n\n"


@given(answers())
def test_the_entries_of_every_list_are_numbered_from_zero_without_a_gap(outputs: list[StreamOutput]):
    numbers: dict[str, list[int]] = {}
    for delta in _deltas(_write(*outputs)):
        for name, listed in delta.items():
            if isinstance(listed, list):
                numbers.setdefault(name, []).extend(entry["index"] for entry in listed)
    for name, given_numbers in numbers.items():
        assert list(dict.fromkeys(given_numbers)) == list(range(max(given_numbers) + 1)), name
