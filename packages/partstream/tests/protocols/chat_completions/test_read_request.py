"""How a request of Chat Completions is read as its server does."""

from base64 import b64encode
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversation.samples import PDF, PNG
from partstream import ChatMessage, DataPart, TextPart, ThinkingPart, Tool, ToolCallPart, ToolMode, ToolResultPart
from partstream.conversation.provider_state import ITEMS
from partstream.errors import InvalidRequestError
from partstream.lm.outputs import InboundRequest
from partstream.lm.parts import FilePart
from partstream.protocols.chat_completions.provider_state import sealed_entry
from partstream.protocols.chat_completions.serve import READ_REQUEST
from partstream.protocols.serve import WireRequest
from rows import one_test_for

user, assistant, system = ChatMessage.user, ChatMessage.assistant, ChatMessage.system
URL = "text/uri-list"
WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}}


def _asked(**body: Any) -> InboundRequest:
    return READ_REQUEST.read(WireRequest("/chat/completions", {"model": "small", "messages": [], **body}))


def _read(*messages: Any, **body: Any) -> InboundRequest:
    return _asked(messages=list(messages), **body)


def _said(role: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **fields}


def _call(call_id: str, name: str = "f", arguments: str = "{}", **fields: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **fields}


def _function(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **fields}}


def _base64(data: bytes) -> str:
    return b64encode(data).decode()


def _data_url(data: bytes, media_type: str) -> str:
    return f"data:{media_type};base64,{_base64(data)}"


# ---- messages ----


@one_test_for(
    ("role", "message"),
    [
        ("system", system("Hi")),
        ("developer", system("Hi")),
        ("user", user("Hi")),
        ("assistant", assistant("Hi")),
    ],
)
@one_test_for("content", ["Hi", [{"type": "text", "text": "Hi"}]], ids=["string", "parts"])
def test_each_role_speaks_in_a_string_or_in_parts(role: str, message: ChatMessage, content: Any):
    assert _read(_said(role, content)).messages == (message,)


def test_a_speaker_may_have_a_name():
    assert _read(_said("user", "Hi", name="Ada")).messages == (user("Hi", "Ada"),)


def test_an_assistant_says_its_text_and_then_its_calls():
    calls = [_call("c1"), _call("c2", "g", '{"x": 1}')]
    read = ToolCallPart("c1", "f", {}), ToolCallPart("c2", "g", {"x": 1})
    assert _read(_said("assistant", "Well", tool_calls=calls)).messages == (assistant([TextPart("Well"), *read]),)


@pytest.mark.parametrize("content", [None, "", []], ids=["null", "empty text", "no parts"])
def test_an_assistant_may_only_call(content: Any):
    asked = _read(_said("assistant", content, tool_calls=[_call("c1")]))
    assert asked.messages == (assistant([ToolCallPart("c1", "f", {})]),)


def test_an_assistant_that_says_nothing_is_no_message():
    assert _read(_said("user", "Hi"), _said("assistant", None), _said("assistant", "")).messages == (user("Hi"),)


def test_a_refusal_is_text():
    asked = _read(_said("assistant", None, refusal="No."), _said("assistant", [{"type": "refusal", "refusal": "No."}]))
    assert asked.messages == (assistant("No."), assistant("No."))


def test_results_that_follow_each_other_are_one_message_of_the_user():
    results = (
        _said("tool", "one", tool_call_id="c1"),
        _said("tool", [{"type": "text", "text": "two"}], tool_call_id="c2"),
    )
    asked = _read(_said("assistant", None, tool_calls=[_call("c1"), _call("c2")]), *results, _said("user", "And?"))
    read = [ToolResultPart("c1", (TextPart("one"),)), ToolResultPart("c2", (TextPart("two"),))]
    assert asked.messages[1:] == (user(read), user("And?"))


def test_a_result_may_hold_pictures_or_nothing():
    picture = {"type": "image_url", "image_url": {"url": _data_url(PNG, "image/png")}}
    asked = _read(_said("tool", [picture], tool_call_id="c1"), _said("tool", None, tool_call_id="c2"))
    assert asked.messages == (user([ToolResultPart("c1", (DataPart(PNG, "image/png"),)), ToolResultPart("c2")]),)


