"""A provider on another machine as an ordinary provider: what passes between the two are values that can be pickled.

Knows no engine: :class:`RemoteProviderHost` runs where the provider is, :class:`RemoteProvider` where it is asked, and
whatever carries calls is between them.
"""

from __future__ import annotations
import asyncio
import pickle
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.errors import LanguageModelError, PartstreamError, UpstreamConnectionError
from partstream.lm.cancellation import CancellationToken, CancellationTokenSource
from partstream.lm.outputs import Finish
from partstream.lm.provider import DrainingProgress, FinishingProgress, LanguageModelChatProvider
from partstream.runtime.provider_files import SourceLoader
from partstream.upstream.context import run_until_cancelled

if TYPE_CHECKING:
    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream.lm.parts import ResponsePart
    from partstream.lm.provider import LanguageModelChatInformation, Progress

Reported: TypeAlias = "ResponsePart | Finish | PartstreamError"
_MOST_WAITING: Final = 64  # so many parts wait for the reader before the provider waits too
_STOP_SECONDS: Final = 5.0  # how long a cancelled provider may take to stop by itself
_NAMED_RESOURCES: Final = frozenset({"num_cpus", "num_gpus", "memory"})
"""What Ray reserves by names of its own; every other name is one that the owner of a machine gave to something."""


def actor_options(provider: LanguageModelChatProvider) -> dict[str, Any]:
    """What a provider needs of the machine that it runs on, in the form in which Ray reserves it; empty for nothing."""
    named = {name: amount for name, amount in provider.resources.items() if name in _NAMED_RESOURCES}
    others = {name: amount for name, amount in provider.resources.items() if name not in _NAMED_RESOURCES}
    return named | ({"resources": others} if others else {})


async def check_providers(providers: Iterable[LanguageModelChatProvider]) -> None:
    """Asks each provider whether it is well, if it has a method `check_health`; an error says that it is not."""
    for one in providers:
        if (check := getattr(one, "check_health", None)) is not None:
            await check()


async def close_providers(providers: Iterable[LanguageModelChatProvider]) -> None:
    """Closes each provider that can be closed; one that fails keeps none of the others open."""
    async with AsyncExitStack() as stack:
        for one in providers:
            if (close := getattr(one, "aclose", None)) is not None:
                stack.push_async_callback(close)


class RemoteProviderHost:
    """Runs one provider, of a file or a module, for others: where its resources are."""

    def __init__(self, source: str) -> None:
        self.provider = SourceLoader(source).load()

    async def models(self, silent: bool) -> Sequence[LanguageModelChatInformation]:
        """Lists the models."""
        return await self.provider.provide_language_model_chat_information(silent, CancellationTokenSource().token)

    async def count(self, model: LanguageModelChatInformation, text: str | ChatMessage) -> int:
        """Counts tokens."""
        return await self.provider.provide_token_count(model, text, CancellationTokenSource().token)

    async def answer(
        self, model: LanguageModelChatInformation, messages: Sequence[ChatMessage], options: RequestOptions
    ) -> AsyncIterator[list[Reported]]:
        """Yields what the provider reports, as much at a time as there is, and at the end the error if there was one.

        A reader that stops cancels the provider.
        """
        reported, cancelling = _Reported(), CancellationTokenSource()
        running = asyncio.create_task(_error_of(self.provider, (model, messages, options, reported, cancelling.token)))
        running.add_done_callback(lambda _: reported.end())
        try:
            while batch := await reported.taken():
                yield batch
            if (error := running.result()) is not None:
                yield [error]
        finally:
            cancelling.cancel()
            reported.end()
            if not running.done():
                await asyncio.wait({running}, timeout=_STOP_SECONDS)
                running.cancel()

    async def check_health(self) -> None:
        """Asks the provider whether it is well."""
        await check_providers([self.provider])


class _Reported:
    """What a provider has reported and the reader has not taken yet; the provider waits for the reader."""

    def __init__(self) -> None:
        self._waiting: list[Reported] = []
        self._has_more = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._is_over = False

    def report(self, reported: Reported, /) -> None:
        self._waiting.append(reported)
        self._has_more.set()
        if len(self._waiting) >= _MOST_WAITING:
            self._has_room.clear()

    finish = report

    async def drain(self) -> None:
        await self._has_room.wait()

    def end(self) -> None:
        """Nothing more comes."""
        self._is_over = True
        self._has_more.set()
        self._has_room.set()

    async def taken(self) -> list[Reported]:
        """All that waits, as soon as there is something; nothing when nothing more comes."""
        await self._has_more.wait()
        taken, self._waiting = self._waiting, []
        self._has_room.set()
        if not self._is_over:
            self._has_more.clear()
        return taken


async def _error_of(provider: LanguageModelChatProvider, asked: tuple[Any, ...]) -> PartstreamError | None:
    """Asks a provider until the token, the last of what it is given, is cancelled; its error, if it raises one.

    It is an error that every machine can read: the class of another one may be in a file that only this machine has.
    """
    try:
        await run_until_cancelled(provider.provide_language_model_chat_response(*asked), asked[-1])
    except PartstreamError as error:
        with suppress(Exception):
            pickle.dumps(error)
            return error
        return LanguageModelError(str(error))
    except Exception as error:
        return LanguageModelError(f"{type(error).__name__}: {error}")
    return None


class RemoteProvider(LanguageModelChatProvider):
    """Asks a provider that runs in a :class:`RemoteProviderHost`; where it cannot be reached, or has died, which the
    errors `lost` say, an `UpstreamConnectionError` names it.

    The handle, of the form of Ray Serve's, has the methods `models`, `count` and `answer`. The method `remote` of each
    begins a call: a result to await, or, with `options(stream=True)`, an asynchronous iterator with a method `cancel`.
    """

    def __init__(self, name: str, handle: Any, lost: tuple[type[Exception], ...] = ()) -> None:
        self._name = name
        self._models = handle.models
        self._count = handle.count
        self._answer = handle.answer.options(stream=True)
        self._lost = lost

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """Lists the models."""
        models: Sequence[LanguageModelChatInformation] = await self._value(self._models.remote(silent))
        return models

    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """Counts tokens."""
        count: int = await self._value(self._count.remote(model, text))
        return count

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        """Answers a request; raises what the provider raised."""
        batches = self._answer.remote(model, messages, options)
        subscription = token.on_cancellation_requested(batches.cancel)
        has_begun = False
        try:
            async for batch in batches:
                has_begun = True
                for reported in batch:
                    _pass_on(reported, progress)
                if isinstance(progress, DrainingProgress):
                    await progress.drain()
        except self._lost as error:
            if not token.is_cancellation_requested:
                raise UpstreamConnectionError(self._name, type(error).__name__, established=has_begun) from error
        except asyncio.CancelledError:
            batches.cancel()
            task = asyncio.current_task()
            if not token.is_cancellation_requested or (task is not None and task.cancelling()):
                raise
        finally:
            subscription.dispose()

    async def _value(self, call: Any) -> Any:
        try:
            return await call
        except self._lost as error:
            raise UpstreamConnectionError(self._name, type(error).__name__, established=False) from error


def _pass_on(reported: Reported, progress: Progress) -> None:
    if isinstance(reported, PartstreamError):
        raise reported
    if not isinstance(reported, Finish):
        progress.report(reported)
    elif isinstance(progress, FinishingProgress):
        progress.finish(reported)
