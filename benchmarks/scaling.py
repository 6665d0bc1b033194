"""Measures what must not grow with the length of a stream: time and memory an event, and time a byte of one event."""

from __future__ import annotations
import json
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from benchmarks.competitors import FAST, PLAIN, ROOT, Worker
from benchmarks.race import CASES, TARGETED, Figure, write_case

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.competitors import Competitor

__all__ = ["growth", "large_event", "lengths", "memory"]


def lengths(events: int) -> tuple[int, ...]:
    """The lengths that are compared: a sixteenth of `events` to four times as many."""
    return (events // 16, events // 4, events, events * 4)


def growth(folder: Path, events: int, rounds: int) -> dict[str, dict[int, Figure]]:
    """Microseconds an event by reader and stream, for streams of several lengths."""
    ours = [competitor for competitor in (FAST, PLAIN) if competitor.missing() is None]
    results: dict[str, dict[int, Figure]] = {}
    with ExitStack() as stack:
        for competitor in ours:
            worker = stack.enter_context(Worker(competitor))
            for case in TARGETED:
                results[f"{competitor.name}, {case.stream}"] = _by_length(worker, case, folder, events, rounds)
    return results


def _by_length(worker: Worker, case: Any, folder: Path, events: int, rounds: int) -> dict[int, Figure]:
    samples: dict[int, dict[int, float]] = {count: {} for count in lengths(events)}
    for count in samples:
        path, sizes = write_case(case, folder, count)
        worker.ask("load", str(count), path=str(path), sizes=str(sizes))
        worker.ask("run", str(count))
    for number in range(rounds):
        for count, measured in samples.items():
            # A short stream is read several times a round, so that the clock's own error is small.
            passes = max(1, events // count)
            seconds = sum(worker.ask("run", str(count))["seconds"] for _ in range(passes))
            measured[number] = seconds / passes / count * 1e6
    return {count: Figure.of(measured) for count, measured in samples.items()}


def memory(folder: Path, events: int) -> dict[str, dict[int, dict[str, int]]]:
    """Peak bytes of reading text streams of two lengths, by reader."""
    flags: dict[Competitor, tuple[str, ...]] = {FAST: (), PLAIN: ("--without-msgspec",)}
    results: dict[str, dict[int, dict[str, int]]] = {}
    for competitor, arguments in flags.items():
        if competitor.missing() is None:
            results[competitor.name] = {
                count: _python("memory", *map(str, write_case(CASES[0], folder, count)), *arguments)
                for count in (events, events * 4)
            }
    return results


def large_event(size: int, rounds: int) -> dict[str, float]:
    """Nanoseconds a byte of one event of `size` bytes, `one_read` and `small_reads`."""
    return _python("large_event", str(size), str(rounds))


def _python(module: str, *arguments: str) -> dict[str, Any]:
    command: Sequence[str] = (sys.executable, "-m", f"benchmarks.workers.{module}", *arguments)
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
