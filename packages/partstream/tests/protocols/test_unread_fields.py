"""A field of a request that nothing reads is counted by its place in the client's words, on every wire."""

from __future__ import annotations
from typing import Any

from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.serve import WireRequest
from rows import one_test_for

R, C, M, G, O = "openresponses", "chat-completions", "anthropic-messages", "gemini", "ollama"  # noqa: E741


def _asked(*parts: dict[str, Any], **body: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}, *parts]}], **body}


UNREAD: list[tuple[str, dict[str, Any], list[str]]] = [
    (R, {"input": [{"role": "user", "content": "Hi", "phase": "commentary"}]}, ["input[].phase"]),
    (R, {"input": [{"type": "message", "role": "user", "content": "Hi", "id": "msg_1", "status": "completed"}]}, []),
    (
        R,
        {"input": "Hi", "tools": [{"type": "function", "name": "f", "parameters": {}, "defer_loading": True}]},
        ["tools[].defer_loading"],
    ),
    (C, _asked({"type": "text", "text": "!", "shade": 1}), ["messages[].content[].shade"]),
    (
        C,
        _asked({"type": "image_url", "image_url": {"url": "data:,a", "crop": [1]}}),
        ["messages[].content[].image_url.crop"],
    ),
    (C, _asked({"type": "text", "text": "!", "cache_control": {"type": "ephemeral"}, "shade": None}), []),
    (C, _asked({"type": "hologram", "shade": 1}), ["content[].hologram"]),
    (
        C,
        _asked(tools=[{"type": "function", "function": {"name": "f", "examples": [{}]}}]),
        ["tools[].function.examples"],
    ),
    (
        M,
        _asked({"type": "document", "source": {"type": "url", "url": "data:,a", "pages": "1-2"}}),
        ["messages[].content[].source.pages"],
    ),
    (M, _asked(thinking={"type": "between_tools"}), ["thinking.type"]),
    (M, _asked(metadata={"user_id": "u1", "team": "a"}), ["metadata.team"]),
    (M, _asked(tools=[{"name": "f", "input_schema": {}, "input_examples": [{}]}]), ["tools[].input_examples"]),
    (
        G,
        {"contents": [{"parts": [{"inline_data": {"data": "AAAA", "mime_type": "image/png", "extra_name": "a"}}]}]},
        ["contents[].parts[].inlineData.extraName"],
    ),
    (
        G,
        {"contents": [{"parts": [{"text": "Hi"}]}], "tools": [{"fileSearch": {}}], "store": True},
        ["store", "tools[].fileSearch"],
    ),
    (O, {"messages": [{"role": "user", "content": "Hi", "mood": "good"}]}, ["messages[].mood"]),
    (
        "gemini-interactions",
        {
            "input": [
                {"type": "user_input", "content": [{"type": "text", "text": "Hi", "annotations": [], "tone": 1}]}
            ],
            "tools": [{"type": "function", "name": "f", "defer_loading": True}],
        },
        ["input[].content[].tone", "tools[].defer_loading"],
    ),
    (
        "ag-ui",
        {
            "messages": [{"role": "user", "mood": "good", "content": [{"type": "text", "text": "Hi", "tone": 1}]}],
            "tools": [{"name": "f", "description": "", "parameters": {}, "examples": [1]}],
            "context": [{"description": "d", "value": "v", "weight": 1}],
            "forwardedProps": {"anything": {"at": "all"}},
        },
        ["context[].weight", "messages[].content[].tone", "messages[].mood", "model", "tools[].examples"],
    ),
    # What only another role may say.
    (
        C,
        {"messages": [{"role": "user", "content": "Hi", "tool_calls": [{"id": "a"}], "reasoning_content": "hm"}]},
        ["messages[].reasoning_content", "messages[].tool_calls"],
    ),
    (C, {"messages": [{"role": "assistant", "content": "Hi", "tool_call_id": "a"}]}, ["messages[].tool_call_id"]),
    (C, {"messages": [{"role": "user", "content": "Hi", "tool_calls": [], "refusal": None}]}, []),
    (C, _asked(stream_options={"include_usage": True, "chatty": True}), ["stream_options.chatty"]),
    (O, {"messages": [{"role": "user", "content": "Hi", "thinking": "hm"}]}, ["messages[].thinking"]),
]


@one_test_for(("wire", "body", "names"), UNREAD)
def test_a_field_that_nothing_reads_is_counted_by_its_place(wire: str, body: dict[str, Any], names: list[str]) -> None:
    reader = PROTOCOLS[wire].read_request
    assert reader is not None
    asked = reader().read(WireRequest("/models/m:generateContent", {"model": "m", **body}))
    assert sorted(asked.dropped) == names


def test_objects_of_another_form_than_expected_are_left_to_their_reader() -> None:
    reader = PROTOCOLS[M].read_request
    assert reader is not None
    body = _asked(metadata={"user_id": ""}, tools=[{"name": "f", "type": None}])
    assert reader().read(WireRequest("/messages", body)).dropped == ()
