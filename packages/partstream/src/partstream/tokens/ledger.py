"""Remembers counted and reported numbers: the newest in memory, all in a file; knows no rule of counting.

`Ledger` is used by one thread, that of the event loop. The file has a thread of its own, so that a slow disk never
delays an answer. Callers wait for reads, but never long: a warm lookup of a thousand messages takes a few milliseconds;
after a read that takes longer than :data:`PATIENCE`, callers do not wait again until it has ended.
No caller waits for writes: they are collected, and `flush` has them written, all that come within a quarter of a second
in one transaction.

Callers do not notice problems with the file. Rows that cannot be read in time are unknown and are read again the next
time; rows that cannot be written stay in memory.
"""

from __future__ import annotations
import asyncio
import os
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as WaitTimeoutError
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from partstream.codec.checks import LAST_TIME, MOST_DOLLARS, MOST_TOKENS, as_amount, as_count, storable_text
from partstream.codec.system import DATA
from partstream.lm.cancellation import EventEmitter
from partstream.tokens import ledger_file, records
from partstream.tokens.families import CountSource

if TYPE_CHECKING:
    from pathlib import Path

    from partstream.tokens.records import Digest, UsageRow

_IN_MEMORY: Final = 20_000
"""The most digests in memory; the longest conversations have about 10,000 messages."""

_VARIABLE: Final = "PARTSTREAM_LEDGER"
LEDGER_NAME: Final = "tokens.sqlite3"
"""The name of the file in the user's data folder."""

PATIENCE: Final = 0.25
"""The most seconds that a caller waits for a read."""

_FULL: Final = 1_000
"""The statements that wait at most; more are written at once."""

_DAY: Final = 86_400

Row = TypeVar("Row")
Result = TypeVar("Result")
_Row: TypeAlias = tuple[Any, ...]


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
    return Ledger((folder or DATA.path()) / LEDGER_NAME)


