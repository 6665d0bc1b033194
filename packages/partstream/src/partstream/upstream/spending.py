"""A person's own budget, and how fast upstreams are asked: one file that all windows and programs of a user share.

Before an upstream is asked, one transaction says whether the request may begin, and reserves what it can take at most.
When its answer ends, another one enters what it took, and what was reserved is free again. The order that holds:

1. **Rates**: as many requests run, or began within a minute, as a setting allows: the request waits, and is refused
   when it has waited for long (`retry.longestWait`). They count the requests to one upstream.
2. **Budget**: nothing is left of it: the request is refused. All that is left is reserved for answers that run: it
   waits for them. What the request itself takes is not asked: so a budget is exceeded by no more than the answer that
   was begun last, as far as the reservations are upper bounds, and no request is refused because of a bound far above
   what answers take.

A reservation is the bound of :mod:`partstream.tokens.bounds` times the highest price of each token. What was taken is
the cost and the usage that the upstream reports; where an answer was cut or cancelled and none came, it is estimated by
the bytes that were sent and seen; so it is where more is reported than any request can take. A request that was
refused, or reached no server, takes nothing.

What can go wrong (docs/decisions/0040-a-budget-without-a-hub.md says why it is handled so):

* **A process dies.** Its reservations are charged in full once another process finds its lock free.
* **The file cannot be used**: it is broken, locked for long, or its disk is full. With a budget, requests are refused,
  and the error names the file. Rates alone are given up with a warning: they guard no money. What has ended stays
  reserved and is entered with the next transaction.
* **The clock jumps.** Forward, a new window begins. Backward, what was spent on days to come counts today.
"""

from __future__ import annotations
import asyncio
import logging
import os
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

from partstream import errors
from partstream.codec import system
from partstream.codec.checks import as_count
from partstream.codec.json_codec import dumps
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart
from partstream.tokens.amounts import (
    DOLLAR,
    MOST_AMOUNT,
    BudgetAmount,
    BudgetUnit,
    amount_text,
    budget_text,
    parsed_budget,
    span_at,
)
from partstream.tokens.bounds import MOST_ROUNDS, Asked, asked_output, bound_of_files, wide_bound
from partstream.tokens.files import most_input
from partstream.upstream.context import IS_ONE_ATTEMPT, RECEIVED, Holding

if TYPE_CHECKING:
    from partstream.lm.outputs import StreamOutput
    from partstream.lm.parts import Usage
    from partstream.lm.provider import LanguageModelChatInformation
    from partstream.upstream.configuration import GatewayConfiguration, Limits
    from partstream.upstream.model_information import Pricing

_logger = logging.getLogger("partstream.upstreams")

T = TypeVar("T")

FILE_NAME: Final = "spending.sqlite3"
"""The name of the file in the user's data folder."""


# ---- What a request takes ----


class Taken(NamedTuple):
    """What a request takes of budgets."""

    nanodollars: int = 0
    tokens: int = 0


class Bound(NamedTuple):
    """The most tokens of a request, and what they cost; without prices they take no money. `file_tokens` are those of
    its input that are of files."""

    input_tokens: int
    output_tokens: int
    price: Pricing | None
    file_tokens: int = 0
    window: int = 0  # the most tokens of all that the model reads

    @property
    def taken(self) -> Taken:
        """What it takes at most: each token of the input may be written into a cache, and the prompt may be long."""
        price = self.price
        tiers = () if price is None else (price, *(() if price.long_context is None else (price.long_context,)))
        given = [one for tier in tiers for one in (tier.input, tier.cache_read, tier.cache_write) if one is not None]
        written = [tier.output for tier in tiers if tier.output is not None]
        most_of_input, most_of_output = max(given, default=Decimal(0)), max(written, default=Decimal(0))
        cost = self.input_tokens * most_of_input + self.output_tokens * most_of_output
        return Taken(_nanodollars(cost), self.input_tokens + self.output_tokens)


def bound_of(model: LanguageModelChatInformation, asked: Asked, limit: int | None, price: Pricing | None) -> Bound:
    """The bound of a request to a model whose answers have at most `limit` tokens by a setting, or None."""
    wanted = [one for one in (asked_output(asked), limit, model.max_output_tokens) if one is not None]
    files = bound_of_files(model.family, asked)
    return Bound(wide_bound(model.family, asked, files), min(wanted), price, files.tokens, most_input(model.family))


def _nanodollars(dollars: Decimal | float) -> int:
    """Whole nanodollars, rounded up."""
    return min(MOST_AMOUNT, int((Decimal(str(dollars)) * DOLLAR).to_integral_value(ROUND_CEILING)))


