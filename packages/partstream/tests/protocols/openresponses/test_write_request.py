"""A request body: valid by the published schema, what was chosen in it and nothing else."""

from typing import Any

import pytest

from conversation.rows import ROWS
from conversation.samples import ORIGIN, WEATHER, asked, assistant, body_of, system, user
from partstream import DataPart, TextPart, ThinkingPart, Tool, ToolMode
from partstream.conversation.preparation import Continuation, RequestSettings, SystemAs
from partstream.conversation.provider_state import Carried
from partstream.errors import LanguageModelError, UpstreamFailureError, UpstreamHTTPError
from partstream.protocols.openresponses.errors import ERRORS
from partstream.protocols.openresponses.write_request import EncryptedReasoning, OpenResponsesSettings, Truncation
from rows import one_test_for

PLAIN = {"model": "small", "input": [asked("Hi")], "stream": True, "store": False}


def test_a_request_streams_and_is_not_stored_and_holds_nothing_that_nobody_set():
    assert body_of(user("Hi")) == PLAIN
    # What Copilot's agent mode sends beside the messages.
    options = {
        "_capturingTokenCorrelationId": "x",
        "_otelTraceContext": {},
        "_telemetryTurn": 1,
        "_enableThinking": True,
    }
    assert body_of(user("Hi"), model_options=options) == PLAIN


# What was set: the fields that the body has beside those of a plain request.
CHOSEN: dict[str, tuple[dict[str, Any], RequestSettings, dict[str, Any]]] = {
    "options of a caller": (
        {"model_options": {"temperature": 0, "max_output_tokens": 100}},
        RequestSettings(),
        {"temperature": 0, "max_output_tokens": 100},
    ),
    "options in the words of others": (
        {"model_options": {"max_tokens": 100, "topP": 0.5}},
        RequestSettings(),
        {"max_output_tokens": 100, "top_p": 0.5},
    ),
    "options that would replace the request": (
        {"model_options": {"stream": False, "store": True, "input": [], "model": "x", "tools": [], "messages": []}},
        RequestSettings(),
        {},
    ),
    "the conversation": (
        {"model_options": {"_conversationId": "chat-1"}},
        RequestSettings(),
        {"prompt_cache_key": "chat-1"},
    ),
    "a conversation with a long name": (
        {"model_options": {"_conversationId": "c" * 65}},
        RequestSettings(),
        {"prompt_cache_key": "304ff80f852f3c67ad7cdacb35c02ec4"},
    ),
    "a conversation that is no name": ({"model_options": {"_conversationId": 7}}, RequestSettings(), {}),
    "an effort": (
        {"model_configuration": {"reasoningEffort": "high"}},
        RequestSettings(),
        {"reasoning": {"effort": "high", "summary": "auto"}, "include": ["reasoning.encrypted_content"]},
    ),
    "an effort of none": (
        {"model_configuration": {"reasoningEffort": "none"}},
        RequestSettings(),
        {"reasoning": {"effort": "none"}},
    ),
    "an effort of the caller before that of the person": (
        {"model_configuration": {"reasoningEffort": "high"}, "model_options": {"reasoning": {"effort": "low"}}},
        RequestSettings(),
        {"reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"]},
    ),
    "an effort, where encrypted reasoning is off": (
        {"model_configuration": {"reasoningEffort": "low"}},
        RequestSettings(own=OpenResponsesSettings(encrypted_reasoning=EncryptedReasoning.OFF)),
        {"reasoning": {"effort": "low", "summary": "auto"}},
    ),
    "encrypted reasoning": (
        {},
        RequestSettings(own=OpenResponsesSettings(encrypted_reasoning=EncryptedReasoning.ON)),
        {"include": ["reasoning.encrypted_content"]},
    ),
    "a context size that the server does not take": (
        {"model_configuration": {"contextSize": 32768}},
        RequestSettings(),
        {},
    ),
    "a context size that the server takes": (
        {"model_configuration": {"contextSize": 32768}},
        RequestSettings(context_size_field="num_ctx"),
        {"num_ctx": 32768},
    ),
    "truncation by the server": (
        {},
        RequestSettings(own=OpenResponsesSettings(truncation=Truncation.AUTO)),
        {"truncation": "auto"},
    ),
    "a summary by the server": (
        {},
        RequestSettings(own=OpenResponsesSettings(compact_at=90_000)),
        {"context_management": [{"type": "compaction", "compact_threshold": 90_000}]},
    ),
    "no context size, where the server takes it": ({}, RequestSettings(context_size_field="num_ctx"), {}),
    "storing": ({}, RequestSettings(store=True), {"store": True}),
    "continuing always": ({}, RequestSettings(continuation=Continuation.ON), {"store": True}),
    "continuing never": ({}, RequestSettings(continuation=Continuation.OFF), {}),
    "fields of the configuration": (
        {"model_options": {"temperature": 1, "_conversationId": "chat-1"}},
        RequestSettings(extra_body={"temperature": 0.2, "service_tier": "flex", "prompt_cache_key": None}),
        {"temperature": 0.2, "service_tier": "flex"},
    ),
}


