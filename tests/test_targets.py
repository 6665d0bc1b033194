"""The run of the conformance kit over software of others: its rows are pinned, and faults that are known are found."""

import json
from pathlib import Path
from typing import Any

import pytest

from interop.conformance.__main__ import _shortened
from interop.conformance.table import TARGETS, ForeignTarget
from interop.servers.environments import ROOT, PythonEnvironment
from rows import one_test_for

HERE = ROOT / "interop" / "conformance"
RESULTS: dict[str, Any] = json.loads((HERE / "results.json").read_text(encoding="utf-8"))


def _check(rule: str, verdict: str, scenario: str = "text") -> dict[str, Any]:
    return {
        "rule": rule,
        "verdict": verdict,
        "scenario": scenario,
        "level": "MUST",
        "promise": "It is so.",
        "got": "it was otherwise",
        "answer": None,
        "transcript": "text",
        "minimal": None,
    }


def test_a_broken_rule_is_kept_once_with_the_end_of_what_came():
    events = [{"at": number, "part": {"type": "text", "value": str(number)}} for number in range(9)]
    checks = [_check("text.utf-8", "passed"), _check("stream.ends", "failed"), _check("stream.ends", "failed", "long")]
    report = {
        "checks": checks,
        "counts": {"passed": 1, "failed": 2},
        "seconds": 1.23,
        "transcripts": {"text": {"answers": [{"events": events}]}},
    }
    found = _shortened(report)
    assert found["counts"] == {"passed": 1, "failed": 2}
    assert list(found["broken"]) == ["stream.ends"]
    broken = found["broken"]["stream.ends"]
    assert (broken["scenario"], broken["scenarios"]) == ("text", 2)
    assert broken["came"][-1] == '{"part": {"type": "text", "value": "8"}}'
    assert len(broken["came"]) < len(events)


@one_test_for("target", TARGETS, ids=lambda target: target.name)
def test_a_target_is_pinned_and_its_result_is_of_this_version(target: ForeignTarget):
    result = RESULTS[target.name]
    assert result["package"] == target.package
    assert "skipped" in result or tuple(result["wires"]) == target.protocols
    if target.provider:
        assert (HERE / "providers" / target.provider.partition(":")[0]).is_file()
    if isinstance(target.environment, PythonEnvironment):
        assert target.environment.lock.is_file()


def test_at_least_ten_targets_are_published_and_none_has_failed_for_a_fault_of_ours():
    tested = [name for name, result in RESULTS.items() if result["wires"]]
    assert len(tested) >= 10
    assert not [name for name in tested for wire in RESULTS[name]["wires"].values() if "failed" in wire]


@pytest.mark.parametrize(
    ("target", "wire", "rule"),
    [
        ("aimock", "openresponses", "usage.as-reported"),
        ("aimock", "anthropic-messages", "usage.as-reported"),
        ("LiteLLM", "anthropic-messages", "failure.rejects"),
    ],
)
def test_the_kit_finds_the_faults_that_are_known(target: str, wire: str, rule: str):
    assert rule in RESULTS[target]["wires"][wire]["broken"]


@pytest.mark.parametrize("name", ["LiteLLM", "any-llm"])
def test_parsers_that_hand_out_calls_which_the_server_has_run_are_found(name: str):
    parsers = json.loads((Path(ROOT) / "interop" / "parsers" / "results.json").read_text(encoding="utf-8"))
    right, of = parsers[name]["wires"]["anthropic-messages"]["aspects"]["calls"]
    assert right < of


def test_the_parser_that_splices_the_arguments_of_two_calls_is_found():
    parsers = json.loads((Path(ROOT) / "interop" / "parsers" / "results.json").read_text(encoding="utf-8"))
    assert "made-up.message-starts-again" in parsers["anthropic"]["wires"]["anthropic-messages"]["wrong"]
    assert "made-up.message-starts-again" not in parsers["partstream"]["wires"]["anthropic-messages"]["wrong"]