class Ledger:
    """The known numbers of messages and requests, by digest and scope.

    A scope is an upstream and a model family: numbers of different scopes must not be mixed.

    Args:
        path: The file; None for a ledger in memory only.

    Attributes:
        name: The random name that marks the usage that this ledger writes; None without a file.
        did_learn: Fires with a family when an answer of any upstream taught something about it.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.name: str | None = None
        self._thread: ledger_file.FileThread | None = None
        if path is not None:
            self.name = secrets.token_hex(8)
            self._file = ledger_file.LedgerFile(path)
            self._thread = ledger_file.FileThread(self, self._file, "partstream-ledger", self._file.write)
        self._new: list[ledger_file.Statement] = []
        self._late: Future[Any] | None = None
        self._counts: _Memory[records.CountRow] = _Memory()
        self._totals: _Memory[tuple[records.TotalRow, ...]] = _Memory()
        self._samples: dict[str, tuple[records.Sample, ...]] = {}
        self._limits: dict[str, dict[str, records.LimitRow]] = {}
        self.did_learn: EventEmitter[str] = EventEmitter()

    async def read_ahead(self, wanted: records.WantedRows) -> None:
        """Reads rows that are not in memory, all at once, so that those who need them next need not wait for the file.

        The event loop runs on meanwhile. What cannot be read in time stays unknown, see :meth:`counts`.
        """
        counts, totals = self._counts.missing(wanted.counts), self._totals.missing(wanted.totals)
        families = [family for family in wanted.families if family not in self._samples]

        def read_all(file: ledger_file.LedgerFile) -> tuple[list[_Row], list[_Row], dict[str, list[_Row]]]:
            # Makes nothing of the rows in the thread, which would hold the interpreter.
            samples = {family: _sample_rows(file, family) for family in families}
            return (
                _rows_of(file, ledger_file.READ_COUNTS, counts),
                _rows_of(file, ledger_file.READ_TOTALS, totals),
                samples,
            )

        if not (counts or totals or families) or (reading := self._begun(read_all)) is None:
            return
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()

        def wake() -> None:
            if not waiter.done():
                waiter.set_result(None)

        def read(_: object) -> None:
            with suppress(RuntimeError):  # the event loop was closed before the read ended
                loop.call_soon_threadsafe(wake)

        reading.add_done_callback(read)
        try:
            async with asyncio.timeout(PATIENCE):
                await waiter
        except TimeoutError:
            self._late = reading
            return
        of_counts, of_totals, of_samples = reading.result()
        self._touch(ledger_file.TOUCH_COUNT, of_counts)
        self._touch(ledger_file.TOUCH_TOTAL, of_totals)
        # Others may have kept newer rows meanwhile: only what is still missing is taken from the file.
        self._counts.fill(self._counts.missing(counts), _counts_of(of_counts))
        self._totals.fill(self._totals.missing(totals), _totals_of(of_totals))
        for family, rows in of_samples.items():
            self._samples.setdefault(family, _samples_of(rows))

    # ---- counts of messages ----

    def counts(self, digests: Iterable[Digest]) -> dict[Digest, Mapping[str, records.CountRow]]:
        """The known rows of each digest, by scope; an empty mapping if there are none."""
        read = partial(self._read_of, ledger_file.READ_COUNTS, ledger_file.TOUCH_COUNT, _counts_of)
        return self._counts.find(digests, read)

    def keep_counts(self, scope: str, rows: Mapping[Digest, records.CountRow]) -> None:
        """Remembers counts; the next :meth:`flush` writes them."""
        for digest, row in rows.items():
            self._counts.put(digest, scope, row)
        today, name = _today(), storable_text(scope)
        parameters = [
            (digest, name, row.version, row.counted, row.source.value, row.reported, row.is_alone, row.size, today)
            for digest, row in rows.items()
            if _is_sound(row.counted, row.reported, row.size)
        ]
        self._add(ledger_file.KEEP_COUNT, *parameters)

    # ---- reported totals ----

    def totals(self, digests: Iterable[Digest]) -> dict[Digest, Mapping[str, tuple[records.TotalRow, ...]]]:
        """The reported totals of each beginning of a conversation, by scope; a row for each set of tools."""
        read = partial(self._read_of, ledger_file.READ_TOTALS, ledger_file.TOUCH_TOTAL, _totals_of)
        return self._totals.find(digests, read)

    def keep_total(self, scope: str, digest: Digest, row: records.TotalRow) -> None:
        """Remembers the reported total of a beginning of a conversation."""
        known = self.totals([digest])[digest].get(scope, ())
        self._totals.put(digest, scope, (*(one for one in known if one.tools != row.tools), row))
        if _is_sound(row.tools_tokens, row.reported):
            parameters = (digest, storable_text(scope), row.tools, row.tools_tokens, row.reported, _today())
            self._add(ledger_file.KEEP_TOTAL, parameters)

    # ---- learned facts about families and models ----

    def samples(self, family: str) -> tuple[records.Sample, ...]:
        """The samples of a family, oldest first."""
        if family not in self._samples:
            read = self._read(lambda file: _sample_rows(file, family))
            if read is None:
                return ()
            self._samples[family] = _samples_of(read)
        return self._samples[family]

    def keep_sample(self, family: str, sample: records.Sample) -> None:
        """Remembers a sample of a family; the next write also deletes samples that no longer count."""
        self._samples[family] = (*self.samples(family), sample)[-records.WINDOW :]
        name = storable_text(family)
        if _is_sound(sample.ratio, sample.weight):
            self._add(ledger_file.KEEP_SAMPLE, (name, sample.ratio, sample.weight))
            self._add(ledger_file.TRIM_SAMPLES, (name, name, records.WINDOW))

    def limits(self, upstream: str) -> dict[str, records.LimitRow]:
        """The input limits that an upstream reported, by model id.

        Reads the file every time: another process may have learned a limit, and a file that cannot be read now may be
        readable later.
        """
        name = storable_text(upstream)
        limits = {
            model: records.LimitRow(int(tokens), at)
            for model, tokens, at in self._read(lambda file: file.read(ledger_file.READ_LIMITS, (name,))) or ()
            if _is_number(tokens) and _is_time(at)
        }
        for model, row in self._limits.get(upstream, {}).items():
            if model not in limits or row.learned > limits[model].learned:
                limits[model] = row
        return limits

    def keep_limit(self, upstream: str, model: str, row: records.LimitRow) -> None:
        """Remembers the limit that an upstream reported for a model."""
        self._limits.setdefault(upstream, {})[model] = row
        if _is_sound(row.tokens) and _is_time(row.learned):
            names = storable_text(upstream), storable_text(model)
            self._add(ledger_file.KEEP_LIMIT, (*names, row.tokens, row.learned))

    def has_kept_limit(self, upstream: str, model: str) -> bool:
        """Whether an upstream reported a limit of a model to this ledger itself; does not read the file."""
        return model in self._limits.get(upstream, {})

    def forget_limit(self, upstream: str, model: str) -> None:
        """Forgets the limit that an upstream reported for a model: it turned out to be wrong."""
        self._limits.get(upstream, {}).pop(model, None)
        self._add(ledger_file.FORGET_LIMIT, (storable_text(upstream), storable_text(model)))

    # ---- refused fields ----

    def refusals(self, upstream: str) -> dict[str, dict[str, float]] | None:
        """The fields that an upstream's models refused, with the time in seconds since 1970, by model id.

        None where the file cannot be read now; without a file there are none.
        """
        name, query = storable_text(upstream), ledger_file.READ_REFUSALS
        rows = self._read(lambda file: file.read(query, (name,)))
        if rows is None:
            return None
        found: dict[str, dict[str, float]] = {}
        for model, field, at in rows:
            if _is_time(at):
                found.setdefault(str(model), {})[str(field)] = at
        return found

    def keep_refusal(self, upstream: str, model: str, field: str, learned: float) -> None:
        """Remembers a field that a model refused, only in the file: its name, and never a value, which may be a
        person's own."""
        if _is_time(learned):
            names = storable_text(upstream), storable_text(model), storable_text(field)
            self._add(ledger_file.KEEP_REFUSAL, (*names, learned))

    # ---- usage ----

    def keep_usage(self, row: UsageRow) -> None:
        """Remembers the usage of an answer, only in the file; a number out of range is unknown."""
        if not _is_time(row.time):
            return
        parameters = (
            row.time,
            storable_text(row.model),
            storable_text(row.upstream),
            None if row.conversation is None else storable_text(row.conversation),
            as_count(row.input_tokens),
            as_count(row.output_tokens),
            as_count(row.cached_tokens),
            as_count(row.reasoning_tokens),
            as_amount(row.cost, MOST_DOLLARS),
            self.name,
        )
        self._add(ledger_file.KEEP_USAGE, parameters)

    # ---- the file ----

    def flush(self) -> None:
        """Has new rows written in the background, with those of further flushes in a quarter of a second."""
        if self._new and self._thread is not None and self._thread.is_open:
            waiting = self._file.add(self._new)
            self._new = []
            self._thread.write_soon(is_full=waiting >= _FULL)

    def close(self) -> None:
        """Writes new rows and closes the file; waits for a limited time. The rows in memory stay usable."""
        self.flush()
        if self._thread is not None:
            self._thread.close()
        self._thread = self.name = None

    def _add(self, sql: str, *rows: _Row) -> None:
        """Adds rows to the next write."""
        if self._thread is not None:
            self._new.append((sql, rows))

    def _begun(self, action: Callable[[ledger_file.LedgerFile], Result]) -> Future[Result] | None:
        """Has the thread run an action; None while an earlier read is late, and without an open file."""
        is_late = self._late is not None and not self._late.done()
        if self._thread is None or not self._thread.is_open or is_late:
            return None
        self._late = None
        return self._thread.submit(action, self._file)

    def _read(self, action: Callable[[ledger_file.LedgerFile], list[_Row]]) -> list[_Row] | None:
        """The rows of the file, none without one; None if they did not come in time, or an earlier read is late."""
        if self._thread is None:
            return []
        reading = self._begun(action)
        if reading is None:
            return None
        try:
            return reading.result(PATIENCE)
        except WaitTimeoutError:
            self._late = reading
            return None

    def _read_of(
        self, sql: str, touch: str, make: Callable[[Iterable[_Row]], Result], digests: Sequence[Digest]
    ) -> Result | None:
        """What is made of the rows of digests; the next write marks those as used today that were not used today."""
        rows = self._read(lambda file: _rows_of(file, sql, digests))
        self._touch(touch, rows or ())
        return None if rows is None else make(rows)

    def _touch(self, touch: str, rows: Iterable[_Row]) -> None:
        today = _today()
        if old := {row[0] for row in rows if row[-1] != today}:
            self._add(touch, *((today, digest) for digest in old))


