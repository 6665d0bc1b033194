"""Every recorded stream gives exactly what it is expected to give, however its bytes arrive and are framed."""

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from partstream.cli import main
from partstream.errors import ToolArgumentsError
from partstream.outputs import CitationMode, Outcome, StreamOptions, ThinkingMode
from partstream.protocols.recording import read_recording
from protocols.chat_completions.wire import read_bytes
from protocols.openresponses.wire import Result, comparable
from recordings import FOLDER, Recording, recordings

RECORDINGS = recordings("chat_completions")
all_recordings = pytest.mark.parametrize("recording", RECORDINGS)
PLAIN = StreamOptions(call_id_prefix="", citations=CitationMode.OFF)
"""Sources are shown behind the text, and the expected text has none."""


_SINGLE = 8000


def _bodies(recording: Recording) -> dict[str, bytes]:
    """The recording in each form in which it was kept."""
    wire = recording.path.with_suffix(".sse")
    bodies = {"jsonl": recording.path.read_bytes()}
    return bodies | ({"sse": wire.read_bytes()} if wire.exists() else {})


def _whole(data: bytes) -> Iterable[bytes]:
    return [data]


def _byte_by_byte(data: bytes) -> Iterator[bytes]:
    """The chunks of long answers are alike: of those, the bytes of the beginning and of the end are enough."""
    ends = data[_SINGLE:-_SINGLE]
    yield from (data[at : at + 1] for at in range(min(_SINGLE, len(data))))
    if ends:
        yield ends
    rest = data[max(_SINGLE, len(data) - _SINGLE) :]
    yield from (rest[at : at + 1] for at in range(len(rest)))


def _pieces(data: bytes) -> Iterator[bytes]:
    """Pieces of any size, the same in each run."""
    sizes = random.Random(len(data))  # noqa: S311 - guards nothing
    at = 0
    while at < len(data):
        size = sizes.choice((1, 2, 7, 40, 300, 5000))
        yield data[at : at + size]
        at += size


def _assert_expected(result: Result, expected: dict[str, Any]) -> None:
    """What is not in the expected file is not judged."""
    finish = result.finish
    found = {
        "text": result.text,
        "thinking": result.thinking,
        "text_stripped": result.text.strip(),
        "thinking_stripped": result.thinking.strip(),
        "finish": finish.reason and finish.reason.raw,
        "finish_raw": finish.reason and finish.reason.raw,
        "input_tokens": finish.usage and finish.usage.input_tokens,
        "output_tokens": finish.usage and finish.usage.output_tokens,
    }
    judged = found.keys() & expected.keys()
    assert {name: found[name] for name in judged} == {name: expected[name] for name in judged}
    if "tool_calls" in expected:
        wanted = [(one["call_id"], one["name"], one["input"]) for one in expected["tool_calls"]]
        # A server that gives no id gets one of ours.
        given = [(wish and one[0], *one[1:]) for one, (wish, *_) in zip(result.calls, wanted, strict=True)]
        assert given == wanted
    if error := expected["error"]:
        assert error["message"] in str(finish.error)
        assert finish.outcome is Outcome.FAILED
    elif finish.error is not None:  # the server reports none, and its call is cut off
        assert isinstance(finish.error, ToolArgumentsError)
        assert result.calls == []


@all_recordings
@pytest.mark.parametrize("feed", [_whole, _byte_by_byte, _pieces])
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
    data = recording.path.read_bytes()
    shown = read_bytes([data], PLAIN, "jsonl")
    options = StreamOptions(thinking, CitationMode.OFF, "")
    other = read_bytes([data], options, "jsonl")
    assert other.thinking == ""
    assert other.calls == shown.calls
    if thinking is ThinkingMode.OFF:
        assert other.text == shown.text
    else:
        assert _letters(other.text) == _letters(shown.text) + _letters(shown.thinking)


WITHOUT_MSGSPEC = """
import sys
sys.modules["msgspec"] = None  # importing it fails, as where it is not installed
from partstream.json_codec import FAST
assert not FAST
import json
from pathlib import Path
from recordings import Recording, recordings
from protocols.chat_completions.test_recordings import PLAIN, RECORDINGS, _assert_expected, _bodies
from partstream.protocols.recording import read_recording
from protocols.chat_completions.wire import read_bytes
for one in RECORDINGS:
    recording = one.values[0]
    for framing, data in _bodies(recording).items():
        _assert_expected(read_bytes([data], PLAIN, framing), recording.expected)
"""


@pytest.mark.skipif(not (FOLDER / "chat_completions").is_dir(), reason="no recordings of Chat Completions")
def test_the_recordings_give_the_same_without_msgspec(request: pytest.FixtureRequest) -> None:
    tests = request.config.rootpath / "tests"
    command = [sys.executable, "-c", WITHOUT_MSGSPEC]
    run = subprocess.run(command, cwd=tests, capture_output=True, timeout=120, check=False)
    assert (run.returncode, run.stderr.decode()) == (0, "")
