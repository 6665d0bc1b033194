"""One of several processes that serve on shared sockets: `python -m partstream.cli.serve_worker`, started by `serve`.

It reads its :class:`WorkerCommand` from its standard input, which stays open as long as the starting process lives; the
end of the input stops the worker as SIGTERM does. Its reports go into a pipe, each a line of JSON.
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
from typing import Any

import click

from partstream.cli.serve_plan import JsonScreen, Opened, Screen, ServePlan, ServerCallbacks, TextScreen, loop_factory
from partstream.cli.terminal import ExitCode
from partstream.codec.checks import dataclass
from partstream.codec.silent_log import end_silence
from partstream.errors import CallerError


@dataclass(frozen=True, slots=True)
class WorkerCommand:
    """What one worker has to do."""

    plan: ServePlan
    is_first: bool  # whether it is the one that says what all of them do
    sockets: tuple[int, ...]  # the numbers of the open sockets that it accepts connections on
    reports: int  # the number of the open pipe that it writes into


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
