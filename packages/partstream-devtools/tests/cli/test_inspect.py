"""`partstream inspect`: what it prints, and what its exit codes say."""

from __future__ import annotations
import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from inspector import sample_streams as streams
from inspector.sample_streams import answer, bundle, exchange, paced
from partstream.cli import main
from partstream.lm.parts import TextPart, ToolCallPart
from partstream_devtools.bundles.archive import write_bundle
from partstream_devtools.bundles.exchange import Bundle, HowEnded, RecordedError
from partstream_devtools.capturing.bundling import RecordingFolder
from partstream_devtools.commands_inspect import summary
from partstream_devtools.inspector.metrics import collapsed
from partstream_devtools.inspector.view import ViewedFile, view_of
from rows import one_test_for

if TYPE_CHECKING:
    from pathlib import Path

_LOST = RecordedError("UpstreamConnectionError", "the connection broke")


def _run(*arguments: object, data: bytes = b"") -> Result:
    return CliRunner().invoke(main, ["inspect", *map(str, arguments)], input=data)


def _written(folder: Path, made: Bundle, name: str = "answer") -> Path:
    file = folder / f"{name}.partstream.zip"
    file.write_bytes(write_bundle(made))
    return file


def _broken() -> Bundle:
    """The bytes hold one call; the host got it twice."""
    got = ToolCallPart("call_1", "read_file", {"path": "/a"})
    events = [streams.created(), streams.text("I look."), *streams.call("call_1", "read_file", '{"path":"/a"}')]
    parts = [(320.0, TextPart("I look.")), (400.0, got), (410.0, got)]
    return bundle(exchange(paced([*events, streams.completed()])), answers=[answer(parts)])


WHOLE = bundle(exchange(paced(streams.usual()), end=2100))
CUT = bundle(exchange(paced(streams.usual()[:20]), end=950, how=HowEnded.CUT, error=_LOST))
TRUNCATED = bundle(exchange([(None, b"".join(streams.usual()[:20]))]))
FAILED = bundle(
    exchange(
        [(80.0, b'{"error":{"message":"The server is overloaded.","type":"overloaded"}}')],
        status=503,
        content_type="application/json",
    )
)


@pytest.mark.parametrize(
    ("made", "code", "said"),
    [
        (WHOLE, 0, "No fault: The answer is whole."),
        (_broken(), 1, "The provider's fault: The bytes of the server keep the contract; what the host got breaks"),
        (FAILED, 3, "The server's fault: The server failed (HTTP 503)"),
        (CUT, 3, "The network's fault: The connection broke after event 20"),
        (TRUNCATED, 4, "No fault: The recording ends after event 20"),
    ],
    ids=["whole", "broken", "failed", "cut", "truncated"],
)
def test_the_text_says_whose_fault_it_is_and_the_exit_code_what_happened(
    made: Bundle, code: int, said: str, tmp_path: Path
):
    result = _run(_written(tmp_path, made), "--text")
    assert said in result.output
    assert result.exit_code == code


def test_the_text_names_the_event_that_broke_with_its_place_and_its_bytes(tmp_path: Path):
    lines = _run(_written(tmp_path, _broken()), "--text").output.splitlines()
    start = next(index for index, line in enumerate(lines) if "Went wrong at event 6, +400 ms, bytes " in line)
    assert lines[start + 1].strip() == "event: response.function_call_arguments.done"
    assert "part 2 of event 6 breaks tool-call.unique-call-id (MUST, section 3.2)" in lines[start + 3]
    assert any("Often: a final snapshot is handed out after the deltas" in line for line in lines)


def test_an_old_recording_without_a_clock_says_why_it_has_no_numbers():
    result = _run("--text", "-", data=b"".join(streams.usual()))
    assert result.exit_code == 0
    assert "All numbers: - (no clock in the recording)" in result.output


def test_bytes_of_no_known_protocol_are_not_judged(tmp_path: Path):
    file = tmp_path / "odd.sse"
    file.write_bytes(b'data: {"foo":1}\n\n')
    result = _run(file, "--text")
    assert "Contract not judged: 25 not judged." in result.output
    assert "breaks" not in result.output
    assert "Went wrong" not in result.output
    assert result.exit_code == 2


