"""What the sidecar costs: its start, its memory, a round trip, the parts of an answer.

    python -m benchmarks.sidecar

Everything is measured from the other end of the pipes of a real process, but for what the checker of the contract adds
to a part, which is too little to see there.
"""

from __future__ import annotations
import asyncio
import os
import threading
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.metadata import distribution
from itertools import chain
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console

from benchmarks.grids import Grid, draw
from benchmarks.sidecar_peer import PROVIDER, Peer, Start, peer
from interop.servers.environments import sources_of
from partstream.lm.parts import TextPart
from partstream.runtime.progress import CheckedProgress
from partstream_devtools.testing.upstream import ReplayUpstream

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from partstream.lm.parts import ResponsePart

__all__ = ["Sidecar", "grids", "measure", "processor_time_of_parts", "serving", "with_provider_file", "with_upstream"]

_BUNDLED: Final = ("anyio", "h11", "httpcore2", "httpx2", "idna", "truststore", "typing-extensions")
"""The packages that the packed extension brings beside Partstream; see tools/build_vsix.py."""


@dataclass(frozen=True, slots=True)
class Begun:
    """Medians of one way to start: milliseconds since the process was spawned, and MiB of resident memory.

    Attributes:
        initialized: When `initialize` was answered.
        listed: When the first list of models was there.
        answered: When the first part of an answer was there.
        resident_idle: After `initialize` was answered; None where the system does not say it.
        resident_listed: After the first list of models.
    """

    initialized: float
    listed: float
    answered: float
    resident_idle: float | None
    resident_listed: float | None


@dataclass(frozen=True, slots=True)
class Sidecar:
    """Everything that was found of the sidecar.

    Attributes:
        begun: By the way it was started.
        work: By what was done, the figure and its unit.
    """

    begun: dict[str, Begun]
    work: dict[str, tuple[float, str]]

    def as_json(self) -> dict[str, Any]:
        """For the file of results."""
        return {
            "start": {name: asdict(begun) for name, begun in self.begun.items()},
            "work": {name: {"figure": figure, "unit": unit} for name, (figure, unit) in self.work.items()},
        }


def measure(rounds: int, parts: int) -> Sidecar:
    """Measures everything; `rounds` starts of each kind, and answers of `parts` parts."""
    with TemporaryDirectory() as name, serving() as base_url:
        folder = Path(name)
        provider_file = with_provider_file(folder)
        return Sidecar(_starts(_ways(provider_file, base_url), rounds), _work(provider_file, rounds, parts))


def processor_time_of_parts(opened: Peer, parts: int) -> float:
    """Microseconds of the sidecar's processor time for a part of a long answer."""
    told = [float(text) for text in chain.from_iterable(opened.ask(f"{parts} 0 process_time"))]
    assert len(told) == parts
    return (told[-1] - told[0]) / parts * 1e6


def with_provider_file(folder: Path) -> Start:
    """The start of a sidecar with one model in a provider file, which is written into the folder."""
    (folder / "bench.py").write_text(PROVIDER, encoding="utf-8")
    return Start("a provider file, as installed", folder)


def with_upstream(folder: Path, base_url: str) -> Start:
    """The start of a sidecar that lists one model of an upstream."""
    group = {"id": "g", "configuration": {"baseUrl": base_url, "allowModels": ["text"]}}
    return Start("an upstream, as installed", folder, group, "text", "Hello")


def _ways(provider_file: Start, base_url: str) -> list[Start]:
    """With a provider file and with an upstream; and each as this Python has it installed, or as the packed extension
    has it: no site packages, so no msgspec and nothing else to find."""
    upstream = with_upstream(provider_file.folder, base_url)
    libraries = provider_file.folder / "libraries"
    libraries.mkdir()
    for package in _BUNDLED:
        packed = distribution(package)
        for place in {file.parts[0] for file in packed.files or ()} - {"..", "__pycache__"}:
            (libraries / place).symlink_to(str(packed.locate_file(place)))
    environment = {"PYTHONPATH": os.pathsep.join(map(str, (*sources_of(), libraries)))}
    return [
        replace(one, name=one.name.replace("installed", "packed"), python=("-S",), environment=environment)
        for one in (provider_file, upstream)
    ] + [provider_file, upstream]


