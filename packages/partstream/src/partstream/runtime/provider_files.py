"""Finds a user's own provider in the current source of a file or a module, and follows its edits.

:class:`SourceLoader` runs the source and picks what it offers: the attribute that the source names, else `provider`,
else the one provider, agent or class of a provider in it; an agent of another framework becomes a provider. Every load
compiles the source again: Python's cache of compiled files compares whole seconds and the length, and would miss an
edit that keeps both.

:class:`ReloadedProvider` looks at the file from time to time and loads it again after an edit. Requests that run keep
their version, which is closed after the last of them; an edit that cannot be loaded leaves the version before.
"""

from __future__ import annotations
import asyncio
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeAlias
from zlib import crc32

from partstream.codec.checks import narrow
from partstream.errors import CallerError
from partstream.lm.cancellation import CancellationToken, Disposable, EventEmitter
from partstream.lm.provider import LanguageModelChatInformation, LanguageModelChatProvider, Progress
from partstream.plugins import AGENTS, MissingPackageError, find
from partstream.tokens.counting import LedgerUser
from partstream.upstream.context import run_in_thread

if TYPE_CHECKING:
    from types import CodeType, ModuleType

    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream.tokens.ledger import Ledger

Stamp: TypeAlias = tuple[int, int, int] | None
"""The facts about a file that an edit changes: modification time in nanoseconds, length, inode; None without a file."""

PROFILE_SOURCE: Final = "profile:"
"""What a source begins with that names a profile of the user's file."""
_ATTRIBUTE = "provider"
_SHOWN: Final = 3
"""Functions of a file without a provider that the error names."""
_UPSTREAM = "upstream"
"""The parameter of a function that the conformance kit calls with the base URL of its own model server."""


class ProviderNotFoundError(CallerError):
    """The source in the configuration, which it names, holds no provider; `expected` describes valid sources."""

    def __init__(self, source: str, got: str, expected: str) -> None:
        super().__init__(f"{source}: got {got}, expected {expected}")
        self.source = source
        self.expected = expected


class NoAgentError(CallerError):
    """An object is no agent, or makes none."""

    def __init__(self, got: str, message: str) -> None:
        super().__init__(message)
        self.got = got


class AgentFinder:
    """What the package of the agents adds: which objects are agents of other frameworks, and their providers.

    Without the package, no framework is known.
    """

    def agents_in(self, names: Mapping[str, object]) -> Sequence[str]:
        """The names of the variables of a module that hold the agent that is meant: one where it is clear."""
        return ()

    def is_agent(self, value: object) -> bool:
        """Whether an object can be asked as a model."""
        return False

    def is_factory(self, value: object) -> bool:
        """Whether an object can be called for an agent: with nothing, or with the host's tools as the one argument."""
        return False

    def provider_of(self, agent: object, default_name: str) -> LanguageModelChatProvider:
        """The provider of an agent, or of a function that makes agents; `default_name` names one without a name.

        Raises:
            NoAgentError: It is neither.
        """
        got = f"an object of type {type(agent).__name__}"
        needed = MissingPackageError("an agent of another framework", "partstream-agents")
        raise NoAgentError(got, f"got {got}, expected a LanguageModelChatProvider; {needed}")

    def of_profile(self, name: str) -> LanguageModelChatProvider:
        """The provider of the program that a profile of the user's file names.

        Raises:
            CallerError: There is no such profile, it names no program, or a setting of it is invalid.
        """
        raise MissingPackageError(f"the program of a profile ({name})", "partstream-agents")


def _agents() -> AgentFinder:
    finder: AgentFinder | None = find(AGENTS, "agents")
    return finder or AgentFinder()


class ProviderLoader(Protocol):
    """Makes a provider, and makes it again whenever the stamp changes.

    Attributes:
        is_own: Whether the person's own code is loaded.
    """

    is_own: ClassVar[bool]

    @property
    def file(self) -> Path | None:
        """The person's own file that holds the provider; None where there is none, or it is not known yet."""

    @property
    def place(self) -> str:
        """The place of the provider or its server for the log: `from parrot.py`, `at https://host/v1`."""

    def stamp(self) -> Stamp:
        """A value that changes when :meth:`load` would return another provider."""

    def load(self) -> LanguageModelChatProvider:
        """Makes the provider; may take long, and raises any error of the user's code."""


