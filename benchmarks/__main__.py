"""The command behind `make bench`: measures, shows, writes; its exit says whether it ran, never what it found."""

from __future__ import annotations
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from benchmarks import (
    cancelling,
    captures,
    competitors,
    hostile,
    imports,
    machine,
    page,
    race,
    report,
    scaling,
    sidecar,
    targets,
    tokens,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.status import Status


@click.command()
@click.option("--events", default=20_000, show_default=True, help="How many events a stream has.")
@click.option("--rounds", default=7, show_default=True, help="How often each reader runs; the slow run less often.")
@click.option("--large-event", default=2_000_000, show_default=True, help="Bytes of the one large event.")
@click.option("--output", type=click.Path(path_type=Path), default=page.RESULTS, show_default=True)
@click.option("--install/--no-install", default=True, help="Install the peers that are missing.")
def main(events: int, rounds: int, large_event: int, output: Path, install: bool) -> None:
    """Measures Partstream beside others on the same bytes."""
    console = Console()
    if install:
        competitors.make_ready()
    with tempfile.TemporaryDirectory() as folder:
        results = _measure(console, Path(folder), events, rounds, large_event)
    for name, value in results.machine.items():
        console.print(f"{name}: {value}")
    report.show(results, console)
    output.write_text(json.dumps(results.as_json(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    console.print(f"written to {output}")


def _measure(console: Console, folder: Path, events: int, rounds: int, large_event: int) -> report.Results:
    groups = {
        race.CASES: competitors.COMPETITORS,
        (race.CHUNKS,): competitors.CHUNK_COMPETITORS,
        (race.TYPELESS,): competitors.TYPELESS_COMPETITORS,
        (race.CHAT,): competitors.CHAT_COMPETITORS,
        (race.PADDED_CHAT,): competitors.PADDED_CHAT_COMPETITORS,
        (race.MESSAGES,): competitors.MESSAGES_COMPETITORS,
        (race.GEMINI,): competitors.GEMINI_COMPETITORS,
    }
    missing = {competitor: competitor.missing() for group in groups.values() for competitor in group}
    present = {
        cases: [competitor for competitor in group if missing[competitor] is None] for cases, group in groups.items()
    }
    few = max(1, rounds // 3)
    facts = machine.facts()
    with console.status("measuring") as status:
        raced = _race(status, folder, events, rounds, present)
        status.update("streams of several lengths")
        grown = scaling.growth(folder, events, few)
        status.update("memory")
        peaks = scaling.memory(folder, events)
        status.update("one large event")
        large = scaling.large_event(large_event, rounds)
        status.update("hostile streams")
        attacked = hostile.measure_apart(rounds, divide=max(1, 20_000 // events))
        status.update("import time")
        imported = imports.import_time(few)
        status.update("counting tokens")
        counting = tokens.measure_counting(few)
        status.update("cancelling")
        cancelled = cancelling.measure(rounds)
        status.update("keeping and tracing answers")
        captured = captures.measure(rounds, max(200, events // 5))
        status.update("the sidecar")
        of_sidecar = sidecar.measure(few, events * 2)
    return report.Results(
        machine=facts,
        settings={"events": events, "rounds": rounds},
        skipped={competitor.name: why for competitor, why in missing.items() if why is not None},
        raced=raced,
        grown=grown,
        peaks=peaks,
        large=large,
        hostile=attacked,
        imported=imported,
        counting=counting,
        cancelled=cancelled,
        captured=captured,
        sidecar=of_sidecar,
        targets=[
            *targets.judge(raced, grown, peaks, large, imported, counting, cancelled),
            *hostile.targets(attacked),
        ],
    )


def _race(
    status: Status,
    folder: Path,
    events: int,
    rounds: int,
    races: Mapping[tuple[race.Case, ...], list[competitors.Competitor]],
) -> dict[race.Case, dict[str, race.Figure]]:
    raced: dict[race.Case, dict[str, race.Figure]] = {}
    for cases, present in races.items():
        raced |= race.race(present, folder, events, rounds, lambda case: status.update(f"racing: {case}"), cases)
    return raced


if __name__ == "__main__":
    main()
