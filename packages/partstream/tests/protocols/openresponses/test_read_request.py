"""How a request of OpenResponses is read as its server does."""

from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversation.samples import PDF, PNG
from partstream import ChatMessage, DataPart, TextPart, ThinkingPart, Tool, ToolCallPart, ToolMode, ToolResultPart
from partstream.errors import InvalidRequestError
from partstream.lm.outputs import Finish, InboundRequest, Outcome, Reply
from partstream.lm.parts import FilePart
from partstream.protocols.openresponses.serve import READ_REQUEST, OpenResponsesWriter
from partstream.protocols.serve import WireRequest
from rows import one_test_for

user, assistant, system = ChatMessage.user, ChatMessage.assistant, ChatMessage.system


def _asked(**body: Any) -> InboundRequest:
    return READ_REQUEST.read(WireRequest("/responses", body))


def _read(*items: Any, **body: Any) -> InboundRequest:
    return _asked(model="small", input=list(items), **body)


def _said(role: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content, **fields}


def _text(value: str, kind: str = "input_text") -> dict[str, Any]:
    return {"type": kind, "text": value}


def _answer(value: str) -> dict[str, Any]:
    return _said("assistant", [_text(value, "output_text")], id="msg_1", status="completed")


def _call(call_id: str, name: str = "f", arguments: str = "{}") -> dict[str, Any]:
    return {"type": "function_call", "id": "fc_1", "call_id": call_id, "name": name, "arguments": arguments}


def _output(call_id: str, output: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def _function(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "function", "name": name, **fields}


def _data_url(data: bytes, media_type: str) -> str:
    return f"data:{media_type};base64,{b64encode(data).decode()}"


URL = "text/uri-list"
AT_PDF, AT_IMAGE = f"{URL};type=application/pdf", f"{URL};type=image/*"

# ---- messages ----


def test_a_string_is_one_user_message():
    asked = _asked(model="small", input="Hello")
    assert (asked.model, asked.messages) == ("small", (user("Hello"),))


def test_a_message_may_leave_out_its_type():
    assert _read({"role": "user", "content": "Hello"}).messages == (user("Hello"),)


def test_instructions_stand_before_the_conversation_and_developers_speak_as_the_system():
    asked = _read(_said("developer", "Be kind."), _said("user", "Hi"), instructions="Be brief.")
    assert asked.messages == (system("Be brief."), system("Be kind."), user("Hi"))


def test_what_the_model_said_without_a_break_is_one_message():
    asked = _read(_answer("a"), _call("c1"), _call("c2", "g", '{"x": 1}'), _answer("b"))
    calls = ToolCallPart("c1", "f", {}), ToolCallPart("c2", "g", {"x": 1})
    assert asked.messages == (assistant([TextPart("a"), *calls, TextPart("b")]),)


def test_two_messages_of_the_model_stay_two():
    assert _read(_answer("a"), _answer("b")).messages == (assistant("a"), assistant("b"))


def test_results_that_follow_each_other_are_one_message_of_the_user():
    picture = {"type": "input_image", "image_url": _data_url(PNG, "image/png")}
    asked = _read(
        _call("c1"), _call("c2"), _output("c1", "x"), _output("c2", [_text("y"), picture]), _said("user", "?")
    )
    results = ToolResultPart("c1", (TextPart("x"),)), ToolResultPart("c2", (TextPart("y"), DataPart(PNG, "image/png")))
    assert asked.messages[1:] == (user(results), user("?"))


def test_arguments_that_are_empty_are_none():
    assert _read(_call("c1", arguments=" ")).messages == (assistant([ToolCallPart("c1", "f", {})]),)


def test_a_refusal_is_what_the_model_said():
    asked = _read(_said("assistant", [{"type": "refusal", "refusal": "No."}]))
    assert asked.messages == (assistant("No."),)


@one_test_for(
    ("part", "expected"),
    [
        ({"type": "input_image", "image_url": _data_url(PNG, "image/png")}, DataPart(PNG, "image/png")),
        ({"type": "input_image", "image_url": "data:image/svg+xml,%3Csvg/%3E"}, DataPart(b"<svg/>", "image/svg+xml")),
        ({"type": "input_image", "image_url": "https://e.org/a.png"}, DataPart(b"https://e.org/a.png", AT_IMAGE)),
        ({"type": "input_file", "file_data": _data_url(PDF, "application/pdf")}, DataPart(PDF, "application/pdf")),
        ({"type": "input_file", "file_data": b64encode(PDF).decode()}, DataPart(PDF, "application/pdf")),
        ({"type": "input_file", "file_data": "AAECAw"}, DataPart(b"\0\1\2\3", "application/octet-stream")),
        ({"type": "input_file", "file_url": "https://e.org/a"}, DataPart(b"https://e.org/a", AT_PDF)),
        ({"type": "input_video", "video_url": _data_url(b"x", "video/mp4")}, DataPart(b"x", "video/mp4")),
    ],
)  # fmt: skip
def test_images_and_files_are_data_and_an_address_stays_one(part, expected):
    asked = _read(_said("user", [_text("Look:"), part]))
    assert asked.messages == (user([TextPart("Look:"), expected]),)
    assert asked.unmapped == {}


# ---- reasoning ----


def test_reasoning_is_thinking_whose_metadata_lists_all_items_so_far_with_their_places():
    first = {"type": "reasoning", "id": "rs_1", "summary": [_text("I think", "summary_text")], "encrypted_content": "a"}
    second = {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "b"}
    (message,) = _read(first, _answer("Hm."), _call("c1"), second, _call("c2")).messages
    one = {"id": "rs_1", "encrypted_content": "a", "after": [0, False]}
    two = {"id": "rs_2", "encrypted_content": "b", "after": [1, False]}
    assert message.content == (
        ThinkingPart("I think", "rs_1", {"id": "rs_1", "encrypted_content": "a", "reasoning_items": [one]}),
        TextPart("Hm."),
        ToolCallPart("c1", "f", {}),
        ThinkingPart("", "rs_2", {"id": "rs_2", "encrypted_content": "b", "reasoning_items": [one, two]}),
        ToolCallPart("c2", "f", {}),
    )


def test_a_summary_of_the_conversation_goes_the_way_of_reasoning():
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "sealed"}
    (message, _) = _read(item, _said("user", "Hi")).messages
    assert message == assistant([ThinkingPart("", None, {"reasoning_items": [{**item, "after": [0, False]}]})])


