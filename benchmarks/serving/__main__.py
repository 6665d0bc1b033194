"""The command behind `make bench WHAT=serve`: measures, shows, writes; its exit says whether it ran, never what it
found."""

from __future__ import annotations
import compileall
import json
import os
import re
import signal
import tempfile
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from benchmarks import machine
from benchmarks.grids import draw
from benchmarks.progress import Progress
from benchmarks.serving.contestants import GROUPS, versions
from benchmarks.serving.measure import Sizes, measure
from benchmarks.serving.page import RESULTS, grids

_PROJECT: Final = Path(__file__).resolve().parents[2]

_QUIET: Final = 1.0
"""The load of a machine on which nothing else is done."""


@click.command()
@click.option("--rounds", default=4, show_default=True, help="How often answers at a pace and memory are measured.")
@click.option("--laps", default=4, show_default=True, help="How often each contestant has its turn in a round.")
@click.option("--firsts", default=30, show_default=True, help="How many first words are timed in a lap.")
@click.option("--starts", default=2, show_default=True, help="How often each server is started, by round.")
@click.option("--only", multiple=True, help=f"Who takes part, for a quick look: of {', '.join(GROUPS)}.")
@click.option("--output", type=click.Path(path_type=Path), help=f"Default: {RESULTS.name}, for a run with everybody.")
def main(rounds: int, laps: int, firsts: int, starts: int, only: tuple[str, ...], output: Path | None) -> None:
    """Measures `partstream serve` and a hub beside the floor and gateways of others."""
    groups = frozenset(name for names in only for name in names.split(","))
    if unknown := groups.difference(GROUPS):
        raise click.BadParameter(f"{', '.join(sorted(unknown))}: say some of {', '.join(GROUPS)}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends what it has started, as with SIGINT
    console, progress = Console(), Progress()
    facts = machine.facts()
    if os.getloadavg()[0] > _QUIET:
        console.print(f"The machine is busy (load {os.getloadavg()[0]:.1f}): times to first words say little.")
    # As pip does where it installs a package: else the first server compiles what it imports, which takes 4 MB.
    for package in _PROJECT.glob("packages/*/src"):
        compileall.compile_dir(package, quiet=1)
    with tempfile.TemporaryDirectory() as folder:
        measured = measure(Sizes(rounds, laps, firsts, starts, groups), Path(folder), progress)
    progress.end()
    about = {name: facts[name] for name in ("date", "processor", "system", "python", "node")}
    results = {"machine": {**about, "gateways": versions(), "load at the end": f"{os.getloadavg()[0]:.1f}"}, **measured}
    if output is None and not groups:
        output = RESULTS
    if output is not None:
        text = re.sub(r"\[[\d\s.,e-]+\]", lambda values: " ".join(values[0].split()), json.dumps(results, indent=1))
        output.write_text(text + "\n", encoding="utf-8")
        console.print(f"written to {output}")
    for grid in grids(results):
        draw(grid, console)


if __name__ == "__main__":
    main()
