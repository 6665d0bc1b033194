"""Every recorded stream gives exactly what it is expected to give, however its bytes arrive and are framed."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from click.testing import CliRunner

from partstream.cli import main
from partstream.errors import ToolArgumentsError
from partstream.lm.outputs import Outcome, ThinkingMode
from partstream_devtools.recorded_stream import read_recording
from protocols.chat_completions.wire import read_bytes
from protocols.feeding import every_feed
from protocols.openresponses.wire import Result, comparable
from protocols.recorded import (
    PLAIN,
    assert_calls,
    assert_same_fields,
    assert_same_without_msgspec,
    read_with_thinking,
    told,
)
from recordings import FOLDER, Recording, recordings
from rows import one_test_for

RECORDINGS = recordings("chat_completions")
all_recordings = one_test_for("recording", RECORDINGS)


def _bodies(recording: Recording) -> dict[str, bytes]:
    """The recording in each form in which it was kept."""
    wire = recording.path.with_suffix(".sse")
    bodies = {"jsonl": recording.path.read_bytes()}
    return bodies | ({"sse": wire.read_bytes()} if wire.exists() else {})


def _assert_expected(result: Result, expected: dict[str, Any]) -> None:
    """What is not in the expected file is not judged."""
    finish = result.finish
    stripped = {"text_stripped": result.text.strip(), "thinking_stripped": result.thinking.strip()}
    assert_same_fields(told(result) | stripped, expected)
    assert_calls(result, expected)
    if error := expected["error"]:
        assert error["message"] in str(finish.error)
        assert finish.outcome is Outcome.FAILED
    elif finish.error is not None:  # the server reports none, and its call is cut off
        assert isinstance(finish.error, ToolArgumentsError)
        assert result.calls == []


@all_recordings
@every_feed
def test_a_recording_gives_what_is_expected(recording: Recording, feed: Callable[[bytes], Iterable[bytes]]) -> None:
    for framing, data in _bodies(recording).items():
        _assert_expected(read_bytes(feed(data), PLAIN, framing), recording.expected)


@all_recordings
def test_a_recording_means_the_same_as_lines_and_as_it_came(recording: Recording) -> None:
    lines, *wires = (read_bytes([data], PLAIN, framing) for framing, data in _bodies(recording).items())
    for wire in wires:
        assert comparable(wire) == comparable(lines)


def _ends(line: bytes) -> bool:
    """Whether an answer may be whole behind this line: it says a finish reason, an error or the first usage."""
    chunk = json.loads(line)
    reasons = [choice.get("finish_reason") for choice in chunk.get("choices") or [] if not choice.get("index")]
    return bool(chunk.get("error") or any(reasons) or any((chunk.get("usage") or {}).values()))


@all_recordings
def test_a_cut_recording_is_truncated_and_begins_like_the_whole(recording: Recording) -> None:
    lines = recording.lines
    whole = read_bytes([b"\n".join(lines)], PLAIN, "jsonl")
    terminal = next((place for place, line in enumerate(lines) if _ends(line)), len(lines) - 1)
    for count in {0, 1, terminal // 3, terminal // 2, terminal} - {terminal + 1}:
        for cut in {0, 1, len(lines[count]) // 2, len(lines[count]) - 1}:
            data = b"".join(line + b"\n" for line in lines[:count]) + lines[count][:cut]
            result = read_bytes([data], PLAIN, "jsonl")
            assert result.finish.outcome is Outcome.TRUNCATED
            assert result.calls == []
            assert whole.text.startswith(result.text)
            assert whole.thinking.startswith(result.thinking)


@all_recordings
def test_a_recording_is_known_without_its_protocol(recording: Recording) -> None:
    for framing, data in _bodies(recording).items():
        outputs = list(read_recording(data, f"a.{framing}", None, PLAIN))
        assert comparable(Result(outputs)) == comparable(read_bytes([data], PLAIN, framing))


@pytest.mark.parametrize("recording", RECORDINGS[::25])
def test_the_commands_read_a_recording(recording: Recording) -> None:
    expected = recording.expected
    for framing in _bodies(recording):
        path = str(recording.path.with_suffix(f".{framing}"))
        replayed = CliRunner().invoke(main, ["replay", path, "--summary", "--citations", "off"])
        summary = json.loads(replayed.output)
        assert (summary["text"], summary["thinking"]) == (expected["text"], expected["thinking"])
        assert replayed.exit_code == 0
        assert CliRunner().invoke(main, ["check", "-q", path]).exit_code == (0 if _is_visible(summary) else 1)


def _is_visible(summary: dict[str, Any]) -> bool:
    return bool(summary["text"] or summary["tool_calls"])


def _letters(text: str) -> int:
    """How much is said, without what sets a quote off."""
    return sum(not letter.isspace() and letter != ">" for letter in text)


@all_recordings
@pytest.mark.parametrize("thinking", [ThinkingMode.TEXT, ThinkingMode.OFF])
def test_thinking_moves_or_disappears_and_nothing_else_changes(recording: Recording, thinking: ThinkingMode) -> None:
    shown, other = read_with_thinking(read_bytes, recording.path.read_bytes(), thinking)
    if thinking is ThinkingMode.TEXT:
        assert _letters(other.text) == _letters(shown.text) + _letters(shown.thinking)


@pytest.mark.skipif(not (FOLDER / "chat_completions").is_dir(), reason="no recordings of Chat Completions")
def test_the_recordings_give_the_same_without_msgspec(request: pytest.FixtureRequest) -> None:
    assert_same_without_msgspec("chat_completions", request.config.rootpath)
