"""llama.cpp leaves tools out of a prompt whose chat template names none: a request says so, on each wire."""

import logging
from typing import Any

import pytest

from conversation.samples import WEATHER
from models.server import ModelServer, serving
from partstream import CancellationTokenSource, RequestOptions, ToolMode
from partstream.errors import RequestNotExpressibleError
from partstream.server.application import app
from partstream.server.requests import DROPPED_HEADER
from partstream.server.settings import ServingSettings
from partstream.upstream.context import DROPPED
from partstream.upstream.provider import GatewayProvider
from serving.asgi import ask as ask_app
from upstreams.upstreams import ask, configuration, run

LISTED = {"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "llamacpp", "meta": {"n_ctx": 2048}}]}
SAID = {"role": "assistant", "content": "Hi"}
ITEM = {"type": "message", "id": "i", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}
ENDPOINTS: dict[str, tuple[str, Any]] = {
    "chat-completions": (
        "/v1/chat/completions",
        {"id": "c", "choices": [{"index": 0, "message": SAID, "finish_reason": "stop"}]},
    ),
    "openresponses": ("/v1/responses", {"id": "r", "object": "response", "status": "completed", "output": [ITEM]}),
    "anthropic-messages": (
        "/v1/messages",
        {"type": "message", **SAID, "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"},
    ),
}
every_wire = pytest.mark.parametrize("protocol", ENDPOINTS)
SCHEMA = WEATHER.input_schema
QUESTION = [{"role": "user", "content": "Hi"}]
FUNCTION = {"name": "weather", "parameters": SCHEMA}
REQUESTS: dict[str, dict[str, Any]] = {
    "chat-completions": {"messages": QUESTION, "tools": [{"type": "function", "function": FUNCTION}]},
    "openresponses": {"input": "Hi", "tools": [{"type": "function", **FUNCTION}]},
    "anthropic-messages": {
        "messages": QUESTION,
        "max_tokens": 9,
        "tools": [{"name": "weather", "input_schema": SCHEMA}],
    },
}


def llama_cpp(*, supports_tools: bool) -> ModelServer:
    props = {
        "default_generation_settings": {"n_ctx": 2048},
        "chat_template_caps": {"supports_tools": supports_tools},
    }
    return ModelServer({"/v1/models": LISTED, "/props": props, **dict(ENDPOINTS.values())})


async def provider_of(server: ModelServer, protocol: str) -> GatewayProvider:
    provider = GatewayProvider(configuration(server.url, protocol=protocol, models=()))
    assert await provider.provide_language_model_chat_information(True, CancellationTokenSource().token)
    return provider


@every_wire
@pytest.mark.parametrize("supports_tools", [False, True])
def test_tools_that_no_prompt_has_are_told_and_logged(
    protocol: str, supports_tools: bool, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[str] = []

    async def test() -> None:
        server = llama_cpp(supports_tools=supports_tools)
        async with serving(server):
            provider = await provider_of(server, protocol)
            DROPPED.set(told.extend)
            answer = await ask(provider, "Hi", model_id="m", options=RequestOptions(tools=[WEATHER]))
            assert (answer.text, answer.error) == ("Hi", None)
            await provider.aclose()

    with caplog.at_level(logging.WARNING, "partstream.upstreams"):
        run(test())
    assert told == ([] if supports_tools else ["tools"])
    assert ("no tools reach m: the chat template" in caplog.text) is not supports_tools


@every_wire
def test_a_call_is_not_demanded_of_a_model_whose_prompt_has_no_tools(protocol: str) -> None:
    async def test() -> None:
        server = llama_cpp(supports_tools=False)
        async with serving(server):
            provider = await provider_of(server, protocol)
            options = RequestOptions(tools=[WEATHER], tool_mode=ToolMode.REQUIRED)
            error = (await ask(provider, "Hi", model_id="m", options=options)).error
            assert isinstance(error, RequestNotExpressibleError)
            assert error.where == "tool_mode"
            assert [request.method for request in server.requests if request.method == "POST"] == []
            await provider.aclose()

    run(test())


@every_wire
@pytest.mark.parametrize("asked", ENDPOINTS)
def test_a_client_of_a_server_before_it_reads_it_in_a_header_or_in_an_error(asked: str, protocol: str) -> None:
    """Also where the request goes on as it came, to the same protocol."""

    async def test() -> None:
        server = llama_cpp(supports_tools=False)
        async with serving(server):
            provider = await provider_of(server, protocol)
            path, body = ENDPOINTS[asked][0], {"model": "m", **REQUESTS[asked]}
            reply = await ask_app(app(provider), path, body)
            assert (reply.status, reply.headers[DROPPED_HEADER]) == (200, "tools")
            strict = await ask_app(app(provider, ServingSettings(strict=True)), path, body)
            assert strict.status == 400
            demand = {"type": "any"} if asked == "anthropic-messages" else "required"
            demanded = await ask_app(app(provider), path, {**body, "tool_choice": demand})
            assert demanded.status == 400
            assert "chat template" in demanded.json["error"]["message"]
            await provider.aclose()

    run(test())


@every_wire
def test_a_demanded_call_that_does_not_come_is_logged(protocol: str, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        server = llama_cpp(supports_tools=True)
        async with serving(server):
            provider = await provider_of(server, protocol)
            options = RequestOptions(tools=[WEATHER], tool_mode=ToolMode.REQUIRED)
            assert (await ask(provider, "Hi", model_id="m", options=options)).text == "Hi"
            await provider.aclose()

    with caplog.at_level(logging.WARNING, "partstream.upstreams"):
        run(test())
    assert "m had to call a tool, and called none" in caplog.text
