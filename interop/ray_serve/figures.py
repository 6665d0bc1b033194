"""What a server of the tries takes: times of requests and events, processor time for an event, memory, start."""

from __future__ import annotations
import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.serving.processes import family
from interop.ray_serve.asking import asked, request_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.serving.processes import Process

__all__ = ["figures"]

_REQUESTS: Final = 200
_TICKS: Final = 400
_STREAMS: Final = 8
_WORDS: Final = 1000
_IDLE_SECONDS: Final = 3.0
_TICK: Final = re.compile(rb'"content":"(\d+\.\d+) "')
_KIBIBYTE: Final = 1024


def figures(server: Process) -> Mapping[str, float]:
    """All figures; milliseconds, microseconds, seconds and mebibytes as their names say."""
    port = server.port
    _stream(port, "words 50")  # the first answer of a process imports what it needs
    times, delays = _requests(port), _delays(port)
    return {
        "start_seconds": server.start_seconds,
        "request_p50_milliseconds": _share(times, 0.5),
        "request_p95_milliseconds": _share(times, 0.95),
        "event_p50_milliseconds": _share(delays, 0.5),
        "event_p95_milliseconds": _share(delays, 0.95),
        "event_microseconds": _event_microseconds(server),
        **_memory(server.pid),
    }


def _share(values: Sequence[float], share: float) -> float:
    return 1000 * sorted(values)[int(share * (len(values) - 1))]


def _requests(port: int) -> list[float]:
    """Seconds of each of many short requests, on one connection as long as the server keeps it open."""
    times: list[float] = []
    request = request_bytes("told", "words 1", stream=False)
    while len(times) < _REQUESTS:
        with asked(port, request) as one:
            one.until(b'"usage"')
            while len(times) < _REQUESTS and b"connection: close" not in one.received.lower():
                time.sleep(0.002)  # what is left of the body comes before the next one
                one.read_at_hand()
                one.received = b""
                began = time.perf_counter()
                one.connection.sendall(request)
                one.until(b'"usage"')
                times.append(time.perf_counter() - began)
    return times


def _delays(port: int) -> list[float]:
    """Seconds from the moment in which the provider reports an event to its arrival."""
    delays: list[float] = []
    with asked(port, request_bytes("told", f"ticks {_TICKS}", stream=True)) as one:
        while b"[DONE]" not in one.received and not one.is_closed:
            one.read()
            now = time.time()
            found = _TICK.findall(one.received)
            delays += [now - float(sent) for sent in found[len(delays) :]]
    return delays


def _stream(port: int, question: str) -> None:
    with asked(port, request_bytes("told", question, stream=True, close=True)) as one:
        one.until(b"data: [DONE]")


def _event_microseconds(server: Process) -> float:
    """Processor time of all processes for an event, without what they use when idle."""
    began, used = time.monotonic(), server.processor_seconds()
    time.sleep(_IDLE_SECONDS)
    idle = (server.processor_seconds() - used) / (time.monotonic() - began)
    began, used = time.monotonic(), server.processor_seconds()
    with ThreadPoolExecutor(_STREAMS) as pool:
        list(pool.map(lambda _: _stream(server.port, f"words {_WORDS}"), range(_STREAMS)))
    spent = server.processor_seconds() - used - idle * (time.monotonic() - began)
    return 1e6 * spent / (_STREAMS * _WORDS)


def _memory(pid: int) -> Mapping[str, float]:
    """The processes and their memory: summed, and with what they share counted once."""
    members = family(pid)
    resident = proportional = 0
    for one in members:
        with suppress(OSError):
            rollup = Path(f"/proc/{one}/smaps_rollup").read_text(encoding="ascii")
            resident += int(re.search(r"^Rss:\s+(\d+)", rollup, re.MULTILINE)[1])  # type: ignore[index]
            proportional += int(re.search(r"^Pss:\s+(\d+)", rollup, re.MULTILINE)[1])  # type: ignore[index]
    return {
        "processes": len(members),
        "resident_mebibytes": resident / _KIBIBYTE,
        "shared_once_mebibytes": proportional / _KIBIBYTE,
    }
