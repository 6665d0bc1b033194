"""The run of agent frameworks at two versions each: it can fail, and its table is of what it is said to be."""

import json
import re
from importlib import import_module

import pytest

from interop.frameworks.runs import OWN_TESTS, scenarios, seen_in
from interop.frameworks.table import EDITIONS, FRAMEWORKS, LOCKS, Framework
from interop.servers.environments import ROOT
from interop.servers.results import Verdict

RESULTS = json.loads((ROOT / "interop" / "frameworks" / "results.json").read_text(encoding="utf-8"))

REPORT = """<testsuites><testsuite>
<testcase name="test_scenario[many runs at once]"/>
<testcase name="test_scenario[text]"><failure message="AssertionError: nothing came&#10;more">trace</failure></testcase>
<testcase name="test_a"/><testcase name="test_b[one]"><error message="broken"/></testcase>
<testcase name="test_c"><skipped message="why"/></testcase>
</testsuite></testsuites>"""


def test_what_pytest_reports_becomes_a_verdict_for_each_scenario_and_one_for_the_rest():
    seen = seen_in(REPORT)
    assert {name: one.verdict for name, one in seen.items()} == {
        "text": Verdict.FAILS,
        "many runs at once": Verdict.WORKS,
        OWN_TESTS: Verdict.FAILS,
    }
    assert [*seen] == ["text", "many runs at once", OWN_TESTS], "in the order of the table"
    assert seen["text"].says == "AssertionError: nothing came"
    assert seen[OWN_TESTS].says == "1 passed, 1 skipped, failed: test_b[one]"


def test_a_scenario_that_one_kind_of_agents_fails_is_failed():
    broken = '<testcase name="test_scenario[graph: text]"><failure message="broken"/></testcase>'
    cases = f'<testcase name="test_scenario[agent: text]"/>{broken}<testcase name="test_scenario[chat model: text]"/>'
    seen = seen_in(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    assert {name: one.verdict for name, one in seen.items()} == {"text": Verdict.FAILS}


def test_the_scenarios_are_those_of_the_shared_table():
    found = scenarios()
    assert len(found) == len(set(found)) > 20
    assert "a cancellation in the middle" in found


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda one: one.name)
def test_both_editions_of_a_framework_are_pinned_with_hashes_and_have_been_run(framework: Framework):
    assert framework.folder.is_dir()
    for edition in EDITIONS:
        text = framework.lock(edition).read_text(encoding="utf-8")
        pins = re.findall(r"^[\w.-]+(?:\[[^]]*\])?==\S+.*\\$", text, re.MULTILINE)
        assert len(pins) == len(re.findall(r"^[\w.-]+", text, re.MULTILINE)), "each with a hash"
        wanted = (LOCKS / f"{framework.name}-{edition}.in").read_text(encoding="utf-8")
        shown = ", ".join(f"{package} {version}" for package, version in framework.versions(edition).items())
        assert all(re.search(rf"^{package}(?:\[[a-z,]+\])?==", wanted, re.MULTILINE) for package in framework.packages)
        seen = RESULTS[framework.name]["seen"][f"{edition}, {shown}"]
        assert {one["verdict"] for one in seen.values()} <= {Verdict.WORKS, Verdict.NOT_TRIED}


def test_an_adapter_says_the_versions_that_were_run():
    adapter = import_module("partstream_agents.pydantic_ai").ADAPTER
    [pydantic_ai] = [one for one in FRAMEWORKS if one.name == "pydantic-ai"]
    oldest, newest = (pydantic_ai.versions(edition)["pydantic-ai-slim"].removesuffix(".0") for edition in EDITIONS)
    assert adapter.tested == f"{oldest}-{newest}"
