"""`partstream check`: what the report says and with which exit code it ends."""

import json

import pytest
from click.testing import CliRunner, Result

from partstream.cli import main
from partstream.lm.contract import RULES
from rows import one_test_for

ITEM = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": '{"path": "/src"}'}
CREATED = {"type": "response.created", "response": {"id": "resp_1", "model": "m", "status": "in_progress"}}
TEXT = {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": "Hi"}
CALL = {"type": "response.output_item.done", "output_index": 1, "item": ITEM}
COMPLETED = {"type": "response.completed", "response": {"id": "resp_1", "model": "m", "status": "completed"}}
FAILED = {"type": "error", "code": "server_error", "message": "it \x1b[31mbroke"}


def _check(*arguments: str, events: list[dict] | None = None, data: bytes | None = None) -> Result:
    if events is not None:
        data = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    return CliRunner().invoke(main, ["check", *arguments], input=data)


def _report(*arguments: str, events: list[dict]) -> tuple[int, dict, dict[str, dict]]:
    result = _check("-", "--json", *arguments, events=events)
    report = json.loads(result.output)
    return result.exit_code, report, {row["id"]: row for row in report["rules"]}


def test_a_good_stream_keeps_the_contract_and_every_rule_has_a_row():
    code, report, rows = _report(events=[CREATED, TEXT, CALL, COMPLETED])
    assert code == 0
    assert report["kept"] is True
    assert report["outcome"] == "completed"
    assert report["parts"] == {"TextPart": 1, "ToolCallPart": 1}
    assert list(rows) == list(RULES)
    assert {row["verdict"] for row in rows.values()} == {"kept", "not judged"}
    assert rows["tool-call.namespaced-call-id"]["verdict"] == "kept"


def test_a_stream_that_shows_nothing_breaks_a_must_and_exits_1():
    code, report, rows = _report(events=[CREATED, COMPLETED])
    assert code == 1
    assert report["kept"] is False
    row = rows["stream.visible-part"]
    assert (row["verdict"], row["section"], row["level"], row["count"]) == ("broken", "5.3", "MUST", 1)
    assert row["details"] == ["at the end: the response completed without text, a tool call or data (parts: 0)"]


def test_tool_names_are_judged_only_when_the_tools_are_given():
    events = [CREATED, CALL, COMPLETED]
    verdicts = {
        tools: _report(*tools, events=events)[2]["tool-call.known-tool"]["verdict"]
        for tools in ((), ("--tool", "read"), ("--tool", "list", "--tool", "read"), ("--tool", "list"))
    }
    assert list(verdicts.values()) == ["not judged", "kept", "kept", "broken"]
    assert _check("-", "--tool", "list", events=events).exit_code == 1


def test_a_broken_should_is_a_warning_and_exits_0():
    code, report, rows = _report(events=[CREATED, {**TEXT, "delta": "half \ude00"}, COMPLETED])
    assert code == 0
    assert report["kept"] is True
    assert rows["text.utf-8"]["verdict"] == "warning"


def test_many_violations_of_one_rule_are_counted_and_the_first_few_shown():
    calls = [
        {**CALL, "output_index": number, "item": {**ITEM, "id": f"fc_{number}", "call_id": f"call_{number}"}}
        for number in range(10)
    ]
    _, _, rows = _report("--tool", "list", events=[CREATED, *calls, COMPLETED])
    row = rows["tool-call.known-tool"]
    assert row["count"] == 10
    assert [detail.partition(":")[0] for detail in row["details"]] == ["part 0", "part 1", "part 2"]
    assert "and 7 more" in _check("-", "--tool", "list", events=[CREATED, *calls, COMPLETED]).output


@pytest.mark.parametrize(
    ("events", "outcome", "code"), [([CREATED, TEXT], "truncated", 4), ([CREATED, TEXT, FAILED], "failed", 3)]
)
def test_a_broken_upstream_is_said_clearly_but_breaks_no_rule(events, outcome, code):
    ended, report, rows = _report(events=events)
    assert (ended, report["outcome"], report["nothing_to_judge"]) == (code, outcome, False)
    assert report["error"]["message"]
    assert rows["failure.language-model-error"]["verdict"] == "kept"
    assert rows["stream.visible-part"]["verdict"] == "not judged"

    said = " ".join(_check("-", events=events).output.split())
    assert f"The stream is {outcome}:" in said
    assert "The upstream caused this end; it does not break a rule for the provider." in said


def test_what_has_no_place_among_parts_is_counted():
    strange = {"type": "response.strange.delta", "delta": "?"}
    _, report, _ = _report(events=[CREATED, strange, strange, TEXT, COMPLETED])
    assert report["unmapped"] == {"response.strange.delta": 2}
    assert "2 response.strange.delta" in " ".join(_check("-", events=[CREATED, strange, strange, TEXT]).output.split())


def test_the_report_for_people_names_every_rule_and_the_verdict():
    result = _check("-", events=[CREATED, COMPLETED])
    assert result.exit_code == 1
    for rule_id in RULES:
        assert rule_id in result.output
    assert "Contract broken:" in result.output


def test_a_recording_cannot_steer_the_terminal():
    item = {**ITEM, "name": "\x1b[2Jread[bold]"}
    events = [{**TEXT, "type": "response.\x1b[2J"}, CREATED, {**CALL, "item": item}, FAILED]
    output = _check("-", "--tool", "list", events=events).output
    assert "\x1b" not in output
    assert "[bold]" in output


def test_a_file_is_read_whatever_its_framing(tmp_path):
    lines = tmp_path / "stream.jsonl"
    lines.write_text("".join(json.dumps(event) + "\n" for event in (CREATED, TEXT, COMPLETED)))
    events = tmp_path / "stream.sse"
    events.write_text("".join(f"data: {json.dumps(event)}\n\n" for event in (CREATED, TEXT, COMPLETED)))
    for path in (lines, events):
        result = _check(str(path), "--json")
        assert result.exit_code == 0
        report = json.loads(result.output)
        assert (report["file"], report["parts"]) == (str(path), {"TextPart": 1})


@one_test_for(
    ("arguments", "data", "reason"),
    [
        (["/does/not/exist.jsonl"], None, "cannot read /does/not/exist.jsonl: No such file or directory"),
        (["."], None, "cannot read .: Is a directory"),
        (["-"], b"", "it is empty"),
        (["-"], b"this is no stream\n", "expected events of one of"),
        (["-"], b'{"type": "purple"}\n', "events of the types purple"),
        (["-"], b'{"type": "\\u001b[2J"}\n', "\\u001b[2J"),
        (["-", "--protocol", "purple"], b"{}\n", "'purple' is not one of 'ag-ui', 'ai-gateway'"),
    ],
)
def test_a_file_that_cannot_be_read_exits_2_and_says_why(arguments, data, reason):
    result = _check(*arguments, data=data)
    assert result.exit_code == 2
    assert reason in result.output
    assert "Traceback" not in result.output
    assert "\x1b" not in result.output
