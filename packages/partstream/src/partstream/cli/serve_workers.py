"""Several processes that serve on the same sockets: starts them, starts one again that died, and ends all together.

A worker that dies is started again after a delay, which doubles until one start has held. A worker is this module as a
program (`python -m partstream.cli.serve_workers`): it reads its :class:`WorkerCommand` from its standard input, which
stays open as long as the starting process lives; the end of the input stops the worker as SIGTERM does. Its reports go
into a pipe, each a line of JSON.
"""

from __future__ import annotations
import asyncio
import json
import os
import pickle
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from partstream.cli.serve_plan import JsonScreen, Opened, Screen, ServePlan, ServerCallbacks, TextScreen, loop_factory
from partstream.cli.terminal import ExitCode
from partstream.codec.checks import dataclass, field
from partstream.codec.silent_log import end_silence
from partstream.errors import CallerError
from partstream.server.listening import stopped_by_signals

if TYPE_CHECKING:
    from asyncio.subprocess import Process

    from partstream.cli.serve_plan import Start


@dataclass(frozen=True, slots=True)
class WorkerCommand:
    """What one worker has to do."""

    plan: ServePlan
    is_first: bool  # whether it is the one that says what all of them do
    sockets: tuple[int, ...]  # the numbers of the open sockets that it accepts connections on
    reports: int  # the number of the open pipe that it writes into


LONGEST_DELAY: Final = 30.0
"""Seconds; a machine on which every start fails is not kept busy by starting."""

_FIRST_DELAY: Final = 0.1
_SOUND_SECONDS: Final = 60.0
"""A worker that lived so long has not failed at starting."""


@dataclass(slots=True)
class Restarts:
    """The delays of one worker: the first is short, each further one twice as long, until one start has held."""

    _next: float = _FIRST_DELAY

    def delay_after(self, lived: float) -> float:
        """How many seconds to wait before the next start."""
        delay = _FIRST_DELAY if lived >= _SOUND_SECONDS else self._next
        self._next = min(2 * delay, LONGEST_DELAY)
        return delay


_HEARING_SECONDS: Final = 5.0
"""How long the reports of a worker that has ended are read: a program that it started may hold the pipe open."""
_ENDED_BY_STOP: Final = frozenset({0, -signal.SIGTERM, -signal.SIGINT})
"""The exit codes of a worker that received a signal to stop, at any moment of its life."""


def can_share_sockets() -> bool:
    """Whether this system gives open sockets to a process that is started."""
    return os.name == "posix"


