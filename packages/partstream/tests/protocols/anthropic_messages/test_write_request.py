"""What a request of Anthropic Messages says beside its messages, table by table."""

from dataclasses import replace
from typing import Any

import pytest

from conversation.samples import ORIGIN, WEATHER, assistant, called, gave, user
from partstream import (
    ChatMessage,
    ContextEdit,
    ModelCapabilities,
    RequestOptions,
    RequestSettings,
    TextPart,
    ThinkingForm,
    Tool,
)
from partstream.conversation.preparation import prepare
from partstream.lm.messages import ToolMode
from partstream.protocols.anthropic_messages.models import (
    AnthropicMessagesSettings,
    KeyHeader,
    Platform,
    abilities_of,
)
from partstream.protocols.anthropic_messages.write_request import WRITE_REQUEST
from partstream.protocols.protocol import KeyKind
from partstream.settings.known_servers import server_at
from protocols.anthropic_messages.requests import (
    HAIKU,
    OPUS_5,
    OPUS_46,
    SONNET,
    THOUGHT,
    body_of,
    thinking,
    written,
)
from rows import one_test_for

HI = user("Hi")
NOWHERE = "https://models.example/v1"
SHOWN = {"type": "adaptive", "display": "summarized"}
OFF = {"type": "disabled"}
SAMPLED = {"temperature": 0.5, "topP": 0.97, "topK": 5}


def budget(tokens: int) -> dict[str, Any]:
    return {"type": "enabled", "budget_tokens": tokens, "display": "summarized"}


# ---- thinking: docs/wires/anthropic-messages.md#thinking-by-model ----

THINKING: dict[str, tuple[str, dict[str, Any], dict[str, Any] | None, str | None]] = {
    "it decides itself and shows it": (OPUS_5, {}, SHOWN, None),
    "always on": ("claude-fable-5", {"effort": "xhigh"}, SHOWN, "xhigh"),
    "always on, and asked not to": ("claude-mythos-5", {"effort": "none"}, None, "low"),
    "asked not to": (OPUS_5, {"effort": "none"}, OFF, None),
    "both forms": (OPUS_46, {"effort": "max"}, SHOWN, "max"),
    "both forms and a budget": (OPUS_46, {"thinking_tokens": 5000}, budget(5000), None),
    "a level that it has not": (OPUS_46, {"effort": "xhigh"}, SHOWN, "high"),
    "below its lowest level": (OPUS_46, {"effort": "minimal"}, SHOWN, "low"),
    "a budget and an effort": ("claude-opus-4-5", {"effort": "max"}, budget(32_000), "high"),
    "a budget for an effort": (SONNET, {"effort": "low"}, budget(4096), None),
    "a budget only where it is wanted": (HAIKU, {}, None, None),
    "a budget that is set": (HAIKU, {"thinking_tokens": 2048}, budget(2048), None),
    "less than half of a short answer": (
        HAIKU,
        {"effort": "high", "options": {"max_tokens": 4000}},
        budget(2000),
        None,
    ),
    "no room to think": (HAIKU, {"effort": "high", "options": {"max_tokens": 1000}}, None, None),
    "no thinking at all": ("claude-3-5-haiku-20241022", {"effort": "high"}, None, None),
    "nothing is said of it": (OPUS_5, {"thinking_as": "off", "effort": "high"}, None, None),
    "a form that a person chose": (OPUS_46, {"thinking_as": "enabled", "effort": "low"}, budget(4096), "low"),
    "hidden": (OPUS_5, {"thinking_display": "omitted"}, {"type": "adaptive", "display": "omitted"}, None),
    "switched off by a person": (OPUS_5, {"thinking_as": "disabled", "effort": "max"}, OFF, None),
    "a newer model than is known": ("claude-opus-7", {"effort": "max"}, SHOWN, "max"),
}


@one_test_for(("model", "options", "asked", "effort"), THINKING.values(), ids=THINKING)
def test_a_model_is_asked_to_think_in_the_form_that_it_takes(
    model: str, options: dict[str, Any], asked: dict[str, Any] | None, effort: str | None
):
    body = body_of(HI, model=model, **options)
    assert body.get("thinking") == asked
    assert body.get("output_config") == (None if effort is None else {"effort": effort})


