"""Requests to Ollama (docs/wires/ollama.md#requests)."""

import base64
from dataclasses import replace
from typing import Any

import pytest

from conversation.samples import ORIGIN, PDF, PNG, WEATHER, called, gave, system
from partstream import DataPart, RequestNotExpressibleError, TextPart, ThinkingPart, Tool, ToolMode
from partstream.conversation.preparation import ModelCapabilities, RequestSettings, SystemAs, ToolImages
from partstream.conversation.provider_state import ITEMS
from partstream.conversation.provider_state import ORIGIN as ORIGIN_KEY
from partstream.errors import UpstreamHTTPError
from partstream.protocols.ollama.models import OWN_SETTINGS, OllamaSettings
from partstream.protocols.ollama.write_request import CAREFUL_WINDOW, WRITE_REQUEST
from partstream.protocols.schemas import tool_schema
from partstream.settings.kinds import ConfigurationError
from protocols.ollama.requests import THINKS, assistant, body_of, messages_of, user, written
from rows import one_test_for

HI = user("Hi")
IMAGE = base64.b64encode(PNG).decode()


# ---- nothing is cut in silence ----


def test_the_smallest_request_says_the_window_and_that_nothing_may_be_cut() -> None:
    assert body_of(HI) == {
        "model": "small",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "truncate": False,
        "shift": False,
        "options": {"num_ctx": 8000},
    }
    assert written(HI).path == "/chat"


@one_test_for(
    ("own", "known", "chosen", "expected"),
    [
        (OllamaSettings(), ModelCapabilities(), None, 8000),  # what is advertised for prompt and answer together
        (OllamaSettings(num_ctx=9000), ModelCapabilities(), None, 9000),
        (OllamaSettings(num_ctx=9000), ModelCapabilities(context_window=7000), None, 7000),  # advertised, capped
        (OllamaSettings(), ModelCapabilities(context_window=16384), None, 16384),
        (OllamaSettings(), ModelCapabilities(context_window=16384), 65536, 65536),
        (OllamaSettings(num_ctx=0), ModelCapabilities(context_window=16384), None, None),
        (OllamaSettings(num_ctx=0), ModelCapabilities(context_window=16384), 65536, 65536),
    ],
)
def test_the_window_of_a_request_is_the_advertised_one_and_a_chosen_size_wins(
    own: OllamaSettings, known: ModelCapabilities, chosen: int | None, expected: int | None
) -> None:
    choice = {} if chosen is None else {"contextSize": chosen}
    body = body_of(HI, own=own, known=known, model_configuration=choice)
    assert body["options"].get("num_ctx") == expected


WINDOWS = {
    "nothing known": (OllamaSettings(), ModelCapabilities(), CAREFUL_WINDOW, "default"),
    "a small model": (OllamaSettings(), ModelCapabilities(trained_window=8192), 8192, "default"),
    "a large model": (OllamaSettings(), ModelCapabilities(trained_window=131072), CAREFUL_WINDOW, "default"),
    "the Modelfile": (
        OllamaSettings(),
        ModelCapabilities(loaded_window=65536, trained_window=131072),
        65536,
        "details",
    ),
    "set": (OllamaSettings(num_ctx=50000), ModelCapabilities(loaded_window=65536), 50000, "configuration"),
    "set too large": (OllamaSettings(num_ctx=50000), ModelCapabilities(trained_window=8192), 8192, "configuration"),
    "left to the server": (OllamaSettings(num_ctx=0), ModelCapabilities(trained_window=131072), 4096, "default"),
    "left to the server, loaded": (OllamaSettings(num_ctx=0), ModelCapabilities(loaded_window=9000), 9000, "details"),
}


@one_test_for("name", WINDOWS)
def test_the_window_is_what_a_person_set_then_what_the_server_says_and_never_above_the_trained_one(name: str) -> None:
    """See docs/wires/ollama.md#context-window and docs/wires/ollama.md#models."""
    own, known, tokens, source = WINDOWS[name]
    chosen = WRITE_REQUEST.choose_window(RequestSettings(own=own, capabilities=known))
    assert (chosen.value, chosen.source.value) == (tokens, source)