class _Memory(Generic[Row]):
    """Rows by digest and scope, for the digests used last; also remembers digests without rows."""

    def __init__(self) -> None:
        self._rows: OrderedDict[Digest, dict[str, Row]] = OrderedDict()

    def find(
        self, digests: Iterable[Digest], read: Callable[[Sequence[Digest]], Mapping[Digest, Mapping[str, Row]] | None]
    ) -> dict[Digest, Mapping[str, Row]]:
        """The rows of digests: those in memory, and those that `read` finds in the file."""
        found: dict[Digest, Mapping[str, Row]] = {}
        missing: dict[Digest, None] = {}
        for digest in digests:
            if (rows := self._rows.get(digest)) is None:
                missing[digest] = None
            else:
                self._rows.move_to_end(digest)
                found[digest] = rows
        if missing:
            if (rest := read(list(missing))) is None:  # not in time: read again the next time
                return found | {digest: {} for digest in missing}
            found |= self.fill(missing, rest)
        return found

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


# ---- The rows of the file ----

_SOURCES: Final = frozenset(source.value for source in CountSource)


def _rows_of(file: ledger_file.LedgerFile, sql: str, digests: Sequence[Digest]) -> list[_Row]:
    parts = [
        digests[start : start + ledger_file.MOST_PARAMETERS]
        for start in range(0, len(digests), ledger_file.MOST_PARAMETERS)
    ]
    return [row for part in parts for row in file.read(sql.format(places=", ".join("?" * len(part))), part)]


