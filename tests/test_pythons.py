"""The runs on other Pythons: which there are, what they install, and that a failure shows."""

import json
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from interop.servers.environments import NotInstalledError
from interop.servers.results import Verdict
from tools.pythons.editions import CHOICES, Edition, editions, untested_bounds
from tools.pythons.missing import install
from tools.pythons.reports import seen_in
from tools.release.pythons import SUPPORTED

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "packages/partstream/pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_supported_python_is_run_with_each_choice_of_packages():
    assert [edition.name for edition in editions()] == [f"{one}-{choice}" for one in SUPPORTED for choice in CHOICES]
    ours = ".".join(map(str, sys.version_info[:2]))
    assert all(edition.python for edition in editions() if edition.version == ours)


def test_the_pythons_that_are_run_are_those_that_the_package_says_it_supports():
    said = {line.rpartition(" ")[2] for line in PROJECT["classifiers"] if line.startswith("Programming Language :: ")}
    assert said == set(SUPPORTED)
    assert PROJECT["requires-python"] == f">={SUPPORTED[0]}"


def test_a_python_that_the_machine_does_not_have_is_left_out_by_name():
    with pytest.raises(NotInstalledError, match=r"this machine has no Python 3\.14"):
        Edition("3.14", "oldest", "").install()


def test_a_missing_python_comes_from_the_first_source_that_has_it_and_each_other_one_says_why_not():
    asked: list[str] = []

    def without(version: str) -> None:
        asked.append(f"without {version}")
        raise NotInstalledError("the network is away")

    def with_all(version: str) -> None:
        asked.append(f"with {version}")

    said: list[str] = []
    install("3.14", said.append, {"one": without, "two": with_all, "three": without})
    assert asked == ["without 3.14", "with 3.14"]
    assert said == ["  not from one: the network is away", "  Python 3.14 from two"]


def test_a_bound_that_is_older_than_what_was_run_is_named():
    oldest = {one.name: next(iter(one.specifier)).version for one in map(Requirement, PROJECT["dependencies"])}
    assert [*untested_bounds(oldest)] == []
    assert [*untested_bounds({**oldest, "rich": "99.1"})] == [f"rich>={oldest['rich']}, tested from 99.1"]


CASE = '<testcase classname="tests.test_a" name="test_x"'


@pytest.mark.parametrize(
    ("cases", "verdict", "says"),
    [
        (f"{CASE}/>{CASE}><skipped message='why'/></testcase>", Verdict.WORKS, "1 passed, 1 skipped"),
        (
            f"{CASE}/>{CASE}><failure message='no'/></testcase>",
            Verdict.FAILS,
            "1 passed, 0 skipped, failed: tests.test_a.test_x",
        ),
        ("", Verdict.FAILS, "0 passed, 0 skipped"),
    ],
    ids=["passed", "failed", "nothing ran"],
)
def test_a_run_is_as_good_as_its_worst_test(cases: str, verdict: Verdict, says: str):
    seen = seen_in(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    assert (seen.verdict, seen.says) == (verdict, says)


def test_no_python_that_was_run_failed():
    results = json.loads((ROOT / "tools" / "pythons" / "results.json").read_text(encoding="utf-8"))
    assert {name.partition("-")[0] for name in results} <= set(SUPPORTED)
    seen = [one for result in results.values() for tests in result["seen"].values() for one in tests.values()]
    assert {one["verdict"] for one in seen} <= {Verdict.WORKS}
