"""What each known server is sent that others are not: row by row, and over everything what a person set."""

from typing import Any

import pytest

from conversation.rows import PAPER, PDF_URL, PIXEL, PNG_URL, tool_round
from conversation.samples import ORIGIN, WEATHER, assistant, called, system, user
from conversation.samples import gave as result
from partstream import DataPart, TextPart, ThinkingPart, Tool, ToolMode
from partstream.conversation.preparation import RequestSettings
from partstream.errors import RequestNotExpressibleError
from partstream.protocols.chat_completions import SPOKEN_AT
from partstream.protocols.chat_completions.models import (
    CHOSEN_EFFORTS,
    MODEL_QUIRKS,
    SERVER_QUIRKS,
    SERVERS,
    CacheControl,
    ChatCompletionsSettings,
    EffortAs,
    Quirks,
    ReasoningBack,
    quirks_of,
)
from partstream.settings.known_servers import KNOWN_SERVERS
from protocols.chat_completions.requests import body_of, call, calls, gave, messages_of, said, written
from rows import one_test_for

USAGE = {"include_usage": True}
MARK = {"cache_control": {"type": "ephemeral"}}


def test_every_row_is_of_a_known_server_and_differs_from_the_smallest_request() -> None:
    known = {server.name for server in KNOWN_SERVERS}
    assert SERVER_QUIRKS.keys() <= known
    assert tuple(SERVER_QUIRKS) == SERVERS, "the setting and the table name the same servers"
    assert {row.server for row in MODEL_QUIRKS} <= SERVER_QUIRKS.keys()
    assert all(quirks != Quirks() for quirks in SERVER_QUIRKS.values())
    fields = {name for row in MODEL_QUIRKS for name in row.changes}
    assert all(hasattr(Quirks(), name) for name in fields)


@one_test_for("spoken", SPOKEN_AT, ids=lambda spoken: spoken.server)
def test_the_base_url_tells_whose_rules_a_request_follows(spoken: Any) -> None:
    asked = {"tools": (WEATHER,), "tool_mode": ToolMode.REQUIRED, "settings": RequestSettings(max_output_tokens=7)}
    assert body_of(user("Hi"), url=spoken.base_url, **asked) == body_of(user("Hi"), server=spoken.server, **asked)


# Server, model, and what the body of a plain request has beside model, messages and stream.
BODIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "OpenAI": ("openai", "gpt-4.1", {"stream_options": {**USAGE, "include_obfuscation": False}}),
    "Azure": ("azure", "gpt-4.1", {"stream_options": USAGE}),
    "Mistral": ("mistral", "mistral-large", {}),
    "MiniMax": ("minimax", "MiniMax-M2", {"stream_options": USAGE, "reasoning_split": True}),
    "Qwen at Groq": ("groq", "qwen/qwen3-32b", {"stream_options": USAGE, "reasoning_format": "parsed"}),
    "gpt-oss at Groq": ("groq", "openai/gpt-oss-120b", {"stream_options": USAGE}),
    "GLM at Cerebras": ("cerebras", "zai-glm-4.6", {"stream_options": USAGE, "clear_thinking": False}),
    "vLLM": ("vllm", "any", {"stream_options": USAGE}),
}


@one_test_for(("server", "model", "fields"), BODIES.values(), ids=BODIES)
def test_the_fields_of_every_body(server: str, model: str, fields: dict[str, Any]) -> None:
    body = body_of(user("Hi"), server=server, model=model)
    assert body == {"model": model, "messages": [said("user", "Hi")], "stream": True, **fields}


COMPLETION = {"openai", "azure", "groq", "xai", "cerebras", "minimax"}


@one_test_for("server", ["unknown", *SERVER_QUIRKS])
def test_the_longest_answer_stands_in_the_field_that_the_server_takes(server: str) -> None:
    body = body_of(user("Hi"), server=server, settings=RequestSettings(max_output_tokens=100))
    field, other = ("max_tokens", "max_completion_tokens")[:: -1 if server in COMPLETION else 1]
    assert body[field] == 100
    assert other not in body


