"""The processes of a run: starts them, orders load, reads from the system what they used. Linux only.

Processor time is the clock of the whole process, which the kernel keeps in nanoseconds and which goes on counting what
ended threads used. A sum over `/proc/PID/task` forgets them, `/proc/PID/schedstat` is of the first thread alone, and
`/proc/PID/stat` has the time of the whole process in steps of 10 ms.
"""

from __future__ import annotations
import json
import os
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from interop.servers.processes import NotStartedError, end_group

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["MARK", "Came", "Load", "NotWholeError", "Process", "family", "started"]

ROOT: Final = Path(__file__).resolve().parent.parent.parent
MARK: Final = "lorem"
"""What every word of an answer but the first begins with, and nothing else in it has."""
_LONGEST_START: Final = 400
"""Seconds: LiteLLM with its database takes a minute when nothing else runs."""


@dataclass(frozen=True, slots=True)
class Process:
    """A server that runs.

    Attributes:
        port: Where it listens.
        start_seconds: From its start to its first answer.
        pid: Its process.
    """

    port: int
    start_seconds: float
    pid: int

    def processor_seconds(self) -> float:
        """The processor time that it has used, with all threads and processes of its own, ended ones too."""
        return sum(map(_processor_seconds, family(self.pid)))

    def resident_bytes(self) -> int:
        """The memory that it holds, with processes of its own."""
        return sum(map(_resident, family(self.pid)))


def family(pid: int) -> list[int]:
    """A process and all processes that it, or one of them, started and that run."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            for child in (task / "children").read_text().split():
                found += family(int(child))
    return found


def _processor_seconds(pid: int) -> float:
    """What a process used, and what processes that it started and that have ended used; 0 if it has ended itself."""
    with suppress(OSError):
        own = time.clock_gettime((~pid << 3) | 2)  # the kernel's number of the clock of another process
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ended = sum(map(int, fields[13:15]))  # cutime and cstime
        return own + ended / os.sysconf("SC_CLK_TCK")
    return 0.0


def _resident(pid: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


@contextmanager
def started(
    command: Sequence[str], port: int | None, ready: bytes, folder: Path, log: Path, environment: Mapping[str, str]
) -> Iterator[Process]:
    """Runs a server until the end of the block.

    Args:
        command: Starts it in the foreground.
        port: Where it is going to listen; None for a server that chooses it, and prints its address when it is ready.
        ready: A request that it answers with status 200 once it is ready.
        folder: Its working folder.
        log: Where everything that it prints goes.
        environment: What is added to its environment.

    Raises:
        NotStartedError: It does not run.
    """
    began = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            # Bytecode is kept, whatever the environment says: who serves starts an installed program.
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": ""} | dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that what it starts itself can be ended with it
        )
        try:
            while (found := _announced(log) if port is None else _answering(port, ready)) is None:
                if process.poll() is not None or time.monotonic() - began > _LONGEST_START:
                    said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
                    why = "took too long" if process.poll() is None else f"ended with code {process.returncode}"
                    raise NotStartedError(f"{command[0]} {why}: {['it printed nothing', *said][-1]}")
                time.sleep(0.005)
            yield Process(found, time.monotonic() - began, process.pid)
        finally:
            end_group(process)


def _announced(log: Path) -> int | None:
    """The port of the address that a server has printed."""
    address = re.search(rb"^http://127\.0\.0\.1:(\d+)\S*\n", log.read_bytes(), re.MULTILINE)
    return int(address[1]) if address else None


def _answering(port: int, ready: bytes) -> int | None:
    """The port, if a server answers there."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(ready)
        return port if b" 200 " in connection.recv(64) else None
    return None


class NotWholeError(Exception):
    """Answers of a server were no streams or not whole.

    Attributes:
        count: How many.
        said: What the first of them looked like.
    """

    def __init__(self, count: int, said: Sequence[str]) -> None:
        self.count = count
        self.said = said
        super().__init__(f"{count} answers were not whole: {'; '.join(said)}")


class Came(NamedTuple):
    """What came of an order: the seconds of all of it, and the milliseconds from each request to its first word and
    from each word to the next one, where that was asked for."""

    seconds: float
    first_words: list[float]
    gaps: list[float]


class Load:
    """The process that asks; use it in a `with` block."""

    def __enter__(self) -> Load:
        """Starts it."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.serving.load"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        """Ends it."""
        self._process.kill()
        self._process.communicate()

    def order(
        self, port: int, request: str, *, words: int, streams: int = 1, answers: int = 1, seconds: float = 240.0,
        longest_gap: float = 0.0, over: float = 0.0,
    ) -> Came:  # fmt: skip
        """Asks over several connections at once, for several answers each.

        Args:
            port: Of the server.
            request: The bytes that are sent for each answer.
            words: How many words an answer has, the first one included.
            streams: How many clients ask at once.
            answers: How many answers each of them gets.
            seconds: How long all of it may take.
            longest_gap: The most milliseconds from one word to the next one, which are noted; 0 for unnoted ones.
            over: The seconds in which the clients begin, evenly.

        Raises:
            NotWholeError: An answer was no stream or not whole, or it or a gap took too long.
        """
        order = {
            "port": port,
            "request": request,
            "words": words,
            "mark": MARK,
            "streams": streams,
            "longest_gap": longest_gap,
        }
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(order | {"answers": answers, "seconds": seconds, "over": over}) + "\n")
        stdin.flush()
        came = json.loads(stdout.readline())
        if came["failures"]:
            raise NotWholeError(came["failures"], came["said"])
        return Came(came["seconds"], *([one / 1e6 for one in came[name]] for name in ("from_request", "gaps")))
