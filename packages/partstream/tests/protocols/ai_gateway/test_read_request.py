"""What a request to the AI Gateway asks, in VS Code's own values, and what is said of one that is wrong."""

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_sdk import FIXTURES
from partstream.conversation.preparation import RequestSettings
from partstream.errors import InvalidRequestError
from partstream.lm.messages import ChatMessage, Tool, ToolMode
from partstream.lm.outputs import InboundRequest
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.protocols.ai_gateway.models import AIGatewaySettings
from partstream.protocols.ai_gateway.serve import DENIED, READ_REQUEST
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.serve import WireRequest
from partstream.runtime.translation import read_question, write_question
from rows import one_test_for
from unsupported import UNSUPPORTED, request_form

PIXEL = "iVBORw0KGgo="
IMAGE = DataPart(b"\x89PNG\r\n\x1a\n", "image/png")
ADDRESS = "https://example.com/a.png"
RECORDED = [
    pytest.param(recorded, id=f"{path.parent.name}-{name}")
    for path in sorted(FIXTURES.glob("*/gateway-requests.json"))
    for name, recorded in json.loads(path.read_bytes()).items()
]


def headers(version: str = "3", **changes: str | None) -> dict[str, str]:
    all_headers: dict[str, str | None] = {
        "ai-gateway-protocol-version": "0.0.1",
        "ai-language-model-specification-version": version,
        "ai-language-model-id": "made/up",
        "ai-language-model-streaming": "true",
        **{name.replace("_", "-"): value for name, value in changes.items()},
    }
    return {name: value for name, value in all_headers.items() if value is not None}


def request(body: dict[str, Any], version: str = "3") -> WireRequest:
    return WireRequest("/language-model", body, headers(version))


def read(*prompt: Any, version: str = "3", **fields: Any) -> InboundRequest:
    return READ_REQUEST.read(request({"prompt": list(prompt), **fields}, version))


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": [text(part) if isinstance(part, str) else part for part in parts]}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def assistant(*parts: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(parts)}


def call(call_id: str = "1", **more: Any) -> dict[str, Any]:
    return {"type": "tool-call", "toolCallId": call_id, "toolName": "f", "input": {}, **more}


def result(output: Any, call_id: str = "1", name: str = "f") -> dict[str, Any]:
    return {
        "role": "tool",
        "content": [{"type": "tool-result", "toolCallId": call_id, "toolName": name, "output": output}],
    }


def content(*items: Any) -> dict[str, Any]:
    return {"type": "content", "value": list(items)}


SAID = {"type": "text", "value": "it is"}
FILE = {"type": "file", "mediaType": "image/png"}
FUNCTION = {"type": "function", "name": "f", "inputSchema": {"type": "object"}}


def test_there_are_recorded_requests_of_all_versions() -> None:
    assert len(RECORDED) > 30


@one_test_for("recorded", RECORDED)
def test_what_the_published_client_sends_is_understood(recorded: dict[str, Any]) -> None:
    asked = READ_REQUEST.read(WireRequest("/language-model", recorded["body"], recorded["headers"]))
    assert asked.dialect == recorded["headers"]["ai-language-model-specification-version"]
    assert asked.model == "made/up"
    assert asked.stream
    assert asked.messages
    # The client's own headers, tools that its choice takes away, and the name of a file.
    assert {place.rpartition(".")[2] for place in asked.unmapped} <= {"headers", "tools[0]", "filename"}


@one_test_for("recorded", RECORDED)
def test_what_was_asked_can_be_asked_again(recorded: dict[str, Any]) -> None:
    gateway = PROTOCOLS["ai-gateway"]
    asked = READ_REQUEST.read(WireRequest("/language-model", recorded["body"], recorded["headers"]))
    settings = RequestSettings(own=AIGatewaySettings(specification_version=int(asked.dialect)))
    again = read_question(gateway, write_question(gateway, asked, settings))
    unsupported = UNSUPPORTED[gateway.name].request
    assert request_form(again, unsupported) == request_form(replace(asked, unmapped={}), unsupported)