ELSEWHERE: dict[str, tuple[str, dict[str, Any], dict[str, Any] | None, str | None]] = {
    "not wanted": ("vllm", {}, None, None),
    "vLLM": ("vllm", {"effort": "low"}, SHOWN, "low"),
    "Ollama's words": ("ollama", {"effort": "xhigh"}, SHOWN, "high"),
    "DeepSeek's words": ("deepseek", {"effort": "medium"}, budget(2048), "high"),
    "switched off": ("deepseek", {"effort": "none"}, OFF, None),
    "MiniMax": ("minimax", {"effort": "high"}, SHOWN, "high"),
    "unknown": ("unknown", {"effort": "high"}, budget(2048), "high"),
}


@one_test_for(("server", "options", "asked", "effort"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_a_model_of_another_maker_is_asked_in_the_words_of_its_server(
    server: str, options: dict[str, Any], asked: dict[str, Any] | None, effort: str | None
):
    body = body_of(HI, model="qwen3", messages_server=server, **options)
    assert body.get("thinking") == asked
    assert body.get("output_config") == (None if effort is None else {"effort": effort})


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        (ModelCapabilities(thinking_forms=(ThinkingForm.BUDGET,), reasoning_efforts=()), budget(16_000)),
        (ModelCapabilities(thinking_forms=(ThinkingForm.ADAPTIVE,)), SHOWN),
        (ModelCapabilities(thinking_forms=()), None),
        (ModelCapabilities(reasoning=False), None),
    ],
)
def test_what_the_list_of_models_says_wins_over_the_name(known: ModelCapabilities, asked: dict[str, Any] | None):
    assert body_of(HI, known=known, effort="high", url=NOWHERE).get("thinking") == asked


def test_the_list_says_which_levels_there_are_and_whether_thinking_can_stop():
    known = ModelCapabilities(reasoning_efforts=("low", "high"), can_stop_thinking=False)
    assert body_of(HI, known=known, effort="medium")["output_config"] == {"effort": "low"}
    assert "thinking" not in body_of(HI, known=known, effort="none")


LOOP = user("?"), assistant([called("gw-1")]), user([gave("gw-1", "x")])


@pytest.mark.parametrize(
    ("conversation", "thinks"),
    [
        (LOOP, False),
        ((user("?"), assistant([thinking(THOUGHT, model=HAIKU), called("gw-1")]), LOOP[2]), True),
        ((*LOOP, assistant("So"), user("And?")), True),
    ],
    ids=["begun without", "begun with", "a new turn"],
)
def test_an_answer_that_began_without_thinking_is_gone_on_with_without_a_budget(conversation: Any, *, thinks: bool):
    assert ("thinking" in body_of(*conversation, model=HAIKU, effort="high")) == thinks
    assert body_of(*LOOP)["thinking"] == SHOWN, "adaptive thinking has no such rule"


def test_deepseek_does_not_think_beside_calls_that_were_made_without_thinking():
    assert body_of(*LOOP, model="deepseek-v4", messages_server="deepseek", effort="high")["thinking"] == OFF


def test_a_call_that_has_to_be_made_wins_over_thinking_with_a_budget():
    asked = {"tools": (WEATHER,), "tool_mode": ToolMode.REQUIRED}
    body = body_of(HI, model=HAIKU, effort="high", **asked)
    assert (body["tool_choice"], body.get("thinking")) == ({"type": "any"}, None)
    assert body_of(HI, **asked)["thinking"] == SHOWN


# ---- sampling: docs/wires/anthropic-messages.md#thinking-by-model ----


@one_test_for(
    ("model", "options", "kept"),
    [
        (OPUS_5, {}, set()),
        ("claude-opus-4-7", {"effort": "none"}, set()),
        (OPUS_46, {}, {"top_p"}),
        (OPUS_46, {"effort": "none"}, {"temperature", "top_p", "top_k"}),
        (HAIKU, {}, {"temperature", "top_p", "top_k"}),
        (HAIKU, {"effort": "low"}, {"top_p"}),
        ("claude-3-opus-20240229", {}, {"temperature", "top_p", "top_k"}),
    ],
)
def test_sampling_parameters_are_left_out_where_the_model_refuses_them(
    model: str, options: dict[str, Any], kept: set[str]
):
    body = written(HI, url=NOWHERE, model=model, options=SAMPLED, **options).body
    assert {"temperature", "top_p", "top_k"} & body.keys() == kept
    low = written(HI, url=NOWHERE, model=OPUS_46, options={"top_p": 0.5}).body
    assert "top_p" not in low


# ---- versions: docs/wires/anthropic-messages.md#versions ----

