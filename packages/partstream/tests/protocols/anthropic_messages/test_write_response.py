"""An answer as Anthropic's own server gives it: order, blocks, signatures, tokens, errors.

Source: docs/wires/anthropic-messages.md#order-of-blocks, docs/wires/anthropic-messages.md#usage and
docs/wires/anthropic-messages.md#errors.
"""

import json
from typing import Any

import pytest

from partstream.conversation.provider_state import ITEMS, open_state
from partstream.errors import LanguageModelError, UpstreamFailureError, UpstreamHTTPError
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import Finish, InboundRequest, Outcome, Reply, StreamOutput
from partstream.lm.parts import DataPart, FinishReason, TextPart, ThinkingPart, ToolCallPart, UnifiedFinishReason, Usage
from partstream.protocols.anthropic_messages.provider_state import UNSIGNED, block_item, call_item, container_item
from partstream.protocols.anthropic_messages.serve import MessagesResponseWriter

STOPPED = Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.STOP), Usage(100, 20, 120, 60, 5, {}, 30))
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
CITATION = "application/vnd.vscode.citation+json"


def written(*outputs: StreamOutput, size: int | None = None, **body: Any) -> list[dict[str, Any]]:
    asked = InboundRequest("claude", (ChatMessage.user("Hi"),), RequestOptions(), body=body)
    writer = MessagesResponseWriter(asked, Reply("identity", 1, size))
    return [event for output in outputs for event in writer.write(output)]


def content(*outputs: StreamOutput, **body: Any) -> Any:
    status, message = MessagesResponseWriter.document(written(*outputs, STOPPED, **body))
    assert status == 200
    return message["content"]


def said(events: list[dict[str, Any]]) -> list[str]:
    """Each event by its type, blocks and deltas by theirs."""
    inner = {"content_block_start": "content_block", "content_block_delta": "delta"}
    return [event[inner[event["type"]]]["type"] if event["type"] in inner else event["type"] for event in events]


def test_blocks_come_one_after_the_other_between_start_and_stop():
    events = written(
        ThinkingPart("Hm."),
        TextPart("Let me "),
        TextPart("look."),
        ToolCallPart("c1", "look_up", {"word": "a"}),
        ToolCallPart("c2", "look_up", {}),
        STOPPED,
        size=4,
    )
    assert said(events) == [
        "message_start",
        *("thinking", "thinking_delta", "signature_delta", "content_block_stop"),
        *("text", "text_delta", "text_delta", "content_block_stop"),
        *("tool_use", "input_json_delta", *["input_json_delta"] * 3, "content_block_stop"),
        *("tool_use", "input_json_delta", "input_json_delta", "content_block_stop"),
        *("message_delta", "message_stop"),
    ]
    starts = [event for event in events if event["type"] == "content_block_start"]
    assert [event["index"] for event in starts] == [0, 1, 2, 3]
    assert starts[0]["content_block"] == {"type": "thinking", "thinking": "", "signature": ""}
    assert starts[2]["content_block"] == {"type": "tool_use", "id": "c1", "name": "look_up", "input": {}}
    assert [event["delta"]["partial_json"] for event in events if "partial_json" in event.get("delta", {})] == [
        *("", '{"wo', 'rd":', '"a"}'),
        *("", "{}"),
    ]


def test_a_document_has_every_field_that_the_reference_demands():
    _, message = MessagesResponseWriter.document(written(TextPart("Hi"), ToolCallPart("c1", "look_up", {}), STOPPED))
    text, call = message["content"]
    assert text == {"type": "text", "text": "Hi", "citations": None}
    assert call == {"type": "tool_use", "id": "c1", "name": "look_up", "input": {}}
    assert {"stop_details", "container"} <= message.keys()
    counted = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    named = ("cache_creation", "inference_geo", "output_tokens_details", "server_tool_use", "service_tier")
    assert message["usage"].keys() == {*counted, *named}


