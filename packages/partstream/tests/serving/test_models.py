"""The models of a server: asked for once, again when they change, and without a list that fails hiding another."""

from __future__ import annotations
import asyncio

import pytest

from partstream import chat_model
from partstream.errors import LanguageModelError, UnknownModelError
from partstream.lm.cancellation import EventEmitter
from partstream.lm.provider import LanguageModelChatInformation
from partstream.server.models import ModelCatalogue
from serving.asgi import WAIT
from serving.providers import Driven, silent


@chat_model(id="parrot")
async def parrot(messages, options):
    del messages, options
    yield "Hi"


class Listing(Driven):
    """A provider whose list is what its test sets, and which notes each question for it."""

    def __init__(self, *ids: str) -> None:
        super().__init__(silent)
        self.ids = list(ids)
        self.asked = 0
        self.error: BaseException | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.changed: EventEmitter[None] = EventEmitter()
        self.on_did_change_language_model_chat_information = self.changed.event

    async def provide_language_model_chat_information(self, silent, token):
        assert silent
        self.asked += 1
        ids = list(self.ids)
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return [LanguageModelChatInformation(one, one, "f", "1", 1000, 100) for one in ids]


def catalogue(*providers, seconds: float = 1000.0, aliases=()) -> ModelCatalogue:
    return ModelCatalogue({f"p{place}": one for place, one in enumerate(providers, 1)}, aliases, seconds)


async def within(waiting):
    async with asyncio.timeout(WAIT):
        return await waiting


def test_a_provider_is_asked_once_for_all_who_wait_and_again_after_a_change():
    async def run():
        provider = Listing("a")
        provider.gate.clear()
        models = catalogue(provider)
        waiting = [asyncio.create_task(models.find("a")) for _ in range(3)]
        while not provider.asked:
            await asyncio.sleep(0)
        provider.gate.set()
        assert [(await within(one)).id for one in waiting] == ["a"] * 3
        assert list(await models.models()) == ["a"]
        assert provider.asked == 1
        provider.ids.append("b")
        provider.changed.fire(None)
        assert list(await models.models()) == ["a", "b"]
        assert provider.asked == 2

    asyncio.run(run())


def test_a_change_while_the_provider_is_asked_is_not_missed():
    async def run():
        provider = Listing("a")
        provider.gate.clear()
        models = catalogue(provider)
        waiting = asyncio.create_task(models.models())
        while not provider.asked:
            await asyncio.sleep(0)
        provider.ids = ["b"]
        provider.changed.fire(None)
        provider.gate.set()
        assert list(await within(waiting)) == ["a"]
        assert list(await within(models.models())) == ["b"]

    asyncio.run(run())


def test_an_old_list_serves_while_it_is_renewed():
    async def run():
        provider = Listing("a")
        models = catalogue(provider, seconds=0)
        assert list(await models.models()) == ["a"]
        provider.gate.clear()
        provider.ids = ["b"]
        assert list(await within(models.models())) == ["a"]
        provider.gate.set()
        async with asyncio.timeout(WAIT):
            while list(await models.models()) != ["b"]:
                await asyncio.sleep(0)

    asyncio.run(run())


def test_who_leaves_takes_the_list_away_from_nobody():
    async def run():
        provider = Listing("a")
        provider.gate.clear()
        models = catalogue(provider)
        leaving, staying = (asyncio.create_task(models.find("a")) for _ in range(2))
        while not provider.asked:
            await asyncio.sleep(0)
        leaving.cancel()
        provider.gate.set()
        assert (await within(staying)).id == "a"

    asyncio.run(run())


@pytest.mark.parametrize(
    "error", [ValueError("key 123"), SystemExit(2), LanguageModelError("No connection.")], ids=repr
)
def test_a_list_that_fails_hides_no_other_and_says_so_where_its_model_is_asked_for(error, caplog):
    async def run():
        provider = Listing("a")
        provider.error = error
        models = catalogue(provider, parrot)
        assert list(await models.models()) == ["parrot"]
        assert (await models.find("parrot")).provider is parrot
        with pytest.raises(LanguageModelError) as failed:
            await models.find("a")
        assert not isinstance(failed.value, UnknownModelError)
        expected = "No connection." if isinstance(error, LanguageModelError) else type(error).__name__
        assert expected in str(failed.value)
        assert "key 123" not in str(failed.value) + caplog.text
        provider.error = None
        assert (await models.find("a")).provider is provider

    asyncio.run(run())


@pytest.mark.parametrize("has_failed", [True, False], ids=["failed", "changed"])
def test_a_provider_that_hangs_when_asked_again_holds_up_those_alone_who_may_want_its_models(has_failed, monkeypatch):
    monkeypatch.setattr("partstream.server.models._AGAIN_SECONDS", 0.05)

    async def run():
        provider = Listing("a")
        provider.error = ValueError() if has_failed else None
        models = catalogue(provider, parrot)
        assert "parrot" in await models.models()
        provider.gate.clear()
        provider.error, provider.ids = None, ["a", "b"]
        provider.changed.fire(None)
        assert (await within(models.find("parrot"))).provider is parrot
        assert list(await within(models.models())) == (["parrot"] if has_failed else ["a", "parrot"])
        wanting = asyncio.create_task(models.find("b"))
        assert (await within(models.find("parrot"))).provider is parrot
        assert not wanting.done()
        provider.gate.set()
        assert (await within(wanting)).provider is provider
        assert provider.asked == 2

    asyncio.run(run())


def test_the_later_of_two_models_of_one_id_has_the_name_of_its_provider_before_it():
    async def run():
        first, second = Listing("a", "b"), Listing("b", "c")
        models = await catalogue(first, second).models()
        assert {name: one.provider_name for name, one in models.items()} == {
            "a": "p1",
            "b": "p1",
            "p2/b": "p2",
            "c": "p2",
        }

    asyncio.run(run())


def test_an_alias_names_every_model_and_a_model_that_is_really_called_so_wins():
    async def run():
        models = catalogue(Listing("a", "maker/a", "b"), aliases=("maker/",))
        assert (await models.find("maker/a")).information.id == "maker/a"
        assert (await models.find("maker/b")).id == "b"
        with pytest.raises(UnknownModelError, match="maker/a, b"):
            await models.find("maker/none")

    asyncio.run(run())
