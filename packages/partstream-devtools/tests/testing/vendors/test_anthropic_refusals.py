"""What a served Anthropic refuses, in the words of the real one (docs/wires/anthropic-messages.md)."""

from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partstream.errors import InvalidRequestError
from partstream.protocols.anthropic_messages.serve import READ_REQUEST
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.serve import WireRequest
from partstream_devtools.testing.vendors.anthropic_messages import VENDOR
from rows import one_test_for

HEADERS = {"anthropic-version": "2023-06-01", "x-api-key": "made-up"}
MARK = {"type": "ephemeral"}
HI = {"role": "user", "content": "Hi"}
TOOL = {"name": "look_up", "input_schema": {"type": "object"}}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
NO_PREFILL = "This model does not support assistant message prefill. The conversation must end with a user message."
UNANSWERED = (
    "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block "
    "must have a corresponding `tool_result` block in the next message."
)


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def text(value: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": value, **fields}


def call(call_id: str = "c1", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "look_up", "input": {}, **fields}


def result(call_id: str = "c1", content: Any = "yes", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def searched(call_id: str = "srvtoolu_1") -> dict[str, Any]:
    return {"type": "server_tool_use", "id": call_id, "name": "web_search", "input": {}}


def found(call_id: str = "srvtoolu_1") -> dict[str, Any]:
    return {"type": "web_search_tool_result", "tool_use_id": call_id, "content": []}


def refusal(body: dict[str, Any], headers: dict[str, str] = HEADERS) -> str | None:
    """The words of the refusal; None where the request is taken."""
    request = WireRequest(
        "/messages", {"model": "claude-fable-next", "max_tokens": 4096, "messages": [HI], **body}, headers
    )
    READ_REQUEST.read(request)
    try:
        VENDOR.refuse(request)
    except RefusedRequestError as error:
        return str(error)
    return None


@one_test_for(
    ("messages", "words"),
    [
        ([], "messages: at least one message is required"),
        ([assistant(text("Hi"))], 'messages: first message must use the "user" role'),
        ([HI, assistant(text("Well"))], NO_PREFILL),
        ([user()], "messages.0: all messages must have non-empty content"),
        ([user(text(""))], "messages: text content blocks must be non-empty"),
        ([user(text(" \n"))], "messages: text content blocks must contain non-whitespace text"),
        ([{"role": "user", "content": " "}], "messages: text content blocks must contain non-whitespace text"),
        (
            [HI, assistant(text("Well"), THOUGHT), HI],
            "messages.1: The final block in an assistant message cannot be `thinking`.",
        ),
        (
            [HI, assistant({"type": "thinking", "thinking": "Hm."}, text("Well")), HI],
            "messages.1.content.0.thinking.signature: Field required",
        ),
        ([HI, assistant(call()), HI], UNANSWERED.format("c1")),
        ([HI, assistant(call("c1"), call("c2")), user(result("c1"))], UNANSWERED.format("c2")),
        ([HI, assistant(call()), user(text("Before"), result())], UNANSWERED.format("c1")),
        (
            [HI, user(result())],
            (
                "messages.1.content.0: unexpected `tool_use_id` found in `tool_result` blocks: c1. Each `tool_result` "
                "block must have a corresponding `tool_use` block in the previous message."
            ),
        ),
        (
            [HI, assistant(call()), user(result(), result())],
            "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with",
        ),
        (
            [HI, assistant(call("functions.read:0")), user(result("functions.read:0"))],
            "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        ),
        (
            [HI, assistant(call()), user(result()), assistant(call()), user(result())],
            "messages: `tool_use` ids must be unique",
        ),
        (
            [HI, assistant(searched(), call()), user(result(), text("And?"))],
            (
                "messages.1.content.0: `web_search` tool use with id `srvtoolu_1` was found without a corresponding "
                "`web_search_tool_result` block"
            ),
        ),
        (
            [HI, assistant(found(), text("Well")), HI],
            "messages.1.content.0: unexpected `tool_use_id` found in `web_search_tool_result` blocks: srvtoolu_1.",
        ),
        ([{"role": "system", "content": "Be brief."}, HI], 'messages: first message must use the "user" role'),
    ],
)
def test_messages_are_refused_as_the_real_server_refuses_them(messages: list[Any], words: str):
    said = refusal({"messages": messages})
    assert said is not None
    assert said.startswith(words)


@one_test_for(
    "messages",
    [
        [HI],
        [HI, HI],
        [HI, assistant(THOUGHT, text("Well"), call("c1"), call("c2")), user(result("c2"), result("c1"), text("And?"))],
        [HI, assistant(call("c1")), user(result("c1")), user(text("And?"))],
        [HI, assistant(call("c1")), user(result("c1", [], is_error=True))],
        [HI, assistant(searched(), found(), text("Well")), HI],
        [HI, assistant(searched(), call()), user(result()), assistant(found(), text("Well")), HI],
        [HI, assistant(text("Well"), searched())],
        [HI, {"role": "system", "content": "Be brief."}],
    ],
)
def test_messages_that_the_real_server_takes_are_taken(messages: list[Any]):
    assert refusal({"messages": messages}) is None


@one_test_for(
    ("model", "body", "words"),
    [
        ("claude-opus-4-7", {"thinking": {"type": "enabled", "budget_tokens": 2048}}, '"thinking.type.enabled" is not'),
        ("claude-fable-5", {"thinking": {"type": "disabled"}}, '"thinking.type.disabled" is not supported'),
        ("claude-haiku-4-5", {"thinking": {"type": "adaptive"}}, "adaptive thinking is not supported on this model"),
        (
            "claude-opus-4-6",
            {"thinking": {"type": "adaptive", "budget_tokens": 2048}},
            "thinking.adaptive.budget_tokens",
        ),
        (
            "claude-opus-4-6",
            {"thinking": {"type": "disabled", "display": "omitted"}},
            "thinking.disabled.display: Extra",
        ),
        ("claude-opus-4-6", {"thinking": {"type": "enabled", "budget_tokens": 1000}}, "thinking.enabled.budget_tokens"),
        ("claude-opus-4-6", {"thinking": {"type": "enabled", "budget_tokens": 4096}}, "`max_tokens` must be greater"),
        ("claude-haiku-4-5", {"output_config": {"effort": "low"}}, "This model does not support the effort parameter."),
        ("claude-opus-4-6", {"output_config": {"effort": "xhigh"}}, "This model does not support effort level 'xhigh'"),
        ("claude-opus-4-7", {"temperature": 0.5}, "`temperature` is deprecated for this model."),
        (
            "claude-opus-4-6",
            {"temperature": 0.5, "thinking": {"type": "adaptive"}},
            "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.",
        ),
        (
            "claude-opus-4-6",
            {
                "thinking": {"type": "enabled", "budget_tokens": 2048},
                "tools": [TOOL],
                "tool_choice": {"type": "any"},
            },
            "Thinking may not be enabled when tool_choice forces tool use.",
        ),
        (
            "claude-sonnet-4-5",
            {
                "thinking": {"type": "enabled", "budget_tokens": 2048},
                "messages": [HI, assistant(call()), user(result())],
            },
            "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When",
        ),
        (
            "claude-sonnet-5",
            {"messages": [HI, {"role": "system", "content": "Be brief."}]},
            'messages: Unexpected role "system".',
        ),
        (
            "claude-sonnet-4-5",
            {"messages": [HI, assistant(text("Well "))]},
            "messages: final assistant content cannot end with trailing whitespace",
        ),
    ],
)
def test_what_a_model_does_not_take_is_refused(model: str, body: dict[str, Any], words: str):
    said = refusal({"model": model, **body})
    assert said is not None
    assert said.startswith(words)


@one_test_for(
    ("body", "words"),
    [
        (
            {"tools": [{**TOOL, "name": f"t{number}", "cache_control": MARK} for number in range(5)]},
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
        (
            {
                "cache_control": MARK,
                "system": [text("Be brief.", cache_control=MARK)],
                "messages": [user(*(text("Hi", cache_control=MARK) for _ in range(3)))],
            },
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
        (
            {"messages": [HI, assistant({**THOUGHT, "cache_control": MARK}, text("Well")), HI]},
            "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
        ),
        (
            {"messages": [HI, assistant(call()), user(result(content=[text("yes", cache_control=MARK)]))]},
            "messages.2.content.0.tool_result.content: cache_control cannot be set inside a tool result",
        ),
        (
            {"tools": [TOOL, {**TOOL, "name": "later", "defer_loading": True, "cache_control": MARK}]},
            "tools.1: cache_control cannot be set for a tool with defer_loading=true",
        ),
        (
            {
                "system": [text("Be brief.", cache_control=MARK)],
                "messages": [user(text("Hi", cache_control={**MARK, "ttl": "1h"}))],
            },
            "A ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.",
        ),
        ({"tools": [TOOL, TOOL]}, "tools: Tool names must be unique."),
        ({"tools": [{**TOOL, "name": "look.up"}]}, "tools.0.custom.name: String should match pattern"),
        ({"tools": [{"name": "a", "input_schema": {}}]}, "tools.0.custom.input_schema.type: Field required"),
        (
            {"tools": [{"name": "a", "input_schema": {"type": "object", "anyOf": []}}]},
            "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
        ),
        ({"tool_choice": {"type": "auto"}}, "tool_choice may only be specified while providing tools."),
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"max_tokens": 0, "stream": True}, "max_tokens: Input should be greater than or equal to 1"),
        ({"seed": 7}, "seed: Extra inputs are not permitted"),
        ({"context_management": {"edits": []}}, "context_management: Extra inputs are not permitted"),
    ],
)
def test_fields_tools_and_marks_are_refused_as_the_real_server_refuses_them(body: dict[str, Any], words: str):
    said = refusal(body)
    assert said is not None
    assert said.startswith(words)


def test_a_mark_on_an_empty_text_is_refused_for_the_text():
    assert refusal({"messages": [user(text("", cache_control=MARK))]}) == (
        "messages: text content blocks must be non-empty"
    )


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({"x-api-key": "k"}, "anthropic-version: header is required"),
        ({**HEADERS, "anthropic-version": "2024-10-22"}, 'anthropic-version: "2024-10-22" is not a valid version'),
        ({**HEADERS, "authorization": "Bearer k"}, "invalid x-api-key"),
        ({**HEADERS, "anthropic-beta": "made-up"}, "Unexpected value(s) `made-up` for the `anthropic-beta` header."),
    ],
)
def test_headers_are_refused_as_the_real_server_refuses_them(headers: dict[str, str], words: str):
    said = refusal({}, headers)
    assert said is not None
    assert said.startswith(words)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"temperature": 1}, "temperature: Extra inputs are not permitted"),
        (
            {"messages": [HI, assistant({"type": "document", "source": {}}, text("Ho")), HI]},
            "messages.1.content.0: Input tag 'document' found",
        ),
    ],
)
def test_the_newer_version_refuses_what_the_older_one_takes(body: dict[str, Any], words: str):
    assert refusal(body, {**HEADERS, "anthropic-version": "2026-10-21"}) == words
    assert refusal(body) is None


