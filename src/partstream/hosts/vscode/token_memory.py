"""The memory of tokens that all gateways of a sidecar share: ledger, exact counters, usage of other processes."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from partstream.codec.system import DATA

if TYPE_CHECKING:
    from pathlib import Path

    from partstream.tokens import Counters
    from partstream.tokens.ledger import Ledger
    from partstream.tokens.ledger_file import UsageOfOthers
    from partstream.tokens.records import UsageRow

__all__ = ["TokenMemory"]


class TokenMemory:
    """Opens the ledger when the first gateway is loaded: a sidecar without a gateway needs no database.

    Args:
        folder: The folder of the ledger's file; None for the user's data folder.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = threading.Lock()  # gateways are loaded in threads
        self._opened: tuple[Ledger, Counters] | None = None
        self._reading = asyncio.Lock()
        self._others: UsageOfOthers | None = None

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

    def close(self) -> None:
        """Writes the rows that are not yet written; waits for a limited time."""
        if self._opened is not None:
            self._opened[0].close()

    def _usage_of_others(self, days: int) -> list[UsageRow]:
        from partstream.tokens.ledger import is_ledger_off  # noqa: PLC0415 - comes with the first answer
        from partstream.tokens.ledger_file import (
            LedgerFile,  # noqa: PLC0415 - comes with it
            UsageOfOthers,  # noqa: PLC0415 - comes with it
        )

        path = self._path()
        if is_ledger_off() or not path.is_file():
            return []
        file = LedgerFile(path)
        try:
            today = datetime.now(UTC).astimezone().date()
            own = None if self._opened is None else self._opened[0].name
            self._others = self._others or UsageOfOthers()
            return self._others.read(file, today - timedelta(days=days - 1), own)
        finally:
            file.close()

    def _path(self) -> Path:
        from partstream.tokens.ledger import LEDGER_NAME  # noqa: PLC0415 - see open

        return (self._folder or DATA.path()) / LEDGER_NAME
