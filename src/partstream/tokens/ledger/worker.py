"""The thread that uses the ledger's file, so that a slow disk never delays an answer.

Callers wait for reads, but never long: a warm lookup of a thousand messages takes a few milliseconds, and after a read
that takes longer than :data:`PATIENCE`, callers do not wait again until it has ended. A read that is awaited holds
nobody else up, whatever the thread still writes before it. Nobody waits for writes.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import deque
from concurrent.futures import Future
from concurrent.futures import TimeoutError as WaitTimeoutError
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from partstream.codec.checks import LAST_TIME, MOST_DOLLARS, MOST_TOKENS, as_amount, as_count, storable_text
from partstream.tokens.families import CountSource
from partstream.tokens.ledger_file import (
    FORGET_LIMIT,
    HAS_REFUSALS,
    KEEP_COUNT,
    KEEP_LIMIT,
    KEEP_REFUSAL,
    KEEP_SAMPLE,
    KEEP_TOTAL,
    KEEP_USAGE,
    MOST_PARAMETERS,
    READ_COUNTS,
    READ_LIMITS,
    READ_REFUSALS,
    READ_SAMPLES,
    READ_TOTALS,
    TOUCH_COUNT,
    TOUCH_TOTAL,
    TRIM_SAMPLES,
    FileThread,
    LedgerFile,
)
from partstream.tokens.records import WINDOW, CountRow, FoundRows, LimitRow, Sample, TotalRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from partstream.tokens.ledger_file import Statement
    from partstream.tokens.records import Digest, UsageRow, WantedRows

__all__ = ["PATIENCE", "LedgerWorker"]

_logger = logging.getLogger("partstream.tokens")

PATIENCE: Final = 0.25
"""The most seconds that a caller waits for a read."""

_DAY: Final = 86_400

Result = TypeVar("Result")
_Row: TypeAlias = tuple[Any, ...]


class LedgerWorker:
    """Reads and writes the rows of a ledger's file.

    The methods that read return None if the read did not end in time.

    Args:
        path: The path of the file.

    Attributes:
        name: The random name that marks the rows written by this worker.
    """

    def __init__(self, path: Path) -> None:
        self.name = secrets.token_hex(8)
        self._file = LedgerFile(path)
        self._thread = FileThread(self, self._file, "partstream-ledger")
        self._new: list[Statement] = []
        self._unwritten: deque[Statement] = deque()
        self._write: Future[None] | None = None
        self._late: Future[Any] | None = None

    # ---- reading ----

    async def find(self, wanted: WantedRows) -> FoundRows | None:
        """All rows that are wanted, in one read; the event loop runs on meanwhile."""
        reading = self._begun(partial(_wanted_rows, wanted=wanted))
        if reading is None:
            return None
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
            return None
        counts, totals, samples = reading.result()
        self._touch(TOUCH_COUNT, counts)
        self._touch(TOUCH_TOTAL, totals)
        return FoundRows(
            _counts_of(counts), _totals_of(totals), {family: _samples_of(rows) for family, rows in samples.items()}
        )

    def counts(self, digests: Sequence[Digest]) -> dict[Digest, dict[str, CountRow]] | None:
        """The counts of messages, by digest and scope."""
        rows = self._read_of(READ_COUNTS, TOUCH_COUNT, digests)
        return None if rows is None else _counts_of(rows)

    def totals(self, digests: Sequence[Digest]) -> dict[Digest, dict[str, tuple[TotalRow, ...]]] | None:
        """The reported totals of beginnings of conversations, by digest and scope."""
        rows = self._read_of(READ_TOTALS, TOUCH_TOTAL, digests)
        return None if rows is None else _totals_of(rows)

    def samples(self, family: str) -> list[Sample] | None:
        """The newest samples of a family, oldest of them first."""
        rows = self._read(lambda file: _sample_rows(file, family))
        return None if rows is None else _samples_of(rows)

    def limits(self, upstream: str) -> dict[str, LimitRow] | None:
        """The limits of an upstream's models, by their ids."""
        rows = self._read(lambda file: file.read(READ_LIMITS, (storable_text(upstream),)))
        if rows is None:
            return None
        return {model: LimitRow(int(tokens), at) for model, tokens, at in rows if _is_number(tokens) and _is_time(at)}

    def refusals(self, upstream: str) -> dict[str, dict[str, float]] | None:
        """The fields that an upstream's models refused, by the models' ids, with the time of the refusal."""
        name = storable_text(upstream)
        rows = self._read(lambda file: file.read(READ_REFUSALS, (name,)) if file.read(HAS_REFUSALS) else [])
        if rows is None:
            return None
        found: dict[str, dict[str, float]] = {}
        for model, field, at in rows:
            if _is_time(at):
                found.setdefault(str(model), {})[str(field)] = at
        return found

    # ---- writing: collected, and written by `flush` ----

    def keep_counts(self, scope: str, rows: Mapping[Digest, CountRow]) -> None:
        """Adds counts to the next write."""
        today, name = _today(), storable_text(scope)
        parameters = [
            (digest, name, row.version, row.counted, row.source.value, row.reported, row.is_alone, row.size, today)
            for digest, row in rows.items()
            if _is_sound(row.counted, row.reported, row.size)
        ]
        self._new.append((KEEP_COUNT, parameters))

    def keep_total(self, scope: str, digest: Digest, row: TotalRow) -> None:
        """Adds a reported total to the next write."""
        if _is_sound(row.tools_tokens, row.reported):
            parameters = (digest, storable_text(scope), row.tools, row.tools_tokens, row.reported, _today())
            self._new.append((KEEP_TOTAL, [parameters]))

    def keep_sample(self, family: str, sample: Sample) -> None:
        """Adds a sample to the next write, which also deletes samples that no longer count."""
        name = storable_text(family)
        if _is_sound(sample.ratio, sample.weight):
            self._new.append((KEEP_SAMPLE, [(name, sample.ratio, sample.weight)]))
            self._new.append((TRIM_SAMPLES, [(name, name, WINDOW)]))

    def keep_limit(self, upstream: str, model: str, row: LimitRow) -> None:
        """Adds a limit to the next write."""
        if _is_sound(row.tokens) and _is_time(row.learned):
            names = storable_text(upstream), storable_text(model)
            self._new.append((KEEP_LIMIT, [(*names, row.tokens, row.learned)]))

    def forget_limit(self, upstream: str, model: str) -> None:
        """Adds the deletion of a limit to the next write."""
        self._new.append((FORGET_LIMIT, [(storable_text(upstream), storable_text(model))]))

    def keep_refusal(self, upstream: str, model: str, field: str, learned: float) -> None:
        """Adds a refused field to the next write."""
        if _is_time(learned):
            names = storable_text(upstream), storable_text(model), storable_text(field)
            self._new.append((KEEP_REFUSAL, [(*names, learned)]))

    def keep_usage(self, row: UsageRow) -> None:
        """Adds the usage of an answer to the next write; a number that cannot be is unknown."""
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
        self._new.append((KEEP_USAGE, [parameters]))

    def flush(self) -> None:
        """Writes all new rows in the background, in one transaction."""
        if self._new and self._thread.is_open:
            self._unwritten.extend(self._new)
            self._new = []
            # A write that has not begun takes these too: one transaction for all, however slow the disk is.
            if self._write is None or self._write.running() or self._write.done():
                self._write = self._thread.submit(_write, self._file, self._unwritten)

    def close(self) -> None:
        """Writes all new rows and closes the file; waits for a limited time, then lets the thread end when it can."""
        self.flush()
        self._thread.close()

    # ---- internals ----

    def _begun(self, action: Callable[[LedgerFile], Result]) -> Future[Result] | None:
        """Has the thread run an action; None while an earlier read is late, or once the ledger is closed."""
        if not self._thread.is_open or (self._late is not None and not self._late.done()):
            return None
        self._late = None
        return self._thread.submit(action, self._file)

    def _read(self, action: Callable[[LedgerFile], Result]) -> Result | None:
        """Runs an action in the thread and waits for its result, unless an earlier read is still running."""
        reading = self._begun(action)
        if reading is None:
            return None
        try:
            return reading.result(PATIENCE)
        except WaitTimeoutError:
            self._late = reading
            return None

    def _read_of(self, sql: str, touch: str, digests: Sequence[Digest]) -> list[_Row] | None:
        """The rows of digests; the next write marks those as used today that were not used today."""
        rows = self._read(lambda file: _rows_of(file, sql, digests))
        self._touch(touch, rows or ())
        return rows

    def _touch(self, touch: str, rows: Iterable[_Row]) -> None:
        today = _today()
        if old := {row[0] for row in rows if row[-1] != today}:
            self._new.append((touch, [(today, digest) for digest in old]))