# ---- tools and options ----


@one_test_for(
    ("choice", "names", "mode"),
    [
        (None, ["a", "b"], ToolMode.AUTO),
        ("auto", ["a", "b"], ToolMode.AUTO),
        ("required", ["a", "b"], ToolMode.REQUIRED),
        ("none", [], ToolMode.AUTO),
        ({"type": "function", "name": "b"}, ["b"], ToolMode.REQUIRED),
        ({"type": "allowed_tools", "tools": [_function("a")]}, ["a"], ToolMode.AUTO),
        ({"type": "allowed_tools", "mode": "required", "tools": [_function("a")]}, ["a"], ToolMode.REQUIRED),
        ({"type": "allowed_tools", "mode": "none", "tools": [_function("a")]}, [], ToolMode.AUTO),
        ({"type": "allowed_tools", "mode": "auto", "tools": []}, [], ToolMode.AUTO),
    ],
)
def test_the_tool_choice_decides_which_tools_are_left(choice, names, mode):
    options = _asked(tools=[_function("a"), _function("b")], tool_choice=choice).options
    assert [tool.name for tool in options.tools] == names
    assert options.tool_mode is mode


def test_a_tool_has_name_description_and_schema():
    schema = {"type": "object"}
    listed = [_function("a", description="Adds.", parameters=schema, strict=False), _function("b", parameters=None)]
    assert _asked(tools=listed).options.tools == (Tool("a", "Adds.", schema), Tool("b", "", None))


def test_options_keep_the_names_that_they_have_on_the_wire():
    asked = _asked(temperature=0.5, max_output_tokens=16, text={"verbosity": "low"}, top_p=None, x_own=[1])
    assert asked.options.model_options == {
        "temperature": 0.5, "max_output_tokens": 16, "text": {"verbosity": "low"}, "x_own": [1]
    }  # fmt: skip
    assert asked.unmapped == {}


def test_the_cache_key_stands_for_the_conversation():
    assert _asked(prompt_cache_key="k").options.model_options == {"_conversationId": "k"}


@one_test_for(
    ("reasoning", "effort", "option"),
    [
        ({"effort": "high"}, "high", None),
        ({"effort": "high", "summary": "auto"}, "high", None),
        ({"effort": "low", "summary": "detailed"}, "low", {"effort": "low", "summary": "detailed"}),
        ({"effort": None, "summary": "auto"}, None, {"summary": "auto"}),
        ({}, None, None),
        (None, None, None),
    ],
)
def test_the_effort_is_what_a_person_chooses_and_the_rest_is_an_option(reasoning, effort, option):
    options = _asked(reasoning=reasoning).options
    assert options.model_configuration.get("reasoningEffort") == effort
    assert options.model_options.get("reasoning") == option


def test_a_client_says_whether_it_wants_a_stream():
    assert [_asked(stream=said).stream for said in (True, False, None)] == [True, False, False]


# ---- what has no place ----


def test_what_the_server_itself_is_asked_for_is_named_with_its_value():
    asked = _asked(store=True, background=False, previous_response_id="resp_1", conversation={"id": "c"})
    assert asked.unmapped == {"store": True, "previous_response_id": "resp_1", "conversation": {"id": "c"}}
    assert asked.options.model_options == {}


