"""The statements of a hub's database: each function is a part of one transaction.

Rows are locked in one order everywhere: the worker, ledger rows by id, windows by number, then leases, which are
changed only by the holder of the window's lock. So two transactions wait for each other once, and never in a circle.

The directory is read as a whole and written as the difference of two. An answer is entered into the ledger and charged
once. Batches of what workers learn of tokens are numbered under a lock, so that a worker that has read up to one has
missed none. :func:`broken_invariants` checks what always holds, over all rows at one moment.
"""

from __future__ import annotations
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from partstream.codec.checks import LAST_TIME, MOST_SECONDS, MOST_TOKENS, as_amount, as_count
from partstream.codec.json_codec import dumps, loads
from partstream_hub import directory
from partstream_hub.amounts import span_at
from partstream_hub.store.values import (
    SCARCE_SECONDS,
    Change,
    DirectoryChangedError,
    DirectoryConflictError,
    DirectoryRecord,
    GivenBack,
    HeartbeatResult,
    LearnedBatch,
    LearnedRow,
    Lease,
    LeaseGrant,
    Query,
    Settled,
    Window,
    WorkerState,
    content_text,
    name_text,
    places,
)

if TYPE_CHECKING:
    from partstream_hub.store.values import AnswerContent, AnswerPart, JoinCode, LeaseAsk, LedgerRow, Transaction

# ---- Windows and leases ----

_COLUMNS: Final = (
    "SELECT id, budget, starts_at, ends_at, budget_limit, spent, leased, overrun, recall, recalled_at FROM hub_windows"
)
_WINDOWS: Final = _COLUMNS + " WHERE id IN ({places}) ORDER BY id"
_PULSE: Final = (
    _COLUMNS + " WHERE id IN ({places}) OR id IN (SELECT hub_leases.window_id FROM hub_leases"  # noqa: S608 - ours
    " JOIN hub_windows AS one ON one.id = hub_leases.window_id"
    " WHERE hub_leases.worker = ? AND hub_leases.answered < one.recall)"
)
_OPEN_NOW: Final = (
    _COLUMNS + " WHERE budget IN ({places}) AND starts_at <= ? AND (ends_at IS NULL OR ends_at > ?) ORDER BY id"
)
_LIMIT: Final = "SELECT budget_limit FROM hub_budgets WHERE id = ?"
_OPEN: Final = (
    "INSERT INTO hub_windows (budget, starts_at, ends_at, budget_limit, highest_limit) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (budget, starts_at) DO NOTHING"
)
_WRITE_WINDOW: Final = "UPDATE hub_windows SET spent = ?, leased = ?, overrun = ? WHERE id = ?"
_RECALL: Final = "UPDATE hub_windows SET recall = recall + 1, recalled_at = ? WHERE id = ?"

_LEASES: Final = "SELECT window_id, amount, forfeited, answered FROM hub_leases WHERE worker = ? ORDER BY window_id"
_WRITE_LEASE: Final = (
    "INSERT INTO hub_leases (window_id, worker, amount, forfeited, answered) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (window_id, worker) DO UPDATE"
    " SET amount = excluded.amount, forfeited = excluded.forfeited, answered = excluded.answered"
)
_DROP_LEASE: Final = "DELETE FROM hub_leases WHERE window_id = ? AND worker = ?"
_UNANSWERED: Final = (
    "SELECT window_id, worker, amount, answered FROM hub_leases WHERE window_id IN ({places}) AND worker <> ?"
)
_COUNTER: Final = "SELECT counter, is_gone FROM hub_workers WHERE name = ?"


def held_by(worker: str) -> Query:
    """Asks for all that a worker holds; for :func:`leases_in`."""
    return Query(_LEASES, (worker,))


def leases_in(rows: Iterable[tuple[Any, ...]]) -> dict[int, Lease]:
    """Leases by the number of the window."""
    return {number: Lease(*held) for number, *held in rows}


def windows_in(rows: Iterable[tuple[Any, ...]]) -> dict[int, Window]:
    """Windows by number."""
    return {row[0]: Window(*row) for row in rows}


def locked_windows(work: Transaction, ids: Collection[int]) -> dict[int, Window]:
    """Windows by number, in the order of the numbers, which no other transaction changes before this one is over."""
    if not ids:
        return {}
    return windows_in(work.locked(_WINDOWS.format(places=places(len(ids))), sorted(ids)))


def leases_of(work: Transaction, worker: str) -> dict[int, Lease]:
    """All that a worker holds, by the number of the window."""
    return leases_in(work.rows(_LEASES, (worker,)))


