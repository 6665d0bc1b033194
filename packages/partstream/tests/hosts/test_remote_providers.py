"""A provider behind calls that carry nothing but values: it is asked as any other, and its ends reach its caller."""

from __future__ import annotations
import asyncio
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from partstream.errors import LanguageModelError, UpstreamConnectionError, UpstreamHTTPError
from partstream.lm.cancellation import CancellationTokenSource
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import Usage
from partstream.lm.provider import LanguageModelChatInformation
from partstream.runtime.demo_provider import DemoProvider
from partstream.server.application import app
from partstream_hub.remote_providers import RemoteProvider, RemoteProviderHost, actor_options, close_providers
from serving.asgi import ask

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """
import asyncio
from partstream.errors import UpstreamHTTPError
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import TextPart
from partstream.lm.provider import LanguageModelChatInformation, LanguageModelChatProvider
from partstream.lm.parts import Usage

class OwnError(Exception):
    pass

class Far(LanguageModelChatProvider):
    def __init__(self):
        self.events = []

    async def provide_language_model_chat_information(self, silent, token):
        return [LanguageModelChatInformation("far", "Far", "f", "1", 1000, 100)]

    async def provide_token_count(self, model, text, token):
        return len(str(text))

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        wish = messages[-1].content[0].value
        try:
            progress.report(TextPart(wish))
            if wish == "refuse":
                raise UpstreamHTTPError(http_status=429, provider_message="busy", retry_after=2.0)
            if wish == "break":
                raise OwnError("of this file")
            if wish == "wait":
                await asyncio.sleep(3600)
            if wish == "many":
                for number in range(1000):
                    progress.report(TextPart(str(number)))
                    await progress.drain()
            progress.finish(Finish(Outcome.COMPLETED, usage=Usage(3, 4, 7)))
        finally:
            self.events.append("ended")

    async def check_health(self):
        self.events.append("checked")

    async def aclose(self):
        self.events.append("closed")

far = Far()
"""


class LostError(Exception):
    """What carries the calls has lost the other side."""