REQUIRED = {"mistral": "any"} | dict.fromkeys(["ollama", "deepseek", "moonshot", "qwen", "minimax"])


@one_test_for("server", ["unknown", *SERVER_QUIRKS])
def test_the_word_for_a_call_that_must_be_made(server: str) -> None:
    body = body_of(user("Hi"), server=server, tools=(WEATHER,), tool_mode=ToolMode.REQUIRED)
    assert body.get("tool_choice") == REQUIRED.get(server, "required")


# ---- effort ----

# Server, model, effort, and the fields that say it.
EFFORTS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("openai", "gpt-5.1", "minimal", {"reasoning_effort": "minimal"}),
    ("openai", "gpt-5.6", "minimal", {"reasoning_effort": "low"}),
    ("openrouter", "x/y", "high", {"reasoning": {"effort": "high"}}),
    ("openrouter", "x/y", "none", {"reasoning": {"effort": "none"}}),
    ("deepseek", "deepseek-chat", "medium", {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
    ("deepseek", "deepseek-chat", "max", {"thinking": {"type": "enabled"}, "reasoning_effort": "max"}),
    ("deepseek", "deepseek-chat", "none", {"thinking": {"type": "disabled"}}),
    ("zhipu", "glm-4.6", "high", {"thinking": {"type": "enabled", "clear_thinking": False}}),
    ("zhipu", "glm-4.6", "none", {"thinking": {"type": "disabled"}}),
    (
        "zhipu",
        "glm-5.2",
        "high",
        {"thinking": {"type": "enabled", "clear_thinking": False}, "reasoning_effort": "high"},
    ),
    ("zhipu", "glm-5.3", "none", {}),
    ("qwen", "qwen3-max", "low", {"enable_thinking": True}),
    ("qwen", "qwen3-max", "none", {"enable_thinking": False}),
    (
        "vllm",
        "any",
        "xhigh",
        {"chat_template_kwargs": {"enable_thinking": True, "thinking": True}, "reasoning_effort": "high"},
    ),
    ("sglang", "any", "none", {"chat_template_kwargs": {"enable_thinking": False, "thinking": False}}),
    (
        "llama.cpp",
        "any",
        "low",
        {"chat_template_kwargs": {"enable_thinking": True, "thinking": True, "reasoning_effort": "low"}},
    ),
    ("baseten", "any", "low", {"chat_template_args": {"enable_thinking": True, "thinking": True}}),
    ("moonshot", "kimi-k2.5", "none", {"thinking": {"type": "disabled"}}),
    ("moonshot", "kimi-k3", "none", {}),
    ("moonshot", "kimi-k3", "medium", {"reasoning_effort": "high"}),
    ("minimax", "MiniMax-M3", "high", {"thinking": {"type": "adaptive"}}),
    ("minimax", "MiniMax-M3", "none", {"thinking": {"type": "disabled"}}),
    ("groq", "qwen/qwen3-32b", "high", {"reasoning_effort": "default"}),
    ("groq", "qwen/qwen3-32b", "none", {"reasoning_effort": "none"}),
    ("groq", "openai/gpt-oss-20b", "high", {"reasoning_effort": "high"}),
    ("ollama", "any", "minimal", {"reasoning_effort": "low"}),
    ("ollama", "any", "xhigh", {"reasoning_effort": "max"}),
    ("together", "any", "high", {"reasoning": {"enabled": True}, "reasoning_effort": "high"}),
    ("together", "any", "none", {"reasoning": {"enabled": False}}),
    ("cerebras", "gpt-oss-120b", "low", {"reasoning_effort": "low"}),
    ("gemini", "gemini-3-pro", "low", {"reasoning_effort": "low"}),
    ("unknown", "any", "xhigh", {"reasoning_effort": "xhigh"}),
]


@one_test_for(("server", "model", "effort", "fields"), EFFORTS)
def test_an_effort_in_the_words_of_the_server(server: str, model: str, effort: str, fields: dict[str, Any]) -> None:
    plain = body_of(user("Hi"), server=server, model=model)
    chosen = body_of(user("Hi"), server=server, model=model, model_configuration={"reasoningEffort": effort})
    assert chosen == plain | fields
    assert body_of(user("Hi"), server=server, model=model, model_options={"reasoningEffort": effort}) == chosen


@one_test_for("effort_as", CHOSEN_EFFORTS)
def test_a_person_may_say_in_which_field_an_effort_stands(effort_as: EffortAs) -> None:
    own = ChatCompletionsSettings(effort_as=effort_as)
    body = body_of(user("Hi"), server="deepseek", own=own, model_configuration={"reasoningEffort": "low"})
    beside = set(body) - {"model", "messages", "stream", "stream_options"}
    assert beside == (
        {"thinking", "reasoning_effort"}
        if effort_as is EffortAs.THINKING
        else set()
        if effort_as is EffortAs.OFF
        else {effort_as.value}
    )


def test_every_way_to_say_an_effort_can_be_chosen() -> None:
    assert CHOSEN_EFFORTS.keys() == set(EffortAs) - {EffortAs.AUTO}


# ---- cache ----


@one_test_for("server", ["unknown", *SERVER_QUIRKS])
def test_the_name_of_the_conversation_goes_only_where_it_is_taken(server: str) -> None:
    request = written(
        user("Hi"), own=ChatCompletionsSettings(server=server), model_options={"_conversationId": "chat-1"}
    )
    keyed = server in {"openai", "azure", "moonshot", "fireworks", "xai"}
    assert request.body.get("prompt_cache_key") == ("chat-1" if keyed else None)
    assert request.headers == ({"x-session-id": "chat-1"} if server == "openrouter" else {})


def test_a_name_that_no_header_can_hold_is_not_sent() -> None:
    own = ChatCompletionsSettings(server="openrouter")
    assert written(user("Hi"), own=own, model_options={"_conversationId": "ä"}).headers == {}


CACHED = [
    ("openrouter", "anthropic/claude-sonnet-5", True),
    ("openrouter", "openai/gpt-5", False),
    ("litellm", "bedrock/anthropic.claude-v4", True),
    ("litellm", "gpt-4o", False),
    ("unknown", "claude-sonnet-5", False),
]


@pytest.mark.parametrize(("server", "model", "marked"), CACHED)
def test_anthropics_models_get_marks_for_the_cache(server: str, model: str, *, marked: bool) -> None:
    messages = system("Be brief."), user("?"), assistant([called()]), user([result("gw-1", "x")])
    body = body_of(*messages, server=server, model=model, tools=(WEATHER, Tool("now", "")))
    assert str(body).count("ephemeral") == (3 if marked else 0)
    if marked:
        assert [MARK.items() <= tool.items() for tool in body["tools"]] == [False, True]
        assert body["messages"][0] == said("system", [{"type": "text", "text": "Be brief.", **MARK}])
        assert body["messages"][-1]["content"] == [{"type": "text", "text": "x", **MARK}]


def test_gemini_behind_openrouter_gets_the_last_mark_alone() -> None:
    messages = system("Be brief."), user([TextPart("?"), PIXEL])
    body = body_of(*messages, server="openrouter", model="google/gemini-3-pro", tools=(WEATHER,))
    image = {"type": "image_url", "image_url": {"url": PNG_URL}}
    assert body["messages"] == [
        said("system", "Be brief."),
        said("user", [{"type": "text", "text": "?", **MARK}, image]),
    ]
    assert "cache_control" not in str(body["tools"])


def test_a_person_may_have_marks_anywhere_and_nowhere() -> None:
    on, off = (
        ChatCompletionsSettings(cache_control=CacheControl.ON),
        ChatCompletionsSettings(cache_control=CacheControl.OFF),
    )
    assert "ephemeral" in str(body_of(user("Hi"), own=on))
    assert "ephemeral" not in str(body_of(user("Hi"), own=off, server="openrouter", model="anthropic/claude"))
    only_calls = body_of(assistant([called()]), user([result("gw-1", "x")]), own=on)["messages"]
    assert only_calls[0] == calls(call())


# ---- what a conversation becomes ----


def test_mistral_gets_nine_letters_and_digits_strings_and_somebody_between_results_and_the_user() -> None:
    messages = user("?"), assistant([called("gw-D681PevKs"), called("toolu_1")]), user([result("gw-D681PevKs", PIXEL)])
    _, asked, first, second, between, shown = messages_of(*messages, server="mistral")
    other = asked["tool_calls"][1]["id"]
    assert [one["id"] for one in asked["tool_calls"]] == ["D681PevKs", other]
    assert len(other) == 9
    assert other.isalnum()
    assert asked["content"] == ""
    assert (first["tool_call_id"], first["name"], second["tool_call_id"]) == ("D681PevKs", "f", other)
    assert between == said("assistant", "I have processed the tool results.")
    assert shown == said("user", [{"type": "image_url", "image_url": PNG_URL}])


@pytest.mark.parametrize("server", ["lm-studio", "llama.cpp", "vllm", "sglang"])
def test_a_model_of_mistral_that_somebody_runs_gets_what_its_template_demands(server: str) -> None:
    own = "gw-chatcmpl-tool-" + "0" * 32
    messages = assistant([called(own), called("toolu_1")]), user([result(own, "x"), result("toolu_1", "y")]), user("?")
    made = messages_of(*messages, server=server, model="mistralai/Devstral-2")
    ids = [one["id"] for one in made[0]["tool_calls"]]
    assert ids[0] == own.removeprefix("gw-")
    assert len(ids[1]) == 9
    assert [message["role"] for message in made] == ["assistant", "tool", "tool", "assistant", "user"]
    made = messages_of(*messages, server=server, model="Qwen/Qwen3")
    assert made[0]["tool_calls"][1]["id"] == "toolu_1"
    assert [message["role"] for message in made] == ["assistant", "tool", "tool", "user"]


def test_openai_never_gets_an_id_of_more_than_40_characters() -> None:
    own = "gw-chatcmpl-tool-" + "0" * 32
    made = messages_of(assistant([called(own)]), user([result(own, "x")]), server="openai")
    assert made[0]["tool_calls"][0]["id"] == made[1]["tool_call_id"]
    assert len(made[1]["tool_call_id"]) == 40


@pytest.mark.parametrize("server", ["gemini", "moonshot", "openrouter", "litellm"])
def test_names_begin_with_a_letter_where_the_server_wants_it(server: str) -> None:
    messages = user("?"), assistant([called("gw-1", "7zip")]), user([result("gw-1", "x")])
    body = body_of(*messages, server=server, tools=(Tool("7zip", ""),))
    assert body["tools"][0]["function"]["name"] == "t_7zip"
    assert body["messages"][1]["tool_calls"][0]["function"]["name"] == "t_7zip"


SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/A"}},
    "additionalProperties": False,
    "$defs": {"A": {"type": ["string", "null"]}},
}
OWN_SCHEMAS: dict[str, dict[str, Any]] = {
    "gemini": {"type": "object", "properties": {"a": {"type": "string", "nullable": True}}},
    "moonshot": {name: value for name, value in SCHEMA.items() if name != "$schema"},
    "xai": {name: value for name, value in SCHEMA.items() if name != "additionalProperties"},
    "ollama": {"type": "object", "properties": {"a": {"type": ["string", "null"]}}},
    "qwen": {
        "$schema": SCHEMA["$schema"],
        "type": "object",
        "properties": {"a": {"type": ["string", "null"]}},
        "additionalProperties": False,
    },
}