def test_calls_of_the_older_form_find_their_results_by_name():
    asked = _read(
        _said("assistant", None, function_call={"name": "f", "arguments": '{"x": 1}'}),
        _said("function", "one", name="f"),
        _said("assistant", None, function_call={"name": "f", "arguments": ""}),
        _said("function", "two", name="f"),
    )
    calls = [part.call_id for message in asked.messages for part in message.content if isinstance(part, ToolCallPart)]
    results = {
        part.call_id: part.content
        for message in asked.messages
        for part in message.content
        if isinstance(part, ToolResultPart)
    }
    assert len(set(calls)) == 2
    assert [results[call_id] for call_id in calls] == [(TextPart("one"),), (TextPart("two"),)]


def test_a_custom_tool_was_given_a_text():
    call = {"id": "c1", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}}
    assert _read(_said("assistant", None, tool_calls=[call])).messages == (
        assistant([ToolCallPart("c1", "shell", {"input": "ls -l"})]),
    )


@one_test_for(
    ("part", "read"),
    [
        ({"type": "image_url", "image_url": {"url": _data_url(PNG, "image/png")}}, DataPart(PNG, "image/png")),
        ({"type": "image_url", "image_url": _data_url(PNG, "image/png")}, DataPart(PNG, "image/png")),
        (
            {"type": "image_url", "image_url": {"url": "https://a.example/png"}},
            DataPart.text("https://a.example/png", f"{URL};type=image/*"),
        ),
        (
            {"type": "video_url", "video_url": {"url": "https://a.example/mp4"}},
            DataPart.text("https://a.example/mp4", f"{URL};type=video/*"),
        ),
        (
            {"type": "document_url", "document_url": "https://a.example/pdf"},
            DataPart.text("https://a.example/pdf", f"{URL};type=application/pdf"),
        ),
        (
            {"type": "input_audio", "input_audio": {"data": _base64(b"sound"), "format": "mp3"}},
            DataPart(b"sound", "audio/mpeg"),
        ),
        (
            {"type": "input_audio", "input_audio": {"data": _base64(b"sound"), "format": "wav"}},
            DataPart(b"sound", "audio/wav"),
        ),
        (
            {"type": "input_audio", "input_audio": {"data": _data_url(b"sound", "audio/ogg"), "format": "wav"}},
            DataPart(b"sound", "audio/ogg"),
        ),
        (
            {"type": "file", "file": {"filename": "document.pdf", "file_data": _data_url(PDF, "application/pdf")}},
            FilePart(PDF, "application/pdf", about={"filename": "document.pdf"}),
        ),
        ({"type": "file", "file": {"file_data": _base64(PDF)}}, DataPart(PDF, "application/pdf")),
        (
            {"type": "file", "file": {"file_data": "https://a.example/pdf"}},
            DataPart.text("https://a.example/pdf", f"{URL};type=application/pdf"),
        ),
    ],
)
def test_pictures_sounds_and_files_are_their_bytes_or_their_address(part: dict[str, Any], read: DataPart):
    asked = _read(_said("user", [{"type": "text", "text": "Look:"}, part]))
    assert asked.messages == (user([TextPart("Look:"), read]),)


# ---- thinking ----


def _items(*items: dict[str, Any]) -> dict[str, Any]:
    return {ITEMS: [{"type": "message-field", **item} for item in items]}


def _thinking(**fields: Any) -> ThinkingPart:
    part = _read(_said("assistant", "Well", **fields)).messages[0].content[0]
    assert isinstance(part, ThinkingPart)
    return part


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_thinking_comes_back_in_the_field_of_its_server(field: str):
    part = _thinking(**{field: "Hm."})
    assert (part.value, part.metadata) == ("Hm.", _items({"field": field, "text": "Hm."}))


def test_of_several_fields_of_thinking_the_first_that_says_something_counts():
    part = _thinking(reasoning_content="", reasoning="Hm.", reasoning_text="Hm.")
    assert (part.value, part.metadata) == ("Hm.", _items({"field": "reasoning", "text": "Hm."}))


def test_empty_thinking_is_kept_as_state():
    part = _thinking(reasoning_content="", tool_calls=[_call("c1")])
    assert (part.value, part.metadata) == ("", _items({"field": "reasoning_content", "text": ""}))


def test_the_entries_of_a_server_come_back_whole_and_in_order():
    entries = [{"type": "reasoning.text", "text": "Hm.", "index": 0}, {"type": "reasoning.encrypted", "data": "x"}]
    part = _thinking(reasoning="Hm.", reasoning_details=entries)
    assert (part.value, part.metadata) == ("Hm.", _items({"reasoning_details": entries}))
    assert _thinking(reasoning_details=entries).value == "Hm."