def locked_book(
    work: Transaction, worker: str, ids: Collection[int]
) -> tuple[list[tuple[Any, ...]], dict[int, Window], dict[int, Lease]]:
    """A worker's counter and whether it is gone, windows, and all that the worker holds: locked in this order."""
    states, windows, leases = work.rows_of(
        Query(_COUNTER, (worker,), is_locking=True),
        Query(_WINDOWS.format(places=places(len(ids)) or "NULL"), sorted(ids), is_locking=True),
        held_by(worker),
    )
    return states, windows_in(windows), leases_in(leases)


def write_window(work: Transaction, window: Window, *, spent: int = 0, leased: int = 0, overrun: int = 0) -> None:
    """Adds to what a locked window says."""
    numbers = window.spent + spent, window.leased + leased, window.overrun + overrun
    work.run(_WRITE_WINDOW, (*numbers, window.id))


def write_lease(work: Transaction, window: int, worker: str, held: Lease) -> None:
    """Writes what a worker holds of a locked window; nothing is no row."""
    if held.amount or held.forfeited:
        work.run(_WRITE_LEASE, (window, worker, *held))
    else:
        work.run(_DROP_LEASE, (window, worker))


def open_windows(work: Transaction, rules: Sequence[directory.BudgetRule]) -> dict[str, Window]:
    """The windows of rules that are open now, by the id of the rule.

    A window keeps its end, whatever becomes of the rule's time zone. The limit is what the database has for the rule,
    not what a worker that has read an older directory believes.
    """
    now = work.now()
    found = _open_now(work, rules, now)
    missing = sorted((rule for rule in rules if rule.id not in found), key=lambda rule: rule.id)
    for rule in missing:
        # The row is locked: a limit that is changed meanwhile finds the window, or is found here.
        limits = work.locked(_LIMIT, (rule.id,))
        span = span_at(rule, now)
        limit = limits[0][0] if limits else rule.limit
        work.run(_OPEN, (rule.id, span.starts_at, span.ends_at, limit, limit))
    return found | (_open_now(work, missing, now) if missing else {})


def _open_now(work: Transaction, rules: Sequence[directory.BudgetRule], now: float) -> dict[str, Window]:
    if not rules:
        return {}
    ids = [rule.id for rule in rules]
    rows = work.rows(_OPEN_NOW.format(places=places(len(ids))), (*ids, now, now))
    return {row[1]: Window(*row) for row in rows}


def lease(work: Transaction, worker: str, asks: Sequence[LeaseAsk]) -> dict[int, LeaseGrant]:
    """Leases as much as there is; what a worker gets that is not alive is nothing.

    After a recall no worker gets more than answers need: else one that does not know of it yet could take what others
    have given back for an answer that waits.
    """
    wanted = {ask.window: ask for ask in asks}
    states, windows, held = locked_book(work, worker, wanted)
    is_alive = any(not is_gone for _, is_gone in states)
    now = work.now()
    grants: dict[int, LeaseGrant] = {}
    whole = _whole_answers(wanted, windows)
    for number, window in windows.items():
        ask, has = wanted[number], held.get(number, Lease(0))
        is_over = window.ends_at is not None and window.ends_at <= now
        is_scarce = now < window.recalled_at + SCARCE_SECONDS
        needed = whole[number] if ask.parts else min(ask.amount, window.free)
        amount = needed if is_scarce else min(needed + ask.surplus, window.free)
        if amount < max(ask.least, 1) or is_over or not is_alive:
            amount = 0
        else:
            write_window(work, window, leased=amount)
            answered = max(has.answered, ask.answered)
            write_lease(work, number, worker, has._replace(amount=has.amount + amount, answered=answered))
        after = replace(window, leased=window.leased + amount)
        grants[number] = LeaseGrant(amount, has.amount + amount, after, is_over=is_over)
    return _with_unanswered(work, worker, wanted, grants)


def _whole_answers(asks: Mapping[int, LeaseAsk], windows: Mapping[int, Window]) -> dict[int, int]:
    """How much of each window those answers need that can have what they need of all their windows."""
    left = {number: window.free + asks[number].free for number, window in windows.items()}
    answers: dict[int, list[tuple[int, AnswerPart]]] = {}
    for number in windows:
        for part in asks[number].parts:
            answers.setdefault(part.answer, []).append((number, part))
    for _, parts in sorted(answers.items()):
        if all(left[number] >= part.least for number, part in parts):
            for number, part in parts:
                left[number] -= min(part.amount, left[number])
    return {number: max(0, window.free - max(left[number], 0)) for number, window in windows.items()}