@one_test_for(("options", "settings", "fields"), CHOSEN.values(), ids=CHOSEN)
def test_what_was_chosen_is_sent(options: dict[str, Any], settings: RequestSettings, fields: dict[str, Any]):
    assert body_of(user("Hi"), settings=settings, **options) == PLAIN | fields


def test_a_summary_of_the_conversation_goes_back_where_it_stood_also_at_the_end_of_an_answer():
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "e"}
    metadata = {"reasoning_items": [{**item, "after": [0, True]}], "origin": ORIGIN.key}
    answer = assistant([ThinkingPart("", None, metadata), TextPart("Hello")])
    items = body_of(user("Hi"), answer, user("Go on"))["input"]
    assert items[2] == item
    assert [one.get("role", one["type"]) for one in items] == ["user", "assistant", "compaction", "user"]


def test_a_field_that_is_taken_out_is_not_sent_as_null():
    assert "store" not in body_of(user("Hi"), settings=RequestSettings(extra_body={"store": None}))


def test_system_messages_become_the_instructions_wherever_they_stand():
    parts = [TextPart("Be "), TextPart("kind."), DataPart(b"ephemeral", "cache_control")]
    body = body_of(system("Be brief."), user("Hi"), system(parts), system(""))
    assert body == PLAIN | {"instructions": "Be brief.\n\nBe kind."}
    as_items = RequestSettings(system_as=SystemAs.DEVELOPER)
    assert "instructions" not in body_of(system("Be brief."), user("Hi"), settings=as_items)


def test_leading_words_of_the_assistant_become_the_instructions_and_a_greeting_does_not():
    assert body_of(assistant("Answer in French."), user("Hi")) == PLAIN | {"instructions": "Answer in French."}
    assert "instructions" not in body_of(assistant("Hello! What can I do for you?"), user("Hi"))


def test_tools_keep_their_schema_get_an_empty_one_where_they_have_none_and_do_not_ask_for_strictness():
    body = body_of(user("Hi"), tools=(WEATHER, Tool("now", "")))
    assert body["tools"] == [
        {
            "type": "function",
            "name": "get_weather",
            "description": "Tells the weather.",
            "parameters": WEATHER.input_schema,
            "strict": False,
        },
        {
            "type": "function",
            "name": "now",
            "description": "",
            "parameters": {"type": "object", "properties": {}},
            "strict": False,
        },
    ]
    assert body["tool_choice"] == "auto"


@pytest.mark.parametrize(("mode", "choice"), [(ToolMode.AUTO, "auto"), (ToolMode.REQUIRED, "required")])
def test_the_tool_mode_becomes_the_tool_choice_where_there_are_tools(mode: ToolMode, choice: str):
    assert body_of(user("Hi"), tools=(WEATHER,), tool_mode=mode)["tool_choice"] == choice
    assert body_of(user("Hi"), tool_mode=mode) == PLAIN


@one_test_for("row", ROWS.values(), ids=ROWS)
def test_cache_breakpoints_have_no_place_in_this_protocol(row: Any):
    assert "cache_control" not in str(body_of(*row.messages, settings=row.settings))


# ---- what an upstream refuses ----

REFUSALS: dict[str, tuple[LanguageModelError, bool, bool]] = {
    "the code of the specification": (
        UpstreamHTTPError(400, provider_code="previous_response_not_found", provider_message="gone"),
        True,
        False,
    ),
    "words alone": (
        UpstreamHTTPError(404, provider_message="Previous response with id 'resp_1' not found."),
        True,
        False,
    ),
    "the field": (UpstreamHTTPError(400, provider_message="Unknown parameter: 'previous_response_id'."), True, False),
    "a call that is not known": (
        UpstreamHTTPError(400, provider_message="No tool call found for function call output with call_id x."),
        True,
        False,
    ),
    "inside the stream": (
        UpstreamFailureError("Previous response not found.", provider_code="previous_response_not_found"),
        True,
        False,
    ),
    "reasoning of another account": (
        UpstreamHTTPError(400, provider_code="invalid_encrypted_content", provider_message="no"),
        False,
        True,
    ),
    "reasoning that the server cannot read": (
        UpstreamHTTPError(422, provider_message="Encrypted content is not supported"),
        False,
        True,
    ),
    "another mistake": (UpstreamHTTPError(400, provider_message="max_output_tokens is too small"), False, False),
    "an overload": (UpstreamHTTPError(503, provider_message="previous response pending"), False, False),
}


@one_test_for(("error", "response", "reasoning"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_says_which_carried_state_it_is_about(error: Any, response: bool, reasoning: bool):
    refused = ERRORS.refused(error)
    assert (Carried.RESPONSE in refused, Carried.REASONING in refused) == (response, reasoning)
