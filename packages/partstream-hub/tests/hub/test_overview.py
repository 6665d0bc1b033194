"""What the page of the hub reads from its database: all for an admin, for a person what is the person's."""

from __future__ import annotations
import re
from datetime import UTC
from typing import TYPE_CHECKING

import pytest

from hub.stores import reserve, revoked, settle
from partstream.tokens.amounts import DOLLAR, BudgetUnit, Period
from partstream_hub.directory import (
    BudgetRule,
    Key,
    ModelPrice,
    ModelRoute,
    Owner,
    OwnerKind,
    Person,
    Team,
)
from partstream_hub.store.values import Charge, JoinCode, LedgerRow
from partstream_hub.usage import OWNER, GroupBy, changed_fields, overview

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hub.stores import HubDatabase
    from partstream_hub.store.store import HubStore
    from partstream_hub.usage import HubView

NOW = 1_772_000_000.0
TEAM, ANA, BEN = Owner(OwnerKind.TEAM, "core"), Owner(OwnerKind.PERSON, "ana"), Owner(OwnerKind.PERSON, "ben")


def money(owner: Owner, dollars: int, period: Period = Period.DAY) -> BudgetRule:
    return BudgetRule(owner, BudgetUnit.MONEY, period, dollars * DOLLAR, "Europe/Berlin")


RULES = (
    money(TEAM, 500, Period.MONTH),
    money(ANA, 5),
    money(BEN, 7),
    BudgetRule(Owner(OwnerKind.KEY, "k-ana"), BudgetUnit.TOKENS, Period.TOTAL, 1_000_000),
)


def answer(answer_id: str, person: str, nanodollars: int, charges: Sequence[Charge] = ()) -> LedgerRow:
    """An answer of a minute ago."""
    return LedgerRow(
        answer_id, NOW - 60, f"k-{person}", person, "core", "gpt-5", client="codex", session=f"session of {person}",
        input_tokens=100, output_tokens=10, nanodollars=nanodollars, charges=tuple(charges),
    )  # fmt: skip


@pytest.fixture
def store(hub_database: HubDatabase) -> HubStore:
    """A hub of a team with two people, each with a key, of which one has answers."""
    made = hub_database.migrated(lambda: NOW)
    made.change([Team("core"), Person("ana", "core"), Person("ben", "core", is_admin=True)], "root")
    made.change([Key(f"k-{name}", bytes(32), name, label="laptop") for name in ("ana", "ben")], "root")
    made.change(list(RULES), "root")
    windows = made.open_windows(RULES)
    team, own = windows[RULES[0].id].id, windows[RULES[1].id].id
    made.heartbeat("w1")
    made.heartbeat("w2")
    reserve(made, "w1", "r1", RULES[0], 3 * DOLLAR)
    reserve(made, "w1", "r2", RULES[1], DOLLAR)
    charges = (Charge(team, DOLLAR), Charge(own, DOLLAR))
    settle(made, "w1", [answer("a1", "ana", DOLLAR, charges), answer("b1", "ben", 0)])
    return made


def seen(store: HubStore, person: str | None, days: int = 7) -> HubView:
    """What a person sees, or the owner of the database."""
    directory = store.directory()
    assert directory is not None
    reader = OWNER if person is None else directory.people.get(person)
    assert reader is not None
    return overview(store, directory, reader, days, UTC, "UTC")


def test_a_budget_is_shown_as_the_database_has_it(store: HubStore):
    team, *others = seen(store, None).budgets
    budgets = {(one.rule.owner.kind, one.name, one.label): one for one in (team, *others)}
    team = budgets[OwnerKind.TEAM, "core", ""]
    assert (team.window.limit, team.window.spent, team.window.reserved, team.window.free) == (
        500 * DOLLAR,
        DOLLAR,
        3 * DOLLAR,
        496 * DOLLAR,
    )
    own = budgets[OwnerKind.PERSON, "ana", ""]
    assert (own.team, own.window.spent, own.window.reserved, own.rule.period) == ("core", DOLLAR, DOLLAR, Period.DAY)
    assert NOW < (own.window.ends_at or 0) <= NOW + 86_400
    key = budgets[OwnerKind.KEY, "ana", "laptop"]
    assert (key.team, key.window.spent, key.window.limit, key.window.ends_at) == ("core", 0, 1_000_000, None)


