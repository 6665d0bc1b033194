"""Servers that refuse the schema of a tool: each is asked once more with the smallest form, and from then on."""

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from matrix.requests import SCHEMA_PLACES, value_at
from partstream import ChatMessage, RequestOptions, Tool
from partstream.codec.json_codec import dumps
from partstream.lm.parts import ToolCallPart, ToolResultPart
from partstream_devtools.testing.faults import Step, document
from upstreams.test_chat_refusals import HELLO as CHAT_HELLO
from upstreams.test_chat_refusals import chunk, streamed
from upstreams.test_messages_refusals import HELLO as MESSAGES_HELLO
from upstreams.test_refusals import ANSWER, Body, asked, server
from upstreams.upstreams import ask, gateway_to, run

SCHEMA = {
    "type": "object",
    "properties": {
        "key": {"type": "string", "pattern": "^\\d{3}$"},
        "tree": {"type": "array", "items": {"$ref": "#/$defs/Node", "minProperties": 1}},
    },
    "$defs": {"Node": {"type": "object", "properties": {"size": {"type": "integer", "minimum": 0}}}},
}
SMALLEST = {
    "type": "object",
    "properties": {
        "key": {"type": "string", "description": "(matches ^\\d{3}$)"},
        "tree": {
            "type": "array",
            "items": {
                "type": "object",
                "description": "(at least 1 properties)",
                "properties": {"size": {"type": "integer", "description": "(at least 0)"}},
            },
        },
    },
}
OLLAMA_HELLO = list(
    document(
        200,
        dumps({"model": "m", "message": {"role": "assistant", "content": "Hello"}, "done": True, "done_reason": "stop"})
        + b"\n",
        "application/x-ndjson",
    )
)
REFUSALS: dict[str, tuple[str, int, Any, list[Step]]] = {
    "OpenAI": (
        "chat-completions",
        400,
        {"error": {"message": "Invalid schema for function 'f': unknown keyword 'pattern'.", "param": "tools[0]"}},
        CHAT_HELLO,
    ),
    "llama.cpp": (
        "chat-completions",
        400,
        {"error": {"code": 400, "message": "JSON schema conversion failed:\nPattern must start with '^'"}},
        CHAT_HELLO,
    ),
    "LM Studio": (
        "chat-completions",
        500,
        {"error": "Failed to initialize samplers: failed to parse grammar"},
        CHAT_HELLO,
    ),
    "Moonshot": (
        "chat-completions",
        400,
        {"error": {"message": "tools.function.parameters is not a valid moonshot flavored json schema, details: x"}},
        CHAT_HELLO,
    ),
    "OpenAI's Responses": (
        "openresponses",
        400,
        {"error": {"message": "Invalid schema for function 'f': x", "code": "invalid_function_parameters"}},
        ANSWER,
    ),
    "Anthropic": (
        "anthropic-messages",
        400,
        {"type": "error", "error": {"message": "tools.0.custom.input_schema: JSON schema is invalid."}},
        MESSAGES_HELLO,
    ),
    "Ollama": ("ollama", 400, {"error": "json: cannot unmarshal: tool properties must be an object"}, OLLAMA_HELLO),
}


def _refusing(status: int, said: Any, answer: list[Step]) -> Callable[[Body], list[Step]]:
    def answer_to(body: Body) -> list[Step]:
        is_refused = any(word in json.dumps(body) for word in ('"pattern"', '"$ref"', '"minimum"'))
        return list(document(status, dumps(said))) if is_refused else answer

    return answer_to


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refused_schema_goes_out_in_its_smallest_form_then_and_from_then_on(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    wire, *refusal = REFUSALS[name]

    async def check() -> None:
        async with server(_refusing(*refusal)) as (url, came), gateway_to(url, protocol=wire) as provider:
            with caplog.at_level(logging.INFO):
                answers = [await asked(provider, tools=(Tool("f", "", SCHEMA),)) for _ in range(2)]
            assert [answer.text for answer in answers] == ["Hello", "Hello"]
            sent = [value_at(body, SCHEMA_PLACES[wire]) for body in came]
            assert sent[-3] != SMALLEST
            assert sent[-2:] == [SMALLEST, SMALLEST]
            assert f"refuses {SCHEMA_PLACES[wire].replace('.0', '[]')}" in caplog.text

    run(check())


def test_a_schema_that_is_refused_in_its_smallest_form_too_is_an_error_and_is_tried_once() -> None:
    async def check() -> None:
        said = {"error": {"message": "Invalid schema for function 'f': no."}}
        async with (
            server(lambda _body: list(document(400, dumps(said)))) as (url, came),
            gateway_to(url, protocol="chat-completions") as provider,
        ):
            assert "Invalid schema" in str((await asked(provider, tools=(Tool("f", "", SCHEMA),))).error)
            assert len(came) == 2

    run(check())


def test_a_refused_form_of_the_answer_changes_no_tool() -> None:
    async def check() -> None:
        said = {"error": {"message": "Invalid schema for response_format 'x': no."}}
        async with (
            server(lambda _body: list(document(400, dumps(said)))) as (url, came),
            gateway_to(url, protocol="chat-completions") as provider,
        ):
            assert (await asked(provider, tools=(Tool("f", "", SCHEMA),))).error is not None
            assert len(came) == 1

    run(check())


def test_a_call_has_the_given_names_of_its_properties_and_goes_back_with_the_sent_ones() -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": '{"filter_id": "x", "other": {"$top": 1}}'}}

    async def check() -> None:
        def answer_to(body: Body) -> list[Step]:
            if len(body["messages"]) > 1:
                return CHAT_HELLO
            return streamed(chunk(tool_calls=[call]), chunk("tool_calls"))

        tools = (Tool("f", "", {"properties": {"filter[id]": {"type": "string"}, "other": {}}}),)
        async with server(answer_to) as (url, came), gateway_to(url, protocol="chat-completions") as provider:
            first = await asked(provider, model_id="claude-x", tools=tools)
            (part,) = [one for one in first.parts if isinstance(one, ToolCallPart)]
            assert part.input == {"filter[id]": "x", "other": {"$top": 1}}
            history = [ChatMessage.user("Hi"), ChatMessage.assistant([part])]
            history.append(ChatMessage.user([ToolResultPart(part.call_id, ())]))
            assert (
                await ask(provider, history, model_id="claude-x", options=RequestOptions(tools=tools))
            ).text == "Hello"
            arguments = came[1]["messages"][1]["tool_calls"][0]["function"]["arguments"]
            assert json.loads(arguments) == {"filter_id": "x", "other": {"$top": 1}}

    run(check())
