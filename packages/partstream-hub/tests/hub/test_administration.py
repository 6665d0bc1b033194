"""Changing a hub by plans: one transaction each, made for what was seen; on both databases."""

import pytest

from partstream_hub.commands_database import Administration
from partstream_hub.configuration import Section, document_of, plan_of, read_hub_file
from partstream_hub.directory import Owner, OwnerKind
from partstream_hub.hub import code_digest
from partstream_hub.store.store import HubStore
from partstream_hub.store.values import DirectoryChangedError, DirectoryConflictError

FILE = """
[teams.lab]
budgets = ["100 USD/month"]
[people.ana]
team = "lab"
[people.ben]
team = "lab"
[models.fast]
price = "1/5"
"""


@pytest.fixture
def hub(hub_store: HubStore) -> Administration:
    """A hub with a team of two."""
    hub = Administration(hub_store, "ana")
    hub.carry_out(plan_of(hub.directory(), read_hub_file(FILE)))
    return hub


def test_a_plan_is_one_version_whatever_it_changes(hub: Administration) -> None:
    wanted = read_hub_file(FILE.replace('"100 USD/month"', '"7 USD/day"').replace("people.ben", "people.cy"))
    assert hub.carry_out(plan_of(hub.directory(), wanted)) == 2
    assert document_of(hub.directory()) == wanted
    assert {one.by for one in hub.store.records()} == {"ana"}


def test_a_plan_that_was_made_for_something_else_changes_nothing(hub: Administration) -> None:
    mine = plan_of(hub.directory(), read_hub_file(FILE.replace("1/5", "2/5")))
    theirs = plan_of(hub.directory(), read_hub_file(FILE.replace("1/5", "3/5")))
    hub.carry_out(theirs)
    now = hub.directory()
    with pytest.raises(DirectoryChangedError, match="the hub has been changed meanwhile"):
        hub.carry_out(mine)
    assert hub.directory() == now


def test_a_plan_that_fails_in_its_middle_changes_nothing(hub: Administration) -> None:
    wanted = read_hub_file('[people.cy]\n[people.di]\nteam = "nobody"\n[people.ana]\n[people.ben]\n')
    before = hub.directory()
    with pytest.raises(DirectoryConflictError, match="there is no team nobody"):
        hub.carry_out(plan_of(hub.directory(), wanted))
    assert hub.directory() == before


def test_a_plan_that_changes_nothing_makes_no_version(hub: Administration) -> None:
    assert hub.carry_out(plan_of(hub.directory(), read_hub_file(FILE))) == hub.directory().version == 1


def test_all_keys_of_a_person_who_is_removed_go_along(hub: Administration) -> None:
    kept, _ = hub.add_key("ben")
    revoked, _ = hub.add_key("ben")
    hub.add_key("ana")
    hub.revoke([revoked.id])
    hub.carry_out(plan_of(hub.directory(), read_hub_file('[people.ana]\nteam = "lab"\n')))
    assert kept.id not in hub.directory().keys


def test_a_key_with_budgets_of_its_own_is_made_at_once(hub: Administration) -> None:
    key, _ = hub.add_key("ana", fields={"budgets": ("1 USD/day", "10k tokens/week"), "time_zone": "Asia/Tokyo"})
    rules = hub.directory().budgets[Owner(OwnerKind.KEY, key.id)]
    assert [(rule.limit, rule.time_zone) for rule in rules] == [(10**9, "Asia/Tokyo"), (10_000, "Asia/Tokyo")]
    hub.carry_out(plan_of(hub.directory(), {Section.KEYS: {key.id: {"budgets": ("2 USD/day",)}}}))
    (rule,) = hub.directory().budgets[Owner(OwnerKind.KEY, key.id)]
    assert (rule.limit, rule.time_zone) == (2 * 10**9, "UTC")
    assert hub.directory().version == 3


def test_a_code_is_for_one_person_who_is_there(hub: Administration) -> None:
    code = hub.invite("ana", expires_at=hub.store.time() + 60, label="editor")
    digest = code_digest(code.reveal())
    assert digest is not None
    key = hub.store.join(digest, "k1", bytes(32))
    assert key is not None
    assert (key.person, key.label) == ("ana", "editor")
    with pytest.raises(DirectoryConflictError):
        hub.invite("cy", expires_at=hub.store.time() + 60)
