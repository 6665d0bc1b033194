"""The command behind `make bench WHAT=proof`: puts workers through what a team fears, and writes what they showed.

It ends with code 1 when something did not hold.
"""

from __future__ import annotations
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from benchmarks import machine
from benchmarks.hub_proof.books import faults_of_books
from benchmarks.hub_proof.scenarios import (
    Found,
    Sizes,
    at_the_limit,
    killed_in_every_phase,
    without_a_database,
)
from benchmarks.hub_proof.site import Site
from interop.servers.postgres import PostgresServer

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SKEWS", "prove"]

_RESULTS: Final = Path(__file__).with_name("results.json")
SKEWS: Final = (0.0, 2.0, -2.0, 4.0)
"""By how many seconds the clock of each worker is wrong."""
_SIZES: Final = Sizes(answers=1_000, away_seconds=120.0, rate=20)
_FEW: Final = Sizes(answers=60, away_seconds=3.0, rate=8)


@click.command()
@click.option("--few", is_flag=True, help="Ask few, and stop the database for seconds: to see that it runs.")
@click.option("--away-seconds", type=float, default=None, help="How long the database is away.")
@click.option("--seed", type=int, default=None, help="Decides which worker is killed; by default the time does.")
@click.option("--write/--no-write", "is_written", default=True, help="Whether the results are written.")
def main(*, few: bool, away_seconds: float | None, seed: int | None, is_written: bool) -> None:
    """Proves the budgets of the hub with four workers, real processes on a real Postgres."""
    sizes = _FEW if few else _SIZES
    if away_seconds is not None:
        sizes = Sizes(sizes.answers, away_seconds, sizes.rate)
    chosen = int(time.time()) if seed is None else seed
    click.echo(f"seed {chosen}")
    findings = prove(sizes, random.Random(chosen), click.echo)
    if is_written and not few:
        about = {name: machine.facts()[name] for name in ("date", "processor", "system", "python")}
        shown = {title: {"figures": found.figures, "faults": found.faults} for title, found in findings.items()}
        _RESULTS.write_text(json.dumps({"machine": about, "findings": shown}, indent=2) + "\n", encoding="utf-8")
    sys.exit(any(found.faults for found in findings.values()))


def prove(sizes: Sizes, chance: random.Random, say: click.echo) -> dict[str, Found]:
    """What each scenario showed, by its title."""
    findings: dict[str, Found] = {}
    server = PostgresServer.made()
    with tempfile.TemporaryDirectory() as folder, server.guard():
        server.start()
        site = Site(Path(folder), server)
        try:
            site.hub("init")
            site.note_overshoots()
            site.hub("add", "model", "words", "--price", "1/10")
            site.start(SKEWS)
            for title, run in (
                (
                    f"{sizes.answers:,} answers, one of four workers killed in every phase",
                    lambda: killed_in_every_phase(site, sizes, chance, SKEWS),
                ),
                (
                    f"{sizes.answers:,} requests at once, a budget for a third of them",
                    lambda: at_the_limit(site, sizes),
                ),
                ("answers without a database", lambda: without_a_database(site, sizes)),
            ):
                findings[title] = _said(title, run(), say)
            codes = site.stop()
            last = Found({"exit codes": codes}, [*faults_of_books(site)])
            findings["the books after the end"] = _said("the books after the end", last, say)
        finally:
            for worker in tuple(site.workers):
                site.kill(worker)
    return findings


def _said(title: str, found: Found, say: Callable[[str], object]) -> Found:
    say(title)
    for name, figure in found.figures.items():
        say(f"  {name}: {figure}")
    for fault in found.faults[:20]:
        say(f"  FAULT: {fault}")
    return found


if __name__ == "__main__":
    main()