def test_sealed_state_is_opened():
    item = {"type": "reasoning", "id": "rs_1", "encrypted_content": "x", "after": [1, False]}
    metadata = {"origin": "server/model", ITEMS: [item]}
    part = _thinking(reasoning_content="Hm.", reasoning_details=[{"index": 0, **(sealed_entry(item, metadata) or {})}])
    assert (part.value, part.metadata) == ("Hm.", metadata)


def test_the_state_of_a_call_stands_at_the_call():
    state = {"google": {"thought_signature": "x"}}
    part = _thinking(tool_calls=[_call("c1", extra_content=state), _call("c2")])
    assert (part.value, part.metadata) == ("", _items({"toolCallId": "c1", "extra_content": state}))


def test_copilots_opaque_state_is_an_item_beside_its_text():
    items = {"field": "reasoning_text", "text": "Hm."}, {"field": "reasoning_opaque", "text": "x"}
    assert _thinking(reasoning_text="Hm.", reasoning_opaque="x").metadata == _items(*items)


def test_signed_blocks_stand_for_the_text_beside_them():
    blocks = [{"type": "thinking", "thinking": "Hm.", "signature": "x"}]
    assert _thinking(reasoning_content="Hm.", thinking_blocks=blocks).metadata == _items({"thinking_blocks": blocks})


def test_thinking_may_stand_in_the_content():
    content = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}], "closed": True},
        {"type": "text", "text": "Well"},
    ]
    assert _read(_said("assistant", content)).messages == (assistant([ThinkingPart("Hm."), TextPart("Well")]),)


# ---- tools ----


def test_functions_are_tools():
    tools = [_function("f", description="Does it.", parameters=WEATHER), _function("g"), {"function": {"name": "h"}}]
    assert _read(tools=tools).options.tools == (
        Tool("f", "Does it.", WEATHER),
        Tool("g", "", None),
        Tool("h", "", None),
    )


@one_test_for(
    ("choice", "names", "mode"),
    [
        (None, "fg", ToolMode.AUTO),
        ("auto", "fg", ToolMode.AUTO),
        ("none", "", ToolMode.AUTO),
        ("required", "fg", ToolMode.REQUIRED),
        ("any", "fg", ToolMode.REQUIRED),
        ({"type": "function", "function": {"name": "g"}}, "g", ToolMode.REQUIRED),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [_function("f")]}},
            "f",
            ToolMode.REQUIRED,
        ),
        ({"type": "allowed_tools", "allowed_tools": {"tools": [_function("f")]}}, "f", ToolMode.AUTO),
    ],
)
def test_the_choice_says_which_tools_there_are_and_whether_one_must_be_called(choice: Any, names: str, mode: ToolMode):
    options = _read(tools=[_function("f"), _function("g")], tool_choice=choice).options
    assert ("".join(tool.name for tool in options.tools), options.tool_mode) == (names, mode)


# ---- options ----


def test_a_stream_is_wanted_only_if_it_is_asked_for():
    assert [_read(**body).stream for body in ({}, {"stream": False}, {"stream": None}, {"stream": True})] == [
        False,
        False,
        False,
        True,
    ]


def test_fields_that_are_not_known_are_options_of_the_model():
    asked = _read(
        temperature=0.5, top_k=3, response_format={"type": "json_object"}, parallel_tool_calls=False, seed=None
    )
    assert asked.options.model_options == {
        "temperature": 0.5,
        "top_k": 3,
        "response_format": {"type": "json_object"},
        "parallel_tool_calls": False,
    }
    assert asked.unmapped == {}


def test_of_two_limits_the_newer_counts():
    assert _read(max_tokens=5).options.model_options == {"max_tokens": 5}
    assert _read(max_tokens=5, max_completion_tokens=7).options.model_options == {"max_completion_tokens": 7}


def test_the_cache_key_names_the_conversation():
    assert _read(prompt_cache_key="c1").options.model_options == {"_conversationId": "c1"}


@pytest.mark.parametrize(
    ("body", "options"),
    [
        ({"reasoning_effort": "high"}, {}),
        ({"reasoning": {"effort": "high"}}, {}),
        (
            {"reasoning": {"effort": "high", "exclude": True}},
            {"reasoning": {"effort": "high", "exclude": True}},
        ),
    ],
)
def test_the_reasoning_effort_has_two_places(body: dict[str, Any], options: dict[str, Any]):
    asked = _read(**body)
    assert (asked.options.model_configuration, asked.options.model_options) == ({"reasoningEffort": "high"}, options)