_BYTES_A_TOKEN: Final = 3
"""Bytes of a token at least, on average: what is estimated by them is rather too much."""


# ---- What is allowed ----


class Standing(NamedTuple):
    """The state of a budget, in its own unit."""

    budget: BudgetAmount
    owner: str
    spent: int
    reserved: int
    running: int  # answers
    resets_at: float

    def __str__(self) -> str:
        whose = f"Budget of {self.owner}" if self.owner else "Your budget"
        return f"{whose}: {amount_text(self.budget.unit, self.spent)} of {budget_text(self.budget)}"


Verdict: TypeAlias = "str | errors.RateReachedError | errors.BudgetReachedError"
"""The id of a request that may begin; or the error for one that does not wait until it may."""

_MINUTE: Final = 60.0
_POLL: Final = (0.05, 0.5)
"""Seconds between two looks at the file, from the first to the longest: no process tells another that it has ended."""


# ---- The file ----

_APPLICATION: Final = 0x50535350
_BUSY: Final = 2.0
"""Seconds to wait for another process, which holds the file for a fraction of a millisecond."""
_ABANDONED: Final = 86_400.0
"""Seconds after which what is reserved is charged, whether its process is known to be gone or not."""
_DAYS: Final = 62
"""The days with answers that are kept: two months at least."""

_SCHEMA: Final = (
    """CREATE TABLE IF NOT EXISTS spent (
        day TEXT, upstream TEXT, nanodollars INTEGER, tokens INTEGER, PRIMARY KEY (day, upstream)
    ) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS running (
        id TEXT PRIMARY KEY, process TEXT, upstream TEXT, began REAL, nanodollars INTEGER, tokens INTEGER
    ) WITHOUT ROWID""",
    "CREATE TABLE IF NOT EXISTS asked (upstream TEXT, time REAL)",
)
_SPEND: Final = (
    "INSERT INTO spent {rows} ON CONFLICT (day, upstream)"
    " DO UPDATE SET nanodollars = nanodollars + excluded.nanodollars, tokens = tokens + excluded.tokens"
)
_SPEND_ONE: Final = _SPEND.format(rows="VALUES (?, ?, ?, ?)")
_SPEND_ALL: Final = _SPEND.format(rows="SELECT ?, upstream, nanodollars, tokens FROM {table} WHERE {which}")
_FORGET: Final = (
    "DELETE FROM spent WHERE day < (SELECT min(day) FROM (SELECT DISTINCT day FROM spent ORDER BY day DESC LIMIT ?))"
)
"""Whatever the clock says: one that jumps by years and comes back would have forgotten what was spent."""