OLDER = RequestSettings(extra_headers={"Anthropic-Version": "2023-06-01"})
VERSIONS: dict[str, tuple[dict[str, Any], str]] = {
    "Anthropic": ({}, "2026-10-21"),
    "Anthropic by its name, at a gateway": ({"url": NOWHERE, "messages_server": "anthropic"}, "2026-10-21"),
    "an unknown server": ({"url": NOWHERE}, "2023-06-01"),
    "OpenRouter": ({"url": "https://openrouter.ai/api/v1"}, "2023-06-01"),
    "Anthropic, with a header of a person": ({"settings": OLDER}, "2023-06-01"),
}


@one_test_for(("options", "version"), VERSIONS.values(), ids=VERSIONS)
def test_a_server_is_asked_in_its_version_with_nothing_that_the_version_forbids(options: dict[str, Any], version: str):
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
    answer = ChatMessage.assistant([thinking(document, model=HAIKU), TextPart("Ho")])
    request = written(HI, answer, ChatMessage.user("?"), model=HAIKU, options=SAMPLED, **options)
    assert request.headers["anthropic-version"] == version
    takes_all = version == "2023-06-01"
    assert ({"temperature", "top_p", "top_k"} <= request.body.keys()) is takes_all
    assert [block["type"] for block in request.body["messages"][1]["content"]] == ["document"] * takes_all + ["text"]


def test_the_owner_of_a_request_learns_which_options_its_version_forbids():
    asked = prepare(ORIGIN, [HI], RequestOptions(model_options=SAMPLED), RequestSettings()).request()
    own = AnthropicMessagesSettings(messages_server="anthropic")
    (note,) = WRITE_REQUEST.notes(replace(asked, settings=RequestSettings(own=own)))
    assert note.subject == "options that version 2026-10-21 of the API does not take: temperature, top_k, top_p"
    assert WRITE_REQUEST.notes(asked) == ()


# ---- how long an answer may be: docs/wires/anthropic-messages.md#output-limit ----


@one_test_for(
    ("model", "options", "limit"),
    [
        (OPUS_5, {}, 128_000),
        ("claude-sonnet-4-6", {}, 128_000),
        ("anthropic/claude-opus-4.6", {}, 128_000),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", {}, 64_000),
        ("claude-opus-4-1-20250805", {}, 32_000),
        ("claude-sonnet-4@20250514", {}, 64_000),
        ("claude-3-5-sonnet-latest", {}, 8192),
        ("qwen3", {}, 4096),
        ("qwen3", {"known": ModelCapabilities(context_window=32_768)}, 8192),
        ("qwen3", {"known": ModelCapabilities(max_output_tokens=20_000)}, 20_000),
        (OPUS_5, {"known": ModelCapabilities(max_output_tokens=9000)}, 9000),
        (OPUS_5, {"options": {"maxTokens": 50}}, 50),
        (OPUS_5, {"settings": RequestSettings(max_output_tokens=60)}, 60),
        (OPUS_5, {"input_tokens": 990_000}, 128_000),
        ("claude-opus-4-1", {"input_tokens": 170_000}, 13_000),
    ],
)
def test_the_longest_answer_is_that_of_the_model(model: str, options: dict[str, Any], limit: int):
    assert written(HI, model=model, **options).body["max_tokens"] == limit


@pytest.mark.parametrize(("tokens", "limit"), [(1000, 8192), (26_000, 4168), (32_000, 1024)])
def test_a_server_that_reserves_the_answer_gets_what_the_prompt_leaves(tokens: int, limit: int):
    known = ModelCapabilities(context_window=32_768)
    body = body_of(HI, model="qwen3", messages_server="vllm", known=known, input_tokens=tokens)
    assert body["max_tokens"] == limit


@pytest.mark.parametrize(
    ("server", "model", "window", "waits"),
    [
        ("vllm", "qwen3", 32_768, True),
        ("vllm", "qwen3", None, False),
        ("anthropic", "claude-opus-4-1", None, True),
        ("anthropic", OPUS_5, None, False),
        (None, "qwen3", 32_768, False),
    ],
)
def test_a_request_waits_for_its_estimate_where_prompt_and_answer_share_a_known_window(
    server: str | None, model: str, window: int | None, waits: bool
):
    known = ModelCapabilities(context_window=window)
    settings = RequestSettings(own=AnthropicMessagesSettings(messages_server=server), capabilities=known)
    assert WRITE_REQUEST.conversation_rules(settings, model).fits_answer is waits


# ---- betas and context editing: docs/wires/anthropic-messages.md#betas ----

