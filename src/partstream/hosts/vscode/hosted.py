"""One provider that the sidecar hosts: loaded when first needed, and loaded again when its source changes.

After a broken edit, the version before keeps working. Knows no wire and no connection.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Iterable, Mapping
from contextlib import asynccontextmanager
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import sequence_of
from partstream.errors import CallerError, KeyNeededError, UnknownModelError, with_facts
from partstream.hosts.vscode.broken_rules import BrokenRules
from partstream.hosts.vscode.failures import (
    ProviderFailedError,
    ProviderLoadError,
    is_providers_own,
    load_problem,
    reason,
    says_all,
)
from partstream.hosts.vscode.threads import run_in_thread
from partstream.lm.provider import LanguageModelChatInformation
from partstream.runtime.progress import logged_error, said_by
from partstream.tokens.counting import CorrectsTokenCounts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence, Sized
    from pathlib import Path

    from partstream.lm.cancellation import CancellationToken, Disposable
    from partstream.lm.provider import LanguageModelChatProvider
    from partstream.runtime.provider_files import ProviderLoader, Stamp
    from partstream.vscode import rpc_types as wire

__all__ = ["MOST_MODELS", "NO_CONFIGURATION", "Generation", "HostedProvider"]

MOST_MODELS: Final = 10_000
"""The most models of a provider; the largest servers list about a thousand."""

_CONFIGURATION: Final = "configuration"
"""The parameter of the method that lists models, for those that want what their group says."""
NO_CONFIGURATION: Final[Mapping[str, Any]] = MappingProxyType({})
"""What a provider gets that no group and no key of the settings configures."""

_logger = logging.getLogger("partstream.hosts.vscode")


class Generation:
    """The provider from one load of the source, and the models that it last listed.

    Attributes:
        provider: The provider.
        models: The provider's models by their own ids; empty until it was first asked.
        broken_rules: The rules of the contract that the provider has broken.
    """

    def __init__(
        self,
        name: str,
        provider: LanguageModelChatProvider,
        on_did_change: Callable[[], None],
        on_did_correct: Callable[[list[str]], None],
    ) -> None:
        self.provider = provider
        self.models: Mapping[str, LanguageModelChatInformation] = {}
        self.broken_rules = BrokenRules(name)
        self._running = 0
        self._retired = False
        event = provider.on_did_change_language_model_chat_information
        self._subscriptions: list[Disposable] = [event(lambda _: on_did_change())] if event is not None else []
        if isinstance(provider, CorrectsTokenCounts):
            corrected = provider.on_did_correct_token_counts
            self._subscriptions.append(corrected(lambda family: on_did_correct(self._ids_of(family))))

    def begin(self) -> None:
        """Counts a request that starts."""
        self._running += 1

    def end(self) -> None:
        """Counts a request that has ended."""
        self._running -= 1

    @property
    def is_finished(self) -> bool:
        """Whether the generation was replaced and its last request has ended."""
        return self._retired and self._running == 0

    def retire(self) -> None:
        """Records that another generation has replaced this one."""
        self._retired = True
        for subscription in self._subscriptions:
            subscription.dispose()

    async def aclose(self) -> None:
        """Closes the provider if it can be closed (`aclose`)."""
        aclose = getattr(self.provider, "aclose", None)
        if inspect.iscoroutinefunction(aclose):
            await aclose()

    def _ids_of(self, family: str) -> list[str]:
        return [model.id for model in self.models.values() if model.family == family]


class _ListLog:
    """Remembers what the log said last of a provider's list, so that it says nothing twice in a row."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: str | None = None

    def is_news(self, sentence: str) -> bool:
        """Whether this differs from the last one."""
        before, self._last = self._last, sentence
        return before != sentence


