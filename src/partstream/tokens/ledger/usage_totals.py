"""Adds up the usage of answers by day and model; an unknown number is counted as unknown and never as 0."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import LAST_TIME, MOST_DOLLARS, as_amount, as_count
from partstream.tokens.ledger.schema import (
    CLEAR_ANSWERS,
    CLEAR_USAGE,
    CLEAR_USAGE_BEYOND,
    HAS_ANSWERS,
    READ_ANSWERS,
    READ_LAST_USAGE,
    READ_USAGE,
    READ_USAGE_OF_OTHERS,
)
from partstream.tokens.records import AnswerRow, UsageRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from partstream.tokens.ledger.file import LedgerFile

__all__ = [
    "Sum",
    "UsageOfOthers",
    "UsageTotals",
    "add_up",
    "add_up_answers",
    "clear_usage",
    "read_answer_rows",
    "read_usage_rows",
]


_LAST_NUMBER: Final = 2**53
"""The largest number of a row. A row with the largest that SQLite has would make it number all further rows at random,
and new rows could not be told from old ones."""


@dataclass(slots=True)
class Sum:
    """A sum of numbers, some of which may be unknown.

    Attributes:
        known: The sum of the known numbers.
        answers: How many numbers are known.
        unknown: How many numbers are unknown.
    """

    known: float = 0
    answers: int = 0
    unknown: int = 0

    def add(self, number: float | None) -> None:
        """Adds a number; None is an unknown number."""
        if number is None:
            self.unknown += 1
        else:
            self.known += number
            self.answers += 1

    @property
    def value(self) -> float | None:
        """The sum of the known numbers, or None if there are none."""
        return self.known if self.answers else None


@dataclass(slots=True)
class UsageTotals:
    """The total usage of several answers.

    Attributes:
        answers: The number of answers.
        input: The tokens of the prompts.
        output: The tokens of the answers.
        cached: The prompt tokens that were read from a cache.
        reasoning: The answer tokens that were spent on reasoning.
        cost: The cost in US dollars.
        of_cached: The tokens of the prompts whose cached tokens are known.
        repeated: The answers to requests that their client had sent before; known of served answers.
    """

    answers: int = 0
    input: Sum = field(default_factory=Sum)
    output: Sum = field(default_factory=Sum)
    cached: Sum = field(default_factory=Sum)
    reasoning: Sum = field(default_factory=Sum)
    cost: Sum = field(default_factory=Sum)
    of_cached: int = 0
    repeated: int = 0

    def add(self, row: UsageRow) -> None:
        """Adds an answer."""
        self.answers += 1
        self.input.add(row.input_tokens)
        self.output.add(row.output_tokens)
        self.cached.add(row.cached_tokens)
        self.reasoning.add(row.reasoning_tokens)
        self.cost.add(row.cost)
        if row.cached_tokens is not None and row.input_tokens is not None:
            self.of_cached += row.input_tokens

    @property
    def cached_share(self) -> float | None:
        """The share of prompt tokens that were read from a cache, from 0 to 1; None if unknown."""
        return min(self.cached.known / self.of_cached, 1.0) if self.of_cached else None


def read_usage_rows(file: LedgerFile, since: date) -> list[UsageRow]:
    """The usage of the answers since a day of the local calendar, oldest first."""
    return _sound_rows(file, file.read(READ_USAGE, (_start_of(since),)))


class UsageOfOthers:
    """The usage that other processes write to the file while this process runs; each answer once."""

    def __init__(self) -> None:
        self._last = 0

    def read(self, file: LedgerFile, since: date, own: str | None) -> list[UsageRow]:
        """The answers since a day that have not been read before.

        Args:
            file: The ledger's file.
            since: A day of the local calendar.
            own: The name of this process's own ledger, whose answers are left out.
        """
        last = _last_number(file)
        if last > _LAST_NUMBER:
            file.write([(CLEAR_USAGE_BEYOND, [(_LAST_NUMBER,)])])
            file.note_damage(1)
            last = _last_number(file)
        if last < self._last:  # somebody has cleared the table, and its numbers start again
            self._last = 0
        rows = file.read(READ_USAGE_OF_OTHERS, (self._last, _start_of(since), own))
        self._last = max([self._last, last, *(number for number, *_ in rows)])
        return _sound_rows(file, [row[1:] for row in rows])


def read_answer_rows(file: LedgerFile, since: date) -> list[AnswerRow]:
    """The answers that this machine served since a day of the local calendar, oldest first."""
    if not file.read(HAS_ANSWERS):
        return []
    read = file.read(READ_ANSWERS, (_start_of(since),))
    rows = [_sound_answer(*values) for values in read]
    file.note_damage(sum(row is None for row in rows))
    return [row for row in rows if row is not None]


def clear_usage(file: LedgerFile) -> bool:
    """Deletes the usage of all answers, and no other rows; returns whether the file was written."""
    return file.write([(CLEAR_USAGE, [()]), (CLEAR_ANSWERS, [()])])


def add_up(rows: Iterable[UsageRow], model_pattern: str = "*") -> dict[tuple[date, str], UsageTotals]:
    """The totals by day and model, in the order of the days.

    Args:
        rows: The usage of answers, oldest first.
        model_pattern: The pattern of the model ids; `*` is any text, `?` any character.
    """
    totals: dict[tuple[date, str], UsageTotals] = {}
    for row in rows:
        if fnmatchcase(row.model, model_pattern):
            totals.setdefault((_day(row.time), row.model), UsageTotals()).add(row)
    return dict(sorted(totals.items()))


def add_up_answers(
    rows: Iterable[AnswerRow], who: Callable[[AnswerRow], tuple[str, ...]], model_pattern: str = "*"
) -> dict[tuple[date, tuple[str, ...], str], UsageTotals]:
    """The totals of served answers by day, by who asked, and by model, in that order.

    Args:
        rows: The answers.
        who: Gives the names under which an answer is added up, such as that of its client.
        model_pattern: The pattern of the model ids, as of :func:`add_up`.
    """
    totals: dict[tuple[date, tuple[str, ...], str], UsageTotals] = {}
    for row in rows:
        if fnmatchcase(row.usage.model, model_pattern):
            one = totals.setdefault((_day(row.usage.time), who(row), row.usage.model), UsageTotals())
            one.add(row.usage)
            one.repeated += row.retry > 0
    return dict(sorted(totals.items()))


def _last_number(file: LedgerFile) -> int:
    return next((number for (number,) in file.read(READ_LAST_USAGE) if isinstance(number, int)), 0)


def _start_of(day: date) -> float:
    return datetime(day.year, day.month, day.day).astimezone().timestamp()


def _day(time: float) -> date:
    """The day in the local calendar."""
    return datetime.fromtimestamp(time, UTC).astimezone().date()


def _sound_rows(file: LedgerFile, read: Sequence[tuple[Any, ...]]) -> list[UsageRow]:
    """The rows of a query, without damaged ones; a number in them that cannot be is unknown. The log counts both."""
    rows = [_sound_row(*values) for values in read]
    file.note_damage(sum(row is None or _values(row) != values for row, values in zip(rows, read, strict=True)))
    return [row for row in rows if row is not None]


def _sound_row(
    time: Any,
    model: Any,
    upstream: Any,
    conversation: Any,
    input_tokens: Any,
    output_tokens: Any,
    cached_tokens: Any,
    reasoning_tokens: Any,
    cost: Any,
) -> UsageRow | None:
    """The usage in the values of a file, which may be damaged; None without a time or a model."""
    ended = as_amount(time, LAST_TIME)
    if ended is None or not isinstance(model, str):
        return None
    return UsageRow(
        ended,
        model,
        upstream if isinstance(upstream, str) else "",
        conversation if isinstance(conversation, str) else None,
        as_count(input_tokens),
        as_count(output_tokens),
        as_count(cached_tokens),
        as_count(reasoning_tokens),
        as_amount(cost, MOST_DOLLARS),
    )


def _values(row: UsageRow) -> tuple[Any, ...]:
    return tuple(getattr(row, one.name) for one in fields(row))


def _sound_answer(
    time: Any,
    model: Any,
    input_tokens: Any,
    output_tokens: Any,
    cached_tokens: Any,
    reasoning_tokens: Any,
    cost: Any,
    client: Any,
    session: Any,
    kind: Any,
    retry: Any,
    is_kept: Any,
) -> AnswerRow | None:
    """A served answer in the values of a file, which may be damaged; None without a time or a model."""
    usage = _sound_row(time, model, "", None, input_tokens, output_tokens, cached_tokens, reasoning_tokens, cost)
    if usage is None:
        return None
    return AnswerRow(
        usage,
        client if isinstance(client, str) else "",
        session if isinstance(session, str) else None,
        kind if isinstance(kind, str) else "",
        as_count(retry) or 0,
        bool(is_kept),
    )