def _sample_rows(file: ledger_file.LedgerFile, family: str) -> list[_Row]:
    return file.read(ledger_file.READ_SAMPLES, (storable_text(family), records.WINDOW))


def _counts_of(rows: Iterable[_Row]) -> dict[Digest, dict[str, records.CountRow]]:
    found: dict[Digest, dict[str, records.CountRow]] = {}
    for digest, scope, version, counted, source, reported, is_alone, size, _ in rows:
        if _is_sound(counted, reported, size) and counted is not None and source in _SOURCES:
            row = records.CountRow(version, counted, CountSource(source), reported, bool(is_alone), size)
            found.setdefault(digest, {})[scope] = row
    return found


def _totals_of(rows: Iterable[_Row]) -> dict[Digest, dict[str, tuple[records.TotalRow, ...]]]:
    found: dict[Digest, dict[str, tuple[records.TotalRow, ...]]] = {}
    for digest, scope, tools, tools_tokens, reported, _ in rows:
        if _is_number(tools_tokens) and _is_number(reported) and isinstance(tools, bytes):
            scopes = found.setdefault(digest, {})
            scopes[scope] = (*scopes.get(scope, ()), records.TotalRow(tools, tools_tokens, int(reported)))
    return found


def _samples_of(rows: Sequence[_Row]) -> tuple[records.Sample, ...]:
    """The samples, oldest first."""
    sound = [row for row in reversed(rows) if _is_number(row[0]) and _is_number(row[1])]
    return tuple(records.Sample(ratio, weight) for ratio, weight in sound)


def _is_number(value: object) -> bool:
    return as_amount(value, MOST_TOKENS) is not None


def _is_sound(*values: object) -> bool:
    """Whether each value is unknown or a number in range, which is what the file holds and SQLite takes."""
    return all(value is None or _is_number(value) for value in values)


def _is_time(value: object) -> bool:
    return as_amount(value, LAST_TIME) is not None


def _today() -> int:
    """The days since 1970: exact enough for the last use of a row."""
    return int(time.time() // _DAY)
