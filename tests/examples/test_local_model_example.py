"""The example of a model inside the process: it answers where one is installed, and says what is missing elsewhere."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from partstream.runtime import local_model

EXAMPLE = Path(__file__).parents[2] / "examples/local_model.py"


def _run(**environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, EXAMPLE]
    env = os.environ | environment
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=env)


def test_without_a_model_it_names_the_command_that_installs_one(tmp_path: Path) -> None:
    done = _run(PARTSTREAM_CACHE=str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert "`partstream demo --real` installs what is missing" in done.stderr


@pytest.mark.skipif(not local_model.is_installed(), reason="no model is installed: `partstream demo --real` does that")
def test_with_a_model_it_answers() -> None:
    done = _run()
    assert (done.returncode, done.stderr) == (0, "")
    assert " tokens, then " in done.stdout
