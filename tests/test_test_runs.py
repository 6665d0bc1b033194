"""How a run of the tests goes: what starts it, and a test that fails, changes nothing for the other tests."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]


def _run(*arguments: str, ignored: signal.Signals | None = None) -> subprocess.CompletedProcess[str]:
    """Runs pytest as a process of its own, with a signal ignored as the shell does it for a job in the background."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    if ignored is not None:
        command = ["sh", "-c", f"trap '' {ignored.name.removeprefix('SIG')}; exec \"$@\"", "sh", *command]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(
        command, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=50, check=False
    )


@pytest.mark.skipif(os.name != "posix", reason="the shell of POSIX")
def test_ctrl_c_reaches_the_processes_of_the_tests_also_where_the_parent_ignores_it():
    test = "tests/cli/test_upstream.py::test_ctrl_c_ends_it_also_while_an_answer_is_under_way"
    run = _run("-q", test, ignored=signal.SIGINT)
    assert run.returncode == 0, run.stdout
    assert "2 passed" in run.stdout


def test_the_head_of_a_run_says_how_many_recordings_there_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for folder, name in (("one", "a.jsonl"), ("one", "a.sse"), ("one", "a.expected.json"), ("two", "b.sse")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / name).touch()
    monkeypatch.setenv("PARTSTREAM_RECORDINGS", str(tmp_path))
    collecting = ("--collect-only", "tests/test_cancellation.py")
    assert f"recordings: 2 in {tmp_path} (one 1, two 1)" in _run(*collecting).stdout
    monkeypatch.setenv("PARTSTREAM_RECORDINGS", str(tmp_path / "none"))
    assert f"recordings: none in {tmp_path / 'none'}; what replays them is skipped" in _run(*collecting).stdout
