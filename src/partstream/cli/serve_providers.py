"""The providers that `partstream serve` serves: from files and modules, of profiles, and the built-in one."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from partstream.cli.provider_source import load, reloaded
from partstream.codec.system import CACHE
from partstream.runtime.provider_files import default_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from partstream.lm.provider import LanguageModelChatProvider
    from partstream.runtime.provider_files import ReloadedProvider
    from partstream.tokens.ledger import Ledger

__all__ = ["ServedProviders"]

_DEMO: Final = "demo"


@dataclass
class ServedProviders:
    """The providers by name, and what has to be ended with them.

    Attributes:
        by_name: The providers.
        files: The files of the providers that are loaded again when they are edited.
    """

    by_name: dict[str, LanguageModelChatProvider] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)
    _endings: list[Callable[[], Any]] = field(default_factory=list)
    _reloaded: list[ReloadedProvider] = field(default_factory=list)
    _ledger: Ledger | None = None

    @property
    def ledger(self) -> Ledger | None:
        """The one ledger of all providers; None if none of them needs it."""
        return self._ledger

    def add_source(self, source: str, *, on_load: Callable[[str, BaseException | None], None] | None = None) -> None:
        """Adds the provider of a file or a module.

        Args:
            source: `path/to/file.py`, `module`, or one of them with `:attribute`.
            on_load: Has the source loaded again after each edit, and is told of it.

        Raises:
            UnusableProviderError: It cannot be loaded.
        """
        if on_load is None:
            self._add(default_name(source), load(source, self._opened_ledger))
            return
        provider, loader = reloaded(source, lambda error: on_load(source, error), self._opened_ledger)
        self._reloaded.append(provider)
        if loader.file is not None:
            self.files.append(loader.file)
        self._add(default_name(source), provider)

    def add_upstreams(self, profiles: Iterable[str | None]) -> None:
        """Adds the provider of each profile's server; None is the one in force.

        Raises:
            UsageError: There is no base URL.
            UnusableConfigurationError: A setting is invalid.
        """
        from partstream.cli.options import gateway_of  # noqa: PLC0415 - takes 0.3 s to import
        from partstream.lm.outputs import ErrorMode  # noqa: PLC0415 - comes with it
        from partstream.tokens import Counters  # noqa: PLC0415 - comes with it
        from partstream.upstream.provider import GatewayProvider  # noqa: PLC0415 - comes with it

        ledger, counters = self._opened_ledger(), Counters()
        for profile in profiles:
            gateway = gateway_of(profile=profile, header_variables=(), defaults={"callIdPrefix": ""})
            # A client reads the status; an error as text would be an answer of the model to it.
            served = replace(gateway, errors=ErrorMode.REJECT, cache_folder=CACHE.path())
            name = profile or urlsplit(gateway.base_url).hostname or "server"
            self._add(name, GatewayProvider(served, ledger=ledger, counters=counters))

    def add_demo(self) -> None:
        """Adds the built-in provider, which needs no server and no key."""
        from partstream.server.demo_provider import DemoProvider  # noqa: PLC0415 - only where it is wanted

        self._add(_DEMO, DemoProvider())

    async def follow_edits(self) -> None:
        """Loads edited files again until it is cancelled."""
        await asyncio.gather(*(provider.follow() for provider in self._reloaded))

    async def aclose(self) -> None:
        """Closes all providers that can be closed."""
        async with AsyncExitStack() as stack:
            for end in self._endings:
                stack.push_async_callback(end)
            for provider in self.by_name.values():
                aclose = getattr(provider, "aclose", None)
                if inspect.iscoroutinefunction(aclose):
                    stack.push_async_callback(aclose)

    def _opened_ledger(self) -> Ledger:
        """The one ledger of all providers, opened when the first one needs it."""
        from partstream.tokens.ledger import open_ledger  # noqa: PLC0415 - most providers need none

        if self._ledger is None:
            self._ledger = ledger = open_ledger()
            self._endings.append(lambda: asyncio.to_thread(ledger.close))
        return self._ledger

    def _add(self, name: str, provider: LanguageModelChatProvider) -> None:
        unused, number = name, 1
        while unused in self.by_name:
            number += 1
            unused = f"{name}-{number}"
        self.by_name[unused] = provider
