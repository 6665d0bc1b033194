"""The command behind `make bench WHAT=serve`: measures, shows, writes; its exit says whether it ran, never what it
found."""

from __future__ import annotations
import json
import tempfile
from pathlib import Path

import click
from rich.console import Console

from benchmarks import machine
from benchmarks.grids import draw
from benchmarks.serving.measure import Sizes, measure
from benchmarks.serving.page import RESULTS, grids


@click.command()
@click.option("--rounds", default=3, show_default=True, help="How often each contestant streams.")
@click.option("--firsts", default=100, show_default=True, help="How many first words are timed in a round.")
@click.option("--share", default=1.0, show_default=True, help="What part of the words and answers; for a quick look.")
@click.option("--output", type=click.Path(path_type=Path), default=RESULTS, show_default=True)
@click.option("--peers/--no-peers", default=True, help="Measure LiteLLM's proxy too.")
def main(rounds: int, firsts: int, share: float, output: Path, peers: bool) -> None:
    """Measures `partstream serve` beside LiteLLM's proxy and a bare server."""
    console = Console()
    facts = machine.facts()
    with tempfile.TemporaryDirectory() as folder, console.status("measuring") as status:
        measured = measure(Sizes(rounds, firsts, share, peers), Path(folder), status.update)
    results = {"machine": {name: facts[name] for name in ("date", "processor", "system", "python")}, **measured}
    for grid in grids(results):
        draw(grid, console)
    output.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    console.print(f"written to {output}")


if __name__ == "__main__":
    main()