@one_test_for("server", ["unknown", *SERVER_QUIRKS])
def test_the_schema_of_a_tool_is_in_the_subset_that_the_server_takes(server: str) -> None:
    (tool,) = body_of(user("Hi"), server=server, tools=(Tool("f", "", SCHEMA),))["tools"]
    assert tool["function"]["parameters"] == OWN_SCHEMAS.get(server, SCHEMA)


def test_tools_of_glm_stream_their_arguments() -> None:
    assert body_of(user("Hi"), server="zhipu", tools=(WEATHER,))["tool_stream"] is True
    assert "tool_stream" not in body_of(user("Hi"), server="zhipu")


def test_litellm_hears_that_there_are_no_tools_any_more_if_some_were_called() -> None:
    messages = assistant([called()]), user([result("gw-1", "x")])
    assert body_of(*messages, server="litellm")["tools"] == []
    assert "tools" not in body_of(user("Hi"), server="litellm")
    assert "tools" not in body_of(*messages)


@pytest.mark.parametrize("server", ["lm-studio", "llama.cpp", "vllm", "sglang"])
def test_user_and_assistant_take_turns_at_servers_whose_templates_demand_it(server: str) -> None:
    messages = user("Where"), user("What?"), assistant("Ho"), user([TextPart("This"), PIXEL]), user("And?"), user("So?")
    parts = [
        {"type": "text", "text": "This"},
        {"type": "image_url", "image_url": {"url": PNG_URL}},
        {"type": "text", "text": "And?"},
        {"type": "text", "text": "So?"},
    ]
    assert messages_of(*messages, server=server) == [
        said("user", "Where\n\nWhat?"),
        said("assistant", "Ho"),
        said("user", parts),
    ]
    assert [message["role"] for message in messages_of(*messages)].count("user") == 5


