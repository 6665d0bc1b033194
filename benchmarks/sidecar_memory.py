"""Whether the memory of a sidecar stays flat: over hot reloads of a provider file, and over answers.

    python -m benchmarks.sidecar_memory

Resident memory of a real process, in MiB, at five points of each run. A module of a provider holds two megabytes, so a
module that stayed behind with each reload would show: a thousand of them are two gigabytes.
"""

from __future__ import annotations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import click
from rich.console import Console

from benchmarks.grids import Grid, draw
from benchmarks.sidecar import serving, with_provider_file, with_upstream
from benchmarks.sidecar_peer import PROVIDER, Start, peer

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["main"]

_POINTS: Final = 5

_LARGE: Final = "\nLARGE = bytearray(2_000_000)  # edit {number}\n"


@click.command()
@click.option("--reloads", default=1_000, show_default=True, help="How often the provider file is edited.")
@click.option("--answers", default=10_000, show_default=True, help="How many answers are given.")
def main(reloads: int, answers: int) -> None:
    """Measures the memory of a sidecar over reloads and answers."""
    with TemporaryDirectory() as name, serving() as upstream:
        folder = Path(name)
        of_file = with_provider_file(folder)
        of_reloads = _series(of_file, reloads, lambda number: _edit(folder, number))
        of_answers = _series(of_file, answers)
        of_server = _series(with_upstream(folder, upstream), answers)
    head = ["", *(f"{part * 100 // _POINTS} %" for part in range(_POINTS + 1))]
    rows = [
        [f"{reloads:,} hot reloads, each with an answer", *of_reloads],
        [f"{answers:,} answers of a provider file", *of_answers],
        [f"{answers:,} answers of a server", *of_server],
    ]
    draw(Grid("Resident memory of a sidecar in MiB", head, rows), Console())


def _series(start: Start, count: int, before: Callable[[int], None] = lambda number: None) -> list[str]:
    """The memory of a process after its first answer, and after each fifth of all answers."""
    figures = []
    with peer(start) as opened:
        opened.initialize()
        for number in range(count + 1):
            before(number)
            for _ in opened.ask(start.question):
                pass
            if number % max(1, count // _POINTS) == 0:
                resident = opened.resident()
                figures.append("?" if resident is None else f"{resident:.0f}")
    return figures


def _edit(folder: Path, number: int) -> None:
    (folder / "bench.py").write_text(PROVIDER + _LARGE.format(number=number), encoding="utf-8")


if __name__ == "__main__":
    main()
