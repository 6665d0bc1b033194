"""What `check`, `replay` and `upstream --replay` say of recordings: many files, other wires, streams without an end."""

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from commands import call_process, run
from partstream.cli import main
from partstream.lm.contract import RULES
from recordings import FOLDER as RECORDINGS

CREATED = {"type": "response.created", "response": {"id": "resp_1", "model": "m", "status": "in_progress"}}
TEXT = {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": "Hi"}
COMPLETED = {"type": "response.completed", "response": {"id": "resp_1", "model": "m", "status": "completed"}}
CONVERSE = {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hi"}}}
MESSAGE_START = {"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "content": []}}

STREAMS = {
    "good.jsonl": [CREATED, TEXT, COMPLETED],
    "empty.jsonl": [CREATED, COMPLETED],
    "cut.jsonl": [CREATED, TEXT],
    "converse.jsonl": [CONVERSE, CONVERSE],
    "messages.jsonl": [MESSAGE_START, {"type": "ping"}, {"type": "message_stop"}],
}


def _lines(events: list[dict]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, events in STREAMS.items():
        (tmp_path / name).write_bytes(_lines(events))
    return tmp_path


def _run(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "40"}).invoke(main, [str(argument) for argument in arguments])


# ---- many files ----


def test_check_says_one_line_for_each_of_many_files_and_how_many_are_fine(folder: Path):
    result = _run("check", *(folder / name for name in STREAMS))
    good, empty, cut, converse, messages, summary = result.output.splitlines()
    assert good == f"kept      {folder}/good.jsonl: 1 TextPart"
    assert empty.startswith(f"broken    {folder}/empty.jsonl: no parts; stream.visible-part (1×)")
    assert cut.startswith(f"truncated {folder}/cut.jsonl: 1 TextPart; the stream ended before")
    assert "a stream of Bedrock Converse, which this version does not read" in converse
    assert messages.startswith(f"broken    {folder}/messages.jsonl: no parts; stream.visible-part (1×)")
    assert summary == "5 files: 1 kept, 2 broken, 1 truncated, 1 not read."
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["good.jsonl", "good.jsonl"], 0),
        (["good.jsonl", "cut.jsonl"], 4),
        (["converse.jsonl", "cut.jsonl", "good.jsonl"], 2),
        (["converse.jsonl", "cut.jsonl", "empty.jsonl"], 1),
    ],
)
def test_the_exit_code_of_several_files_is_the_lowest_of_those_that_are_not_fine(
    folder: Path, names: list[str], code: int
):
    assert _run("check", *(folder / name for name in names)).exit_code == code


def test_quiet_names_only_what_is_not_fine(folder: Path):
    quiet = _run("check", "--quiet", folder / "good.jsonl", folder / "cut.jsonl")
    assert len(quiet.output.splitlines()) == 1
    assert "cut.jsonl" in quiet.output
    assert _run("check", "-q", folder / "good.jsonl").output == ""


def test_verbose_shows_every_rule_of_every_file(folder: Path):
    verbose = _run("check", "-v", folder / "good.jsonl", folder / "empty.jsonl")
    assert all(verbose.output.count(rule_id) >= 2 for rule_id in RULES)
    assert _run("check", "-v", "-q", folder / "good.jsonl").exit_code == 2


def test_json_of_many_files_is_an_object_a_line(folder: Path):
    result = _run("check", "--json", folder / "good.jsonl", folder / "converse.jsonl")
    good, converse = map(json.loads, result.output.splitlines())
    assert good["kept"] is True
    assert converse["error"]["type"] == "RecordingError"


def test_rule_ids_are_whole_in_a_narrow_pipe(folder: Path):
    output = _run("check", folder / "good.jsonl").output
    assert "…" not in output
    assert all(any(line.startswith(rule_id) for line in output.splitlines()) for rule_id in RULES)


# ---- what is not understood, and what has no end ----