# ---- files ----

SOUND, FILM = DataPart(b"ID3\0", "audio/mpeg"), DataPart(b"\0\0", "video/mp4")
LINKED = DataPart(b"https://example.org/a.png", "text/uri-list")
FILE = {"type": "file", "file": {"filename": "file.pdf", "file_data": PDF_URL}}
FORMS: dict[str, tuple[str, DataPart, dict[str, Any]]] = {
    "a PDF at OpenAI": ("openai", PAPER, FILE),
    "a PDF at Mistral": ("mistral", PAPER, {"type": "document_url", "document_url": PDF_URL}),
    "a linked PDF at OpenRouter": (
        "openrouter",
        DataPart(b"https://example.org/a.pdf", "text/uri-list"),
        {"type": "file", "file": {"filename": "file.pdf", "file_data": "https://example.org/a.pdf"}},
    ),
    "sound at Qwen": (
        "qwen",
        SOUND,
        {"type": "input_audio", "input_audio": {"data": "data:audio/mpeg;base64,SUQzAA==", "format": "mp3"}},
    ),
    "a film at OpenRouter": (
        "openrouter",
        FILM,
        {"type": "video_url", "video_url": {"url": "data:video/mp4;base64,AAA="}},
    ),
}
REFUSED: dict[str, tuple[str, DataPart, str]] = {
    "a PDF at Azure": ("azure", PAPER, "text or images"),
    "a PDF at Ollama": ("ollama", PAPER, "text or images"),
    "sound at Ollama": ("ollama", SOUND, "text or images"),
    "a linked image at Ollama": ("ollama", LINKED, "the file itself: this server fetches none"),
    "a linked PDF at OpenAI": (
        "openai",
        DataPart(b"https://example.org/a.pdf", "text/uri-list"),
        "the file itself: this server fetches none",
    ),
}