def _with_unanswered(
    work: Transaction, worker: str, wanted: Mapping[int, LeaseAsk], grants: dict[int, LeaseGrant]
) -> dict[int, LeaseGrant]:
    """The grants with what others hold of the windows of which not all was granted."""
    short = sorted(number for number, grant in grants.items() if grant.granted < wanted[number].amount)
    if not short:
        return grants
    for number, holder, amount, answered in work.rows(_UNANSWERED.format(places=places(len(short))), (*short, worker)):
        recall = wanted[number].recall
        if amount and (not recall or answered < recall):
            unanswered = {**grants[number].unanswered, holder: amount}
            grants[number] = grants[number]._replace(unanswered=unanswered)
    return grants


def give_back(
    work: Transaction, worker: str, counter: int, amounts: Mapping[int, int], recalls: Mapping[int, int]
) -> GivenBack:
    """Gives back what a worker does not need, and notes which recalls it has answered."""
    numbers = amounts.keys() | recalls.keys()
    states, windows, held = locked_book(work, worker, numbers)
    is_done = any(found == counter for found, _ in states)
    for number, window in windows.items() if is_done else ():
        if (has := held.get(number)) is None:
            continue
        amount = min(max(amounts.get(number, 0), 0), has.amount)
        answered = max(has.answered, recalls.get(number, 0))
        held[number] = Lease(has.amount - amount, has.forfeited, answered)
        if amount:
            write_window(work, window, leased=-amount)
        write_lease(work, number, worker, held[number])
    return GivenBack(is_done, {number: held[number].amount if number in held else 0 for number in numbers})


def ask_recall(work: Transaction, windows: Mapping[int, int]) -> dict[int, int]:
    """Asks all workers for what they hold of windows and do not use, unless another has asked since."""
    recalls: dict[int, int] = {}
    for number, window in locked_windows(work, windows).items():
        recalls[number] = window.recall
        if window.recall <= windows[number]:
            recalls[number] += 1
            work.run(_RECALL, (work.now(), number))
    return recalls


# ---- The directory ----

Value = TypeVar("Value")
VERSION: Final = "SELECT version FROM hub_directory"
_NEXT_VERSION: Final = "UPDATE hub_directory SET version = ?"
_RECORD: Final = (
    "INSERT INTO hub_changes (version, time, by_whom, action, value_before, value_after) VALUES (?, ?, ?, ?, ?, ?)"
)
_RECORDS: Final = (
    "SELECT version, time, by_whom, action, value_before, value_after FROM hub_changes"
    " WHERE version < ? ORDER BY id DESC LIMIT ?"
)
_LAST_VERSION: Final = 2**62
_OPEN_WINDOWS: Final = "SELECT id FROM hub_windows WHERE budget = ? AND (ends_at IS NULL OR ends_at > ?)"
_NEW_LIMIT: Final = (
    "UPDATE hub_windows SET budget_limit = ?, recall = recall + ?,"
    " highest_limit = CASE WHEN highest_limit < ? THEN ? ELSE highest_limit END WHERE id = ?"
)


class _Table(NamedTuple):
    """Where entries of a kind are kept.

    Attributes:
        put: Writes one, new or not.
        remove: Removes one, by its name.
        row: The parameters of `put`, the name first.
    """

    kind: str
    put: str
    remove: str
    row: Callable[[Any], tuple[Any, ...]]


def _table(kind: str, row: Callable[[Any], tuple[Any, ...]], table: str, *columns: str) -> _Table:
    """The statements of a table whose key is the first column. Names of ours."""
    updates = ", ".join(f"{column} = excluded.{column}" for column in columns[1:])
    return _Table(
        kind,
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places(len(columns))})"  # noqa: S608
        f" ON CONFLICT ({columns[0]}) DO UPDATE SET {updates}",
        f"DELETE FROM {table} WHERE {columns[0]} = ?",  # noqa: S608
        row,
    )