_SOURCES: Final = frozenset(source.value for source in CountSource)


def _rows_of(file: LedgerFile, sql: str, digests: Sequence[Digest]) -> list[_Row]:
    return [row for part in _parts(digests) for row in file.read(_places(sql, part), part)]


def _sample_rows(file: LedgerFile, family: str) -> list[_Row]:
    return file.read(READ_SAMPLES, (storable_text(family), WINDOW))


def _wanted_rows(file: LedgerFile, wanted: WantedRows) -> tuple[list[_Row], list[_Row], dict[str, list[_Row]]]:
    """Reads in the thread; makes nothing of the rows, which would hold the interpreter."""
    return (
        _rows_of(file, READ_COUNTS, wanted.counts),
        _rows_of(file, READ_TOTALS, wanted.totals),
        {family: _sample_rows(file, family) for family in wanted.families},
    )


def _counts_of(rows: Iterable[_Row]) -> dict[Digest, dict[str, CountRow]]:
    found: dict[Digest, dict[str, CountRow]] = {}
    for digest, scope, version, counted, source, reported, is_alone, size, _ in rows:
        if _is_sound(counted, reported, size) and counted is not None and source in _SOURCES:
            row = CountRow(version, counted, CountSource(source), reported, bool(is_alone), size)
            found.setdefault(digest, {})[scope] = row
    return found


