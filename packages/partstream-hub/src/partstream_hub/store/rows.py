"""The parts of the transactions on a hub's database: each function is one, and runs statements of `statements.sql`.

Rows are locked in one order everywhere: the worker, reservations, ledger rows by id, windows by number. So two
transactions wait for each other once, and never in a circle.

The directory is read as a whole and written as the difference of two. An answer is entered into the ledger and charged
once. :func:`broken_invariants` checks what always holds, over all rows at one moment.
"""

from __future__ import annotations
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from partstream.codec import checks
from partstream.codec.checks import as_amount, as_count, dataclass, field, replace
from partstream.codec.json_codec import dumps, loads
from partstream.tokens.amounts import MOST_AMOUNT, BudgetUnit, Period
from partstream_hub import directory
from partstream_hub.directory import Need
from partstream_hub.store import values
from partstream_hub.store.values import LedgerRow, Query, Transaction, Window, content_text, name_text, places

SQL: Final[Mapping[str, str]] = dict(
    re.findall(r"(?ms)^-- ([\w ]+)\n(.+?);$", Path(__file__).with_name("statements.sql").read_text(encoding="utf-8"))
)
"""The statements by their names in `statements.sql`."""

# ---- Windows ----


def _locked_windows(work: Transaction, ids: Collection[int]) -> dict[int, Window]:
    """Windows by number, in the order of the numbers, which no other transaction changes before this one is over."""
    return _windows(work, work.rows_of(_locking(work, ids))[0]) if ids else {}


def _locking(work: Transaction, ids: Collection[int]) -> Query:
    statement = SQL["windows"].format(places=places(len(ids)) or "NULL", clock=work.clock)
    return Query(statement, sorted(ids), is_locking=True)


def _windows(work: Transaction, rows: Iterable[tuple[Any, ...]]) -> dict[int, Window]:
    windows = {}
    for *row, told in rows:
        work.note_time(told)
        windows[row[0]] = Window(*row)
    return windows


def open_windows(work: Transaction, rules: Sequence[directory.BudgetRule]) -> dict[str, Window]:
    """The windows of rules that are open now, by the id of the rule; a window keeps its end, whatever becomes of the
    rule's time zone. The limit is the database's, not that of an older directory that a worker has read."""
    now, by_id = work.now(), {rule.id: rule for rule in rules}
    statement = SQL["windows open now"].format(places=places(len(by_id)) or "NULL")
    found = {row[1]: Window(*row) for row in work.rows(statement, (*by_id, now, now))}
    if missing := sorted(by_id.keys() - found.keys()):
        for name in missing:
            # The row is locked: a limit that is changed meanwhile finds the window, or is found here.
            limits = work.locked(SQL["limit of a budget"], (name,))
            limit = limits[0][0] if limits else by_id[name].limit
            work.run(SQL["open a window"], (name, *by_id[name].span_at(now), limit, limit))
        found = {row[1]: Window(*row) for row in work.rows(statement, (*by_id, now, now))}
    return found


# ---- The directory ----


class _Table(NamedTuple):
    """Where entries of a kind are kept; the first column is the key."""

    kind: str
    table: str
    columns: Sequence[str]
    row: Callable[[Any], Sequence[object]]  # of an entry
    entry: Callable[..., Any]  # of a row
    order: str

    def read(self, work: Transaction) -> list[Any]:
        statement = f"SELECT {', '.join(self.columns)} FROM {self.table} ORDER BY {self.order}"  # noqa: S608 - ours
        return [self.entry(*row) for row in work.rows(statement)]

    def put(self, work: Transaction, entry: directory.Entry) -> None:
        key, *others = self.columns
        updates = ", ".join(f"{column} = excluded.{column}" for column in others)
        work.run(
            f"INSERT INTO {self.table} ({', '.join(self.columns)}) VALUES ({places(len(self.columns))})"  # noqa: S608
            f" ON CONFLICT ({key}) DO UPDATE SET {updates}",
            self.row(entry),
        )

    def remove(self, work: Transaction, name: str) -> None:
        work.run(f"DELETE FROM {self.table} WHERE {self.columns[0]} = ?", (name,))  # noqa: S608


