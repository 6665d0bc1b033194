"""Runs the sidecar as a process: connects the session with the standard streams, and ends with the extension."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from itertools import count
from typing import TYPE_CHECKING, Final

from partstream.hosts.vscode.forked import end_forked, is_forked
from partstream.hosts.vscode.logs import ChannelHandler
from partstream.hosts.vscode.redaction import GroupSecrets
from partstream.hosts.vscode.session import Session
from partstream.hosts.vscode.stall_watch import STALL_SECONDS, StallWatch
from partstream.upstream.context import TRACE, LevelFilter, LogLevel
from partstream.vscode.rpc import Outbox, Reader, Writer, claim_standard_streams

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

__all__ = ["run"]

_logger = logging.getLogger("partstream.hosts.vscode")

_INTERRUPTED: Final = 130
"""The exit status after Ctrl-C, as shells have it."""

FLUSH_SECONDS: Final = 1.0
"""The seconds that the last responses have to be written."""

END_SECONDS: Final = 2.0
"""The seconds after which the process ends even if a provider's thread still runs."""

GONE_SECONDS: Final = 10.0
"""The seconds after which the process ends once the extension has gone, whatever holds the event loop; in order, it
takes at most :data:`session.RELEASE_SECONDS`, :data:`FLUSH_SECONDS` and :data:`END_SECONDS` together.
"""


def run() -> int:
    """Serves the extension at the other end of the standard streams; returns the exit status."""
    reading, writing = claim_standard_streams()
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        exited: asyncio.Future[int] = loop.create_future()
        signal.signal(signal.SIGINT, _interrupted_by_person(loop, exited))
        serving = loop.create_task(_serve(reading, writing, exited), name="the sidecar")
        while True:
            try:
                return runner.run(_end_of(serving))
            except (SystemExit, KeyboardInterrupt, RuntimeError, asyncio.CancelledError) as error:
                if serving.done() or loop.is_closed():
                    raise  # an error of the sidecar itself
                if is_forked():
                    end_forked(error)
                # SystemExit and KeyboardInterrupt leave the event loop from any task or callback of a provider,
                # `loop.stop()` ends it, and a provider may cancel every task. All that was scheduled is still there.
                _logger.exception("code of a provider tried to end the sidecar, which goes on")


def _interrupted_by_person(
    loop: asyncio.AbstractEventLoop, exited: asyncio.Future[int]
) -> Callable[[int, FrameType | None], None]:
    """The handler of Ctrl-C: the first ends the process in order, the second at once, also when the loop is blocked."""
    interrupts = count(1)

    def set_status() -> None:
        if not exited.done():
            exited.set_result(_INTERRUPTED)

    def handle(_number: int, _frame: FrameType | None) -> None:
        if next(interrupts) > 1:
            os._exit(_INTERRUPTED)
        loop.call_soon_threadsafe(set_status)

    return handle


async def _end_of(serving: asyncio.Task[int]) -> int:
    return await asyncio.shield(serving)


async def _result_of(exited: asyncio.Future[int]) -> int:
    """The exit status, however often code of a provider cancels this task."""
    while True:
        try:
            await asyncio.wait([exited])
            return exited.result()
        except asyncio.CancelledError:
            _logger.warning("code of a provider cancelled the task of the sidecar, which goes on")


async def _serve(reading: int, writing: int, exited: asyncio.Future[int]) -> int:
    loop = asyncio.get_running_loop()

    def exit_with(status: int) -> None:
        if not exited.done():
            exited.set_result(status)

    outbox = Outbox()
    writer = Writer(writing, loop, outbox.take, lambda: exit_with(1))
    outbox.on_waiting = writer.wake
    redactor = GroupSecrets()
    handler = ChannelHandler(loop, outbox.open_minor(), redactor)
    set_level = _route_logs(handler)
    session = Session(outbox, redactor, on_ready=handler.open_channel, on_exit=exit_with, on_log_level=set_level)
    writer.start()
    StallWatch(loop, STALL_SECONDS).start()
    Reader(reading, loop, session.receive, session.end_of_input, lambda: _end_in_time(1, GONE_SECONDS)).start()
    status = await _result_of(exited)
    await session.aclose()
    handler.close_channel()
    await _flush(writer)
    _end_in_time(status)
    return status


def _route_logs(handler: logging.Handler) -> Callable[[LogLevel], None]:
    """Has everything that is logged written by a handler.

    Returns:
        Sets the least level of messages that are written; the level of a group's own setting goes before it.
    """
    root, level = logging.getLogger(), LevelFilter(LogLevel.INFO)
    handler.addFilter(level)
    root.addHandler(handler)
    # How much of it is written, the filter says: it may be more for one group than for another.
    logging.getLogger("partstream").setLevel(TRACE)
    logging.captureWarnings(capture=True)
    # They log the URL of every request, and headers, which nobody asked for.
    for name in ("httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)

    def set_level(least: LogLevel) -> None:
        level.default = least
        root.setLevel(max(least.number, logging.DEBUG))

    set_level(LogLevel.INFO)
    return set_level


async def _flush(writer: Writer) -> None:
    idle = asyncio.Event()
    writer.when_idle(idle.set)
    try:
        async with asyncio.timeout(FLUSH_SECONDS):
            await idle.wait()
    except TimeoutError:
        sys.stderr.write(f"the extension did not read the last responses within {FLUSH_SECONDS:g} s\n")


def _end_in_time(status: int, seconds: float = END_SECONDS) -> None:
    """Limits the time of the process's end, which waits for all that a provider runs: a thread, or a blocked loop."""
    timer = threading.Timer(seconds, os._exit, (status,))
    timer.daemon = True
    timer.start()
