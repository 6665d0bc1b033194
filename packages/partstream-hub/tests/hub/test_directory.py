"""The directory in the database: what goes in comes out, changes are whole, noted, and seen by version."""

from dataclasses import replace

import pytest

from hub.stores import HubDatabase, reserve, revoked, settle
from partstream.codec.checks import InvalidArgumentError
from partstream.tokens.amounts import BudgetUnit, Period
from partstream_hub.directory import (
    AuditLevel,
    BudgetRule,
    DirectoryChange,
    Key,
    ModelPrice,
    ModelRoute,
    Owner,
    OwnerKind,
    Person,
    Policy,
    RateLimits,
    Remove,
    Route,
    Team,
)
from partstream_hub.store.store import HubStore
from partstream_hub.store.values import (
    AnswerContent,
    Charge,
    DirectoryChangedError,
    DirectoryConflictError,
    HubStoreUnusableError,
    JoinCode,
    LedgerRow,
)
from rows import one_test_for

TEAM = Team("core", ("gpt-*", "claude-4"), RateLimits(60, 100_000, 5), Policy(AuditLevel.CONTENT, 7))
ANA = Person("ana", "core", is_admin=True, models=(), rates=RateLimits(concurrent_answers=2))
KEY = Key("k1", b"\0" * 32, "ana", "laptop; a 'quoted' one", ("gpt-5",), RateLimits(10), 0.0, 2e9)
OF_TEAM = BudgetRule(Owner(OwnerKind.TEAM, "core"), BudgetUnit.MONEY, Period.MONTH, 10**12, "Europe/Berlin")
OF_PERSON = BudgetRule(Owner(OwnerKind.PERSON, "ana"), BudgetUnit.TOKENS, Period.WEEK, 2_000_000)
OF_KEY = BudgetRule(Owner(OwnerKind.KEY, "k1"), BudgetUnit.MONEY, Period.DAY, 0, "America/Santiago")
MODEL = ModelRoute(
    "gpt-5", (Route("openai", "gpt-5.2", 3), Route("azure", "x/gpt:5")), ("gpt-4",), False, ModelPrice(3, 15, None, 4)
)
ALL = [TEAM, ANA, KEY, OF_TEAM, OF_PERSON, OF_KEY, MODEL]


def test_what_is_put_into_the_directory_comes_out_of_it(hub_store: HubStore) -> None:
    assert hub_store.change(ALL, "ana") == 1
    directory = hub_store.directory()
    assert directory is not None
    assert directory.teams == {"core": TEAM}
    assert directory.people == {"ana": ANA}
    assert directory.keys == {"k1": replace(KEY, created_at=directory.keys["k1"].created_at)}
    assert directory.keys["k1"].created_at == pytest.approx(hub_store.time(), abs=60)
    assert directory.routes == {"gpt-5": MODEL}
    assert directory.budgets_of(directory.keys["k1"]) == (OF_KEY, OF_PERSON, OF_TEAM)
    assert directory.team_of(ANA) == TEAM


def test_a_directory_is_read_again_only_when_its_version_has_changed(hub_database: HubDatabase) -> None:
    store, other = hub_database.migrated(), hub_database.store()
    store.change(ALL, "ana")
    assert other.directory(1) is None
    assert other.heartbeat("w1").version == 1
    store.change([revoked(KEY)], "ana")
    assert other.heartbeat("w1").version == 2
    directory = other.directory(1)
    assert directory is not None
    assert directory.keys["k1"].revoked_at is not None


CONFLICTS: list[tuple[list[DirectoryChange], str]] = [
    ([replace(ANA, team="nobody")], "put person ana: there is no team nobody"),
    ([replace(KEY, id="k2", person="bob")], "put key k2: there is no person bob"),
    ([replace(KEY, digest=b"x" * 32)], "put key k1: a key with this id is there"),
    ([revoked(KEY), KEY], "put key k1: it was revoked, which is for ever"),
    ([Remove("team", "core")], "remove team core: it has people: ana"),
    ([Remove("model", "gpt-9")], "remove model gpt-9: it is not there"),
    ([Remove("budget", "team/core/money/day")], "remove budget team/core/money/day: it is not there"),
    ([replace(OF_KEY, owner=Owner(OwnerKind.KEY, "k2"))], "put budget key/k2/money/day: there is no key k2"),
]


@pytest.mark.parametrize(("changes", "message"), CONFLICTS, ids=[message.split(":")[0] for _, message in CONFLICTS])
def test_a_change_that_does_not_fit_changes_nothing(
    hub_store: HubStore, changes: list[DirectoryChange], message: str
) -> None:
    hub_store.change(ALL, "ana")
    before = hub_store.directory()
    with pytest.raises(DirectoryConflictError) as raised:
        hub_store.change([Team("web"), *changes], "ana")
    assert message in str(raised.value)
    assert hub_store.directory() == before


