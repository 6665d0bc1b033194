"""Remembers what was counted and reported: the newest in memory, all in a file behind it; knows no rule of counting.

Used by one thread, that of the event loop. Whatever happens to the file is none of its callers' business: what cannot
be read in time is unknown, and what cannot be written is remembered in memory.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from partstream.events import EventEmitter
from partstream.tokens.ledger.calibration import WINDOW
from partstream.tokens.ledger.file import default_data_folder
from partstream.tokens.ledger.worker import LedgerWorker

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from partstream.tokens.ledger.calibration import Sample
    from partstream.tokens.ledger.digests import Digest
    from partstream.tokens.ledger.rows import CountRow, LimitRow, TotalRow, UsageRow

__all__ = ["LEDGER_NAME", "Ledger", "is_ledger_off", "open_ledger"]

_IN_MEMORY: Final = 20_000
"""How many digests are kept in memory; a conversation of 10,000 messages is one of the longest that there are."""

_VARIABLE: Final = "PARTSTREAM_LEDGER"

LEDGER_NAME: Final = "tokens.sqlite3"
"""The file in the user's data folder."""

Row = TypeVar("Row")


def is_ledger_off() -> bool:
    """Whether the environment keeps the ledger off the disk; it is the variable of the setting `ledger`."""
    return os.environ.get(_VARIABLE, "").strip().lower() == "false"


def open_ledger(folder: Path | None = None) -> Ledger:
    """The ledger of a folder; of the user's data folder where none is named. Nothing is opened before it is needed.

    With `PARTSTREAM_LEDGER=false` in the environment nothing is read or written, and what is learned is forgotten with
    the process.
    """
    if is_ledger_off():
        return Ledger()
    return Ledger(LedgerWorker((folder or default_data_folder()) / LEDGER_NAME))


class Ledger:
    """What is known of messages and requests, by digest and scope.

    A scope is whatever numbers must not be mixed with those of another: an upstream and a model family.

    Args:
        worker: The file behind it; None for a ledger in memory only.

    Attributes:
        did_learn: Fires with a family when an answer said something of it, whichever upstream's answer it was.
    """

    def __init__(self, worker: LedgerWorker | None = None) -> None:
        self._worker = worker
        self._counts: _Memory[CountRow] = _Memory()
        self._totals: _Memory[tuple[TotalRow, ...]] = _Memory()
        self._samples: dict[str, tuple[Sample, ...]] = {}
        self._limits: dict[str, dict[str, LimitRow]] = {}
        self.did_learn: EventEmitter[str] = EventEmitter()

    # ---- counts of messages ----

    def counts(self, digests: Iterable[Digest]) -> dict[Digest, Mapping[str, CountRow]]:
        """Of each digest what is known, by scope; nothing known is an empty mapping."""
        found, missing = self._counts.find(digests)
        if missing:
            read = {} if self._worker is None else self._worker.counts(missing)
            if read is None:  # not in time: asked for again the next time
                return found | {digest: {} for digest in missing}
            found |= self._counts.fill(missing, read)
        return found

    def keep_counts(self, scope: str, rows: Mapping[Digest, CountRow]) -> None:
        """Remembers counts; the file learns of them with the next :meth:`flush`."""
        for digest, row in rows.items():
            self._counts.put(digest, scope, row)
        if self._worker is not None:
            self._worker.keep_counts(scope, rows)

    # ---- reported totals ----

    def totals(self, digests: Iterable[Digest]) -> dict[Digest, Mapping[str, tuple[TotalRow, ...]]]:
        """Of each beginning of a conversation what was reported, by scope; a row for each set of tools."""
        found, missing = self._totals.find(digests)
        if missing:
            read = {} if self._worker is None else self._worker.totals(missing)
            if read is None:
                return found | {digest: {} for digest in missing}
            found |= self._totals.fill(missing, read)
        return found

    def keep_total(self, scope: str, digest: Digest, row: TotalRow) -> None:
        """Remembers what was reported of a beginning of a conversation."""
        known = self.totals([digest])[digest].get(scope, ())
        self._totals.put(digest, scope, (*(one for one in known if one.tools != row.tools), row))
        if self._worker is not None:
            self._worker.keep_total(scope, digest, row)

    # ---- what was learned of families and models ----

    def samples(self, family: str) -> tuple[Sample, ...]:
        """The samples of a family, the oldest first."""
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

    def limits(self, upstream: str) -> dict[str, LimitRow]:
        """The most input tokens that models take, by their ids, as far as their upstream has said it.

        Always read anew: another process may have learned, and a file that cannot be read now may be read later.
        """
        read = None if self._worker is None else self._worker.limits(upstream)
        limits = dict(read or {})
        for model, row in self._limits.get(upstream, {}).items():
            if model not in limits or row.learned > limits[model].learned:
                limits[model] = row
        return limits

    def keep_limit(self, upstream: str, model: str, row: LimitRow) -> None:
        """Remembers what an upstream said of a model's limit."""
        self._limits.setdefault(upstream, {})[model] = row
        if self._worker is not None:
            self._worker.keep_limit(upstream, model, row)

    def forget_limit(self, upstream: str, model: str) -> None:
        """Forgets what an upstream said of a model's limit: it turned out to be otherwise."""
        self._limits.get(upstream, {}).pop(model, None)
        if self._worker is not None:
            self._worker.forget_limit(upstream, model)

    # ---- usage ----

    def keep_usage(self, row: UsageRow) -> None:
        """Remembers the usage of an answer; only the file does."""
        if self._worker is not None:
            self._worker.keep_usage(row)

    @property
    def name(self) -> str | None:
        """Tells the usage that was written through this ledger from that of others; None where nothing is written."""
        return None if self._worker is None else self._worker.name

    # ---- the file ----

    def flush(self) -> None:
        """Has what is new written, in one transaction, behind the caller's back."""
        if self._worker is not None:
            self._worker.flush()

    def close(self) -> None:
        """Writes what is new and closes the file; waits for it a bounded time. The memory stays of use."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None


class _Memory(Generic[Row]):
    """Rows by digest and scope, the digests used last; also of which digests there is nothing."""

    def __init__(self) -> None:
        self._rows: OrderedDict[Digest, dict[str, Row]] = OrderedDict()

    def find(self, digests: Iterable[Digest]) -> tuple[dict[Digest, Mapping[str, Row]], list[Digest]]:
        """What is here, and of what nothing is known."""
        found: dict[Digest, Mapping[str, Row]] = {}
        missing: dict[Digest, None] = {}
        for digest in digests:
            if (rows := self._rows.get(digest)) is None:
                missing[digest] = None
            else:
                self._rows.move_to_end(digest)
                found[digest] = rows
        return found, list(missing)

    def fill(
        self, asked: Iterable[Digest], read: Mapping[Digest, Mapping[str, Row]]
    ) -> dict[Digest, Mapping[str, Row]]:
        """Takes in what a file said of digests that were not here."""
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
