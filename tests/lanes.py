"""The two lanes of the tests: `make test` runs the fast one, `make test-slow` the other, and `make check` both.

`--lane` chooses one; without it all tests run. One test of a hundred takes two thirds of the time: it builds, installs
or follows what few changes touch, or looks at what a process alone has. It need not run at each change.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]

SLOW: Mapping[str, str] = {
    "tests/benchmarks": "measures, on a small scale, what `make bench` and its like measure",
    "tests/cli/test_hub_guide.py": "follows the guide of hubs, command by command",
    "tests/cli/test_newcomer.py": "goes through what newcomers mistake, with processes",
    "tests/cli/test_record.py": "looks at a process: its signals, its files, its page",
    "tests/cli/test_serve.py": "looks at a process: its signals, and how answers are drained",
    "tests/cli/test_serve_hub.py": "looks at a process that serves a hub",
    "tests/cli/test_serve_observers.py": "looks at a process: its log, its metrics",
    "tests/cli/test_serve_store.py": "looks at processes that follow each other",
    "tests/cli/test_serve_workers.py": "starts several workers for each test",
    "tests/cli/test_terminal_gate.py": "looks at terminals, one process for each test",
    "tests/cli/test_upstream.py": "looks at a process: its lines, its signals",
    "tests/docs": "builds the site, follows the tutorials, and runs every block of code",
    "tests/fuzzing": "reads damaged streams for seconds",
    "tests/hosts/vscode/test_hostile_process.py": "looks at a process that providers attack",
    "tests/hub/test_processes.py": "starts several workers",
    "tests/inspector/test_server_in_a_terminal.py": "looks at terminals",
    "tests/projects": "makes a project of each template, and runs its tests",
    "tests/test_adding_a_protocol.py": "follows the guide to a protocol of one's own, in processes",
    "tests/test_doors.py": "holds what newcomers typed against the pages",
    "tests/test_generated.py": "makes every generated file anew",
    "tests/test_packaging.py": "installs the packed extension",
    "tests/test_release.py": "builds what is released",
    "tests/test_test_runs.py": "runs pytest in pytest",
    "tests/test_wheel.py": "builds and installs the wheel",
    "tests/tokens/test_crashes.py": "kills processes while they write",
    "tests/typing": "checks types with pyright",
}
"""What is slow, with the reason: a folder, a file, or one test of a file."""

FAST = frozenset(
    {
        "tests/cli/test_record.py::test_the_file_is_written_when_it_is_stopped_and_holds_no_key",
        "tests/cli/test_serve.py::test_a_file_is_served_until_ctrl_c",
        "tests/cli/test_upstream.py::test_it_says_where_it_serves_and_one_line_for_each_request",
    }
)
"""The tests of slow files that are fast nevertheless: one process of each command that serves."""


def lane_of(place: str) -> str | None:
    """The lane of a folder, a file or a test; None for what has tests of both lanes, or may have."""
    if place in FAST:
        return "fast"
    if any(row.startswith((f"{place}/", f"{place}::")) for row in SLOW.keys() | FAST):
        return None
    return (
        "slow" if any(place == row or place.startswith((f"{row}/", f"{row}::", f"{row}[")) for row in SLOW) else "fast"
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option that chooses."""
    parser.addoption("--lane", choices=("fast", "slow"), help="run the tests of one lane, see tests/lanes.py")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves files of the other lane alone: a worker needs seconds to import them all."""
    lane = config.getoption("lane")
    if lane is None or not collection_path.is_relative_to(PROJECT):
        return None
    # What is in a folder, its files say: a folder may have rows of its own.
    if collection_path.is_dir():
        return None
    return True if lane_of(_place(collection_path)) not in {lane, None} else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves single tests of the other lane out."""
    lane = config.getoption("lane")
    if lane is None:
        return
    others = [item for item in items if lane_of(_place(item.path) + item.nodeid[item.nodeid.find("::") :]) != lane]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in set(others)]


def _place(path: Path) -> str:
    return path.relative_to(PROJECT).as_posix()