_TEAMS: Final = _table(
    "team",
    lambda team: (team.name, team.is_disabled, directory.settings_text(team)),
    *("hub_teams", "name", "is_disabled", "settings"),
)
_PEOPLE: Final = _table(
    "person",
    lambda one: (one.name, one.team, one.is_admin, one.is_disabled, directory.settings_text(one)),
    *("hub_people", "name", "team", "is_admin", "is_disabled", "settings"),
)
_KEYS: Final = _table(
    "key",
    lambda key: (
        *(key.id, key.digest, key.person, key.label),
        *(key.created_at, key.expires_at, key.revoked_at, directory.settings_text(key)),
    ),
    *("hub_keys", "id", "digest", "person", "label", "created_at", "expires_at", "revoked_at", "settings"),
)
_BUDGETS: Final = _table(
    "budget",
    lambda rule: (
        *(rule.id, rule.owner.kind.value, rule.owner.name, rule.unit.value),
        *(rule.period.value, rule.limit, rule.time_zone),
    ),
    *("hub_budgets", "id", "owner_kind", "owner", "unit", "period", "budget_limit", "time_zone"),
)
_MODELS: Final = _table(
    "model", lambda route: (route.name, directory.settings_text(route)), "hub_models", "name", "settings"
)


def read_directory(work: Transaction, version: int) -> directory.Directory:
    """All of the directory."""
    rules: dict[directory.Owner, list[directory.BudgetRule]] = {}
    for rule in _read_rules(work):
        rules.setdefault(rule.owner, []).append(rule)
    return directory.Directory(
        version,
        {team.name: team for team in _read_teams(work)},
        {person.name: person for person in _read_people(work)},
        {key.id: key for key in _read_keys(work)},
        {owner: tuple(found) for owner, found in rules.items()},
        {
            name: directory.route_of(name, text)
            for name, text in work.rows("SELECT name, settings FROM hub_models ORDER BY name")
        },
    )


def _read_teams(work: Transaction) -> Iterator[directory.Team]:
    for name, is_disabled, text in work.rows("SELECT name, is_disabled, settings FROM hub_teams ORDER BY name"):
        models, rates = directory.limits_of(text)
        yield directory.Team(name, models, rates, directory.policy_of(text), bool(is_disabled))


def _read_people(work: Transaction) -> Iterator[directory.Person]:
    question = "SELECT name, team, is_admin, is_disabled, settings FROM hub_people ORDER BY name"
    for name, team, is_admin, is_disabled, text in work.rows(question):
        models, rates = directory.limits_of(text)
        yield directory.Person(name, team, bool(is_admin), models, rates, bool(is_disabled))


def _read_keys(work: Transaction) -> Iterator[directory.Key]:
    question = (
        "SELECT id, digest, person, label, created_at, expires_at, revoked_at, settings FROM hub_keys"
        " ORDER BY created_at, id"
    )
    for key_id, digest, person, label, created_at, expires_at, revoked_at, text in work.rows(question):
        models, rates = directory.limits_of(text)
        yield directory.Key(key_id, bytes(digest), person, label, models, rates, created_at, expires_at, revoked_at)


def _read_rules(work: Transaction) -> Iterator[directory.BudgetRule]:
    question = "SELECT owner_kind, owner, unit, period, budget_limit, time_zone FROM hub_budgets ORDER BY id"
    for owner_kind, owner, unit, period, limit, time_zone in work.rows(question):
        yield directory.BudgetRule(
            directory.Owner(directory.OwnerKind(owner_kind), owner),
            directory.BudgetUnit(unit),
            directory.Period(period),
            limit,
            time_zone,
        )


def change_directory(
    work: Transaction, changes: Sequence[directory.DirectoryChange], by: str, expected_version: int | None
) -> Change:
    """Changes the directory; see :meth:`partstream_hub.store.store.HubStore.change`."""
    ((version,),) = work.locked(VERSION)  # one change at a time
    if expected_version is not None and version != expected_version:
        raise DirectoryChangedError(expected_version, version)
    before = read_directory(work, version)
    now = work.now()
    after = directory.changed_directory(before, changes, now)
    differences = list(_differences(before, after))
    for table, name, _, entry in reversed(differences):  # what refers to others goes first
        if entry is None:
            work.run(table.remove, (name,))
    for table, _, _, entry in differences:
        if entry is not None:
            work.run(table.put, table.row(entry))
    # Gives the open windows of rules the limits that hold now; where one is lower, workers give back what is free.
    rules = [entry for _, _, _, entry in differences if isinstance(entry, directory.BudgetRule)]
    limits = {window: rule.limit for rule in rules for (window,) in work.rows(_OPEN_WINDOWS, (rule.id, now))}
    for number, window in locked_windows(work, limits).items():
        limit = limits[number]
        if window.limit != limit:
            work.run(_NEW_LIMIT, (limit, int(limit < window.limit), limit, limit, number))
    records = tuple(_recorded(one, after.version, now, by) for one in differences)
    work.run(_NEXT_VERSION, (after.version,))
    for one in records:
        values = (None if entry is None else dumps(entry).decode() for entry in (one.before, one.after))
        work.run(_RECORD, (one.version, one.time, name_text(one.by), one.action, *values))
    return Change(after.version, records)


