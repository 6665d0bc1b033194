"""Remembers counted and reported numbers: the newest in memory, all in a file; knows no rule of counting.

Used by one thread, that of the event loop. Callers do not notice problems with the file: rows that cannot be read in
time are unknown, and rows that cannot be written stay in memory.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from partstream.codec.system import DATA
from partstream.lm.cancellation import EventEmitter
from partstream.tokens.ledger.worker import LedgerWorker
from partstream.tokens.records import WINDOW, CountFact, LimitFact, RefusalFact, SampleFact, TotalFact, WantedRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from partstream.tokens.records import CountRow, Digest, Fact, LimitRow, Sample, TellFact, TotalRow, UsageRow

__all__ = ["LEDGER_NAME", "Ledger", "is_ledger_off", "open_ledger"]

_IN_MEMORY: Final = 20_000
"""The most digests in memory; the longest conversations have about 10,000 messages."""

_VARIABLE: Final = "PARTSTREAM_LEDGER"

LEDGER_NAME: Final = "tokens.sqlite3"
"""The name of the file in the user's data folder."""

Row = TypeVar("Row")


def is_ledger_off() -> bool:
    """Whether the environment variable of the setting `ledger` keeps the ledger off the disk."""
    return os.environ.get(_VARIABLE, "").strip().lower() == "false"


def open_ledger(folder: Path | None = None) -> Ledger:
    """The ledger of a folder, by default of the user's data folder. The file is opened when it is first needed.

    With `PARTSTREAM_LEDGER=false` in the environment, no file is read or written, and learned numbers are lost when the
    process ends.
    """
    if is_ledger_off():
        return Ledger()
    return Ledger(LedgerWorker((folder or DATA.path()) / LEDGER_NAME))


