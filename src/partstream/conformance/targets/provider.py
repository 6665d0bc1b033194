"""A provider in Python as a target: an object, a file, a module, or a factory that is given the upstream's base URL."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from partstream.conformance.targets.parser import ParserTarget
from partstream.devtools.conformance.driving import Capabilities, Provocation, TargetDescription, UnusableTargetError
from partstream.devtools.conformance.parsing import is_parser
from partstream.devtools.testing.upstream import ReplayUpstream
from partstream.errors import CallerError
from partstream.lm.provider import LanguageModelChatProvider
from partstream.runtime.progress import fault_of, placed
from partstream.runtime.provider_files import SourceLoader

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from partstream.devtools.conformance.scripts import Script

__all__ = ["HOOK", "ProviderTarget", "provider_from"]

HOOK: Final = "conformance"
"""The attribute of a provider's file that takes the kit's script, `def conformance(script) -> provider`, or declares
its capabilities as a mapping."""

_PROVIDER: Final = "provider"
_UPSTREAM: Final = "upstream"
_SCRIPT: Final = "script"
_PROTOCOL: Final = "protocol"
_CLOSE_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class _Session:
    upstream: ReplayUpstream | None
    declared: Capabilities
    made: LanguageModelChatProvider | None
    hook: Callable[[Script], Any] | None
    name: str
    note: str = ""

    def provider(self, script: Script | None) -> LanguageModelChatProvider:
        if self.upstream is not None:
            self.upstream.perform(None if script is None else script.perform)
        if self.hook is not None and script is not None:
            try:
                made = self.hook(script)
            except (Exception, SystemExit) as error:
                raise UnusableTargetError(self.name, f"the hook failed: {placed(error)}") from error
            return _checked(made, self.name)
        if self.made is None:
            raise UnusableTargetError(self.name, "the target is a hook alone, and there is no script for it")
        return self.made


class ProviderTarget:
    """A provider in this process.

    Args:
        found: A provider, its class, or a function that makes one: of the parameter `upstream` (a base URL, and
            `protocol` if it likes) or of the parameter `script`.
        name: What a report calls it.
        declared: What its file declares.
        protocol: The name of the protocol that the scripted upstream is asked in; None for the default.
    """

    def __init__(
        self,
        found: object,
        name: str | None = None,
        *,
        declared: Capabilities | None = None,
        protocol: str | None = None,
    ) -> None:
        self._name = name or _name_of(found)
        self._found: Any = found
        self._declared = declared or Capabilities()
        self._hook: Callable[[Script], Any] | None = found if _takes(found, _SCRIPT) else None  # type: ignore[assignment]
        self._protocol = protocol
        self._is_sandwich = _takes(found, _UPSTREAM)

    @property
    def description(self) -> TargetDescription:
        """What a report says of it."""
        return TargetDescription(self._name, "provider", protocol=self._protocol if self._is_sandwich else None)

    @property
    def ways(self) -> frozenset[Provocation]:
        """A sandwich where it takes an upstream, scripted where it has a hook, else by the prompt."""
        if self._is_sandwich:
            return frozenset({Provocation.SANDWICH})
        return frozenset({Provocation.SCRIPTED if self._hook is not None else Provocation.DIRECTED})

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[_Session, None]:
        """Makes the provider, and closes it at the end where it can be closed.

        Raises:
            UnusableTargetError: It is no provider, or its maker failed.
        """
        if not self._is_sandwich:
            made = None if self._hook is not None else self._make()
            try:
                yield _Session(None, self._declared, made, self._hook, self._name)
            finally:
                await _close(made, self._name)
            return
        async with ReplayUpstream() as upstream:
            url = upstream.base_url if self._protocol is None else upstream.base_url_of(self._protocol)
            made = self._make(url)
            try:
                yield _Session(upstream, self._declared, made, None, self._name)
            finally:
                await _close(made, self._name)

    def _make(self, url: str | None = None) -> LanguageModelChatProvider:
        found = self._found
        if isinstance(found, LanguageModelChatProvider):
            return found
        arguments: dict[str, Any] = {} if url is None else {_UPSTREAM: url}
        if _takes(found, _PROTOCOL) and self._protocol is not None:
            arguments[_PROTOCOL] = self._protocol
        try:
            made = found(**arguments)
        except (Exception, SystemExit) as error:
            raise UnusableTargetError(self._name, f"making the provider failed: {placed(error)}") from error
        return _checked(made, self._name)


def provider_from(source: str, protocol: str | None = None) -> ProviderTarget | ParserTarget:
    """The target of a source, named as in the extension: `file.py`, `file.py:attribute` or `module:attribute`.

    An attribute may also be a function that makes a provider, or a parser. A file may hold the attribute `conformance`:
    a hook, or a mapping of its capabilities.

    Raises:
        UnusableTargetError: The source holds no provider, or fails when it runs.
    """
    loader = SourceLoader(source)
    try:
        module = loader.module()
        hook = getattr(module, HOOK, None)
        named = getattr(module, loader.attribute or _PROVIDER, None)
        if is_parser(named):
            return ParserTarget(named, protocol, name=source)
        is_maker = _takes(named, _UPSTREAM) or _takes(named, _SCRIPT)
        takes_script = hook if _takes(hook, _SCRIPT) else None
        found = named if is_maker else takes_script if takes_script is not None else loader.provider_of(module)
    except UnusableTargetError:
        raise
    except CallerError as error:
        raise UnusableTargetError(source, str(error).removeprefix(f"{source}: ")) from error
    except (Exception, SystemExit) as error:  # a file that ends the process would end it as if all were well
        raise UnusableTargetError(source, f"running the file failed: {fault_of(error, loader.file)}") from error
    declared = Capabilities.of(hook) if isinstance(hook, dict) else None
    return ProviderTarget(found, source, declared=declared, protocol=protocol)


def _name_of(found: object) -> str:
    return getattr(found, "__name__", None) or type(found).__name__


def _takes(found: object, parameter: str) -> bool:
    if isinstance(found, LanguageModelChatProvider) or not callable(found):
        return False
    try:
        return parameter in inspect.signature(found).parameters
    except (TypeError, ValueError):
        return False


def _checked(made: Any, name: str) -> LanguageModelChatProvider:
    if isinstance(made, LanguageModelChatProvider):
        return made
    raise UnusableTargetError(name, f"got {type(made).__name__}, expected a LanguageModelChatProvider")


async def _close(provider: LanguageModelChatProvider | None, name: str) -> None:
    """Closes a provider that has an `aclose`, as the host does.

    Raises:
        UnusableTargetError: It cannot be closed, or not within a limit of time.
    """
    close = getattr(provider, "aclose", None)
    if close is None:
        return
    try:
        async with asyncio.timeout(_CLOSE_SECONDS):
            await close()
    except TimeoutError as error:
        raise UnusableTargetError(name, f"was not closed within {_CLOSE_SECONDS:g} seconds") from error
    except (Exception, SystemExit) as error:
        raise UnusableTargetError(name, f"closing the provider failed: {error!r}") from error