def test_every_event_is_named_in_its_frame_and_in_its_data():
    for event in written(TextPart("Hi"), STOPPED):
        name, data, *rest = MessagesResponseWriter.frame(event).decode().split("\n")
        assert rest == ["", ""]
        assert name == f"event: {event['type']}"
        assert json.loads(data.removeprefix("data: ")) == event


def test_the_prompt_is_split_into_what_the_cache_gave_and_took_and_the_rest():
    start, *_, delta, _stop = written(TextPart("Hi"), STOPPED)
    assert start["message"]["usage"]["output_tokens"] == 0
    assert delta["usage"] == {
        "input_tokens": 10,
        "cache_creation_input_tokens": 30,
        "cache_read_input_tokens": 60,
        "output_tokens": 20,
        "output_tokens_details": {"thinking_tokens": 5},
    }


@pytest.mark.parametrize(
    ("outcome", "reason", "word"),
    [
        (Outcome.COMPLETED, None, "end_turn"),
        (Outcome.COMPLETED, FinishReason(UnifiedFinishReason.STOP, "stop"), "end_turn"),
        (Outcome.COMPLETED, FinishReason(UnifiedFinishReason.STOP, "stop_sequence"), "stop_sequence"),
        (Outcome.INCOMPLETE, FinishReason(UnifiedFinishReason.LENGTH, "length"), "max_tokens"),
        (Outcome.INCOMPLETE, FinishReason(UnifiedFinishReason.CONTENT_FILTER, "content_filter"), "refusal"),
        (
            Outcome.INCOMPLETE,
            FinishReason(UnifiedFinishReason.LENGTH, "model_context_window_exceeded"),
            "model_context_window_exceeded",
        ),
        (Outcome.INCOMPLETE, FinishReason(UnifiedFinishReason.OTHER, "turn_limit"), "max_tokens"),
    ],
)
def test_the_stop_reason_is_one_of_the_wire(outcome: Outcome, reason: FinishReason | None, word: str):
    delta = written(Finish(outcome, reason))[-2]
    assert delta["delta"] == {"stop_reason": word, "stop_sequence": None}


def test_an_answer_with_calls_stops_for_them():
    finish = Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.TOOL_CALLS, "tool_calls"))
    assert written(ToolCallPart("c1", "look_up", {}), finish)[-2]["delta"]["stop_reason"] == "tool_use"


@pytest.mark.parametrize(
    ("error", "status", "kind", "message"),
    [
        (UpstreamFailureError("It broke.", provider_code="server_error"), 500, "api_error", "It broke."),
        (UpstreamFailureError("Busy.", provider_code="overloaded_error"), 529, "overloaded_error", "Busy."),
        (UpstreamHTTPError(429, provider_message="Slow down."), 429, "rate_limit_error", "Slow down."),
        (LanguageModelError.no_permissions("Not you."), 403, "permission_error", "Not you."),
    ],
)
def test_a_failure_is_an_error_of_the_wire_and_nothing_follows(
    error: LanguageModelError, status: int, kind: str, message: str
):
    failed = Finish(Outcome.FAILED, FinishReason(UnifiedFinishReason.ERROR), error=error)
    events = written(TextPart("This begins"), failed)
    assert events[-1] == {"type": "error", "error": {"type": kind, "message": message}}
    assert said(events)[-2:] == ["content_block_stop", "error"]
    told, document = MessagesResponseWriter.document(events)
    assert (told, document["type"], document["error"]) == (status, "error", {"type": kind, "message": message})


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "invalid_request_error"), (402, "billing_error"), (418, "invalid_request_error"), (503, "api_error")],
)
def test_an_http_error_has_the_type_of_its_status(status: int, kind: str):
    document = MessagesResponseWriter.error(status, "No.")
    assert document["type"] == "error"
    assert document["error"] == {"type": kind, "message": "No."}
    assert document["request_id"].startswith("req_")


