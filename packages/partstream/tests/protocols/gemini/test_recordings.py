"""Every recorded stream gives exactly what it is expected to give, however its bytes arrive and are framed."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from click.testing import CliRunner

from partstream.cli import main
from partstream.lm.outputs import Outcome, ThinkingMode, Unmapped
from partstream_devtools.recorded_stream import read_recording
from protocols.feeding import every_feed
from protocols.gemini.wire import array, read_bytes, sse
from protocols.openresponses.wire import Result, comparable
from protocols.recorded import PLAIN, assert_calls, assert_same_fields, read_with_thinking, told
from recordings import Recording, recordings
from rows import one_test_for

RECORDINGS = recordings("gemini")
all_recordings = one_test_for("recording", RECORDINGS)


def _bodies(recording: Recording) -> list[tuple[str, bytes]]:
    """The recording in each form in which it was kept, or in which a server may send it: framing and bytes."""
    events = [json.loads(line) for line in recording.lines]
    stem = recording.path.name.removesuffix(".jsonl")
    kept = [recording.path.with_name(stem + ending) for ending in (".sse", ".array.json")]
    bodies = [("sse", path.read_bytes()) for path in kept if path.exists()]
    return [("jsonl", recording.path.read_bytes()), ("sse", b"".join(sse(events))), ("sse", array(events)), *bodies]


def _assert_expected(result: Result, expected: dict[str, Any]) -> None:
    """What is not in the expected file is not judged."""
    finish = result.finish
    found = told(result) | {
        "block_reason": finish.reason and finish.reason.raw,
        "error": None if finish.error is None else str(finish.error),
        "outcome": finish.outcome.value,
    }
    if error := expected.get("error"):
        assert error["message"] in str(found.pop("error"))
    if outcomes := expected.get("outcome"):
        assert found.pop("outcome") in outcomes
    assert_same_fields(found, expected)
    assert_calls(result, expected)
    place = 0
    for piece in expected.get("text_pieces", ()):
        place = result.text.index(piece, place) + len(piece)


@all_recordings
@every_feed
def test_a_recording_gives_what_is_expected(recording: Recording, feed: Callable[[bytes], Iterable[bytes]]) -> None:
    for framing, data in _bodies(recording):
        _assert_expected(read_bytes(feed(data), PLAIN, framing), recording.expected)


def _ends(line: bytes) -> bool:
    """Whether an answer may be whole behind this line."""
    event = json.loads(line)
    return "promptFeedback" in event or any("finishReason" in one for one in event.get("candidates", ()))


@all_recordings
def test_a_cut_recording_is_truncated_and_begins_like_the_whole(recording: Recording) -> None:
    lines = recording.lines
    whole = read_bytes([b"\n".join(lines)], PLAIN, "jsonl")
    terminal = next(place for place, line in enumerate(lines) if _ends(line))
    events = [json.loads(line) for line in lines]
    for count in {0, terminal // 2, terminal}:
        for cut in {0, 1, len(lines[count]) // 2, len(lines[count]) - 1}:
            before = b"".join(line + b"\n" for line in lines[:count])
            listed = array(events[:count]).rstrip()[:-1] + (b"," if count else b"") + lines[count][:cut]
            for framing, data in (("jsonl", before + lines[count][:cut]), ("sse", listed)):
                result = read_bytes([data], PLAIN, framing)
                assert result.finish.outcome is Outcome.TRUNCATED
                assert result.calls == []
                assert whole.text.startswith(result.text)
                assert whole.thinking.startswith(result.thinking)


@all_recordings
def test_a_recording_is_known_without_its_protocol(recording: Recording) -> None:
    expected = comparable(read_bytes([recording.path.read_bytes()], PLAIN, "jsonl"))
    stem = recording.path.name.removesuffix(".jsonl")
    for name in (f"{stem}.jsonl", f"{stem}.sse", f"{stem}.array.json"):
        path = recording.path.with_name(name)
        if path.exists():
            assert comparable(Result(list(read_recording(path.read_bytes(), name, None, PLAIN)))) == expected


@all_recordings
def test_nothing_but_what_the_server_ran_is_without_a_part(recording: Recording) -> None:
    result = read_bytes([recording.path.read_bytes()], PLAIN, "jsonl")
    kinds = {one.type for one in result.outputs if isinstance(one, Unmapped)}
    assert kinds <= {"functionResponse", "toolCall", "toolResponse"}


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
    assert summary["thinking"] == expected["thinking"]
    assert CliRunner().invoke(main, ["check", "-q", path]).exit_code == 0
