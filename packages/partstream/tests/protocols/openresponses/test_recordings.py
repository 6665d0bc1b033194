"""Every recorded stream gives exactly what it is expected to give, however its bytes arrive and are framed."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from partstream.cli import main
from partstream.errors import UpstreamFailureError
from partstream.lm.outputs import Outcome, StreamOptions, ThinkingMode
from protocols.feeding import byte_by_byte, whole
from protocols.openresponses.wire import Result, comparable, read_bytes
from recordings import FOLDER, Recording, recordings
from rows import one_test_for

RECORDINGS = recordings("openresponses")
all_recordings = one_test_for("recording", RECORDINGS)


def _framed(line: bytes, template: bytes) -> bytes:
    name = json.loads(line)["type"].encode()
    return template.replace(b"NAME", name).replace(b"DATA", line)


FRAMINGS: dict[str, tuple[str, bytes]] = {
    "json-lines": ("jsonl", b"DATA\n"),
    "event-and-data": ("sse", b"event: NAME\ndata: DATA\n\n"),
    "data-only": ("sse", b"data: DATA\n\n"),
    "crlf": ("sse", b"event: NAME\r\ndata: DATA\r\n\r\n"),
}


# Any split of any framing is tried in test_sse.py and test_properties.py; here each framing in one piece, and one of
# them byte by byte.
WAYS: dict[str, tuple[str, Callable[[bytes], Iterable[bytes]]]] = {
    **{name: (name, whole) for name in FRAMINGS},
    "byte-by-byte": ("event-and-data", byte_by_byte),
}


def _assert_expected(result: Result, expected: dict[str, Any]) -> None:
    finish = result.finish
    usage, error = finish.usage, finish.error
    assert result.text == expected["text"]
    assert result.thinking == expected["thinking"]
    assert result.calls == [("gw-" + call["call_id"], call["name"], call["input"]) for call in expected["tool_calls"]]
    assert finish.outcome is Outcome(expected["finish"])
    assert (usage and usage.input_tokens) == expected["input_tokens"]
    assert (usage and usage.output_tokens) == expected["output_tokens"]
    if expected["error"] is None:
        assert error is None
    else:
        assert isinstance(error, UpstreamFailureError)
        assert {"code": error.provider_code, "message": error.provider_message} == expected["error"]


@all_recordings
@pytest.mark.parametrize(("framing", "feed"), WAYS.values(), ids=WAYS)
def test_a_recording_gives_what_is_expected(
    recording: Recording, framing: str, feed: Callable[[bytes], Iterable[bytes]]
) -> None:
    name, template = FRAMINGS[framing]
    data = b"".join(_framed(line, template) for line in recording.lines)
    result = read_bytes(feed(data), framing=name)
    _assert_expected(result, recording.expected)
    assert comparable(result) == comparable(read_bytes([b"\n".join(recording.lines)], framing="jsonl"))


@all_recordings
def test_the_parts_of_a_cut_recording_begin_the_whole_and_are_never_complete(recording: Recording) -> None:
    lines = recording.lines
    uncut = read_bytes([b"\n".join(lines)], framing="jsonl")
    ends = {"response.completed", "response.failed", "response.incomplete", "error"}
    terminal = next(place for place, line in enumerate(lines) if json.loads(line)["type"] in ends)
    for count in {0, 1, terminal // 3, terminal // 2, terminal}:
        for cut in (0, 1, len(lines[count]) // 2, len(lines[count]) - 1):
            data = b"".join(line + b"\n" for line in lines[:count]) + lines[count][:cut]
            result = read_bytes([data], framing="jsonl")
            assert result.finish.outcome is Outcome.TRUNCATED
            # Closing marks are held back until it is known that they close.
            assert uncut.text.startswith(result.text.rstrip(".!?…"))
            assert uncut.thinking.startswith(result.thinking.rstrip(".!?…"))
            assert result.calls == uncut.calls[: len(result.calls)]


@all_recordings
def test_the_command_replays_a_recording(recording: Recording) -> None:
    run = CliRunner().invoke(main, ["replay", str(recording.path), "--json", "--call-id-prefix", ""])
    _assert_replayed(run.output.splitlines(), run.exit_code, recording.expected)


@pytest.mark.parametrize("recording", RECORDINGS[:4])
def test_the_installed_command_replays_standard_input(recording: Recording) -> None:
    with recording.path.open("rb") as stream:
        command = [sys.executable, "-m", "partstream", "replay", "-", "--json", "--call-id-prefix", ""]
        run = subprocess.run(command, stdin=stream, capture_output=True, timeout=30, check=False)
    assert run.stderr == b""
    _assert_replayed(run.stdout.decode().splitlines(), run.returncode, recording.expected)


def _assert_replayed(lines: list[str], exit_code: int, expected: dict[str, Any]) -> None:
    *parts, end = [json.loads(line) for line in lines]
    assert "".join(part["value"] for part in parts if part["type"] == "text") == expected["text"]
    assert "".join(part["value"] for part in parts if part["type"] == "thinking") == expected["thinking"]
    calls = [part for part in parts if part["type"] == "tool_call"]
    assert [{name: call[name] for name in ("call_id", "name", "input")} for call in calls] == expected["tool_calls"]
    assert end["type"] == "end"
    assert end["outcome"] == expected["finish"]
    assert end["error"] == expected["error"]
    assert (end["usage"] or {}).get("input_tokens") == expected["input_tokens"]
    assert (end["usage"] or {}).get("output_tokens") == expected["output_tokens"]
    assert exit_code == (3 if expected["finish"] == "failed" else 0)


def _letters(text: str) -> int:
    """How much is said, without what sets a quote off."""
    return sum(not letter.isspace() and letter != ">" for letter in text)


@all_recordings
@pytest.mark.parametrize("thinking", [ThinkingMode.TEXT, ThinkingMode.OFF])
def test_thinking_moves_or_disappears_and_nothing_else_changes(recording: Recording, thinking: ThinkingMode) -> None:
    data = [b"\n".join(recording.lines)]
    result = read_bytes(data, StreamOptions(thinking=thinking, call_id_prefix="gw-"), "jsonl")
    expected = recording.expected
    assert result.thinking == ""
    if thinking is ThinkingMode.OFF:
        assert result.text == expected["text"]
    else:
        assert _letters(result.text) == _letters(expected["text"]) + _letters(expected["thinking"])
    assert result.calls == read_bytes(data, framing="jsonl").calls


WITHOUT_MSGSPEC = """
import sys
sys.modules["msgspec"] = None  # importing it fails, as where it is not installed
from partstream.codec.json_codec import FAST
assert not FAST
import json
from pathlib import Path
from partstream_devtools.recorded_stream import read_recording
from protocols.openresponses.wire import DEFAULTS, Result, comparable
for path in map(Path, sys.argv[1:]):
    result = Result(list(read_recording(path.read_bytes(), str(path), None, DEFAULTS, 100)))
    print(json.dumps([result.text, result.thinking, result.calls, result.finish.outcome]))
"""


@pytest.mark.recordings
def test_without_the_fast_decoder_the_recordings_give_the_same(tmp_path: Path) -> None:
    found = [parameter.values[0] for parameter in RECORDINGS]
    if not found[0].path.exists():
        pytest.skip(f"no recordings in {FOLDER}")
    script = tmp_path / "without_msgspec.py"
    script.write_text(WITHOUT_MSGSPEC)
    run = subprocess.run(
        [sys.executable, script, *(str(recording.path) for recording in found)],
        capture_output=True, timeout=60, check=False, env={"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert run.stderr == b""
    for recording, line in zip(found, run.stdout.splitlines(), strict=True):
        expected = recording.expected
        calls = [["gw-" + call["call_id"], call["name"], call["input"]] for call in expected["tool_calls"]]
        assert json.loads(line) == [expected["text"], expected["thinking"], calls, expected["finish"]]
