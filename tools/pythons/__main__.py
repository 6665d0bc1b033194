"""The command of `make test PART=pythons`: runs the tests on each Python of this machine, with the oldest packages
that are allowed and the newest that there are, and writes what they showed.

It ends with code 1 when a test failed.
"""

from __future__ import annotations
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import click
from rich.console import Console

from interop.servers.environments import NotInstalledError
from interop.servers.pytest_runs import BrokenRunError, report_of
from interop.servers.results import Seen, ServerResult, Verdict
from interop.servers.runs import COLOURS, try_all
from tools.pythons.editions import editions, untested_bounds
from tools.pythons.reports import ALL_TESTS, seen_in

if TYPE_CHECKING:
    from tools.pythons.editions import Edition

_RESULTS: Final = Path(__file__).resolve().parent / "results.json"
_OF_RESULTS: Final = "tests/test_pythons.py::test_no_python_that_was_run_failed"
"""What one Python showed must not make the tests fail on the next."""
_LONGEST: Final = 5_400
"""Seconds that all tests on one Python may take."""


@click.command()
@click.option("--only", multiple=True, help="The name of an edition, such as 3.11-oldest; repeat for more.")
@click.option("--tests", default="", help="The tests to run, as pytest takes them; all of them without it.")
@click.option("--workers", default="auto", help="How many processes run tests; 0 for one alone.")
@click.option("--write/--no-write", "is_written", default=True, help="Whether the results are written.")
def main(only: tuple[str, ...], tests: str, workers: str, is_written: bool) -> None:
    """Runs the tests on each supported Python, with the oldest and the newest packages."""
    arguments = [
        *tests.split(),
        f"--deselect={_OF_RESULTS}",
        "-q",
        "-n",
        workers,
        "--maxprocesses",
        "8",
        "--dist",
        "worksteal",
    ]

    def result(edition: Edition, console: Console) -> ServerResult:
        return _result(edition, arguments, tests or ALL_TESTS, console)

    try_all(editions(), only, result, Console(), _RESULTS if is_written else None)


def _result(edition: Edition, arguments: list[str], what: str, console: Console) -> ServerResult:
    console.rule(f"Python {edition.version}, {edition.choice} packages: {what}")
    date = datetime.now(UTC).date().isoformat()
    try:
        edition.install()
    except NotInstalledError as error:
        console.print(f"left out: {error}", style="yellow", markup=False)
        return ServerResult(f"Python {edition.version}", date, str(error), {})
    console.print(f"  what pytest says: {edition.log}", markup=False, soft_wrap=True)
    seen = _seen(edition, arguments)
    console.print(f"  [{COLOURS[seen.verdict]}]{seen.verdict:10}[/] ", end="")
    console.print(seen.says, markup=False, soft_wrap=True)
    return ServerResult(f"Python {edition.version}", date, "", {edition.choice: {what: seen}})


def _seen(edition: Edition, arguments: list[str]) -> Seen:
    bounds = [*dict.fromkeys(untested_bounds(edition.environment.pins))] if edition.choice == "oldest" else []
    try:
        with TemporaryDirectory() as folder:
            python = edition.environment.program("python")
            seen = seen_in(report_of(python, arguments, Path(folder) / "report.xml", _LONGEST, log=edition.log))
    except BrokenRunError as error:
        return Seen(Verdict.FAILS, str(error))
    return Seen(seen.verdict, f"{seen.says}; not as old as allowed: {', '.join(bounds)}") if bounds else seen


if __name__ == "__main__":
    main()