class _Difference(NamedTuple):
    """An entry that is otherwise than before; None for one that is not there."""

    table: _Table
    name: str
    before: directory.Entry | None
    after: directory.Entry | None


def _differences(before: directory.Directory, after: directory.Directory) -> Iterator[_Difference]:
    """What is different, in an order in which it can be written: nothing before what it refers to."""
    places: tuple[tuple[_Table, Mapping[str, directory.Entry], Mapping[str, directory.Entry]], ...] = (
        (_TEAMS, before.teams, after.teams),
        (_PEOPLE, before.people, after.people),
        (_KEYS, before.keys, after.keys),
        (_BUDGETS, {rule.id: rule for rule in before.rules()}, {rule.id: rule for rule in after.rules()}),
        (_MODELS, before.routes, after.routes),
    )
    for table, old, new in places:
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name):
                yield _Difference(table, name, old.get(name), new.get(name))


def _recorded(difference: _Difference, version: int, time: float, by: str) -> DirectoryRecord:
    table, name, before, after = difference
    verb = "add" if before is None else "remove" if after is None else "change"
    if (
        isinstance(before, directory.Key)
        and isinstance(after, directory.Key)
        and before.revoked_at is None is not after.revoked_at
    ):
        verb = "revoke"
    return DirectoryRecord(
        version,
        time,
        by,
        f"{verb} {table.kind} {name}",
        None if before is None else directory.entry_json(before),
        None if after is None else directory.entry_json(after),
    )


def read_records(work: Transaction, most: int, before_version: int | None) -> list[DirectoryRecord]:
    """Who changed what, the newest first."""
    rows = work.rows(_RECORDS, (_LAST_VERSION if before_version is None else before_version, most))
    return [
        DirectoryRecord(version, time, by, action, *(None if one is None else loads(one) for one in values))
        for version, time, by, action, *values in rows
    ]


# ---- Settling ----

_LEDGER: Final = (
    "answer_id", "time", "settled_at", "key_id", "person", "team", "model", "provider", "upstream_model", "client",
    "session", "wire", "input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens",
    "nanodollars", "is_estimated", "status", "outcome", "error", "seconds", "first_part_after", "worker", "charges",
    "day",
)  # fmt: skip
_CONTENTS: Final = ("answer_id", "time", "person", "request", "response")
_DAY: Final = 86_400

_GONE: Final = "UPDATE hub_workers SET is_gone = TRUE WHERE name = ?"
_LEFT: Final = "DELETE FROM hub_workers WHERE name = ?"


def settle(work: Transaction, worker: str, rows: Sequence[LedgerRow], contents: Sequence[AnswerContent]) -> Settled:
    """Enters answers and charges those that are new."""
    by_id = {row.answer_id: row for row in rows}
    ordered = [by_id[answer_id] for answer_id in sorted(by_id)]
    settled_at = work.now()
    new = work.insert_new("hub_ledger", _LEDGER, [_parameters(row, worker, settled_at) for row in ordered])
    kept = {one.answer_id: one for one in contents if one.answer_id in new}
    texts = (
        (one.answer_id, one.time, name_text(one.person), content_text(one.request), content_text(one.response))
        for _, one in sorted(kept.items())
    )
    work.insert_new("hub_contents", _CONTENTS, [*texts])
    due: Counter[int] = Counter()
    for row in ordered:
        for window, amount in _charges(row).items():
            due[window] += amount if row.answer_id in new else 0
    _charge(work, worker, due)
    held = leases_of(work, worker)
    return Settled(frozenset(by_id), {number: held[number].amount if number in held else 0 for number in due})


def _charge(work: Transaction, worker: str, due: Mapping[int, int]) -> None:
    """Charges what is due; the windows of answers that were there already are locked too, so that they can be read."""
    windows = locked_windows(work, due)
    held = leases_of(work, worker) if windows else {}
    for number, window in windows.items():
        has, amount = held.get(number, Lease(0)), due[number]
        forfeited = min(amount, has.forfeited)  # what was taken from the worker counts as spent already
        leased = min(amount - forfeited, has.amount)
        free = min(amount - forfeited - leased, window.free)
        overrun = amount - forfeited - leased - free
        write_window(work, window, spent=leased + free, leased=-leased, overrun=overrun)
        rest = has._replace(amount=has.amount - leased, forfeited=has.forfeited - forfeited)
        write_lease(work, number, worker, rest)


