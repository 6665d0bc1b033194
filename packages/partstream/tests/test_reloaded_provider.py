"""A provider that follows the edits of its file."""

import asyncio
import sys

import pytest

from partstream import CancellationTokenSource
from partstream.lm.messages import RequestOptions
from partstream.runtime.provider_files import ProviderNotFoundError, ReloadedProvider, SourceLoader

SOURCE = """
import asyncio
from partstream.runtime.simple import chat_model

GATE = asyncio.Event()
CLOSED = []

@chat_model(name="NAME")
async def model(messages, options):
    yield "NAME begins"
    if messages:
        await GATE.wait()
    yield "NAME ends"

async def aclose():
    CLOSED.append("NAME")

model.aclose = aclose
"""


class Progress:
    def __init__(self):
        self.texts = []
        self.has_begun = asyncio.Event()

    def report(self, part):
        self.texts.append(part.value)
        self.has_begun.set()

    async def drain(self):
        pass


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "edited.py"
    path.write_text(SOURCE.replace("NAME", "first"))
    return path


async def _names(provider):
    models = await provider.provide_language_model_chat_information(True, CancellationTokenSource().token)
    return [model.name for model in models]


async def _answer(provider, progress, *messages):
    (model,) = await provider.provide_language_model_chat_information(True, CancellationTokenSource().token)
    await provider.provide_language_model_chat_response(
        model, messages, RequestOptions(), progress, CancellationTokenSource().token
    )


def test_an_edit_takes_the_place_of_the_provider_and_of_its_models(file):
    loads, changes = [], []

    async def test():
        provider = ReloadedProvider(SourceLoader(str(file)), loads.append)
        provider.on_did_change_language_model_chat_information(changes.append)
        await provider.look()
        assert (await _names(provider), loads, changes) == (["first"], [], [])
        file.write_text(SOURCE.replace("NAME", "second"))
        await provider.look()
        assert (await _names(provider), loads, changes) == (["second"], [None], [None])
        await provider.aclose()

    asyncio.run(test())


@pytest.mark.parametrize("broken", ["syntax error(", "import sys; sys.exit(1)", "nothing = 1"])
def test_after_a_broken_edit_the_version_before_answers_and_the_next_edit_is_loaded(file, broken):
    loads = []

    async def test():
        provider = ReloadedProvider(SourceLoader(str(file)), loads.append)
        file.write_text(broken)
        await provider.look()
        assert await _names(provider) == ["first"]
        assert isinstance(loads[0], Exception | SystemExit)
        file.write_text(SOURCE.replace("NAME", "second"))
        await provider.look()
        assert (await _names(provider), loads[1:]) == (["second"], [None])
        await provider.aclose()

    asyncio.run(test())


def test_a_request_ends_on_the_version_that_it_began_on_which_is_closed_behind_it(file):
    async def test():
        provider = ReloadedProvider(SourceLoader(str(file)), lambda error: None)
        old = vars(
            next(module for module in tuple(sys.modules.values()) if getattr(module, "__file__", "") == str(file))
        )
        progress = Progress()
        running = asyncio.create_task(_answer(provider, progress, "a message"))
        await progress.has_begun.wait()
        file.write_text(SOURCE.replace("NAME", "second"))
        await provider.look()
        assert old["CLOSED"] == []
        old["GATE"].set()
        await running
        assert progress.texts == ["first begins", "first ends"]
        await provider.look()
        assert old["CLOSED"] == ["first"]
        await provider.aclose()

    asyncio.run(test())


def test_a_file_without_a_provider_is_refused_at_the_start(file):
    file.write_text("nothing = 1")
    with pytest.raises(ProviderNotFoundError):
        ReloadedProvider(SourceLoader(str(file)), lambda error: None)
