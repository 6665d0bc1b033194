"""`partstream hub usage` and `partstream hub page`: what answers took, and the way to the page that shows it."""

from __future__ import annotations
import asyncio
import json
import os
import stat
import time
from typing import TYPE_CHECKING, Any

import pytest

from commands import Ended, call, call_process
from hub.stores import settle
from pages.read_html import read_html
from partstream.tokens.amounts import DOLLAR, BudgetUnit, Period
from partstream_hub.directory import BudgetRule, Owner, OwnerKind, Person, Team
from partstream_hub.hub import code_digest
from partstream_hub.store.opening import opened_store
from partstream_hub.store.values import LedgerRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from partstream_hub.store.store import HubStore

NOW = time.time()


def _row(number: int, person: str, model: str, client: str, nanodollars: int | None, **changes: Any) -> LedgerRow:
    return LedgerRow(
        f"answer-{number}", NOW - 1, f"k-{person}", person, "core", model, client=client, session=f"s-{client}",
        input_tokens=1_000 * number, output_tokens=number, cached_tokens=500, nanodollars=nanodollars,
        outcome="completed", **changes,
    )  # fmt: skip


ROWS = (
    _row(1, "ana", "gpt-5", "codex", 123_456_789),
    _row(2, "ana", "claude", "codex", 1, is_estimated=True),
    _row(3, "ben", "gpt-5", "", None),
)


@pytest.fixture
def database(tmp_path: Path) -> HubStore:
    """A hub of two people with three answers, all of today."""
    store = opened_store(tmp_path / "hub.sqlite")
    store.migrate()
    rule = BudgetRule(Owner(OwnerKind.PERSON, "ana"), BudgetUnit.MONEY, Period.DAY, 5 * DOLLAR)
    people = (Person("ana", "core", is_admin=True), Person("ben", "core"))
    store.change([Team("core"), *people, rule], "root")
    settle(store, "w1", ROWS)
    return store


@pytest.fixture
def hub(tmp_path: Path, database: HubStore) -> Iterator[Callable[..., Ended]]:
    """Calls `partstream hub` with that database."""

    def run(*arguments: str, code: int = 0) -> Ended:
        variables = {"PARTSTREAM_DATA": str(tmp_path), "PARTSTREAM_CACHE": str(tmp_path / "cache")}
        ended = asyncio.run(call("hub", *arguments, **variables))
        assert ended.code == code, ended.output + ended.errors
        return ended

    yield run
    database.close()


def test_a_table_ends_with_the_whole_and_says_what_is_not_known(hub: Callable[..., Ended]):
    lines = hub("usage", "--time-zone", "UTC", "--days", "2").output.splitlines()
    assert [line.split() for line in lines[:4]] == [
        ["person", "answers", "input", "cached", "output", "cost", "share"],
        ["ana", "2", "3,000", "1,000", "3", "0.12345679", "USD", "100%"],
        ["ben", "1", "3,000", "500", "3", "0.00", "USD", "0%"],
        ["all", "3", "6,000", "1,500", "6", "0.12345679", "USD", "100%"],
    ]
    assert lines[4:] == [
        "1 of 3: estimated, because the answer was cut or reported no usage.",
        "1 of 3: without a known cost, which is not in the sum.",
    ]


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("model", [["gpt-5"], ["claude"]]),
        ("client", [["codex"], [None]]),
        ("session", [["s-codex", "ana", "codex"], ["s-", "ben", ""]]),
        ("team", [["core"]]),
        ("key", [["k-ana", "ana"], ["k-ben", "ben"]]),
    ],
)
def test_programs_get_whole_numbers_that_add_up(hub: Callable[..., Ended], by: str, names: list[list[str]]):
    said = json.loads(hub("usage", "--by", by, "--json", "--time-zone", "UTC", "--days", "2").output)
    numbers = tuple(said["total"])
    assert [
        [value for name, value in one.items() if name not in (*numbers, "last_at")] for one in said["groups"]
    ] == names
    assert said["total"]["nanodollars"] == 123_456_790
    for name in numbers:
        parts = [one[name] for one in said["groups"]]
        assert all(isinstance(part, int) for part in parts)
        assert sum(parts) + said["others"][name] == said["total"][name]


