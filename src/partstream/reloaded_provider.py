"""A provider from a file that follows the edits of the file, while requests run on the version before."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from partstream.lm.cancellation import EventEmitter
from partstream.lm.provider import LanguageModelChatProvider

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from partstream.lm.cancellation import CancellationToken, Disposable
    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream.lm.provider import LanguageModelChatInformation, Progress
    from partstream.provider_files import ProviderLoader

__all__ = ["LOOK_SECONDS", "ReloadedProvider"]

LOOK_SECONDS: Final = 0.5
"""How often :meth:`ReloadedProvider.follow` looks at the file."""


class _Version:
    """The provider of one load, and how many requests run on it."""

    __slots__ = ("_is_replaced", "_running", "_subscription", "provider")

    def __init__(self, provider: LanguageModelChatProvider, on_did_change: Callable[[None], None]) -> None:
        self.provider = provider
        event = provider.on_did_change_language_model_chat_information
        self._subscription: Disposable | None = None if event is None else event(on_did_change)
        self._running = 0
        self._is_replaced = False

    @contextmanager
    def in_use(self) -> Iterator[LanguageModelChatProvider]:
        self._running += 1
        try:
            yield self.provider
        finally:
            self._running -= 1

    def replace(self) -> None:
        self._is_replaced = True
        if self._subscription is not None:
            self._subscription.dispose()

    @property
    def is_finished(self) -> bool:
        return self._is_replaced and not self._running

    async def aclose(self) -> None:
        aclose = getattr(self.provider, "aclose", None)
        if inspect.iscoroutinefunction(aclose):
            await aclose()


class ReloadedProvider(LanguageModelChatProvider):
    """Answers by the provider of the file as it is now; after an edit that cannot be loaded, by the one before.

    Args:
        loader: Makes the provider.
        on_load: Told of every load after the first: the error, which may be a SystemExit, or None for a new version.

    Raises:
        ProviderNotFoundError: The source holds no provider.
        Exception: Any error of the source.
    """

    def __init__(self, loader: ProviderLoader, on_load: Callable[[BaseException | None], None]) -> None:
        self._did_change: EventEmitter[None] = EventEmitter()
        self.on_did_change_language_model_chat_information = self._did_change.event
        self._loader = loader
        self._on_load = on_load
        self._stamp = loader.stamp()
        self._version = _Version(loader.load(), self._did_change.fire)
        self._stamp = self._stamp or loader.stamp()  # the file of a module is known after the load
        self._replaced: list[_Version] = []

    async def follow(self) -> None:
        """Looks for edits until it is cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Loads the file again if it was edited, and closes the versions that nobody uses any more."""
        stamp = self._loader.stamp()
        if stamp != self._stamp:
            self._stamp = stamp
            await self._load()
        for version in [version for version in self._replaced if version.is_finished]:
            self._replaced.remove(version)
            await version.aclose()

    async def _load(self) -> None:
        try:
            # In a thread: the imports of a file may take seconds, and answers must go on.
            provider = await asyncio.to_thread(self._loader.load)
        except (Exception, SystemExit) as error:
            self._on_load(error)
            return
        before, self._version = self._version, _Version(provider, self._did_change.fire)
        before.replace()
        self._replaced.append(before)
        self._on_load(None)
        self._did_change.fire(None)

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """The models of the version that is loaded."""
        with self._version.in_use() as provider:
            return await provider.provide_language_model_chat_information(silent, token)

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        """Answers by the version that is loaded when the request comes."""
        with self._version.in_use() as provider:
            await provider.provide_language_model_chat_response(model, messages, options, progress, token)

    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """Counts by the version that is loaded."""
        with self._version.in_use() as provider:
            return await provider.provide_token_count(model, text, token)

    async def aclose(self) -> None:
        """Closes all versions."""
        versions: list[Any] = [self._version, *self._replaced]
        self._replaced.clear()
        for version in versions:
            await version.aclose()
