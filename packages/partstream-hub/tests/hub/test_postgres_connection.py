"""A connection to Postgres: how often it is waited for, what it sends, and how many statements are planned."""

import pytest

from hub.stores import HubDatabase, row
from hub.test_reservations import OTHER, RULE
from partstream_hub.directory import BudgetRule, Need
from partstream_hub.store import postgres
from partstream_hub.store.rows import Batch, Granted, Refused, Reserve, Settle
from partstream_hub.store.values import AnswerContent, Charge


def batch(number: int, granted: Granted | None, windows: dict[str, int], text: str = "") -> Batch:
    """The end of one answer and the beginning of the next."""
    before, ended = f"a{number - 1}", []
    if granted is not None:
        numbers = tuple(granted.windows.values())
        content = AnswerContent(before, 0.0, "ana", text, text) if text else None
        ended = [Settle(row(before, Charge(numbers[0], 7)), content, numbers)]
    return Batch(ended, reserves=[Reserve(row(f"a{number}"), [Need(RULE, 9, 9)])], windows=windows)


@pytest.mark.parametrize("most_planned", [1, 4, 200])
def test_an_answer_waits_for_two_round_trips_and_no_statement_is_planned_twice(
    postgres_address: str, monkeypatch: pytest.MonkeyPatch, most_planned: int
) -> None:
    monkeypatch.setattr(postgres, "_MOST_PLANNED", most_planned)
    trips: list[int] = []
    read = postgres._Connection._read
    monkeypatch.setattr(postgres._Connection, "_read", lambda one: (trips.append(len(one._unread)), read(one))[1])
    database = HubDatabase("postgres", postgres_address)
    store = database.migrated()
    windows = {name: window.id for name, window in store.open_windows([RULE]).items()}
    found = None
    for number in range(5):
        trips.clear()
        (found,) = store.carry_out("w1", batch(number, found, windows)).reserved
        assert isinstance(found, Granted)
    assert len(trips) == 2
    # Release, enter, lock; then charge, reserve and their end. Planning is one more for each.
    assert (sum(trips) == 6) is (most_planned == 200)
    ((planned,),) = store.read("SELECT count(*) FROM pg_prepared_statements")
    assert planned <= max(most_planned, 20)
    assert store.check() == []
    database.close()


def test_an_answer_alone_waits_for_one_round_trip_and_for_no_other_worker(
    postgres_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trips: list[int] = []
    read = postgres._Connection._read
    monkeypatch.setattr(postgres._Connection, "_read", lambda one: (trips.append(len(one._unread)), read(one))[1])
    database = HubDatabase("postgres", postgres_address)
    store, other = database.migrated(), database.store()
    (window,) = store.open_windows([RULE]).values()

    def whole(answer_id: str, amount: int) -> Batch:
        trips.clear()
        one = Reserve(row(answer_id), [Need(RULE, amount, 1)], is_whole=True)
        return Batch([], reserves=[one], windows={RULE.id: window.id})

    def begun(answer_id: str, amount: int) -> Granted | Refused | None:
        result = store.carry_out_at_once("w1", whole(answer_id, amount))
        return None if result is None else result.reserved[0]

    for number in range(2):
        assert isinstance(begun(f"a{number}", 9), Granted)
    assert trips == [2]  # the question, and the end of the transaction
    found = begun("much", RULE.limit)
    assert isinstance(found, Refused)
    assert (found.window.id, found.window.reserved) == (window.id, 18)
    statement = "SELECT id FROM hub_windows WHERE id = ?"
    held: list[Granted | Refused | None] = []
    other.run(lambda work: (work.locked(statement, (window.id,)), held.append(begun("b", 9))))
    assert held == [None]  # the thread waits for it
    assert isinstance(store.carry_out("w1", whole("b", 9)).reserved[0], Granted)
    assert store.check() == []
    assert store.open_windows([RULE])[RULE.id].reserved == 27
    database.close()


@pytest.mark.parametrize("rules", [(RULE,), (RULE, OTHER)])
def test_what_follows_a_reservation_is_prepared_while_the_database_decides(
    postgres_address: str, monkeypatch: pytest.MonkeyPatch, rules: tuple[BudgetRule, ...]
) -> None:
    steps: list[object] = []
    read = postgres._Connection._read
    monkeypatch.setattr(postgres._Connection, "_read", lambda one: (steps.append("read"), read(one))[1])
    database = HubDatabase("postgres", postgres_address)
    store = database.migrated()
    windows = {name: window.id for name, window in store.open_windows(rules).items()}

    def whole(answer_id: str, amount: int) -> Batch:
        steps.clear()
        needs = [Need(rule, amount, 1) for rule in rules]
        one = Reserve(row(answer_id), needs, is_whole=True, meanwhile=lambda granted: steps.append(granted.amounts))
        return Batch([], reserves=[one], windows=windows)

    for answer_id in ("a", "b"):
        assert isinstance(store.carry_out_at_once("w1", whole(answer_id, 9)).reserved[0], Granted)
        assert steps == [{rule.id: 9 for rule in rules}, "read"]
    assert isinstance(store.carry_out_at_once("w1", whole("much", RULE.limit)).reserved[0], Refused)
    assert steps[:2] == [{rule.id: RULE.limit for rule in rules}, "read"]
    assert isinstance(store.carry_out("w1", whole("c", 9)).reserved[0], Granted)
    assert steps == ["read"]  # in the thread of the worker, nothing is done for a request
    assert [window.reserved for window in store.open_windows(rules).values()] == [27] * len(rules)
    assert store.check() == []
    database.close()


def test_a_connection_that_was_closed_while_it_was_unused_refuses_no_answer(postgres_address: str) -> None:
    database = HubDatabase("postgres", postgres_address)
    store, other = database.migrated(), database.store()
    windows = {name: window.id for name, window in store.open_windows([RULE]).items()}

    def whole(answer_id: str) -> Batch:
        return Batch([], reserves=[Reserve(row(answer_id), [Need(RULE, 9, 9)], is_whole=True)], windows=windows)

    def close() -> None:
        ((server,),) = store.read("SELECT pg_backend_pid()")
        assert other.read("SELECT pg_terminate_backend(CAST(? AS INTEGER), 5000)", (server,)) == [(True,)]

    close()
    assert store.carry_out_at_once("w1", whole("a0")) is None  # nothing can have happened
    close()
    assert isinstance(store.carry_out("w1", whole("a0")).reserved[0], Granted)
    assert store.open_windows([RULE])[RULE.id].reserved == 9
    database.close()


def test_what_is_larger_than_all_buffers_on_the_way_is_sent_and_comes_back(postgres_address: str) -> None:
    database = HubDatabase("postgres", postgres_address)
    store = database.migrated()
    windows = {name: window.id for name, window in store.open_windows([RULE]).items()}
    (found,) = store.carry_out("w1", batch(0, None, windows)).reserved
    assert isinstance(found, Granted)
    text = "word " * 2_000_000
    store.carry_out("w1", batch(1, found, windows, text))
    kept = store.contents("a0")
    assert kept is not None
    assert kept.request == kept.response == text
    database.close()
