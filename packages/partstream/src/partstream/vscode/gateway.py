"""Makes the built-in gateway provider from a group's configuration; no other module of this host knows its fields.

All gateways of a sidecar share one :class:`TokenMemory`: the ledger, exact counters, and the usage of other processes.
"""

from __future__ import annotations
import asyncio
import logging
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import urlsplit

from partstream.codec.checks import dataclass, field, replace
from partstream.codec.system import CACHE, DATA
from partstream.errors import CallerError
from partstream.settings.row import hidden_url

if TYPE_CHECKING:
    from pathlib import Path

    from partstream.config.loading import Configuration
    from partstream.config.table import Resolved
    from partstream.lm.provider import LanguageModelChatProvider
    from partstream.runtime.provider_files import Stamp
    from partstream.tokens import Counters
    from partstream.tokens.ledger import Ledger
    from partstream.tokens.ledger_file import UsageOfOthers
    from partstream.tokens.records import Completions, UsageRow
    from partstream.upstream.configuration import GatewayConfiguration
    from partstream.vscode import rpc_types as wire


class TokenMemory:
    """Opens the ledger, by default in the user's data folder, when the first gateway is loaded: a sidecar without a
    gateway needs no database."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = threading.Lock()  # gateways are loaded in threads
        self._opened: tuple[Ledger, Counters] | None = None
        self._reading = asyncio.Lock()
        self._others: UsageOfOthers | None = None
        self._completions: dict[str, Completions] = {}  # by the day; those that no file has yet

    def open(self) -> tuple[Ledger, Counters]:
        """Opens the ledger, which belongs to the event loop's thread, and the counters; returns both."""
        from partstream.tokens import Counters  # noqa: PLC0415 - the first gateway's thread has the time for it
        from partstream.tokens.ledger import open_ledger  # noqa: PLC0415 - comes with it

        with self._lock:
            if self._opened is None:
                self._opened = (open_ledger(self._folder), Counters())
            return self._opened

    async def usage_of_others(self, days: int) -> list[UsageRow]:
        """The usage of other processes' answers in the last `days` days, including today, as far as it is new."""
        async with self._reading:
            return await asyncio.to_thread(self._usage_of_others, days)

    async def completions(self, days: int, new: Completions | None = None) -> Mapping[str, Completions]:
        """Counts `new` completions; returns those of all windows in the last `days` days, including today, by the day,
        as `2026-11-21`."""
        async with self._reading:
            return await asyncio.to_thread(self._count_completions, days, new)

    def close(self) -> None:
        """Writes the rows that are not yet written; waits for a limited time."""
        if self._opened is not None:
            self._opened[0].close()

    def _usage_of_others(self, days: int) -> list[UsageRow]:
        from partstream.tokens.ledger import LEDGER_NAME, is_ledger_off  # noqa: PLC0415 - comes with the first answer
        from partstream.tokens.ledger_file import LedgerFile, UsageOfOthers  # noqa: PLC0415 - the same

        path = (self._folder or DATA.path()) / LEDGER_NAME
        if is_ledger_off() or not path.is_file():
            return []
        with closing(LedgerFile(path)) as file:
            own = None if self._opened is None else self._opened[0].name
            self._others = self._others or UsageOfOthers()
            return self._others.read(file, _first_of(days), own)

    def _count_completions(self, days: int, new: Completions | None) -> Mapping[str, Completions]:
        from partstream.tokens import ledger_file  # noqa: PLC0415 - comes with the first answer
        from partstream.tokens.ledger import LEDGER_NAME, is_ledger_off  # noqa: PLC0415 - the same
        from partstream.tokens.records import Completions  # noqa: PLC0415 - the same

        unwritten = self._completions
        if new is not None and any(new):
            today = _first_of(1).isoformat()
            unwritten[today] = unwritten.get(today, Completions()).plus(new)
        if is_ledger_off():
            return dict(unwritten)
        with closing(ledger_file.LedgerFile((self._folder or DATA.path()) / LEDGER_NAME)) as file:
            rows = [(day, *counts) for day, counts in unwritten.items()]
            if rows and file.write([(ledger_file.COUNT_COMPLETIONS, rows)]):
                unwritten.clear()
            known = ledger_file.read_completions(file, _first_of(days))
            return {**known, **{day: known.get(day, Completions()).plus(one) for day, one in unwritten.items()}}


