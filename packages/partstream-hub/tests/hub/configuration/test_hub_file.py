"""`hub.toml`: what it says, what is wrong in it and where, what has to change, and that nothing is lost on the way."""

from __future__ import annotations
import string
import textwrap
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.tokens.amounts import BudgetUnit, Period
from partstream_hub.configuration import (
    FIELDS,
    TABLES,
    Section,
    StepKind,
    UnusableHubFileError,
    changes_of,
    document_of,
    plan_of,
    read_hub_file,
    written_hub_file,
)
from partstream_hub.directory import (
    AuditLevel,
    BudgetRule,
    Directory,
    Key,
    ModelPrice,
    ModelRoute,
    Owner,
    OwnerKind,
    Person,
    Policy,
    RateLimits,
    Route,
    Team,
    changed_directory,
)
from rows import one_test_for

WHOLE = """
[models.fast]
upstreams = ["work/gpt-5=3", {provider = "reserve", model = "org/gpt-5", weight = 0}]
fallbacks = ["slow"]
affinity = false
price = {input = 0.25, output = 2.0, cached_input = 0.025}

[models."org/model:7b"]
price = "1/10"

[teams.lab]
budgets = ["2M tokens/week", "100 USD/month"]
time_zone = "Europe/Berlin"
models = ["gpt-*", "fast"]
requests_per_minute = 60
tokens_per_minute = 100_000
concurrent_answers = 8
audit = "content"
content_days = 7

[people.ana]
team = "lab"
admin = true
budgets = ["$5 per day"]

[people."ben@example.com"]
disabled = true
"""


def _directory(text: str, before: Directory | None = None) -> Directory:
    """What applying a file makes of a directory."""
    now = before or Directory()
    plan = plan_of(now, read_hub_file(text))
    changes = [*changes_of(plan)]
    return changed_directory(now, changes, 1.0) if changes else now


def test_a_file_says_all_that_a_directory_can_hold():
    directory = _directory(WHOLE)
    assert directory.teams == {
        "lab": Team(
            "lab", ("fast", "gpt-*"), RateLimits(60, 100_000, 8), Policy(AuditLevel.CONTENT, 7), is_disabled=False
        )
    }
    assert directory.people == {
        "ana": Person("ana", "lab", is_admin=True),
        "ben@example.com": Person("ben@example.com", is_disabled=True),
    }
    assert directory.routes == {
        "fast": ModelRoute(
            "fast",
            (Route("work", "gpt-5", 3), Route("reserve", "org/gpt-5", 0)),
            ("slow",),
            affinity=False,
            price=ModelPrice(250_000_000, 2_000_000_000, 25_000_000),
        ),
        "org/model:7b": ModelRoute("org/model:7b", price=ModelPrice(1_000_000_000, 10_000_000_000)),
    }
    lab, ana = Owner(OwnerKind.TEAM, "lab"), Owner(OwnerKind.PERSON, "ana")
    assert directory.budgets == {
        lab: (
            BudgetRule(lab, BudgetUnit.MONEY, Period.MONTH, 100 * 10**9, "Europe/Berlin"),
            BudgetRule(lab, BudgetUnit.TOKENS, Period.WEEK, 2_000_000, "Europe/Berlin"),
        ),
        ana: (BudgetRule(ana, BudgetUnit.MONEY, Period.DAY, 5 * 10**9),),
    }


def test_what_is_exported_is_read_back_as_the_same_and_changes_nothing():
    directory = _directory(WHOLE)
    text = written_hub_file(document_of(directory))
    assert read_hub_file(text) == document_of(directory)
    assert plan_of(directory, read_hub_file(text)).steps == ()
    assert written_hub_file(read_hub_file(text)) == text


def test_two_ways_to_write_a_value_are_no_change():
    directory = _directory(WHOLE)
    other = WHOLE.replace('"2M tokens/week", "100 USD/month"', '"100.00 USD / month", "2,000k tokens a week"')
    other = other.replace('["gpt-*", "fast"]', '["fast", "gpt-*", "fast"]').replace(
        '"1/10"', "{output = 10, input = 1.0}"
    )
    assert other != WHOLE
    assert plan_of(directory, read_hub_file(other)).steps == ()


