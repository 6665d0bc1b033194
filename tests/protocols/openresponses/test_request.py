"""A conversation as a request body: valid by the published schema, nothing lost, nothing taken for what it is not."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openresponses_types.types import CreateResponseBody

from partstream import ChatMessage, DataPart, RequestOptions, TextPart, ThinkingPart, Tool, ToolCallPart, ToolMode
from partstream import ToolResultPart as Result
from partstream.errors import RequestNotExpressibleError
from partstream.protocols.openresponses.request import build_request
from partstream.protocols.openresponses.serve_request import read_request

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = Tool("get_weather", "Tells the weather.", SCHEMA)
PIXEL = DataPart.image(b"\x89PNG", "image/png")
user, assistant, system = ChatMessage.user, ChatMessage.assistant, ChatMessage.system


def request(*messages: ChatMessage, prefix: str = "gw-", **options: Any) -> dict[str, Any]:
    """The body, after the schema and our own server have accepted it. The schema's models are asked for no more:
    what they would write has lost the parameters of the tools.
    """
    body = build_request("small", messages, RequestOptions(**options), prefix)
    CreateResponseBody.model_validate(body)
    read_request(body, {})
    return json.loads(json.dumps(body))


def text(value: str) -> dict[str, Any]:
    return {"type": "input_text", "text": value}


def said(value: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": value}]}


def asked(*content: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": list(content)}


def call(call_id: str, arguments: str = "{}", name: str = "get_weather") -> dict[str, Any]:
    fields = {"call_id": call_id, "name": name, "arguments": arguments, "status": "completed"}
    return {"type": "function_call", **fields}


def output(call_id: str, value: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": value}


IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw==", "detail": "auto"}

# Messages: the input items that they become.
INPUTS: dict[str, tuple[list[ChatMessage], list[dict[str, Any]]]] = {
    "a question": ([user("Hi")], [asked(text("Hi"))]),
    "a conversation": ([user("Hi"), assistant("Ho"), user("Hm")], [asked(text("Hi")), said("Ho"), asked(text("Hm"))]),
    "texts of one message": ([user([TextPart("a"), TextPart("b")])], [asked(text("a"), text("b"))]),
    "an image between texts": (
        [user([TextPart("a"), PIXEL, TextPart("b")])],
        [asked(text("a"), IMAGE, text("b"))],
    ),
    "a JSON document": ([user([DataPart.json({"a": 1})])], [asked(text('{"a":1}'))]),
    "a text document": ([user([DataPart.text("# Title", "text/markdown")])], [asked(text("# Title"))]),
    "JSON under another name": ([user([DataPart(b"[]", "application/ld+json")])], [asked(text("[]"))]),
    "a call": (
        [assistant([ToolCallPart("gw-call_1", "get_weather", {"city": "Zürich"})])],
        [call("call_1", '{"city":"Zürich"}')],
    ),
    "text around calls, in order": (
        [assistant([TextPart("a"), ToolCallPart("gw-1", "f", {}), TextPart("b"), ToolCallPart("gw-2", "g", {})])],
        [said("a"), call("1", name="f"), said("b"), call("2", name="g")],
    ),
    "a result": ([user([Result("gw-call_1", (TextPart("12 °C"),))])], [output("call_1", "12 °C")]),
    "a result in pieces": ([user([Result("1", (TextPart("a"), TextPart("b")))])], [output("1", "ab")]),
    "a result of JSON": ([user([Result("1", (DataPart.json([1]),))])], [output("1", "[1]")]),
    "a result without content": ([user([Result("1")])], [output("1", "")]),
    "a result with an image": (
        [user([Result("1", (TextPart("look"), PIXEL))])],
        [output("1", [text("look"), IMAGE])],
    ),
    "results before text": (
        [user([Result("gw-1"), Result("gw-2"), TextPart("and?")])],
        [output("1", ""), output("2", ""), asked(text("and?"))],
    ),
    "an id of somebody else": ([user([Result("toolu_gw-1")])], [output("toolu_gw-1", "")]),
    "an id with our prefix twice": ([user([Result("gw-gw-1")])], [output("gw-1", "")]),
    "thinking": ([assistant([ThinkingPart("hm", "rs_1", {"k": 1}), TextPart("Ho")])], [said("Ho")]),
    "thinking alone": ([assistant([ThinkingPart("hm")]), user("Hi")], [asked(text("Hi"))]),
    "the host's own marks": (
        [
            user([TextPart("Hi"), DataPart(b"ephemeral", "cache_control")]),
            assistant([DataPart(b"x", "stateful_marker")]),
        ],
        [asked(text("Hi"))],
    ),
    "empty text": ([user([TextPart(""), TextPart("Hi")]), assistant("")], [asked(text("Hi"))]),
    "an empty message": ([user([])], []),
}


@pytest.mark.parametrize(("messages", "items"), INPUTS.values(), ids=INPUTS)
def test_input_items_of(messages: list[ChatMessage], items: list[dict[str, Any]]):
    assert request(*messages)["input"] == items


def test_a_request_streams_and_is_not_stored():
    assert request(user("Hi")) == {"model": "small", "input": [asked(text("Hi"))], "stream": True, "store": False}


def test_system_messages_become_the_instructions_wherever_they_stand():
    body = request(system("Be brief."), user("Hi"), system([TextPart("Be "), TextPart("kind.")]), system(""))
    assert body["instructions"] == "Be brief.\n\nBe kind."
    assert body["input"] == [asked(text("Hi"))]


def test_tools_keep_their_schema_and_do_not_ask_for_strictness():
    body = request(user("Hi"), tools=(WEATHER, Tool("now", "")))
    weather, now = body["tools"]
    assert weather == {
        "type": "function",
        "name": "get_weather",
        "description": "Tells the weather.",
        "parameters": SCHEMA,
        "strict": False,
    }
    assert now["parameters"] == {"type": "object", "properties": {}}
    assert body["tool_choice"] == "auto"


@pytest.mark.parametrize(("mode", "choice"), [(ToolMode.AUTO, "auto"), (ToolMode.REQUIRED, "required")])
def test_the_tool_mode_becomes_the_tool_choice_where_there_are_tools(mode: ToolMode, choice: str):
    assert request(user("Hi"), tools=(WEATHER,), tool_mode=mode)["tool_choice"] == choice
    assert "tool_choice" not in request(user("Hi"), tool_mode=mode)
    assert "tools" not in request(user("Hi"), tool_mode=mode)


def test_model_options_are_sent_but_those_of_the_host_and_none_wins_over_ours():
    options = {"temperature": 0.5, "max_output_tokens": 100, "_capturingTokenCorrelationId": "x", "stream": False}
    body = request(user("Hi"), model_options=options)
    assert (body["temperature"], body["max_output_tokens"], body["stream"]) == (0.5, 100, True)
    assert not [name for name in body if name.startswith("_")]


@pytest.mark.parametrize("prefix", ["gw-", "", "other_"])
def test_a_call_and_its_result_lose_the_configured_prefix_alike(prefix: str):
    parts = [assistant([ToolCallPart(f"{prefix}call_1", "f", {})]), user([Result(f"{prefix}call_1")])]
    assert [item["call_id"] for item in request(*parts, prefix=prefix)["input"]] == ["call_1", "call_1"]


REFUSED = {
    "a PDF": ([user([TextPart("a"), DataPart(b"%PDF", "application/pdf")])], "messages[0].content[1]"),
    "sound": ([user("Hi"), user([DataPart(b"RIFF", "audio/wav")])], "messages[1].content[0]"),
    "an image of the model": ([assistant([PIXEL])], "messages[0].content[0]"),
    "a PDF in a result": (
        [user([Result("1", (TextPart("a"), DataPart(b"%PDF", "application/pdf")))])],
        "messages[0].content[0].content[1]",
    ),
}


@pytest.mark.parametrize(("messages", "where"), REFUSED.values(), ids=REFUSED)
def test_what_the_protocol_cannot_say_is_refused_with_its_place(messages: list[ChatMessage], where: str):
    with pytest.raises(RequestNotExpressibleError) as caught:
        request(*messages)
    assert caught.value.where == where
    assert caught.value.expected


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), JSON_VALUES, max_size=4))
def test_any_arguments_of_a_call_arrive_as_they_were(arguments: dict[str, Any]):
    (item,) = build_request("m", [assistant([ToolCallPart("1", "f", arguments)])], RequestOptions(), "gw-")["input"]
    assert json.loads(item["arguments"]) == arguments