@one_test_for(
    ("body", "unmapped"),
    [
        ({"store": True}, {"store": True}),
        ({"store": False, "n": 1, "functions": [], "function_call": "auto"}, {}),
        ({"tools": [_function("f"), _function("f")]}, {"tools[] (a name for the second time)": 1}),
        ({"messages": [_said("user", [{"type": "odd"}, {"type": "odd"}])]}, {"content[].odd": 2}),
        (
            {"messages": [_said("user", [{"type": "file", "file": {"file_id": "x"}}])]},
            {"content[].file (without file_data)": 1},
        ),
        ({"messages": [_said("assistant", "Hi", audio={"id": "x"})]}, {"messages[].audio": 1}),
        ({"messages": [_said("assistant", "Hi", reasoning={"a": 1})]}, {"messages[].reasoning (no string)": 1}),
    ],
)
def test_what_has_no_place_is_counted(body: dict[str, Any], unmapped: dict[str, Any]):
    assert _asked(**body).unmapped == unmapped


# ---- refusals ----


@one_test_for(
    ("body", "place", "got", "expected"),
    [
        ({"messages": "Hi"}, "messages", "'Hi'", "a list of messages"),
        ({"messages": [1]}, "messages[0]", "int", "an object"),
        (
            {"messages": [{"role": "robot", "content": ""}]},
            "messages[0].role",
            "'robot'",
            "one of system, developer, user, assistant, tool, function",
        ),
        ({"messages": [{"role": "user"}]}, "messages[0].content", "nothing", "a string or a list of content parts"),
        ({"messages": [_said("user", [{"text": "Hi"}])]}, "messages[0].content[0]", "dict", "an object with a type"),
        ({"messages": [_said("user", [{"type": "text"}])]}, "messages[0].content[0].text", "nothing", "a string"),
        (
            {"messages": [_said("user", [{"type": "image_url"}])]},
            "messages[0].content[0].image_url",
            "nothing",
            "an object with a url",
        ),
        (
            {"messages": [_said("user", [{"type": "image_url", "image_url": {"url": "data:x"}}])]},
            "messages[0].content[0].image_url.url",
            "'data:x'",
            "a data URL",
        ),
        (
            {"messages": [_said("user", [{"type": "input_audio", "input_audio": {"data": "?"}}])]},
            "messages[0].content[0].input_audio.data",
            "1 characters that are not base64",
            "base64",
        ),
        ({"messages": [_said("user", [{"type": "file"}])]}, "messages[0].content[0].file", "nothing", "an object"),
        (
            {"messages": [_said("assistant", None, tool_calls=[{"id": "c1"}])]},
            "messages[0].tool_calls[0].function",
            "nothing",
            "an object with a name",
        ),
        (
            {"messages": [_said("assistant", None, tool_calls=[_call("")])]},
            "messages[0].tool_calls[0].id",
            "an empty string",
            "a string that is not empty",
        ),
        (
            {"messages": [_said("assistant", None, tool_calls=[_call("c1", function={"name": "f", "arguments": []})])]},
            "messages[0].tool_calls[0].function.arguments",
            "list",
            "a string",
        ),
        ({"messages": [_said("tool", "one")]}, "messages[0].tool_call_id", "nothing", "a string that is not empty"),
        (
            {"messages": [_said("function", "one", name="f")]},
            "messages[0]",
            "a result of 'f'",
            "a function_call before it",
        ),
        ({"tools": {}}, "tools", "dict", "a list of tools"),
        ({"tools": [_function("")]}, "tools[0].function.name", "an empty string", "a string that is not empty"),
        ({"tools": [_function("f", parameters=[])]}, "tools[0].function.parameters", "list", "a JSON schema"),
        ({"tool_choice": "maybe"}, "tool_choice", "'maybe'", "one of auto, none, required, any, or an object"),
        ({"stream": "yes"}, "stream", "'yes'", "true or false"),
        ({"n": 2}, "n", "2", "1: an answer is one choice"),
        ({"functions": {"name": "f"}}, "functions", "dict", "a list of functions"),
        ({"model": 1}, "model", "int", "a string"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_its_place(body: dict[str, Any], place: str, got: str, expected: str):
    with pytest.raises(InvalidRequestError) as raised:
        _asked(**body)
    assert str(raised.value) == f"{place}: got {got}, expected {expected}"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "a", "user", "assistant", "tool", "text"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "type", "text", "tool_calls", "function", "id", "name", "reasoning_details"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["model", "messages", "tools", "tool_choice", "stream", "n", "odd"]), JSON))
def test_a_request_of_any_shape_is_read_or_refused_and_breaks_nothing(body: dict[str, Any]):
    with suppress(InvalidRequestError):
        READ_REQUEST.read(WireRequest("/chat/completions", body))