FAULTS = [
    ("teams = 3", "teams: got 3, expected a table [teams]"),
    ("[teems.lab]", "the file: got 'teems', expected one of the tables models, people, teams; did you mean 'teams'?"),
    ("[teams]\nlab = 3", "teams.lab: got 3, expected a table [teams.lab]"),
    ('[teams.lab]\nbudget = ["5 USD"]', "teams.lab: got 'budget', expected one of the fields audit, budgets, "),
    ('[teams.lab]\nbudgets = "5 USD"', "teams.lab.budgets: got '5 USD', expected a list of budgets such as 5 USD/day"),
    (
        '[teams.lab]\nbudgets = ["5 USD", "5 EUR/day"]',
        "teams.lab.budgets[1]: got '5 EUR/day', expected a budget such as",
    ),
    ("[teams.lab]\nbudgets = [5]", "teams.lab.budgets[0]: got 5, expected a budget such as"),
    (
        '[teams.lab]\nbudgets = ["5 USD/day", "6 USD/day"]',
        "teams.lab.budgets[1]: got '6 USD/day', expected one budget of money for a day; 5 USD/day is there already",
    ),
    (
        '[teams.lab]\ntime_zone = "Berlin"',
        "teams.lab.time_zone: got 'Berlin', expected the name of a time zone, such as",
    ),
    ('[teams.lab]\naudit = "all"', "teams.lab.audit: got 'all', expected one of none, metadata, content"),
    ("[teams.lab]\nrequests_per_minute = 0", "teams.lab.requests_per_minute: got 0, expected a whole number from 1"),
    (
        "[teams.lab]\nrequests_per_minute = 1.5",
        "teams.lab.requests_per_minute: got 1.5, expected a whole number from 1",
    ),
    ("[teams.lab]\nrequests_per_minute = true", "got true, expected a whole number from 1"),
    ('[teams.lab]\nmodels = ["a", ""]', "teams.lab.models[1]: got '', expected the id of a model, or a pattern"),
    ('[people."a b"]', "people: got 'a b', expected a name of letters, digits and"),
    ('[people.ana]\nadmin = "yes"', "people.ana.admin: got 'yes', expected true or false"),
    (
        '[people.ana]\nteam = "labs"\n[teams.lab]',
        "people.ana.team: got 'labs', expected one of the teams lab; did you mean",
    ),
    ('[people.ana]\nteam = "lab"\n[teams]', "people.ana.team: got 'lab', expected none: there are no teams"),
    (
        '[models.m]\nupstreams = ["gpt-5"]',
        "models.m.upstreams[0]: got 'gpt-5', expected a provider of the workers and its",
    ),
    (
        '[models.m]\nupstreams = [{provider = "p", modle = "m"}]',
        "upstreams[0]: got a table with provider, modle, expected",
    ),
    ('[models.m]\nupstreams = [{provider = "p", model = "m", weight = -1}]', "upstreams[0].weight: got -1, expected"),
    ("[models.m]\nprice = {input = 1}", "models.m.price: got a table with input, expected the US dollars of a million"),
    ('[models.m]\nprice = "1"', "models.m.price: got '1', expected the US dollars of a million tokens"),
    ('[models.m]\nprice = "1/2/3/4/5"', "models.m.price: got '1/2/3/4/5', expected"),
    (
        "[models.m]\nprice = {input = -1, output = 2}",
        "models.m.price.input: got -1, expected a number of US dollars from 0",
    ),
    ('[models.m]\nprice = "1/NaN"', "models.m.price.output: got 'NaN', expected a number of US dollars from 0"),
    ("[models.m]\nprice = {input = 0.0000000001, output = 2}", "models.m.price.input: got 1E-10, expected a number"),
    ("[teams.lab", "the file: got invalid TOML ("),
    ("a = " + "[" * 100_000, "the file: got invalid TOML (nested too deeply), expected TOML 1.0"),
    ("a = " + "1" * 5_000, "the file: got invalid TOML ("),
    ("[models.a]\nprice = {input = 1e999999999, output = 1}", "models.a.price.input: got 1E+999999999"),
]


