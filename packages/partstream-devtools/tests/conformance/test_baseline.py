"""The baseline of known failures: what is expected passes, what is stale fails."""

import json
import tomllib
from pathlib import Path

import pytest

from partstream_devtools.conformance.report import (
    Baseline,
    BaselineError,
    CheckResult,
    Verdict,
    baseline_text,
    read_baseline,
)
from rows import one_test_for

TWO_CALLS = "tool-call.unique-call-id/two-calls"
TEXT = "text.utf-8/text"
SCENARIOS = {"two-calls": (TWO_CALLS,), "text": (TEXT,)}


def _result(verdict: Verdict, check: str = TWO_CALLS, *, scored: bool = True) -> CheckResult:
    rule, _, scenario = check.partition("/")
    return CheckResult(check, rule, "3.2", "MUST", scenario, verdict, "A promise.", scored=scored)


EXPECTING = Baseline({TWO_CALLS: "issue 12"})


@one_test_for(
    ("verdict", "is_expected", "is_stale"),
    [
        (Verdict.FAILED, True, False),
        (Verdict.UNTESTABLE, True, False),
        (Verdict.WARNING, True, False),
        (Verdict.PASSED, False, True),
        (Verdict.NOT_APPLICABLE, False, True),
        (Verdict.NOT_JUDGED, False, False),
        (Verdict.ERROR, False, False),
    ],
)
def test_an_entry_expects_a_failure_and_is_stale_once_the_check_no_longer_fails(
    verdict: Verdict, is_expected: bool, is_stale: bool
):
    result = _result(verdict)
    assert EXPECTING.apply(result).expected is is_expected
    assert bool(EXPECTING.stale([result], SCENARIOS)) is is_stale


def test_a_failure_that_no_entry_expects_still_breaks_the_contract():
    new = EXPECTING.apply(_result(Verdict.FAILED, TEXT))
    assert new.breaks
    assert not EXPECTING.apply(_result(Verdict.FAILED)).breaks


def test_an_entry_of_a_check_that_was_not_chosen_is_not_stale():
    assert EXPECTING.stale([_result(Verdict.PASSED, TEXT)], SCENARIOS) == ()


def test_an_entry_of_a_rule_that_a_scenario_is_not_about_is_stale_once_the_scenario_runs_without_it():
    odd = "thinking.string-id/text"
    baseline = Baseline({odd: ""})
    assert baseline.stale([_result(Verdict.FAILED, odd), _result(Verdict.PASSED, TEXT)], SCENARIOS) == ()
    assert [one.id for one in baseline.stale([_result(Verdict.PASSED, TEXT)], SCENARIOS)] == [odd]
    assert baseline.stale([_result(Verdict.PASSED, TWO_CALLS)], SCENARIOS) == ()


def test_an_entry_of_no_check_is_stale_and_names_the_nearest():
    (stale,) = Baseline({"tool-call.unique-call-id/two-cals": ""}).stale([], SCENARIOS)
    assert stale.reason == (f"tool-call.unique-call-id/two-cals is no check of this version; did you mean {TWO_CALLS}?")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("known.toml", f'[expected]\n"{TWO_CALLS}" = "issue 12"\n'),
        ("known.json", json.dumps({"expected": {TWO_CALLS: "issue 12"}})),
    ],
)
def test_a_baseline_is_toml_or_json(tmp_path: Path, name: str, text: str):
    path = tmp_path / name
    path.write_text(text)
    assert dict(read_baseline(path).expected) == {TWO_CALLS: "issue 12"}


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("known.toml", b"[expected", "Expected"),
        ("known.toml", b"\xff", "utf-8"),
        ("known.toml", b"[expeced]\n", "expected one table named `expected`"),
        ("known.toml", b"[expected]\na = 3\n", "expected one table named `expected`"),
        ("known.json", b"[]", "expected one table named `expected`"),
        ("known.json", b"{", "Expecting"),
    ],
)
def test_a_baseline_of_another_shape_is_refused_with_its_name(tmp_path: Path, name: str, data: bytes, says: str):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(BaselineError, match=says) as caught:
        read_baseline(path)
    assert caught.value.path == str(path)


def test_a_baseline_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(BaselineError, match="No such file"):
        read_baseline(tmp_path / "nowhere.toml")


def test_the_first_baseline_of_a_target_expects_all_that_fails_and_nothing_else(tmp_path: Path):
    results = [
        _result(Verdict.FAILED),
        _result(Verdict.PASSED, TEXT),
        _result(Verdict.FAILED, 'odd."name"/x'),
        _result(Verdict.FAILED, "new.check/x", scored=False),
    ]
    text = baseline_text(results, "known")
    assert tomllib.loads(text) == {"expected": {TWO_CALLS: "known", 'odd."name"/x': "known"}}
    path = tmp_path / "known.toml"
    path.write_text(text)
    written = read_baseline(path)
    assert not any(written.apply(one).breaks for one in results)