def test_truncate_and_shift_are_always_the_same_unless_somebody_sets_them() -> None:
    again = [body_of(HI), body_of(HI, tools=(WEATHER,)), body_of(user(DataPart(PNG, "image/png")))]
    assert {(one["truncate"], one["shift"]) for one in again} == {(False, False)}
    body = body_of(HI, own=OllamaSettings(truncate=True, shift=True))
    assert (body["truncate"], body["shift"]) == (True, True)
    assert body_of(HI, model_options={"truncate": True})["truncate"] is True


@one_test_for(("set_", "sent"), [("10m", "10m"), ("600", 600), ("-1", -1), ("1h30m", "1h30m"), ("0", 0)])
def test_a_model_stays_loaded_as_long_as_a_person_says(set_: str, sent: Any) -> None:
    assert body_of(HI, own=OllamaSettings(keep_alive=set_))["keep_alive"] == sent
    row = next(row for row in OWN_SETTINGS.rows if row.name == "keepAlive")
    assert row.kind.read(set_, "keepAlive") == set_
    with pytest.raises(ConfigurationError, match="duration such as `10m`"):
        row.kind.read("soon", "keepAlive")


# ---- options ----


def test_options_go_where_ollama_reads_them() -> None:
    options = {"temperature": 0.5, "maxTokens": 7, "stopSequences": "x", "top_k": 3, "logprobs": True, "new": 1}
    body = body_of(HI, model_options=options)
    assert body["options"] == {"num_ctx": 8000, "temperature": 0.5, "num_predict": 7, "stop": ["x"], "top_k": 3}
    assert (body["logprobs"], body["new"]) == (True, 1)


def test_the_limit_of_a_configuration_is_num_predict() -> None:
    settings = RequestSettings(max_output_tokens=500)
    assert body_of(HI, settings=settings)["options"]["num_predict"] == 500
    assert body_of(HI, settings=settings, model_options={"max_tokens": 9})["options"]["num_predict"] == 9


SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"response_format": {"type": "json_object"}}, "json"),
        ({"responseFormat": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}}, SCHEMA),
        ({"format": SCHEMA}, SCHEMA),
    ],
)
def test_a_format_of_chat_completions_is_ollamas(given: dict[str, Any], sent: Any) -> None:
    assert body_of(HI, model_options=given)["format"] == sent


def test_extra_options_are_added_and_the_window_stays() -> None:
    settings = RequestSettings(extra_body={"options": {"num_gpu": 1, "top_p": None}, "shift": None})
    body = body_of(HI, settings=settings, model_options={"top_p": 1})
    assert body["options"] == {"num_ctx": 8000, "num_gpu": 1}
    assert "shift" not in body


# ---- think ----


@one_test_for(
    ("effort", "think"),
    [
        ("none", False),
        ("minimal", "low"),
        ("low", "low"),
        ("medium", "medium"),
        ("high", "high"),
        ("xhigh", "max"),
        ("max", "max"),
        ("odd", None),
    ],
)
def test_an_effort_is_a_level_of_think(effort: str, think: Any) -> None:
    assert body_of(HI, known=THINKS, model_configuration={"reasoningEffort": effort}).get("think") == think


@pytest.mark.parametrize("reasoning", [None, False])
@pytest.mark.parametrize("effort", ["none", "high"])
def test_think_is_sent_only_to_models_that_are_known_to_think(reasoning: bool | None, effort: str) -> None:
    known = ModelCapabilities(reasoning=reasoning)
    assert "think" not in body_of(HI, known=known, model_configuration={"reasoningEffort": effort})


@pytest.mark.parametrize(
    ("model", "efforts"), [("gpt-oss:20b", None), ("me/gpt-oss:20b", ("none",)), ("tuned", ("low", "medium", "high"))]
)
def test_a_model_that_cannot_stop_thinking_never_gets_a_boolean(model: str, efforts: tuple[str, ...] | None) -> None:
    known = replace(THINKS, reasoning_efforts=efforts)
    body = body_of(HI, model=model, known=known, model_configuration={"reasoningEffort": "none"})
    assert body["think"] == "low"


def test_a_caller_may_say_think_itself() -> None:
    assert body_of(HI, model_options={"think": True})["think"] is True


