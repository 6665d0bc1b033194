"""`partstream hub`: people, keys, budgets and models by commands and by a file; on SQLite and on Postgres."""

from __future__ import annotations
import asyncio
import json
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from commands import Ended, call, run
from hub import stores
from hub.stores import settle
from partstream_hub.hub import code_digest, verified_key
from partstream_hub.store.opening import opened_store
from partstream_hub.store.values import AnswerContent, LedgerRow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream_hub.directory import BudgetRule

# The fixtures of a database of each kind.
hub_database = stores.hub_database
postgres_address, postgres_administration = stores.postgres_address, stores.postgres_administration
postgres_server = stores.postgres_server


class Commands:
    """Calls `partstream hub` with one database.

    Attributes:
        variables: The environment variables of every command.
    """

    def __init__(self, **variables: str) -> None:
        self.variables = variables

    def __call__(self, *arguments: str, code: int = 0, typed: str = "") -> Ended:
        """Runs a command, which has to end with a code."""
        ended = asyncio.run(call("hub", *arguments, typed=typed, **self.variables))
        assert ended.code == code, ended.output + ended.errors
        return ended

    def rules(self) -> list[BudgetRule]:
        """The budgets in the database of the data folder."""
        store = opened_store(Path(self.variables["PARTSTREAM_DATA"]) / "hub.sqlite")
        directory = store.directory()
        store.close()
        assert directory is not None
        return [*directory.rules.values()]

    def json(self, *arguments: str, code: int = 0) -> Any:
        """What a command prints as JSON."""
        return json.loads(self(*arguments, "--json", code=code).output)


@pytest.fixture
def hub(tmp_path: Path) -> Commands:
    """A hub in a data folder of its own, with nothing configured."""
    commands = Commands(PARTSTREAM_DATA=str(tmp_path))
    commands("init")
    return commands


PEOPLE = """
[teams.lab]
budgets = ["100 USD/month"]
[people.ana]
team = "lab"
admin = true
budgets = ["5 USD/day"]
[people.ben]
team = "lab"
"""


@pytest.fixture
def people(hub: Commands) -> Commands:
    """A hub with a team of two."""
    hub("apply", "-", typed=PEOPLE)
    return hub


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    """A hub with a team of two, which no test of this file changes."""
    commands = Commands(PARTSTREAM_DATA=str(tmp_path_factory.mktemp("hub")))
    commands("init")
    commands("apply", "-", typed=PEOPLE)
    before = commands("export").output
    yield commands
    assert commands("export").output == before


def test_a_hub_needs_nothing_configured_and_says_what_comes_next(tmp_path: Path):
    hub = Commands(PARTSTREAM_DATA=str(tmp_path / "data"))
    assert "there is no hub in" in hub("list", code=2).errors
    assert not (tmp_path / "data").exists()  # looking makes nothing
    made = hub("init").output
    file = tmp_path / "data" / "hub.sqlite"
    assert str(file) in made
    for following in ("partstream hub add person", "partstream hub key add", "partstream serve --hub"):
        assert following in made
    if os.name == "posix":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "is up to date" in hub("init").output
    assert "There is nothing yet" in hub("list").output


def test_every_command_works_on_both_databases(hub_database: stores.HubDatabase):
    hub = Commands(PARTSTREAM_HUB_DATABASE=hub_database.address)
    assert "there is no hub in" in hub("list", code=2).errors
    hub("init")
    hub("add", "team", "lab", "--budget", "100 USD/month", "--budget", "2M tokens/week", "--time-zone", "Europe/Berlin")
    hub("add", "person", "ana", "--team", "lab", "--admin", "--requests-per-minute", "60")
    key = hub("key", "add", "ana", "--budget", "1 USD/day", "--expires", "90d").output.strip()
    hub("set", "model", "demo", "--price", "1/5")
    text = hub("export").output
    assert hub("apply", "-", typed=text).output == "Nothing changes.\n"
    (shown,) = hub.json("show", "ana")
    assert [one["budget"] for one in shown["budgets"]] == ["100 USD/month", "2M tokens/week"]
    assert [one["remaining"] for one in shown["budgets"]] == [100 * 10**9, 2_000_000]
    assert {one["by"].endswith(" on the command line") for one in hub.json("changes")} == {True}
    assert hub("check").output == "Nothing was found.\n"
    store = hub_database.store()
    directory = store.directory()
    assert directory is not None
    verified = verified_key(directory, key, store.time())
    assert verified is not None
    assert verified.person == "ana"
    said = json.dumps([hub.json("changes"), hub.json("list"), hub.json("key", "list")]) + text
    assert key.split("_", 2)[2] not in said
    assert verified.digest.hex() not in said
    hub("key", "revoke", verified.id)
    assert hub.json("key", "list")[0]["state"] == "revoked"
    hub("remove", "person", "ana", "--yes")
    hub("remove", "team", "lab", "--yes")
    assert hub.json("list") == {"models": {"demo": {"price": {"input": "1", "output": "5"}}}, "teams": {}, "people": {}}