CLEARED = {
    "type": "clear_tool_uses_20250919",
    "trigger": {"type": "input_tokens", "value": 120_000},
    "keep": {"type": "tool_uses", "value": 3},
    "clear_at_least": {"type": "input_tokens", "value": 20_000},
}
FORGOTTEN = {"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 1}}
EDITS: dict[str, tuple[str, dict[str, Any], list[dict[str, Any]]]] = {
    "a small window": (SONNET, {"tools": (WEATHER,)}, [CLEARED]),
    "a small window and thinking": (SONNET, {"tools": (WEATHER,), "effort": "low"}, [FORGOTTEN, CLEARED]),
    "a large window": (OPUS_5, {"tools": (WEATHER,)}, []),
    "a large window where a person wants it": (
        OPUS_5,
        {"tools": (WEATHER,), "context_editing": "on", "clear_results_at": 60_000},
        [
            FORGOTTEN,
            CLEARED
            | {
                "trigger": {"type": "input_tokens", "value": 60_000},
                "clear_at_least": {"type": "input_tokens", "value": 10_000},
            },
        ],
    ),
    "never": (SONNET, {"tools": (WEATHER,), "context_editing": "off"}, []),
    "the model cannot": (
        SONNET,
        {"tools": (WEATHER,), "context_editing": "on", "known": ModelCapabilities(context_edits=())},
        [],
    ),
    "the list says that it can": (
        OPUS_5,
        {
            "tools": (WEATHER,),
            "known": ModelCapabilities(context_window=200_000, context_edits=(ContextEdit.CLEAR_TOOL_RESULTS,)),
        },
        [CLEARED],
    ),
    "a summary": (
        OPUS_5,
        {"summarize_at": 150_000},
        [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 150_000}}],
    ),
    "no summary where the model makes none": (SONNET, {"summarize_at": 150_000}, []),
    "no tools, no results": (SONNET, {}, []),
}


@one_test_for(("model", "options", "edits"), EDITS.values(), ids=EDITS)
def test_a_server_may_shorten_a_conversation_that_outgrows_its_window(
    model: str, options: dict[str, Any], edits: list[dict[str, Any]]
):
    request = written(HI, model=model, **options)
    assert request.body.get("context_management", {"edits": []}) == {"edits": edits}
    betas = request.headers.get("anthropic-beta", "").split(",")
    assert ("context-management-2025-06-27" in betas) == any(edit["type"].startswith("clear") for edit in edits)
    assert ("compact-2026-01-12" in betas) == any(edit["type"].startswith("compact") for edit in edits)


@one_test_for(
    ("model", "options", "betas"),
    [
        (OPUS_5, {"tools": (WEATHER,), "effort": "high"}, None),
        (SONNET, {"effort": "high", "context_editing": "off"}, None),
        (
            SONNET,
            {"effort": "high", "tools": (WEATHER,), "context_editing": "off"},
            "interleaved-thinking-2025-05-14",
        ),
        (HAIKU, {"effort": "high", "tools": (WEATHER,), "context_editing": "off"}, None),
        (OPUS_5, {"options": {"speed": "fast"}}, "fast-mode-2026-02-01"),
        (
            OPUS_5,
            {"betas": ("files-api-2025-04-14",), "options": {"speed": "fast"}},
            "fast-mode-2026-02-01,files-api-2025-04-14",
        ),
    ],
)
def test_a_beta_is_named_only_with_its_feature(model: str, options: dict[str, Any], betas: str | None):
    request = written(HI, model=model, **options)
    assert request.headers.get("anthropic-beta") == betas