def _first_of(days: int) -> date:
    """The first of the last days, which end with today."""
    return datetime.now(UTC).astimezone().date() - timedelta(days=days - 1)


_logger = logging.getLogger("partstream.hosts.vscode")

PROVIDER_KEY: Final = "provider"
"""The field of a group that names a provider file, which then answers instead of the gateway."""


@dataclass(frozen=True)
class GatewaySurroundings:
    """The things that a gateway needs beside its group."""

    editor: Mapping[str, Any] = field(default_factory=dict)  # VS Code's own settings, under the names of ours
    # called with every key before its first use, so that no log and no message holds it
    learn: Callable[[str], object] = lambda key: None
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    tokens: TokenMemory = field(default_factory=TokenMemory)  # the shared memory of tokens


class GatewayLoader:
    """Loads the gateway for one group, by default under the host and port of its server; a changed configuration needs
    a new loader."""

    is_own: ClassVar[bool] = False  # no code of the person is loaded
    file: None = None

    def __init__(
        self, configuration: Mapping[str, Any], surroundings: GatewaySurroundings | None = None, name: str | None = None
    ) -> None:
        self._configuration = configuration
        self._surroundings = surroundings or GatewaySurroundings()
        self._resolved: Resolved | None = None
        self._base_url = str(configuration.get("baseUrl") or "")
        self.name = name or _host_of(self._base_url) or "gateway"

    def __repr__(self) -> str:
        return f"<gateway to {self.name}>"  # never the configuration: it holds keys

    @property
    def place(self) -> str:
        """The address of the server, without what may be secret in it."""
        return f"at {hidden_url(self._base_url)}"

    def stamp(self) -> Stamp:
        """The stamp of the user's `partstream.toml`, which may hold settings that the group leaves out."""
        from partstream.config.table import configuration_file  # noqa: PLC0415 - takes 0.1 s to import

        try:
            status = configuration_file(self._surroundings.environment).stat()
        except (OSError, CallerError):  # no file, which is usual; reading the file reports any other problem
            return (0, 0, 0)
        return (status.st_mtime_ns, status.st_size, status.st_ino)

    def load(self) -> LanguageModelChatProvider:
        """Makes the provider.

        Raises:
            ConfigurationError: A setting is missing, unknown or of the wrong type.
        """
        from partstream.upstream.provider import GatewayProvider  # noqa: PLC0415 - comes with it

        configuration = replace(self.configuration(), cache_folder=CACHE.path())
        ledger, counters = self._surroundings.tokens.open()
        return GatewayProvider(configuration, ledger=ledger, counters=counters)

    def configuration(self) -> GatewayConfiguration:
        """The configuration of the gateway, without a folder for what it remembers.

        Raises:
            ConfigurationError: A setting is missing, unknown or of the wrong type.
        """
        return self.settings().gateway(self._surroundings.learn)

    def settings(self) -> Configuration:
        """The settings of the group and of all other places; what is odd about them is logged once.

        Raises:
            ConfigurationError: A setting is unknown or of the wrong type.
        """
        from partstream.config.loading import load_configuration  # noqa: PLC0415 - takes 0.1 s to import

        # A group of the other kind has this field; here it is empty and not a setting of the gateway.
        group = {name: value for name, value in self._configuration.items() if name != PROVIDER_KEY}
        surroundings = self._surroundings
        loaded = load_configuration(group=group, editor=surroundings.editor, environment=surroundings.environment)
        if loaded.resolved != self._resolved:
            self._resolved = loaded.resolved
            for note in loaded.resolved.notes:
                _logger.info("%s", note)
            for warning in loaded.resolved.warnings:
                _logger.warning("%s: %s", self.name, warning)
        return loaded


def _host_of(base_url: str) -> str:
    try:
        address = urlsplit(base_url)
        port = f":{address.port}" if address.port else ""
    except ValueError:  # no URL, which the error of the configuration says
        return ""
    return f"{address.hostname}{port}" if address.hostname else ""


def editor_settings(configuration: wire.SidecarConfiguration) -> dict[str, Any]:
    """VS Code's own settings, under the names of ours; their rows say which settings VS Code may hold."""
    return {name: value for name, value in configuration.items() if name != "providers"}