def test_what_is_unknown_is_counted_and_fails_nothing():
    asked = _read(
        {"type": "item_reference", "id": "msg_1"},
        {"type": "item_reference", "id": "msg_2"},
        _said("user", [_text("Hi"), {"type": "input_audio"}, {"type": "input_image", "file_id": "f"}]),
        _said("user", [{"type": "input_image", "image_url": _data_url(PNG, "image/png"), "detail": "high"}]),
        _said("user", [{"type": "input_file", "filename": "a.pdf", "file_data": _data_url(PDF, "application/pdf")}]),
        tools=[_function("a", strict=True), _function("a"), {"type": "file_search"}],
    )  # fmt: skip
    picture = FilePart(PNG, "image/png", about={"detail": "high"})
    document = FilePart(PDF, "application/pdf", about={"filename": "a.pdf"})
    assert asked.messages == (user("Hi"), user([picture]), user([document]))
    assert [tool.name for tool in asked.options.tools] == ["a"]
    assert asked.unmapped == {
        "input[].item_reference": 2,
        "content[].input_audio": 1,
        "content[].input_image (without image_url)": 1,
        "tools[] (a name for the second time)": 1,
        "tools[].file_search": 1,
    }


@one_test_for(
    ("body", "where"),
    [
        ({"input": 3}, "input"),
        ({"input": ["x"]}, "input[0]"),
        ({"input": [{}]}, "input[0].type"),
        ({"input": [{"type": ["x"]}]}, "input[0].type"),
        ({"input": [{"role": "robot", "content": "x"}]}, "input[0].role"),
        ({"input": [{"role": [], "content": "x"}]}, "input[0].role"),
        ({"input": [{"role": "user"}]}, "input[0].content"),
        ({"input": [{"role": "user", "content": ["x"]}]}, "input[0].content[0]"),
        ({"input": [{"role": "user", "content": [{"type": "input_text"}]}]}, "input[0].content[0].text"),
        ({"input": [_said("user", [{"type": "input_image", "image_url": 3}])]}, "input[0].content[0].image_url"),
        ({"input": [_said("user", [{"type": "input_image", "image_url": "data:x"}])]}, "input[0].content[0].image_url"),
        ({"input": [_said("user", [{"type": "input_file", "file_data": "é"}])]}, "input[0].content[0].file_data"),
        ({"input": [{**_call("c"), "arguments": [1]}]}, "input[0].arguments"),
        ({"input": [_call("")]}, "input[0].call_id"),
        ({"input": [_call("c", "")]}, "input[0].name"),
        ({"input": [{"type": "function_call_output", "call_id": "c"}]}, "input[0].output"),
        ({"input": [{"type": "reasoning", "summary": 3}]}, "input[0].summary"),
        ({"input": [{"type": "reasoning", "summary": [], "encrypted_content": 3}]}, "input[0].encrypted_content"),
        ({"tools": {}}, "tools"),
        ({"tools": [3]}, "tools[0]"),
        ({"tools": [{"type": "function"}]}, "tools[0].name"),
        ({"tools": [{"type": "function", "name": "n", "parameters": "x"}]}, "tools[0].parameters"),
        ({"tools": [{"type": "function", "name": "n", "description": 3}]}, "tools[0].description"),
        ({"tool_choice": 3}, "tool_choice"),
        ({"tool_choice": "any"}, "tool_choice"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": {"type": "allowed_tools", "tools": [], "mode": "required"}}, "tool_choice"),
        ({"tool_choice": {"type": "function"}}, "tool_choice.name"),
        ({"tool_choice": {"type": "allowed_tools", "tools": 3}}, "tool_choice.tools"),
        ({"tool_choice": {"type": "allowed_tools", "tools": [], "mode": 3}}, "tool_choice.mode"),
        ({"model": 3}, "model"),
        ({"instructions": []}, "instructions"),
        ({"stream": "yes"}, "stream"),
        ({"include": "x"}, "include"),
        ({"reasoning": "high"}, "reasoning"),
        ({"reasoning": {"effort": 3}}, "reasoning.effort"),
        ({"prompt_cache_key": 3}, "prompt_cache_key"),
        ({"text": []}, "text"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(body, where):
    with pytest.raises(InvalidRequestError) as raised:
        _asked(**body)
    assert raised.value.where == where
    assert raised.value.got
    assert raised.value.expected


FIELDS = [
    "type", "role", "content", "text", "call_id", "name", "arguments", "output", "tools", "description", "effort",
    "format", "mode", "summary", "encrypted_content", "image_url", "file_data",
]  # fmt: skip
WORDS = [
    "message", "user", "assistant", "function", "function_call", "function_call_output", "allowed_tools", "input_text",
    "reasoning", "input_image", "data:,", "json_schema",
]  # fmt: skip
FIELD = st.sampled_from(FIELDS)
leaves = st.none() | st.booleans() | st.integers(0, 9) | st.text("ab", max_size=3) | st.sampled_from(WORDS)
parts = st.dictionaries(FIELD, leaves, max_size=4)
values = leaves | parts | st.lists(leaves | parts, max_size=2)
fields = values | st.lists(st.dictionaries(FIELD, values, max_size=5), max_size=2)
TAKEN_APART = ["input", "tools", "tool_choice", "reasoning", "text", "include", "metadata", "model", "stream", "store"]


@given(st.dictionaries(st.sampled_from(TAKEN_APART), fields))
def test_any_json_is_answered_or_refused_never_another_error(body):
    try:
        asked = _asked(**body)
    except InvalidRequestError:
        return
    assert OpenResponsesWriter(asked, Reply("identity", 0)).write(Finish(Outcome.COMPLETED))
