"""Every recorded stream gives exactly what it is expected to give, however its bytes arrive."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from partstream.cli import main
from partstream.lm.outputs import Outcome, StreamOptions, ThinkTags
from partstream_devtools.recorded_stream import read_recording
from protocols.feeding import every_feed
from protocols.ollama.wire import read_bytes
from protocols.openresponses.wire import Result, comparable
from protocols.recorded import assert_calls, assert_same_fields, told
from recordings import Recording, recordings
from rows import one_test_for

RECORDINGS = recordings("ollama")
all_recordings = one_test_for("recording", RECORDINGS)
PLAIN = StreamOptions(call_id_prefix="", think_tags=ThinkTags.OFF)


def _bodies(recording: Recording) -> Iterator[bytes]:
    """The recording in each form in which it was kept."""
    wire = recording.path.with_suffix(".ndjson")
    yield recording.path.read_bytes()
    if wire.exists():
        yield wire.read_bytes()


def _assert_expected(result: Result, expected: dict[str, Any]) -> None:
    """What is not in the expected file is not judged."""
    finish = result.finish
    assert_same_fields(told(result), expected)
    assert_calls(result, expected)
    assert finish.outcome.value in expected.get("outcome", ["completed", "incomplete"])
    if expected["error"]:
        assert expected["error"] in str(finish.error)


@all_recordings
@every_feed
def test_a_recording_gives_what_is_expected(recording: Recording, feed: Callable[[bytes], Iterable[bytes]]) -> None:
    for data in _bodies(recording):
        _assert_expected(read_bytes(feed(data), PLAIN), recording.expected)


@all_recordings
def test_a_recording_means_the_same_as_lines_and_as_it_came(recording: Recording) -> None:
    lines, *wires = (read_bytes([data], PLAIN) for data in _bodies(recording))
    for wire in wires:
        assert comparable(wire) == comparable(lines)


@all_recordings
def test_a_cut_recording_is_truncated_and_begins_like_the_whole(recording: Recording) -> None:
    """Also after a whole call (docs/wires/ollama.md#framing)."""
    lines = recording.lines
    whole = read_bytes([b"\n".join(lines)], PLAIN)
    last = len(lines) - 1
    for count in {0, 1, last // 2, last} - {last + 1}:
        for cut in {0, 1, len(lines[count]) // 2, len(lines[count]) - 1}:
            data = b"".join(line + b"\n" for line in lines[:count]) + lines[count][:cut]
            result = read_bytes([data], PLAIN)
            assert result.finish.outcome is Outcome.TRUNCATED
            assert result.calls == whole.calls[: len(result.calls)]
            assert whole.text.startswith(result.text)
            assert whole.thinking.startswith(result.thinking)


@all_recordings
def test_a_recording_is_known_without_its_protocol(recording: Recording) -> None:
    for data in _bodies(recording):
        outputs = list(read_recording(data, "a.jsonl", None, PLAIN))
        assert comparable(Result(outputs)) == comparable(read_bytes([data], PLAIN))


@pytest.mark.parametrize("recording", RECORDINGS[::8])
def test_the_commands_read_a_recording(recording: Recording) -> None:
    path = str(recording.path)
    replayed = CliRunner().invoke(main, ["replay", path, "--summary"])
    assert replayed.exit_code == 0
    assert json.loads(replayed.output)["usage"]["output_tokens"] == recording.expected["output_tokens"]
    assert CliRunner().invoke(main, ["check", "-q", path]).exit_code == 0
