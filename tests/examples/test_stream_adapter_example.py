"""The example of the stream adapter runs on a recorded stream as its readers would run it."""

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
EXAMPLE = TESTS.parent / "examples" / "stream_adapter.py"
RECORDED = TESTS / "fixtures" / "ai_sdk" / "7.0.173" / "tools_parallel.fullstream.plain.jsonl"

EXPECTED = """\
Let me look.
call: read_file {'path': '/notes/größe.md'}

call: list_folder {'path': '/notes', 'depth': 2}

5 tokens in, 2 out
"""


def test_the_example_prints_the_answer_of_a_recorded_stream() -> None:
    command = [sys.executable, "-X", "utf8", EXAMPLE]
    done = subprocess.run(command, input=RECORDED.read_bytes(), capture_output=True, timeout=30, check=False)
    assert done.stderr == b""
    assert done.stdout.decode() == EXPECTED
