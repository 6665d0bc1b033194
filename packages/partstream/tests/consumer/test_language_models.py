"""Registering providers and selecting their models."""

import asyncio
import logging

import pytest
from scripted import HELLO, Request, ScriptedProvider, information, run, until

from partstream import InvalidArgumentError, LanguageModelError, LanguageModels, TextPart
from partstream.errors import CallerError, DuplicateVendorError, UnknownModelError
from partstream.runtime.consumer import LanguageModelChatSelector
from partstream.runtime.requests import ConsumerLimits
from rows import one_test_for

PARROTS = ScriptedProvider(
    models=[information(id="a", family="parrot", version="1"), information(id="b", family="parrot", version="2")]
)
OWLS = ScriptedProvider(models=[information(id="a", family="owl", version="1")])

SELECTIONS = [
    (None, ["birds/a", "birds/b", "night/a"]),
    (LanguageModelChatSelector(), ["birds/a", "birds/b", "night/a"]),
    (LanguageModelChatSelector(vendor="night"), ["night/a"]),
    (LanguageModelChatSelector(family="parrot"), ["birds/a", "birds/b"]),
    (LanguageModelChatSelector(version="1"), ["birds/a", "night/a"]),
    (LanguageModelChatSelector(id="a"), ["birds/a", "night/a"]),
    (LanguageModelChatSelector(vendor="birds", family="parrot", version="2", id="b"), ["birds/b"]),
    (LanguageModelChatSelector(vendor="birds", family="owl"), []),
    (LanguageModelChatSelector(vendor="fish"), []),
    ({}, ["birds/a", "birds/b", "night/a"]),
    ({"vendor": "birds", "id": "b"}, ["birds/b"]),
    ({"family": "owl", "version": None}, ["night/a"]),
]


@one_test_for(("selector", "expected"), SELECTIONS)
def test_select_returns_the_models_that_match_in_order_of_registration(selector, expected) -> None:
    async def scenario() -> None:
        models = LanguageModels()
        models.register_language_model_chat_provider("birds", PARROTS)
        models.register_language_model_chat_provider("night", OWLS)
        selected = await models.select_chat_models(selector)
        assert [f"{model.vendor}/{model.id}" for model in selected] == expected

    run(scenario())


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ({"vendr": "birds"}, "selector: got the unknown property 'vendr', expected 'vendor'"),
        ({"qqq": "x"}, "selector: got the unknown property 'qqq', expected one of vendor, family, version, id"),
        ({"id": 5}, "LanguageModelChatSelector.id: got 5 (int), expected a text (str), or None"),
        ("birds", "selector: got 'birds' (str), expected a mapping with some of vendor, family, version, id, or None"),
    ],
)
def test_a_selector_that_can_match_nothing_is_refused(selector, message) -> None:
    async def scenario() -> None:
        with pytest.raises(CallerError) as caught:
            await LanguageModels().select_chat_models(selector)
        assert str(caught.value) == message

    run(scenario())


class _Lists(ScriptedProvider):
    def __init__(self, listed: object) -> None:
        super().__init__()
        self.listed = listed

    async def provide_language_model_chat_information(self, silent, token):
        return self.listed


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        (None, ": got None, expected a list or a tuple, each item a LanguageModelChatInformation"),
        ("small", ": got 'small' (str), expected a list or a tuple, each item a LanguageModelChatInformation"),
        (["small"], "[0]: got 'small' (str), expected a LanguageModelChatInformation"),
    ],
)
def test_a_list_that_is_none_is_reported_with_the_line_of_the_method(listed, message) -> None:
    async def scenario() -> None:
        models = LanguageModels(on_provider_error=lambda vendor, error: None)
        models.register_language_model_chat_provider("test", _Lists(listed))
        assert await models.select_chat_models() == []
        line = _Lists.provide_language_model_chat_information.__code__.co_firstlineno
        assert str(models.provider_errors["test"]) == f"the models of test ({__file__}:{line}){message}"

    run(scenario())