@contextmanager
def serving() -> Iterator[str]:
    """The base URL of a model server on loopback, in a thread of its own."""
    loop, base_urls, ready = asyncio.new_event_loop(), [], threading.Event()
    stop = asyncio.Event()

    async def serve() -> None:
        async with ReplayUpstream() as upstream:
            base_urls.append(upstream.base_url)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(30)
    try:
        yield base_urls[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
        loop.close()


def _starts(ways: Sequence[Start], rounds: int) -> dict[str, Begun]:
    """Round and round all ways; the first of several rounds, which writes compiled files, is not counted."""
    found: dict[str, list[tuple[float | None, ...]]] = {way.name: [] for way in ways}
    for _ in range(rounds):
        for way in ways:
            found[way.name].append(_start(way))
    return {name: Begun(*map(_median, zip(*(rows[1:] or rows), strict=True))) for name, rows in found.items()}


def _start(way: Start) -> tuple[float | None, ...]:
    began, times = time.perf_counter(), []

    def take_time() -> None:
        times.append((time.perf_counter() - began) * 1e3)

    with peer(way) as opened:
        opened.initialize()
        take_time()
        idle = opened.resident()
        opened.list_models()
        take_time()
        listed = opened.resident()
        for said in opened.ask(way.question):
            if said and len(times) == 2:
                take_time()
    return (*times, idle, listed)


def _median(values: tuple[float | None, ...]) -> Any:
    return None if None in values else median(value for value in values if value is not None)


def _work(start: Start, rounds: int, parts: int) -> dict[str, tuple[float, str]]:
    few = max(1, rounds // 3)
    with peer(start) as opened:
        opened.initialize()
        opened.list_models()
        paced = _latencies(opened, seconds=min(3, rounds))
        return {
            "one token count there and back": (median(_round_trip(opened)), "µs"),
            "1.6 MB of prompt to the first part": (median(_long_prompt(opened) for _ in range(few)), "ms"),
            "parts of an answer": (median(_parts_per_second(opened, parts) for _ in range(few)), "a second"),
            "processor time of a part": (median(processor_time_of_parts(opened, parts) for _ in range(few)), "µs"),
            "of it the checker of the contract": (_checking(rounds) / 1e3, "µs"),
            "report to arrival at 1,000 parts a second, median": (median(paced), "µs"),
            "report to arrival, 99 of 100": (quantiles(paced, n=100)[98], "µs"),
        }


def _round_trip(opened: Peer) -> list[float]:
    """Microseconds of counting one text, many times."""
    taken = []
    for _ in range(500):
        began = time.perf_counter()
        opened.call("languageModels/tokenCount", group=None, model="bench/provider", items=[{"text": "hello"}])
        taken.append((time.perf_counter() - began) * 1e6)
    return taken


def _long_prompt(opened: Peer) -> float:
    """Milliseconds from a request of 1.6 MB in 1,000 messages to the first part of its answer."""
    filler = {"role": 2, "content": [{"type": "text", "value": "x" * 1600}]}
    began, taken = time.perf_counter(), 0.0
    for said in opened.ask("1 0 monotonic", *[filler] * 999):
        if said and not taken:
            taken = (time.perf_counter() - began) * 1e3
    return taken


def _parts_per_second(opened: Peer, parts: int) -> float:
    began = time.perf_counter()
    count = sum(map(len, opened.ask(f"{parts} 0 monotonic")))
    assert count == parts
    return count / (time.perf_counter() - began)


def _latencies(opened: Peer, seconds: int, per_second: int = 1000) -> list[float]:
    """Microseconds from the report of each part to its arrival here, evenly paced."""
    taken: list[float] = []
    for said in opened.ask(f"{per_second * seconds} {per_second} monotonic"):
        now = time.monotonic()
        taken += [(now - float(text)) * 1e6 for text in said]
    return taken


class _Sink:
    """A progress that throws everything away."""

    def report(self, part: ResponsePart, /) -> None:
        pass


def _checking(rounds: int) -> float:
    """Nanoseconds of processor time that the contract's checker adds to a text part; the least of many runs."""
    text = [TextPart(word) for word in ("a plain ", "word ", "größer ", "你好 ", "👋 ")] * 2000

    def least(progress: CheckedProgress | _Sink) -> float:
        taken = []
        for _ in range(rounds * 3):
            began = time.process_time()
            for part in text:
                progress.report(part)
            taken.append(time.process_time() - began)
        return min(taken)

    return (least(CheckedProgress(_Sink())) - least(_Sink())) / len(text) * 1e9


def grids(sidecar: Sidecar) -> list[Grid]:
    """The figures as tables."""

    def cell(value: float | None) -> str:
        return "–" if value is None else f"{value:.0f}"

    columns = ("`initialize` answered", "first list of models", "first part", "resident, idle", "resident, listed")
    starts = [(name, *map(cell, asdict(begun).values())) for name, begun in sidecar.begun.items()]
    work = [
        (what, f"{figure:,.2f} {unit}" if figure < 10 else f"{figure:,.0f} {unit}")
        for what, (figure, unit) in sidecar.work.items()
    ]
    return [
        Grid("start of the sidecar, ms since its spawn, and its memory, MiB", ("started with", *columns), starts),
        Grid("the sidecar at work", ("what", "measured"), work),
    ]


@click.command()
@click.option("--rounds", default=15, show_default=True, help="How often the start is measured.")
@click.option("--parts", default=100_000, show_default=True, help="How many parts a long answer has.")
def main(rounds: int, parts: int) -> None:
    """Measures what the sidecar costs."""
    for grid in grids(measure(rounds, parts)):
        draw(grid, Console(width=140))


if __name__ == "__main__":
    main()
