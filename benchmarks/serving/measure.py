"""Measures all contestants in one interleaved run; what comes out is the file of results."""

from __future__ import annotations
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from benchmarks.serving.contestants import CONTESTANTS, SERVERS
from benchmarks.serving.processes import Load
from interop.servers.environments import NotInstalledError
from interop.servers.processes import NotStartedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from benchmarks.serving.contestants import Contestant, Server
    from benchmarks.serving.processes import Process

__all__ = ["STREAMS", "Sizes", "measure"]

STREAMS: Final = {1: 5_000, 16: 1_250, 256: 200}
"""How many streams at once, and how many words each has."""

_WARM: Final = 200
_LONGEST: Final = 240.0
_AT_ONCE: Final = 8
_SHORT: Final = 10
"""Words of an answer whose first word is timed: the end does not come along with it."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured.

    Attributes:
        rounds: How often each contestant streams.
        firsts: How many short answers each of them gives in a round, for the time to their first word.
        share: What part of the words and of the many answers; 1 for all.
        peers: Whether others than Partstream are measured, beside the floor.
    """

    rounds: int = 3
    firsts: int = 100
    share: float = 1.0
    peers: bool = True

    def of(self, count: int) -> int:
        """The part of a count."""
        return max(2, round(count * self.share))


def measure(sizes: Sizes, folder: Path, say: Callable[[str], object]) -> dict[str, Any]:
    """Measures; the result is JSON.

    Raises:
        NotStartedError: One of our own servers does not run.
        RuntimeError: An answer was not whole.
    """
    skipped: dict[str, str] = {}
    with ExitStack() as stack:
        load = stack.enter_context(Load())
        processes: dict[Server, Process] = {}
        for server in SERVERS:
            if server.is_peer and not sizes.peers:
                skipped[server.name] = "left out"
                continue
            say(f"starting {server.name}")
            try:
                server.install()
                processes[server] = stack.enter_context(server.start(folder))
            except (NotInstalledError, NotStartedError) as error:
                if not server.is_peer:
                    raise
                skipped[server.name] = str(error)
        present = [one for one in CONTESTANTS if one.server in processes]
        for one in present:
            load.order(processes[one.server].port, one.request(20), streams=2, answers=5, seconds=_LONGEST)
        idle = {server.name: process.resident_bytes() for server, process in processes.items()}
        streamed = _streamed(present, processes, load, sizes, say)
        firsts = _firsts(present, processes, load, sizes, say)
        memory = _memory(present, processes, load, sizes, say)
    return {
        "sizes": {"rounds": sizes.rounds, "firsts": sizes.firsts, "share": sizes.share},
        "skipped": skipped,
        "streams": streamed,
        "firsts": firsts,
        "idle_bytes": idle,
        "answers": memory,
        "start_seconds": _starts(folder, skipped, sizes, say),
    }


def _streamed(
    present: list[Contestant],
    processes: Mapping[Server, Process],
    load: Load,
    sizes: Sizes,
    say: Callable[[str], object],
) -> dict[str, Any]:
    """By contestant and number of streams: microseconds of processor time a word and words a second, by round."""
    results: dict[str, Any] = {one.name: {} for one in present}
    for number in range(sizes.rounds):
        for streams, words in STREAMS.items():
            for one in present:
                say(f"round {number + 1}: {streams} streams, {one.name}")
                process, count = processes[one.server], sizes.of(words)
                before = process.processor_seconds()
                result = load.order(process.port, one.request(count), streams=streams, answers=1, seconds=_LONGEST)
                used = process.processor_seconds() - before
                of_streams = results[one.name].setdefault(str(streams), {"microseconds": [], "per_second": []})
                of_streams["microseconds"].append(used / (streams * count) * 1e6)
                of_streams["per_second"].append(streams * count / result["seconds"])
    return results


def _firsts(
    present: list[Contestant],
    processes: Mapping[Server, Process],
    load: Load,
    sizes: Sizes,
    say: Callable[[str], object],
) -> dict[str, Any]:
    """By contestant: the median milliseconds to the first word and the processor's milliseconds an answer, by round."""
    results: dict[str, Any] = {one.name: {"from_request": [], "from_part": [], "processor": []} for one in present}
    for number in range(sizes.rounds):
        for one in present:
            say(f"round {number + 1}: first words, {one.name}")
            process = processes[one.server]
            before = process.processor_seconds()
            result = load.order(process.port, one.request(_SHORT), streams=1, answers=sizes.firsts, seconds=_LONGEST)
            used = process.processor_seconds() - before
            results[one.name]["from_request"].append(median(result["from_request"]) / 1e6)
            results[one.name]["from_part"].append(median(result["from_part"]) / 1e6)
            results[one.name]["processor"].append(used / sizes.firsts * 1e3)
    return results


def _memory(
    present: list[Contestant],
    processes: Mapping[Server, Process],
    load: Load,
    sizes: Sizes,
    say: Callable[[str], object],
) -> dict[str, Any]:
    """By server: the bytes that it holds before, halfway through and after many short answers."""
    results: dict[str, Any] = {}
    for one in present:
        server = one.server
        if not server.answers or server.name in results:
            continue
        say(f"many answers, {server.name}")
        process, each = processes[server], max(1, sizes.of(server.answers) // 2 // _AT_ONCE)
        load.order(process.port, one.request(3), streams=_AT_ONCE, answers=sizes.of(_WARM) // 2, seconds=_LONGEST)
        held = [process.resident_bytes()]
        for _ in range(2):
            load.order(process.port, one.request(3), streams=_AT_ONCE, answers=each, seconds=_LONGEST)
            held.append(process.resident_bytes())
        results[server.name] = {"answers": 2 * each * _AT_ONCE, "bytes": held}
    return results


def _starts(
    folder: Path, skipped: Mapping[str, str], sizes: Sizes, say: Callable[[str], object]
) -> dict[str, list[float]]:
    return {
        server.name: list(_started(server, folder, max(1, min(server.starts, sizes.rounds * 2)), say))
        for server in SERVERS
        if server.starts and server.name not in skipped
    }


def _started(server: Server, folder: Path, times: int, say: Callable[[str], object]) -> Iterator[float]:
    for number in range(times):
        say(f"start {number + 1} of {server.name}")
        with server.start(folder) as process:
            yield process.start_seconds