def test_a_conversation_is_what_vs_code_would_say() -> None:
    signed = {"anthropic": {"signature": "s"}}
    asked = read(
        {"role": "system", "content": "Be brief."},
        user("What is", FILE | {"data": PIXEL}),
        assistant({"type": "reasoning", "text": "hm", "providerOptions": signed}, text("Let me look."), call()),
        result(content(text("a picture"), {"type": "image-data", "data": PIXEL, "mediaType": "image/png"})),
        assistant(text("It is.")),
        tools=[FUNCTION | {"description": "Looks."}],
        temperature=0.5,
        providerOptions={"openai": {"store": False}},
        reasoning="low",
    )
    item = {"type": "reasoning", "text": "hm", "providerOptions": signed, "after": [0, False]}
    assert asked.messages == (
        ChatMessage.system("Be brief."),
        ChatMessage.user([TextPart("What is"), IMAGE]),
        ChatMessage.assistant(
            [
                ThinkingPart("hm", None, {"reasoning_items": [item]}),
                TextPart("Let me look."),
                ToolCallPart("1", "f", {}),
            ]
        ),
        ChatMessage.user([ToolResultPart("1", (TextPart("a picture"), IMAGE))]),
        ChatMessage.assistant("It is."),
    )
    assert asked.options.tools == (Tool("f", "Looks.", {"type": "object"}),)
    assert asked.options.model_options == {"temperature": 0.5, "providerOptions": {"openai": {"store": False}}}
    assert asked.options.model_configuration == {"reasoningEffort": "low"}
    assert asked.unmapped == {}


@one_test_for(
    ("output", "content", "is_error"),
    [
        (SAID, (TextPart("it is"),), False),
        ({"type": "text", "value": ""}, (), False),
        ({"type": "json", "value": {"a": [1]}}, (DataPart.json({"a": [1]}),), False),
        ({"type": "error-text", "value": "no"}, (TextPart("no"),), True),
        ({"type": "error-json", "value": None}, (DataPart.json(None),), True),
        ({"type": "execution-denied"}, (TextPart(DENIED),), True),
        ({"type": "execution-denied", "reason": "not you"}, (TextPart("not you"),), True),
        (content({"type": "image-url", "url": ADDRESS}), (DataPart.text(ADDRESS, "text/uri-list"),), False),
    ],
)
def test_an_output_is_what_the_tool_gave(output: Any, content: tuple[Any, ...], is_error: bool) -> None:
    *_, last = read(user("Hi"), assistant(call()), result(output)).messages
    assert last == ChatMessage.user([ToolResultPart("1", content, is_error)])


G = FUNCTION | {"name": "g"}


@one_test_for(
    ("choice", "left", "mode", "unmapped"),
    [
        (None, ["f", "g"], ToolMode.AUTO, {}),
        ({"type": "auto"}, ["f", "g"], ToolMode.AUTO, {}),
        ({"type": "required"}, ["f", "g"], ToolMode.REQUIRED, {}),
        ({"type": "none"}, [], ToolMode.AUTO, {"tools[0]": FUNCTION, "tools[1]": G}),
        ({"type": "tool", "toolName": "g"}, ["g"], ToolMode.REQUIRED, {"tools[0]": FUNCTION}),
    ],
)
def test_the_tool_choice_leaves_tools(choice: Any, left: list[str], mode: ToolMode, unmapped: Any) -> None:
    fields = {} if choice is None else {"toolChoice": choice}
    asked = read(user("Hi"), tools=[FUNCTION, G], **fields)
    assert [tool.name for tool in asked.options.tools] == left
    assert asked.options.tool_mode is mode
    assert asked.unmapped == unmapped


@one_test_for(("version", "part", "read_as"), [
    ("2", {"data": PIXEL}, IMAGE),
    ("3", {"data": f"data:image/png;base64,{PIXEL}"}, IMAGE),
    ("3", {"data": ADDRESS, "originalUrl": ADDRESS}, DataPart.text(ADDRESS, "text/uri-list")),
    ("4", {"data": {"type": "data", "data": PIXEL}}, IMAGE),
    ("4", {"data": {"type": "url", "url": ADDRESS}}, DataPart.text(ADDRESS, "text/uri-list")),
    ("4", {"data": {"type": "text", "text": "a,b"}, "mediaType": "text/csv"}, DataPart.text("a,b", "text/csv")),
    ("4", {"data": {"type": "data", "data": PIXEL}, "mediaType": "image"}, IMAGE),
])  # fmt: skip
def test_a_file_has_the_form_of_its_version(version: str, part: Any, read_as: DataPart) -> None:
    asked = read(user(FILE | part), version=version)
    assert asked.messages == (ChatMessage.user([read_as]),)
    assert asked.unmapped == {}


