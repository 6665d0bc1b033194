"""Every recorded stream gives exactly what it is expected to give, however its bytes arrive and are framed."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from partstream.cli import main
from partstream.lm.outputs import Outcome, ThinkingMode, Unmapped
from partstream.protocols.anthropic_messages.read_response import MessagesStream
from partstream_devtools.recorded_stream import read_recording
from protocols.anthropic_messages.wire import STOP, closed, delta, opened, read_bytes, sse, started, stopped
from protocols.feeding import every_feed
from protocols.openresponses.wire import Result, comparable
from protocols.recorded import PLAIN, assert_same_fields, assert_same_without_msgspec, read_with_thinking, told
from recordings import FOLDER, Recording, recordings
from rows import one_test_for

RECORDINGS = recordings("anthropic_messages")
all_recordings = one_test_for("recording", RECORDINGS)


def _bodies(recording: Recording) -> dict[str, bytes]:
    """The recording in each form that a server may send it in."""
    events = [json.loads(line) for line in recording.lines]
    return {"jsonl": recording.path.read_bytes(), "sse": b"".join(sse(events))}


def _assert_expected(result: Result, expected: dict[str, Any]) -> None:
    """What is not in the expected file is not judged."""
    found = told(result) | {
        "tool_calls": [{"call_id": one, "name": name, "input": given} for one, name, given in result.calls],
        "error": None if result.finish.error is None else str(result.finish.error),
    }
    if error := expected.get("error"):
        assert error["message"] in str(found.pop("error"))
    assert_same_fields(found, expected)


@all_recordings
@every_feed
def test_a_recording_gives_what_is_expected(recording: Recording, feed: Callable[[bytes], Iterable[bytes]]) -> None:
    for framing, data in _bodies(recording).items():
        _assert_expected(read_bytes(feed(data), PLAIN, framing), recording.expected)


@all_recordings
def test_a_cut_recording_is_truncated_and_begins_like_the_whole(recording: Recording) -> None:
    lines = recording.lines
    whole = read_bytes([b"\n".join(lines)], PLAIN, "jsonl")
    last = next(place for place, line in enumerate(lines) if json.loads(line)["type"] in {"message_delta", *_STOPS})
    if json.loads(lines[0])["message"]["stop_reason"]:
        last = 0  # its first event says its end
    for count in {0, 1, last // 3, last // 2, last} - {last + 1}:
        for cut in {0, 1, len(lines[count]) // 2, len(lines[count]) - 1}:
            data = b"".join(line + b"\n" for line in lines[:count]) + lines[count][:cut]
            result = read_bytes([data], PLAIN, "jsonl")
            assert result.finish.outcome is Outcome.TRUNCATED
            assert result.calls == []
            assert whole.text.startswith(result.text)
            assert whole.thinking.startswith(result.thinking)


_STOPS = ("message_stop", "error")


@all_recordings
def test_a_recording_without_its_last_event_is_whole(recording: Recording) -> None:
    """Decision 4: the bytes end after a stop reason (docs/wires/anthropic-messages.md#decisions)."""
    *lines, last = recording.lines
    assert json.loads(last)["type"] in _STOPS
    _assert_expected(read_bytes([b"\n".join(lines)], PLAIN, "jsonl"), recording.expected)


@all_recordings
def test_a_recording_is_known_without_its_protocol(recording: Recording) -> None:
    for framing, data in _bodies(recording).items():
        outputs = list(read_recording(data, f"a.{framing}", None, PLAIN))
        assert comparable(Result(outputs)) == comparable(read_bytes([data], PLAIN, framing))


@all_recordings
def test_nothing_but_tools_of_the_server_is_without_a_part(recording: Recording) -> None:
    """Decision 5: what is no part is counted by its type (docs/wires/anthropic-messages.md#decisions)."""
    result = read_bytes([recording.path.read_bytes()], PLAIN, "jsonl")
    kinds = {one.type for one in result.outputs if isinstance(one, Unmapped)}
    assert all(kind.endswith(("_tool_use", "_tool_result")) or kind == "compaction" for kind in kinds)


@all_recordings
@pytest.mark.parametrize("thinking", [ThinkingMode.TEXT, ThinkingMode.OFF])
def test_thinking_moves_or_disappears_and_nothing_else_changes(recording: Recording, thinking: ThinkingMode) -> None:
    read_with_thinking(read_bytes, recording.path.read_bytes(), thinking)


@pytest.mark.parametrize("recording", RECORDINGS[::12])
def test_the_commands_read_a_recording(recording: Recording) -> None:
    path, expected = str(recording.path), recording.expected
    replayed = CliRunner().invoke(main, ["replay", path, "--summary", "--citations", "off"])
    summary = json.loads(replayed.output)
    assert replayed.exit_code == 0
    assert (summary["text"], summary["thinking"]) == (expected["text"], expected["thinking"])
    is_visible = bool(summary["text"] or summary["tool_calls"])
    assert CliRunner().invoke(main, ["check", "-q", path]).exit_code == (0 if is_visible else 1)


def test_the_command_shows_why_a_model_refused_and_what_was_summarised(tmp_path: Path) -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "Blocked under a policy."}
    summary = [opened("compaction", 0), delta("compaction_delta", 0, content="Long ago."), closed(0)]
    events = [started(), *summary, stopped("refusal", stop_details=details), STOP]
    path = tmp_path / "refused.sse"
    path.write_bytes(b"".join(sse(events)))
    shown = CliRunner().invoke(main, ["replay", str(path)]).output
    assert "Blocked under a policy." in shown
    assert "taken out of the conversation by the server: the conversation was summarised" in shown
    end = json.loads(CliRunner().invoke(main, ["replay", str(path), "--summary"]).output)
    assert (end["explanation"], end["edits"]) == ("Blocked under a policy.", ["the conversation was summarised"])


def test_a_ping_shows_no_protocol() -> None:
    claim = MessagesStream.claim
    assert not claim("ping", {"type": "ping"})


@pytest.mark.skipif(not (FOLDER / "anthropic_messages").is_dir(), reason="no recordings of Anthropic Messages")
def test_the_recordings_give_the_same_without_msgspec(request: pytest.FixtureRequest) -> None:
    assert_same_without_msgspec("anthropic_messages", request.config.rootpath)
