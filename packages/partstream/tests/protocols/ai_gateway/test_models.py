"""The models of the AI Gateway over real HTTP: the public list, the endpoints of each model, the client's own list."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from models.lists import ENDPOINTS, VERCEL
from models.server import ModelServer, serving
from partstream import CancellationTokenSource
from partstream.errors import UpstreamHTTPError
from partstream.protocols.ai_gateway.write_request import WRITE_REQUEST
from partstream.protocols.protocol import KeyKind
from partstream.upstream.discovery import read_catalogue
from partstream.upstream.endpoint import Secret
from partstream.upstream.provider import GatewayProvider
from upstream_settings import gateway_of
from upstreams.upstreams import run

CLAUDE = "anthropic/claude-sonnet-4.5"
LIST, CONFIG, ENDPOINTS_OF_CLAUDE = "/v1/models", "/v3/ai/config", f"/v1/models/{CLAUDE}/endpoints"
CONFIGURED = {
    "models": [
        {
            "id": CLAUDE,
            "name": "Claude, as the client lists it",
            "pricing": {"input": "0.000003", "output": "0.000015", "input_cache_read": "0.0000003"},
            "specification": {"specificationVersion": "v3", "provider": "anthropic", "modelId": "claude-sonnet-4.5"},
            "modelType": "language",
        },
        {
            "id": "meta/unknown",
            "name": "Meta Unknown",
            "pricing": None,
            "specification": {"specificationVersion": "v3", "provider": "meta", "modelId": "unknown"},
        },
        {
            "id": "openai/text-embedding-3-large",
            "name": "Embedding",
            "specification": {"specificationVersion": "v3", "provider": "openai", "modelId": "x"},
            "modelType": "embedding",
        },
    ]
}


@asynccontextmanager
async def gateway(documents: dict[str, Any], **changes: Any) -> AsyncIterator[tuple[ModelServer, GatewayProvider]]:
    """A server of these documents, and a gateway whose base URL is that of the client's version 6."""
    server = ModelServer(documents)
    async with serving(server):
        origin = server.url.removesuffix("/v1")
        configuration = gateway_of({"baseUrl": f"{origin}/v3/ai", "protocol": "ai-gateway"})
        provider = GatewayProvider(replace(configuration, **changes))
        try:
            yield server, provider
        finally:
            await provider.aclose()


async def names(provider: GatewayProvider) -> dict[str, str]:
    token = CancellationTokenSource().token
    return {model.id: model.name for model in await provider.provide_language_model_chat_information(True, token)}


def test_models_are_those_of_the_public_list_with_the_limits_of_their_endpoints():
    async def test() -> None:
        documents = {LIST: VERCEL, CONFIG: CONFIGURED, ENDPOINTS_OF_CLAUDE: ENDPOINTS}
        async with gateway(documents) as (server, provider):
            token = CancellationTokenSource().token
            await provider.provide_language_model_chat_information(True, token)
            assert server.paths()[0] == LIST
            await provider._client.models.settle()
            models = {m.id: m for m in await provider.provide_language_model_chat_information(True, token)}
            assert list(models) == [CLAUDE, "deepseek/deepseek-r1", "meta/unknown"]
            claude = models[CLAUDE]
            assert (claude.name, claude.max_output_tokens) == ("Claude Sonnet 4.5", 32_000)
            assert claude.max_input_tokens <= 168_000
            assert models["meta/unknown"].name == "Meta Unknown"
            assert set(server.paths()) >= {LIST, CONFIG, ENDPOINTS_OF_CLAUDE, "/v1/models/meta/unknown/endpoints"}

    run(test())


def test_the_clients_own_list_stands_in_where_there_is_no_other():
    async def test() -> None:
        async with gateway({CONFIG: CONFIGURED}) as (server, provider):
            assert await names(provider) == {CLAUDE: "Claude, as the client lists it", "meta/unknown": "Meta Unknown"}
            assert server.paths()[:2] == [LIST, CONFIG]

    run(test())


def test_without_any_list_the_error_says_where_it_was_looked_for():
    async def test() -> None:
        async with gateway({}) as (_, provider):
            with pytest.raises(UpstreamHTTPError, match="no list of models at /v1/models"):
                await names(provider)

    run(test())


def test_no_model_is_lost_when_the_clients_own_list_is_refused_or_is_none():
    async def test() -> None:
        for broken in ({}, {CONFIG: {"models": "none"}}):
            async with gateway({LIST: VERCEL, **broken}) as (_, provider):
                await names(provider)
                await provider._client.models.settle()
                assert len(await names(provider)) == 3

    run(test())


@pytest.mark.parametrize(("kind", "said"), [(KeyKind.API_KEY, "api-key"), (KeyKind.OIDC, "oidc"), (None, None)])
def test_each_request_says_what_kind_of_key_goes_along(kind: KeyKind | None, said: str | None):
    async def test() -> None:
        key = None if kind is None else Secret("planted-0123", kind)
        async with gateway({LIST: VERCEL, CONFIG: CONFIGURED}, api_key=key) as (server, provider):
            await names(provider)
            await provider._client.models.settle()
            for request in server.requests:
                assert request.headers.get("ai-gateway-auth-method") == said
                assert request.headers["ai-gateway-protocol-version"] == "0.0.1"
                assert request.headers.get("authorization") == (key and "Bearer planted-0123")

    run(test())


def test_a_price_of_the_clients_list_is_a_price():
    (claude, *_) = read_catalogue(CONFIGURED).entries.values()
    assert claude.record.pricing is not None
    assert claude.record.pricing.value.input == Decimal("0.000003")
    assert read_catalogue(CONFIGURED).others == {"openai/text-embedding-3-large"}


PLACES = {
    "/v3/ai": ("/v1", ("/v3/ai/config",)),
    "/v1/ai/": ("/v1", ("/v1/ai/config",)),
    "/prefix/v4/ai": ("/prefix/v1", ("/prefix/v4/ai/config",)),
    "": ("/v1", ("/config",)),
}


@pytest.mark.parametrize(("path", "places"), PLACES.items())
def test_the_lists_stand_at_the_root_of_the_host(path: str, places: tuple[str, tuple[str, ...]]):
    assert WRITE_REQUEST.find_model_lists(path) == places