def _table(kind: str, made: type[Any], table: str, order: str = "name") -> _Table:
    """A table whose columns are fields of the entries; one more has the rest of them, as JSON."""
    names = directory.COLUMNS[made]
    return _Table(
        kind,
        table,
        (*names, "settings"),
        lambda entry: [*(getattr(entry, name) for name in names), dumps(directory.settings_json(entry)).decode()],
        lambda *cells: directory.made_entry(made, cells[:-1], cells[-1]),
        order,
    )


_TABLES: Final = {
    "teams": _table("team", directory.Team, "hub_teams"),
    "people": _table("person", directory.Person, "hub_people"),
    "keys": _table("key", directory.Key, "hub_keys", "created_at, id"),
    "rules": _Table(
        "budget",
        "hub_budgets",
        ("id", "owner_kind", "owner", "unit", "period", "budget_limit", "time_zone"),
        lambda rule: (rule.id, *rule.owner, rule.unit, rule.period, rule.limit, rule.time_zone),
        lambda _, kind, owner, unit, period, limit, zone: directory.BudgetRule(
            directory.Owner(directory.OwnerKind(kind), owner), BudgetUnit(unit), Period(period), limit, zone
        ),
        "id",
    ),
    "routes": _table("model", directory.ModelRoute, "hub_models"),
}
"""The tables, by the field of the directory that has their entries; none refers to one that follows."""


def directory_since(work: Transaction, known_version: int | None = None) -> directory.Directory | None:
    """All that there is, at one moment; None if its version is `known_version`."""
    ((version,),) = work.rows(SQL["version"])
    return None if version == known_version else read_directory(work, version)


def read_directory(work: Transaction, version: int) -> directory.Directory:
    """All of the directory."""
    found: dict[str, Any] = {
        place: {directory.name_of(one): one for one in table.read(work)} for place, table in _TABLES.items()
    }
    return directory.Directory(version, **found)


def change_directory(
    work: Transaction, changes: Sequence[directory.DirectoryChange], by: str, expected_version: int | None = None
) -> int:
    """Changes the directory, all or nothing, and notes who changed what; the version that it has then. The version that
    the changes were made for is None for any. A limit that changes holds at once for the window that is open.

    Raises:
        DirectoryConflictError: A change does not fit what is there.
        DirectoryChangedError: The directory has another version.
    """
    ((version,),) = work.locked(SQL["version"])  # one change at a time
    if expected_version is not None and version != expected_version:
        raise values.DirectoryChangedError(expected_version, version)
    before = read_directory(work, version)
    now = work.now()
    after = directory.changed_directory(before, changes, now)
    differences = list(_differences(before, after))
    for table, name, _, entry in reversed(differences):  # what refers to others goes first
        if entry is None:
            table.remove(work, name)
    for table, _, _, entry in differences:
        if entry is not None:
            table.put(work, entry)
    # Gives the open windows of rules the limits that hold now.
    rules = [entry for _, _, _, entry in differences if isinstance(entry, directory.BudgetRule)]
    limits = {
        window: rule.limit for rule in rules for (window,) in work.rows(SQL["open windows of a budget"], (rule.id, now))
    }
    for number, window in _locked_windows(work, limits).items():
        limit = limits[number]
        if window.limit != limit:
            work.run(SQL["new limit of a window"], (limit, max(limit, window.highest_limit), number))
    work.run(SQL["next version"], (after.version,))
    for table, name, *entries in differences:
        shown = (None if entry is None else dumps(directory.entry_json(entry)).decode() for entry in entries)
        action = f"{_verb(*entries)} {table.kind} {name}"
        work.run(SQL["record a change"], (after.version, now, name_text(by), action, *shown))
    return after.version


_Difference: TypeAlias = tuple[_Table, str, directory.Entry | None, directory.Entry | None]
"""An entry that is otherwise than before: its table, its name, and what it was and is; None for nothing."""


def _differences(before: directory.Directory, after: directory.Directory) -> Iterator[_Difference]:
    """What is different, in an order in which it can be written: nothing before what it refers to."""
    for place, table in _TABLES.items():
        old, new = getattr(before, place), getattr(after, place)
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name):
                yield table, name, old.get(name), new.get(name)


