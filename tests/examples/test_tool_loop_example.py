"""The example of the tool loop runs as its readers would run it."""

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "tool_loop.py"

EXPECTED = """\
model: Let me ask.
calls: get_weather {'city': 'Oslo'}
calls: get_weather {'city': 'Rome'}
tool:  call-0 Oslo has 4 degrees
tool:  call-1 Rome has 19 degrees
model: I heard: Oslo has 4 degrees.
model: I heard: Rome has 19 degrees.
2 rounds, 4 messages
"""


def test_the_example_prints_a_whole_turn() -> None:
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, timeout=30, check=False)
    assert done.stderr == ""
    assert done.stdout == EXPECTED