def test_a_key_is_printed_once_to_standard_output_alone(people: Commands):
    made = people("key", "add", "ana", "--label", "laptop")
    key = made.output.strip()
    assert key.startswith("psk_")
    assert made.output == f"{key}\n"
    assert key not in made.errors
    (listed,) = people.json("key", "list", "ana")
    assert (listed["id"], listed["label"], listed["state"]) == (key.split("_")[1], "laptop", "good")
    secret = key.split("_", 2)[2]
    everything = "".join(
        people(*command.split()).output for command in ("list", "show ana", "changes", "key list", "export")
    )
    assert secret not in everything
    file = Path(people.variables["PARTSTREAM_DATA"])
    assert not [path for path in file.iterdir() if secret.encode() in path.read_bytes()]


def test_a_whole_key_in_the_place_of_its_id_is_not_shown_again(people: Commands):
    key = people("key", "add", "ana").output.strip()
    for command in (("key", "revoke"), ("show",), ("set", "key"), ("set", "person"), ("invite",)):
        more = ("--budget", "1 USD") if command[0] == "set" else ()
        ended = people(*command, key, *more, code=2)
        assert key.split("_", 2)[2] not in ended.output + ended.errors


def test_a_join_link_of_loopback_says_that_nobody_elsewhere_can_use_it(people: Commands):
    assert "Valid on this machine only; for people on others, --url says" in people("invite", "ben").errors


def test_a_join_link_is_printed_once_and_its_code_gives_one_key(people: Commands):
    made = people("invite", "ben", "--url", "https://hub.example.com/hub", "--label", "editor")
    link = made.output.strip()
    assert link.startswith("https://hub.example.com/hub/join#psj_")
    assert "on this machine alone" not in made.errors
    code = link.partition("#")[2]
    assert code not in made.errors
    digest = code_digest(code)
    assert digest is not None
    store = opened_store(Path(people.variables["PARTSTREAM_DATA"]) / "hub.sqlite")
    joined = store.join(digest, "k1", bytes(32))
    assert joined is not None
    assert (joined.person, joined.label) == ("ben", "editor")
    assert store.join(digest, "k2", bytes(32)) is None
    store.close()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("add person ana", "there is a person ana already; `partstream hub set person ana` changes it"),
        ("add person a/b", "NAME: got 'a/b', expected a name of letters, digits and"),
        ("add person sk-ant-0123456789abcdef0123/x", "NAME: got ***, expected a name of letters, digits and"),
        ("add person cy --team labs", "--team: there is no team 'labs'; did you mean lab?"),
        ("set person ana --team labs", "--team: there is no team 'labs'; did you mean lab?"),
        ("add person cy --budget 5", "--budget: got '5', expected a budget such as \"5 USD/day\""),
        ("add team t --audit all", "--audit: got 'all', expected one of none, metadata, content"),
        ("add team t --time-zone Berlin", "--time-zone: got 'Berlin', expected the name of a time zone"),
        ("set person anna --admin", "there is no person 'anna'; did you mean ana?"),
        ("set person ana", "nothing to change: give an option, or --unset FIELD"),
        ("set person ana --team lab --unset team", "--unset: got team, which an option sets"),
        ("set person ana --tokens-per-minute 1e3", "--tokens-per-minute: got '1e3', expected a whole number from 1"),
        ("set model m --price 1/x", "--price (output): got 'x', expected a number of US dollars from 0"),
        ("set model m --upstream work", "--upstream: got 'work', expected a provider of the workers and its model"),
        ("set key k1 --budget 1USD", "there is no key 'k1'; `partstream hub key list` shows the ids of all keys"),
        ("remove team lab --yes", "remove team lab: it has people: ana, ben"),
        ("remove person ana", "this removes person ana; --yes allows it. Nothing was changed"),
        ("key add cy", "there is no person 'cy'; `partstream hub add person NAME` adds one"),
        ("key add ana --expires 2020-01-01", "got '2020-01-01', which is over, expected how long from now"),
        ("key add ana --expires soon", "got 'soon', expected how long from now, such as 12h, 90d or 8w, or a date"),
        ("key revoke k1", "ID: got 'k1', expected the id of a key"),
        ("invite ana --url ftp://x", "--url: got 'ftp://x', expected the address of a hub"),
        ("show cy", "there is no team, person, model or key 'cy'"),
    ],
)
def test_what_cannot_be_done_is_said_with_what_was_got_and_what_helps(
    unchanged: Commands, arguments: str, said: str
) -> None:
    ended = unchanged(*arguments.split(), code=2)
    assert said in " ".join(ended.errors.split())


