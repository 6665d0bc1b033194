"""How a run of the tests goes: what starts it, and a test that fails, changes nothing for the other tests."""

import ast
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lanes import FAST, LONGEST, SLOW, lane_of, spread
from offences import assert_none
from rows import one_test_for

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
    test = "test_upstream.py::test_ctrl_c_and_sigterm_end_it_also_while_an_answer_is_under_way"
    run = _run("-q", f"packages/partstream-devtools/tests/cli/{test}", ignored=signal.SIGINT)
    assert run.returncode == 0, run.stdout
    assert "4 passed" in run.stdout


def test_workers_that_begin_at_other_ends_collect_the_same_tests():
    run = _run("-n", "2", "tests/test_rows.py", "packages/partstream/tests/test_numbers.py")
    assert run.returncode == 0, run.stdout


MOMENT = re.compile(r"(^|_)(at|began|begun|elapsed|monotonic|now|perf_counter|seconds|start|started|took)$")


def _timed_asserts(path: Path) -> Iterator[str]:
    """The asserts that compare a difference of two moments; an order of moments may be asserted."""
    for asserted in (node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Assert)):
        for node in ast.walk(asserted.test):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
                names = {getattr(part, "attr", getattr(part, "id", "")) for part in ast.walk(node)}
                if any(MOMENT.search(name) for name in names):
                    yield f"{path.relative_to(PROJECT)} line {asserted.lineno}: {ast.unparse(asserted)}"


def test_no_test_asserts_how_long_something_takes():
    assert_none(
        offence
        for path in (*(PROJECT / "tests").rglob("*.py"), *PROJECT.glob("packages/*/tests/**/*.py"))
        for offence in _timed_asserts(path)
    )


@pytest.mark.parametrize("row", sorted(SLOW.union(FAST, LONGEST)))
def test_what_the_table_of_lanes_names_is_there(row: str):
    file, _, name = row.partition("::")
    assert (PROJECT / file).exists()
    assert not name or re.search(rf"^(async )?def {name}\(", (PROJECT / file).read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize(
    ("place", "lane"),
    [
        ("tests/docs/test_site.py", "slow"),
        ("tests/docs/test_site.py::test_a[b::c]", "slow"),
        ("tests/docsets/test_site.py", "fast"),
        ("tests", None),
    ],
)
def test_a_row_of_the_table_of_lanes_is_about_all_that_is_in_it(place: str, lane: str | None):
    assert lane_of(place) == lane


@pytest.mark.parametrize("lane", ["fast", "slow"])
def test_a_lane_runs_its_tests_and_no_others(lane: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", str(PROJECT / "tests"))
    file = "packages/partstream-devtools/tests/cli/test_upstream.py"
    places = (
        f"{file}::test_it_says_where_it_serves_and_one_line_for_each_request",
        f"{file}::test_a_port_that_is_taken_is_told",
    )
    run = _run("--noconftest", "-p", "lanes", "--collect-only", "-q", f"--lane={lane}", *places)
    collected = {line for line in run.stdout.splitlines() if line.startswith("packages/")}
    assert collected == {place for place in places if lane_of(place) == lane}
    assert len(collected) == 1


def test_the_slow_lane_begins_with_its_longest_tests(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", str(PROJECT / "tests"))
    places = ("tests/test_freshness.py", "tests/test_doors.py")
    run = _run("--noconftest", "-p", "lanes", "-p", "no:randomly", "--collect-only", "-q", "--lane=slow", *places)
    files = [line.partition("::")[0] for line in run.stdout.splitlines() if line.startswith("tests/")]
    assert list(dict.fromkeys(files)) == ["tests/test_doors.py", "tests/test_freshness.py"]


@one_test_for("workers", [1, 2, 3, 8])
def test_each_worker_begins_with_long_tests_and_gets_as_many_as_the_others(workers: int):
    places = {number: f"{place}::test_{number}" for number, place in enumerate([*LONGEST, *["tests/a.py"] * 40] * 10)}
    ordered = spread(places, workers)
    assert sorted(ordered) == sorted(places)
    starts = [0]
    for left in range(workers, 1, -1):  # as xdist cuts
        starts.append(starts[-1] + (len(places) - starts[-1]) // left)
    begun = [[places[one].partition("::")[0] for one in ordered[start:][: len(LONGEST)]] for start in starts]
    assert [first for first, *_ in begun] == list(LONGEST[:workers])
    assert_none(files for files in begun if len(set(files[:9])) > 1)  # a file stays whole


FAILING = """
import ast, asyncio, gc, logging, socket, subprocess, sys

class Parses:
    def __init__(self):
        self.itself = self
    def __del__(self):
        ast.parse("x = [1]")

async def fail_in_the_middle():
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=subprocess.PIPE)
    raise ExceptionGroup("several", [ValueError("first"), RuntimeError("second")])

def test_1_leaves_things_open():
    asyncio.run(fail_in_the_middle())

def test_2_leaves_garbage_that_is_collected_while_this_source_is_parsed():
    gc.collect()
    gc.set_threshold(5000)
    Parses()
    waiting = socket.socket()
    assert waiting is None

def test_3_is_not_concerned():
    gc.collect()

def test_4_logs_what_no_worker_can_send():
    logging.getLogger().warning("half of a pair: \\ud83d")

LARGE = [%s]
""" % ("0, " * 20_000)


def test_a_test_that_fails_takes_neither_the_next_one_nor_the_run_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "test_failing.py").write_text(FAILING)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(PROJECT), str(PROJECT / "tests"))))
    run = _run("-c", "pyproject.toml", "-p", "conftest", "-p", "no:randomly", "-q", "-n", "1", str(tmp_path))
    assert run.stdout.splitlines()[-1].startswith("2 failed, 2 passed"), run.stdout
    assert "INTERNALERROR" not in run.stdout
    assert (run.returncode, run.stderr) == (1, "")


def test_the_head_of_a_run_says_how_many_recordings_there_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for folder, name in (("one", "a.jsonl"), ("one", "a.sse"), ("one", "a.expected.json"), ("two", "b.sse")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / name).touch()
    monkeypatch.setenv("PARTSTREAM_RECORDINGS", str(tmp_path))
    collecting = ("--collect-only", "packages/partstream/tests/test_cancellation.py")
    assert f"recordings: 2 in {tmp_path} (one 1, two 1)" in _run(*collecting).stdout
    monkeypatch.setenv("PARTSTREAM_RECORDINGS", str(tmp_path / "none"))
    assert f"recordings: none in {tmp_path / 'none'}; what replays them is skipped" in _run(*collecting).stdout
