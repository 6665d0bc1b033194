"""Compares this checkout with another one: the same streams, imports and starts, side by side in one interleaved run.

    git worktree add ../before v0.5.0
    python -m benchmarks.versions ../before

A ratio is the median of the ratios of the rounds, each of which runs both checkouts one directly after the other, by
turns the one and the other first. The times are processor times, so that other programs on the machine disturb them
little; on a busy machine, many short rounds say more than few long ones (`--events 4000 --rounds 101`). Another Python
measures with `PYTHONPATH=$PWD/src:SITE-PACKAGES OTHER-PYTHON -m benchmarks.versions FOLDER`.
"""

from __future__ import annotations
import json
import resource
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click
from rich.console import Console

from benchmarks.competitors import CHUNKS_FAST, CHUNKS_PLAIN, FAST, PLAIN, ROOT, Worker, environment_of
from benchmarks.grids import Grid, draw
from benchmarks.machine import facts
from benchmarks.race import CASES, CHUNKS, write_case
from benchmarks.sidecar import processor_time_of_parts, serving, with_provider_file, with_upstream
from benchmarks.sidecar_peer import peer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.competitors import Competitor
    from benchmarks.race import Case
    from benchmarks.sidecar_peer import Start

_READERS = ((FAST, CASES), (PLAIN, CASES), (CHUNKS_FAST, (CHUNKS,)), (CHUNKS_PLAIN, (CHUNKS,)))

_IMPORT, _STARTS, _PARTS = "import partstream", "start of the sidecar", "parts through the sidecar"

_TIMED_IMPORT = "import time; s = time.process_time(); import partstream; print(time.process_time() - s)"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What both checkouts took for one thing.

    Attributes:
        what: In words.
        unit: Of the times.
        before: The time of the other checkout in each round.
        now: The time of this checkout in each round.
    """

    what: str
    unit: str
    before: Sequence[float]
    now: Sequence[float]

    @property
    def row(self) -> tuple[str, ...]:
        """For the table."""
        ratios = [now / before for before, now in zip(self.before, self.now, strict=True)]
        lower, _, upper = quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
        before, now = (f"{median(times):.2f} {self.unit}" for times in (self.before, self.now))
        return self.what, before, now, f"{median(ratios):.3f} ×", f"{lower:.3f} – {upper:.3f}"


def compare(what: str, unit: str, rounds: int, before: Callable[[], float], now: Callable[[], float]) -> Comparison:
    """Runs both by turns; a round before the first, which fills caches and writes compiled files, is not counted."""
    times: dict[Callable[[], float], list[float]] = {before: [], now: []}
    for number in range(rounds + 1):
        for run in (before, now) if number % 2 else (now, before):
            times[run].append(run())
    return Comparison(what, unit, times[before][1:], times[now][1:])


def read_case(case: Case, readers: Sequence[Worker], folder: Path, events: int, rounds: int) -> Comparison:
    """Compares the readers of both checkouts on one stream, in microseconds an event."""
    path, sizes = write_case(case, folder, events)
    tallies = []
    for reader in readers:
        reader.ask("load", case.name, path=str(path), sizes=str(sizes))
        tallies.append(reader.ask("tally", case.name))
    if tallies[0] != tallies[1]:
        raise RuntimeError(f"both read different things from {case.name}: {tallies}")

    def run(reader: Worker) -> float:
        seconds: float = reader.ask("run", case.name)["seconds"]
        return seconds / events * 1e6

    before, now = readers
    what = f"{now.competitor.name}: {case.name}"
    return compare(what, "µs an event", rounds, lambda: run(before), lambda: run(now))


def _import_time(checkout: Path) -> float:
    done = subprocess.run(
        [sys.executable, "-c", _TIMED_IMPORT],
        cwd=checkout,
        env=environment_of(checkout),
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout) * 1e3


def _start_of_sidecar(start: Start) -> float:
    """Milliseconds of processor time of a whole sidecar that lists its models, answers once and ends."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with peer(start) as opened:
        opened.initialize()
        opened.list_models()
        assert any(opened.ask(start.question))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def _starts_of_sidecars(checkouts: Sequence[Path], rounds: int) -> list[Comparison]:
    """Compares starts with a provider file and with an upstream."""
    with TemporaryDirectory() as folder, serving() as base_url:
        starts = (with_provider_file(Path(folder)), with_upstream(Path(folder), base_url))
        return [
            compare(
                f"{_STARTS}, {start.name}",
                "ms",
                rounds,
                *(partial(_start_of_sidecar, replace(start, checkout=checkout)) for checkout in checkouts),
            )
            for start in starts
        ]


def _parts_of_sidecars(checkouts: Sequence[Path], parts: int, rounds: int) -> Comparison:
    """Compares what a part of a long answer takes in the process of the sidecar."""
    with ExitStack() as stack:
        start = with_provider_file(Path(stack.enter_context(TemporaryDirectory())))
        pair = [stack.enter_context(peer(replace(start, checkout=checkout))) for checkout in checkouts]
        for opened in pair:
            opened.initialize()
            opened.list_models()
        run_before, run_now = (partial(processor_time_of_parts, opened, parts) for opened in pair)
        return compare(_PARTS, "µs a part", rounds, run_before, run_now)


@click.command()
@click.argument("other", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--events", default=20_000, show_default=True, help="How many events a stream has.")
@click.option(
    "--rounds", default=31, show_default=True, help="How often both run, after a first time that is left out."
)
@click.option("--only", default="", help="Run only what has this word in its name.")
@click.option("--output", type=click.Path(path_type=Path), help="Where to write the times of all rounds, as JSON.")
def main(other: Path, events: int, rounds: int, only: str, output: Path | None) -> None:
    """Compares this checkout with the one in the folder OTHER."""
    console = Console(width=140)
    checkouts = (other.resolve(), ROOT)
    found: list[Comparison] = []
    with TemporaryDirectory() as folder:
        for competitor, cases in _READERS:
            wanted = [case for case in cases if only in f"{competitor.name}: {case.name}"]
            if wanted and competitor.missing() is None:
                with ExitStack() as stack:
                    pair = [stack.enter_context(Worker(_of(competitor, checkout))) for checkout in checkouts]
                    found += [read_case(case, pair, Path(folder), events, rounds) for case in wanted]
        if only in _IMPORT:
            found.append(compare(_IMPORT, "ms", rounds, *(partial(_import_time, checkout) for checkout in checkouts)))
        if only in _STARTS:
            found += _starts_of_sidecars(checkouts, rounds)
        if only in _PARTS:
            found.append(_parts_of_sidecars(checkouts, events, rounds))
    for name, value in facts().items():
        console.print(f"{name}: {value}")
    head = ("what", "before", "now", "now / before", "quartiles")
    draw(Grid(f"compared with {other.name}", head, [one.row for one in found]), console)
    if output is not None:
        rows = [{"what": one.what, "unit": one.unit, "before": one.before, "now": one.now} for one in found]
        output.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _of(competitor: Competitor, checkout: Path) -> Competitor:
    return replace(competitor, checkout=checkout)


if __name__ == "__main__":
    main()