@one_test_for(("server", "part", "form"), FORMS.values(), ids=FORMS)
def test_a_file_has_the_form_that_the_server_takes(server: str, part: DataPart, form: dict[str, Any]) -> None:
    assert messages_of(user([part]), server=server) == [said("user", [form])]


@one_test_for(("server", "part", "expected"), REFUSED.values(), ids=REFUSED)
def test_a_file_that_the_server_does_not_take_is_refused_with_its_place(
    server: str, part: DataPart, expected: str
) -> None:
    with pytest.raises(RequestNotExpressibleError) as caught:
        messages_of(user("Hi"), user([part]), server=server)
    assert (caught.value.where, caught.value.expected) == ("messages[1].content[0]", expected)


def test_a_file_that_a_tool_found_and_the_server_does_not_take_is_named_to_the_model() -> None:
    made = messages_of(*tool_round("found", PAPER, PIXEL), server="ollama")
    assert made[1] == gave("found\n[application/pdf, which cannot be shown]\n[image 1 of the next user message]")
    assert [part["type"] for part in made[2]["content"]] == ["image_url"]


# ---- reasoning that goes back ----


def thought(*items: dict[str, Any], origin: str = ORIGIN.key) -> ThinkingPart:
    listed = [{"type": "message-field", **item} for item in items]
    return ThinkingPart("hm", None, {"reasoning_items": listed, "origin": origin})


