"""What holds for the recordings of every protocol, and how they are compared with what is expected of them."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from partstream.lm.outputs import CitationMode, StreamOptions, ThinkingMode
from protocols.openresponses.wire import Result

ReadBytes = Callable[[Iterable[bytes], StreamOptions, str], Result]
"""Reads pieces with options, in a framing."""

PLAIN = StreamOptions(call_id_prefix="", citations=CitationMode.OFF)
"""Sources are shown behind the text, and the expected text has none."""


def told(result: Result) -> dict[str, Any]:
    """What every protocol tells, by the names of the expected files."""
    finish = result.finish
    return {
        "text": result.text,
        "thinking": result.thinking,
        "finish": finish.reason and finish.reason.raw,
        "finish_raw": finish.reason and finish.reason.raw,
        "input_tokens": finish.usage and finish.usage.input_tokens,
        "output_tokens": finish.usage and finish.usage.output_tokens,
    }


def assert_same_fields(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """What is not in the expected file is not judged."""
    judged = found.keys() & expected.keys()
    assert {name: found[name] for name in judged} == {name: expected[name] for name in judged}


def assert_calls(result: Result, expected: dict[str, Any]) -> None:
    """The calls are the expected ones; where a server gave no id, any will do."""
    if "tool_calls" not in expected:
        return
    wanted = [(one["call_id"], one["name"], one["input"]) for one in expected["tool_calls"]]
    given = [(wish and one[0], *one[1:]) for one, (wish, *_) in zip(result.calls, wanted, strict=True)]
    assert given == wanted


def read_with_thinking(read: ReadBytes, data: bytes, thinking: ThinkingMode) -> tuple[Result, Result]:
    """The same lines with thinking of its own and in another mode, in which it disappears or is text."""
    shown = read([data], PLAIN, "jsonl")
    other = read([data], StreamOptions(thinking, CitationMode.OFF, ""), "jsonl")
    assert other.thinking == ""
    assert other.calls == shown.calls
    if thinking is ThinkingMode.OFF:
        assert other.text == shown.text
    return shown, other


_WITHOUT_MSGSPEC = """
import sys
sys.modules["msgspec"] = None  # importing it fails, as where it is not installed
from partstream.codec.json_codec import FAST
assert not FAST
from protocols.recorded import PLAIN
from protocols.{folder}.test_recordings import RECORDINGS, _assert_expected, _bodies
from protocols.{folder}.wire import read_bytes
for one in RECORDINGS:
    recording = one.values[0]
    for framing, data in _bodies(recording).items():
        _assert_expected(read_bytes([data], PLAIN, framing), recording.expected)
"""


def assert_same_without_msgspec(folder: str, root: Path) -> None:
    """The recordings of a folder give what is expected in a process that cannot import msgspec."""
    command = [sys.executable, "-c", _WITHOUT_MSGSPEC.format(folder=folder)]
    run = subprocess.run(
        command,
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert (run.returncode, run.stderr.decode()) == (0, "")