def test_what_was_planned_for_another_version_is_not_done(hub_store: HubStore) -> None:
    hub_store.change(ALL, "ana")
    hub_store.change([Team("web")], "ana", expected_version=1)
    with pytest.raises(DirectoryChangedError, match="got version 2, expected 1"):
        hub_store.change([Team("data")], "ana", expected_version=1)


def test_a_person_leaves_with_keys_and_budgets_and_what_was_spent_stays(hub_store: HubStore) -> None:
    hub_store.change(ALL, "ana")
    window = hub_store.open_windows([OF_TEAM])[OF_TEAM.id].id
    settle(hub_store, "w1", [LedgerRow("a1", 1.7e9, "k1", "ana", "core", "gpt-5", charges=(Charge(window, 5),))])
    hub_store.change([Remove("person", "ana")], "bob")
    directory = hub_store.directory()
    assert directory is not None
    assert (directory.people, directory.keys, set(directory.budgets)) == ({}, {}, {OF_TEAM.owner})
    assert {record.action for record in hub_store.records() if record.version == 2} == {
        "remove person ana",
        "remove key k1",
        f"remove budget {OF_KEY.id}",
        f"remove budget {OF_PERSON.id}",
    }
    assert hub_store.read("SELECT person, team FROM hub_ledger") == [("ana", "core")]
    assert hub_store.open_windows([OF_TEAM])[OF_TEAM.id].spent == 5


def test_who_changed_what_is_noted_without_a_digest(hub_store: HubStore) -> None:
    hub_store.change(ALL, "ana")
    hub_store.change([replace(TEAM, models=None), revoked(KEY)], "bob")
    newest = hub_store.records(2)
    assert [(one.version, one.by, one.action) for one in newest] == [
        (2, "bob", "revoke key k1"),
        (2, "bob", "change team core"),
    ]
    assert newest[1].before is not None
    assert newest[1].before["models"] == ["gpt-*", "claude-4"]
    assert newest[0].after is not None
    assert newest[0].after["revoked_at"] == 1.9e9
    assert sum(one.version == 1 for one in hub_store.records()) == len(ALL)
    assert all("digest" not in (one.before or {}) and "digest" not in (one.after or {}) for one in hub_store.records())


def test_a_limit_that_changes_holds_at_once_and_a_lower_one_lets_nothing_begin(hub_store: HubStore) -> None:
    hub_store.change([*ALL[:3], rule := replace(OF_TEAM, limit=1_000)], "ana")
    hub_store.heartbeat("w1")
    reserve(hub_store, "w1", "a1", rule, 800)
    hub_store.change([replace(rule, limit=500)], "ana")
    assert hub_store.open_windows([rule])[rule.id].limit == 500
    assert reserve(hub_store, "w1", "a2", rule, 1) is None
    hub_store.change([replace(rule, limit=900)], "ana")
    assert reserve(hub_store, "w1", "a3", rule, 500, 1) == 100
    assert hub_store.check() == []
    # A worker that has not heard of the change cannot open a window with the limit of before.
    hub_store.change([replace(rule, period=Period.DAY, limit=70)], "ana")
    stale = replace(rule, period=Period.DAY, limit=10**9)
    assert hub_store.open_windows([stale])[stale.id].limit == 70


def test_a_budget_that_is_removed_and_comes_back_remembers_what_was_spent(hub_store: HubStore) -> None:
    hub_store.change(ALL, "ana")
    hub_store.heartbeat("w1")
    window = hub_store.open_windows([OF_TEAM])[OF_TEAM.id].id
    settle(hub_store, "w1", [LedgerRow("a1", 1.7e9, "k1", "ana", "core", "gpt-5", charges=(Charge(window, 5),))])
    hub_store.change([Remove("budget", OF_TEAM.id)], "ana")
    hub_store.change([again := replace(OF_TEAM, limit=77)], "ana")
    found = hub_store.open_windows([again])[again.id]
    assert (found.id, found.limit, found.spent) == (window, 77, 5)


# ---- codes to join with ----


def test_a_code_makes_one_key(hub_store: HubStore) -> None:
    hub_store.change(ALL, "ana")
    hub_store.add_join_code(JoinCode(b"c" * 32, "ana", hub_store.time() + 60, "phone", 2e9))
    assert hub_store.join(b"x" * 32, "k2", b"d" * 32) is None
    key = hub_store.join(b"c" * 32, "k2", b"d" * 32)
    assert key is not None
    assert (key.person, key.label, key.expires_at) == ("ana", "phone", 2e9)
    assert hub_store.join(b"c" * 32, "k3", b"e" * 32) is None
    directory = hub_store.directory()
    assert directory is not None
    assert (directory.version, set(directory.keys)) == (2, {"k1", "k2"})
    assert hub_store.records(1)[0].by == "join code of ana"