PLAIN, OTHER = {"field": "reasoning_content", "text": "hm"}, {"field": "reasoning", "text": "hm"}
DETAILS = [{"type": "reasoning.text", "text": "hm", "signature": "s"}, {"type": "reasoning.encrypted", "data": "e"}]
BLOCKS = [{"type": "thinking", "thinking": "hm", "signature": "s"}]
PARTS = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "closed": True}]
SIGNATURE = {"google": {"thought_signature": "s"}}

# Server, the items of the answer "Ho", and the message that it is in the next request.
BACK: dict[str, tuple[str, list[dict[str, Any]], dict[str, Any]]] = {
    "the field in which it came": ("unknown", [PLAIN], said("assistant", "Ho", reasoning_content="hm")),
    "the other field in which it came": ("unknown", [OTHER], said("assistant", "Ho", reasoning="hm")),
    "in pieces": (
        "unknown",
        [PLAIN, {"field": "reasoning_content", "text": "mm"}],
        said("assistant", "Ho", reasoning_content="hmmm"),
    ),
    "details, and then no text": (
        "openrouter",
        [{"reasoning_details": DETAILS}, OTHER],
        said("assistant", "Ho", reasoning_details=DETAILS),
    ),
    "blocks of LiteLLM": (
        "litellm",
        [PLAIN, {"thinking_blocks": BLOCKS}],
        said("assistant", "Ho", reasoning_content="hm", thinking_blocks=BLOCKS),
    ),
    "parts of Mistral": (
        "mistral",
        [{"content_parts": PARTS}],
        said("assistant", [*PARTS, {"type": "text", "text": "Ho"}]),
    ),
    "tags, as they came": (
        "minimax",
        [{"field": "content", "text": "<think>hm</think>\n\n"}],
        said("assistant", "<think>hm</think>\n\nHo"),
    ),
    "Copilot's two fields": (
        "github-copilot",
        [{"field": "reasoning_text", "text": "hm"}, {"field": "reasoning_opaque", "text": "o"}],
        said("assistant", "Ho", reasoning_text="hm", reasoning_opaque="o"),
    ),
    "a signature of the message": (
        "gemini",
        [{"extra_content": SIGNATURE}],
        said("assistant", "Ho", extra_content=SIGNATURE),
    ),
    "the only field that Groq takes": ("groq", [PLAIN], said("assistant", "Ho", reasoning="hm")),
    "the only field that Cerebras takes": ("cerebras", [PLAIN], said("assistant", "Ho", reasoning="hm")),
    "nothing at OpenAI": ("openai", [PLAIN], said("assistant", "Ho")),
    "nothing at xAI": ("xai", [PLAIN], said("assistant", "Ho")),
    "nothing at Qwen": ("qwen", [PLAIN], said("assistant", "Ho")),
    "a field that says something else": ("unknown", [{"field": "role", "text": "tool"}], said("assistant", "Ho")),
}


@one_test_for(("server", "items", "message"), BACK.values(), ids=BACK)
def test_reasoning_goes_back_where_the_server_wants_it(
    server: str, items: list[dict[str, Any]], message: dict[str, Any]
) -> None:
    made = messages_of(user("?"), assistant([thought(*items), TextPart("Ho")]), user("!"), server=server)
    assert made[1] == message


def test_glm_at_cerebras_takes_its_thinking_as_text() -> None:
    origin = f"{ORIGIN.upstream}/zai-glm-4.6"
    messages = user("?"), assistant([thought(PLAIN, origin=origin), TextPart("Ho")])
    made = messages_of(*messages, server="cerebras", model="zai-glm-4.6")
    assert made[1] == said("assistant", "<think>hm</think>\n\nHo")


