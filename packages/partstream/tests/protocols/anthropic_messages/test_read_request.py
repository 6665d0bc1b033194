"""Requests of clients as VS Code's own values (docs/wires/anthropic-messages.md#what-claude-code-sends)."""

from base64 import b64encode
from typing import Any

import pytest

from conversation.samples import PDF, PNG
from partstream.conversation.provider_state import ITEMS, PLACE
from partstream.errors import InvalidRequestError
from partstream.lm.messages import ChatMessage, Role, Tool, ToolMode
from partstream.lm.outputs import InboundRequest
from partstream.lm.parts import DataPart, FilePart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.protocols.anthropic_messages.provider_state import UNSIGNED, block_item, call_item, sealed_text
from partstream.protocols.anthropic_messages.serve import READ_REQUEST
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.serve import WireRequest
from rows import one_test_for

MARK = {"cache_control": {"type": "ephemeral"}}
HI = {"role": "user", "content": "Hi"}
CALLER = {"type": "code_execution_20260120", "tool_id": "s1"}


def read(headers: dict[str, str] | None = None, **body: Any) -> InboundRequest:
    return READ_REQUEST.read(WireRequest("/messages", {"model": "claude", "messages": [HI], **body}, headers or {}))


def parts_of(role: str, *blocks: Any) -> tuple[Any, ...]:
    (message,) = read(messages=[{"role": role, "content": list(blocks)}]).messages
    return message.content


def base64(data: bytes, media_type: str) -> dict[str, Any]:
    return {"type": "base64", "media_type": media_type, "data": b64encode(data).decode()}


# What Claude Code 2.1 sends, cut to what differs from the simplest request.
CLAUDE_CODE = {
    "max_tokens": 32000,
    "stream": True,
    "system": [
        {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.330"},
        {"type": "text", "text": "You are an agent.", **MARK},
        {"type": "text", "text": "Be brief.", **MARK},
    ],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Hi", **MARK}]},
        {"role": "system", "content": [{"type": "text", "text": "A tool was added.", **MARK}]},
    ],
    "tools": [
        {"name": "Bash", "description": "Runs.", "input_schema": {"type": "object"}},
        {"name": "Later", "input_schema": {"type": "object"}, "defer_loading": True},
        {"type": "web_search_20250305", "name": "web_search"},
    ],
    "thinking": {"type": "adaptive", "display": "omitted"},
    "output_config": {"effort": "high"},
    "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    "metadata": {"user_id": '{"device_id": "d", "session_id": "s1"}'},
}


def test_a_first_request_of_claude_code_is_understood():
    asked = read({"anthropic-beta": "a,b"}, **CLAUDE_CODE)
    assert [(one.role, one.content) for one in asked.messages] == [
        (Role.SYSTEM, (TextPart("You are an agent."),)),
        (Role.SYSTEM, (TextPart("Be brief."),)),
        (Role.USER, (TextPart("Hi"),)),
        (Role.SYSTEM, (TextPart("A tool was added."),)),
    ]
    assert [tool.name for tool in asked.options.tools] == ["Bash"]  # no result has loaded the other one
    assert asked.options.model_options == {
        "max_tokens": 32000,
        "_conversationId": "s1",
        "user_id": CLAUDE_CODE["metadata"]["user_id"],
    }
    assert asked.options.model_configuration == {"reasoningEffort": "high"}
    assert asked.stream
    assert asked.unmapped == {
        "context_management": CLAUDE_CODE["context_management"],
        "system[].text (x-anthropic-billing-header)": 1,
    }
    assert [(tool.kind, tool.where) for tool in asked.hosted_tools] == [("web search", "tools[].web_search_20250305")]


def test_the_session_of_a_header_names_the_conversation():
    assert read({"x-claude-code-session-id": "s2"}).options.model_options["_conversationId"] == "s2"


def test_the_user_says_texts_images_documents_and_results():
    assert parts_of(
        "user",
        {"type": "tool_result", "tool_use_id": "c1", "content": "yes", "is_error": True, **MARK},
        {"type": "tool_result", "tool_use_id": "c2"},
        {
            "type": "tool_result",
            "tool_use_id": "c3",
            "content": [{"type": "text", "text": "a"}, {"type": "image", "source": base64(PNG, "image/png")}],
        },
        {"type": "text", "text": "And?"},
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
        {"type": "document", "source": base64(PDF, "application/pdf")},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Words"}},
    ) == (
        ToolResultPart("c1", (TextPart("yes"),), is_error=True),
        ToolResultPart("c2"),
        ToolResultPart("c3", (TextPart("a"), DataPart(PNG, "image/png"))),
        TextPart("And?"),
        DataPart(b"https://example.com/a.png", "text/uri-list;type=image/*"),
        DataPart(PDF, "application/pdf"),
        DataPart(b"Words", "text/plain"),
    )


def test_what_has_no_place_is_counted():
    blocks = [
        {"type": "image", "source": {"type": "file", "file_id": "f"}},
        {"type": "document", "title": "T", "source": {"type": "text", "data": "Words"}},
        {"type": "search_result", "title": "T", "source": "s", "content": [{"type": "text", "text": "found"}]},
        {"type": "container_upload", "file_id": "f"},
    ]
    asked = read(messages=[{"role": "user", "content": blocks}], speed="fast", service_tier="auto")
    document = FilePart(b"Words", "text/plain", about={"title": "T"})
    assert asked.messages[0].content == (document, TextPart("T\ns\nfound"))
    assert asked.unmapped == {
        "speed": "fast",
        "content[].image.source.file": 1,
        "content[].search_result (as text)": 1,
        "content[].container_upload": 1,
    }


