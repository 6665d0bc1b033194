"""The thread that uses the ledger's file, so that a slow disk never holds up an answer.

Reading is waited for, but never long: a warm lookup of a thousand messages takes a few milliseconds, and a file that
takes longer than :data:`PATIENCE` is not waited for again until it has answered. Writing is never waited for.
"""

from __future__ import annotations

import math
import secrets
import time
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as WaitTimeoutError
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from partstream.tokens.counting.count import CountSource
from partstream.tokens.ledger.calibration import WINDOW, Sample
from partstream.tokens.ledger.file import LedgerFile
from partstream.tokens.ledger.rows import CountRow, LimitRow, TotalRow
from partstream.tokens.ledger.schema import (
    FORGET_LIMIT,
    KEEP_COUNT,
    KEEP_LIMIT,
    KEEP_SAMPLE,
    KEEP_TOTAL,
    KEEP_USAGE,
    MOST_PARAMETERS,
    READ_COUNTS,
    READ_LIMITS,
    READ_SAMPLES,
    READ_TOTALS,
    TOUCH_COUNT,
    TOUCH_TOTAL,
    TRIM_SAMPLES,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from partstream.tokens.ledger.digests import Digest
    from partstream.tokens.ledger.file import Statement
    from partstream.tokens.ledger.rows import UsageRow

__all__ = ["PATIENCE", "LedgerWorker"]

PATIENCE: Final = 0.25
"""Seconds that a caller waits for what the file knows, at the most."""

_LAST_PATIENCE: Final = 2.0
"""Seconds to wait at the end for what is not written yet."""

_DAY: Final = 86_400

_MOST_TOKENS: Final = 1e9
"""No request holds more; what the file says beyond that is damage."""

_LAST_TIME: Final = 1e11
"""Seconds since 1970; what the file says beyond that is damage."""

Result = TypeVar("Result")


class LedgerWorker:
    """Reads and writes the rows of a ledger's file.

    What reads gives None where the file did not answer in time.

    Args:
        path: The file.

    Attributes:
        name: Tells what this one writes from what others write; chance, and new with each of them.
    """

    def __init__(self, path: Path) -> None:
        self.name = secrets.token_hex(8)
        self._file = LedgerFile(path)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="partstream-ledger")
        self._new: list[Statement] = []
        self._late: Future[Any] | None = None
        self._end = weakref.finalize(self, _close, self._thread, self._file)

    # ---- reading ----

    def counts(self, digests: Sequence[Digest]) -> dict[Digest, dict[str, CountRow]] | None:
        """What is known of messages, by digest and scope."""
        rows = self._read_of(READ_COUNTS, TOUCH_COUNT, digests)
        if rows is None:
            return None
        found: dict[Digest, dict[str, CountRow]] = {}
        for digest, scope, version, counted, source, reported, is_alone, size, _ in rows:
            if _is_count(counted) and _is_count_or_none(reported) and _is_count_or_none(size) and source in _SOURCES:
                row = CountRow(version, counted, CountSource(source), reported, bool(is_alone), size)
                found.setdefault(digest, {})[scope] = row
        return found

    def totals(self, digests: Sequence[Digest]) -> dict[Digest, dict[str, tuple[TotalRow, ...]]] | None:
        """What was reported of beginnings of conversations, by digest and scope."""
        rows = self._read_of(READ_TOTALS, TOUCH_TOTAL, digests)
        if rows is None:
            return None
        found: dict[Digest, dict[str, tuple[TotalRow, ...]]] = {}
        for digest, scope, tools, tools_tokens, reported, _ in rows:
            if _is_count(tools_tokens) and _is_count(reported) and isinstance(tools, bytes):
                scopes = found.setdefault(digest, {})
                scopes[scope] = (*scopes.get(scope, ()), TotalRow(tools, tools_tokens, int(reported)))
        return found

    def samples(self, family: str) -> list[Sample] | None:
        """The newest samples of a family, the oldest first."""
        rows = self._read(lambda file: file.read(READ_SAMPLES, (family, WINDOW)))
        if rows is None:
            return None
        return [Sample(ratio, weight) for ratio, weight in reversed(rows) if _is_count(ratio) and _is_count(weight)]

    def limits(self, upstream: str) -> dict[str, LimitRow] | None:
        """The limits of an upstream's models, by their ids."""
        rows = self._read(lambda file: file.read(READ_LIMITS, (upstream,)))
        if rows is None:
            return None
        return {model: LimitRow(int(tokens), at) for model, tokens, at in rows if _is_count(tokens) and _is_time(at)}

    # ---- writing: gathered, and written by `flush` ----

    def keep_counts(self, scope: str, rows: Mapping[Digest, CountRow]) -> None:
        """Has counts written."""
        today = _today()
        parameters = [
            (digest, scope, row.version, row.counted, row.source.value, row.reported, row.is_alone, row.size, today)
            for digest, row in rows.items()
        ]
        self._new.append((KEEP_COUNT, parameters))

    def keep_total(self, scope: str, digest: Digest, row: TotalRow) -> None:
        """Has a reported total written."""
        self._new.append((KEEP_TOTAL, [(digest, scope, row.tools, row.tools_tokens, row.reported, _today())]))

    def keep_sample(self, family: str, sample: Sample) -> None:
        """Has a sample written; those that no factor looks at any more go."""
        self._new.append((KEEP_SAMPLE, [(family, sample.ratio, sample.weight)]))
        self._new.append((TRIM_SAMPLES, [(family, WINDOW)]))

    def keep_limit(self, upstream: str, model: str, row: LimitRow) -> None:
        """Has a limit written."""
        self._new.append((KEEP_LIMIT, [(upstream, model, row.tokens, row.learned)]))

    def forget_limit(self, upstream: str, model: str) -> None:
        """Has a limit taken out."""
        self._new.append((FORGET_LIMIT, [(upstream, model)]))

    def keep_usage(self, row: UsageRow) -> None:
        """Has the usage of an answer written."""
        parameters = (
            row.time,
            row.model,
            row.upstream,
            row.conversation,
            row.input_tokens,
            row.output_tokens,
            row.cached_tokens,
            row.reasoning_tokens,
            row.cost,
            self.name,
        )
        self._new.append((KEEP_USAGE, [parameters]))

    def flush(self) -> None:
        """Has all that is new written in one transaction."""
        if self._new and self._end.alive:
            new, self._new = self._new, []
            self._thread.submit(self._file.write, new)

    def close(self) -> None:
        """Writes what is new and closes the file; waits a bounded time, after that the thread ends when it can."""
        self.flush()
        if (finished := self._end()) is not None:
            with suppress(WaitTimeoutError):
                finished.result(_LAST_PATIENCE)

    # ---- inside ----

    def _read(self, action: Callable[[LedgerFile], Result]) -> Result | None:
        """Has the thread read something, and waits for it unless an earlier reading is still not done."""
        if not self._end.alive or (self._late is not None and not self._late.done()):
            return None
        self._late = None
        reading = self._thread.submit(action, self._file)
        try:
            return reading.result(PATIENCE)
        except WaitTimeoutError:
            self._late = reading
            return None

    def _read_of(self, sql: str, touch: str, digests: Sequence[Digest]) -> list[tuple[Any, ...]] | None:
        """The rows of digests; those that were not used today are marked as used with the next writing."""
        rows = self._read(lambda file: [row for part in _parts(digests) for row in file.read(_places(sql, part), part)])
        today = _today()
        if old := {row[0] for row in rows or () if row[-1] != today}:
            self._new.append((touch, [(today, digest) for digest in old]))
        return rows


_SOURCES: Final = frozenset(source.value for source in CountSource)


def _close(thread: ThreadPoolExecutor, file: LedgerFile) -> Future[None] | None:
    """Ends the thread after all that it still has to do."""
    try:
        closing = thread.submit(file.close)
    except RuntimeError:  # the interpreter ends, and has waited for the thread
        file.close()
        return None
    thread.shutdown(wait=False)
    return closing


def _is_count(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and 0 <= value <= _MOST_TOKENS


def _is_count_or_none(value: object) -> bool:
    return value is None or _is_count(value)


def _is_time(value: object) -> bool:
    return isinstance(value, float) and 0 <= value <= _LAST_TIME


def _today() -> int:
    """Days since 1970: as exactly as it has to be known what was used last."""
    return int(time.time() // _DAY)


def _parts(digests: Sequence[Digest]) -> Iterator[Sequence[Digest]]:
    for start in range(0, len(digests), MOST_PARAMETERS):
        yield digests[start : start + MOST_PARAMETERS]


def _places(sql: str, digests: Sequence[Digest]) -> str:
    return sql.format(places=", ".join("?" * len(digests)))