COMMANDS = {
    "check": ("check",),
    "check of many": ("check", "-q"),
    "replay": ("replay",),
    "replay as JSON": ("replay", "--json"),
    "upstream": ("upstream", "--replay"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("name", "wire"), [("converse", "Bedrock Converse")])
def test_no_command_takes_a_stream_of_another_wire_for_one_of_ours(folder: Path, command: str, name: str, wire: str):
    result = _run(*COMMANDS[command], folder / f"{name}.jsonl")
    assert result.exit_code == 2
    assert f"a stream of {wire}, which this version does not read" in result.output
    assert "kept" not in result.output


@pytest.mark.parametrize("command", ["check", "replay"])
@pytest.mark.parametrize("name", ["converse", "messages"])
def test_a_protocol_that_is_named_makes_no_stream_of_another_wire_pass(folder: Path, command: str, name: str):
    result = _run(command, "--protocol", "openresponses", folder / f"{name}.jsonl")
    assert result.exit_code == 2
    assert "nothing in it is an event of openresponses" in result.output


@pytest.mark.recordings
@pytest.mark.parametrize("folder", ["anthropic_messages", "chat_completions", "gemini", "ollama", "openresponses"])
def test_no_recording_passes_as_a_stream_of_another_protocol(folder: str):
    """A `ping` among their events once had half of the files pass, of which nothing was understood."""
    spoken = folder.replace("_", "-")
    files = sorted((RECORDINGS / folder).glob("*.jsonl"))[:10]  # a hundred take ten seconds
    if not files:
        pytest.skip(f"no recordings in {RECORDINGS / folder}")
    for protocol in ("openresponses", "chat-completions", "anthropic-messages", "gemini", "ollama", "ai-sdk"):
        lines = _run("check", "--quiet", "--protocol", protocol, *files).output.splitlines()
        unread = {line for line in lines if line.startswith("not read")}
        assert len(unread) == (0 if protocol == spoken else len(files)), protocol


def test_check_and_replay_end_with_a_code_of_its_own_for_a_stream_without_an_end(folder: Path):
    check, replay = _run("check", folder / "cut.jsonl"), _run("replay", folder / "cut.jsonl")
    assert (check.exit_code, replay.exit_code) == (4, 4)
    assert "the stream ended before the response was complete" in check.output
    assert "the stream ended before the response was complete" in replay.output


def test_a_stream_that_breaks_before_its_first_part_has_nothing_to_judge(tmp_path: Path):
    path = tmp_path / "cut.jsonl"
    path.write_bytes(_lines([CREATED]))
    result = _run("check", path)
    assert result.exit_code == 4
    assert "Nothing to judge: the stream holds no part." in result.output
    assert "Contract kept" not in result.output
    report = json.loads(_run("check", "--json", path).output)
    assert report["nothing_to_judge"] is True
    assert {row["verdict"] for row in report["rules"] if row["id"] != "failure.language-model-error"} == {"not judged"}
    first, second, summary = _run("check", path, path).output.splitlines()
    assert first == second
    assert first.startswith(f"truncated {path}: nothing to judge; the stream ended before")
    assert summary == "2 files: 2 truncated."


def test_a_stream_that_is_cut_says_what_each_rule_lacks_to_be_judged(folder: Path):
    report = json.loads(_run("check", "--json", folder / "cut.jsonl").output)
    needs = {row["id"]: row["needs"] for row in report["rules"]}
    assert {row["verdict"] for row in report["rules"] if row["needs"] is None} == {"kept"}
    assert {needs[one] for one in needs if one.startswith("tool-call.")} == {"a tool call", "the request's tools"}
    assert {needs[one] for one in needs if one.startswith(("thinking.", "data."))} == {"a thinking part", "a data part"}
    assert {needs["stream.ends-once"], needs["stream.nothing-after-completion"]} == {"the end of the stream"}
    assert needs["text.string-value"] is needs["part.known-class"] is None
    shown = _run("check", folder / "cut.jsonl").output
    assert "Contract kept, as far as the stream goes: 6 kept, 19 not judged." in shown
    whole = _run("check", folder / "good.jsonl").output
    assert "Contract kept: 8 kept, 17 not judged." in whole


WRONG = {
    "missing": ("nowhere.jsonl", "No such file or directory"),
    "a folder": (".", "Is a directory"),
    "empty": ("empty", "it is empty"),
    "no stream": ("nonsense", "nothing that is a JSON event"),
    "broken gzip": ("broken.gz", "gzip that cannot be unpacked"),
}


@pytest.mark.parametrize(("name", "says"), WRONG.values(), ids=WRONG)
def test_check_and_replay_have_the_same_words_for_the_same_fault(tmp_path: Path, name: str, says: str):
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "nonsense").write_bytes(b"hello\n")
    (tmp_path / "broken.gz").write_bytes(gzip.compress(_lines([CREATED]))[:-4])
    said = {_run(command, tmp_path / name).output for command in ("check", "replay")}
    assert len(said) == 1
    assert says in said.pop()
    named = {_run(command, "--protocol", "purple", tmp_path / name).output.splitlines()[-1] for command in COMMANDS_OF}
    assert len(named) == 1