# Version, prompt or whole body, and the places of what is understood and has no place.
UNPLACED: list[tuple[str, Any, list[str]]] = [
    ("3", {"prompt": [user("Hi")], "model": "x"}, ["model"]),
    ("3", {"prompt": [user("Hi")], "headers": {"x": "1"}}, ["headers"]),
    ("3", {"prompt": [user("Hi")], "includeRawChunks": True}, ["includeRawChunks"]),
    ("3", [user(text("a") | {"cache": True})], ["prompt[0].content[0].cache"]),
    ("3", [user(FILE | {"data": PIXEL, "mimeType": "image/png"})], ["prompt[0].content[0].mimeType"]),
    ("3", [user(FILE | {"data": PIXEL, "filename": "tide.png"})], ["prompt[0].content[0].filename"]),
    ("3", [user(text("a") | {"providerOptions": {"anthropic": {"cacheControl": {}}}})],
     ["prompt[0].content[0].providerOptions"]),
    ("4", [user(FILE | {"data": {"type": "reference", "reference": {"made": "up"}}})], ["prompt[0].content[0]"]),
    ("4", [assistant({"type": "custom", "kind": "a.b"})], ["prompt[0].content[0]"]),
    ("3", [assistant(call(providerExecuted=True))], ["prompt[0].content[0]"]),
    ("3", [assistant(call()), result(SAID, name="g")], ["prompt[1].content[0].toolName"]),
    ("2", [assistant(call()), result(SAID | {"providerOptions": {}})], ["prompt[1].content[0].output.providerOptions"]),
    ("3", {"prompt": [user("Hi")], "tools": [FUNCTION | {"strict": True}]}, ["tools[0].strict"]),
    ("3", {"prompt": [user("Hi")], "tools": [{"type": "provider", "id": "a.b", "name": "b", "args": {}}]},
     ["tools[0]"]),
]  # fmt: skip


@one_test_for(("version", "said", "places"), UNPLACED)
def test_what_has_no_place_is_collected_with_its_own(version: str, said: Any, places: list[str]) -> None:
    body = said if isinstance(said, dict) else {"prompt": said}
    assert list(READ_REQUEST.read(request(body, version)).unmapped) == places


def test_what_a_provider_said_of_a_call_comes_before_it() -> None:
    signed = {"google": {"thoughtSignature": "t"}}
    (message,) = read(assistant(call(providerOptions=signed))).messages
    item = {"type": "tool-call", "toolCallId": "1", "providerOptions": signed, "after": [0, False]}
    assert message.content == (ThinkingPart("", None, {"reasoning_items": [item]}), ToolCallPart("1", "f", {}))


def test_the_summary_of_a_compacted_conversation_is_state_and_no_text() -> None:
    options = {"anthropic": {"type": "compaction"}}
    (message,) = read(assistant(text("So far.") | {"providerOptions": options}, text("And?"))).messages
    item = {"type": "text", "text": "So far.", "providerOptions": options, "after": [0, False]}
    assert message.content == (ThinkingPart("", None, {"reasoning_items": [item]}), TextPart("And?"))


def test_what_the_gateway_said_of_an_answer_is_of_no_further_use() -> None:
    said = {"providerOptions": {"gateway": {"generationId": "gen_1"}}}
    asked = read(assistant(text("So.") | said, {"type": "reasoning", "text": "hm", **said}))
    assert asked.messages == (ChatMessage.assistant([TextPart("So."), ThinkingPart("hm")]),)
    assert asked.unmapped == {}