def _verb(before: directory.Entry | None, after: directory.Entry | None) -> str:
    """What was done to an entry."""
    if isinstance(before, directory.Key) and isinstance(after, directory.Key):
        return "revoke" if before.revoked_at is None and after.revoked_at is not None else "change"
    return "add" if before is None else "remove" if after is None else "change"


def read_records(work: Transaction, most: int = 100) -> list[values.DirectoryRecord]:
    """Who changed what, the newest first."""
    return [
        values.DirectoryRecord(version, time, by, action, *(None if one is None else loads(one) for one in entries))
        for version, time, by, action, *entries in work.rows(SQL["records"], (most,))
    ]


# ---- Settling ----

COUNTS: Final = ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens")
"""The numbers of a usage that the ledger has."""
_LOST_FIELDS: Final = (
    "answer_id", "time", "key_id", "person", "team", "model", "provider", "upstream_model", "client", "session", "wire",
)  # fmt: skip
_lost_values: Final = attrgetter(*_LOST_FIELDS)
LEDGER: Final[Mapping[str, Callable[[Any], object]]] = {
    "answer_id": str,
    "time": lambda time: as_amount(time, checks.LAST_TIME) or 0.0,
    **dict.fromkeys((*_LOST_FIELDS[2:], "outcome", "error"), lambda text: None if text is None else name_text(text)),
    **dict.fromkeys(COUNTS, lambda count: as_count(count, checks.MOST_TOKENS)),
    "nanodollars": lambda amount: as_count(amount, MOST_AMOUNT),
    "is_estimated": bool,
    "status": int,
    **dict.fromkeys(("seconds", "first_part_after"), lambda seconds: as_amount(seconds, checks.MOST_SECONDS)),
}
"""The fields of a row that the ledger has, and what is written: of a number that cannot be, that it is not known."""
_BESIDE: Final = ("settled_at", "worker", "charges", "day")
_CONTENTS: Final = ("answer_id", "time", "person", "request", "response")
_DAY: Final = 86_400
_RESERVATIONS: Final = ("answer_id", "worker", "amounts", "money", "lost")
LOST: Final = "lost"  # the outcome of an answer whose worker died before its end


class Reserve(NamedTuple):
    """An answer that begins, and what it needs."""

    row: LedgerRow  # entered, charged with all that is reserved, if the worker dies before the end
    needs: Sequence[Need]
    is_whole: bool = False  # whether nothing is reserved where not all is free; else it is content with `least`
    meanwhile: Callable[[Granted], object] = lambda _: None  # is done where the event loop waits for the whole


class Granted(NamedTuple):
    """What is reserved, by the id of the rule, and in which windows."""

    windows: Mapping[str, int]
    amounts: Mapping[str, int]


class Refused(NamedTuple):
    """The need that a window does not cover, and how the window is."""

    need: Need
    window: Window


class Extend(NamedTuple):
    """More, or with a minus less, for an answer that runs, by the number of the window."""

    answer_id: str
    amounts: Mapping[int, int]


class Settle(NamedTuple):
    """The end of an answer: its row for the ledger, what is kept of it, and the windows in which it has reserved."""

    row: LedgerRow
    content: values.AnswerContent | None = None
    windows: Collection[int] = ()


class Drop(NamedTuple):
    """The end of an answer for which no provider was asked."""

    answer_id: str
    windows: Collection[int] = ()


@dataclass(frozen=True, slots=True)
class Batch:
    """What a worker has to do, in one transaction: what has ended goes first, then what runs, then what begins."""

    ended: Sequence[Settle | Drop]
    extends: Sequence[Extend] = ()
    reserves: Sequence[Reserve] = ()
    windows: Mapping[str, int] = field(default_factory=dict)  # that it knows, by the rule's id; one may be over


class BatchResult(NamedTuple):
    """What became of a batch, in its order; `extended` says which answers got more."""

    extended: Sequence[bool]
    reserved: Sequence[Granted | Refused]


