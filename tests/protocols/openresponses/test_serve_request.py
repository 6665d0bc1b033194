"""How the served side of OpenResponses reads a request."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.errors import InvalidRequestError
from partstream.outputs import Reply
from partstream.protocols.openresponses.serve import write_events
from partstream.protocols.openresponses.serve_request import read_request
from partstream.protocols.served_items import IMAGE_TOKENS
from partstream.protocols.serving import Answer, ServedRequest, ToolOutput

PIXEL = "data:image/png;base64,AAAAAA=="


def _user(content: Any) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": content}


def _assistant(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def _call(call_id: str, name: str = "get_weather", arguments: str = "{}") -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def _output(call_id: str, output: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def _function(name: str) -> dict[str, Any]:
    return {"type": "function", "name": name}


def _read(*items: Any, **body: Any) -> ServedRequest:
    return read_request({"model": "m", "input": list(items)} | body, {})


def test_a_string_is_one_user_message():
    assert read_request({"input": "Hello"}, {}).user_text == "Hello"


def test_a_message_may_leave_out_its_type():
    assert _read({"role": "user", "content": "Hello"}).user_text == "Hello"


def test_the_user_text_is_that_of_the_last_run_of_user_messages():
    parts = [{"type": "input_text", "text": "two "}, {"type": "input_text", "text": "parts"}]
    request = _read(_user("old"), _assistant("yes"), _user("context"), _user(parts))
    assert request.user_text == "context\ntwo parts"


def test_a_user_message_that_only_carries_the_image_of_a_tool_is_not_a_new_turn():
    image = _user([{"type": "input_image", "image_url": PIXEL}])
    request = _read(_user("look"), _call("c1"), _output("c1", "seen"), image)
    assert request.user_text == "look"
    assert request.tool_outputs == (ToolOutput("c1", "get_weather", "seen"),)
    assert request.images == ("image/png, 4 bytes",)


def test_tool_outputs_are_those_since_the_last_user_text_with_the_names_of_their_calls():
    request = _read(
        _user("one"), _call("c1"), _output("c1", "old"), _assistant("done"), _user("two"),
        _call("c2", "get_time"), _output("c2", [{"type": "input_text", "text": "noon"}]), _output("c9", "lost"),
    )  # fmt: skip
    assert request.tool_outputs == (ToolOutput("c2", "get_time", "noon"), ToolOutput("c9", None, "lost"))


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        (None, ["a", "b"]),
        ("auto", ["a", "b"]),
        ("required", ["a", "b"]),
        ("none", []),
        ({"type": "function", "name": "b"}, ["b"]),
        ({"type": "allowed_tools", "tools": [{"type": "function", "name": "a"}]}, ["a"]),
    ],
)
def test_the_tool_choice_decides_which_tools_are_left(choice, names):
    request = _read(_user("x"), tools=[_function("a"), _function("b")], tool_choice=choice)
    assert [tool.name for tool in request.tools] == names


def test_prompt_tokens_are_those_of_all_texts_instructions_tools_and_images():
    image = {"type": "input_image", "image_url": PIXEL}
    text = {"type": "input_text", "text": "12345"}
    request = _read(_user([text, image]), _call("c", "tool", "{}"), instructions="1234", tools=[_function("four")])
    assert request.prompt_tokens == 2 + IMAGE_TOKENS + 2 + 2


def test_the_cached_tokens_are_what_the_request_before_held():
    first = [_user("12345678")]
    second = [*first, _call("c1"), _call("c2"), _output("c1", "1"), _output("c2", "2")]
    third = [*second, _assistant("ok"), _user("more")]
    always = {"instructions": "1234"}
    assert _read(*first, **always).cached_tokens == 0
    assert _read(*second, **always).cached_tokens == _read(*first, **always).prompt_tokens
    assert _read(*third, **always).cached_tokens == _read(*second, **always).prompt_tokens


def test_reasoning_and_opaque_items_are_accepted():
    reasoning = {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "1234"}]}
    compaction = {"type": "compaction", "encrypted_content": "xyz"}
    assert _read(_user("1"), reasoning, compaction, {"type": "item_reference", "id": "i"}).prompt_tokens == 2


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"input": 3}, "input"),
        ({"input": ["x"]}, "input[0]"),
        ({"input": [{"type": "web_search_call"}]}, "input[0].type"),
        ({"input": [{}]}, "input[0].type"),
        ({"input": [{"type": ["x"]}]}, "input[0].type"),
        ({"input": [{"role": "robot", "content": "x"}]}, "input[0].role"),
        ({"input": [{"role": "user"}]}, "input[0].content"),
        ({"input": [{"role": "user", "content": ["x"]}]}, "input[0].content[0]"),
        ({"input": [{"role": "user", "content": [{"type": "input_text"}]}]}, "input[0].content[0].text"),
        ({"input": [{"type": "function_call", "call_id": "c", "name": "n"}]}, "input[0].arguments"),
        ({"input": [{"type": "function_call_output", "call_id": "c"}]}, "input[0].output"),
        ({"tools": {}}, "tools"),
        ({"tools": [3]}, "tools[0].type"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
        ({"tools": [{"type": "function"}]}, "tools[0].name"),
        ({"tools": [{"type": "function", "name": "n", "parameters": "x"}]}, "tools[0].parameters"),
        ({"tools": [{"type": "function", "name": "n", "description": 3}]}, "tools[0].description"),
        ({"tool_choice": {"type": "allowed_tools", "tools": 3}}, "tool_choice.tools"),
        ({"input": [{"role": [], "content": "x"}]}, "input[0].role"),
        ({"model": 3}, "body.model"),
        ({"instructions": []}, "body.instructions"),
        ({"include": "x"}, "include"),
        ({"reasoning": "high"}, "reasoning"),
        ({"text": []}, "text"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(body, where):
    with pytest.raises(InvalidRequestError) as raised:
        read_request(body, {})
    assert raised.value.where == where
    assert raised.value.got
    assert raised.value.expected


FIELDS = [
    "type",
    "role",
    "content",
    "text",
    "call_id",
    "name",
    "arguments",
    "output",
    "tools",
    "description",
    "effort",
    "format",
]
WORDS = ["message", "user", "function", "function_call", "function_call_output", "allowed_tools", "input_text"]
FIELD = st.sampled_from(FIELDS)
leaves = st.none() | st.booleans() | st.integers(0, 9) | st.text("ab", max_size=3) | st.sampled_from(WORDS)
parts = st.dictionaries(FIELD, leaves, max_size=4)
values = leaves | parts | st.lists(leaves | parts, max_size=2)
fields = values | st.lists(st.dictionaries(FIELD, values, max_size=5), max_size=2)
TAKEN_APART = ["input", "tools", "tool_choice", "reasoning", "text", "include", "metadata", "model"]


@given(st.dictionaries(st.sampled_from(TAKEN_APART), fields))
def test_any_json_is_answered_or_refused_never_another_error(body):
    try:
        request = read_request(body, {})
    except InvalidRequestError:
        return
    assert write_events(request, Answer(), Reply("identity", 0))
