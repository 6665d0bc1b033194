"""How the served side of the AI Gateway reads a request, and what it says of one that is wrong."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_sdk import FIXTURES
from partstream.errors import InvalidRequestError
from partstream.protocols.ai_gateway.serve_request import read_request, signature
from partstream.protocols.serving import ServedRequest, ToolOutput

PIXEL = "iVBORw0KGgo="
RECORDED = [
    pytest.param(request, id=f"{path.parent.name}-{name}")
    for path in sorted(FIXTURES.glob("*/gateway-requests.json"))
    for name, request in json.loads(path.read_bytes()).items()
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


def read(*prompt: Any, version: str = "3", **fields: Any) -> ServedRequest:
    return read_request({"prompt": list(prompt), **fields}, headers(version))


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
FUNCTION = {"type": "function", "name": "f", "inputSchema": {"type": "object"}}


def test_there_are_recorded_requests_of_all_versions() -> None:
    assert len(RECORDED) > 30


@pytest.mark.parametrize("request_", RECORDED)
def test_what_the_published_client_sends_is_taken(request_: dict[str, Any]) -> None:
    served = read_request(request_["body"], request_["headers"])
    assert served.dialect == request_["headers"]["ai-language-model-specification-version"]
    assert served.model == "made/up"
    assert served.stream
    assert served.prompt_tokens > 0


def test_the_last_user_turn_the_outputs_after_it_and_the_images_are_what_is_answered() -> None:
    image = {"type": "file", "mediaType": "image/png", "data": PIXEL}
    served = read(
        {"role": "system", "content": "Be brief."},
        user("first"),
        assistant(text("hm")),
        user("second", image),
        assistant(call()),
        result(content(text("seen"), {"type": "image-data", "data": PIXEL, "mediaType": "image/png"})),
        tools=[FUNCTION],
    )
    assert served.user_text == "second"
    assert served.tool_outputs == (ToolOutput("1", "f", "seen"),)
    assert served.images == ("image/png, 8 bytes",)
    assert [tool.name for tool in served.tools] == ["f"]
    assert 0 < served.cached_tokens < served.prompt_tokens


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (SAID, "it is"),
        ({"type": "json", "value": {"a": [1]}}, '{"a":[1]}'),
        ({"type": "error-text", "value": "no"}, "no"),
        ({"type": "error-json", "value": None}, "null"),
        ({"type": "execution-denied"}, "denied"),
        ({"type": "execution-denied", "reason": "not you"}, "not you"),
    ],
)
def test_an_output_is_its_text(output: Any, said: str) -> None:
    (tool_output,) = read(user("Hi"), assistant(call()), result(output)).tool_outputs
    assert tool_output.text == said


@pytest.mark.parametrize(
    ("choice", "left"),
    [
        (None, ["f", "g"]),
        ({"type": "auto"}, ["f", "g"]),
        ({"type": "required"}, ["f", "g"]),
        ({"type": "none"}, []),
        ({"type": "tool", "toolName": "g"}, ["g"]),
    ],
)
def test_the_tool_choice_leaves_tools(choice: Any, left: list[str]) -> None:
    fields = {} if choice is None else {"toolChoice": choice}
    served = read(user("Hi"), tools=[FUNCTION, FUNCTION | {"name": "g"}], **fields)
    assert [tool.name for tool in served.tools] == left


FILE = {"type": "file", "mediaType": "image/png"}


@pytest.mark.parametrize(("version", "part"), [
    ("2", FILE | {"data": PIXEL}),
    ("3", FILE | {"data": f"data:image/png;base64,{PIXEL}"}),
    ("3", FILE | {"data": "https://example.com/a.png", "originalUrl": "https://example.com/a.png"}),
    ("4", FILE | {"data": {"type": "data", "data": PIXEL}}),
    ("4", FILE | {"data": {"type": "url", "url": "https://example.com/a.png"}}),
    ("4", FILE | {"data": {"type": "reference", "reference": {"made": "up"}}}),
])  # fmt: skip
def test_a_file_has_the_form_of_its_version(version: str, part: Any) -> None:
    assert len(read(user(part), version=version).images) == 1


# Version, prompt or whole body, and where the mistake is.
WRONG: list[tuple[str, Any, str]] = [
    ("3", [], "prompt"),
    ("3", {"prompt": "Hi"}, "prompt"),
    ("3", {}, "prompt"),
    ("3", {"prompt": [user("Hi")], "model": "x"}, "model"),
    ("3", [{"role": "developer", "content": "Hi"}], "prompt[0].role"),
    ("3", ["Hi"], "prompt[0].role"),
    ("3", [{"role": "user", "content": "Hi"}], "prompt[0].content"),
    ("3", [{"role": "system", "content": [text("Hi")]}], "prompt[0].content"),
    ("3", [user({"type": "image", "image": PIXEL})], "prompt[0].content[0].type"),
    ("3", [user({"type": "text"})], "prompt[0].content[0].text"),
    ("3", [user(text("a") | {"cache": True})], "prompt[0].content[0].cache"),
    ("3", [user(FILE | {"data": PIXEL, "mimeType": "image/png"})], "prompt[0].content[0].mimeType"),
    ("3", [user({"type": "file", "data": PIXEL})], "prompt[0].content[0].mediaType"),
    ("3", [user(FILE | {"data": "no base64!"})], "prompt[0].content[0].data"),
    ("3", [user(FILE | {"data": ""})], "prompt[0].content[0].data"),
    ("3", [user(FILE | {"data": "data:image/png,abc"})], "prompt[0].content[0].data"),
    ("3", [user(FILE | {"data": {"type": "data", "data": PIXEL}})], "prompt[0].content[0].data"),
    ("4", [user(FILE | {"data": PIXEL})], "prompt[0].content[0].data"),
    ("4", [user(FILE | {"data": {"type": "url", "url": "a.png"}})], "prompt[0].content[0].data.url"),
    ("2", [assistant({"type": "custom", "kind": "a.b"})], "prompt[0].content[0].type"),
    ("3", [assistant(call(input="{}"))], "prompt[0].content[0].input"),
    ("3", [assistant(call(args={}))], "prompt[0].content[0].args"),
    ("3", [assistant(call())], "prompt[0].content[0]"),
    ("3", [assistant(call()), user("Hi"), result(SAID)], "prompt[0].content[0]"),
    ("3", [result(SAID)], "prompt[0].content[0].toolCallId"),
    ("3", [assistant(call()), result(SAID), result(SAID)], "prompt[2].content[0].toolCallId"),
    ("3", [assistant(call()), result(SAID, name="g")], "prompt[1].content[0].toolName"),
    ("3", [assistant(call()), result("it is")], "prompt[1].content[0].output"),
    ("2", [assistant(call()), result({"type": "execution-denied"})], "prompt[1].content[0].output.type"),
    ("2", [assistant(call()), result(SAID | {"providerOptions": {}})], "prompt[1].content[0].output.providerOptions"),
    ("3", [assistant(call()), result(content({"type": "media", "data": PIXEL, "mediaType": "image/png"}))],
     "prompt[1].content[0].output.value[0].type"),
    ("4", [assistant(call()), result(content({"type": "image-data", "data": PIXEL, "mediaType": "image/png"}))],
     "prompt[1].content[0].output.value[0].type"),
    ("3", {"prompt": [user("Hi")], "tools": [{"type": "function", "name": "f", "parameters": {}}]},
     "tools[0].parameters"),
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
    ("3", {"prompt": [user("Hi")], "reasoning": "low"}, "reasoning"),
    ("4", {"prompt": [user("Hi")], "reasoning": "much"}, "reasoning"),
    ("3", {"prompt": [user("Hi")], "providerOptions": {"gateway": []}}, "providerOptions.gateway"),
    ("3", {"prompt": [user("Hi")], "headers": {"x": 1}}, "headers.x"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "wrong", "where"), WRONG)
def test_a_wrong_request_is_refused_with_the_place(version: str, wrong: Any, where: str) -> None:
    body = wrong if isinstance(wrong, dict) else {"prompt": wrong}
    with pytest.raises(InvalidRequestError) as raised:
        read_request(body, headers(version))
    assert raised.value.where == where
    assert raised.value.got
    assert raised.value.expected


@pytest.mark.parametrize(
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
        read_request({"prompt": [user("Hi")]}, headers(**{name: value}))
    assert raised.value.where == f"header {name.replace('_', '-')}"


def test_what_was_signed_is_taken_back_and_nothing_else_under_that_signature() -> None:
    def thought(words: str, signed: str) -> dict[str, Any]:
        return {"type": "reasoning", "text": words, "providerOptions": {"anthropic": {"signature": signature(signed)}}}

    read(user("Hi"), assistant(thought("hm", "hm"), text("so")), user("And?"))
    with pytest.raises(InvalidRequestError) as raised:
        read(user("Hi"), assistant(thought("h", "hm"), text("so")), user("And?"))
    assert raised.value.where == "prompt[1].content[0].providerOptions.anthropic.signature"


def test_a_call_that_the_provider_executed_needs_no_result() -> None:
    assert read(user("Hi"), assistant(call(providerExecuted=True)), user("And?")).user_text == "And?"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "role", "content", "data"]), inner)
    ),
    max_leaves=8,
)
REQUESTS = [request.values[0] for request in RECORDED]


def _places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value but its root."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, inner in items for found in [(*place, key), *_places(inner, (*place, key))]]


@given(st.data())
def test_whatever_stands_anywhere_is_taken_or_refused_with_its_place(data: st.DataObject) -> None:
    request = data.draw(st.sampled_from(REQUESTS))
    body = copy.deepcopy(request["body"])
    *parents, last = data.draw(st.sampled_from(_places(body)))
    target = body
    for key in parents:
        target = target[key]
    target[last] = data.draw(JSON)
    try:
        read_request(body, request["headers"])
    except InvalidRequestError as error:
        assert error.where  # noqa: PT017 - taken is right as well