FEATURES: dict[str, tuple[dict[str, Any], str | None]] = {
    "a summary that is asked for": ({"compaction": {"type": "summarize"}}, "compact-2026-09-04"),
    "notes between calls": (
        {"thinking": {"type": "adaptive", "display": "updates"}},
        "thinking-display-updates-2026-08-18",
    ),
    "thinking of another conversation": (
        {"thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}},
        "thinking-binding-controls-2026-08-01",
    ),
    "a conversation at the server": ({"thread": {"type": "create"}}, "message-threads-2026-08-12"),
    "an adviser": ({"tools": [{"type": "advisor_20260301", "name": "advisor"}]}, "advisor-tool-2026-03-01"),
    "servers of tools": ({"mcp_servers": []}, "mcp-client-2025-11-20"),
    "what caches missed": ({"diagnostics": {"previous_message_id": "msg_1"}}, "cache-diagnosis-2026-04-07"),
    "thinking, which needs none": ({"thinking": {"type": "adaptive", "display": "omitted"}}, None),
}


@one_test_for(("fields", "beta"), FEATURES.values(), ids=FEATURES)
def test_a_field_that_a_person_adds_brings_its_beta(fields: dict[str, Any], beta: str | None):
    request = written(HI, settings=RequestSettings(extra_body=fields))
    assert request.headers.get("anthropic-beta") == beta


@pytest.mark.parametrize(("signed", "beta"), [({"signature": "s"}, "compact-2026-09-04"), ({}, None)])
def test_a_summary_that_goes_back_brings_its_beta_if_it_is_signed(signed: dict[str, str], beta: str | None):
    block = {"type": "compaction", "content": "They said hello.", **signed}
    request = written(HI, ChatMessage.assistant([thinking(block), TextPart("Ho")]), ChatMessage.user("?"))
    assert request.headers.get("anthropic-beta") == beta


# ---- tools: docs/wires/anthropic-messages.md#tools-and-tool-choice ----


def test_tools_are_named_described_and_take_an_object():
    tools = body_of(HI, tools=(WEATHER, Tool("add", "", None)), prompt_cache="off")["tools"]
    assert tools == [
        {"name": "get_weather", "description": "Tells the weather.", "input_schema": WEATHER.input_schema},
        {"name": "add", "input_schema": {"type": "object", "properties": {}}},
    ]
    assert "tools" not in body_of(HI)


TEXT, NUMBER = {"type": "string"}, {"type": "number"}
SCHEMAS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "an object stays": ({"type": "object", "properties": {"a": {"anyOf": [TEXT, NUMBER]}}},) * 2,
    "nothing": ({}, {"type": "object", "properties": {}}),
    "no type": ({"properties": {"a": TEXT}}, {"type": "object", "properties": {"a": TEXT}}),
    "another type": ({"type": ["object", "null"], "properties": {}}, {"type": "object", "properties": {}}),
    "alternatives": (
        {
            "anyOf": [
                {"properties": {"a": TEXT, "b": TEXT}, "required": ["a", "b"]},
                {"properties": {"a": NUMBER, "c": TEXT}, "required": ["a"]},
            ]
        },
        {"type": "object", "properties": {"a": TEXT, "b": TEXT, "c": TEXT}, "required": ["a"]},
    ),
    "all together": (
        {
            "type": "object",
            "properties": {"a": TEXT},
            "required": ["a"],
            "allOf": [{"properties": {"b": TEXT}, "required": ["b"]}, {"$ref": "#/$defs/more"}],
            "$defs": {"more": {"properties": {"c": TEXT}}},
        },
        {
            "type": "object",
            "properties": {"b": TEXT, "c": TEXT, "a": TEXT},
            "required": ["a", "b"],
            "$defs": {"more": {"properties": {"c": TEXT}}},
        },
    ),
    "a reference at the top": (
        {"$ref": "#/$defs/one", "$defs": {"one": {"type": "object", "properties": {"a": TEXT}}}},
        {"type": "object", "properties": {"a": TEXT}},
    ),
    "what is no schema": (
        {"oneOf": [True, {"properties": None, "required": 7}], "properties": []},
        {"type": "object", "properties": {}},
    ),
}


@one_test_for(("given", "sent"), SCHEMAS.values(), ids=SCHEMAS)
def test_a_schema_is_an_object_at_the_top_without_alternatives_there(given: dict[str, Any], sent: dict[str, Any]):
    (tool,) = body_of(HI, tools=(Tool("f", "", given),), prompt_cache="off")["tools"]
    assert tool["input_schema"] == sent


def test_several_calls_at_once_may_be_switched_off():
    def choice(**options: Any) -> Any:
        return body_of(HI, tools=(WEATHER,), **options).get("tool_choice")

    assert choice() is None
    assert choice(options={"parallel_tool_calls": False}) == {"type": "auto", "disable_parallel_tool_use": True}
    assert choice(options={"parallelToolCalls": True}, tool_mode=ToolMode.REQUIRED) == {
        "type": "any",
        "disable_parallel_tool_use": False,
    }


# ---- options and the rest of a body ----


