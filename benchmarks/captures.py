"""What it costs to keep an answer in memory, and to trace it: processor time per event, in one interleaved run.

    git worktree add ../before 9cd7e64c
    python -m benchmarks.captures --before ../before

Every event is a read of its own, which is the most that there can be to keep: its bytes, its time and the part that
came of it. With another checkout, the first row is what reading cost there.
"""

from __future__ import annotations
import json
import os
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any, Final, Self

import click
from rich.console import Console

from benchmarks.competitors import ROOT, environment_of
from benchmarks.grids import Grid, draw
from interop.servers.environments import sources_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MODES", "Cost", "as_json", "grid", "measure"]

MODES: Final = {
    "nothing": "nothing is kept",
    "memory": "kept in memory (the default)",
    "trace": "kept in memory, and traced",
}
_BEFORE: Final = "nothing is kept, in the other checkout"
_SHOWN: Final = 1_000
"""Nanoseconds in a microsecond."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds per event.

    Attributes:
        median: Of all rounds.
        more: The median of what a round took more than the same round in which nothing is kept.
        lower: The lower quartile of that.
        upper: The upper quartile of that.
        ratio: The median of the ratios to that round.
    """

    median: float
    more: float
    lower: float
    upper: float
    ratio: float


class _Worker:
    """A process that reads answers in one checkout."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "benchmarks.workers.upstream_answer"]
        pipe = subprocess.PIPE
        # The worker is this checkout's in both; the package that it measures is that of the folder.
        environment = {**environment_of(folder), "PYTHONPATH": os.pathsep.join(map(str, (*sources_of(folder), ROOT)))}
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT, env=environment)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process as process:
            if process.stdin is not None:
                process.stdin.close()

    def microseconds(self, mode: str, events: int) -> float:
        """The processor time per event of one reading."""
        streams = self._process
        if streams.stdin is None or streams.stdout is None:
            raise RuntimeError("the worker has no pipes")
        streams.stdin.write(json.dumps({"mode": mode, "events": events}) + "\n")
        streams.stdin.flush()
        line = streams.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker ended with status {streams.wait()}")
        return float(json.loads(line)) / _SHOWN


def measure(rounds: int, events: int, before: Path | None = None) -> dict[str, Cost]:
    """The costs by mode, in words.

    Args:
        rounds: How often each is measured.
        events: How many events an answer has.
        before: Another checkout, or None.

    Raises:
        RuntimeError: A worker could not run.
    """
    times: dict[str, list[float]] = {}
    with ExitStack() as stack:
        here = stack.enter_context(_Worker(ROOT))
        rows = [(words, here, mode) for mode, words in MODES.items()]
        if before is not None:
            rows.insert(0, (_BEFORE, stack.enter_context(_Worker(before)), "nothing"))
        for number in range(rounds + 1):  # the first fills caches, and is not counted
            for words, worker, mode in rows if number % 2 else reversed(rows):
                taken = worker.microseconds(mode, events)
                if number:
                    times.setdefault(words, []).append(taken)
    plain = times[MODES["nothing"]]
    return {words: _cost(times[words], plain) for words, _, _ in rows}


def _cost(taken: list[float], plain: list[float]) -> Cost:
    more = [one - other for one, other in zip(taken, plain, strict=True)]
    ratios = [one / other for one, other in zip(taken, plain, strict=True)]
    lower, middle, upper = quantiles(more, n=4, method="inclusive") if len(more) > 1 else more * 3
    return Cost(median(taken), middle, lower, upper, median(ratios))


def grid(costs: Mapping[str, Cost]) -> Grid:
    """The costs as a table."""
    rows = [
        (
            words,
            f"{cost.median:.2f}",
            f"{cost.more:+.2f}",
            f"{cost.lower:+.2f} – {cost.upper:+.2f}",
            f"{cost.ratio:.3f} ×",
        )
        for words, cost in costs.items()
    ]
    heads = ("an answer through the transport", "per event", "more", "quartiles", "ratio")
    return Grid("keeping and tracing an answer, µs of processor time per event", heads, rows)


def as_json(costs: Mapping[str, Cost]) -> dict[str, Any]:
    """For the file of results."""
    return {words: asdict(cost) for words, cost in costs.items()}


@click.command()
@click.option("--rounds", default=51, show_default=True, help="How often each is measured.")
@click.option("--events", default=4_000, show_default=True, help="How many events an answer has.")
@click.option("--before", type=click.Path(path_type=Path, exists=True, file_okay=False), help="Another checkout.")
def main(rounds: int, events: int, before: Path | None) -> None:
    """Measures what keeping and tracing an answer costs."""
    draw(grid(measure(rounds, events, None if before is None else before.absolute())), Console())


if __name__ == "__main__":
    main()
