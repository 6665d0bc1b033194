"""The processes of a run: starts them, orders load, reads from the system what they used. Linux only.

Processor time is the clock of the whole process, which the kernel keeps in nanoseconds and which goes on counting what
ended threads used. A sum over `/proc/PID/task` forgets them, `/proc/PID/schedstat` is of the first thread alone, and
`/proc/PID/stat` has the time of the whole process in steps of 10 ms.
"""

from __future__ import annotations
import json
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from interop.servers.processes import NotStartedError, end_group

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Load", "Process", "family", "started"]

ROOT: Final = Path(__file__).resolve().parent.parent.parent
_LONGEST_START: Final = 120


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
    command: Sequence[str], port: int, ready: bytes, folder: Path, log: Path, environment: Mapping[str, str]
) -> Iterator[Process]:
    """Runs a server until the end of the block.

    Args:
        command: Starts it in the foreground.
        port: Where it is going to listen.
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
            while not _answers(port, ready):
                if process.poll() is not None or time.monotonic() - began > _LONGEST_START:
                    said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
                    raise NotStartedError(f"{command[0]} does not answer: {[*said, 'it printed nothing'][0]}")
                time.sleep(0.005)
            yield Process(port, time.monotonic() - began, process.pid)
        finally:
            end_group(process)


def _answers(port: int, ready: bytes) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(ready)
            return b" 200 " in connection.recv(64)
    except OSError:
        return False


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

    def order(self, port: int, request: str, *, streams: int, answers: int, seconds: float) -> dict[str, Any]:
        """Asks over several connections at once, for several answers each.

        Raises:
            RuntimeError: An answer was no stream, or not whole, or it took longer than `seconds`.
        """
        order = {"port": port, "request": request, "streams": streams, "answers": answers, "seconds": seconds}
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(order) + "\n")
        stdin.flush()
        line = stdout.readline()
        if not line:
            raise RuntimeError("the load ended: an order took too long")
        result: dict[str, Any] = json.loads(line)
        if result["failures"]:
            raise RuntimeError(f"{result['failures']} answers were not whole")
        return result