@one_test_for(("text", "said"), FAULTS, ids=[said.split(" ")[0] + str(n) for n, (_, said) in enumerate(FAULTS)])
def test_a_fault_says_where_it_is_what_stands_there_and_what_could(text: str, said: str):
    with pytest.raises(UnusableHubFileError) as caught:
        read_hub_file(text, "team/hub.toml")
    assert len(caught.value.faults) == 1
    assert str(caught.value).startswith("team/hub.toml: ")
    assert said in str(caught.value)


def test_all_faults_are_said_at_once():
    text = '[teams.lab]\naudit = "all"\nbudgets = ["x"]\n[people.ana]\nadmin = 1\n'
    with pytest.raises(UnusableHubFileError) as caught:
        read_hub_file(text)
    assert [fault.where for fault in caught.value.faults] == [
        "teams.lab.audit",
        "teams.lab.budgets[0]",
        "people.ana.admin",
    ]


@pytest.mark.parametrize(
    "place", ['[people.ana]\nteam = "KEY"', '[teams.lab]\nmodels = [["KEY"]]', "[people.ana]\nKEY = 1"]
)
def test_a_key_in_the_wrong_place_stands_in_no_error(place: str):
    key = "psk_0a1b2c3d4e5f_9Zb7Q2mYx81KfTn0"
    with pytest.raises(UnusableHubFileError) as caught:
        read_hub_file(place.replace("KEY", key) + "\n[teams]\n" * ("teams" not in place))
    assert "9Zb7Q2mYx81KfTn0" not in str(caught.value)


def test_the_plan_is_a_diff_and_the_changes_make_it_true():
    before = _directory(WHOLE)
    after = """
        [teams.lab]
        budgets = ["150 USD/month"]
        time_zone = "Europe/Berlin"
        [teams.office]
        [people.ana]
        team = "office"
        """
    wanted = read_hub_file(textwrap.dedent(after))
    plan = plan_of(before, wanted)
    assert "\n".join(plan.lines()) == textwrap.dedent(
        """\
        ~ team lab
            - budgets = ["100 USD/month", "2M tokens/week"]
            + budgets = ["150 USD/month"]
            - models = ["fast", "gpt-*"]
            - requests_per_minute = 60
            - tokens_per_minute = 100000
            - concurrent_answers = 8
            - audit = "content"
            + audit = "metadata"
            - content_days = 7
            + content_days = 30
        + team office
        ~ person ana
            - team = "lab"
            + team = "office"
            - admin = true
            + admin = false
            - budgets = ["5 USD/day"]
        - person ben@example.com
            - disabled = true
            + disabled = false"""
    )
    assert plan.summary() == "1 added, 2 changed, 1 removed"
    assert [str(one) for one in plan.removed] == ["person ben@example.com"]
    made = changed_directory(before, [*changes_of(plan)], 2.0)
    now = document_of(made)
    assert {one: entries for one, entries in now.items() if one is not Section.MODELS} == wanted
    assert made.routes == before.routes  # the file says nothing of models


def test_a_table_that_is_left_out_is_left_alone_and_an_empty_one_is_emptied():
    before = _directory(WHOLE)
    assert plan_of(before, read_hub_file("")).steps == ()
    emptied = plan_of(before, read_hub_file("[models]\n"))
    assert [(step.kind, step.id.name) for step in emptied.steps] == [
        (StepKind.REMOVED, "fast"),
        (StepKind.REMOVED, "org/model:7b"),
    ]


def test_people_leave_a_team_before_it_goes():
    before = _directory('[teams.lab]\n[people.ana]\nteam = "lab"\n[people.ben]\nteam = "lab"')
    made = _directory("[teams.new]\n[people.ana]\nteam = 'new'", before)
    assert (set(made.teams), set(made.people)) == ({"new"}, {"ana"})


