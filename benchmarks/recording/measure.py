"""Measures the recorder before a server beside that server alone, in turn, by one client on raw sockets. Linux only."""

from __future__ import annotations
import re
import socket
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any, Final

from benchmarks.serving.processes import ROOT, started

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.serving.processes import Process

__all__ = ["Sizes", "measure"]

_READY: Final = b"GET /ready HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
_TIME: Final = re.compile(rb"data: (\d{10,20})\n\n")
_END: Final = b"0\r\n\r\n"
_MOMENT: Final = 0.02
_MILLISECOND: Final = 1e6
_READ: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured.

    Attributes:
        rounds: How often each side streams.
        events: The events of a stream.
        pause: Milliseconds between two events.
        cancels: How often a client leaves.
        megabytes: The size of the answer whose throughput is measured.
        answers: How many answers go by while the memory is looked at.
    """

    rounds: int
    events: int
    pause: int
    cancels: int
    megabytes: int
    answers: int


def measure(sizes: Sizes, folder: Path, say: Callable[[str], object]) -> dict[str, Any]:
    """The figures, by name; times in milliseconds."""
    with ExitStack() as running:
        port, recorder_port = _free_port(), _free_port()
        upstream = [sys.executable, "-m", "benchmarks.recording.upstream", str(port)]
        running.enter_context(started(upstream, port, _READY, ROOT, folder / "upstream.log", {}))
        to = ["--to", f"http://127.0.0.1:{port}", "--port", str(recorder_port), "-o", str(folder / "x.partstream.zip")]
        command = [sys.executable, "-m", "partstream", "record", *to]
        environment = {"PARTSTREAM_DATA": str(folder / "data")}
        recorder = running.enter_context(
            started(command, recorder_port, _READY, folder, folder / "recorder.log", environment)
        )
        sides = {"direct": port, "recorded": recorder_port}
        say("latency")
        latency = _latency(sides, sizes)
        say("cancelling")
        cancels = {name: _cancels(side, port, sizes.cancels) for name, side in sides.items()}
        say("throughput")
        throughput = {name: _throughput(side, sizes.megabytes) for name, side in sides.items()}
        say("memory")
        memory = _memory(recorder, recorder_port, sizes.answers)
    return {
        "sizes": {"rounds": sizes.rounds, "events": sizes.events, "pause_ms": sizes.pause, "answers": sizes.answers},
        **latency,
        "cancel": cancels,
        "megabytes_a_second": throughput,
        "memory_megabytes": memory,
    }


def _latency(sides: dict[str, int], sizes: Sizes) -> dict[str, Any]:
    """From the moment in which an event is sent until the client has read it: of the first one, and of the others."""
    firsts: dict[str, list[float]] = {name: [] for name in sides}
    others: dict[str, list[float]] = {name: [] for name in sides}
    heads: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(sizes.rounds):
        for name, port in sides.items():
            with _Client(port) as client:
                client.whole("/paced?count=1&pause=0")  # the connections are open
                asked_at = time.monotonic_ns()
                times = client.timed(f"/paced?count={sizes.events}&pause={sizes.pause}")
            (_, first_read), *_ = times
            heads[name].append((first_read - asked_at) / _MILLISECOND)
            late = [(read - sent) / _MILLISECOND for sent, read in times]
            firsts[name].append(late[0])
            others[name] += late[1:]
    return {
        "request_to_first_byte": _compared(heads),
        "first_event": _compared(firsts),
        "each_event": _compared(others),
    }


def _compared(values: dict[str, list[float]]) -> dict[str, Any]:
    said = {name: _summary(found) for name, found in values.items()}
    added = {key: said["recorded"][key] - said["direct"][key] for key in ("p50", "p95")}
    return {**said, "added": added}


def _summary(found: Sequence[float]) -> dict[str, float]:
    return {"p50": median(found), "p95": quantiles(found, n=20)[-1]}


def _cancels(port: int, upstream: int, count: int) -> dict[str, float]:
    """From the client's close until the server has noticed it."""
    found = []
    for _ in range(count):
        with _Client(upstream) as asking:
            before = int(asking.document("/left"))
            with _Client(port) as client:
                client.begun("/hold")
                left_at = time.monotonic_ns()
            while (noticed := int(asking.document("/left"))) == before:
                time.sleep(_MOMENT / 20)
        found.append((noticed - left_at) / _MILLISECOND)
    return {**_summary(found), "most": max(found)}


def _throughput(port: int, megabytes: int) -> float:
    found = []
    for _ in range(3):
        with _Client(port) as client:
            began = time.perf_counter()
            size = client.whole(f"/flood?count={megabytes * 1000}")
            found.append(size / 1e6 / (time.perf_counter() - began))
    return median(found)


def _memory(recorder: Process, port: int, answers: int) -> list[float]:
    """What is resident of the recorder's own process, at the beginning and after each tenth of the answers."""
    found = []
    with _Client(port) as client:
        for _ in range(answers // 10):
            client.whole("/paced?count=10&pause=0")
        for _ in range(10):
            found.append(_resident(recorder.pid))
            for _ in range(answers // 10):
                client.whole("/paced?count=10&pause=0")
        found.append(_resident(recorder.pid))
    return found


def _resident(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 1e6


class _Client:
    """One connection, for requests one after the other; closed with its block."""

    def __init__(self, port: int) -> None:
        self._connection = socket.create_connection(("127.0.0.1", port), timeout=120)
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> _Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def timed(self, target: str) -> list[tuple[int, int]]:
        """When each event was sent, and when it was read."""
        self._ask(target)
        found: list[tuple[int, int]] = []
        data = b""
        while not data.endswith(_END):
            data += self._read()
            read_at = time.monotonic_ns()
            sent = _TIME.findall(data)
            found += [(int(at), read_at) for at in sent[len(found) :]]
        return found

    def whole(self, target: str) -> int:
        """Reads a stream to its end; gives its size."""
        self._ask(target)
        size, tail = 0, b""
        while not tail.endswith(_END):
            data = self._read()
            size += len(data)
            tail = (tail + data)[-len(_END) :]
        return size

    def begun(self, target: str) -> None:
        """Reads until the first event."""
        self._ask(target)
        data = b""
        while b"data: held" not in data:
            data += self._read()

    def document(self, target: str) -> bytes:
        """The body of a short reply."""
        self._ask(target)
        data = b""
        while (head := data.partition(b"\r\n\r\n"))[1] == b"" or len(head[2]) < _length(head[0]):
            data += self._read()
        return head[2]

    def _ask(self, target: str) -> None:
        self._connection.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())

    def _read(self) -> bytes:
        data = self._connection.recv(_READ)
        if not data:
            raise RuntimeError("the connection ended too early")
        return data


def _length(head: bytes) -> int:
    found = re.search(rb"(?i)content-length: (\d+)", head)
    return int(found[1]) if found else 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