def test_a_beta_opens_its_field_and_edits_have_their_order():
    headers = {**HEADERS, "anthropic-beta": "context-management-2025-06-27, compact-2026-01-12"}
    clears = {"type": "clear_thinking_20251015", "keep": "all"}
    tools = {"type": "clear_tool_uses_20250919"}
    early = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 1000}}
    assert refusal({"context_management": {"edits": [clears, tools]}}, headers) is None
    said = refusal({"context_management": {"edits": [tools, clears]}}, headers)
    assert said == "context_management.edits: `clear_thinking_20251015` strategy must be the first one in the list"
    said = refusal({"context_management": {"edits": [early]}}, headers)
    assert said == "context_management.edits.0.trigger.value: Input should be greater than or equal to 50000"


JUNK = st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3) | st.just([7]) | st.just({"type": "x"})
WHOLE: dict[str, Any] = {
    "system": [text("Be brief.", cache_control=MARK)],
    "tools": [TOOL, {"type": "web_search_20250305", "name": "web_search"}],
    "tool_choice": {"type": "tool", "name": "look_up"},
    "thinking": {"type": "adaptive", "display": "omitted"},
    "output_config": {"effort": "high"},
    "temperature": 1,
    "context_management": {"edits": [{"type": "compact_20260112", "trigger": {"value": 60_000}}]},
    "messages": [
        user(
            text("Hi", cache_control=MARK), {"type": "image", "source": {"type": "url", "url": "https://example.com"}}
        ),
        assistant(THOUGHT, searched(), found(), text("Well"), call()),
        user(result(content=[text("yes")], cache_control=MARK)),
    ],
}


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, one in inside for place in _places(one, (*path, key)))]


@given(st.sampled_from(_places(WHOLE)[1:]), JUNK)
@settings(max_examples=150)
def test_a_request_with_junk_anywhere_is_taken_or_refused_and_nothing_else(path: tuple[Any, ...], junk: Any):
    body = deepcopy(WHOLE)
    place = body
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = junk
    headers = {**HEADERS, "anthropic-beta": "compact-2026-01-12"}
    with suppress(InvalidRequestError):
        refusal(body, headers)
        request = WireRequest("/messages", body, headers)
        list(VENDOR.signed_state(request))