def test_a_run_of_like_events_counts_each_of_them():
    many = [streams.created(), *(streams.text(f"w{number} ") for number in range(60))]
    view = view_of([ViewedFile("f", "bundle", bundle(exchange([(1.0, b"".join(many))])))])
    shown = [text for text, _ in summary({**view, "answers": [collapsed(view["answers"][0], 10)]})]
    assert " · 62 events · " in shown[1]
    assert any(line.startswith("  Went wrong at events 2 to 61, ") for line in shown)


def test_an_empty_file_is_named_once(tmp_path: Path):
    file = tmp_path / "none.sse"
    file.write_bytes(b"")
    result = _run(file, "--text")
    assert result.output.startswith(f"Error: cannot read {file}: got nothing, expected ")


def test_pairs_are_named_where_they_can_be_compared(tmp_path: Path):
    several = [exchange(paced(streams.usual()), number=number, answer=number) for number in (1, 2, 3)]
    two, three = _written(tmp_path, bundle(*several[:2]), "two"), _written(tmp_path, bundle(*several), "three")
    assert "see --compare" in _run(two, "--text").output
    assert "see --compare" not in _run(three, "--text").output


def test_json_is_the_whole_view(tmp_path: Path):
    result = _run(_written(tmp_path, WHOLE), "--json")
    view: dict[str, Any] = json.loads(result.output)
    assert view["source"] == {"name": "answer.partstream.zip", "form": "bundle", "hasClock": True, "live": False}
    assert len(view["answers"][0]["events"]) == len(streams.usual())


def test_a_protocol_can_be_named_for_a_stream_that_does_not_tell_it(tmp_path: Path):
    file = tmp_path / "odd.sse"
    file.write_bytes(b'data: {"response":"x","done":false}\n\n')
    assert _run(file, "--text").exit_code == 2
    named = json.loads(_run(file, "--json", "--protocol", "openresponses").output)
    assert named["answers"][0]["protocol"]["name"] == "openresponses"


def test_one_exchange_of_a_file_is_chosen_by_its_number(tmp_path: Path):
    two = exchange(paced(streams.usual()[:9]), number=2, answer=2)
    file = _written(tmp_path, bundle(exchange(paced(streams.usual())), two))
    answers = json.loads(_run(f"{file}#2", "--json").output)["answers"]
    assert [one["id"] for one in answers] == ["2.2"]
    assert "has no exchange 7; it has 1, 2" in _run(f"{file}#7", "--text").output


def test_everything_that_is_in_it_is_printed_once_with_joined_texts(tmp_path: Path):
    result = _run(_written(tmp_path, WHOLE), "--what-is-in-it")
    lines = [line.rstrip() for line in result.output.splitlines()]  # some versions of rich end lines with their spaces
    assert lines.count("First I look at the file.") == 1
    assert lines.count("".join(streams.WORDS).rstrip()) == 1
    assert lines.count("Say something.") == 1


def test_a_comparison_fails_for_what_is_worse_and_for_nothing_else(tmp_path: Path):
    one = _written(tmp_path, WHOLE, "one")
    slow = _written(tmp_path, bundle(exchange(paced(streams.usual(), first=900), end=2700)), "slow")
    same = _run("--compare", one, one)
    assert (same.exit_code, "Nothing is worse." in same.output) == (0, True)
    slower = _run("--compare", "--json", one, slow)
    assert slower.exit_code == 1
    told = json.loads(slower.output)
    assert [worse["kind"] for worse in told["regressions"]] == ["slower"]
    assert told["comparison"]["same"] is True
    assert _run("--compare", "--slower-than", 3, one, slow).exit_code == 0
    assert _run("--compare", slow, one).exit_code == 0
    lost = _run("--compare", "--json", one, _written(tmp_path, CUT, "cut"))
    assert {worse["kind"] for worse in json.loads(lost.output)["regressions"]} == {"outcome", "types"}


