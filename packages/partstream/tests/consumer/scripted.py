"""Real in-process providers whose answer a test writes as a coroutine, and the loop that runs a test."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any

from partstream import (
    CancellationToken,
    ChatMessage,
    EventEmitter,
    LanguageModelChat,
    LanguageModelChatInformation,
    LanguageModelChatProvider,
    LanguageModels,
    Progress,
    RequestOptions,
    ResponsePart,
)
from partstream.runtime.requests import LanguageModelChatResponse

MODEL = LanguageModelChatInformation("small", "Small", "parrot", "1", 1000, 100)
HELLO = [ChatMessage.user("Hello")]


@dataclass(frozen=True)
class Request:
    """What a provider was given."""

    model: LanguageModelChatInformation
    messages: Sequence[ChatMessage]
    options: RequestOptions
    progress: Progress
    token: CancellationToken

    def report(self, *parts: ResponsePart) -> None:
        for part in parts:
            self.progress.report(part)


Answer = Callable[[Request], Awaitable[None]]


async def _no_answer(request: Request) -> None:
    raise AssertionError("this test sends no request")


class ScriptedProvider(LanguageModelChatProvider):
    """Answers as its script says; counts a token for every character."""

    def __init__(
        self,
        answer: Answer = _no_answer,
        models: Sequence[LanguageModelChatInformation] = (MODEL,),
        listing: Callable[[CancellationToken], Awaitable[None]] | None = None,
    ) -> None:
        self._answer = answer
        self._listing = listing
        self.models = models
        self.changed: EventEmitter[None] = EventEmitter()
        self.on_did_change_language_model_chat_information = self.changed.event

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        assert silent
        if self._listing is not None:
            await self._listing(token)
        return self.models

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        await self._answer(Request(model, messages, options, progress, token))

    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        if isinstance(text, str):
            return len(text)
        raise ValueError(json.dumps("cannot count messages"))


def answers(*rounds: Sequence[ResponsePart]) -> tuple[Answer, list[Request]]:
    """An answer that reports `rounds[n]` to the request number n, and the requests that came."""
    requests: list[Request] = []

    async def answer(request: Request) -> None:
        requests.append(request)
        for part in rounds[len(requests) - 1]:
            await asyncio.sleep(0)
            request.report(part)

    return answer, requests


async def model_with(answer: Answer, **settings: Any) -> LanguageModelChat:
    """The only model of a registry whose provider gives `answer`."""
    models = LanguageModels(**settings)
    models.register_language_model_chat_provider("test", ScriptedProvider(answer))
    (model,) = await models.select_chat_models()
    return model


def information(**changes: Any) -> LanguageModelChatInformation:
    return replace(MODEL, **changes)


async def read_into(received: list[ResponsePart], response: LanguageModelChatResponse) -> None:
    """Reads the whole stream; what came before an error is in `received`."""
    async for part in response.stream:
        received.append(part)


async def until(condition: Callable[[], object]) -> None:
    """Lets other tasks run until `condition` holds."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0)


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    """Runs a test on a loop of its own, within ten seconds; a task that it leaves behind is a failure."""

    async def watched() -> None:
        async with asyncio.timeout(30):
            await coroutine
            await until(lambda: asyncio.all_tasks() == {asyncio.current_task()})

    asyncio.run(watched(), debug=True)