def test_what_no_option_names_stays_as_it_is(people: Commands):
    people("set", "person", "ana", "--budget", "7 USD/day", "--budget", "1M tokens/week", "--no-admin")
    people("set", "person", "ana", "--model", "gpt-*")
    assert people.json("list", "people")["people"]["ana"] == {
        "team": "lab",
        "budgets": ["7 USD/day", "1M tokens/week"],
        "models": ["gpt-*"],
    }
    ended = people("set", "person", "ana", "--unset", "models", "--unset", "team")
    assert ended.output.splitlines() == [
        "~ person ana",
        '    - team = "lab"',
        '    - models = ["gpt-*"]',
        "Done: 1 changed.",
    ]


def test_a_key_may_have_less_than_its_person(people: Commands):
    key_id = people("key", "add", "ana", "--model", "demo").output.split("_")[1]
    changed = people("set", "key", key_id, "--budget", "1 USD/day", "--concurrent-answers", "2").output
    assert changed.splitlines() == [
        f"~ key {key_id}",
        '    + budgets = ["1 USD/day"]',
        "    + concurrent_answers = 2",
        "Done: 1 changed.",
    ]
    (shown,) = people.json("show", key_id)
    assert shown["fields"]["models"] == ["demo"]
    assert [one["budget"] for one in shown["budgets"]] == ["1 USD/day", "5 USD/day", "100 USD/month"]
    people("set", "key", key_id, "--time-zone", "Asia/Tokyo")
    people("set", "key", key_id, "--budget", "2 USD/day")
    rules = people.rules()
    assert [(rule.limit, rule.time_zone) for rule in rules if rule.owner.name == key_id] == [(2 * 10**9, "Asia/Tokyo")]
    people("set", "key", key_id, "--time-zone", "UTC")
    assert {rule.time_zone for rule in people.rules()} == {"UTC"}
    people("set", "key", key_id, "--unset", "budgets", "--unset", "models")
    (shown,) = people.json("show", key_id)
    assert "models" not in shown["fields"]
    assert [one["of"] for one in shown["budgets"]] == ["person ana", "team lab"]


def test_a_file_is_reviewed_as_a_plan_and_applied_in_one_transaction(people: Commands, tmp_path: Path):
    file = tmp_path / "hub.toml"
    people("export", str(file))
    before = file.read_text()
    file.write_text(before.replace('["5 USD/day"]', '["6 USD/day"]') + '\n[people.cy]\nteam = "lab"\n')
    plan = people("apply", str(file), "--dry-run").output
    assert plan.splitlines() == [
        "~ person ana",
        '    - budgets = ["5 USD/day"]',
        '    + budgets = ["6 USD/day"]',
        "+ person cy",
        '    + team = "lab"',
        "Plan: 1 added, 1 changed.",
    ]
    assert people("export").output == before
    version = people.json("changes")[0]["version"]
    assert people("apply", str(file)).output.splitlines()[-1] == "Done: 1 added, 1 changed."
    made = people.json("changes")
    assert {one["version"] for one in made if one["version"] > version} == {version + 1}
    assert people("apply", str(file)).output == "Nothing changes.\n"


