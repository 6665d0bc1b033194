"""The shared ledger: what an upstream tells one worker of tokens, all workers know a few seconds later.

A worker exchanges new facts for those of others through the hub's database, in batches, beside the answers: nothing
here is on the way of one. While the database is away, facts wait in bounded memory; then the oldest are forgotten,
which costs accuracy of estimates and nothing else.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeAlias

from partstream.hub.learned_facts import fact_of, key_of, row_of
from partstream.hub.store.errors import StoreError, StoreUnreachableError
from partstream.tokens.ledger.facts import SampleFact

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.hub.learned_facts import FactKey
    from partstream.hub.store.store import HubStore
    from partstream.hub.store.values import LearnedBatch
    from partstream.tokens.ledger.facts import Fact
    from partstream.tokens.ledger.ledger import Ledger

__all__ = ["SharedCounts", "UseStore"]

_logger = logging.getLogger("partstream.hub")

_SECONDS: Final = 3.0
"""Between two exchanges."""
_MOST_WAITING: Final = 10_000
_MOST_AT_ONCE: Final = 1_000
_TAKEN_AT_ONCE: Final = 200
"""The facts that are taken in one turn of the event loop: less than a millisecond of work."""

UseStore: TypeAlias = Callable[[Callable[["HubStore"], "_Exchanged"]], Awaitable["_Exchanged"]]
"""Runs something on the database in a thread."""

_Exchanged: TypeAlias = "tuple[LearnedBatch, list[Fact], dict[str, list[Fact]]]"


class SharedCounts:
    """Keeps a ledger and those of the other workers alike, from :meth:`start` to :meth:`stop`.

    Args:
        ledger: The ledger of this worker's providers.
        use_store: Runs something on the database in a thread.
        seconds: The time between two exchanges; None for three seconds.
    """

    def __init__(self, ledger: Ledger, use_store: UseStore, seconds: float | None = None) -> None:
        self._ledger = ledger
        self._use_store = use_store
        self._seconds = _SECONDS if seconds is None else seconds
        self._name = secrets.token_hex(8)
        self._place = 0
        self._since = 0
        self._waiting: OrderedDict[FactKey, Fact] = OrderedDict()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Listens to the ledger, and begins to exchange in the background."""
        self._ledger.tell = self.note
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Ends the exchange; what has not been told yet stays in this worker's own ledger."""
        self._ledger.tell = None
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def note(self, fact: Fact) -> None:
        """Keeps a fact for the next exchange, in the place of an older one about the same thing."""
        self._place += 1
        key = key_of(fact, self._place)
        self._waiting[key] = fact
        self._waiting.move_to_end(key)
        if len(self._waiting) > _MOST_WAITING:
            self._waiting.popitem(last=False)

    async def exchange(self) -> bool:
        """Tells what is new and takes what others have told; whether there is more of it now.

        Raises:
            StoreError: The database cannot be asked; what was to be told waits for the next time.
        """
        told = [self._waiting.popitem(last=False) for _ in range(min(len(self._waiting), _MOST_AT_ONCE))]
        since, name = self._since, self._name

        def in_thread(store: HubStore) -> _Exchanged:
            batch = store.exchange_learned(name, [row_of(fact, key, name) for key, fact in told], since)
            facts = [fact for row in batch.rows if (fact := fact_of(row)) is not None]
            series = {owner: [one for row in rows if (one := fact_of(row))] for owner, rows in batch.series.items()}
            return batch, facts, series

        try:
            batch, facts, series = await self._use_store(in_thread)
        except BaseException:
            self._put_back(told)
            raise
        await self._take(facts, series)
        self._since = batch.batch
        return batch.has_more or bool(self._waiting)

    def _put_back(self, told: Iterable[tuple[FactKey, Fact]]) -> None:
        """What could not be told waits before what is newer."""
        newer, self._waiting = self._waiting, OrderedDict(told)
        self._waiting.update(newer)
        while len(self._waiting) > _MOST_WAITING:
            self._waiting.popitem(last=False)

    async def _take(self, facts: list[Fact], series: dict[str, list[Fact]]) -> None:
        for start in range(0, len(facts), _TAKEN_AT_ONCE):
            for fact in facts[start : start + _TAKEN_AT_ONCE]:
                if key_of(fact, 0) not in self._waiting:  # what was learned here since will be told next
                    self._ledger.take(fact)
            await asyncio.sleep(0)
        for owner, samples in series.items():
            known = [one.sample for one in samples if isinstance(one, SampleFact)]
            own = [one.sample for one in self._waiting.values() if isinstance(one, SampleFact) and one.family == owner]
            self._ledger.take_samples(owner, (*known, *own))
        if facts:
            self._ledger.flush()

    async def _run(self) -> None:
        said = ""
        while True:
            try:
                if await self.exchange():
                    continue
            except StoreUnreachableError:
                pass  # the worker's own heartbeat says so
            except StoreError as error:
                if said != str(error):  # once: it would be said every few seconds
                    said = str(error)
                    _logger.warning("what is learned of tokens is not shared: %s", error)
            await asyncio.sleep(self._seconds)