def test_a_budget_that_nobody_has_used_yet_says_when_it_resets(hub_database: HubDatabase):
    made = hub_database.migrated(lambda: NOW)
    made.change([Person("ana"), money(ANA, 5)], "root")
    (budget,) = seen(made, None).budgets
    assert (budget.window.spent, budget.window.reserved, budget.window.free) == (0, 0, 5 * DOLLAR)
    (window,) = made.open_windows([money(ANA, 5)]).values()
    assert budget.window.ends_at == window.ends_at


def test_an_admin_sees_everything(store: HubStore):
    for person in (None, "ben"):
        view = seen(store, person)
        assert (view.people, view.teams, view.usage.total.answers) == (2, 1, 2)
        assert [one.name for one in view.usage.groups[GroupBy.PERSON].shown] == ["ana", "ben"]
        assert {(one.name, one.is_live, one.answers) for one in view.workers} == {("w1", True, 2), ("w2", True, 0)}
        assert view.database is not None
        assert (view.database.broken, view.database.ledger_since) == ((), NOW - 60)
        assert view.changes[0].by == "root"


def test_a_person_sees_only_what_is_the_persons(store: HubStore):
    view = seen(store, "ana")
    assert (view.workers, view.database, view.changes, view.people) == ((), None, (), 0)
    assert {(one.rule.owner.kind, one.name) for one in view.budgets} == {
        (OwnerKind.TEAM, "core"), (OwnerKind.PERSON, "ana"), (OwnerKind.KEY, "ana"),
    }  # fmt: skip
    assert view.usage.total.answers == 1
    assert set(view.usage.groups) == {GroupBy.MODEL, GroupBy.CLIENT, GroupBy.SESSION}
    assert [one.name for one in view.usage.groups[GroupBy.SESSION].shown] == ["session of ana"]
    assert "ben" not in repr(view)


def test_a_worker_without_a_heartbeat_is_shown_as_silent(hub_database: HubDatabase):
    hub_database.migrated(lambda: NOW - 60).heartbeat("w1")
    later = hub_database.store(lambda: NOW)
    later.heartbeat("w2")
    assert {one.name: one.is_live for one in seen(later, None).workers} == {"w1": False, "w2": True}


def test_a_change_says_what_became_of_each_field_and_shows_no_digest(store: HubStore):
    store.change([money(ANA, 6), revoked(store.directory().keys["k-ben"])], "ben")
    changes = {one.action: one for one in seen(store, None).changes[:2]}
    (of_budget,) = [one for name, one in changes.items() if "budget" in name]
    assert tuple(changed_fields(of_budget)) == ("limit: 5.00 USD → 6.00 USD",)
    assert "digest" not in repr(seen(store, None).changes)
    assert bytes(32).hex() not in repr(seen(store, None).changes)


def test_values_of_changes_are_amounts_and_times_as_people_read_them(store: HubStore):
    store.change([ModelRoute("fast", price=ModelPrice(DOLLAR // 4, 2 * DOLLAR))], "ben")
    store.change([revoked(store.directory().keys["k-ben"])], "ben")
    of_key, made = seen(store, None).changes[:2]
    assert "price: input 0.25 USD, output 2.00 USD a million tokens" in changed_fields(made)
    (at,) = [one for one in changed_fields(of_key) if one.startswith("revoked_at")]
    assert re.fullmatch(r"revoked_at: none → \d{4}-\d\d-\d\d \d\d:\d\d UTC", at)


def test_budgets_that_do_not_add_up_are_named(store: HubStore, hub_database: HubDatabase):
    engine = hub_database.engine()
    engine.run(lambda work: work.run("UPDATE hub_windows SET reserved = reserved + 5 WHERE budget = ?", (RULES[1].id,)))
    database = seen(store, None).database
    assert database is not None
    assert database.broken == (
        f"{RULES[1].id}, window 2: got {DOLLAR + 5:,} reserved, expected the sum of the reservations, {DOLLAR:,}",
    )


def test_a_code_for_the_page_gives_a_key_that_asks_no_model(store: HubStore):
    store.add_join_code(JoinCode(b"c" * 32, "ana", NOW + 60, "page", NOW + 3_600, ()))
    key = store.join(b"c" * 32, "k-page", b"d" * 32)
    assert key is not None
    assert (key.person, key.models, key.expires_at) == ("ana", (), NOW + 3_600)
    assert store.join(b"c" * 32, "k-other", b"e" * 32) is None
    directory = store.directory()
    assert directory is not None
    assert directory.keys["k-page"].models == ()
    store.add_join_code(JoinCode(b"f" * 32, "ana", NOW + 60))
    usual = store.join(b"f" * 32, "k-usual", b"g" * 32)
    assert usual is not None
    assert usual.models is None