# Version, prompt or whole body, and where the mistake is.
WRONG: list[tuple[str, Any, str]] = [
    ("3", [], "prompt"),
    ("3", {"prompt": "Hi"}, "prompt"),
    ("3", {}, "prompt"),
    ("3", [{"role": "developer", "content": "Hi"}], "prompt[0].role"),
    ("3", ["Hi"], "prompt[0].role"),
    ("3", [assistant(call(input={"a": float("inf")}))], "prompt[0].content[0].input"),
    (
        "3",
        [assistant(call()), result({"type": "json", "value": {"a": float("inf")}})],
        "prompt[1].content[0].output.value",
    ),
    ("3", [user("Hi") | {"providerOptions": {"a": {"b": float("nan")}}}], "prompt[0].providerOptions.a.b"),
    ("3", [{"role": "user", "content": "Hi"}], "prompt[0].content"),
    ("3", [{"role": "system", "content": [text("Hi")]}], "prompt[0].content"),
    ("3", [user({"type": "image", "image": PIXEL})], "prompt[0].content[0].type"),
    ("3", [user({"type": "text"})], "prompt[0].content[0].text"),
    ("3", [user({"type": "file", "data": PIXEL})], "prompt[0].content[0].mediaType"),
    ("3", [user(FILE | {"data": "no base64!"})], "prompt[0].content[0].data"),
    ("3", [user(FILE | {"data": ""})], "prompt[0].content[0].data"),
    ("3", [user(FILE | {"data": "data:image/png,abc"})], "prompt[0].content[0].data"),
    ("3", [user(FILE | {"data": {"type": "data", "data": PIXEL}})], "prompt[0].content[0].data"),
    ("4", [user(FILE | {"data": PIXEL})], "prompt[0].content[0].data"),
    ("4", [user(FILE | {"data": {"type": "url", "url": "a.png"}})], "prompt[0].content[0].data.url"),
    ("2", [assistant({"type": "custom", "kind": "a.b"})], "prompt[0].content[0].type"),
    ("3", [assistant(call(input="{}"))], "prompt[0].content[0].input"),
    ("3", [assistant({"type": "tool-call", "toolCallId": "1", "toolName": "f", "args": {}})],
     "prompt[0].content[0].input"),
    ("3", [assistant(call()), result("it is")], "prompt[1].content[0].output"),
    ("2", [assistant(call()), result({"type": "execution-denied"})], "prompt[1].content[0].output.type"),
    ("3", [assistant(call()), result(content({"type": "media", "data": PIXEL, "mediaType": "image/png"}))],
     "prompt[1].content[0].output.value[0].type"),
    ("4", [assistant(call()), result(content({"type": "image-data", "data": PIXEL, "mediaType": "image/png"}))],
     "prompt[1].content[0].output.value[0].type"),
    ("3", {"prompt": [user("Hi")], "tools": [{"type": "function", "name": "f", "parameters": {}}]},
     "tools[0].inputSchema"),
    ("3", {"prompt": [user("Hi")], "tools": [FUNCTION, FUNCTION]}, "tools[1].name"),
    ("2", {"prompt": [user("Hi")], "tools": [{"type": "provider", "id": "a.b", "name": "b", "args": {}}]},
     "tools[0].type"),
    ("3", {"prompt": [user("Hi")], "tools": [FUNCTION], "toolChoice": "auto"}, "toolChoice"),
    ("3", {"prompt": [user("Hi")], "tools": [FUNCTION], "toolChoice": {"type": "tool"}}, "toolChoice.toolName"),
    ("3", {"prompt": [user("Hi")], "tools": [FUNCTION], "toolChoice": {"type": "tool", "toolName": "g"}},
     "toolChoice.toolName"),
    ("3", {"prompt": [user("Hi")], "toolChoice": {"type": "required"}}, "toolChoice.type"),
    ("3", {"prompt": [user("Hi")], "maxOutputTokens": 0}, "maxOutputTokens"),
    ("3", {"prompt": [user("Hi")], "temperature": "0"}, "temperature"),
    ("3", {"prompt": [user("Hi")], "seed": True}, "seed"),
    ("3", {"prompt": [user("Hi")], "stopSequences": "END"}, "stopSequences"),
    ("4", {"prompt": [user("Hi")], "reasoning": "much"}, "reasoning"),
    ("3", {"prompt": [user("Hi")], "providerOptions": {"gateway": []}}, "providerOptions.gateway"),
    ("3", {"prompt": [user("Hi")], "headers": {"x": 1}}, "headers.x"),
]  # fmt: skip


@one_test_for(("version", "wrong", "where"), WRONG)
def test_a_wrong_request_is_refused_with_the_place(version: str, wrong: Any, where: str) -> None:
    body = wrong if isinstance(wrong, dict) else {"prompt": wrong}
    with pytest.raises(InvalidRequestError) as raised:
        READ_REQUEST.read(request(body, version))
    assert raised.value.where == where
    assert raised.value.got
    assert raised.value.expected


@one_test_for(
    ("name", "value"),
    [
        ("ai_gateway_protocol_version", None),
        ("ai_language_model_specification_version", "5"),
        ("ai_language_model_specification_version", None),
        ("ai_language_model_id", None),
        ("ai_language_model_id", ""),
        ("ai_language_model_streaming", "yes"),
    ],
)
def test_a_missing_or_wrong_header_is_named(name: str, value: str | None) -> None:
    with pytest.raises(InvalidRequestError) as raised:
        READ_REQUEST.read(WireRequest("/language-model", {"prompt": [user("Hi")]}, headers(**{name: value})))
    assert raised.value.where == f"header {name.replace('_', '-')}"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "role", "content", "data"]), inner)
    ),
    max_leaves=8,
)
REQUESTS = [recorded.values[0] for recorded in RECORDED]


def _places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value but its root."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, inner in items for found in [(*place, key), *_places(inner, (*place, key))]]


@given(st.data())
def test_whatever_stands_anywhere_is_taken_or_refused_with_its_place(data: st.DataObject) -> None:
    recorded = data.draw(st.sampled_from(REQUESTS))
    body = copy.deepcopy(recorded["body"])
    *parents, last = data.draw(st.sampled_from(_places(body)))
    target = body
    for key in parents:
        target = target[key]
    target[last] = data.draw(JSON)
    try:
        READ_REQUEST.read(WireRequest("/language-model", body, recorded["headers"]))
    except InvalidRequestError as error:
        assert error.where  # noqa: PT017 - taken is right as well