# ---- state of thinking ----


def test_thinking_of_this_wire_keeps_its_signature():
    metadata = {ITEMS: [block_item(THOUGHT)]}
    assert content(ThinkingPart("H"), ThinkingPart("m."), ThinkingPart("", None, metadata)) == [THOUGHT]


def test_state_of_another_wire_is_sealed_into_the_signature_with_who_gave_it():
    item = {"type": "reasoning", "encrypted_content": "b3BhcXVl"}
    (thought,) = content(ThinkingPart("Hm."), ThinkingPart("", None, {ITEMS: [item], "origin": "up/m"}))
    assert thought["thinking"] == "Hm."
    assert open_state(thought["signature"]) == (item, {"origin": "up/m"})


def test_state_without_thinking_is_sealed_into_a_redacted_block():
    (block,) = content(ThinkingPart("", None, {"origin": "up/m", "encrypted_content": "e"}))
    assert block["type"] == "redacted_thinking"
    assert open_state(block["data"]) == (None, {"origin": "up/m", "encrypted_content": "e"})


def test_a_signature_of_another_text_is_sealed():
    """Text that began while the thought was open closed its block (docs/wires/anthropic-messages.md#servers)."""
    blocks = content(ThinkingPart("Hm."), TextPart("Well"), ThinkingPart("", None, {ITEMS: [block_item(THOUGHT)]}))
    assert [block["type"] for block in blocks] == ["thinking", "text", "redacted_thinking"]
    assert blocks[0]["signature"] == UNSIGNED
    assert open_state(blocks[2]["data"]) == (block_item(THOUGHT), {})


def test_thinking_without_state_is_signed_as_such():
    (thought,) = content(ThinkingPart("Hm."))
    assert thought == {"type": "thinking", "thinking": "Hm.", "signature": UNSIGNED}


def test_two_thoughts_are_two_blocks():
    assert [block["thinking"] for block in content(ThinkingPart("a", "1"), ThinkingPart("b", "2"))] == ["a", "b"]


def test_hidden_thinking_is_signed_and_empty():
    (thought,) = content(
        ThinkingPart("Hm."),
        ThinkingPart("", None, {ITEMS: [block_item(THOUGHT)]}),
        thinking={
            "type": "adaptive",
            "display": "omitted",
        },
    )
    assert thought == {"type": "thinking", "thinking": "", "signature": "c2ln"}


def test_blocks_of_the_servers_own_tools_come_whole_and_stream_what_streams():
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "a"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    summary = {"type": "compaction", "content": "A summary."}
    items = [block_item(search), block_item(found), block_item(summary), container_item({"id": "container_1"})]
    events = written(ThinkingPart("", None, {ITEMS: items}), STOPPED)
    assert MessagesResponseWriter.document(events)[1]["content"] == [search, found, summary]
    assert said(events)[1:4] == ["server_tool_use", "input_json_delta", "input_json_delta"]
    assert events[-2]["delta"]["container"] == {"id": "container_1"}


def test_the_further_fields_of_a_call_stand_in_its_block():
    caller = {"caller": {"type": "direct"}}
    (call,) = content(ThinkingPart("", None, {ITEMS: [call_item("c1", caller)]}), ToolCallPart("c1", "look_up", {}))
    assert call == {"type": "tool_use", "id": "c1", "name": "look_up", "input": {}, **caller}


# ---- data ----


def test_a_source_is_a_citation_of_its_text_and_other_data_has_no_place():
    source = DataPart.json(
        {"sourceId": "s", "url": "https://example.com", "title": "A", "citedText": "words"}, CITATION
    )
    (text,) = content(TextPart("Hi"), source, DataPart(b"\x89PNG", "image/png"))
    assert text["citations"] == [
        {
            "type": "web_search_result_location",
            "url": "https://example.com",
            "title": "A",
            "cited_text": "words",
            "encrypted_index": "",
        }
    ]
