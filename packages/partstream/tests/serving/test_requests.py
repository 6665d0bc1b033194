"""A request as ASGI gives it: its path below a mount, percent-encoded, and its headers."""

from __future__ import annotations
import asyncio

from partstream import chat_model
from partstream.server import app
from partstream.server.requests import headers_of, path_of
from rows import one_test_for
from serving.asgi import ask


@one_test_for(
    ("scope", "path"),
    [
        ({"path": "/v1/models/a/b", "raw_path": b"/v1/models/a%2Fb"}, "/v1/models/a%2Fb"),
        ({"path": "/v1/models/a b"}, "/v1/models/a%20b"),
        ({"path": "/v1/models", "raw_path": b"/v1/models?limit=1"}, "/v1/models"),
        ({"path": "/llm/v1/models", "raw_path": b"/llm/v1/models", "root_path": "/llm"}, "/v1/models"),
        ({"path": "/llm/v1/models", "raw_path": b"/llm/v1/models", "root_path": "/llm/"}, "/v1/models"),
        ({"path": "/llm", "raw_path": b"/llm", "root_path": "/llm"}, "/"),
        ({"path": "/llms/v1", "raw_path": b"/llms/v1", "root_path": "/llm"}, "/llms/v1"),
        ({"path": "/v1/models", "raw_path": b"/v1/models", "root_path": "/llm"}, "/v1/models"),
        ({"path": "/ü/v1", "raw_path": b"/%C3%BC/v1", "root_path": "/ü"}, "/v1"),
    ],
    ids=str,
)
def test_the_path_is_that_below_the_mount_and_still_encoded(scope, path):
    assert path_of(scope) == path


ODD_TOOL = {"type": "unknown", "name": [0]}
SAID = {"role": "user", "content": "a"}
LOADED = {"type": "tool_reference", "tool_name": [0]}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": [LOADED]}
USED = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
TOOL_OF_RESULT = {"name": "f", "input_schema": {}, "defer_loading": True}
HALF = {"type": "image_url", "image_url": {"url": "\ud800"}}
NAMESPACE = {"type": "namespace", "name": "n", "description": "a", "tools": [{"type": "function", "description": [0]}]}
CALLING = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": 1.5}}
ODD = {
    "the name of an unknown tool": ("/v1/responses", {"input": "a", "tools": [ODD_TOOL]}),
    "the type of a choice": ("/v1/responses", {"input": "a", "tool_choice": {"type": []}}),
    "the type of an allowed tool": (
        "/v1/chat/completions",
        {"messages": [SAID], "tool_choice": {"type": "allowed_tools", "allowed_tools": {"tools": [{"type": [0]}]}}},
    ),
    "the description of a tool in a namespace": ("/v1/responses", {"input": "a", "tools": [NAMESPACE]}),
    "the type of a format": ("/v1/chat/completions", {"messages": [SAID], "response_format": {"type": []}}),
    "the name of a loaded tool": (
        "/v1/messages",
        {
            "max_tokens": 9,
            "tools": [TOOL_OF_RESULT],
            "messages": [SAID, {"role": "assistant", "content": [USED]}, {"role": "user", "content": [RESULT]}],
        },
    ),
    "the names of allowed functions": (
        "/v1beta/models/m:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "a"}]}], "toolConfig": CALLING},
    ),
    "an address with half a character": ("/v1/chat/completions", {"messages": [{**SAID, "content": [HALF]}]}),
}


@one_test_for(("path", "body"), ODD.values(), ids=ODD)
def test_a_value_of_an_odd_type_is_no_fault_of_the_server(path, body):
    @chat_model(id="m", name="M")
    async def short(messages, options):
        del messages, options
        yield "Hi"

    reply = asyncio.run(ask(app(short), path, {"model": "m", **body}))
    assert reply.status < 500, reply.body


def test_headers_of_one_name_are_joined_and_their_names_are_in_lower_case():
    scope = {"headers": [(b"Anthropic-Beta", b"one"), (b"x", b"1"), (b"anthropic-beta", b"two")]}
    assert headers_of(scope) == {"anthropic-beta": "one, two", "x": "1"}