class HostedProvider:
    """One provider of the configuration or of a group.

    Attributes:
        name: The provider's name in logs and errors.
        configuration: The keys and values of the group; for a provider of the settings the key alone, if it has one.

    Args:
        name: The provider's name in logs and errors.
        loader: Makes the provider.
        on_did_change: Called when the list of models may have changed, but not while the models are being listed.
        on_did_correct: Called with the ids of models whose counts of texts have changed.
        on_did_load: Called after each load, with the problem if the source could not be loaded.
        configuration: The keys and values of the group, for a provider whose list depends on them.
        source: The source of the person's own provider, as the settings or the group name it.
    """

    def __init__(
        self,
        name: str,
        loader: ProviderLoader,
        on_did_change: Callable[[], None],
        on_did_correct: Callable[[list[str]], None] = lambda ids: None,
        on_did_load: Callable[[wire.LoadProblem | None], None] = lambda problem: None,
        configuration: Mapping[str, Any] = NO_CONFIGURATION,
        source: str = "",
    ) -> None:
        self.name = name
        self._source = source
        self._loader = loader
        self._on_did_load = on_did_load
        self.configuration = configuration
        self._list_log = _ListLog()
        self._on_did_change = on_did_change
        self._on_did_correct = on_did_correct
        self._loading: asyncio.Task[None] | None = None
        self._listing = 0
        self._generation: Generation | None = None
        self._stamp: Stamp = None
        self._failure: ProviderFailedError | None = None
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def failure(self) -> ProviderFailedError | None:
        """The error of loading the current source, or None."""
        return self._failure

    @property
    def is_own(self) -> bool:
        """Whether it is the person's own code."""
        return self._loader.is_own

    @property
    def file(self) -> Path | None:
        """The person's own file that holds the provider, or None."""
        return self._loader.file

    @property
    def loaded(self) -> Generation | None:
        """The generation that was loaded last, or None."""
        return self._generation

    async def list_models(self, silent: bool, token: CancellationToken) -> Sequence[LanguageModelChatInformation]:
        """Asks the provider for its models.

        Raises:
            ProviderFailedError: The provider could not be loaded, or raised.
        """
        self._listing += 1
        try:
            generation = await self.current(retry=not silent)
            return await self._list(generation, silent, token)
        finally:
            self._listing -= 1

    async def find_model(
        self, model_id: str, token: CancellationToken
    ) -> tuple[Generation, LanguageModelChatInformation]:
        """The model and the generation that has it. A generation that does not know the model is asked for its list.

        Raises:
            ProviderFailedError: The provider could not be loaded, raised, or does not have the model.
        """
        generation = await self.current()
        if model_id not in generation.models:
            await self._list(generation, True, token)
        model = generation.models.get(model_id)
        if model is None:
            raise self.failed(UnknownModelError(model_id, tuple(generation.models)), "got a request for another model")
        return generation, model

    async def current(self, *, retry: bool = False) -> Generation:
        """The generation of the current source, or the one before if the current source is broken.

        Args:
            retry: Whether to load an unchanged source again that failed before: the things that it needs may exist
                now.

        Raises:
            ProviderFailedError: No version of the source has been loaded so far.
        """
        if self._loading is None and self._must_load(retry):
            self._loading = asyncio.create_task(self._load())
        if self._loading is not None:
            # Shielded: a caller that stops waiting must not stop the load that others wait for.
            await asyncio.shield(self._loading)
        if self._generation is None:
            assert self._failure is not None  # noqa: S101 - for the type checker: one of the two is there
            raise self._failure.with_traceback(None)  # else it would collect the frames of all who met it
        return self._generation

    @asynccontextmanager
    async def using(self, generation: Generation) -> AsyncIterator[None]:
        """Keeps a generation open while a request runs on it, even if the generation is replaced meanwhile."""
        generation.begin()
        try:
            yield
        finally:
            generation.end()
            self._close_if_finished(generation)

    def failed(self, error: BaseException, what: str) -> ProviderFailedError:
        """Logs an error with this provider's name, and returns it as a ProviderFailedError."""
        self._log_failure(error, what)
        return self._as_failure(error)

    def _log_failure(self, error: BaseException, what: str) -> None:
        traceback = None if says_all(error) else logged_error(error)
        said = with_facts(said_by(error), error) if traceback is None else said_by(error)
        _logger.error("the provider %s %s: %s", self.name, what, said, exc_info=traceback)

    def _as_failure(
        self, error: BaseException, kind: type[ProviderFailedError] = ProviderFailedError
    ) -> ProviderFailedError:
        need: wire.KeyNeed | None = None
        if isinstance(error, KeyNeededError):
            need = {"source": self._source, "hadKey": bool(self.configuration.get("apiKey"))}
        failure = kind(self.name, error, need)
        failure.__cause__ = error
        return failure

    async def aclose(self) -> None:
        """Closes the provider; the next use loads it again."""
        generation, self._generation = self._generation, None
        if generation is not None:
            self._retire(generation)
        await asyncio.gather(*self._closing)

    def _retire(self, generation: Generation) -> None:
        try:
            generation.retire()
        except BaseException as error:
            self.failed(error, "failed to end the subscriptions to its events")
        self._close_if_finished(generation)

    def _close_if_finished(self, generation: Generation) -> None:
        """Closes a replaced generation once no request runs on it; nobody waits for it but the end of the process."""
        if generation.is_finished:
            task = asyncio.create_task(self._close(generation))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def _close(self, generation: Generation) -> None:
        try:
            await generation.aclose()
        except BaseException as error:
            if not is_providers_own(error):
                raise
            self.failed(error, "failed to close")

    def _must_load(self, retry: bool) -> bool:
        untried = self._generation is None and self._failure is None
        return untried or self._loader.stamp() != self._stamp or (retry and self._failure is not None)

    async def _load(self) -> None:
        old = self._generation
        # Taken before the load: the next request notices an edit during the load.
        self._stamp = self._loader.stamp()
        try:
            # In a thread: the imports of a user's file may take seconds, and other requests must not wait.
            provider = await run_in_thread(self._loader.load, f"partstream-load-{self.name}")
            self._generation = Generation(self.name, provider, self._changed, self._on_did_correct)
        except BaseException as error:
            # A script that ends with `sys.exit(main())` must not end the other providers.
            if not is_providers_own(error):
                raise
            self._load_failed(error)
            return
        finally:
            self._loading = None
        had_failed, self._failure = self._failure is not None, None
        if self._stamp is None:
            self._stamp = self._loader.stamp()  # a module's file is known only after the load
        self._on_did_load(None)
        if old is not None or had_failed:
            _logger.info("the provider %s was loaded again: its source changed", self.name)
            self._changed()
        if old is not None:
            self._on_did_correct([*old.models])  # the new code may count differently
            self._retire(old)

    def _load_failed(self, error: BaseException) -> None:
        keeps_old = self._generation is not None
        consequence = "the version before is still used" if keeps_old else "it is left out"
        problem = load_problem(error, self._loader.file, keeps_old=keeps_old)
        where = f"{problem['file']}, line {problem['line']}, " if problem["file"] is not None else ""
        self._log_failure(error, f"could not be loaded ({where}{consequence})")
        self._failure = self._as_failure(error, ProviderLoadError)
        self._on_did_load(problem)

    async def _list(
        self, generation: Generation, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        self._listing += 1
        try:
            list_models: Any = generation.provider.provide_language_model_chat_information
            takes_it = _CONFIGURATION in inspect.signature(list_models).parameters
            given_beside = {_CONFIGURATION: self.configuration} if takes_it else {}
            listed: Any = await list_models(silent, token, **given_beside)
            given = islice(listed, MOST_MODELS + 1) if isinstance(listed, Iterable) else listed
            what = "a LanguageModelChatInformation"
            models = sequence_of("the list of models", given, LanguageModelChatInformation, what)
            if len(models) > MOST_MODELS:
                raise CallerError(f"got more than {MOST_MODELS:,} models from {self.name}")  # noqa: TRY301
            generation.models = {model.id: model for model in models}
        except BaseException as error:
            if not is_providers_own(error):
                raise
            if self._list_log.is_news(reason(error)):
                self._log_failure(error, "could not list its models")
            raise self._as_failure(error) from error
        finally:
            self._listing -= 1
        found = _count(generation.models)
        if self._list_log.is_news(found):
            _logger.info("%s of %s %s", found, self.name, self._loader.place)
        return tuple(generation.models.values())

    def _changed(self) -> None:
        if not self._listing:
            self._on_did_change()


def _count(models: Sized) -> str:
    return "1 model" if len(models) == 1 else f"{len(models)} models"