def test_a_code_that_is_over_or_whose_person_is_gone_is_worth_nothing(hub_database: HubDatabase) -> None:
    now = 1_800_000_000.0
    store = hub_database.migrated(lambda: now)
    store.change([*ALL, Person("bob"), Person("eve")], "ana")
    for number, person in enumerate(("ana", "bob", "eve")):
        store.add_join_code(JoinCode(bytes([number]) * 32, person, now + 60))
    with pytest.raises(DirectoryConflictError, match="there is no person zoe"):
        store.add_join_code(JoinCode(b"z" * 32, "zoe", now + 60))
    store.change([Person("bob", is_disabled=True), Remove("person", "eve")], "ana")
    assert store.join(b"\1" * 32, "k2", b"d" * 32) is None
    assert store.join(b"\2" * 32, "k2", b"d" * 32) is None
    now += 60
    assert store.join(b"\0" * 32, "k2", b"d" * 32) is None


# ---- texts of others ----

HOSTILE = (
    "'; DROP TABLE hub_ledger; --",
    '"); DELETE FROM hub_keys; --',
    "?",
    "%s %(name)s %%",
    "{places}",
    "\\' OR 1=1",
    "$1",
    "a\0b",
    "half \ud800 of a pair",
    "x" * 5_000,
)


@pytest.mark.parametrize("text", HOSTILE)
def test_sql_in_a_text_does_nothing(hub_store: HubStore, text: str) -> None:
    """Names are checked; labels, names of models and sessions of clients, and contents are any text."""
    hub_store.change(ALL, text)
    hub_store.heartbeat(kept := text.encode(errors="replace").decode().replace("\0", "?")[:900])
    window = hub_store.open_windows([OF_TEAM])[OF_TEAM.id].id
    reserve(hub_store, kept, "a1", OF_TEAM, 10)
    row = LedgerRow(
        "a1", 1.7e9, text, text, text, text, text, text, text, text, text, error=text, outcome=text,
        charges=(Charge(window, 5),),
    )  # fmt: skip
    settle(hub_store, kept, [row], [AnswerContent("a1", 1.7e9, text, text, text)])
    expected = text.encode(errors="replace").decode().replace("\0", "?")
    found = hub_store.read("SELECT key_id, person, team, model, client, session, wire, error FROM hub_ledger")
    assert set(found[0]) == {expected[:1_000]}
    content = hub_store.contents("a1")
    assert content is not None
    assert (content.request, content.response) == (expected, expected)
    assert hub_store.read("SELECT count(*) FROM hub_ledger WHERE model = ?", (expected[:1_000],)) == [(1,)]
    assert hub_store.records(1)[0].by == expected[:1_000]
    directory = hub_store.directory()
    assert directory is not None
    assert set(directory.keys) == {"k1"}
    assert hub_store.check() == []


@one_test_for("name", ["", "-ana", "ana bob", "ana;", "'ana'", "a/b", "x" * 81, "\u0430na", "ana\n", None])
def test_a_name_is_checked_before_it_reaches_the_database(name: str) -> None:
    for make in (Team, Person, lambda name: replace(KEY, id=name), lambda name: replace(KEY, person=name)):
        with pytest.raises(InvalidArgumentError, match="a name of letters, digits"):
            make(name)


def test_a_question_of_ones_own_cannot_change_anything(hub_store: HubStore) -> None:
    hub_store.change(ALL, "ana")
    with pytest.raises(HubStoreUnusableError, match=r"attempt to write|ReadOnlySqlTransaction"):
        hub_store.read("DELETE FROM hub_models RETURNING name")
    assert hub_store.read("SELECT name FROM hub_models WHERE name LIKE 'gpt%'") == [("gpt-5",)]


def test_kept_contents_are_deleted_when_they_are_old(hub_store: HubStore) -> None:
    rows = [LedgerRow(name, 1.7e9, "k1", "ana", "core", "gpt-5") for name in ("a1", "a2")]
    contents = [AnswerContent("a1", 100.0, "ana", "old", ""), AnswerContent("a2", 200.0, "ana", "new", "")]
    settle(hub_store, "w1", rows, contents)
    settle(hub_store, "w1", rows, [replace(contents[0], request="another")])
    assert hub_store.contents("a1") == contents[0]
    assert hub_store.forget_contents_of(150.0, ()) == 1
    assert hub_store.contents("a1") is None
    assert hub_store.contents("a2") == contents[1]