def test_as_many_rows_as_asked_for_are_named_and_the_others_stand_together(hub: Callable[..., Ended]):
    said = json.loads(hub("usage", "--most", "1", "--json").output)
    assert [one["person"] for one in said["groups"]] == ["ana"]
    assert (said["others"]["groups"], said["others"]["answers"]) == (1, 1)
    assert "1 more" in hub("usage", "--most", "1").output


def test_days_and_one_person_alone(hub: Callable[..., Ended]):
    said = json.loads(hub("usage", "--by", "day", "--person", "ana", "--days", "3", "--json").output)
    assert [one["answers"] for one in said["days"]][:1] == [0]
    assert sum(one["answers"] for one in said["days"]) == said["total"]["answers"] == 2
    unknown = hub("usage", "--person", "eve")
    assert unknown.output == "No answer in the last 30 days.\n"
    assert unknown.errors == "There is no person 'eve' in the hub.\n"


def test_the_page_is_a_file_for_its_owner_alone(hub: Callable[..., Ended], tmp_path: Path):
    path = tmp_path / "out" / "page.html"
    assert hub("usage", "--html", str(path)).output == f"The page is in {path}\n"
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    page = read_html(path.read_text(encoding="utf-8"))
    assert "All of 2 people in 1 team." in page.text
    assert any(table[0][0] == "person" for table in page.tables)
    of_ben = hub("usage", "--html", "-", "--person", "ben").output
    assert "Hub: ben" in of_ben
    assert "ana" not in read_html(of_ben).text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("usage --time-zone Berlin", "'--time-zone': got 'Berlin', expected the name of a time zone"),
        ("usage --html - --by team", "--html: the page shows everything at once; leave out --json and --by"),
        ("usage --html - --person eve", "there is no person 'eve'"),
        ("usage --days 0", "0 is not in the range"),
        ("page --person eve", "--person: there is no person 'eve'"),
        ("page --url ftp://x", "--url: got 'ftp://x', expected the address of a hub"),
    ],
)
def test_what_cannot_be_done_is_said(hub: Callable[..., Ended], arguments: str, said: str):
    assert said in " ".join(hub(*arguments.split(), code=2).errors.split())


def test_a_link_to_the_page_is_printed_once_to_standard_output_alone(hub: Callable[..., Ended], database: HubStore):
    made = hub("page", "--url", "https://hub.example.com/")
    link = made.output.strip()
    address, _, code = link.partition("#")
    assert address == "https://hub.example.com/hub"
    assert code not in made.errors
    digest = code_digest(code)
    assert digest is not None
    key = database.join(digest, "k1", bytes(32))
    assert key is not None
    assert (key.person, key.models, key.label) == ("ana", (), "page of the hub")
    assert key.expires_at is not None
    assert time.time() < key.expires_at <= time.time() + 12 * 3_600
    assert database.join(digest, "k2", bytes(32)) is None


def test_whose_page_it_is_has_to_be_said_where_there_is_not_one_admin(hub: Callable[..., Ended], database: HubStore):
    database.change([Person("ben", "core", is_admin=True)], "root")
    assert "--person: expected one of ana, ben, or another person" in hub("page", code=2).errors
    database.change([Person(name, "core") for name in ("ana", "ben")], "root")
    assert "there is no admin" in hub("page", code=2).errors
    assert hub("page", "--person", "ben").output.startswith("http://127.0.0.1:")


def test_the_browser_is_given_a_file_and_never_the_link(database: HubStore, tmp_path: Path):
    asked = tmp_path / "asked"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > {asked}\n', encoding="utf-8")
    browser.chmod(0o755)
    variables = {"PARTSTREAM_DATA": str(tmp_path), "PARTSTREAM_CACHE": str(tmp_path / "cache")}
    ended = asyncio.run(call_process("hub", "page", "--browser", **variables, BROWSER=f"{browser} %s"))
    assert ended.code == 0, ended.errors
    address = asked.read_text(encoding="utf-8").strip()
    assert address == (tmp_path / "cache" / "hub-page.html").as_uri()
    page = tmp_path / "cache" / "hub-page.html"
    assert f'content="0;url={ended.output.strip()}"' in page.read_text(encoding="utf-8")
    if os.name == "posix":
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
    database.close()
