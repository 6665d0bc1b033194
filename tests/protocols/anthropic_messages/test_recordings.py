"""Every recorded stream gives exactly what it is expected to give, however its bytes arrive and are framed."""

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from partstream.cli import main
from partstream.outputs import CitationMode, Outcome, StreamOptions, ThinkingMode, Unmapped
from partstream.protocols.anthropic_messages.read_response import READ_RESPONSE
from partstream.protocols.recording import read_recording
from protocols.anthropic_messages.wire import STOP, closed, delta, opened, read_bytes, sse, started, stopped
from protocols.openresponses.wire import Result, comparable
from recordings import FOLDER, Recording, recordings

RECORDINGS = recordings("anthropic_messages")
all_recordings = pytest.mark.parametrize("recording", RECORDINGS)
PLAIN = StreamOptions(call_id_prefix="", citations=CitationMode.OFF)
"""Sources are shown behind the text, and the expected text has none."""

_SINGLE = 4000


def _whole(data: bytes) -> Iterable[bytes]:
    return [data]


def _byte_by_byte(data: bytes) -> Iterator[bytes]:
    """The events of long answers are alike: of those, the bytes of the beginning and of the end are enough."""
    at = [*range(min(_SINGLE, len(data))), *range(max(_SINGLE, len(data) - _SINGLE), len(data))]
    ends = [*at[1:], len(data)]
    yield from (data[start:end] for start, end in zip(at, ends, strict=True))


def _pieces(data: bytes) -> Iterator[bytes]:
    """Pieces of any size, the same in each run."""
    sizes = random.Random(len(data))  # noqa: S311 - guards nothing
    at = 0
    while at < len(data):
        size = sizes.choice((1, 2, 7, 40, 300, 5000))
        yield data[at : at + size]
        at += size


def _bodies(recording: Recording) -> dict[str, bytes]:
    """The recording in each form that a server may send it in."""
    events = [json.loads(line) for line in recording.lines]
    return {"jsonl": recording.path.read_bytes(), "sse": b"".join(sse(events))}


def _assert_expected(result: Result, expected: dict[str, Any]) -> None:
    """What is not in the expected file is not judged."""
    finish = result.finish
    found = {
        "text": result.text,
        "thinking": result.thinking,
        "tool_calls": [{"call_id": one, "name": name, "input": given} for one, name, given in result.calls],
        "finish": finish.reason and finish.reason.raw,
        "finish_raw": finish.reason and finish.reason.raw,
        "error": None if finish.error is None else str(finish.error),
        "input_tokens": finish.usage and finish.usage.input_tokens,
        "output_tokens": finish.usage and finish.usage.output_tokens,
    }
    if error := expected.get("error"):
        assert error["message"] in str(found.pop("error"))
    judged = found.keys() & expected.keys()
    assert {name: found[name] for name in judged} == {name: expected[name] for name in judged}


@all_recordings
@pytest.mark.parametrize("feed", [_whole, _byte_by_byte, _pieces])
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
    """Decision 4: the end of the bytes behind a stop reason."""
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
    """Decision 5: what is no part is counted by its type."""
    result = read_bytes([recording.path.read_bytes()], PLAIN, "jsonl")
    kinds = {one.type for one in result.outputs if isinstance(one, Unmapped)}
    assert all(kind.endswith(("_tool_use", "_tool_result")) or kind == "compaction" for kind in kinds)


@all_recordings
@pytest.mark.parametrize("thinking", [ThinkingMode.TEXT, ThinkingMode.OFF])
def test_thinking_moves_or_disappears_and_nothing_else_changes(recording: Recording, thinking: ThinkingMode) -> None:
    data = recording.path.read_bytes()
    shown = read_bytes([data], PLAIN, "jsonl")
    other = read_bytes([data], StreamOptions(thinking, CitationMode.OFF, ""), "jsonl")
    assert other.thinking == ""
    assert other.calls == shown.calls
    if thinking is ThinkingMode.OFF:
        assert other.text == shown.text


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
    claim = READ_RESPONSE.claim
    assert not claim("ping", {"type": "ping"})


WITHOUT_MSGSPEC = """
import sys
sys.modules["msgspec"] = None  # importing it fails, as where it is not installed
from partstream.json_codec import FAST
assert not FAST
from protocols.anthropic_messages.test_recordings import PLAIN, RECORDINGS, _assert_expected, _bodies
from protocols.anthropic_messages.wire import read_bytes
for one in RECORDINGS:
    recording = one.values[0]
    for framing, data in _bodies(recording).items():
        _assert_expected(read_bytes([data], PLAIN, framing), recording.expected)
"""


@pytest.mark.skipif(not (FOLDER / "anthropic_messages").is_dir(), reason="no recordings of Anthropic Messages")
def test_the_recordings_give_the_same_without_msgspec(request: pytest.FixtureRequest) -> None:
    tests = request.config.rootpath / "tests"
    command = [sys.executable, "-c", WITHOUT_MSGSPEC]
    run = subprocess.run(command, cwd=tests, capture_output=True, timeout=120, check=False)
    assert (run.returncode, run.stderr.decode()) == (0, "")