class SpendingFile:
    """The file, for one thread at a time; other processes use it too. It and its folder are made when they are needed,
    for the user alone."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._clock = clock
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._name = f"{os.getpid()}-{token_hex(6)}"
        self._locks = system.LifeLocks(path.with_suffix(".locks"), self._name)
        self._has_lock = False
        self._unsettled: list[tuple[str, str, Taken]] = []

    def begin(self, limits: Limits, upstream: str, bound: Taken) -> Verdict:
        """Begins a request, or says why not.

        Raises:
            sqlite3.Error: The file cannot be used; so `OSError`.
        """
        if not self._has_lock:  # by which others see that this process lives
            try:
                self._locks.begin()
            except OSError as error:
                said = error.strerror or error
                _logger.warning("the folder of locks beside %s cannot be used: %s", self.path, said)
            else:
                self._has_lock = True
                self._locks.bury(self._charge_gone)
        verdict = self._begin(limits, upstream, bound)
        if not isinstance(verdict, str) and self._has_lock:
            self._locks.bury(self._charge_gone)
            verdict = self._begin(limits, upstream, bound)
        return verdict

    def end(self, request: str, upstream: str, taken: Taken) -> None:
        """Enters what a request took, at the latest with the next transaction.

        Raises:
            sqlite3.Error: The file cannot be used now; so `OSError`.
        """
        self._unsettled.append((request, upstream, taken))
        with self._transaction():
            pass

    def standing(self, limits: Limits, upstream: str) -> Standing | None:
        """The state of the budget; None without one.

        Raises:
            sqlite3.Error: The file cannot be used; so `OSError`.
        """
        if limits.budget is None:
            return None
        with self._transaction() as connection:
            return self._standing(connection, limits, upstream)

    def close(self) -> None:
        """Closes the file; what is still reserved is charged in full, here or by another process."""
        is_settled = True
        if self._connection is not None:
            try:
                with self._transaction() as work:
                    self._charge(work, "process = ?", self._name)
            except (sqlite3.Error, OSError):
                is_settled = False
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()
        self._locks.end(is_settled=is_settled and not self._unsettled)
        self._has_lock = False

    def _begin(self, limits: Limits, upstream: str, bound: Taken) -> Verdict:
        with self._transaction() as connection:
            now = self._clock()
            if (most := limits.parallel_requests) is not None:
                query = "SELECT count(*) FROM running WHERE upstream = ?"
                (running,) = connection.execute(query, (upstream,)).fetchone()
                if running >= most:
                    reason = f"{running} of {most} parallel requests are running"
                    return errors.RateReachedError("parallelRequests", most, reason)
            if (most := limits.requests_per_minute) is not None:
                query = "SELECT time FROM asked WHERE upstream = ? ORDER BY time DESC LIMIT 1 OFFSET ?"
                if (first := connection.execute(query, (upstream, most - 1)).fetchone()) is not None:
                    reason, wait = f"{most} of {most} requests a minute were sent", first[0] + _MINUTE - now
                    return errors.RateReachedError("requestsPerMinute", most, reason, max(0.001, wait))
            if limits.budget is not None:
                budget, owner, spent, reserved, _, resets_at = self._standing(connection, limits, upstream)
                if spent + reserved >= budget.limit:
                    return errors.BudgetReachedError(
                        owner,
                        budget_text(budget),
                        amount_text(budget.unit, spent),
                        "" if spent >= budget.limit else amount_text(budget.unit, reserved),
                        resets_at,
                        f"{datetime.fromtimestamp(resets_at, UTC).astimezone():%Y-%m-%d at %H:%M}",
                    )
            begun = token_hex(8)
            row = (begun, self._name, upstream, now, bound.nanodollars, bound.tokens)
            connection.execute("INSERT INTO running VALUES (?, ?, ?, ?, ?, ?)", row)
            if limits.requests_per_minute is not None:
                connection.execute("INSERT INTO asked VALUES (?, ?)", (upstream, now))
            return begun

    def _standing(self, connection: sqlite3.Connection, limits: Limits, upstream: str) -> Standing:
        budget = parsed_budget(limits.budget or "")
        starts_at, ends_at = span_at(budget.period, None, self._clock())
        column = "nanodollars" if budget.unit is BudgetUnit.MONEY else "tokens"
        of, own = (" AND upstream = ?", (upstream,)) if limits.owner else ("", ())
        # Days to come are there where the clock went back.
        spent = f"SELECT coalesce(sum({column}), 0) FROM spent WHERE day >= ?{of}"  # noqa: S608 - words of our own
        reserved = f"SELECT coalesce(sum({column}), 0), count(*) FROM running WHERE 1 = 1{of}"  # noqa: S608
        (took,) = connection.execute(spent, (_day(starts_at), *own)).fetchone()
        held, running = connection.execute(reserved, own).fetchone()
        return Standing(budget, limits.owner, took, held, running, ends_at or 0.0)

    def _charge_gone(self, process: str) -> None:
        with self._transaction() as connection:
            count = self._charge(connection, "process = ?", process)
        if count:
            _logger.warning("a program ended in the middle of %d answers: what it had reserved is charged", count)

    def _charge(self, connection: sqlite3.Connection, which: str, value: object) -> int:
        """Charges reservations in full; returns how many."""
        connection.execute(_SPEND_ALL.format(table="running", which=which), (_day(self._clock()), value))
        return connection.execute(f"DELETE FROM running WHERE {which}", (value,)).rowcount  # noqa: S608 - our own words

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction, which first enters what has ended, and tidies up."""
        connection = self._opened()
        try:
            with system.transaction(connection):
                now, ended = self._clock(), tuple(self._unsettled)
                today = _day(now)
                for request, upstream, taken in ended:
                    if connection.execute("DELETE FROM running WHERE id = ?", (request,)).rowcount and any(taken):
                        connection.execute(_SPEND_ONE, (today, upstream, *taken))
                connection.execute("DELETE FROM asked WHERE time <= ?", (now - _MINUTE,))
                connection.execute("UPDATE asked SET time = ? WHERE time > ?", (now, now))
                self._charge(connection, "began < ?", now - _ABANDONED)
                # Where the clock went back, what was spent on days to come was spent today.
                connection.execute(_SPEND_ALL.format(table="spent", which="day > ?"), (today, today))
                connection.execute("DELETE FROM spent WHERE day > ?", (today,))
                connection.execute(_FORGET, (_DAYS,))
                yield connection
            del self._unsettled[: len(ended)]
        except BaseException as error:
            if not isinstance(error, sqlite3.OperationalError):  # the file is broken: a person may replace it
                connection.close()
                self._connection = None
            raise

    def _opened(self) -> sqlite3.Connection:
        if self._connection is not None:
            if system.file_identity(self.path) == self._identity:
                return self._connection
            self._connection.close()  # a person has removed the file, or put another one in its place
        with system.closed_on_error(system.open_private_database(self.path, _BUSY)) as connection:
            if (found := connection.execute("PRAGMA application_id").fetchone()) not in ((0,), (_APPLICATION,)):
                raise sqlite3.DatabaseError(f"it is of another program, {found[0]:#x}")
            system.use_write_ahead_log(connection, _BUSY)
            connection.execute("PRAGMA synchronous = NORMAL")
            for statement in _SCHEMA:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        self._connection, self._identity = connection, system.file_identity(self.path)
        return connection