@dataclass()
class Workers:
    """All workers of one command."""

    plan: ServePlan
    start: Start  # what a person has to know to ask them
    shared: Sequence[socket.socket]  # the sockets that all of them accept connections on
    own: Sequence[Sequence[socket.socket]]  # for each worker, the sockets that it alone accepts connections on
    screen: Screen
    _processes: dict[int, Process] = field(default_factory=dict)
    _stops: int = 0
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _first_listens: asyncio.Event = field(default_factory=asyncio.Event)
    _codes: list[int] = field(default_factory=list)
    _said: set[str] = field(default_factory=set)

    async def run(self) -> int:
        """Serves until a signal comes and all workers have ended; the exit code of the command."""
        with stopped_by_signals(self._stop):
            first = asyncio.create_task(self._keep(1))
            # The first one opens what is there once, such as a database, and says what is wrong with the options.
            await _either(first, self._first_listens)
            others = () if first.done() else range(2, len(self.own) + 1)
            await asyncio.gather(first, *(self._keep(number) for number in others))
        if all(code in _ENDED_BY_STOP for code in self._codes):
            return ExitCode.FINE
        known = {ExitCode.UNUSABLE, ExitCode.INTERRUPTED}
        return next((code for code in self._codes if code in known), ExitCode.FOUND)

    def _stop(self) -> None:
        """Has all workers end: the first time they let their answers end, the second time they do not."""
        self._stops += 1
        self._stopping.set()
        for process in self._processes.values():
            _tell(process, signal.SIGTERM)

    async def _keep(self, number: int) -> None:
        """Keeps one worker alive until all are stopped."""
        restarts, loop = Restarts(), asyncio.get_running_loop()
        while not self._stopping.is_set():
            begun = loop.time()
            code, has_listened = await self._run(number)
            if self._stopping.is_set():
                self._codes.append(code)
            elif not has_listened and not self._first_listens.is_set():
                self._codes.append(code)  # it says itself what is wrong
                self._stop()
            else:
                delay = restarts.delay_after(loop.time() - begun)
                self.screen.worker_ended(number, code, delay)
                await _either(asyncio.ensure_future(asyncio.sleep(delay)), self._stopping)

    async def _run(self, number: int) -> tuple[int, bool]:
        """Runs one process to its end: its exit code, and whether it has listened."""
        reading, writing = os.pipe()
        sockets = tuple(one.fileno() for one in (*self.shared, *self.own[number - 1]))
        command = WorkerCommand(self.plan, number == 1, sockets, writing)
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "partstream.cli.serve_workers"),
                stdin=asyncio.subprocess.PIPE,
                pass_fds=(*sockets, writing),
                start_new_session=True,  # Ctrl-C of a terminal reaches this process alone, which tells the others
            )
        finally:
            os.close(writing)
        self._processes[number] = process
        assert process.stdin is not None  # noqa: S101 - for the types
        process.stdin.write(pickle.dumps(command))
        for _ in range(self._stops):  # it was started while all were stopped
            _tell(process, signal.SIGTERM)
        hearing = asyncio.create_task(self._hear(number, process.pid, reading))
        try:
            code = await process.wait()
            await asyncio.wait({hearing}, timeout=_HEARING_SECONDS)
        finally:
            hearing.cancel()
            process.stdin.close()
            del self._processes[number]
        return code, hearing.done() and not hearing.cancelled() and hearing.result()

    async def _hear(self, number: int, pid: int, reading: int) -> bool:
        """Passes on what a worker reports until it ends; whether it has listened."""
        reports = asyncio.StreamReader()
        pipe = os.fdopen(reading, "rb", buffering=0)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reports), pipe
        )
        has_listened = False
        try:
            while line := await reports.readline():
                said: dict[str, Any] = json.loads(line)
                if said["type"] == "listening":
                    has_listened = True
                    if self._is_news("listening"):
                        self.screen.started(self.start, said["base_paths"])
                        self._first_listens.set()
                    address = self.own[number - 1][0].getsockname()
                    self.screen.worker_started(number, pid, f"http://{address[0]}:{address[1]}")
                elif number == 1 and self._is_news("models"):
                    self.screen.listed(said["models"])
        finally:
            transport.close()
        return has_listened

    def _is_news(self, what: str) -> bool:
        is_news = what not in self._said
        self._said.add(what)
        return is_news


def _tell(process: Process, number: signal.Signals) -> None:
    if process.returncode is None:
        process.send_signal(number)


async def _either(task: asyncio.Future[Any], event: asyncio.Event) -> None:
    """Waits until a task has ended or an event has happened; goes on with neither."""
    waiting = asyncio.create_task(event.wait())
    try:
        await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()


# ---- One worker ----


def main() -> int:
    """Serves until it is stopped; returns the exit code."""
    end_silence()
    command: WorkerCommand = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process that started this one
    screen: Screen = JsonScreen() if command.plan.as_json else TextScreen()
    # The first worker says what becomes of an edit.
    on_load = screen.reloaded if command.is_first else lambda source, error: None
    try:
        opened = Opened.of(command.plan, command.plan.token(), on_load)
    except CallerError as error:
        click.UsageError(str(error)).show()
        return ExitCode.UNUSABLE
    except click.ClickException as error:
        error.show()
        return error.exit_code
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        ended_well = runner.run(_serve(opened, command, screen))
    return ExitCode.FINE if ended_well else ExitCode.INTERRUPTED


async def _serve(opened: Opened, command: WorkerCommand, screen: Screen) -> bool:
    sockets = [socket.socket(fileno=number) for number in command.sockets]
    for one in sockets:
        one.setblocking(False)
        one.set_inheritable(False)  # a program that a provider starts would keep the port
    loop = asyncio.get_running_loop()

    def end() -> None:
        if not os.read(sys.stdin.fileno(), 1):
            loop.remove_reader(sys.stdin.fileno())
            signal.raise_signal(signal.SIGTERM)

    with open(command.reports, "w", encoding="utf-8", buffering=1) as reports:

        def report(**said: Any) -> None:
            reports.write(json.dumps(said) + "\n")

        def listening(base_paths: Mapping[str, str]) -> None:
            loop.add_reader(sys.stdin.fileno(), end)
            report(type="listening", base_paths=dict(base_paths))

        def listed(models: Sequence[str]) -> None:
            report(type="models", models=list(models))

        return await opened.serve(sockets, ServerCallbacks(listening, listed, screen.draining))


if __name__ == "__main__":
    sys.exit(main())