def test_thinking_and_the_servers_blocks_come_back_at_their_places():
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    redacted = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    parts = parts_of(
        "assistant",
        thought,
        {"type": "text", "text": "Well"},
        {**redacted, **MARK},
        {
            "type": "tool_use",
            "id": "c1",
            "name": "look_up",
            "input": {"a": 1},
            "caller": {"type": "code_execution_20260120", "tool_id": "s1"},
        },
        search,
    )
    items = [
        {**block_item(thought), PLACE: [0, 0]},
        {**block_item(redacted), PLACE: [0, 4]},
        {**call_item("c1", {"caller": CALLER}), PLACE: [0, 4]},
        {**block_item(search), PLACE: [1, 0]},
    ]
    assert parts == (
        ThinkingPart("Hm.", None, {ITEMS: items[:1]}),
        TextPart("Well"),
        ThinkingPart("", None, {ITEMS: items[:2]}),
        ThinkingPart("", None, {ITEMS: items[:3]}),
        ToolCallPart("c1", "look_up", {"a": 1}),
        ThinkingPart("", None, {ITEMS: items}),
    )


@pytest.mark.parametrize("kind", ["thinking", "redacted_thinking"])
def test_sealed_state_is_what_it_was_in_either_block(kind: str):
    item = {"type": "reasoning", "encrypted_content": "e"}
    sealed = sealed_text({**item, PLACE: [7, 7]}, {ITEMS: [item], "origin": "up/m"})
    block = (
        {"type": kind, "thinking": "", "signature": sealed} if kind == "thinking" else {"type": kind, "data": sealed}
    )
    assert parts_of("assistant", block, {"type": "text", "text": "Well"})[0] == ThinkingPart(
        "", None, {"origin": "up/m", ITEMS: [{**item, PLACE: [0, 0]}]}
    )


def test_thinking_without_state_is_its_text():
    thought = {"type": "thinking", "thinking": "Hm.", "signature": UNSIGNED}
    assert parts_of("assistant", thought, {"type": "text", "text": "Well"})[0] == ThinkingPart("Hm.")


@one_test_for(
    ("fields", "effort", "options"),
    [
        ({}, None, {}),
        ({"thinking": {"type": "disabled"}, "output_config": {"effort": "high"}}, "none", {}),
        ({"thinking": {"type": "adaptive"}}, "high", {}),
        ({"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}, "low", {}),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 2048, "display": "summarized"}},
            "low",
            {"budget_tokens": 2048},
        ),
        (
            {"output_config": {"format": {"type": "json_schema"}}},
            None,
            {"output_config": {"format": {"type": "json_schema"}}},
        ),
        ({"temperature": 0.5, "stop_sequences": ["."]}, None, {"temperature": 0.5, "stop_sequences": ["."]}),
    ],
)
def test_thinking_becomes_an_effort_and_other_choices_options(
    fields: dict[str, Any], effort: str | None, options: dict[str, Any]
):
    read_options = read(**fields).options
    assert read_options.model_options == options
    assert read_options.model_configuration.get("reasoningEffort") == effort


B = Tool("b", "B.", None)


@one_test_for(
    ("choice", "names", "mode"),
    [
        (None, ["a", "b"], ToolMode.AUTO),
        ({"type": "auto"}, ["a", "b"], ToolMode.AUTO),
        ({"type": "any"}, ["a", "b"], ToolMode.REQUIRED),
        ({"type": "tool", "name": "b"}, ["b"], ToolMode.REQUIRED),
        ({"type": "none"}, [], ToolMode.AUTO),
    ],
)
def test_the_choice_of_tools_is_understood(choice: Any, names: list[str], mode: ToolMode):
    tools = [{"name": "a", "input_schema": {"type": "object"}}, {"name": "b", "description": "B.", "type": "custom"}]
    options = read(tools=tools, tool_choice=choice).options
    assert ([tool.name for tool in options.tools], options.tool_mode) == (names, mode)
    assert {tool.name: tool for tool in options.tools}.get("b", B) == B


@one_test_for(
    ("body", "where"),
    [
        ({"messages": None}, "messages"),
        ({"messages": [{"role": "tool", "content": "Hi"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{"type": "tool_result"}]}]}, "messages[0].content[0].tool_use_id"),
        ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, "messages[0].content[0].source"),
        (
            {"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "c"}]}]},
            "messages[0].content[0].name",
        ),
        ({"system": 7}, "system"),
        ({"stream": "yes"}, "stream"),
        ({"tools": {}}, "tools"),
        ({"tool_choice": {"type": "some"}}, "tool_choice.type"),
        ({"thinking": "on"}, "thinking"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_its_place(body: dict[str, Any], where: str):
    with pytest.raises(InvalidRequestError) as caught:
        read(**body)
    assert caught.value.where == where


def test_a_message_of_nothing_is_no_message():
    assert read(messages=[HI, {"role": "assistant", "content": ""}]).messages == (ChatMessage.user("Hi"),)


@pytest.mark.parametrize("thread", [{"type": "create"}, {"type": "continue", "previous_message_id": "msg_1"}, 7])
def test_a_thread_is_refused_in_the_words_that_make_official_packages_send_everything(thread: Any):
    with pytest.raises(RefusedRequestError) as refused:
        read(thread=thread)
    assert refused.value.param == "thread"
    assert refused.value.fields["details"] == {
        "error_code": "thread_unsupported_request",
        "unsupported": ["thread"],
    }


def test_no_thread_is_no_wish():
    assert read(thread=None).unmapped == {}