REFUSALS = {
    "an old server": ('invalid think value: "max" (must be "high", "medium", "low", true, or false)', "max", "high"),
    "a model that does not think": ('"llama3" does not support thinking', "high", None),
    "an unknown level": ('invalid think value: "odd" (must be ...)', "odd", None),
    "a server of booleans": (
        "json: cannot unmarshal string into Go struct field ChatRequest.think of type bool",
        "low",
        None,
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refused_think_is_sent_again_as_the_server_takes_it(name: str) -> None:
    said, sent, instead = REFUSALS[name]
    request = written(HI, model_options={"think": sent})
    error = UpstreamHTTPError(400, provider_message=said)
    names = WRITE_REQUEST.errors.refused_fields(error, request.body)
    assert WRITE_REQUEST.leave_out(request, names).body.get("think") == instead


# ---- messages ----


def test_system_messages_stand_first_or_in_their_places() -> None:
    said = (system("Be brief."), HI)
    assert messages_of(*said)[0] == {"role": "system", "content": "Be brief."}
    settings = RequestSettings(system_as=SystemAs.DEVELOPER)
    assert messages_of(HI, system("Be brief."), settings=settings)[1] == {"role": "system", "content": "Be brief."}


def test_calls_are_objects_and_results_follow_in_their_order_with_name_and_id() -> None:
    """Old servers need the name, and newer ones the id (docs/wires/ollama.md#requests)."""
    said = messages_of(
        HI,
        assistant("I look.", called("gw-a", "one", city="Paris"), called("gw-b", "two")),
        user(gave("gw-b", "2"), gave("gw-a", "1"), "Go on."),
    )
    assert said[1:] == [
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"id": "a", "function": {"name": "one", "arguments": {"city": "Paris"}}},
                {"id": "b", "function": {"name": "two", "arguments": {}}},
            ],
        },
        {"role": "tool", "content": "1", "tool_name": "one", "tool_call_id": "a"},
        {"role": "tool", "content": "2", "tool_name": "two", "tool_call_id": "b"},
        {"role": "user", "content": "Go on."},
    ]


def test_a_failed_tool_is_said_in_words() -> None:
    result = messages_of(HI, assistant(called()), user(gave("gw-1", "no file", is_error=True)))[-1]
    assert result["content"].endswith("no file")
    assert "failed" in result["content"]


def test_an_image_is_base64_alone_beside_the_text() -> None:
    """Ollama takes bare base64 (docs/wires/ollama.md#requests)."""
    said = messages_of(user("What is this?", DataPart(PNG, "image/png")))
    assert said == [{"role": "user", "content": "What is this?", "images": [IMAGE]}]


def test_an_image_of_a_result_follows_unless_the_model_takes_it_inside() -> None:
    said = (HI, assistant(called()), user(gave("gw-1", "seen", DataPart(PNG, "image/png"))))
    *_, result, shown = messages_of(*said)
    assert "images" not in result
    assert (shown["role"], shown["images"]) == ("user", [IMAGE])
    inside = messages_of(*said, settings=RequestSettings(tool_images=ToolImages.NATIVE))[-1]
    assert (inside["role"], inside["images"]) == ("tool", [IMAGE])


def test_the_address_of_an_image_is_refused_with_its_place() -> None:
    part = DataPart(b"https://example.com/a.png", "text/uri-list")
    with pytest.raises(RequestNotExpressibleError, match=r"the address of image/png.*the image itself"):
        body_of(user(part))


def test_words_stand_in_the_place_of_a_file_that_is_no_image() -> None:
    (said,) = messages_of(user("Look: ", DataPart(PDF, "application/pdf")))
    assert said == {"role": "user", "content": "Look: [application/pdf, which cannot be shown]"}


def test_a_file_of_a_result_that_is_no_image_is_named() -> None:
    said = messages_of(HI, assistant(called()), user(gave("gw-1", DataPart(PDF, "application/pdf"))))
    assert said[-1]["content"] == "[application/pdf, which cannot be shown]"


def _thought(*items: dict[str, str]) -> ThinkingPart:
    listed = [{"type": "message-field", **item} for item in items]
    return ThinkingPart("Hm", None, {ITEMS: listed, ORIGIN_KEY: ORIGIN.key})