class _FreshLoader(SourceFileLoader):
    """Reads the source, never the cache."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class SourceLoader:
    """Loads `path/to/file.py`, `path/to/file.py:attribute`, `module` or `module:attribute`.

    `profile:NAME` is the program that the profile of this name in the user's file starts.

    Args:
        ledger: Opens the ledger for a provider that enters its usage itself, such as an agent; None for no ledger.
    """

    is_own: ClassVar[bool] = True

    def __init__(self, source: str, ledger: Callable[[], Ledger] | None = None) -> None:
        self._source = source
        self._ledger = ledger
        self._place, self._attribute = _split(source)
        self._is_file = self._place.endswith(".py")
        self._path = Path(self._place).expanduser() if self._is_file else None

    @property
    def file(self) -> Path | None:
        """The file; None for a module before its first load."""
        return None if self._path is None else self._path.absolute()

    @property
    def place(self) -> str:
        """The source, as the configuration names it."""
        return f"from {self._source}"

    def stamp(self) -> Stamp:
        """The stamp of the file; None for a module before its first load."""
        if self._path is None:
            return None
        try:
            status = self._path.stat()
        except (OSError, ValueError):  # ValueError: a null character in the path
            return None
        return (status.st_mtime_ns, status.st_size, status.st_ino)

    def load(self) -> LanguageModelChatProvider:
        """Runs the source and returns its provider.

        Raises:
            ProviderNotFoundError: The file or module does not exist, or does not hold exactly one provider.
            Exception: Any error that the source raises when it runs.
        """
        if self._source.startswith(PROFILE_SOURCE):
            return self._entered(_agents().of_profile(self._source.removeprefix(PROFILE_SOURCE)))
        return self.provider_of(self.module())

    def module(self) -> ModuleType:
        """Runs the source.

        Raises:
            ProviderNotFoundError: The file or module does not exist.
            Exception: Any error that the source raises when it runs.
        """
        if self._path is not None and self._is_file:
            path = self._path.absolute()
            if not path.is_file():
                raise ProviderNotFoundError(self._source, "no such file", "a Python file")
            if str(path.parent) not in sys.path:
                # At the end: a file beside the provider must not hide the standard library from this process.
                sys.path.append(str(path.parent))
            # Two files of the same name in different folders are two modules.
            return _run(_spec(f"partstream_provider_{path.stem}_{crc32(str(path).encode()):08x}", path))
        try:
            spec = importlib.util.find_spec(self._place)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{self._place}.".startswith(f"{error.name}."):
                raise  # a package of the module imports what is not there
            spec = None
        except ValueError:  # empty, or a module that was made without a spec
            spec = None
        if spec is None:
            raise ProviderNotFoundError(self._source, "no such module", "an importable module or a .py file")
        if spec.origin is None or not spec.origin.endswith(".py"):
            return _run(spec)
        self._path = Path(spec.origin)
        fresh = _spec(self._place, self._path)
        fresh.submodule_search_locations = spec.submodule_search_locations
        return _run(fresh)

    def provider_of(self, module: ModuleType) -> LanguageModelChatProvider:
        """The provider of the source that has run.

        Raises:
            ProviderNotFoundError: The module does not hold exactly one provider.
        """
        found = _pick(module, self._attribute, self._source)
        provider: LanguageModelChatProvider
        if isinstance(found, LanguageModelChatProvider):
            provider = found
        elif _is_provider_class(found):
            provider = found()
        else:
            try:
                provider = _agents().provider_of(found, default_name(self._source))
            except NoAgentError as error:
                expected = _with_agents("a LanguageModelChatProvider, or an agent")
                expected += f"; {_FROM_FUNCTION}" if inspect.isfunction(found) else ""
                raise ProviderNotFoundError(self._source, error.got, expected) from error
        return self._entered(provider)

    def _entered(self, provider: LanguageModelChatProvider) -> LanguageModelChatProvider:
        """The provider, which enters its usage into the ledger if it does that itself."""
        if self._ledger is not None and (user := narrow(provider, LedgerUser)) is not None:
            user.use_ledger(self._ledger())
        return provider

    @property
    def attribute(self) -> str | None:
        """The attribute that the source names, or None."""
        return self._attribute


def default_name(source: str) -> str:
    """The name of a provider without one in the configuration: the name of its file or module."""
    if source.startswith(PROFILE_SOURCE):
        return source.removeprefix(PROFILE_SOURCE)
    place, _ = _split(source)
    return Path(place).stem if place.endswith(".py") else place.rpartition(".")[2]


def _split(source: str) -> tuple[str, str | None]:
    # The colon of a Windows drive is not a separator: a path follows it, never a name.
    place, colon, attribute = source.rpartition(":")
    if colon and attribute.isidentifier():
        return place, attribute
    return source, None


def _spec(name: str, path: Path) -> ModuleSpec:
    spec = importlib.util.spec_from_file_location(name, path, loader=_FreshLoader(name, str(path)))
    assert spec is not None  # noqa: S101 - for the type checker: with a loader there always is one
    return spec


def _run(spec: ModuleSpec) -> ModuleType:
    """Runs a module; on failure, the module that had this name before stays in place."""
    assert spec.loader is not None  # noqa: S101 - for the type checker: found modules have one
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(spec.name)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(spec.name, None)
        if before is not None:
            sys.modules[spec.name] = before
        raise
    return module


def _pick(module: ModuleType, attribute: str | None, source: str) -> Any:
    """What a module offers: a provider, a class of one, or an agent."""
    wanted = attribute or _ATTRIBUTE
    if attribute is not None or hasattr(module, wanted):
        return _named(module, wanted, source)
    instances = {id(value): name for name, value in vars(module).items() if _is_provider(value)}
    classes = {
        name
        for name, value in vars(module).items()
        # An imported class is a base class, not a provider that the file offers.
        if _is_provider_class(value) and getattr(value, "__module__", None) == module.__name__
    }
    agents = () if instances else _agents().agents_in(vars(module))
    candidates = sorted(instances.values()) or list(agents) or sorted(classes)
    if len(candidates) == 1:
        return _named(module, candidates[0], source)
    what = "agents" if agents else "providers"
    got = f"{len(candidates)} {what} ({', '.join(candidates)})" if candidates else "no provider"
    expected = "one agent, or one that is called `agent`" if agents else "one LanguageModelChatProvider or agent"
    expected = _with_agents(f"{expected}, or an attribute `{_ATTRIBUTE}`, or `source:attribute`")
    functions = sorted(  # those that a person wrote in the file to be called
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not value.__name__.startswith("_")
    )
    if functions and not candidates:
        named = ", ".join(f"`{name}`" for name in functions[:_SHOWN])
        the = "the functions" if functions[1:] else "the function"
        got += f", only {the} {named}{' and more' if functions[_SHOWN:] else ''}"
        expected += f"; {_FROM_FUNCTION}"
    raise ProviderNotFoundError(source, got, expected)


def _with_agents(expected: str) -> str:
    """What was expected, with the package that agents need where it is missing."""
    if type(_agents()) is AgentFinder:
        return f"{expected}; {MissingPackageError('an agent of another framework', 'partstream-agents')}"
    return expected


_FROM_FUNCTION: Final = (
    "`@chat_model` makes a model of an async generator of messages and options, and `partstream new NAME --from "
    "callable` writes one around a function that returns its answer"
)


def _named(module: ModuleType, name: str, source: str) -> Any:
    if not hasattr(module, name):
        there = ", ".join(sorted(other for other, value in vars(module).items() if _is_provider(value)))
        expected = f"a LanguageModelChatProvider, such as {there}" if there else "a LanguageModelChatProvider"
        raise ProviderNotFoundError(source, f"no attribute {name!r}", expected)
    value = getattr(module, name)
    if inspect.isfunction(value) and _UPSTREAM in inspect.signature(value).parameters:
        got = f"{name!r}, a function of `upstream` that only the conformance kit calls"
        expected = f"a provider, such as the result of {name}(URL) in a variable of its own"
        raise ProviderNotFoundError(source, got, expected)
    if _is_provider(value) or _is_provider_class(value) or _agents().is_agent(value):
        return value
    if inspect.isfunction(value) and _agents().is_factory(value):
        return value
    got = f"{name!r} of type {type(value).__name__}"
    expected = _with_agents("a LanguageModelChatProvider, as an instance or a class, or an agent")
    raise ProviderNotFoundError(source, got, f"{expected}; {_FROM_FUNCTION}" if inspect.isfunction(value) else expected)


def _is_provider(value: object) -> bool:
    """Whether a value of a module is a provider; False for one that fails to say, as proxies of some libraries do."""
    try:
        return isinstance(value, LanguageModelChatProvider)
    except Exception:
        return False


def _is_provider_class(value: object) -> bool:
    try:
        is_class = isinstance(value, type) and issubclass(value, LanguageModelChatProvider)
    except Exception:
        return False
    return is_class and not inspect.isabstract(value)


# ---- Edits ----

LOOK_SECONDS: Final = 0.5
"""How often :meth:`ReloadedProvider.follow` looks at the file."""


class LoadedVersion:
    """The provider of one load of its source, and how many requests run on it.

    Args:
        on_did_change: Called when the provider says that its models have changed.
    """

    def __init__(self, provider: LanguageModelChatProvider, on_did_change: Callable[[], object]) -> None:
        self.provider = provider
        event = provider.on_did_change_language_model_chat_information
        self._subscriptions: list[Disposable] = [] if event is None else [event(lambda _: on_did_change())]
        self._running = 0
        self._is_retired = False

    @contextmanager
    def in_use(self) -> Iterator[LanguageModelChatProvider]:
        """Keeps it open while a request runs on it, even if it is replaced meanwhile."""
        self._running += 1
        try:
            yield self.provider
        finally:
            self._running -= 1

    def retire(self) -> None:
        """Records that another version has replaced this one."""
        self._is_retired = True
        for subscription in self._subscriptions:
            subscription.dispose()

    @property
    def is_finished(self) -> bool:
        """Whether the version was replaced and its last request has ended."""
        return self._is_retired and not self._running

    async def aclose(self) -> None:
        """Closes the provider if it can be closed (`aclose`)."""
        aclose = getattr(self.provider, "aclose", None)
        if inspect.iscoroutinefunction(aclose):
            await aclose()


class ReloadedProvider(LanguageModelChatProvider):
    """Answers by the provider of the file as it is now; after an edit that cannot be loaded, by the one before.

    Args:
        on_load: Called after every load but the first: with the error, which may be a SystemExit, or None.

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
        self._version = LoadedVersion(loader.load(), lambda: self._did_change.fire(None))
        self._stamp = self._stamp or loader.stamp()  # the file of a module is known after the load
        self._replaced: list[LoadedVersion] = []

    async def follow(self) -> None:
        """Looks for edits until it is cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Loads the file again if it was edited, and closes the versions that no request uses any more."""
        stamp = self._loader.stamp()
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                # In a thread: the imports of a file may take seconds, and responses must go on.
                provider = await run_in_thread(self._loader.load, "partstream-load")
            except (Exception, SystemExit) as error:
                self._on_load(error)
            else:
                before, self._version = self._version, LoadedVersion(provider, lambda: self._did_change.fire(None))
                before.retire()
                self._replaced.append(before)
                self._on_load(None)
                self._did_change.fire(None)
        for version in [version for version in self._replaced if version.is_finished]:
            self._replaced.remove(version)
            await version.aclose()

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
        versions, self._replaced = [self._version, *self._replaced], []
        for version in versions:
            await version.aclose()
