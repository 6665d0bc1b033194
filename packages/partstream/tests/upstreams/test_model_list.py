"""What a gateway offers: the models that are configured, or those that its upstream lists."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from models.lists import ANTHROPIC, ENDPOINTS, OPENAI, VERCEL
from models.server import ModelServer, serving
from models.test_hosted_shapes import COPILOT
from partstream import CancellationTokenSource, LanguageModelChatInformation
from partstream.conversation.preparation import UNKNOWN_CAPABILITIES, ThinkingForm
from partstream.errors import UpstreamError, UpstreamHTTPError
from partstream.protocols.protocol import asked_protocols
from partstream.upstream.configuration import GatewayConfiguration
from partstream.upstream.discovery import ModelList
from partstream.upstream.provider import GatewayProvider
from partstream_devtools.testing.upstream import ReplayUpstream
from upstream_settings import gateway_of
from upstreams.upstreams import run

LIST = "/v1/models"
CLAUDE = "anthropic/claude-sonnet-4.5"


@asynccontextmanager
async def gateway(documents: dict[str, Any], **settings: Any) -> AsyncIterator[tuple[ModelServer, GatewayProvider]]:
    """A server of these documents and a gateway to it, configured as by a group of VS Code."""
    server = ModelServer(documents)
    async with serving(server):
        folder = settings.pop("cache_folder", None)
        configuration = gateway_of({"baseUrl": server.url, "protocol": "openresponses", **settings})
        configuration = replace(configuration, cache_folder=folder)
        provider = GatewayProvider(configuration)
        try:
            yield server, provider
        finally:
            await provider.aclose()


async def listed(provider: GatewayProvider) -> list[LanguageModelChatInformation]:
    token = CancellationTokenSource().token
    return list(await provider.provide_language_model_chat_information(True, token))


def test_without_models_in_the_configuration_the_upstream_is_asked():
    async def test() -> None:
        async with gateway({LIST: OPENAI}) as (server, provider):
            assert [(model.id, model.name, model.family) for model in await listed(provider)] == [
                ("gpt-4o", "GPT-4o", "gpt-4o"),
                ("gpt-5.2", "GPT-5.2", "gpt-5.2"),
            ]
            assert server.paths()[0] == LIST

    run(test())


@pytest.mark.parametrize(
    ("protocol", "ids"),
    [("openresponses", ["gpt-5.2-codex"]), ("chat-completions", ["claude-sonnet-4.5"])],
)
def test_a_model_is_offered_only_where_its_server_answers_for_it(protocol: str, ids: list[str]):
    if protocol not in asked_protocols():
        pytest.skip(f"this version asks no server in {protocol}")

    async def test() -> None:
        async with gateway({LIST: COPILOT}, protocol=protocol) as (_, provider):
            assert [model.id for model in await listed(provider)] == ids

    run(test())


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"apiKey": "key-of-another"},
        {"apiKey": "key-of-one", "headers": {"x-team": "another"}},
    ],
)
def test_a_refused_or_missing_key_never_shows_the_list_of_the_key_before(tmp_path: Path, other: dict[str, Any]):
    async def test() -> None:
        async with gateway({LIST: OPENAI}, apiKey="key-of-one", cache_folder=tmp_path) as (server, provider):
            assert len(await listed(provider)) == 2
            await provider._client.models.settle()
            server.statuses[LIST] = 401
            configuration = gateway_of({"baseUrl": server.url, **other})
            second = GatewayProvider(replace(configuration, cache_folder=tmp_path))
            with pytest.raises(UpstreamHTTPError, match="HTTP 401"):
                await listed(second)
            await second.aclose()

    run(test())


# The settings of a group beside its address, the models in the picker, and the paths that were asked for the list.
NAMED = {
    "a name": ([{"id": "gpt-4o", "name": "Mine"}], {}, [("gpt-5.2", "GPT-5.2"), ("gpt-4o", "Mine")], [LIST]),
    "an id alone": (["gpt-4o"], {}, [("gpt-5.2", "GPT-5.2"), ("gpt-4o", "GPT-4o")], [LIST]),
    "one that the list lacks": (["own"], {}, [("gpt-5.2", "GPT-5.2"), ("gpt-4o", "GPT-4o"), ("own", "Own")], [LIST]),
    "with a list of those to show": (["gpt-4o"], {"allowModels": ["gpt-4o"]}, [("gpt-4o", "GPT-4o")], [LIST]),
    "with one that is hidden": (["own"], {"hiddenModels": ["gpt-5*"]}, [("gpt-4o", "GPT-4o"), ("own", "Own")], [LIST]),
    "with no list wanted": ([{"id": "b", "name": "B"}, "own"], {"discover": False}, [("b", "B"), ("own", "Own")], []),
    "with a list wanted": (["own"], {"discover": True, "denyModels": ["gpt-*"]}, [("own", "Own")], [LIST]),
    "of an agent at its address": (["own"], {"protocol": "ag-ui"}, [("own", "Own")], []),
}


@pytest.mark.parametrize(("models", "settings", "shown", "asked"), NAMED.values(), ids=NAMED)
def test_naming_a_model_adds_what_is_said_of_it_and_hides_no_other(
    models: list[Any], settings: dict[str, Any], shown: list[tuple[str, str]], asked: list[str]
):
    async def test() -> None:
        async with gateway({LIST: OPENAI}, models=models, **settings) as (server, provider):
            in_picker = [one for one in await listed(provider) if one.extra.get("isUserSelectable") is not False]
            assert sorted((model.id, model.name) for model in in_picker) == sorted(shown)
            assert server.paths() == asked

    run(test())


def test_a_named_model_keeps_what_its_server_says_and_is_first_where_it_is_the_default():
    async def test() -> None:
        named = {"models": [{"id": CLAUDE, "name": "Mine"}, {"id": "own", "maxInputTokens": 7}], "defaultModel": "own"}
        async with gateway({LIST: VERCEL}) as (_, provider):
            plain = {model.id: model for model in await listed(provider)}
        async with gateway({LIST: VERCEL}, **named) as (_, provider):
            own, *others = await listed(provider)
        mine = next(model for model in others if model.id == CLAUDE)
        assert (own.id, own.max_input_tokens) == ("own", 7)
        assert (mine.name, plain[CLAUDE].name) == ("Mine", "Claude Sonnet 4.5")
        assert (mine.max_input_tokens, mine.max_output_tokens, mine.capabilities) == (
            plain[CLAUDE].max_input_tokens,
            plain[CLAUDE].max_output_tokens,
            plain[CLAUDE].capabilities,
        )

    run(test())


def test_models_given_as_they_are_stay_as_they_are():
    async def test() -> None:
        model = LanguageModelChatInformation("m", "M", "f", "1", 10, 10)
        provider = GatewayProvider(GatewayConfiguration("http://127.0.0.1:9/v1", (model,)))
        assert await listed(provider) == [model]
        await provider.aclose()

    run(test())


def test_a_change_behind_the_list_is_told_once_and_is_there_then():
    async def test() -> None:
        documents = {LIST: VERCEL, f"{LIST}/{CLAUDE}/endpoints": ENDPOINTS}
        async with gateway(documents, allowModels=[CLAUDE]) as (server, provider):
            told: list[None] = []
            provider.on_did_change_language_model_chat_information(told.append)
            (first,) = await listed(provider)
            await provider._client.models.settle()
            (second,) = await listed(provider)
            assert (first.max_output_tokens, second.max_output_tokens, len(told)) == (64_000, 32_000, 1)
            assert server.paths() == [LIST, f"{LIST}/{CLAUDE}/endpoints"]

    run(test())


def test_an_upstream_without_a_list_is_an_error_that_says_so():
    async def test() -> None:
        async with gateway({}) as (_, provider):
            with pytest.raises(UpstreamError, match="no list of models at /v1/models"):
                await listed(provider)

    run(test())


def test_configured_models_stay_when_the_upstream_has_no_list(caplog: pytest.LogCaptureFixture):
    async def test() -> None:
        async with gateway({}, models=["mine"]) as (_, provider):
            assert [model.id for model in await listed(provider)] == ["mine"]

    run(test())
    assert "only the configured models are offered" in caplog.text


def test_lists_that_changed_in_the_settings_take_effect_at_once_from_the_disk(tmp_path: Path):
    async def test() -> None:
        async with gateway({LIST: VERCEL}, cache_folder=tmp_path) as (server, provider):
            assert len(await listed(provider)) == 3
            await provider._client.models.settle()
            denying = gateway_of({"baseUrl": server.url, "denyModels": ["anthropic/*"]})
            configuration = replace(denying, cache_folder=tmp_path)
            server.gate.clear()
            changed = GatewayProvider(configuration)
            assert [model.id for model in await listed(changed)] == ["deepseek/deepseek-r1", "meta/unknown"]
            await changed.aclose()

    run(test())


def test_the_models_of_the_replay_upstream_are_its_scenarios():
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            provider = GatewayProvider(GatewayConfiguration(upstream.base_url))
            assert "text" in [model.id for model in await listed(provider)]
            await provider.aclose()

    run(test())


def test_what_the_list_and_a_person_say_of_a_model_is_known_to_who_writes_the_request():
    async def test() -> None:
        server = ModelServer({LIST: ANTHROPIC})
        async with serving(server) as fetch:
            settings = {"models": [{"id": "claude-opus-5", "maxOutputTokens": 9_000}], "discover": True}
            configuration = gateway_of({"baseUrl": server.url, "protocol": "openresponses", **settings})
            models = ModelList(configuration, fetch, lambda: None)
            assert models.capabilities("claude-opus-5") == UNKNOWN_CAPABILITIES
            await models.information()
            known = models.capabilities("claude-opus-5")
            assert (known.thinking_forms, known.max_output_tokens) == ((ThinkingForm.ADAPTIVE,), 9_000)
            await models.aclose()

    run(test())