class IncompleteBatchError(Exception):
    """A batch has to be begun again: with the next windows of rules, or with more windows that are locked at once."""

    def __init__(self, rules: Sequence[directory.BudgetRule] = (), windows: Collection[int] = ()) -> None:
        super().__init__(rules, windows)
        self.rules = rules
        self.windows = windows


def carry_out(work: Transaction, worker: str, batch: Batch, also: Collection[int] = ()) -> BatchResult:
    """Ends, extends and begins answers, in this order; see :meth:`partstream_hub.store.store.HubStore.carry_out`."""
    if (granted := _reserved_whole(work, worker, batch)) is not None:
        return BatchResult((), (granted,))
    known, changes = batch.windows, _Changes()
    rules = {need.rule.id: need.rule for one in batch.reserves for need in one.needs}
    numbers = {number for one in batch.ended for number in one.windows}.union(also)
    numbers |= {number for one in batch.extends for number in one.amounts} | {known[rule] for rule in rules}
    running: dict[str, dict[int, int]] = {}
    ended = {one.row.answer_id if isinstance(one, Settle) else one.answer_id for one in batch.ended}
    ids = sorted(ended | {one.answer_id for one in batch.extends})
    if batch.extends or len(ids) > 1:  # reservations are locked before windows, and in one order
        rows = work.locked(SQL["running"].format(places=places(len(ids))), ids)
        running = {answer_id: _amounts(text) for answer_id, text in rows if answer_id not in ended}
    windows = _end(work, worker, batch.ended, changes, numbers)
    now = work.now() if rules else 0.0
    is_open = {number for number, window in windows.items() if window.is_open(now)}
    if over := [rule for rule in rules.values() if known[rule.id] not in is_open]:
        raise IncompleteBatchError(over)
    extended = [_extended(work, one, running.get(one.answer_id), windows, changes) for one in batch.extends]
    reserved = [_reserved(one, known, windows, changes) for one in batch.reserves]
    changes.write(work)
    pairs = zip(batch.reserves, reserved, strict=True)
    if begun := [_begun(worker, one, granted) for one, granted in pairs if isinstance(granted, Granted)]:
        work.run(*_inserting("hub_reservations", _RESERVATIONS, begun)[:2])
    return BatchResult(extended, reserved)


def _begun(worker: str, reserve: Reserve, granted: Granted) -> tuple[object, ...]:
    """The row of a reservation."""
    windows, row = granted.windows, reserve.row
    money = next((windows[one.rule.id] for one in reserve.needs if one.rule.unit is BudgetUnit.MONEY), None)
    amounts = _text_of_amounts({window: granted.amounts[rule] for rule, window in windows.items()})
    return row.answer_id, worker, amounts, money, dumps(_lost_values(row)).decode()


def _reserved_whole(work: Transaction, worker: str, batch: Batch) -> Granted | None:
    """Reserves all that a single answer needs, in the shortest way; None where it does not get that, for whichever
    reason, or the batch is another one: then nothing has happened."""
    if batch.ended or batch.extends or len(batch.reserves) != 1 or not batch.reserves[0].is_whole:
        return None
    (reserve,) = batch.reserves
    amounts = {need.rule.id: need.amount for need in reserve.needs}
    granted = Granted({rule: batch.windows[rule] for rule in amounts}, amounts)
    added = [(batch.windows[rule], amount) for rule, amount in amounts.items()]
    begun = _begun(worker, reserve, granted)
    name = "reserve whole of one" if len(added) == 1 else "reserve whole"
    meanwhile = partial(reserve.meanwhile, granted)
    found = work.whole(_reserving(name, len(added), work.clock), (*chain(*added), *begun), meanwhile)
    if found is not None:
        return granted if found else None
    now, statement = work.now(), SQL["add where it has room"]
    for count, (number, amount) in enumerate(added):
        if not work.changed(statement, (amount, number, amount, now, now)):
            for before, more in added[:count]:
                work.run(statement, (-more, before, -more, now, now))
            return None
    work.run(SQL["enter what was added"], begun)
    return granted


@cache
def _reserving(name: str, count: int, clock: str) -> str:
    return SQL[name].format(rows=", ".join(["(?, ?)"] * count), clock=clock, count=count)