@one_test_for("provider", [ScriptedProvider, 5, len, None, object()])
def test_what_is_no_provider_is_refused(provider) -> None:
    with pytest.raises(
        InvalidArgumentError, match=r"provider: got .*, expected a LanguageModelChatProvider: an object"
    ):
        LanguageModels().register_language_model_chat_provider("test", provider)


def test_a_model_shows_what_its_provider_says_about_it() -> None:
    async def scenario() -> None:
        models = LanguageModels()
        models.register_language_model_chat_provider("test", ScriptedProvider())
        (model,) = await models.select_chat_models()
        assert (model.id, model.name, model.family, model.version) == ("small", "Small", "parrot", "1")
        assert (model.max_input_tokens, model.max_output_tokens) == (1000, 100)
        assert model.capabilities.tool_calling is False

    run(scenario())


async def _raise(token: object) -> None:
    raise OSError("no network")


async def _raise_timeout(token: object) -> None:
    raise TimeoutError("its own limit")


async def _hang(token: object) -> None:
    await asyncio.Event().wait()


FAILING = [
    (ScriptedProvider(listing=_raise), OSError, "no network"),
    (ScriptedProvider(listing=_raise_timeout), TimeoutError, "its own limit"),
    (ScriptedProvider(listing=_hang), LanguageModelError, r"did not list its models within 0\.02 s"),
    (ScriptedProvider(models=[information(), information()]), CallerError, "lists small more than once"),
]


@pytest.mark.parametrize(("provider", "error", "sentence"), FAILING)
def test_a_provider_that_cannot_list_hides_no_other_and_its_error_is_kept_and_reported(
    provider, error, sentence
) -> None:
    async def scenario() -> None:
        reported: list[tuple[str, Exception]] = []
        models = LanguageModels(
            on_provider_error=lambda vendor, failure: reported.append((vendor, failure)),
            limits=ConsumerLimits(list_seconds=0.02),
        )
        models.register_language_model_chat_provider("broken", provider)
        models.register_language_model_chat_provider("night", OWLS)
        assert [model.vendor for model in await models.select_chat_models()] == ["night"]
        with pytest.raises(error, match=sentence):
            raise models.provider_errors["broken"]
        assert reported == [("broken", models.provider_errors["broken"])]

    run(scenario())


def test_a_listing_that_goes_well_again_clears_the_error() -> None:
    async def scenario() -> None:
        models = LanguageModels(on_provider_error=lambda vendor, error: None)
        provider = ScriptedProvider(models=[information(), information()])
        models.register_language_model_chat_provider("test", provider)
        assert await models.select_chat_models() == []
        provider.models = [information()]
        assert len(await models.select_chat_models()) == 1
        assert models.provider_errors == {}

    run(scenario())


def test_an_error_that_nobody_asked_to_be_told_of_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        models = LanguageModels()
        models.register_language_model_chat_provider("broken", ScriptedProvider(listing=_raise))
        await models.select_chat_models()

    with caplog.at_level(logging.WARNING, "partstream.consumer"):
        run(scenario())
    line = _raise.__code__.co_firstlineno + 1
    assert caplog.messages == [f"the provider of broken failed: OSError: no network ({__file__}:{line})"]


def test_the_models_of_one_provider_are_listed_one_call_at_a_time() -> None:
    async def scenario() -> None:
        at_once: list[int] = []
        listing_now = 0

        async def listing(token: object) -> None:
            nonlocal listing_now
            listing_now += 1
            at_once.append(listing_now)
            await asyncio.sleep(0)
            listing_now -= 1

        models = LanguageModels()
        models.register_language_model_chat_provider("test", ScriptedProvider(listing=listing))
        await asyncio.gather(*(models.select_chat_models() for _ in range(3)))
        assert at_once == [1, 1, 1]

    run(scenario())


def test_the_token_of_a_listing_is_cancelled_when_nobody_waits_for_it_any_more() -> None:
    async def scenario() -> None:
        tokens = []

        async def listing(token: object) -> None:
            tokens.append(token)
            await _hang(token)

        models = LanguageModels()
        models.register_language_model_chat_provider("test", ScriptedProvider(listing=listing))
        selecting = asyncio.create_task(models.select_chat_models())
        await until(lambda: tokens)
        selecting.cancel()
        await asyncio.wait({selecting})
        await until(lambda: tokens[0].is_cancellation_requested)

    run(scenario())


