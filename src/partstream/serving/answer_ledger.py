"""Enters served answers into the user's ledger, which `partstream usage` shows: who asked, what it took, no word of it.

The event loop never waits for the file. Answers wait in a bounded queue; a thread writes all that wait in one
transaction, so that under load a transaction holds many. Rows are only added; the oldest go when the table is full or
they are older than :data:`MOST_DAYS` days.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import LAST_TIME, MOST_DOLLARS, MOST_SECONDS, as_amount, as_count, storable_text
from partstream.codec.system import DATA
from partstream.serving.telemetry_names import error_of
from partstream.tokens.ledger import LEDGER_NAME, is_ledger_off
from partstream.tokens.ledger_file import FORGET_ANSWERS, KEEP_ANSWER, FileThread, LedgerFile

if TYPE_CHECKING:
    from pathlib import Path

    from partstream.server.settings import AnswerObservation
    from partstream.tokens.ledger_file import Statement

__all__ = ["MOST_DAYS", "AnswerLedger", "open_answer_ledger"]

_logger = logging.getLogger("partstream.serving")

MOST_DAYS: Final = 400
"""The days for which an answer is kept: a year, and the month to compare with."""

_MOST_WAITING: Final = 10_000
"""The most answers that wait for the thread; the oldest of more are dropped, and the log says how many."""
_MOST_BYTES: Final = 2**53
_DAY: Final = 86_400


def open_answer_ledger(folder: Path | None = None) -> AnswerLedger | None:
    """The ledger of a folder, by default of the user's data folder; None with `PARTSTREAM_LEDGER=false`."""
    return None if is_ledger_off() else AnswerLedger((folder or DATA.path()) / LEDGER_NAME)


class AnswerLedger:
    """Writes answers into the ledger's file.

    Args:
        path: The path of the file, which is made with the first answer.
    """

    def __init__(self, path: Path) -> None:
        self._rows: _Waiting = _Waiting()
        self._file = LedgerFile(path)
        self._thread = FileThread(self, self._file, "partstream-answers")

    def observe(self, answer: AnswerObservation) -> None:
        """Enters an answer that is over; returns at once.

        A request for which no provider was asked took nothing. If it were entered, whoever has no token could fill the
        table, from which the oldest answers go.
        """
        is_answer = answer.outcome is not None or bool(answer.provider)
        if not (self._thread.is_open and is_answer):
            return
        self._rows.add(_parameters(answer))
        if self._rows.is_idle:
            self._rows.is_idle = False
            self._thread.submit(_write, self._rows, self._file)

    def close(self) -> None:
        """Writes what waits and closes the file; waits for a limited time, then lets the thread end when it can."""
        self._thread.close()


class _Waiting:
    """The rows that wait for the thread.

    Attributes:
        is_idle: Whether nobody has asked the thread for them; set by the thread before it looks for the last time, so
            that a row either is seen by it or asks anew.
        tidied_at: When old rows were last deleted, in seconds since 1970.
    """

    def __init__(self) -> None:
        self._rows: deque[tuple[Any, ...]] = deque(maxlen=_MOST_WAITING)
        self._dropped = 0
        self.is_idle = True
        self.tidied_at = 0.0

    def add(self, row: tuple[Any, ...]) -> None:
        self._dropped += len(self._rows) == _MOST_WAITING
        self._rows.append(row)

    def take(self) -> list[tuple[Any, ...]]:
        """All rows that wait; the log says if some were dropped."""
        rows: list[tuple[Any, ...]] = []
        with suppress(IndexError):
            while len(rows) < _MOST_WAITING:
                rows.append(self._rows.popleft())
        dropped, self._dropped = self._dropped, 0
        if dropped:
            _logger.warning("%d answers were not entered into the ledger: its disk is too slow", dropped)
        return rows


def _write(waiting: _Waiting, file: LedgerFile) -> None:
    """Writes in the thread, where nobody would see an error, until nothing waits."""
    try:
        while True:
            if not (rows := waiting.take()):
                waiting.is_idle = True
                if not (rows := waiting.take()):
                    return
            statements: list[Statement] = [(KEEP_ANSWER, rows)]
            now = time.time()
            if now - waiting.tidied_at > _DAY:
                waiting.tidied_at = now
                statements.append((FORGET_ANSWERS, [(now - MOST_DAYS * _DAY,)]))
            file.write(statements)
    except Exception:
        waiting.is_idle = True
        _logger.exception("answers were not entered into the ledger")


def _parameters(answer: AnswerObservation) -> tuple[Any, ...]:
    """An answer in the order of the table's columns; a number that cannot be is unknown."""
    usage, client = answer.usage, answer.client
    return (
        as_amount(answer.time, LAST_TIME),
        storable_text(answer.model),
        None if usage is None else as_count(usage.input_tokens),
        None if usage is None else as_count(usage.output_tokens),
        None if usage is None else as_count(usage.cached_tokens),
        None if usage is None else as_count(usage.reasoning_tokens),
        as_amount(answer.cost, MOST_DOLLARS),
        storable_text(answer.provider),
        answer.wire,
        storable_text(client.name),
        storable_text(client.version),
        client.of_class.value,
        client.session,
        client.turn,
        client.kind.value,
        client.retry,
        storable_text(answer.caller),
        storable_text(answer.request_id),
        answer.status,
        "cancelled" if answer.is_cancelled else None if answer.outcome is None else answer.outcome.value,
        storable_text(error_of(answer)),
        as_amount(answer.first_part_after, MOST_SECONDS),
        as_amount(answer.duration, MOST_SECONDS),
        as_count(answer.bytes, _MOST_BYTES),
        answer.is_usage_counted,
        answer.is_usage_kept,
    )
