"""Installs each package, lets it ask `partstream serve` everything, and writes what it showed.

It ends with code 1 when a package showed something else than it has to, and that is no known fault of it.
"""

from __future__ import annotations
import asyncio
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import click
from rich.console import Console
from rich.markup import escape

from interop.clients.asking import BrokenClientError, result_of, running
from interop.clients.served.packages import FOLDER, PACKAGES
from interop.clients.served.serving import KEY, serving
from interop.clients.served.trials import TRIALS, Told
from interop.servers.environments import NotInstalledError
from interop.servers.results import Seen, ServerResult, Verdict, judged
from interop.servers.runs import COLOURS, try_all

if TYPE_CHECKING:
    from interop.clients.served.packages import Package
    from interop.clients.served.serving import Served
    from interop.clients.served.trials import Trial

_RESULTS: Final = FOLDER / "results.json"


@click.command()
@click.option("--only", multiple=True, help="The name of a package; repeat for more.")
@click.option("--write/--no-write", "is_written", default=True, help="Whether the results are written.")
def main(only: tuple[str, ...], is_written: bool) -> None:
    """Asks `partstream serve` with official packages."""
    try_all(PACKAGES, only, _result, Console(), _RESULTS if is_written else None)


def _result(package: Package, console: Console) -> ServerResult:
    console.rule(escape(f"{package.name} ({package.package})"))
    date = datetime.now(UTC).date().isoformat()
    try:
        package.environment.install()
        seen = {way.called: asyncio.run(_tried(package, word, console)) for word, way in package.ways.items()}
        return ServerResult(package.package, date, "", seen)
    except NotInstalledError as error:
        console.print(f"left out: {error}", style="yellow", markup=False)
        return ServerResult(package.package, date, str(error), {})


async def _tried(package: Package, word: str, console: Console) -> dict[str, Seen]:
    way = package.ways[word]
    console.print(f"[bold]{escape(way.called)}")
    seen: dict[str, Seen] = {}
    async with (
        serving() as served,
        running([*package.command(), served.base_urls[way.protocol], KEY, word]) as run,
    ):
        for trial in TRIALS:
            seen[trial.name] = one = await _seen(package, word, trial, run, served)
            console.print(f"  [{COLOURS[one.verdict]}]{one.verdict:10}[/] {trial.name:24}", end="")
            console.print(one.says, markup=False, soft_wrap=True)
            if run.returncode is not None:
                break
    return seen


async def _seen(package: Package, word: str, trial: Trial, run: asyncio.subprocess.Process, served: Served) -> Seen:
    if (why := package.why_not(trial.name, word)) is not None:
        return Seen(Verdict.NOT_TRIED, why)
    try:
        result = await result_of(json.dumps(trial.line()).encode() + b"\n", run)
        was_left = trial.asks == "leave" and await served.was_left()
        told = Told(result, await served.answers(), was_left)
    except BrokenClientError as error:
        await served.answers()
        return Seen(Verdict.FAILS, str(error))
    shown = trial.judge(told)
    faults = (one for one in package.faults if one.trial == trial.name and word in (one.protocols or (word,)))
    return judged(shown.says, works=shown.works, fault=next(faults, None))


if __name__ == "__main__":
    main()