def test_a_page_in_a_file_is_redacted_unless_a_person_says_otherwise(tmp_path: Path):
    file, out = _written(tmp_path, WHOLE), tmp_path / "out.html"
    result = _run(file, "--html", out)
    assert (result.exit_code, "Redaction structure" in result.output) == (0, True)
    page = out.read_text()
    assert page.startswith("<!doctype html>")
    assert "First I look" not in page
    assert "First I look" in _run(file, "--html", "-", "--redact", "keys").output
    assert "NOTHING IS REPLACED" in _run(file, "--html", out, "--redact", "none").output


def test_a_page_in_a_file_does_not_say_where_the_recording_is_kept(tmp_path: Path):
    file = _written(tmp_path, WHOLE)
    page = _run(file, "--html", "-", "--redact", "none").output
    assert f"partstream check {file.name}" in page
    assert str(tmp_path) not in page


def test_a_page_is_not_written_over_the_recording(tmp_path: Path):
    file = _written(tmp_path, WHOLE)
    result = _run(file, "--html", file)
    assert (result.exit_code, "is the recording itself" in result.output) == (2, True)
    assert file.read_bytes() == write_bundle(WHOLE)


def test_another_protocol_has_no_types_of_events_that_are_gone(tmp_path: Path):
    chunk = {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    other = exchange([(1.0, b"data: " + json.dumps(chunk).encode() + b"\n\n")], protocol="chat-completions")
    files = _written(tmp_path, WHOLE, "one"), _written(tmp_path, bundle(other), "other")
    told = json.loads(_run("--compare", "--json", *files).output)
    assert "types" not in {worse["kind"] for worse in told["regressions"]}


def test_a_page_in_a_file_holds_no_hundred_megabytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("partstream_devtools.commands_inspect.MOST_BYTES", 1000)
    result = _run(_written(tmp_path, WHOLE), "--html", tmp_path / "out.html")
    assert result.exit_code == 1
    assert "look at them without --html" in result.output


def test_the_last_answer_is_that_of_a_running_program_else_the_newest_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PARTSTREAM_DATA", str(tmp_path))
    none = _run("--last", "--text")
    assert (none.exit_code, "`partstream chat --record` keeps one" in none.output) == (2, True)
    RecordingFolder(tmp_path / "recordings").write(write_bundle(CUT), "small")
    assert "The connection broke after event 20" in _run("--last", "--text").output


@one_test_for(
    ("arguments", "said"),
    [
        ((), "name a recording, - for standard input, --last or --live"),
        (("--text", "--json", "x"), "--text and --json contradict each other"),
        (("--last", "x"), "--last and FILE contradict each other"),
        (("--live", "--html", "out.html"), "--live and --html contradict each other"),
        (("x", "--redact", "keys"), "--redact is for --html"),
        (("missing.sse",), "No such file or directory"),
        (("--compare", "-"), "--compare: got 1 answers, expected two"),
    ],
    ids=["nothing", "both", "last and a file", "live in a file", "redaction alone", "missing", "one answer"],
)
def test_what_cannot_be_done_is_said_before_anything_is_shown(arguments: tuple[str, ...], said: str):
    result = _run(*arguments, data=b"".join(streams.usual()))
    assert result.exit_code == 2
    assert said in result.output


def test_where_no_browser_can_be_opened_the_summary_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "VSCODE_IPC_HOOK_CLI", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSH_CONNECTION", "192.0.2.1 1 192.0.2.2 22")
    result = _run(_written(tmp_path, _broken()))
    assert result.exit_code == 1
    assert "The provider's fault" in result.output
    assert "--no-browser serves the page" in result.output


def test_what_a_model_says_acts_on_no_terminal(tmp_path: Path):
    events = [streams.created(), streams.text(streams.HOSTILE), streams.completed()]
    file = _written(tmp_path, bundle(exchange(paced(events))))
    for option in ("--text", "--what-is-in-it"):
        output = _run(file, option).output
        assert "\x1b" not in output
        assert "\u202e" not in output
