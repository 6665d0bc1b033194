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
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from partstream.codec.checks import LAST_TIME, MOST_TOKENS, as_amount, as_count
from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.tokens import records
from partstream.tokens.families import CountSource
from partstream_hub.hub import Background
from partstream_hub.store.rows import SERIES
from partstream_hub.store.values import LearnedBatch, LearnedRow, StoreError, StoreUnreachableError

if TYPE_CHECKING:
    from partstream.tokens.ledger import Ledger
    from partstream_hub.store.store import HubStore

# ---- Facts as rows ----

FactKey: TypeAlias = tuple[str | bytes | int, ...]
"""What a fact is about: a later fact with the same key takes its place."""


class _Form(NamedTuple):
    """How facts of a kind are written."""

    kind: str
    identity: Callable[[Any], tuple[str | bytes, ...]]  # what it is about, beside its owner: a later one replaces it
    owner: Callable[[Any], str]
    values: Callable[[Any], Sequence[object]]
    read: Callable[..., records.Fact]  # of its owner and those values; a ValueError for what cannot be


def _number(value: object, most: float) -> float:
    if (number := as_amount(value, most)) is None:
        raise ValueError("no amount")
    return number


def _whole(value: object) -> int:
    if (number := as_count(value)) is None:
        raise ValueError("no count")
    return number


def _read_count(
    owner: str,
    digest: str,
    version: str,
    counted: object,
    source: str,
    reported: object,
    is_alone: object,
    size: object,
) -> records.Fact:
    numbers = _number(counted, MOST_TOKENS), CountSource(source), _number(reported, MOST_TOKENS)
    row = records.CountRow(version, *numbers, bool(is_alone), as_count(size, 2**53))
    return records.CountFact(owner, bytes.fromhex(digest), row)


def _read_total(owner: str, digest: str, tools: str, tools_tokens: object, reported: object) -> records.Fact:
    row = records.TotalRow(bytes.fromhex(tools), _number(tools_tokens, MOST_TOKENS), _whole(reported))
    return records.TotalFact(owner, bytes.fromhex(digest), row)


def _read_sample(owner: str, ratio: object, weight: object) -> records.Fact:
    known = _number(ratio, records.HIGHEST_FACTOR), _number(weight, MOST_TOKENS)
    return records.SampleFact(owner, records.Sample(*known))


def _read_limit(owner: str, model: str, tokens: object, learned: object) -> records.Fact:
    row = None if tokens is None else records.LimitRow(_whole(tokens), _number(learned, LAST_TIME))
    return records.LimitFact(owner, model, row)


_FORMS: Final[Mapping[type, _Form]] = {
    records.CountFact: _Form(
        "count",
        lambda fact: (fact.digest,),
        lambda fact: fact.scope,
        lambda fact: [
            *(fact.digest.hex(), fact.row.version, fact.row.counted, fact.row.source.value),
            *(fact.row.reported, fact.row.is_alone, fact.row.size),
        ],
        _read_count,
    ),
    records.TotalFact: _Form(
        "total",
        lambda fact: (fact.digest, fact.row.tools),
        lambda fact: fact.scope,
        lambda fact: [fact.digest.hex(), fact.row.tools.hex(), fact.row.tools_tokens, fact.row.reported],
        _read_total,
    ),
    records.SampleFact: _Form(
        SERIES,
        lambda _: (),
        lambda fact: fact.family,
        lambda fact: [fact.sample.ratio, fact.sample.weight],
        _read_sample,
    ),
    records.LimitFact: _Form(
        "limit",
        lambda fact: (fact.model,),
        lambda fact: fact.upstream,
        lambda fact: [fact.model, *((None, None) if fact.row is None else (fact.row.tokens, fact.row.learned))],
        _read_limit,
    ),
    records.RefusalFact: _Form(
        "refusal",
        lambda fact: (fact.model, fact.field),
        lambda fact: fact.upstream,
        lambda fact: [fact.model, fact.field, fact.learned],
        lambda owner, model, field, learned: records.RefusalFact(owner, model, field, _number(learned, LAST_TIME)),
    ),
}
_BY_KIND: Final = {form.kind: form for form in _FORMS.values()}


def key_of(fact: records.Fact, place: int) -> FactKey:
    """What a fact is about; of a sample, its place among all samples of this worker, greater for a later one."""
    form = _FORMS[type(fact)]
    return (form.kind, form.owner(fact), *(form.identity(fact) or (place,)))


def row_of(fact: records.Fact, key: FactKey, worker: str) -> LearnedRow:
    """A fact as a row."""
    form = _FORMS[type(fact)]
    if form.kind == SERIES:
        text = f"{key[-1]!s:0>12}-{worker}"
    else:
        text = sha256(dumps([part.hex() if isinstance(part, bytes) else part for part in key])).hexdigest()[:32]
    return LearnedRow(text, form.kind, form.owner(fact), dumps(list(form.values(fact))).decode())


def fact_of(row: LearnedRow) -> records.Fact | None:
    """The fact of a row; None for one that this version does not know, or that holds what cannot be."""
    try:
        return _BY_KIND[row.kind].read(row.owner, *loads(row.value))
    except (JSONDecodeError, KeyError, TypeError, ValueError):
        return None


# ---- The exchange ----

_logger = logging.getLogger("partstream.hub")

_SECONDS: Final = 3.0
"""Between two exchanges."""
_MOST_WAITING: Final = 10_000
_MOST_AT_ONCE: Final = 1_000
_TAKEN_AT_ONCE: Final = 200
"""The facts that are taken in one turn of the event loop: less than a millisecond of work."""

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
        """Ends the exchange; what has not been told yet stays in this worker's own ledger."""
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
            # What could not be told waits before what is newer.
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
                if key_of(fact, 0) not in self._waiting:  # what was learned here since will be told next
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
