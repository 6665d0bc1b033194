"""The command of `make bench WHAT=hub`: measures, shows, writes; its exit says whether it ran, not what it found."""

from __future__ import annotations
import json
import signal
import tempfile
from pathlib import Path

import click
from rich.console import Console

from benchmarks import machine
from benchmarks.grids import draw
from benchmarks.hub.litellm_database import VERSION
from benchmarks.hub.measure import Sizes, measure
from benchmarks.hub.page import RESULTS, grids
from benchmarks.progress import Progress


@click.command()
@click.option("--rounds", default=3, show_default=True, help="How often each contestant is asked in turn.")
@click.option("--firsts", default=60, show_default=True, help="How many first words are timed in a round.")
@click.option("--answers", default=10_000, show_default=True, help="How many answers the hub gives for its memory.")
@click.option("--peer-answers", default=500, show_default=True, help="How many LiteLLM's proxy gives.")
@click.option("--bursts", default=2, show_default=True, help="How many budgets are run into.")
@click.option("--peers/--no-peers", default=True, help="Measure LiteLLM's proxy too.")
@click.option("--output", type=click.Path(path_type=Path), default=RESULTS, show_default=True)
def main(rounds: int, firsts: int, answers: int, peer_answers: int, bursts: int, peers: bool, output: Path) -> None:
    """Measures the hub beside LiteLLM's proxy with its database."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends what it has started, as with SIGINT
    console = Console()
    facts = machine.facts()
    sizes = Sizes(rounds, firsts, answers, peer_answers, bursts, peers)
    progress = Progress()
    with tempfile.TemporaryDirectory() as folder:
        measured = measure(sizes, Path(folder), progress)
    progress.end()
    about = {name: facts[name] for name in ("date", "processor", "system", "python", "node")}
    results = {"machine": {**about, "litellm": VERSION}, **measured}
    for grid in grids(results):
        draw(grid, console)
    output.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    console.print(f"written to {output}")


if __name__ == "__main__":
    main()