class Ledger:
    """The known numbers of messages and requests, by digest and scope.

    A scope is an upstream and a model family: numbers of different scopes must not be mixed.

    Args:
        worker: Reads and writes the file; None for a ledger in memory only.

    Attributes:
        did_learn: Fires with a family when an answer of any upstream taught something about it.
        tell: Hears of every fact that an upstream reports to this ledger; None for nobody.
        taken_refusals: How many refusals other ledgers have told.
    """

    def __init__(self, worker: LedgerWorker | None = None) -> None:
        self._worker = worker
        self._counts: _Memory[CountRow] = _Memory()
        self._totals: _Memory[tuple[TotalRow, ...]] = _Memory()
        self._samples: dict[str, tuple[Sample, ...]] = {}
        self._limits: dict[str, dict[str, LimitRow]] = {}
        self._told_limits: dict[str, dict[str, LimitRow]] = {}
        self._told_refusals: dict[str, dict[str, dict[str, float]]] = {}
        self.did_learn: EventEmitter[str] = EventEmitter()
        self.tell: TellFact | None = None
        self.taken_refusals = 0

    async def read_ahead(self, wanted: WantedRows) -> None:
        """Reads rows that are not in memory, so that those who need them next need not wait for the file.

        The event loop runs on meanwhile. What cannot be read in time stays unknown, see :meth:`counts`.
        """
        if self._worker is None:
            return
        missing = WantedRows(
            self._counts.missing(wanted.counts),
            self._totals.missing(wanted.totals),
            [family for family in wanted.families if family not in self._samples],
        )
        if not (missing.counts or missing.totals or missing.families):
            return
        read = await self._worker.find(missing)
        if read is None:
            return
        # Others may have kept newer rows meanwhile: only what is still missing is taken from the file.
        self._counts.fill(self._counts.missing(missing.counts), read.counts)
        self._totals.fill(self._totals.missing(missing.totals), read.totals)
        for family, samples in read.samples.items():
            self._samples.setdefault(family, tuple(samples))

    # ---- counts of messages ----

    def counts(self, digests: Iterable[Digest]) -> dict[Digest, Mapping[str, CountRow]]:
        """The known rows of each digest, by scope; an empty mapping if there are none."""
        found, missing = self._counts.find(digests)
        if missing:
            read = {} if self._worker is None else self._worker.counts(missing)
            if read is None:  # not in time: read again the next time
                return found | {digest: {} for digest in missing}
            found |= self._counts.fill(missing, read)
        return found

    def keep_counts(self, scope: str, rows: Mapping[Digest, CountRow], *, are_reported: bool = False) -> None:
        """Remembers counts; the next :meth:`flush` writes them.

        Args:
            scope: The family at its upstream.
            rows: The counts.
            are_reported: Whether an upstream has just reported them, so that other ledgers are told.
        """
        for digest, row in rows.items():
            self._counts.put(digest, scope, row)
            if are_reported and self.tell is not None:
                self.tell(CountFact(scope, digest, row))
        if self._worker is not None:
            self._worker.keep_counts(scope, rows)

    # ---- reported totals ----

    def totals(self, digests: Iterable[Digest]) -> dict[Digest, Mapping[str, tuple[TotalRow, ...]]]:
        """The reported totals of each beginning of a conversation, by scope; a row for each set of tools."""
        found, missing = self._totals.find(digests)
        if missing:
            read = {} if self._worker is None else self._worker.totals(missing)
            if read is None:
                return found | {digest: {} for digest in missing}
            found |= self._totals.fill(missing, read)
        return found

    def keep_total(self, scope: str, digest: Digest, row: TotalRow) -> None:
        """Remembers the reported total of a beginning of a conversation."""
        known = self.totals([digest])[digest].get(scope, ())
        self._totals.put(digest, scope, (*(one for one in known if one.tools != row.tools), row))
        if self._worker is not None:
            self._worker.keep_total(scope, digest, row)
        if self.tell is not None:
            self.tell(TotalFact(scope, digest, row))

    # ---- learned facts about families and models ----

    def samples(self, family: str) -> tuple[Sample, ...]:
        """The samples of a family, oldest first."""
        if family not in self._samples:
            read = () if self._worker is None else self._worker.samples(family)
            if read is None:
                return ()
            self._samples[family] = tuple(read)
        return self._samples[family]

    def keep_sample(self, family: str, sample: Sample) -> None:
        """Remembers a sample of a family."""
        self._samples[family] = (*self.samples(family), sample)[-WINDOW:]
        if self._worker is not None:
            self._worker.keep_sample(family, sample)
        if self.tell is not None:
            self.tell(SampleFact(family, sample))

    def limits(self, upstream: str) -> dict[str, LimitRow]:
        """The input limits that an upstream reported, by model id.

        Reads the file every time: another process may have learned a limit, and a file that cannot be read now may be
        readable later.
        """
        read = None if self._worker is None else self._worker.limits(upstream)
        limits = dict(read or {})
        for known in (self._told_limits, self._limits):
            for model, row in known.get(upstream, {}).items():
                if model not in limits or row.learned > limits[model].learned:
                    limits[model] = row
        return limits

    def keep_limit(self, upstream: str, model: str, row: LimitRow) -> None:
        """Remembers the limit that an upstream reported for a model."""
        self._limits.setdefault(upstream, {})[model] = row
        if self._worker is not None:
            self._worker.keep_limit(upstream, model, row)
        if self.tell is not None:
            self.tell(LimitFact(upstream, model, row))

    def has_kept_limit(self, upstream: str, model: str) -> bool:
        """Whether this ledger itself was told a limit of a model; does not read the file."""
        return model in self._limits.get(upstream, {})

    def forget_limit(self, upstream: str, model: str) -> None:
        """Forgets the limit that an upstream reported for a model: it turned out to be wrong."""
        self._forget_limit(upstream, model)
        if self.tell is not None:
            self.tell(LimitFact(upstream, model, None))

    def _forget_limit(self, upstream: str, model: str) -> None:
        for known in (self._limits, self._told_limits):
            known.get(upstream, {}).pop(model, None)
        if self._worker is not None:
            self._worker.forget_limit(upstream, model)

    # ---- refused fields ----

    def refusals(self, upstream: str) -> dict[str, dict[str, float]] | None:
        """The fields that an upstream's models refused, with the time in seconds since 1970, by model id.

        None where the file cannot be read now; without a file there are none.
        """
        read = {} if self._worker is None else self._worker.refusals(upstream)
        if read is None:
            return None
        told = self._told_refusals.get(upstream, {})
        return {model: {**told.get(model, {}), **read.get(model, {})} for model in (*told, *read)}

    def keep_refusal(self, upstream: str, model: str, field: str, learned: float) -> None:
        """Remembers a field that a model refused, only in the file.

        Args:
            upstream: The identity of the upstream: a digest, never an address.
            model: The model's id.
            field: The name of the field; never a value, which may be a person's own.
            learned: The time of the refusal, in seconds since 1970.
        """
        if self._worker is not None:
            self._worker.keep_refusal(upstream, model, field, learned)
        if self.tell is not None:
            self.tell(RefusalFact(upstream, model, field, learned))

    # ---- facts of other ledgers: nobody is told of them, and no file is waited for ----

    def take(self, fact: Fact) -> None:
        """Remembers a fact that another ledger was told by an upstream; the next :meth:`flush` writes it.

        Args:
            fact: Any fact but a sample, see :meth:`take_samples`.
        """
        _TAKERS[type(fact)](self, fact)

    def take_samples(self, family: str, samples: Sequence[Sample]) -> None:
        """Puts the samples that all ledgers share in the place of the own ones, so that all have the same order."""
        newest = tuple(samples[-WINDOW:])
        if self._samples.get(family) != newest:
            self._samples[family] = newest
            self.did_learn.fire(family)

    def take_count(self, fact: CountFact) -> None:
        """Takes the reported number of a message; how it was counted here stays."""
        row, known = fact.row, self._counts.known(fact.digest)
        if known is not None and (own := known.get(fact.scope)) is not None:
            row = replace(own, reported=row.reported, is_alone=row.is_alone)
        # What is not in memory is read from the file when it is needed.
        if known is not None or self._worker is None:
            self._counts.put(fact.digest, fact.scope, row)
        if self._worker is not None:
            self._worker.keep_counts(fact.scope, {fact.digest: row})

    def take_total(self, fact: TotalFact) -> None:
        """Takes the reported total of a request."""
        known = self._totals.known(fact.digest)
        if known is not None or self._worker is None:
            others = (one for one in (known or {}).get(fact.scope, ()) if one.tools != fact.row.tools)
            self._totals.put(fact.digest, fact.scope, (*others, fact.row))
        if self._worker is not None:
            self._worker.keep_total(fact.scope, fact.digest, fact.row)

    def take_limit(self, fact: LimitFact) -> None:
        """Takes the limit of a model, or forgets the one that is known."""
        if fact.row is None:
            self._forget_limit(fact.upstream, fact.model)
        else:
            self._told_limits.setdefault(fact.upstream, {})[fact.model] = fact.row

    def take_refusal(self, fact: RefusalFact) -> None:
        """Takes a field that a model refused, in memory alone."""
        self._told_refusals.setdefault(fact.upstream, {}).setdefault(fact.model, {})[fact.field] = fact.learned
        self.taken_refusals += 1

    # ---- usage ----

    def keep_usage(self, row: UsageRow) -> None:
        """Remembers the usage of an answer, only in the file."""
        if self._worker is not None:
            self._worker.keep_usage(row)

    @property
    def name(self) -> str | None:
        """The name that marks the usage written through this ledger; None without a file."""
        return None if self._worker is None else self._worker.name

    # ---- the file ----

    def flush(self) -> None:
        """Writes new rows in the background, in one transaction."""
        if self._worker is not None:
            self._worker.flush()

    def close(self) -> None:
        """Writes new rows and closes the file; waits for a limited time. The rows in memory stay usable."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None


class _Memory(Generic[Row]):
    """Rows by digest and scope, for the digests used last; also remembers digests without rows."""

    def __init__(self) -> None:
        self._rows: OrderedDict[Digest, dict[str, Row]] = OrderedDict()

    def find(self, digests: Iterable[Digest]) -> tuple[dict[Digest, Mapping[str, Row]], list[Digest]]:
        """The rows in memory, and the digests that are not in memory."""
        found: dict[Digest, Mapping[str, Row]] = {}
        missing: dict[Digest, None] = {}
        for digest in digests:
            if (rows := self._rows.get(digest)) is None:
                missing[digest] = None
            else:
                self._rows.move_to_end(digest)
                found[digest] = rows
        return found, list(missing)

    def known(self, digest: Digest) -> Mapping[str, Row] | None:
        """The rows of a digest; None if it is not in memory, an empty mapping if there are none."""
        return self._rows.get(digest)

    def missing(self, digests: Iterable[Digest]) -> list[Digest]:
        """The digests that are not in memory, each once."""
        return [digest for digest in dict.fromkeys(digests) if digest not in self._rows]

    def fill(
        self, asked: Iterable[Digest], read: Mapping[Digest, Mapping[str, Row]]
    ) -> dict[Digest, Mapping[str, Row]]:
        """Adds the rows that a file has for digests that were not in memory."""
        filled: dict[Digest, Mapping[str, Row]] = {}
        for digest in asked:
            filled[digest] = self._rows[digest] = dict(read.get(digest, {}))
        self._trim()
        return filled

    def put(self, digest: Digest, scope: str, row: Row) -> None:
        self._rows.setdefault(digest, {})[scope] = row
        self._rows.move_to_end(digest)
        self._trim()

    def _trim(self) -> None:
        while len(self._rows) > _IN_MEMORY:
            self._rows.popitem(last=False)


_TAKERS: Final[Mapping[type, Callable[[Ledger, Any], None]]] = {
    CountFact: Ledger.take_count,
    TotalFact: Ledger.take_total,
    LimitFact: Ledger.take_limit,
    RefusalFact: Ledger.take_refusal,
}