def test_applying_a_file_removes_nobody_unasked(people: Commands, tmp_path: Path):
    people("key", "add", "ben")
    file = tmp_path / "hub.toml"
    file.write_text('[people.ana]\nteam = "lab"\n')
    refused = people("apply", str(file), code=2)
    assert "this removes person ben; --remove allows it. Nothing was changed" in refused.errors
    assert set(people.json("list", "people")["people"]) == {"ana", "ben"}
    planned = people.json("apply", str(file), "--dry-run")
    assert planned["applied"] is False
    assert [(one["kind"], one["name"]) for one in planned["steps"]] == [("changed", "ana"), ("removed", "ben")]
    assert people.json("apply", str(file), "--remove")["applied"] is True
    assert set(people.json("list", "people")["people"]) == {"ana"}
    assert set(people.json("list", "teams")["teams"]) == {"lab"}  # the file says nothing of teams


def test_a_file_of_no_use_is_named_with_every_place_and_changes_nothing(people: Commands, tmp_path: Path):
    file = tmp_path / "hub.toml"
    file.write_text('[people.ana]\nteam = "labs"\nadmin = 1\n[teams.lab]\nbudgets = ["5 EUR/day"]\n')
    ended = people("apply", str(file), code=2)
    places = ("people.ana.admin: got 1", "teams.lab.budgets[0]: got '5 EUR/day'", "people.ana.team: got 'labs'")
    for place in places:
        assert f"{file}: {place}, expected " in ended.errors
    assert "No such file" in people("apply", str(tmp_path / "none.toml"), code=2).errors
    file.write_bytes(b"\xff")
    assert "got byte 0 that is no UTF-8" in people("apply", str(file), code=2).errors


def test_check_finds_what_keeps_people_from_asking(people: Commands):
    people("key", "add", "ana", "--expires", "36h")
    people("set", "model", "fast", "--upstream", "work/gpt-5")
    found = people.json("check", code=1)
    assert [(one["kind"], one["what"].split(" has")[0].split(" of")[0]) for one in found] == [
        ("people", "ben"),
        ("keys", found[1]["what"].split(" of")[0]),
        ("models", "fast"),
    ]
    assert "expires in less than 2 days" in found[1]["what"]
    assert "`partstream hub set model fast --price IN/OUT` sets one" in people("check", code=1).output
    people("set", "model", "fast", "--price", "0.25/2")
    people("key", "add", "ben")
    people("set", "person", "ana", "--no-admin")
    assert {one["kind"] for one in people.json("check", code=1)} == {"people", "keys"}
    assert "there is no admin" in people("check", code=1).output


def test_a_database_that_cannot_be_reached_is_a_failure_and_its_password_is_in_no_error():
    hub = Commands(PARTSTREAM_HUB_DATABASE="postgresql://worker:pa55word@127.0.0.1:9/hub")
    for command in (["list"], ["init"], ["apply", "-"]):
        ended = hub(*command, code=3)
        assert "the hub's database cannot be reached: Postgres at 127.0.0.1:9" in ended.errors
        assert "nothing takes connections there" in ended.errors
        assert "pa55word" not in ended.errors + ended.output


@pytest.mark.parametrize(
    ("address", "said"),
    [
        (
            "mysql://u:pa55word@h/d",
            "PARTSTREAM_HUB_DATABASE: got an address that begins with mysql://, expected the path",
        ),
        *(
            (address, "PARTSTREAM_HUB_DATABASE: got something else that looks like an address of Postgres")
            for address in (
                "host=127.0.0.1 user=u password=pa55word dbname=d",
                "User = u password = pa55word",
                "postgresql:/u:pa55word@h/d",
                "Postgres:u:pa55word@h/d",
            )
        ),
        ("{folder}/notes.txt", "notes.txt: got file is not a database, expected a database of a hub"),
        ("{folder}", "expected"),
    ],
)
def test_an_address_of_no_use_is_named_without_its_password(address: str, said: str, tmp_path: Path):
    (tmp_path / "notes.txt").write_text("Not a database, but a text that is long enough.\n" * 40)
    ended = Commands(PARTSTREAM_HUB_DATABASE=address.format(folder=tmp_path))("init", code=2)
    assert said in ended.errors
    assert "pa55word" not in ended.errors


def test_the_database_of_a_hub_is_no_unknown_setting_of_a_server(tmp_path: Path):
    async def test() -> None:
        ended = await call("config", "show", "--json", PARTSTREAM_HUB_DATABASE=str(tmp_path / "x"), PARTSTREAM_HUBB="1")
        assert "PARTSTREAM_HUB_DATABASE" not in ended.output
        assert "PARTSTREAM_HUBB" in ended.output

    run(test())