COMMANDS_OF = ("check", "replay")


def test_a_capture_is_read_as_an_array_and_packed(folder: Path):
    (folder / "good.json").write_text(json.dumps(STREAMS["good.jsonl"], indent=2))
    (folder / "good.sse.gz").write_bytes(gzip.compress(b"".join(b"data: %b\n\n" % _lines([e]).strip() for e in GOOD)))
    result = _run("check", folder / "good.json", folder / "good.sse.gz")
    assert result.exit_code == 0, result.output
    assert result.output.count("1 TextPart") == 2


GOOD = STREAMS["good.jsonl"]


# ---- pipes ----


def test_a_text_in_many_pieces_is_written_in_one(tmp_path: Path):
    """A terminal takes as long for one letter as for a page."""
    path = tmp_path / "long.jsonl"
    path.write_bytes(_lines([CREATED, *[TEXT] * 5000, COMPLETED]))
    result = _run("replay", path)
    assert result.output.startswith("Hi" * 5000 + "\n")


@pytest.mark.parametrize(("command", "code"), [("check", 0), ("replay", 141)])
def test_a_reader_that_goes_changes_no_verdict_and_leaves_no_traceback(tmp_path: Path, command: str, code: int):
    path = tmp_path / "long.jsonl"
    long = {**TEXT, "delta": "x" * 100_000}
    path.write_bytes(_lines([CREATED, *[long] * 20, COMPLETED]))

    async def test() -> None:
        ended = await call_process(command, str(path), reader_goes=True)
        assert (ended.code, ended.errors) == (code, "")

    run(test())


def test_a_summary_is_one_object_to_compare_with_another_parser_s_result(tmp_path: Path):
    call = {"type": "function_call", "id": "fc", "call_id": "call_1", "name": "read", "arguments": '{"path": "/"}'}
    done = {"type": "response.output_item.done", "output_index": 1, "item": call}
    path = tmp_path / "stream.jsonl"
    path.write_bytes(_lines([CREATED, TEXT, {**TEXT, "delta": "!"}, done, {"type": "response.new"}, COMPLETED]))
    result = _run("replay", "--summary", "--call-id-prefix", "", path)
    assert result.exit_code == 0
    assert json.loads(result.output) == {
        "text": "Hi!",
        "thinking": "",
        "tool_calls": [{"call_id": "call_1", "name": "read", "input": {"path": "/"}}],
        "outcome": "completed",
        "finish_reason": {"unified": "tool-calls", "raw": "completed"},
        "usage": None,
        "error": None,
        "unmapped": {"response.new": 1},
    }


DOCUMENT = (Path(__file__).resolve().parents[4] / "docs" / "command-line.md").read_text()


def test_every_field_of_the_json_stands_in_its_document(tmp_path: Path):
    path = tmp_path / "stream.jsonl"
    path.write_bytes(_lines([CREATED, TEXT, {**COMPLETED, "response": {**COMPLETED["response"], "usage": USAGE}}]))
    for line in _run("replay", "--json", path).output.splitlines():
        row = json.loads(line)
        for name in (*row, *(row.get("usage") or {}), *(row.get("finish_reason") or {})):
            assert f"`{name}`" in DOCUMENT, name
        assert f"`{row['type']}`" in DOCUMENT


USAGE = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
