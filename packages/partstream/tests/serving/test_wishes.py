"""What clients of one wire ask for, and what the upstream of another wire gets of it: a row for each wish."""

from __future__ import annotations
from typing import TYPE_CHECKING, Any

import pytest

from partstream.lm.provider import LanguageModelChatInformation
from partstream.server.application import app
from partstream.upstream.provider import GatewayProvider
from partstream_devtools.testing.upstream import ReplayUpstream
from serving.asgi import ask
from upstreams.upstreams import configuration, run

if TYPE_CHECKING:
    from collections.abc import Mapping

R, C, M, G, O = "openresponses", "chat-completions", "anthropic-messages", "gemini", "ollama"  # noqa: E741
CLAUDE, GEMINI, GEMINI_3, OTHER = "claude-opus-4-6", "gemini-2.5-flash", "gemini-3-flash", "m"
ABSENT = object()
"""The value of a field that must not be sent."""
SAY = [{"role": "user", "content": "Hi"}]
PARAMETERS = {"type": "object", "properties": {}, "additionalProperties": False}
FUNCTION = {"name": "look", "parameters": PARAMETERS}


def _body(client: str, model: str, fields: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The path and the body of a request."""
    match client:
        case "openresponses":
            return "/v1/responses", {"model": model, "input": "Hi", **fields}
        case "chat-completions":
            return "/v1/chat/completions", {"model": model, "messages": SAY, **fields}
        case "anthropic-messages":
            return "/v1/messages", {"model": model, "max_tokens": 20_000, "messages": SAY, **fields}
        case "gemini":
            contents = [{"role": "user", "parts": [{"text": "Hi"}]}]
            return f"/v1beta/models/{model}:generateContent", {"contents": contents, **fields}
        case _:
            return "/api/chat", {"model": model, "messages": SAY, "stream": False, **fields}


def _at(value: Any, path: str) -> Any:
    """What is at a path such as `tools.0.strict`; ABSENT for nothing."""
    for name in path.split("."):
        if isinstance(value, list) and int(name) < len(value):
            value = value[int(name)]
        elif isinstance(value, dict) and name in value:
            value = value[name]
        else:
            return ABSENT
    return value


def _asked(client: str, upstream: str, model: str, fields: Mapping[str, Any], scenario: str = "text") -> Any:
    """What the upstream got, and the document that the client got."""

    seen: list[Any] = []

    async def test() -> None:
        async with ReplayUpstream(scenario=scenario) as server:
            facts = LanguageModelChatInformation(model, model, "f", "1", 200_000, 64_000)
            provider = GatewayProvider(
                configuration(server.base_url_of(upstream), protocol=upstream, models=(facts,), max_output_tokens=None)
            )
            try:
                path, body = _body(client, model, fields)
                reply = await ask(app(provider), path, body)
                assert reply.status == 200, reply.body
                seen.extend((server.requests[-1].body, reply.json))
            finally:
                await provider.aclose()

    run(test(), 60)
    return seen


THINKING: list[tuple[str, dict[str, Any], str, str, dict[str, Any]]] = [
    # The client asks for no thinking.
    (M, {}, M, CLAUDE, {"thinking": ABSENT}),
    (C, {}, M, CLAUDE, {"thinking": ABSENT}),
    (R, {}, M, CLAUDE, {"thinking": ABSENT}),
    (G, {}, M, CLAUDE, {"thinking": ABSENT}),
    (M, {}, G, GEMINI, {"generationConfig.thinkingConfig": ABSENT}),
    (C, {}, G, GEMINI, {"generationConfig.thinkingConfig": ABSENT}),
    # It is switched off.
    (M, {"thinking": {"type": "disabled"}}, M, CLAUDE, {"thinking": {"type": "disabled"}}),
    (O, {"think": False}, M, CLAUDE, {"thinking": {"type": "disabled"}}),
    (M, {"thinking": {"type": "disabled"}}, G, GEMINI, {"generationConfig.thinkingConfig": {"thinkingBudget": 0}}),
    # The client asks, in a word or by a number.
    (O, {"think": True}, M, CLAUDE, {"thinking.type": "adaptive"}),
    (C, {"reasoning_effort": "low"}, M, CLAUDE, {"thinking.type": "adaptive", "output_config.effort": "low"}),
    (C, {"reasoning_effort": "low"}, G, GEMINI, {"generationConfig.thinkingConfig.includeThoughts": True}),
    (
        M,
        {"thinking": {"type": "enabled", "budget_tokens": 5000}},
        G,
        GEMINI,
        {"generationConfig.thinkingConfig": {"thinkingBudget": 5000, "includeThoughts": True}},
    ),
    (M, {"thinking": {"type": "enabled", "budget_tokens": 5000}}, M, CLAUDE, {"thinking.budget_tokens": 5000}),
    (
        G,
        {"generationConfig": {"thinkingConfig": {"thinkingBudget": 5000}}},
        M,
        CLAUDE,
        {"thinking.type": "enabled", "thinking.budget_tokens": 5000},
    ),
    (M, {"thinking": {"type": "enabled", "budget_tokens": 5000}}, R, OTHER, {"reasoning.effort": "medium"}),
    (M, {"thinking": {"type": "enabled", "budget_tokens": 5000}}, C, OTHER, {"reasoning_effort": "medium"}),
]
"""The client, its fields, the upstream, the model, and what is in the body that the upstream gets."""


@pytest.mark.parametrize(("client", "fields", "upstream", "model", "wanted"), THINKING)
def test_thinking_is_asked_for_as_the_client_asks(
    client: str, fields: dict[str, Any], upstream: str, model: str, wanted: dict[str, Any]
) -> None:
    body, _ = _asked(client, upstream, model, fields)
    assert {path: _at(body, path) for path in wanted} == wanted


OPTIONS: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    (M, {"metadata": {"user_id": "u1"}}, R, {"user": "u1"}),
    (M, {"metadata": {"user_id": "u1"}}, C, {"user": "u1"}),
    (C, {"safety_identifier": "u1"}, M, {"metadata": {"user_id": "u1"}}),
    (R, {"user": "u1"}, M, {"metadata": {"user_id": "u1"}}),
    (C, {"metadata": {"a": "b"}}, R, {"metadata": {"a": "b"}}),
    (R, {"metadata": {"a": "b"}}, C, {"metadata": {"a": "b"}}),
    (C, {"verbosity": "low"}, R, {"text.verbosity": "low"}),
    (R, {"text": {"verbosity": "low"}}, C, {"verbosity": "low"}),
    (C, {"prompt_cache_retention": "24h"}, R, {"prompt_cache_retention": "24h"}),
    (R, {"prompt_cache_retention": "24h"}, C, {"prompt_cache_retention": "24h"}),
    (C, {"service_tier": "flex"}, R, {"service_tier": "flex"}),
    (C, {"service_tier": "flex"}, G, {"serviceTier": "flex"}),
    (C, {"service_tier": "flex"}, M, {"service_tier": ABSENT}),
    (R, {"service_tier": "default"}, M, {"service_tier": "standard_only"}),
    (M, {"service_tier": "standard_only"}, R, {"service_tier": "default"}),
    (M, {"service_tier": "standard_only"}, G, {"serviceTier": "standard"}),
    (M, {"service_tier": "auto"}, C, {"service_tier": ABSENT}),
    (G, {"serviceTier": "priority"}, C, {"service_tier": "priority"}),
    (C, {"logprobs": True, "top_logprobs": 3}, R, {"include.0": "message.output_text.logprobs", "top_logprobs": 3}),
    (C, {"logprobs": True, "top_logprobs": 3}, O, {"logprobs": True, "top_logprobs": 3}),
    (
        C,
        {"logprobs": True, "top_logprobs": 3},
        G,
        {"generationConfig.responseLogprobs": True, "generationConfig.logprobs": 3},
    ),
    (C, {"logprobs": False, "top_logprobs": 0}, R, {"include": ABSENT, "top_logprobs": ABSENT}),
    (
        R,
        {"include": ["message.output_text.logprobs"], "top_logprobs": 3},
        C,
        {"logprobs": True, "top_logprobs": 3},
    ),
    (
        G,
        {"generationConfig": {"responseLogprobs": True, "logprobs": 3}},
        C,
        {"logprobs": True, "top_logprobs": 3},
    ),
    (O, {"logprobs": True, "top_logprobs": 3}, C, {"logprobs": True, "top_logprobs": 3}),
]
"""The client, its fields, the upstream, and what is in the body that the upstream gets."""


@pytest.mark.parametrize(("client", "fields", "upstream", "wanted"), OPTIONS)
def test_an_option_arrives_in_the_words_of_the_upstream(
    client: str, fields: dict[str, Any], upstream: str, wanted: dict[str, Any]
) -> None:
    body, _ = _asked(client, upstream, OTHER, fields)
    assert {path: _at(body, path) for path in wanted} == wanted


def test_a_long_name_of_a_user_becomes_a_digest() -> None:
    body, _ = _asked(M, R, OTHER, {"metadata": {"user_id": "u" * 65}})
    assert len(body["user"]) <= 64


ALONE: list[tuple[str, dict[str, Any], str, str]] = [
    (M, {}, "content.0.type", "text"),
    (M, {"thinking": {"type": "disabled"}}, "content.0.type", "text"),
    (M, {"thinking": {"type": "adaptive"}}, "content.0.type", "thinking"),
    (G, {}, "candidates.0.content.parts.0.thought", ""),
    (
        G,
        {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}},
        "candidates.0.content.parts.0.thought",
        "yes",
    ),
    (O, {"think": False}, "message.thinking", ""),
    (O, {}, "message.thinking", "yes"),
    (C, {}, "choices.0.message.reasoning_content", "yes"),
]
"""The client, its fields, a path in its answer, and what is there: a word, anything, or nothing."""


@pytest.mark.parametrize(("client", "fields", "path", "there"), ALONE)
def test_thinking_that_comes_unasked_is_left_out_where_clients_expect_none(
    client: str, fields: dict[str, Any], path: str, there: str
) -> None:
    _, answer = _asked(client, C, OTHER, fields, "thinking")
    found = _at(answer, path)
    assert found == there if there not in {"", "yes"} else (found is not ABSENT) == bool(there)


AT = "https://example.com/200?key=1"
SAID: dict[str, dict[str, Any]] = {
    R: {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": AT}]}]},
    C: {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": AT}}]}]},
    M: {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": AT}}]}]},
    G: {"contents": [{"role": "user", "parts": [{"fileData": {"fileUri": AT, "mimeType": "image/png"}}]}]},
}
"""A picture by each client, at an address that does not say so."""
GOT = {
    R: {"input.0.content.0.type": "input_image", "input.0.content.0.image_url": AT},
    C: {"messages.0.content.0.image_url.url": AT},
    M: {"messages.0.content.0.source": {"type": "url", "url": AT}, "messages.0.content.0.type": "image"},
    G: {"contents.0.parts.0.fileData.fileUri": AT},
}


@pytest.mark.parametrize("upstream", GOT)
@pytest.mark.parametrize("client", SAID)
def test_a_picture_at_any_address_arrives_as_a_picture(client: str, upstream: str) -> None:
    body, _ = _asked(client, upstream, OTHER, SAID[client])
    assert {path: _at(body, path) for path in GOT[upstream]} == GOT[upstream]


FILES: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    (
        R,
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_url": AT}]}]},
        M,
        {"messages.0.content.0.type": "document", "messages.0.content.0.source.url": AT},
    ),
    (
        M,
        {"messages": [{"role": "user", "content": [{"type": "document", "source": {"type": "url", "url": AT}}]}]},
        R,
        {"input.0.content.0": {"type": "input_file", "file_url": AT}},
    ),
    (
        M,
        {"messages": [{"role": "user", "content": [{"type": "document", "source": {"type": "url", "url": AT}}]}]},
        G,
        {"contents.0.parts.0.fileData": {"fileUri": AT, "mimeType": "application/pdf"}},
    ),
    *(
        (
            G,
            {"contents": [{"parts": [{"fileData": {"fileUri": uri, "mimeType": "video/mp4"}}]}]},
            G,
            {"contents.0.parts.0.fileData": {"fileUri": uri, "mimeType": "video/mp4"}},
        )
        for uri in (
            "gs://bucket/video",
            "https://youtu.be/abc",
            "https://generativelanguage.googleapis.com/v1beta/files/a",
        )
    ),
]


@pytest.mark.parametrize(("client", "fields", "upstream", "wanted"), FILES)
def test_a_file_at_any_address_arrives_as_a_file(
    client: str, fields: dict[str, Any], upstream: str, wanted: dict[str, Any]
) -> None:
    body, _ = _asked(client, upstream, OTHER, fields)
    assert {path: _at(body, path) for path in wanted} == wanted


FORBIDS: dict[str, dict[str, Any]] = {
    R: {"tools": [{"type": "function", "strict": True, **FUNCTION}], "tool_choice": "none"},
    C: {"tools": [{"type": "function", "function": {**FUNCTION, "strict": True}}], "tool_choice": "none"},
    M: {
        "tools": [{"name": "look", "strict": True, "input_schema": PARAMETERS}],
        "tool_choice": {"type": "none"},
    },
    G: {
        "tools": [{"functionDeclarations": [{"name": "look", "parametersJsonSchema": PARAMETERS}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "NONE"}},
    },
}
"""A tool that the model may not call, by each client; G cannot say that it is strict."""
IDLE = {
    R: {"tools.0.name": "look", "tool_choice": "none"},
    C: {"tools.0.function.name": "look", "tool_choice": "none"},
    M: {"tools.0.name": "look", "tool_choice": {"type": "none"}},
    G: {
        "tools.0.functionDeclarations.0.name": "look",
        "toolConfig.functionCallingConfig": {"mode": "NONE"},
    },
    O: {"tools": ABSENT},
}


@pytest.mark.parametrize("upstream", IDLE)
@pytest.mark.parametrize("client", FORBIDS)
def test_tools_that_must_not_be_called_stay_where_the_upstream_can_be_told_so(client: str, upstream: str) -> None:
    body, _ = _asked(client, upstream, OTHER, FORBIDS[client])
    assert {path: _at(body, path) for path in IDLE[upstream]} == IDLE[upstream]


STRICT = {R: "tools.0.strict", C: "tools.0.function.strict", M: "tools.0.strict"}


@pytest.mark.parametrize("upstream", STRICT)
@pytest.mark.parametrize("client", STRICT)
def test_a_tool_stays_strict(client: str, upstream: str) -> None:
    body, _ = _asked(client, upstream, CLAUDE, FORBIDS[client])
    assert _at(body, STRICT[upstream]) is True


def test_one_call_at_a_time_is_one_on_every_wire_that_can_say_it() -> None:
    asks = {**FORBIDS[M], "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}
    for upstream, path, wanted in (
        (R, "parallel_tool_calls", False),
        (C, "parallel_tool_calls", False),
        (M, "tool_choice.disable_parallel_tool_use", True),
    ):
        body, _ = _asked(M, upstream, OTHER, asks)
        assert _at(body, path) is wanted
