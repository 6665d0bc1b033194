"""The command behind `make bench WHAT=record`: measures, shows, writes; its exit says whether it ran, not what it
found."""

from __future__ import annotations
import json
import tempfile
from pathlib import Path

import click
from rich.console import Console

from benchmarks import machine
from benchmarks.grids import draw
from benchmarks.recording.measure import Sizes, measure
from benchmarks.recording.page import RESULTS, grids


@click.command()
@click.option("--rounds", default=10, show_default=True, help="How often each side streams.")
@click.option("--events", default=200, show_default=True, help="Events of a stream.")
@click.option("--pause", default=5, show_default=True, help="Milliseconds between two events.")
@click.option("--cancels", default=40, show_default=True, help="How often a client leaves.")
@click.option("--megabytes", default=64, show_default=True, help="Size of the answer whose throughput is measured.")
@click.option("--answers", default=4_000, show_default=True, help="Answers that go by while the memory is looked at.")
@click.option("--output", type=click.Path(path_type=Path), default=RESULTS, show_default=True)
def main(rounds: int, events: int, pause: int, cancels: int, megabytes: int, answers: int, output: Path) -> None:
    """Measures `partstream record` before a server beside that server alone."""
    console = Console()
    facts = machine.facts()
    with tempfile.TemporaryDirectory() as folder, console.status("measuring") as status:
        sizes = Sizes(rounds, events, pause, cancels, megabytes, answers)
        measured = measure(sizes, Path(folder), status.update)
    results = {"machine": {name: facts[name] for name in ("date", "processor", "system", "python")}, **measured}
    for grid in grids(results):
        draw(grid, console)
    output.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    console.print(f"written to {output}")


if __name__ == "__main__":
    main()
