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
from collections.abc import Awaitable, Callable, Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import MsgspecError, convert, json

from partstream.codec.json_codec import dumps
from partstream.tokens import records
from partstream_hub.hub import Background
from partstream_hub.store.rows import SERIES
from partstream_hub.store.values import LearnedBatch, LearnedRow, StoreError, StoreUnreachableError

if TYPE_CHECKING:
    from partstream.tokens.ledger import Ledger
    from partstream_hub.store.store import HubStore

# ---- Facts as rows ----

FactKey: TypeAlias = tuple[str | bytes | int, ...]
"""What a fact is about: a later fact with the same key takes its place."""
_KINDS: Final[Mapping[str, type[Any]]] = {
    "count": records.CountFact,
    "total": records.TotalFact,
    SERIES: records.SampleFact,
    "limit": records.LimitFact,
    "refusal": records.RefusalFact,
}
_MOST: Final = 2.0**53  # the most of any number: beyond it a JSON number is not exact


def key_of(fact: records.Fact, place: int) -> FactKey:
    """What a fact is about; of a sample, its place among all samples of this worker, greater for a later one."""
    kind = next(kind for kind, made in _KINDS.items() if isinstance(fact, made))
    if isinstance(fact, records.SampleFact):
        return (kind, fact.family, place)
    tools = (fact.row.tools,) if isinstance(fact, records.TotalFact) else ()
    return (kind, *fact[:-1], *tools)  # the last is what is said of it


def row_of(fact: records.Fact, key: FactKey, worker: str) -> LearnedRow:
    """A fact as a row."""
    if isinstance(fact, records.SampleFact):
        text = f"{key[-1]!s:0>12}-{worker}"
    else:
        text = sha256(dumps([part.hex() if isinstance(part, bytes) else part for part in key])).hexdigest()[:32]
    return LearnedRow(text, str(key[0]), fact[0], json.encode(fact[1:]).decode())


def fact_of(row: LearnedRow) -> records.Fact | None:
    """The fact of a row; None for one that this version does not know, or that holds what cannot be."""
    try:
        said = [row.owner, *json.decode(row.value)]
        fact: records.Fact = convert(said, _KINDS[row.kind])
    except (KeyError, TypeError, MsgspecError):
        return None
    is_possible = all(0 <= one <= _MOST for one in _numbers(said))
    if isinstance(fact, records.SampleFact):
        is_possible = is_possible and fact.sample.ratio <= records.HIGHEST_FACTOR
    return fact if is_possible else None


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, float | int):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _numbers(one)


# ---- The exchange ----

_logger = logging.getLogger("partstream.hub")
_SECONDS: Final = 3.0  # between two exchanges
_MOST_WAITING: Final = 10_000
_MOST_AT_ONCE: Final = 1_000
_TAKEN_AT_ONCE: Final = 200  # the facts that are taken in one turn of the event loop: less than a millisecond of work
UseStore: TypeAlias = Callable[[Callable[["HubStore"], "_Exchanged"]], Awaitable["_Exchanged"]]
"""Runs something on the database in a thread."""
_Exchanged: TypeAlias = "tuple[LearnedBatch, list[records.Fact], dict[str, list[records.Fact]]]"


class SharedCounts(Background):
    """Keeps a ledger and those of the other workers alike, from :meth:`start` to :meth:`stop`, every few seconds."""

    def __init__(self, ledger: Ledger, use_store: UseStore, seconds: float = _SECONDS) -> None:
        self._ledger = ledger
        self._use_store = use_store
        self._seconds = seconds
        self._name = secrets.token_hex(8)
        self._place = 0
        self._since = 0
        self._waiting: OrderedDict[FactKey, records.Fact] = OrderedDict()

    async def start(self) -> None:
        """Listens to the ledger, and begins to exchange in the background."""
        self._ledger.tell = self.note
        await super().start()

    async def stop(self) -> None:
        """Ends the exchange; what was not exchanged stays in this worker's own ledger."""
        self._ledger.tell = None
        await super().stop()

    def note(self, fact: records.Fact) -> None:
        """Keeps a fact for the next exchange, instead of an older one about the same thing."""
        self._place += 1
        key = key_of(fact, self._place)
        self._waiting[key] = fact
        self._waiting.move_to_end(key)
        if len(self._waiting) > _MOST_WAITING:
            self._waiting.popitem(last=False)

    async def exchange(self) -> bool:
        """Sends what is new and takes what others have sent; whether there is more of it now. After a `StoreError`,
        what was to be sent waits for the next time."""
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
            # What could not be sent waits before what is newer.
            newer, self._waiting = self._waiting, OrderedDict(told)
            self._waiting.update(newer)
            while len(self._waiting) > _MOST_WAITING:
                self._waiting.popitem(last=False)
            raise
        await self._take(facts, series)
        self._since = batch.batch
        return batch.has_more or bool(self._waiting)

    async def _take(self, facts: list[records.Fact], series: dict[str, list[records.Fact]]) -> None:
        for start in range(0, len(facts), _TAKEN_AT_ONCE):
            for fact in facts[start : start + _TAKEN_AT_ONCE]:
                if key_of(fact, 0) not in self._waiting:  # what was learned here since will be sent next
                    self._ledger.take(fact)
            await asyncio.sleep(0)
        for owner, samples in series.items():
            known = [one.sample for one in samples if isinstance(one, records.SampleFact)]
            waiting = [one for one in self._waiting.values() if isinstance(one, records.SampleFact)]
            own = [one.sample for one in waiting if one.family == owner]
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