def carried(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - our own bytes


class Stream:
    """The results of a generator, carried as bytes; cancelling it throws CancelledError into the generator."""

    def __init__(self, results: Any, fails_after: int | None) -> None:
        self._results = results
        self._pulling: asyncio.Future[Any] | None = None
        self._left = fails_after

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> Any:
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise LostError
        self._pulling = asyncio.ensure_future(anext(self._results))
        return carried(await self._pulling)

    def cancel(self) -> None:
        if self._pulling is not None:
            self._pulling.cancel()


class Method:
    """A method of a host in this process, whose arguments and results are carried as bytes."""

    def __init__(self, method: Any, fails_after: int | None, *, is_stream: bool = False) -> None:
        self._method = method
        self._fails_after = fails_after
        self._is_stream = is_stream

    def options(self, *, stream: bool) -> Method:
        return Method(self._method, self._fails_after, is_stream=stream)

    def remote(self, *arguments: Any) -> Any:
        result = self._method(*carried(arguments))
        return Stream(result, self._fails_after) if self._is_stream else self._value(result)

    async def _value(self, result: Any) -> Any:
        if self._fails_after is not None:
            result.close()
            raise LostError
        return carried(await result)


class Handle:
    """A host in this process in the form of Ray's handles."""

    def __init__(self, host: RemoteProviderHost, fails_after: int | None = None) -> None:
        self.models = Method(host.models, fails_after)
        self.count = Method(host.count, fails_after)
        self.answer = Method(host.answer, fails_after)


class Progress:
    def __init__(self) -> None:
        self.texts: list[str] = []
        self.finished: list[Finish] = []
        self.first = asyncio.Event()

    def report(self, part: Any) -> None:
        self.texts.append(part.value)
        self.first.set()

    def finish(self, finish: Finish) -> None:
        self.finished.append(finish)


@pytest.fixture
def host(tmp_path: Path) -> RemoteProviderHost:
    file = tmp_path / "far.py"
    file.write_text(SOURCE)
    return RemoteProviderHost(f"{file}:far")


def remote(host: RemoteProviderHost, fails_after: int | None = None) -> RemoteProvider:
    return RemoteProvider("far", Handle(host, fails_after), (LostError,))


async def answered(provider: RemoteProvider, wish: str, progress: Progress, token: Any = None) -> None:
    [model] = await provider.provide_language_model_chat_information(True, CancellationTokenSource().token)
    messages = [ChatMessage.user(wish)]
    token = token or CancellationTokenSource().token
    await provider.provide_language_model_chat_response(model, messages, RequestOptions(), progress, token)


def test_models_counts_parts_and_the_end_are_those_of_the_provider(host: RemoteProviderHost) -> None:
    async def main() -> None:
        provider, progress = remote(host), Progress()
        token = CancellationTokenSource().token
        [model] = await provider.provide_language_model_chat_information(True, token)
        assert model == LanguageModelChatInformation("far", "Far", "f", "1", 1000, 100)
        assert await provider.provide_token_count(model, "four", token) == 4
        await answered(provider, "hello", progress)
        assert progress.texts == ["hello"]
        assert progress.finished == [Finish(Outcome.COMPLETED, usage=Usage(3, 4, 7))]

    asyncio.run(main())


def test_a_long_answer_comes_whole_and_in_order(host: RemoteProviderHost) -> None:
    async def main() -> None:
        progress = Progress()
        await answered(remote(host), "many", progress)
        assert progress.texts == ["many", *(str(number) for number in range(1000))]

    asyncio.run(main())


def test_an_error_comes_with_its_facts_and_one_of_an_unknown_class_with_its_words(host: RemoteProviderHost) -> None:
    async def main() -> None:
        with pytest.raises(UpstreamHTTPError) as refused:
            await answered(remote(host), "refuse", Progress())
        assert (refused.value.http_status, refused.value.retry_after) == (429, 2.0)
        progress = Progress()
        with pytest.raises(LanguageModelError, match="OwnError: of this file"):
            await answered(remote(host), "break", progress)
        assert progress.texts == ["break"]

    asyncio.run(main())


def test_a_cancelled_answer_cancels_the_provider_and_ends_without_an_error(host: RemoteProviderHost) -> None:
    async def main() -> None:
        progress, source = Progress(), CancellationTokenSource()
        running = asyncio.create_task(answered(remote(host), "wait", progress, source.token))
        async with asyncio.timeout(10):
            await progress.first.wait()
            source.cancel()
            await running
        assert host.provider.events == ["ended"]  # type: ignore[attr-defined]
        assert progress.finished == []

    asyncio.run(main())


@pytest.mark.parametrize(("results", "says"), [(0, "no connection to far"), (1, "broke in the middle of the answer")])
def test_a_host_that_is_lost_is_a_connection_that_broke(host: RemoteProviderHost, results: int, says: str) -> None:
    async def main() -> None:
        token = CancellationTokenSource().token
        [model] = await remote(host).provide_language_model_chat_information(True, token)
        provider = remote(host, results)
        with pytest.raises(UpstreamConnectionError, match="no connection to far"):
            await provider.provide_language_model_chat_information(True, token)
        with pytest.raises(UpstreamConnectionError, match=says):
            await provider.provide_language_model_chat_response(
                model, [ChatMessage.user("many")], RequestOptions(), Progress(), token
            )

    asyncio.run(main())


def test_the_application_serves_one_as_any_other_provider(host: RemoteProviderHost) -> None:
    async def main() -> None:
        body = {"model": "far", "messages": [{"role": "user", "content": "hello"}]}
        reply = await ask(app({"far": remote(host)}), "/v1/chat/completions", body)
        assert reply.json["choices"][0]["message"]["content"] == "hello"

    asyncio.run(main())


def test_a_host_asks_its_provider_for_its_health_and_closes_it(host: RemoteProviderHost) -> None:
    async def main() -> None:
        await host.check_health()
        await close_providers([host.provider, DemoProvider()])
        assert host.provider.events == ["checked", "closed"]  # type: ignore[attr-defined]

    asyncio.run(main())


class Needing(DemoProvider):
    def __init__(self, resources: Any) -> None:
        super().__init__()
        self.resources = resources


def test_what_a_provider_needs_becomes_what_ray_reserves() -> None:
    assert actor_options(DemoProvider()) == {}
    wanted = {"num_cpus": 2, "num_gpus": 0.5, "accelerator:L4": 0.1}
    assert actor_options(Needing(wanted)) == {"num_cpus": 2, "num_gpus": 0.5, "resources": {"accelerator:L4": 0.1}}
