"""What is done to a report when its run is over."""

import json

from scripted_targets import CallsTwice, Plays, at_once, plays

from partstream.codec.redaction import Redactor
from partstream_devtools.conformance.fuzzing import (
    FuzzSettings,
    all_checks,
    replay,
    search,
    with_baseline,
    with_generated,
    with_minimal_failures,
    without_secrets,
)
from partstream_devtools.conformance.report import Baseline, Verdict
from partstream_devtools.conformance.running import Opening, run

TWO_CALLS = "tool-call.unique-call-id/two-calls"


def _report(*select: str):
    return at_once(run(plays(CallsTwice), select=select))


def test_a_known_failure_is_shown_and_does_not_break_the_contract():
    report = _report(TWO_CALLS)
    assert report.exit_code == 1
    known = with_baseline(report, Baseline({TWO_CALLS: "issue 12"}))
    assert (known.exit_code, known.stale) == (0, ())
    assert [(check.verdict, check.expected) for check in known.checks] == [(Verdict.FAILED, True)]


def test_an_entry_that_passes_breaks_the_run():
    report = _report("text.string-value/text")
    stale = with_baseline(report, Baseline({"text.string-value/text": ""}))
    assert (report.exit_code, stale.exit_code) == (0, 1)
    assert stale.to_json()["stale"] == ["text.string-value/text is passed now: take it out of the baseline."]


def test_a_check_of_generated_conversations_can_be_expected_too():
    assert "tool-call.unique-call-id/generated" in all_checks()["generated"]
    assert with_baseline(_report("text"), Baseline({"tool-call.unique-call-id/generated": ""})).stale == ()


def test_generated_results_stand_behind_the_others(tmp_path):
    settings = FuzzSettings(seconds=20, examples=20, seed=1)
    generated = at_once(search(Opening(plays(CallsTwice)), settings, tmp_path))
    report = with_generated(_report("text"), generated)
    assert "tool-call.unique-call-id/generated" in [check.id for check in report.broken]
    assert report.notes[-1] == "20 generated conversations were tried with the seed 1."
    told = report.to_json()
    assert told["transcripts"]["generated-tool-call.unique-call-id"]["moves"] == ["send"]


def test_no_secret_is_left_in_a_report():
    report = without_secrets(_report("two-calls"), Redactor(["get_weather", "get_time"]))
    assert "get_weather" not in json.dumps(report.to_json())
    assert not any("get_time" in check.got for check in report.checks)
    assert "***" in json.dumps(report.to_json()["transcripts"])


def test_a_failure_of_a_fixed_scenario_is_made_smaller_and_can_be_repeated(tmp_path):
    report = _report("two-calls")
    smaller = at_once(with_minimal_failures(report, Opening(plays(CallsTwice)), tmp_path))
    (failed,) = [check for check in smaller.broken if check.id == TWO_CALLS]
    assert "(shrunk from " in failed.got
    assert failed.minimal == str(tmp_path / "tool-call.unique-call-id.json")
    assert len(smaller.to_json()["transcripts"][failed.transcript]["answers"][0]["events"]) == 4
    assert [check.id for check in smaller.checks] == [check.id for check in report.checks]

    for provider, code in ((CallsTwice, 1), (Plays, 0)):
        again = at_once(replay(Opening(plays(provider)), tmp_path / "tool-call.unique-call-id.json"))
        assert again.exit_code == code


def test_without_a_failure_the_target_is_not_opened_again(tmp_path):
    report = at_once(run(plays(Plays), select=["two-calls"]))
    assert at_once(with_minimal_failures(report, Opening(object()), tmp_path)) is report
    assert [*tmp_path.iterdir()] == []
