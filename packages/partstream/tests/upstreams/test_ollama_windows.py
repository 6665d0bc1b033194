"""The context window that requests to Ollama set is the one that is advertised.

The reason: docs/wires/ollama.md#context-window.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from models.lists import OLLAMA_SHOW, OLLAMA_TAGS
from models.server import ModelServer, serving
from partstream import CancellationTokenSource, LanguageModelChatInformation
from partstream.upstream.provider import GatewayProvider
from upstream_settings import gateway_of
from upstreams.upstreams import ask, run

MODEL = "llama3.2:latest"


def _show(body: bytes, **fields: Any) -> dict[str, Any]:
    return OLLAMA_SHOW[json.loads(body)["model"]] | fields


def _documents(parameters: str = "", running: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {
        "/api/tags": OLLAMA_TAGS,
        "/api/show": lambda body: _show(body, parameters=parameters),
        "/api/ps": {"models": running or []},
        "/api/chat": {"model": MODEL, "message": {"role": "assistant", "content": "Hi"}, "done": True},
    }


@asynccontextmanager
async def ollama(documents: dict[str, Any], **settings: Any) -> AsyncIterator[tuple[ModelServer, GatewayProvider]]:
    server = ModelServer(documents)
    async with serving(server):
        url = server.url.removesuffix("/v1") + "/api"
        provider = GatewayProvider(gateway_of({"baseUrl": url, "protocol": "ollama", **settings}))
        try:
            yield server, provider
        finally:
            await provider.aclose()


async def _listed(provider: GatewayProvider) -> list[LanguageModelChatInformation]:
    """The models with all that the server says of them."""
    token = CancellationTokenSource().token
    await provider.provide_language_model_chat_information(True, token)
    await provider._client.models.settle()
    return list(await provider.provide_language_model_chat_information(True, token))


LOADED = [{"model": MODEL, "name": MODEL, "context_length": 65536}]
WINDOWS: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "nothing": (_documents(), {}, 32768),
    "the loaded model": (_documents(running=LOADED), {}, 65536),
    "the Modelfile before the loaded model": (_documents("num_ctx 16384", LOADED), {}, 16384),
    "a setting before all": (_documents("num_ctx 16384", LOADED), {"request": {"numCtx": 50000}}, 50000),
    "a setting of the model": (_documents(), {"modelRequests": {MODEL: {"numCtx": 50000}}}, 50000),
    "a window that a person states": (_documents(), {"models": [{"id": MODEL, "contextWindow": 9000}]}, 9000),
    "a larger limit of prompts": (_documents(), {"models": [{"id": MODEL, "maxInputTokens": 100000}]}, 32768),
    "a larger limit of prompts than the stated window": (
        _documents(),
        {"models": [{"id": MODEL, "contextWindow": 9000, "maxInputTokens": 100000}]},
        9000,
    ),
    "more than the model was trained for": (_documents(), {"request": {"numCtx": 500000}}, 131072),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_the_advertised_window_is_the_one_that_requests_set(name: str) -> None:
    documents, settings, window = WINDOWS[name]

    async def test() -> None:
        async with ollama(documents, **settings) as (server, provider):
            (model,) = await _listed(provider)
            assert (model.id, model.extra["maxContextWindowTokens"]) == (MODEL, window)
            assert model.max_input_tokens + model.max_output_tokens <= window
            assert f"Context window: {window:,} tokens (" in (model.tooltip or "")
            assert server.paths()[:1] == ["/api/tags"]
            assert "/api/models" not in server.paths()
            assert (await ask(provider, "Hi", model_id=MODEL)).text == "Hi"
            sent = json.loads(server.requests[-1].body)
            assert sent["options"]["num_ctx"] == window
            assert (sent["truncate"], sent["shift"]) == (False, False)

    run(test())