def test_thinking_goes_back_into_its_own_field() -> None:
    """See docs/wires/ollama.md#thinking."""
    carried = _thought({"field": "thinking", "text": "A "}, {"field": "thinking", "text": "city."})
    said = messages_of(HI, assistant(carried, called()), user(gave()))[1]
    assert (said["thinking"], said["content"]) == ("A city.", "")


def test_thinking_in_tags_goes_back_as_it_came() -> None:
    carried = _thought({"field": "content", "text": "<think>Hm</think>\n\n"})
    said = messages_of(HI, assistant(carried, TextPart("Hello")), HI)[1]
    assert said == {"role": "assistant", "content": "<think>Hm</think>\n\nHello"}


def test_state_of_another_vendor_is_never_sent() -> None:
    signed = ThinkingPart("Hm", "rs", {ITEMS: [{"type": "thinking", "thinking": "Hm", "signature": "s"}]})
    foreign = replace(signed, metadata={**(signed.metadata or {}), ORIGIN_KEY: "another"})
    own = replace(signed, metadata={**(signed.metadata or {}), ORIGIN_KEY: ORIGIN.key})
    for part in (signed, foreign, own):
        assert messages_of(HI, assistant(part, TextPart("Hello")), HI)[1] == {"role": "assistant", "content": "Hello"}


# ---- tools ----


def test_tools_are_functions_and_a_demanded_call_is_a_request_like_any_other() -> None:
    body = body_of(HI, tools=(WEATHER,), tool_mode=ToolMode.REQUIRED)
    function = {"name": "get_weather", "description": "Tells the weather.", "parameters": WEATHER.input_schema}
    assert body["tools"] == [{"type": "function", "function": function}]
    assert "tool_choice" not in body


def test_a_name_that_parsers_do_not_take_is_replaced() -> None:
    (tool,) = body_of(HI, tools=(Tool("mcp.find/it", "", None),))["tools"]
    assert tool["function"]["name"].startswith("mcp_find_it_")


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


SCHEMAS: dict[str, tuple[Any, Any]] = {
    "nothing": ({}, {"type": "object", "properties": {}}),
    "a definition": ({**of(a={"$ref": "#/$defs/A"}), "$defs": {"A": {"type": "string"}}}, of(a={"type": "string"})),
    "branches": (
        of(a={"oneOf": [{"type": "string", "minLength": 2}, {"const": 1}]}),
        of(a={"anyOf": [{"type": "string", "description": "(at least 2 characters)"}, {"enum": [1]}]}),
    ),
    "parts": (
        of(a={"allOf": [{"type": "object", "properties": {"b": {"type": "string"}}}], "description": "Both."}),
        of(a={"type": "object", "properties": {"b": {"type": "string"}}, "description": "Both."}),
    ),
    "bounds": (
        of(a={"type": "integer", "minimum": 1, "maximum": 10, "default": 3, "description": "How many."}),
        of(a={"type": "integer", "description": "How many. (at least 1; at most 10; default 3)"}),
    ),
    "items, which pass as they are": (
        of(a={"type": "array", "minItems": 1, "items": {"type": "string", "pattern": "^a"}}),
        of(a={"type": "array", "items": {"type": "string", "pattern": "^a"}, "description": "(at least 1 items)"}),
    ),
    "a definition in items": (
        {**of(a={"type": "array", "items": {"$ref": "#/$defs/A"}}), "$defs": {"A": {"type": "string"}}},
        of(a={"type": "array", "items": {"type": "string"}}),
    ),
    "a property of any kind": (of(a=True), of(a={})),
    "what is required": (
        {**of(a={"type": "string"}), "required": ["a"]},
        {**of(a={"type": "string"}), "required": ["a"]},
    ),
    "what is lost at the top": ({**of(), "additionalProperties": False, "title": "T"}, of()),
}


@one_test_for("name", SCHEMAS)
def test_a_schema_is_written_in_what_ollama_passes_on(name: str) -> None:
    given, expected = SCHEMAS[name]
    assert tool_schema(given) == expected


@one_test_for("name", SCHEMAS)
def test_a_schema_that_was_written_stays_the_same_so_that_bounds_are_said_once(name: str) -> None:
    once = tool_schema(SCHEMAS[name][0])
    assert tool_schema(once) == once