def _settle(people: Commands) -> None:
    """Enters some answers of ana and ben, of whom one has gone since."""
    store = opened_store(Path(people.variables["PARTSTREAM_DATA"]) / "hub.sqlite")
    now = store.time()
    answers = [("ana", "demo", "codex", 1_500_000), ("ana", "fast", "codex", 2), ("ben", "demo", "claude", None)]
    rows = [
        LedgerRow(
            f"answer-{number}", now, "k1", person, "lab", model, client=client, session="s1", input_tokens=1000,
            output_tokens=10, cached_tokens=400, nanodollars=cost, is_estimated=cost is None, outcome="completed",
        )
        for number, (person, model, client, cost) in enumerate(answers)
    ]  # fmt: skip
    store.heartbeat("w1")
    settle(store, "w1", rows, [AnswerContent("answer-0", now, "ana", '[{"role": "user"}]', "[]")])
    store.close()
    people("remove", "person", "ben", "--yes")


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ("person", {"ana": (2, 1_500_002), "ben": (1, 0)}),
        ("team", {"lab": (3, 1_500_002)}),
        ("model", {"demo": (2, 1_500_000), "fast": (1, 2)}),
        ("client", {"codex": (2, 1_500_002), "claude": (1, 0)}),
    ],
)
def test_usage_adds_up_to_the_nanodollar_by_whatever_column(people: Commands, by: str, groups: dict[str, Any]):
    _settle(people)
    report = people.json("usage", "--by", by)
    assert {one[by]: (one["answers"], one["nanodollars"]) for one in report["groups"]} == groups
    total = report["total"]
    assert (total["answers"], total["nanodollars"], total["input_tokens"]) == (3, 1_500_002, 3000)
    assert (total["unpriced"], total["estimated"]) == (1, 1)
    shown = people("usage", "--by", by).output
    assert "0.001500002 USD" in shown
    assert "1 of 3: without a known cost, which is not in the sum." in shown


def test_usage_of_one_person_and_as_a_page(people: Commands, tmp_path: Path):
    _settle(people)
    assert people.json("usage", "--person", "ana")["total"]["answers"] == 2
    gone = people("usage", "--person", "ben")
    assert "There is no person 'ben' in the hub." in gone.errors
    assert "ben" in gone.output
    file = tmp_path / "usage.html"
    people("usage", "--html", str(file))
    page = file.read_text()
    assert page.startswith("<!doctype html>")
    assert "Content-Security-Policy" in page
    assert "ana" in page
    if os.name == "posix":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "leave out --json and --by" in people("usage", "--html", "-", "--json", code=2).errors


def test_answers_are_shown_one_by_one_and_their_texts_where_they_are_kept(people: Commands):
    _settle(people)
    listed = people.json("answers", "--person", "ana")
    assert [(one["answer_id"], one["model"], one["nanodollars"]) for one in listed] == [
        ("answer-0", "demo", 1_500_000),
        ("answer-1", "fast", 2),
    ]
    assert "request" not in json.loads(people("answers", "answer-1").output)
    kept = json.loads(people("answers", "answer-0").output)
    assert (kept["request"], kept["answer"]) == ([{"role": "user"}], [])
    assert re.search(r"answer-0 +ana +demo +1,000 +10 +0.0015 +completed", people("answers").output)
    assert len(people.json("answers", "--most", "1")) == 1
    assert "expected the id of an answer in the ledger" in people("answers", "x' OR 1=1 --", code=2).errors


def test_usage_of_a_hub_without_answers_says_so(hub: Commands):
    assert hub("usage", "--days", "3").output == "No answer in the last 3 days.\n"
    assert "expected the name of a time zone" in hub("usage", "--time-zone", "Berlin", code=2).errors


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--hub --no-token", "--hub: people present keys of their own; leave out --token-file and --no-token"),
        ("--hub --token-file t", "--hub: people present keys of their own; leave out --token-file and --no-token"),
        ("--policy rules.py", "--policy: got it without --hub, expected both"),
        ("--contact it@example.com", "--contact: got it without --hub, expected both"),
        ("--hub", "--hub: there is no hub in"),
    ],
)
def test_serving_a_hub_needs_one_and_takes_no_token(arguments: str, said: str, tmp_path: Path):
    async def test() -> None:
        ended = await call("serve", "--demo", *arguments.split(), PARTSTREAM_DATA=str(tmp_path))
        assert ended.code == 2
        assert said in " ".join(ended.errors.split())
        assert not [*tmp_path.iterdir()]

    run(test())