def test_applying_a_file_leaves_keys_and_their_budgets_alone():
    key = Key("k1", bytes(32), "ana")
    before = _directory(WHOLE)
    owner = Owner(OwnerKind.KEY, "k1")
    rule = BudgetRule(owner, BudgetUnit.MONEY, Period.DAY, 1)
    with_key = Directory(1, before.teams, before.people, {"k1": key}, {**before.rules, rule.id: rule}, before.routes)
    made = _directory("[people.ana]\nmodels = ['fast']", with_key)
    assert (made.keys, made.budgets[owner]) == ({"k1": key}, (rule,))


NAMES = st.text(string.ascii_letters + string.digits, min_size=1, max_size=6)
LIMITS = st.none() | st.integers(1, 10**18)
MONEY = st.integers(0, 10**18)
RATES = st.builds(RateLimits, LIMITS, LIMITS, LIMITS)
PATTERNS = st.none() | st.sets(st.sampled_from(["gpt-*", "a", "b c", 'qu"ote', "ü"])).map(
    lambda one: tuple(sorted(one))
)
PRICES = st.none() | st.builds(ModelPrice, MONEY, MONEY, st.none() | MONEY, st.none() | MONEY)
RULES = st.lists(
    st.tuples(st.tuples(st.sampled_from(BudgetUnit), st.sampled_from(Period)), MONEY),
    max_size=4,
    unique_by=lambda one: one[0],
)


@st.composite
def directories(draw: st.DrawFn) -> Directory:
    teams = {
        name: Team(name, draw(PATTERNS), draw(RATES), Policy(draw(st.sampled_from(AuditLevel))))
        for name in draw(st.sets(NAMES, max_size=3))
    }
    team = st.sampled_from([None, *teams])
    people = {
        name: Person(name, draw(team), draw(st.booleans()), draw(PATTERNS), draw(RATES))
        for name in draw(st.sets(NAMES, max_size=3))
    }
    owners = [*(Owner(OwnerKind.TEAM, one) for one in teams), *(Owner(OwnerKind.PERSON, one) for one in people)]
    rules = {}
    for owner in owners:
        zone = draw(st.sampled_from(["UTC", "Asia/Tokyo"]))
        made = [BudgetRule(owner, unit, period, limit, zone) for (unit, period), limit in draw(RULES)]
        rules |= {rule.id: rule for rule in made}
    upstreams = st.lists(st.builds(Route, NAMES, NAMES, st.integers(0, 99)), max_size=3).map(tuple)
    fallbacks = st.lists(NAMES, max_size=3, unique=True).map(tuple)
    routes = {
        name: ModelRoute(name, draw(upstreams), draw(fallbacks), draw(st.booleans()), draw(PRICES))
        for name in draw(st.sets(NAMES, max_size=3))
    }
    return Directory(1, teams, people, {}, rules, routes)


@given(directories(), directories())
def test_from_any_hub_a_file_leads_to_any_other(before: Directory, after: Directory):
    text = written_hub_file(document_of(after))
    assert read_hub_file(text) == document_of(after)
    made = _directory(text, before)
    assert (made.teams, made.people, made.budgets, made.routes) == (
        after.teams,
        after.people,
        after.budgets,
        after.routes,
    )


@pytest.mark.parametrize("section", TABLES)
def test_a_default_is_what_a_field_says_that_is_left_out(section: Section):
    for field in FIELDS[section].values():
        if field.default not in (None, (), False, True):
            assert field.read(field.default, "here") == field.default
    assert document_of(_directory(f"[{section}.x]"))[section] == read_hub_file(f"[{section}.x]")[section]


def test_prices_are_exact():
    document = read_hub_file("[models.m]\nprice = {input = 0.1, output = 0.300000001}")
    price = document[Section.MODELS]["m"]["price"]
    assert price == {"input": Decimal("0.1"), "output": Decimal("0.300000001")}
