"""A request body: one that the official client could send, what was chosen in it and nothing else."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_schema import check_demands, validate_request
from conversation.rows import ROWS as CONVERSATIONS
from conversation.samples import ORIGIN, WEATHER, assistant, called, system, user
from conversation.samples import gave as result
from conversation.strategies import WORDS, conversations
from copilot_requests import CopilotRequest, copilot_requests
from partstream import ChatMessage, TextPart, ThinkingPart, Tool, ToolMode, ToolResultPart
from partstream.conversation.preparation import RequestSettings, SystemAs, ToolImages
from partstream.conversation.provider_state import Carried
from partstream.errors import RequestNotExpressibleError
from partstream.protocols.chat_completions.models import (
    OWN_SETTINGS,
    SERVER_QUIRKS,
    ChatCompletionsSettings,
    EmptyContent,
    MaxTokensField,
    quirks_of,
)
from partstream.settings.kinds import ConfigurationError
from protocols.chat_completions.requests import body_of, call, calls, gave, messages_of, said, written
from protocols.chat_completions.rows import ROWS, Row
from rows import one_test_for

PLAIN = {
    "model": "small",
    "messages": [said("user", "Hi")],
    "stream": True,
    "stream_options": {"include_usage": True},
}


@one_test_for("row", ROWS.values(), ids=ROWS)
def test_messages_of(row: Row) -> None:
    body = body_of(*row.messages, settings=row.settings)
    assert body["messages"] == row.written
    if row.settings.tool_images is not ToolImages.NATIVE:
        validate_request(body)


@one_test_for("row", CONVERSATIONS.values(), ids=CONVERSATIONS)
def test_every_conversation_that_another_protocol_is_tested_with_becomes_a_valid_body(row: Any) -> None:
    body = body_of(*row.messages, settings=row.settings)
    check_demands(body)
    if row.settings.tool_images is not ToolImages.NATIVE:
        validate_request(body)


def test_a_server_that_nobody_knows_gets_the_smallest_body() -> None:
    assert body_of(user("Hi")) == PLAIN
    # What Copilot's agent mode sends beside the messages.
    options = {
        "_capturingTokenCorrelationId": "x",
        "_telemetryTurn": 1,
        "_enableThinking": True,
        "_conversationId": "c",
    }
    request = written(user("Hi"), model_options=options)
    assert (request.path, request.body, request.headers) == ("/chat/completions", PLAIN, {})


# What was set: the fields that the body has beside those of a plain request.
CHOSEN: dict[str, tuple[dict[str, Any], RequestSettings, dict[str, Any]]] = {
    "options of a caller": (
        {"model_options": {"temperature": 0, "max_tokens": 100}},
        RequestSettings(),
        {"temperature": 0, "max_tokens": 100},
    ),
    "options in the words of others": (
        {"model_options": {"max_output_tokens": 100, "topP": 0.5, "stopSequences": ["x"]}},
        RequestSettings(),
        {"max_tokens": 100, "top_p": 0.5, "stop": ["x"]},
    ),
    "options that would replace the request": (
        {"model_options": {"stream": False, "store": True, "input": [], "model": "x", "tools": [], "messages": []}},
        RequestSettings(),
        {},
    ),
    "an effort": (
        {"model_configuration": {"reasoningEffort": "high"}},
        RequestSettings(),
        {"reasoning_effort": "high"},
    ),
    "an effort of the caller before that of the person": (
        {"model_configuration": {"reasoningEffort": "high"}, "model_options": {"reasoningEffort": "low"}},
        RequestSettings(),
        {"reasoning_effort": "low"},
    ),
    "an effort as OpenResponses says it": (
        {"model_options": {"reasoning": {"effort": "low", "summary": "auto"}}},
        RequestSettings(),
        {"reasoning_effort": "low"},
    ),
    "an effort as OpenRouter says it": (
        {"model_options": {"reasoning": {"max_tokens": 100}}},
        RequestSettings(),
        {"reasoning": {"max_tokens": 100}},
    ),
    "the longest answer": ({}, RequestSettings(max_output_tokens=100), {"max_tokens": 100}),
    "the longest answer for one request": (
        {"model_options": {"maxOutputTokens": 50}},
        RequestSettings(max_output_tokens=100),
        {"max_tokens": 50},
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
    "storing": ({}, RequestSettings(store=True), {"store": True}),
    "fields of the configuration": (
        {"model_options": {"temperature": 1}},
        RequestSettings(extra_body={"temperature": 0.2, "service_tier": "flex", "stream_options": None}),
        {"temperature": 0.2, "service_tier": "flex", "stream_options": None},
    ),
}


@one_test_for(("options", "settings", "fields"), CHOSEN.values(), ids=CHOSEN)
def test_what_was_chosen_is_sent(options: dict[str, Any], settings: RequestSettings, fields: dict[str, Any]) -> None:
    expected = {name: value for name, value in (PLAIN | fields).items() if value is not None}
    assert body_of(user("Hi"), settings=settings, **options) == expected


def test_what_a_person_sets_wins_over_what_is_known_of_the_server() -> None:
    messages = user("?"), assistant([called()]), user([result("gw-1", "x")])
    own = ChatCompletionsSettings(max_tokens_field=MaxTokensField.MAX_TOKENS, empty_content=EmptyContent.TEXT)
    body = body_of(*messages, server="openai", own=own, settings=RequestSettings(max_output_tokens=7))
    assert body["max_tokens"] == 7
    assert body["messages"][1] == calls(call(), content="")
    unknown = ChatCompletionsSettings(server="unknown")
    assert body_of(user("Hi"), url="https://api.openai.com/v1", own=unknown) == PLAIN


def test_tools_keep_their_schema_get_an_empty_one_where_they_have_none_and_no_empty_description() -> None:
    body = body_of(user("Hi"), tools=(WEATHER, Tool("now", "")))
    function = {"name": "get_weather", "description": "Tells the weather.", "parameters": WEATHER.input_schema}
    empty = {"name": "now", "parameters": {"type": "object", "properties": {}}}
    assert body == PLAIN | {"tools": [{"type": "function", "function": one} for one in (function, empty)]}


def test_the_model_is_told_that_it_must_call_a_tool_and_nothing_where_it_may() -> None:
    assert "tool_choice" not in body_of(user("Hi"), tools=(WEATHER,))
    assert body_of(user("Hi"), tools=(WEATHER,), tool_mode=ToolMode.REQUIRED)["tool_choice"] == "required"
    assert body_of(user("Hi"), tool_mode=ToolMode.REQUIRED) == PLAIN


def test_what_json_cannot_say_is_refused_with_its_place() -> None:
    with pytest.raises(RequestNotExpressibleError) as caught:
        body_of(assistant([called(x=float("inf"))]))
    assert caught.value.where == "messages[0].content[0].input"


# ---- what Copilot sent ----

every_request = pytest.mark.parametrize("request_", copilot_requests().values(), ids=copilot_requests())


@every_request
def test_what_copilot_asks_becomes_a_body_of_the_official_client_with_all_words_in_it(request_: CopilotRequest) -> None:
    options = request_.options
    body = body_of(
        *request_.messages,
        tools=options.tools,
        tool_mode=options.tool_mode,
        model_options=options.model_options,
        model_configuration=options.model_configuration,
    )
    validate_request(body)
    assert [tool["function"]["name"] for tool in body.get("tools", [])] == [tool.name for tool in options.tools]
    words = json.dumps(body["messages"], ensure_ascii=False)
    for message in request_.messages:
        for part in message.content:
            inner = part.content if isinstance(part, ToolResultPart) else (part,)
            said_texts = [piece.value for piece in inner if isinstance(piece, TextPart)]
            assert all(json.dumps(value, ensure_ascii=False)[1:-1] in words for value in said_texts)
            if isinstance(part, ThinkingPart) and part.value:
                assert part.value not in words
    assert "partstream1." not in words


@every_request
@one_test_for("server", SERVER_QUIRKS)
def test_what_copilot_asks_keeps_to_the_demands_of_every_known_server(request_: CopilotRequest, server: str) -> None:
    check_demands(body_of(*request_.messages, server=server, tools=request_.options.tools))


# ---- any conversation ----


def listed(*items: dict[str, Any], origin: str = ORIGIN.key) -> ThinkingPart:
    return ThinkingPart("hm", None, {"reasoning_items": list(items), "origin": origin})


THINKING = st.sampled_from(
    [
        ThinkingPart("hm"),
        listed({"type": "message-field", "field": "reasoning_content", "text": "hm", "after": [0, False]}),
        listed({"type": "message-field", "field": "reasoning_content", "text": "hm"}, origin="elsewhere/large"),
        listed({"type": "message-field", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}),
        listed({"type": "message-field", "toolCallId": "1", "extra_content": {"google": {"thought_signature": "s"}}}),
        listed({"type": "message-field", "field": "content", "text": "<think>hm</think>", "after": [0, True]}),
    ]
)
SETTINGS = st.builds(RequestSettings, system_as=st.sampled_from(SystemAs), tool_images=st.sampled_from(ToolImages))


@given(
    conversations(THINKING),
    SETTINGS,
    st.sampled_from(["unknown", *SERVER_QUIRKS]),
    st.sampled_from(ToolMode),
    st.lists(WORDS, unique=True, max_size=3),
)
def test_any_conversation_keeps_to_what_every_known_server_demands(
    messages: list[ChatMessage], settings: RequestSettings, server: str, mode: ToolMode, names: list[str]
) -> None:
    own = ChatCompletionsSettings(server=server)
    quirks = quirks_of(own, "small")
    tools = tuple(Tool(name, "") for name in names)
    try:
        body = body_of(*messages, own=own, settings=settings, tools=tools, tool_mode=mode)
    except RequestNotExpressibleError:
        return  # a file that the server does not take
    check_demands(body)
    roles = [message["role"] for message in body["messages"]]
    allowed = {"system", "user", "assistant", "tool", quirks.system_role}
    assert set(roles) <= allowed | ({"developer"} if settings.system_as is SystemAs.DEVELOPER else set())
    if settings.system_as is SystemAs.INSTRUCTIONS:
        assert "system" not in roles[1:]
    if quirks.joins_users:
        assert ("user", "user") not in set(pairwise(roles))
    if quirks.answers_results:
        assert ("tool", "user") not in set(pairwise(roles))
    for message in body["messages"]:
        for one in message.get("tool_calls", ()):
            assert quirks.call_ids.own.fits(one["id"])
            assert quirks.tool_names.fits(one["function"]["name"])
            assert not quirks.filled_reasoning or quirks.filled_reasoning in message
    assert all(quirks.tool_names.fits(tool["function"]["name"]) for tool in body.get("tools", ()))
    assert json.loads(json.dumps(body)) == body


@given(conversations(THINKING), st.sampled_from(["unknown", *SERVER_QUIRKS]))
def test_a_longer_conversation_says_its_calls_by_the_same_ids(messages: list[ChatMessage], server: str) -> None:
    def ids(*conversation: ChatMessage) -> list[str]:
        try:
            body = body_of(*conversation, server=server)
        except RequestNotExpressibleError:
            return []
        return [one["id"] for message in body["messages"] for one in message.get("tool_calls", ())]

    first = ids(*messages)
    more = user("Go on"), assistant([called("gw-later")]), user([result("gw-later", "x")])
    assert ids(*messages, *more)[: len(first)] == first


def test_system_texts_go_first_in_the_role_that_the_model_knows() -> None:
    messages = user("Hi"), system("Be brief.")
    assert messages_of(*messages)[0] == said("system", "Be brief.")
    assert messages_of(*messages, server="openai", model="gpt-5.1")[0] == said("developer", "Be brief.")
    assert messages_of(*messages, server="openai", model="gpt-4.1")[0] == said("system", "Be brief.")


def test_carried_state_that_a_server_refused_is_left_out() -> None:
    thought = listed({"type": "message-field", "field": "reasoning_content", "text": "hm"})
    messages = user("?"), assistant([thought, called()]), user([result("gw-1", "x")])
    request = written(*messages)
    assert request.body["messages"][1] == calls(call(), reasoning_content="hm")
    without = written(*messages, carried=Carried.NOTHING)
    assert without.body["messages"] == [said("user", "?"), calls(call()), gave("x")]


def test_a_setting_names_a_server_that_is_known() -> None:
    rows = {row.name: row for row in OWN_SETTINGS.rows}
    assert rows["server"].read("mistral", "request.server") == "mistral"
    with pytest.raises(ConfigurationError) as caught:
        rows["server"].read("mistal", "request.server")
    assert "mistral" in str(caught.value)