def test_a_vendor_has_one_provider_until_that_is_disposed_of() -> None:
    models = LanguageModels()
    registration = models.register_language_model_chat_provider("birds", PARROTS)
    with pytest.raises(DuplicateVendorError) as caught:
        models.register_language_model_chat_provider("birds", OWLS)
    assert caught.value.vendor == "birds"
    registration.dispose()
    second = models.register_language_model_chat_provider("birds", OWLS)
    registration.dispose()
    with pytest.raises(DuplicateVendorError):
        models.register_language_model_chat_provider("birds", PARROTS)
    second.dispose()


@pytest.mark.parametrize("vendor", ["", " ", " birds", "birds\n"])
def test_a_vendor_without_a_clean_name_is_refused(vendor: str) -> None:
    with pytest.raises(CallerError, match="vendor: got"):
        LanguageModels().register_language_model_chat_provider(vendor, PARROTS)


def test_the_change_event_fires_when_a_provider_comes_changes_or_goes() -> None:
    models = LanguageModels()
    fired: list[None] = []
    listener = models.on_did_change_chat_models(fired.append)
    provider = ScriptedProvider()
    registration = models.register_language_model_chat_provider("test", provider)
    assert len(fired) == 1
    provider.changed.fire(None)
    assert len(fired) == 2
    registration.dispose()
    assert len(fired) == 3
    provider.changed.fire(None)
    assert len(fired) == 3, "the provider is gone"
    listener.dispose()
    models.register_language_model_chat_provider("test", provider)
    assert len(fired) == 3, "the listener is gone"


def test_a_model_whose_provider_is_gone_is_unknown() -> None:
    async def scenario() -> None:
        models = LanguageModels()
        registration = models.register_language_model_chat_provider("test", ScriptedProvider())
        (model,) = await models.select_chat_models()
        registration.dispose()
        assert await models.select_chat_models() == []
        with pytest.raises(UnknownModelError) as caught:
            await model.send_request(HELLO)
        assert caught.value.model_id == "small"
        assert caught.value.code == "NotFound"
        with pytest.raises(UnknownModelError):
            await model.count_tokens("Hello")

    run(scenario())


def test_a_request_that_runs_when_its_provider_is_unregistered_goes_on_to_its_end() -> None:
    async def scenario() -> None:
        go = asyncio.Event()

        async def answer(request: Request) -> None:
            await go.wait()
            request.report(TextPart("still here"))

        models = LanguageModels()
        registration = models.register_language_model_chat_provider("test", ScriptedProvider(answer))
        (model,) = await models.select_chat_models()
        response = await model.send_request(HELLO)
        registration.dispose()
        go.set()
        assert await response.read_text() == "still here"

    run(scenario())


def test_closing_the_registry_stops_every_request_also_of_providers_that_are_gone() -> None:
    async def scenario() -> None:
        stopped: list[str] = []

        async def answer(request: Request) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                stopped.append(request.model.id)

        async with LanguageModels() as models:
            registration = models.register_language_model_chat_provider("test", ScriptedProvider(answer))
            (model,) = await models.select_chat_models()
            responses = [await model.send_request(HELLO) for _ in range(3)]
            await asyncio.sleep(0)
            registration.dispose()
        assert stopped == ["small"] * 3
        assert all(response.is_cancelled for response in responses)

    run(scenario())


def test_the_registry_forgets_a_request_that_is_over() -> None:
    async def scenario() -> None:
        async def answer(request: Request) -> None:
            request.report(TextPart("Hi"))

        models = LanguageModels()
        models.register_language_model_chat_provider("test", ScriptedProvider(answer))
        (model,) = await models.select_chat_models()
        response = await model.send_request(HELLO)
        await response.read_text()
        await until(lambda: not models._running)

    run(scenario())