def test_options_have_the_names_of_this_wire_and_replace_no_part_of_the_request():
    chosen = {
        "stop": "END",
        "metadata": {"user_id": "u1"},
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
        "model": "other",
        "messages": [],
        "system": "x",
        "n": 1,
        "reasoning": {"effort": "low", "summary": "auto"},
    }
    body = body_of(HI, options=chosen)
    assert body["stop_sequences"] == ["END"]
    assert body["metadata"] == {"user_id": "u1"}
    assert body["output_config"] == {"effort": "low", **chosen["output_config"]}
    assert (body["model"], "system" in body, "n" in body, "reasoning" in body) == (OPUS_5, False, False, False)


def test_fields_of_a_person_win():
    settings = RequestSettings(extra_body={"thinking": None, "service_tier": "standard_only"})
    body = body_of(HI, settings=settings)
    assert ("thinking" in body, body["service_tier"]) == (False, "standard_only")


# ---- servers, keys and platforms: docs/wires/anthropic-messages.md#servers ----


@one_test_for(
    ("url", "own", "header"),
    [
        ("https://api.anthropic.com/v1", {}, "x-api-key"),
        ("https://models.example/v1", {}, "x-api-key"),
        ("https://openrouter.ai/api/v1", {}, "authorization"),
        ("http://localhost:8000/v1", {}, "authorization"),
        ("https://models.example/v1", {"messages_server": "vllm"}, "authorization"),
        ("https://api.anthropic.com/v1", {"key_header": KeyHeader.BEARER}, "authorization"),
        ("https://openrouter.ai/api/v1", {"key_header": KeyHeader.X_API_KEY}, "x-api-key"),
        ("https://models.example/v1", {"platform": Platform.VERTEX}, "authorization"),
    ],
)
def test_the_key_goes_in_one_header_that_the_server_takes(url: str, own: dict[str, Any], header: str):
    settings = RequestSettings(own=AnthropicMessagesSettings(**own))
    made = WRITE_REQUEST.authorizer(settings, server_at(url))("k", KeyKind.API_KEY)
    assert made == ({"authorization": "Bearer k"} if header == "authorization" else {"x-api-key": "k"})


def test_a_token_of_an_identity_provider_is_a_bearer_token():
    assert WRITE_REQUEST.authorizer(RequestSettings(), None)("k", KeyKind.OIDC) == {"authorization": "Bearer k"}


def test_on_vertex_the_model_is_in_the_path_and_the_version_in_the_body():
    request = written(HI, model="claude-opus-4-6@default", platform="vertex", effort="low")
    assert request.path == "/claude-opus-4-6@default:streamRawPredict"
    assert "model" not in request.body
    assert (request.body["anthropic_version"], request.body["stream"]) == ("vertex-2023-10-16", True)


def test_on_bedrock_the_answer_comes_whole_and_betas_stand_in_the_body():
    model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    request = written(HI, model=model, platform="bedrock", tools=(WEATHER,))
    assert request.path == "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke"
    assert {"model", "stream"} & request.body.keys() == set()
    assert request.body["anthropic_version"] == "bedrock-2023-05-31"
    assert request.body["anthropic_beta"] == ["context-management-2025-06-27"]
    assert "anthropic-beta" not in request.headers


def test_what_is_counted_is_the_same_request_without_the_fields_of_an_answer():
    assert WRITE_REQUEST.count is not None
    request = written(HI, tools=(WEATHER,), options={"metadata": {"user_id": "u"}})
    question = WRITE_REQUEST.count.question(request)
    assert (question.path, question.method) == ("/messages/count_tokens", "POST")
    assert question.body.keys() == {"model", "messages", "tools", "thinking"}
    assert question.headers == request.headers


@pytest.mark.parametrize(
    ("path", "further"),
    [
        ("/v1", ()),
        ("/anthropic/v1", ("/v1/models", "/models")),
        ("/api/anthropic/v1/", ("/api/v1/models", "/api/models")),
        ("/anthropic", ("/v1/models", "/models")),
    ],
)
def test_models_are_listed_beside_the_folder_of_this_wire_too(path: str, further: tuple[str, ...]):
    assert WRITE_REQUEST.find_model_lists(path) == (path.rstrip("/"), further)


def test_names_of_models_are_known_in_every_spelling():
    def known(model: str) -> Any:
        return replace(abilities_of(model, ModelCapabilities()))

    assert known("anthropic/claude-opus-4.6") == known("claude-opus-4-6-20260101") == known("claude-opus-4-6@default")
    assert known("claude-3-7-sonnet-20250219") == known("claude-sonnet-3-7")
    assert known("claude-mythos-preview") == known("claude-fable-5")
    assert known("claude-opus-4-20250514").max_tokens == 32_000
    assert not known("gpt-5.2").is_claude