def expire(work: Transaction, worker: str, counter: int | None) -> dict[int, int]:
    """Takes what a silent worker holds as spent."""
    found = work.locked(_COUNTER, (worker,))
    if not found or (counter is not None and found[0][0] != counter):
        return {}
    work.run(_GONE, (worker,))
    # The worker is locked, so that it gets no further lease; its leases are read again under the locks of the windows.
    windows = locked_windows(work, leases_of(work, worker))
    taken: dict[int, int] = {}
    for number, has in leases_of(work, worker).items():
        if has.amount:
            taken[number] = has.amount
            write_window(work, windows[number], spent=has.amount, leased=-has.amount)
            write_lease(work, number, worker, has._replace(amount=0, forfeited=has.forfeited + has.amount))
    return taken


def take_back(work: Transaction, worker: str) -> None:
    """Gives a worker again what was forfeited of it: it is alive. The caller has locked its row."""
    windows = locked_windows(work, leases_of(work, worker))
    for number, has in leases_of(work, worker).items():
        if has.forfeited:
            write_window(work, windows[number], spent=-has.forfeited, leased=has.forfeited)
            write_lease(work, number, worker, has._replace(amount=has.amount + has.forfeited, forfeited=0))


def leave(work: Transaction, worker: str) -> None:
    """Ends a worker, with all that it held."""
    if not work.locked(_COUNTER, (worker,)):
        return  # nothing is locked, and a worker that comes back under this name begins anew
    windows = locked_windows(work, leases_of(work, worker))
    for number, has in leases_of(work, worker).items():
        write_window(work, windows[number], spent=-has.forfeited, leased=-has.amount)
        write_lease(work, number, worker, Lease(0))
    work.run(_LEFT, (worker,))


def _charges(row: LedgerRow) -> Counter[int]:
    """What a row is charged, by window. One that no budget can hold must not keep others out of the ledger."""
    charges: Counter[int] = Counter()
    for charge in row.charges:
        charges[charge.window] += min(max(charge.amount, 0), directory.MOST_AMOUNT)
    return charges


def _optional(text: str | None) -> str | None:
    return None if text is None else name_text(text)


