"""The command behind `make interop TRY=frameworks`: installs each framework at two versions, runs the tests of its
adapter with both, and writes what they showed.

It ends with code 1 when a test failed.
"""

from __future__ import annotations
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import click
from rich.console import Console

from interop.frameworks.runs import seen_in, tests_of
from interop.frameworks.table import EDITIONS, FRAMEWORKS
from interop.servers.environments import NotInstalledError
from interop.servers.pytest_runs import BrokenRunError
from interop.servers.results import Seen, ServerResult, Verdict
from interop.servers.runs import COLOURS, try_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interop.frameworks.table import Framework

_RESULTS: Final = Path(__file__).resolve().parent / "results.json"


@click.command()
@click.option("--only", multiple=True, help="The name of a framework; repeat for more.")
@click.option("--write/--no-write", "is_written", default=True, help="Whether the results are written.")
def main(only: tuple[str, ...], is_written: bool) -> None:
    """Runs the tests of the adapters at the oldest and the newest version of each framework."""
    try_all(FRAMEWORKS, only, _result, Console(), _RESULTS if is_written else None)


def _result(framework: Framework, console: Console) -> ServerResult:
    date = datetime.now(UTC).date().isoformat()
    shown = {edition: _shown(framework, edition) for edition in EDITIONS}
    package = " and ".join(dict.fromkeys(shown.values()))
    try:
        seen = {f"{edition}, {shown[edition]}": _seen(framework, edition, console) for edition in EDITIONS}
        return ServerResult(package, date, "", seen)
    except NotInstalledError as error:
        console.print(f"left out: {error}", style="yellow", markup=False)
        return ServerResult(package, date, str(error), {})


def _shown(framework: Framework, edition: str) -> str:
    return ", ".join(f"{package} {version}" for package, version in framework.versions(edition).items())


def _seen(framework: Framework, edition: str, console: Console) -> Mapping[str, Seen]:
    console.rule(f"{framework.name}, {edition}: {_shown(framework, edition)}")
    framework.environment(edition).install()
    framework.environment(edition).install_ours()
    try:
        with TemporaryDirectory() as folder:
            seen = seen_in(tests_of(framework, edition, Path(folder) / "report.xml"))
    except BrokenRunError as error:
        seen = {"its tests": Seen(Verdict.FAILS, str(error))}
    for name, one in seen.items():
        console.print(f"  [{COLOURS[one.verdict]}]{one.verdict:10}[/] {name:58} ", end="")
        console.print(one.says, markup=False, soft_wrap=True)
    return seen


if __name__ == "__main__":
    main()