def _day(seconds: float) -> str:
    """The day in the local calendar."""
    return datetime.fromtimestamp(seconds, UTC).astimezone().date().isoformat()


# ---- The requests of one upstream ----


class Admission:
    """A request that has begun, and what its answers take: what is reported, and else what was sent and seen. `end`
    enters it, once: to settle it further times does nothing."""

    def __init__(self, bound: Bound, end: Callable[[Taken], object]) -> None:
        self._bound = bound
        self._end: Callable[[Taken], object] | None = end
        self._taken = Taken()
        self._seen = 0
        self._held = 0  # of it, what is no part yet, or never becomes one
        self._is_open = False

    async def metered(self, sending: Awaitable[T | None]) -> T | None:
        """Has the request sent once, and settles it with the end of its answer; gives what the answer is paused with.

        Raises:
            UpstreamError: There is no answer, or it failed; another attempt may follow.
        """
        self._close()
        self._is_open = True
        outer = RECEIVED.get()

        def hold(characters: int) -> None:
            self._held += characters
            self._seen += characters
            if outer is not None:
                outer(characters)

        try:
            with Holding(RECEIVED, hold):
                paused = await sending
        except errors.UpstreamError as error:
            self._close(error)
            raise
        if paused is None:
            self.settle()
        return paused

    def see(self, output: StreamOutput) -> None:
        """Takes what came of an answer; a part has about as many bytes as this says."""
        known = 0
        match output:
            case TextPart(value=text):
                size = len(text)
            case ThinkingPart(value=texts):  # one or several
                size = sum(map(len, texts))
            case ToolCallPart():
                size = len(output.name) + len(dumps(output.input))
                known = min(self._held, size)
            case _:
                return
        self._held -= known
        self._seen += size - known

    def report(self, cost: float | None, usage: Usage) -> None:
        """Takes what the upstream reports of an answer, and what it cost; what is not known is estimated."""
        estimate, known = self._estimate(), (as_count(usage.input_tokens), as_count(usage.output_tokens))
        money = estimate.nanodollars if cost is None else _nanodollars(cost)
        tokens = estimate.tokens if None in known else sum(one or 0 for one in known)
        window = self._bound.window * MOST_ROUNDS
        if money > Bound(window, window, self._bound.price).taken.nanodollars > 0:
            _logger.warning("an upstream bills more than a request can take: %s tokens are charged", estimate.tokens)
            money, tokens = estimate
        self._add(Taken(money, tokens))

    def settle(self, error: BaseException | None = None) -> None:
        """Enters what the request took, which may have failed."""
        end, self._end = self._end, None
        if end is not None:
            self._close(error)
            end(self._taken)

    def _close(self, error: BaseException | None = None) -> None:
        """Ends an answer; one without a report is estimated, unless the upstream was not reached, or refused it."""
        is_unreached = isinstance(error, errors.UpstreamConnectionError) and not error.established
        is_free = not self._is_open or is_unreached or isinstance(error, errors.UpstreamHTTPError)
        self._add(Taken() if is_free else self._estimate())

    def _estimate(self) -> Taken:
        bound, files = self._bound, self._bound.file_tokens  # of which bytes say nothing
        given = files + (bound.input_tokens - files) // _BYTES_A_TOKEN
        return Bound(given, self._seen // _BYTES_A_TOKEN, bound.price).taken

    def _add(self, more: Taken) -> None:
        self._taken = Taken(self._taken.nanodollars + more.nanodollars, self._taken.tokens + more.tokens)
        self._is_open, self._seen, self._held = False, 0, 0


class Spending:
    """Admits the requests to one upstream, by a budget and by rates; serves any number of them at once.

    The file belongs to one thread: an answer waits for one transaction before it begins, and for none when it ends.
    """

    def __init__(self, configuration: GatewayConfiguration) -> None:
        self._limits = configuration.limits
        self._most_wait = configuration.retry.longest_wait
        self._upstream = configuration.fingerprint
        self._file = SpendingFile(system.DATA.path() / FILE_NAME)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="partstream-spending")
        self._is_warned = False

    @property
    def counts_money(self) -> bool:
        """Whether a budget counts money, so that a price is needed."""
        return self._limits.budget is not None and parsed_budget(self._limits.budget).unit is BudgetUnit.MONEY

    async def admit(self, model: str, bound: Bound, announce: Callable[[str, float], object]) -> Admission:
        """Waits until a request to a model may begin, which takes no more than a bound. `announce` is called with a
        reason and the most seconds that the request waits for it.

        Raises:
            BudgetReachedError: Nothing is left of the budget.
            BudgetUnknownError: Whether something is left cannot be found out, or the model has no price.
            RateReachedError: It would have to wait for too long.
        """
        price, taken = bound.price, bound.taken
        if self.counts_money and (price is None or price.input is None or price.output is None):
            advice = "set its `prices`, which are 0 for a model that costs nothing, or a budget in tokens"
            raise errors.BudgetUnknownError(self._limits.owner, f"{model} has no price", advice)
        loop = asyncio.get_running_loop()
        until = loop.time() + (0.0 if IS_ONE_ATTEMPT.get() else self._most_wait)
        said, pause = "", _POLL[0]
        while True:
            verdict = await self._verdict(taken)
            if verdict is None:  # rates alone, and a file that cannot be used
                return Admission(bound, lambda _: None)
            if isinstance(verdict, str):
                return Admission(bound, partial(self._end, verdict))
            left, seconds = until - loop.time(), None
            if isinstance(verdict, errors.RateReachedError):
                reason, seconds = verdict.reason, verdict.retry_after
            elif verdict.reserved:  # for answers that run, and may take less
                reason = verdict.statement
            else:
                raise verdict
            if left <= 0 or (seconds is not None and seconds > left):
                raise verdict
            if reason != said:
                _logger.info("the request to %s waits: %s", model, reason)
                announce(reason, left if seconds is None else seconds)
                said = reason
            await asyncio.sleep(min(left, pause if seconds is None else seconds))
            pause = min(2 * pause, _POLL[1])

    async def standing(self) -> Standing | None:
        """The state of the budget; None without one, and where it cannot be found out."""
        with suppress(sqlite3.Error, OSError, RuntimeError):
            return await asyncio.wrap_future(self._thread.submit(self._file.standing, self._limits, self._upstream))
        return None

    async def aclose(self) -> None:
        """Enters what has ended, and closes the file."""
        with suppress(RuntimeError):  # it is closed already
            await asyncio.wrap_future(self._thread.submit(self._file.close))
        self._thread.shutdown(wait=False)

    async def _verdict(self, bound: Taken) -> Verdict | None:
        beginning = self._thread.submit(self._file.begin, self._limits, self._upstream, bound)
        try:
            return await asyncio.wrap_future(beginning)
        except asyncio.CancelledError:
            beginning.add_done_callback(self._drop)
            raise
        except (sqlite3.Error, OSError) as error:
            if self._limits.budget is not None:
                said = getattr(error, "strerror", None) or str(error)
                advice = "make it usable, or remove it: what was spent before is forgotten then"
                raise errors.BudgetUnknownError(
                    self._limits.owner, f"{self._file.path} cannot be used ({said})", advice
                ) from error
            if not self._is_warned:
                self._is_warned = True
                _logger.warning("requests are not counted, because %s cannot be used: %s", self._file.path, error)
            return None

    def _drop(self, beginning: Future[Verdict]) -> None:
        """Frees what was reserved for a request that no caller waits for any more."""
        if not beginning.cancelled() and beginning.exception() is None and isinstance(id_ := beginning.result(), str):
            self._end(id_, Taken())

    def _end(self, request: str, taken: Taken) -> None:
        with suppress(RuntimeError):  # closed: another process charges what was reserved
            self._thread.submit(self._enter, request, taken)

    def _enter(self, request: str, taken: Taken) -> None:
        """In the thread, where an error would remain unseen."""
        try:
            self._file.end(request, self._upstream, taken)
        except (sqlite3.Error, OSError) as error:
            _logger.warning("what an answer took is entered later: %s cannot be used: %s", self._file.path, error)
        except Exception:
            _logger.exception("what an answer took was not entered")