def _parameters(row: LedgerRow, worker: str, settled_at: float) -> tuple[Any, ...]:
    """A row in the order of the columns; a number that cannot be is unknown."""
    time = as_amount(row.time, LAST_TIME) or 0.0
    counts = (row.input_tokens, row.output_tokens, row.cached_tokens, row.cache_write_tokens, row.reasoning_tokens)
    texts = (row.model, row.provider, row.upstream_model, row.client)
    return (
        row.answer_id,
        time,
        settled_at,
        name_text(row.key_id),
        name_text(row.person),
        _optional(row.team),
        *(name_text(text) for text in texts),
        _optional(row.session),
        name_text(row.wire),
        *(as_count(count, MOST_TOKENS) for count in counts),
        as_count(row.nanodollars, directory.MOST_AMOUNT),
        row.is_estimated,
        row.status,
        name_text(row.outcome),
        _optional(row.error),
        as_amount(row.seconds, MOST_SECONDS),
        as_amount(row.first_part_after, MOST_SECONDS),
        worker,
        dumps({str(window): amount for window, amount in _charges(row).items()}).decode(),
        int(time // _DAY),
    )


# ---- Joining ----

_PERSON: Final = "SELECT is_disabled FROM hub_people WHERE name = ?"
_ADD: Final = (
    "INSERT INTO hub_join_codes (digest, person, expires_at, label, key_expires_at, key_models) "
    "VALUES (?, ?, ?, ?, ?, ?)"
)
_FORGET_OLD: Final = "DELETE FROM hub_join_codes WHERE expires_at <= ?"
_TAKE: Final = (
    "DELETE FROM hub_join_codes WHERE digest = ? AND expires_at > ? RETURNING person, label, key_expires_at, key_models"
)


def add_join_code(work: Transaction, code: JoinCode) -> None:
    """Keeps the digest of a code, and forgets those that are over."""
    work.run(_FORGET_OLD, (work.now(),))
    if not work.rows(_PERSON, (code.person,)):
        raise DirectoryConflictError(f"invite person {code.person}", f"there is no person {code.person}")
    models = None if code.key_models is None else dumps(code.key_models).decode()
    work.run(_ADD, (code.digest, code.person, code.expires_at, code.label, code.key_expires_at, models))


def join(work: Transaction, code_digest: bytes, key_id: str, key_digest: bytes) -> directory.Key | None:
    """Makes a key for a code, which is deleted by that: of two that use it at once, one gets nothing."""
    found = work.rows(_TAKE, (code_digest, work.now()))
    if not found:
        return None
    person, label, expires_at, said = found[0]
    if any(is_disabled for (is_disabled,) in work.rows(_PERSON, (person,))):
        return None
    models = None if said is None else tuple(loads(said))
    key = directory.Key(key_id, key_digest, person, label, models, expires_at=expires_at)
    change_directory(work, [directory.Put(key)], f"join code of {person}", None)
    return key


# ---- What workers learn of tokens ----

SERIES: Final = "sample"
"""The kind of facts that are kept in a series: none takes the place of another, and only the newest count."""

SERIES_LENGTH: Final = 12
"""How many facts of a series are kept; `tokens/records.py` looks at no more."""

_MOST_KEPT: Final = 100_000
"""How many facts are kept; a ledger keeps as many counts."""

_TRIMMED_EVERY: Final = 64

_BATCH: Final = "SELECT batch FROM hub_learned_batch"
_NEXT: Final = "UPDATE hub_learned_batch SET batch = ?"
_KEEP: Final = (
    "INSERT INTO hub_learned (key, kind, owner, batch, worker, value) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (key) DO UPDATE SET batch = excluded.batch, worker = excluded.worker, value = excluded.value"
)
_TRIM_SERIES: Final = (
    "DELETE FROM hub_learned WHERE kind = ? AND owner = ? AND key NOT IN"
    " (SELECT key FROM hub_learned WHERE kind = ? AND owner = ? ORDER BY batch DESC, key DESC LIMIT ?)"
)
_TRIM: Final = (
    "DELETE FROM hub_learned WHERE batch <= (SELECT batch FROM hub_learned ORDER BY batch DESC LIMIT 1 OFFSET ?)"
)
_LAST_OF_PAGE: Final = "SELECT batch FROM hub_learned WHERE batch > ? ORDER BY batch LIMIT 1 OFFSET ?"
_NEW: Final = (
    "SELECT key, kind, owner, value, worker FROM hub_learned WHERE batch > ? AND batch <= ? ORDER BY batch, key"
)
_OF_SERIES: Final = (
    "SELECT key, kind, owner, value FROM hub_learned WHERE kind = ? AND owner = ? ORDER BY batch DESC, key DESC LIMIT ?"
)


def exchange_learned(work: Transaction, worker: str, rows: Sequence[LearnedRow], since: int, most: int) -> LearnedBatch:
    """Keeps what a worker has learned, and reads what others have since."""
    newest = _keep(work, worker, rows) if rows else work.rows(_BATCH)[0][0]
    page = work.rows(_LAST_OF_PAGE, (since, most - 1))
    # A batch is read as a whole, so that the next question can begin after it.
    last = page[0][0] if page else newest
    found = work.rows(_NEW, (since, last))
    owners = sorted({owner for _, kind, owner, _, _ in found if kind == SERIES})
    return LearnedBatch(
        last,
        tuple(LearnedRow(*row) for *row, learned_by in found if row[1] != SERIES and learned_by != worker),
        {
            owner: tuple(LearnedRow(*row) for row in reversed(work.rows(_OF_SERIES, (SERIES, owner, SERIES_LENGTH))))
            for owner in owners
        },
        last < newest,
    )


def _keep(work: Transaction, worker: str, rows: Iterable[LearnedRow]) -> int:
    ((batch,),) = work.locked(_BATCH)
    batch = int(batch) + 1
    work.run(_NEXT, (batch,))
    ordered = sorted({row.key: row for row in rows}.values())
    work.run_many(_KEEP, [(row.key, row.kind, row.owner, batch, worker, row.value) for row in ordered])
    for owner in sorted({row.owner for row in ordered if row.kind == SERIES}):
        work.run(_TRIM_SERIES, (SERIES, owner, SERIES, owner, SERIES_LENGTH))
    if batch % _TRIMMED_EVERY == 0:
        work.run(_TRIM, (_MOST_KEPT,))
    return batch


# ---- Invariants ----


class BrokenInvariant(NamedTuple):
    """What does not hold at a window, such as `person/ana/money/day, window 12`, or a worker."""

    where: str
    got: str
    expected: str

    def __str__(self) -> str:
        return f"{self.where}: got {self.got}, expected {self.expected}"


_SUMS_OF_WINDOWS: Final = "SELECT id, budget, spent, leased, overrun, highest_limit FROM hub_windows ORDER BY id"
_SUMS_OF_LEASES: Final = "SELECT window_id, sum(amount), sum(forfeited) FROM hub_leases GROUP BY window_id"
_ORPHANS: Final = (
    "SELECT DISTINCT worker FROM hub_leases"
    " WHERE NOT EXISTS (SELECT 1 FROM hub_workers WHERE hub_workers.name = hub_leases.worker) ORDER BY worker"
)
_CHARGES: Final = "SELECT charges, count(*) FROM hub_ledger GROUP BY charges"


def broken_invariants(work: Transaction) -> list[BrokenInvariant]:
    """All that does not hold: empty, unless Partstream has a fault or other programs wrote into the tables."""
    orphans = [BrokenInvariant(f"worker {name}", "leases", "none: it has left") for (name,) in work.rows(_ORPHANS)]
    return [*_of_windows(work), *orphans]


def _of_windows(work: Transaction) -> Iterator[BrokenInvariant]:
    leases = {window: (int(amount), int(forfeited)) for window, amount, forfeited in work.rows(_SUMS_OF_LEASES)}
    charged: Counter[int] = Counter()
    for text, count in work.rows(_CHARGES):
        for number, amount in loads(text).items():
            charged[int(number)] += amount * count
    for window, budget, spent, leased, overrun, highest_limit in work.rows(_SUMS_OF_WINDOWS):
        where = f"{budget}, window {window}"
        amount, forfeited = leases.get(window, (0, 0))
        taken = charged.pop(window, 0)
        if leased != amount:
            yield BrokenInvariant(where, f"{leased:,} leased", f"the sum of the leases, {amount:,}")
        if spent + leased > highest_limit:
            yield BrokenInvariant(where, f"{spent:,} spent and {leased:,} leased", f"{highest_limit:,} at most")
        if spent + overrun != taken + forfeited:
            yield BrokenInvariant(
                where,
                f"{spent:,} spent and {overrun:,} overrun",
                f"the charges of the ledger, {taken:,}, and what is forfeited, {forfeited:,}",
            )
    for window, amount in charged.items():
        yield BrokenInvariant(f"window {window}", f"charges of {amount:,}", "none: there is no such window")


# ---- Workers ----

_KNOWN: Final = "SELECT is_gone FROM hub_workers WHERE name = ?"
_BEAT: Final = "UPDATE hub_workers SET counter = counter + 1, seen_at = ?, is_gone = FALSE WHERE name = ?"
_FIRST_BEAT: Final = (
    "INSERT INTO hub_workers (name, counter, started_at, seen_at, is_gone) VALUES (?, 1, ?, ?, FALSE)"
    " ON CONFLICT (name) DO UPDATE SET counter = hub_workers.counter + 1, seen_at = excluded.seen_at"
)
_WORKERS: Final = (
    "SELECT name, counter, started_at, seen_at, is_gone FROM hub_workers WHERE NOT is_gone OR seen_at > ? ORDER BY name"
)
_SHOWN_SECONDS: Final = 86_400.0
"""For how long a worker that is gone is shown. Its row stays until its journal is found, which may be never."""
_VERSION_AND_HUB: Final = "SELECT version, identity FROM hub_directory"


def heartbeat(work: Transaction, worker: str, windows: Collection[int]) -> HeartbeatResult:
    """Shows that a worker is alive, and reads what has changed."""
    now = work.now()
    known = work.locked(_KNOWN, (worker,))
    if known:
        work.run(_BEAT, (now, worker))
    else:
        work.run(_FIRST_BEAT, (worker, now, now))
    if any(is_gone for (is_gone,) in known):
        take_back(work, worker)
    # The windows that the worker asks for, and those with a recall that it has not answered.
    ((version, identity),), workers, found, leases = work.rows_of(
        Query(_VERSION_AND_HUB),
        Query(_WORKERS, (now - _SHOWN_SECONDS,)),
        Query(_PULSE.format(places=places(len(windows)) or "NULL"), (*sorted(windows), worker)),
        held_by(worker),
    )
    return HeartbeatResult(
        now,
        version,
        {
            name: WorkerState(counter, started_at, seen_at, bool(is_gone))
            for name, counter, started_at, seen_at, is_gone in workers
        },
        windows_in(found),
        leases_in(leases),
        identity,
    )