def _totals_of(rows: Iterable[_Row]) -> dict[Digest, dict[str, tuple[TotalRow, ...]]]:
    found: dict[Digest, dict[str, tuple[TotalRow, ...]]] = {}
    for digest, scope, tools, tools_tokens, reported, _ in rows:
        if _is_number(tools_tokens) and _is_number(reported) and isinstance(tools, bytes):
            scopes = found.setdefault(digest, {})
            scopes[scope] = (*scopes.get(scope, ()), TotalRow(tools, tools_tokens, int(reported)))
    return found


def _samples_of(rows: Sequence[_Row]) -> list[Sample]:
    return [Sample(ratio, weight) for ratio, weight in reversed(rows) if _is_number(ratio) and _is_number(weight)]


def _write(file: LedgerFile, unwritten: deque[Statement]) -> None:
    """Writes in the thread, where nobody would see an error, all that waits until then."""
    statements = [unwritten.popleft() for _ in range(len(unwritten))]
    try:
        file.write(statements)
    except Exception:
        _logger.exception("the token ledger was not written")


def _is_number(value: object) -> bool:
    return as_amount(value, MOST_TOKENS) is not None


def _is_sound(*values: object) -> bool:
    """Whether each value is unknown or a number that can be, which is what the file holds and SQLite takes."""
    return all(value is None or _is_number(value) for value in values)


def _is_time(value: object) -> bool:
    return as_amount(value, LAST_TIME) is not None


def _today() -> int:
    """The days since 1970: exact enough for the last use of a row."""
    return int(time.time() // _DAY)


def _parts(digests: Sequence[Digest]) -> Iterator[Sequence[Digest]]:
    for start in range(0, len(digests), MOST_PARAMETERS):
        yield digests[start : start + MOST_PARAMETERS]


def _places(sql: str, digests: Sequence[Digest]) -> str:
    return sql.format(places=", ".join("?" * len(digests)))