CHOSEN = {
    ReasoningBack.RECEIVED: said("assistant", "Ho", reasoning="hm"),
    ReasoningBack.REASONING_CONTENT: said("assistant", "Ho", reasoning_content="hm"),
    ReasoningBack.REASONING: said("assistant", "Ho", reasoning="hm"),
    ReasoningBack.TAGS: said("assistant", "<think>hm</think>\n\nHo"),
    ReasoningBack.OFF: said("assistant", "Ho"),
}


@one_test_for(("back", "message"), CHOSEN.items())
def test_a_person_may_say_where_reasoning_goes(back: ReasoningBack, message: dict[str, Any]) -> None:
    own = ChatCompletionsSettings(reasoning_back=back)
    made = messages_of(user("?"), assistant([thought(OTHER), TextPart("Ho")]), own=own, server="openai")
    assert made[1] == message
    assert CHOSEN.keys() == set(ReasoningBack) - {ReasoningBack.AUTO}


@pytest.mark.parametrize("server", ["deepseek", "moonshot"])
def test_every_message_with_calls_has_reasoning_where_the_server_demands_it(server: str) -> None:
    messages = (
        user("?"),
        assistant([thought(PLAIN), called("gw-1")]),
        user([result("gw-1", "x")]),
        assistant([ThinkingPart("of another model"), called("gw-2")]),
        user([result("gw-2", "y")]),
        assistant("Done."),
    )
    made = messages_of(*messages, server=server)
    assert [message.get("reasoning_content") for message in made if message["role"] == "assistant"] == ["hm", "", None]
    off = ChatCompletionsSettings(reasoning_back=ReasoningBack.OFF)
    assert "reasoning_content" not in str(messages_of(*messages, server=server, own=off))


def test_reasoning_of_another_upstream_or_model_does_not_go_back() -> None:
    for origin in ("elsewhere/small", f"{ORIGIN.upstream}/large"):
        made = messages_of(user("?"), assistant([thought(PLAIN, origin=origin), TextPart("Ho")]))
        assert made[1] == said("assistant", "Ho")


def test_a_signature_goes_back_with_its_call_and_calls_of_other_models_get_one_that_passes() -> None:
    signed = thought({"toolCallId": "2", "extra_content": SIGNATURE, "after": [1, False]})
    messages = user("?"), assistant([signed, called("gw-1"), called("gw-2")]), assistant([called("gw-3")])
    results = user([result("gw-1", "x"), result("gw-2", "y"), result("gw-3", "z")])
    (made,) = (one for one in messages_of(*messages, results) if "tool_calls" in one)
    assert made["tool_calls"] == [call("1"), call("2", extra_content=SIGNATURE), call("3")]
    other = user("?"), assistant([called("toolu_1"), called("toolu_2")])
    made = messages_of(*other, server="gemini")[1]
    skipped = {"google": {"thought_signature": "skip_thought_signature_validator"}}
    assert made["tool_calls"] == [call("toolu_1", extra_content=skipped), call("toolu_2")]
    assert messages_of(*other)[1]["tool_calls"] == [call("toolu_1"), call("toolu_2")]


def test_a_signature_goes_back_with_its_call_if_the_id_had_to_be_changed() -> None:
    long = "x" * 300
    signed = thought({"toolCallId": long, "extra_content": SIGNATURE, "after": [0, False]})
    made = messages_of(user("?"), assistant([signed, called(f"gw-{long}")]))[1]
    assert made["tool_calls"][0]["id"] != long
    assert made["tool_calls"][0]["extra_content"] == SIGNATURE


def test_what_is_known_of_a_model_is_known_only_at_its_server() -> None:
    assert quirks_of(ChatCompletionsSettings(), "kimi-k3") == Quirks()
    assert quirks_of(ChatCompletionsSettings(server="together"), "kimi-k3") == SERVER_QUIRKS["together"]
