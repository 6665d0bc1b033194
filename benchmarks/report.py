"""Shows the results: tables in the terminal, JSON in a file; measures nothing."""

from __future__ import annotations
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from benchmarks import cancelling, captures, hostile, sidecar, tokens
from benchmarks.competitors import FLOOR
from benchmarks.grids import Grid, draw
from benchmarks.page import target_row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console

    from benchmarks.race import Case, Figure
    from benchmarks.targets import Target

__all__ = ["Results", "show"]


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that a run found.

    Attributes:
        machine: On what.
        settings: With how many events and rounds.
        skipped: Who was not measured, and why.
        raced: Figures by case and competitor.
        grown: Figures by reader and length.
        peaks: Bytes by reader, length and kind.
        large: Nanoseconds a byte.
        hostile: Streams that once cost more than their length.
        imported: See :func:`benchmarks.imports.import_time`.
        counting: Of tokens.
        cancelled: From cancelling a request to its closed connection.
        captured: What keeping and tracing an answer costs.
        sidecar: Its start, its memory and its work.
        targets: What was to be reached.
    """

    machine: Mapping[str, str]
    settings: Mapping[str, int]
    skipped: dict[str, str]
    raced: Mapping[Case, Mapping[str, Figure]]
    grown: Mapping[str, Mapping[int, Figure]]
    peaks: Mapping[str, Mapping[int, Mapping[str, int]]]
    large: Mapping[str, float]
    hostile: hostile.Hostile
    imported: Mapping[str, Any]
    counting: tokens.Counting
    cancelled: Mapping[str, cancelling.Delay]
    captured: Mapping[str, captures.Cost]
    sidecar: sidecar.Sidecar
    targets: Sequence[Target]

    def as_json(self) -> dict[str, Any]:
        """For the file of results."""
        return {
            "machine": dict(self.machine),
            "settings": dict(self.settings),
            "skipped": dict(self.skipped),
            "microseconds_per_event": [
                asdict(case) | {"readers": {name: figure.as_json() for name, figure in figures.items()}}
                for case, figures in self.raced.items()
            ],
            "growth": {
                name: {str(count): figure.as_json() for count, figure in figures.items()}
                for name, figures in self.grown.items()
            },
            "peak_memory_bytes": {
                name: {str(c): dict(p) for c, p in peaks.items()} for name, peaks in self.peaks.items()
            },
            "large_event_nanoseconds_per_byte": dict(self.large),
            "hostile_streams": self.hostile.as_json(),
            "import": dict(self.imported),
            "counting": self.counting.as_json(),
            "cancelling_milliseconds": cancelling.as_json(self.cancelled),
            "keeping_microseconds_per_event": captures.as_json(self.captured),
            "sidecar": self.sidecar.as_json(),
            "targets": [target.as_json() for target in self.targets],
        }


def _grids(results: Results) -> list[Grid]:
    """The results as tables."""
    return [
        Grid(
            "Targets", ("what", "measured", "target", ""), [target_row(target.as_json()) for target in results.targets]
        ),
        *_raced(results.raced),
        _grown(results.grown),
        _peaks(results.peaks),
        hostile.grid(results.hostile),
        *tokens.grids(results.counting),
        cancelling.grid(results.cancelled),
        captures.grid(results.captured),
        *sidecar.grids(results.sidecar),
        _others(results),
    ]


def _raced(raced: Mapping[Case, Mapping[str, Figure]]) -> Iterator[Grid]:
    for case, figures in raced.items():
        floor = figures.get(FLOOR.name)
        rows = []
        for name, figure in figures.items():
            ratio = f"{figure.ratio_to(floor):.2f} ×" if floor else "–"
            quartiles = f"{figure.lower:.2f} – {figure.upper:.2f}"
            rows.append((name, f"{figure.median:.2f}", quartiles, ratio, str(len(figure.samples))))
        yield Grid(case.name, ("reader", "µs an event", "quartiles", "to the floor", "rounds"), rows)


def _grown(grown: Mapping[str, Mapping[int, Figure]]) -> Grid:
    counts = sorted({count for figures in grown.values() for count in figures})
    rows = [(name, *(f"{figures[count].median:.2f}" for count in counts)) for name, figures in grown.items()]
    return Grid("time an event by the length of the stream, µs", ("reader", *(f"{count:,}" for count in counts)), rows)


def _peaks(peaks: Mapping[str, Mapping[int, Mapping[str, int]]]) -> Grid:
    rows = [
        (name, f"{count:,}", f"{peak['deltas'] / 1024:.0f}", f"{peak['whole'] / 1024:.0f}")
        for name, by_length in peaks.items()
        for count, peak in by_length.items()
    ]
    return Grid("peak memory, KiB", ("reader", "events", "until the last delta", "with the closing events"), rows)


def _others(results: Results) -> Grid:
    large, imported = results.large, results.imported
    return Grid(
        "others",
        ("what", "measured"),
        [
            (f"{large['bytes']:,}-byte event in one read", f"{large['one_read']:.2f} ns a byte"),
            ("the same in 1,460-byte reads", f"{large['small_reads']:.2f} ns a byte"),
            ("import partstream", f"{imported['import']:.0f} ms"),
            ("a process that imports it", f"{imported['process']:.0f} ms"),
            ("a process that imports nothing", f"{imported['bare_process']:.0f} ms"),
            ("packages that the import loads", ", ".join(imported["packages"]) or "none"),
        ],
    )


def show(results: Results, console: Console) -> None:
    """Prints everything."""
    for grid in reversed(_grids(results)):
        draw(grid, console)
    for name, why in (results.skipped | results.counting.skipped).items():
        console.print(f"[yellow]{name} was not measured: {why}")