def _inserting(table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Query:
    """Inserts rows whose first column, which is the table's key, is not there yet; asks which keys those are."""
    rows_of_places = ", ".join([f"({places(len(columns))})"] * len(rows))
    statement = (
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES {rows_of_places}"  # noqa: S608 - names of ours
        f" ON CONFLICT ({columns[0]}) DO NOTHING RETURNING {columns[0]}"
    )
    return Query(statement, [value for row in rows for value in row])


class _Changes:
    """By how much a transaction changes windows, by their numbers."""

    def __init__(self) -> None:
        self.spent: Counter[int] = Counter()
        self.reserved: Counter[int] = Counter()

    def write(self, work: Transaction) -> None:
        """Adds them to the windows, which are locked."""
        numbers = sorted({number for counter in (self.spent, self.reserved) for number in counter if counter[number]})
        if numbers:
            rows = [value for number in numbers for value in (number, self.spent[number], self.reserved[number])]
            work.run(SQL["add to windows"].format(rows=", ".join(["(?, ?, ?)"] * len(numbers))), rows)

    def free(self, window: Window) -> int:
        return window.limit - window.spent - window.reserved - self.spent[window.id] - self.reserved[window.id]


def _end(
    work: Transaction, worker: str, ended: Sequence[Settle | Drop], changes: _Changes, numbers: Collection[int]
) -> dict[int, Window]:
    """Releases what answers had reserved, enters their rows, and charges those that are new; locks windows.

    An answer that was charged as lost meanwhile, because its worker was silent, is charged anew with what it took.
    """
    settled = {one.row.answer_id: one for one in ended if isinstance(one, Settle)}
    dropped = {one.answer_id for one in ended if isinstance(one, Drop)} - settled.keys()
    if not (settled or dropped):
        return _locked_windows(work, numbers)
    ids = sorted(settled.keys() | dropped)
    queries = [Query(SQL["release"].format(places=places(len(ids))), ids)]
    if settled:
        queries.append(_entering(worker, settled))
    released, *entered, windows = work.rows_of(*queries, _locking(work, numbers))
    for _, text in released:
        for number, amount in _amounts(text).items():
            changes.reserved[number] -= amount
    new = {answer_id for (answer_id,) in entered[0]} if entered else set()
    _charge(work, settled, new, changes)
    rest = sorted((settled.keys() - new) | (dropped - {answer_id for answer_id, _ in released}))
    if rest:
        lost: dict[str, str] = dict(work.locked(SQL["lost"].format(places=places(len(rest))), rest))
        for text in lost.values():
            for number, amount in _amounts(text).items():
                changes.spent[number] -= amount
        if lost:
            work.run(SQL["remove from the ledger"].format(places=places(len(lost))), sorted(lost))
            _enter(work, worker, {answer_id: one for answer_id, one in settled.items() if answer_id in lost}, changes)
    if missing := (changes.spent.keys() | changes.reserved.keys()) - set(numbers):
        raise IncompleteBatchError(windows=missing)
    return _windows(work, windows)


def _enter(work: Transaction, worker: str, settled: Mapping[str, Settle], changes: _Changes) -> None:
    """Enters rows that are not there, and charges them."""
    if settled:
        entered = work.rows(*_entering(worker, settled)[:2])
        _charge(work, settled, {answer_id for (answer_id,) in entered}, changes)


def _entering(worker: str, settled: Mapping[str, Settle]) -> Query:
    settled_at = time.time()  # for people to read alone, so that the database need not be asked first
    rows = []
    for answer_id in sorted(settled):
        row = settled[answer_id].row
        known = [written(getattr(row, name)) for name, written in LEDGER.items()]
        day = int((as_amount(row.time, checks.LAST_TIME) or 0.0) // _DAY)
        rows.append([*known, settled_at, worker, _text_of_amounts(_charges(row)), day])
    return _inserting("hub_ledger", (*LEDGER, *_BESIDE), rows)


def _charge(work: Transaction, settled: Mapping[str, Settle], new: Collection[object], changes: _Changes) -> None:
    """Charges the rows that are new, and keeps what is to be kept of them."""
    texts = []
    for answer_id, (row, content, _) in sorted(settled.items()):
        if answer_id in new:
            changes.spent.update(_charges(row))
            if content is not None:
                said = content_text(content.request), content_text(content.response)
                texts.append((content.answer_id, content.time, name_text(content.person), *said))
    if texts:
        work.run(*_inserting("hub_contents", _CONTENTS, texts)[:2])


def _extended(
    work: Transaction, extend: Extend, amounts: dict[int, int] | None, windows: Mapping[int, Window], changes: _Changes
) -> bool:
    """Reserves more for an answer that runs, all or nothing; whether it is reserved."""
    if amounts is None or any(
        number not in windows or more > max(0, changes.free(windows[number])) for number, more in extend.amounts.items()
    ):
        return False
    for number, more in extend.amounts.items():
        amount = max(amounts.get(number, 0) + more, 0)
        changes.reserved[number] += amount - amounts.get(number, 0)
        amounts[number] = amount
    work.run(SQL["extend"], (_text_of_amounts(amounts), extend.answer_id))
    return True


def _reserved(
    reserve: Reserve, known: Mapping[str, int], windows: Mapping[int, Window], changes: _Changes
) -> Granted | Refused:
    amounts: dict[str, int] = {}
    for need in reserve.needs:
        window = windows[known[need.rule.id]]
        free = changes.free(window)
        if free < (need.amount if reserve.is_whole else min(need.least, need.amount)):
            spent, held = window.spent + changes.spent[window.id], window.reserved + changes.reserved[window.id]
            return Refused(need, replace(window, spent=spent, reserved=held))
        amounts[need.rule.id] = min(need.amount, free)
    for rule, amount in amounts.items():
        changes.reserved[known[rule]] += amount
    return Granted({rule: known[rule] for rule in amounts}, amounts)


def expire(work: Transaction, worker: str, seen_at: float | None = None) -> int:
    """Charges in full what a worker has reserved that is gone; how many answers that were.

    Where it has been heard of since `seen_at`, nothing is done; None is for one that has ended for certain, which is
    forgotten too.
    """
    found = work.locked(SQL["seen"], (worker,))
    if seen_at is None:
        work.run(SQL["forget a worker"], (worker,))
    elif [(seen_at,)] != [tuple(row) for row in found]:
        return 0
    rows = work.locked(SQL["reservations of a worker"], (worker,))
    if not rows:
        return 0
    changes, lost = _Changes(), {}
    for answer_id, text, money, fields in rows:
        amounts = _amounts(text)
        for number, amount in amounts.items():
            changes.reserved[number] -= amount
        row = LedgerRow(
            **dict(zip(_LOST_FIELDS, loads(fields), strict=True)),
            nanodollars=None if money is None else amounts.get(money),
            is_estimated=True,
            outcome=LOST,
            charges=tuple(values.Charge(*one) for one in sorted(amounts.items())),
        )
        lost[answer_id] = Settle(row)
    # Only those that were read: the worker may have begun another one meanwhile.
    work.run(SQL["remove reservations"].format(places=places(len(lost))), sorted(lost))
    _enter(work, worker, lost, changes)
    _locked_windows(work, changes.reserved)
    changes.write(work)
    return len(lost)


def _amounts(text: str) -> dict[int, int]:
    return {int(number): amount for number, amount in loads(text).items()}


def _text_of_amounts(amounts: Mapping[int, int]) -> str:
    return dumps({str(number): amount for number, amount in amounts.items()}).decode()


def _charges(row: LedgerRow) -> Counter[int]:
    """What a row is charged, by window. One that no budget can hold must not keep others out of the ledger."""
    charges: Counter[int] = Counter()
    for charge in row.charges:
        charges[charge.window] += min(max(charge.amount, 0), MOST_AMOUNT)
    return charges


# ---- Joining ----


def add_join_code(work: Transaction, code: values.JoinCode) -> None:
    """Keeps the digest of a code, with which its person gets a key, once; forgets those that are over. Where there is
    no such person, it raises a `DirectoryConflictError`."""
    checks.check("JoinCode.label", code.label, directory.LABEL)  # a key could not have it
    work.run(SQL["forget old join codes"], (work.now(),))
    if not work.rows(SQL["person"], (code.person,)):
        raise values.DirectoryConflictError(f"invite person {code.person}", f"there is no person {code.person}")
    models = None if code.key_models is None else dumps(code.key_models).decode()
    work.run(
        SQL["add a join code"], (code.digest, code.person, code.expires_at, code.label, code.key_expires_at, models)
    )


def join_codes(work: Transaction) -> set[bytes]:
    """The digests of the codes that can be used now."""
    return {bytes(digest) for (digest,) in work.rows(SQL["join codes"], (work.now(),))}


def join(work: Transaction, code_digest: bytes, key_id: str, key_digest: bytes) -> directory.Key | None:
    """Makes a key for a code, which is deleted by that: of two that use it at once, one gets nothing."""
    found = work.rows(SQL["take a join code"], (code_digest, work.now()))
    if not found:
        return None
    person, label, expires_at, said = found[0]
    if any(is_disabled for (is_disabled,) in work.rows(SQL["person"], (person,))):
        return None
    models = None if said is None else tuple(loads(said))
    key = directory.Key(key_id, key_digest, person, label, models, expires_at=expires_at)
    change_directory(work, [key], f"join code of {person}", None)
    return key


# ---- Kept requests and answers ----


def contents(work: Transaction, answer_id: str) -> values.AnswerContent | None:
    """The request and the answer, if they are kept."""
    return next((values.AnswerContent(*row) for row in work.rows(SQL["content"], (answer_id,))), None)


def forget_contents_of(work: Transaction, before: float, teams: Sequence[str]) -> int:
    """Deletes what is kept of the people of some teams, or without teams of all others; how much that was."""
    statement = SQL[f"forget contents of {'teams' if teams else 'others'}"]
    return len(work.rows(statement.format(places=places(len(teams))), (before, *teams)))


# ---- Invariants ----


def broken_invariants(work: Transaction) -> list[str]:
    """What does not hold, at one moment, of that which always holds: for each window, `reserved` is the sum of the
    reservations, and `spent` is what the ledger charges. Empty, or Partstream has a fault, or another program wrote
    into the tables."""
    told = {"reserved": "the sum of the reservations", "spent": "the charges of the ledger"}
    sums = {"reserved": _sums(work.rows(SQL["all reservations"])), "spent": _sums(work.rows(SQL["all charges"]))}
    broken = []
    for number, budget, spent, reserved in work.rows(SQL["sums of windows"]):
        for what, got in (("reserved", reserved), ("spent", spent)):
            if got != (found := sums[what].pop(number, 0)):
                broken.append(f"{budget}, window {number}: got {got:,} {what}, expected {told[what]}, {found:,}")
    for what, left in sums.items():
        for number, amount in left.items():
            broken.append(f"window {number}: got {amount:,} {what}, expected none: there is no such window")
    return broken


def _sums(rows: Iterable[tuple[Any, ...]]) -> Counter[int]:
    sums: Counter[int] = Counter()
    for text, count in rows:
        sums.update({number: amount * count for number, amount in _amounts(text).items()})
    return sums


# ---- Workers ----

_ALIVE_SECONDS: Final = 5.0
"""The seconds without a heartbeat after which a worker does not count for the shares of rates."""
_KEPT_SECONDS: Final = 3_600.0  # for how long a worker is shown that is silent and holds nothing


def heartbeat(work: Transaction, worker: str, silent_seconds: float = 30.0) -> values.Pulse:
    """Shows that a worker is alive, under a name that is new for each process, and brings what has changed.

    Other workers are named as silent that were not heard of for so many seconds.
    """
    now = work.now()
    work.run(SQL["beat"], (worker, now, now))
    work.run(SQL["forget silent workers"], (now - _KEPT_SECONDS,))
    ((version,),), ((alive,),), silent = work.rows_of(
        Query(SQL["version"]),
        Query(SQL["alive"], (now - _ALIVE_SECONDS,)),
        # A clock that was set back leaves times in the future behind.
        Query(SQL["silent"], (now - silent_seconds, now + silent_seconds)),
    )
    return values.Pulse(now, version, alive, dict(silent))
