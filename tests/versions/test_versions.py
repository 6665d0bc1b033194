"""The comparison of two versions: equal ones show nothing, a change shows with a small stream, and rows cover no more
than they say."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from versions import __main__ as command
from versions.__main__ import RESULTS, Pair, main
from versions.comparing import Outputs, differences
from versions.improvements import BEFORE, IMPROVEMENTS, rows_of
from versions.processes import ROOT, reading
from versions.streams import damaged, recorded

FINISH: dict[str, Any] = {"outcome": "completed", "reason": {"unified": "stop", "raw": None}, "error": None}
FAILED = {
    "outcome": "failed",
    "reason": {"unified": "error", "raw": None},
    "error": {"type": "UpstreamFailureError", "statement": "the server failed: 4 'x'", "body": ""},
}


def _answer(*outputs: list[Any], **finish: Any) -> Outputs:
    return [*outputs, ["Finish", {**FINISH, **finish}]]


def _text(value: str) -> list[Any]:
    return ["TextPart", {"value": value}]


def _call(name: str = "add", **given: Any) -> list[Any]:
    return ["ToolCallPart", {"call_id": given.pop("call_id", "c"), "name": name, "input": given}]


def _unmapped(kind: str, **data: Any) -> list[Any]:
    return ["Unmapped", {"type": kind, "data": data}]


@pytest.mark.parametrize(
    ("before", "now", "found"),
    [
        (_answer(_text("Hi")), _answer(_text("Hi")), []),
        (_answer(_text("Hi")), _answer(_text("Hi you")), ["TextPart: longer"]),
        (_answer(_text("Hi")), _answer(), ["TextPart: lost"]),
        (_answer(_text("Hi you")), _answer(_text("Hi\n\nyou")), ["TextPart: other blanks"]),
        (_answer(_text("a"), _call()), _answer(_call(), _text("a")), ["order of outputs"]),
        (_answer(), _answer(_call(a=1)), ["ToolCallPart: more"]),
        (_answer(), _answer(_call()), ["ToolCallPart: more, without arguments"]),
        (_answer(_call(a=1)), _answer(_call(a=2)), ["ToolCallPart.input: other"]),
        (
            _answer(_call(call_id="call_" + "0" * 24)),
            _answer(_call(call_id="call_" + "1" * 24)),
            ["ToolCallPart.call_id: another id of ours"],
        ),
        (
            _answer(_unmapped("tool call add (repeated)")),
            _answer(_unmapped("news 7")),
            ["Unmapped tool call … (repeated): fewer", "Unmapped news 0: more"],
        ),
        (_answer(_unmapped("news", a=1)), _answer(_unmapped("news", a=2)), ["Unmapped news: other"]),
        (
            _answer(),
            _answer(**FAILED),
            [
                "Finish.outcome: completed → failed",
                "Finish.reason.unified: stop → error",
                "Finish.error: none → UpstreamFailureError",
            ],
        ),
        (
            _answer(**FAILED),
            _answer(**{**FAILED, "error": {**FAILED["error"], "statement": "the server failed: no", "body": "{}"}}),
            ["Finish.error.statement: the server failed: 0 '…' → the server failed: no", "Finish.error.body: new"],
        ),
        (_answer(), [["raised", {"type": "KeyError"}]], ["exception: none → KeyError"]),
    ],
)
def test_what_differs_is_said_in_one_phrase_each(before: Outputs, now: Outputs, found: list[str]) -> None:
    assert [one for one in differences(before, now) if not found or one in found] == found


def test_a_row_covers_what_it_names_and_what_comes_with_it_and_no_more() -> None:
    empty = ["Finish.error: TruncatedStreamError → EmptyStreamError", "Finish.outcome: failed → truncated"]
    rows, left = rows_of("chat-completions", [*empty, "TextPart: lost"])
    assert [row.name for row in rows] == ["An error says that nothing came"]
    assert left == ["TextPart: lost"]
    assert rows_of("chat-completions", empty[1:]) == ([], empty[1:])


def test_a_row_of_some_protocols_covers_no_other() -> None:
    assert rows_of("ai-sdk", ["TextPart: other blanks"])[1] == []
    assert rows_of("gemini", ["TextPart: other blanks"])[1] == ["TextPart: other blanks"]


@pytest.fixture
def pair() -> Iterator[Pair]:
    with reading(ROOT) as before, reading(ROOT) as now:
        yield Pair(before, now)


def test_a_version_reads_as_itself(pair: Pair) -> None:
    assert [one.name for one in damaged(0, 60) if pair.differences(one.stream)] == []


@pytest.mark.recordings
def test_every_recording_is_read_in_several_ways() -> None:
    reads = [*recorded()]
    assert {one.way for one in reads} == {"at once", "a line at a time", "as events"}
    assert all(one.stream.data for one in reads)


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A checkout in which one sentence is another."""
    sources = tmp_path / "packages" / "partstream" / "src"
    shutil.copytree(ROOT / "packages" / "partstream" / "src", sources, ignore=shutil.ignore_patterns("__pycache__"))
    errors = sources / "partstream" / "errors.py"
    errors.write_text(errors.read_text(encoding="utf-8").replace("before its first event", "too early"), "utf-8")
    return tmp_path


def test_a_change_that_no_row_covers_is_shown_with_the_smallest_stream_and_ends_with_an_error(
    changed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "recorded", lambda: iter(()))
    result = CliRunner().invoke(main, ["--before", str(changed), "--streams", "40", "--seed", "400"])
    assert result.exit_code == 1, result.output
    assert "Finish.error.statement: the stream ended too early" in result.output
    assert ", 0 bytes:" in result.output


def test_a_stream_is_shown_by_its_name(changed: Path) -> None:
    result = CliRunner().invoke(main, ["--before", str(changed), "--show", "seed 404"])
    assert result.exit_code == 0, result.output
    assert "differs: Finish.error.statement" in result.output


@pytest.mark.parametrize("arguments", [["--show", "nothing"], ["--before", "nothing"]])
def test_a_name_that_nothing_has_is_an_error_that_says_what_is_expected(arguments: list[str], changed: Path) -> None:
    result = CliRunner().invoke(main, ["--before", str(changed), *arguments])
    assert result.exit_code == 2
    assert "got 'nothing', expected" in result.output


def test_the_results_are_of_the_rows_and_of_the_version_that_they_are_about() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert results["before"] == BEFORE
    assert list(results["rows"]) == [row.name for row in IMPROVEMENTS]
    assert results["damaged"] >= 20_000
