"""Runs the sidecar as a process: connects the session with the standard streams, and ends with the extension.

Code of providers runs in this process and may do anything: end the event loop, cancel every task, block the loop, keep
threads. :func:`run` goes on in the first two cases. :class:`StallWatch` reports a blocked loop: a thread asks the loop
for a sign of life every few seconds and names the line that blocks it. No message can be sent then, so the warning goes
to standard error, which the extension shows; the log has it once the loop goes on. A timer limits the time of the end.

The log goes to the extension's output channel, or to standard error while no extension is connected. It never goes to
both: the extension also shows standard error, where a provider's prints arrive.
"""

from __future__ import annotations
import asyncio
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Final

from partstream.codec.text import visible_record
from partstream.runtime.progress import outermost_foreign_line
from partstream.upstream.context import TRACE, LevelFilter, LogLevel
from partstream.vscode.failures import GroupSecrets, end_forked, is_forked
from partstream.vscode.rpc import MinorMessages, Outbox, Reader, Writer, claim_standard_streams, encode_notification
from partstream.vscode.session import Session

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from types import FrameType

    from partstream.vscode import rpc_types as wire

STALL_SECONDS: Final = 5.0
"""The seconds without a sign of life after which the event loop counts as blocked."""


class StallWatch:
    """Watches one event loop from a thread of its own, until the loop is closed.

    Args:
        loop: The event loop, which runs on the thread that makes the watch.
        seconds: The seconds without a sign of life after which the loop counts as blocked; half as many pass between
            two questions.
        say: Takes a line for people at once, on the watching thread.
    """

    def __init__(
        self,
        loop: AbstractEventLoop,
        seconds: float = STALL_SECONDS,
        say: Callable[[str], object] = lambda line: sys.stderr.write(f"{line}\n"),
    ) -> None:
        self._loop = loop
        self._seconds = seconds
        self._say = say
        self._thread_of_loop = threading.get_ident()
        self._sign = threading.Event()

    def start(self) -> None:
        """Starts watching."""
        threading.Thread(target=self._run, name="partstream-stall-watch", daemon=True).start()

    def _run(self) -> None:
        while True:
            self._sign.clear()
            try:
                self._loop.call_soon_threadsafe(self._sign.set)
            except RuntimeError:  # the loop is closed
                return
            if not self._sign.wait(self._seconds):
                self._report()
            time.sleep(self._seconds / 2)

    def _report(self) -> None:
        """Names the request whose task runs, and the line of the provider's code that it is in."""
        since = time.monotonic() - self._seconds
        task = asyncio.current_task(self._loop)
        frame = sys._current_frames().get(self._thread_of_loop)  # noqa: SLF001 - the documented way to another thread
        place = None if frame is None else outermost_foreign_line(frame)
        who = f"{'code' if task is None else task.get_name()}{'' if place is None else f' at {place}'}"
        self._say(
            f"partstream: all requests have waited for {self._seconds:g} s: {who} blocks the event loop. "
            "Run a function that takes long in a thread, for example with `asyncio.to_thread`."
        )
        self._sign.wait()
        _logger.warning("%s has blocked the event loop for %.1f s: all requests waited", who, time.monotonic() - since)


_LEVELS: tuple[tuple[int, wire.LogLevel], ...] = (
    (logging.ERROR, "error"),
    (logging.WARNING, "warning"),
    (logging.INFO, "info"),
    (logging.DEBUG, "debug"),
    (0, "trace"),
)
"""The lowest Python level for each level of the wire."""

_MOST_SCHEDULED: Final = 1_000
"""The most lines that wait for the event loop; further lines are left out and counted."""

_MOST_CHARACTERS: Final = 100_000
"""The most characters of a record. The largest are tracebacks."""


class ChannelHandler(logging.Handler):
    """Sends log records as `log` notifications; may be called on any thread. Messages that the queue cannot hold are
    counted, and the count is logged once there is room."""

    def __init__(self, loop: AbstractEventLoop, messages: MinorMessages, redactor: GroupSecrets) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(message)s"))
        self._loop = loop
        self._messages = messages
        self._redactor = redactor
        self._open = False
        self._left_out = 0
        self._scheduled = 0  # by several threads: it may be off by a few

    def open_channel(self) -> None:
        """Sends all further records to the extension."""
        self._open = True

    def close_channel(self) -> None:
        """Writes all further records to standard error."""
        self._open = False

    def emit(self, record: logging.LogRecord) -> None:
        """Sends one record."""
        try:
            self._write(record)
        except Exception:
            self.handleError(record)

    def _write(self, record: logging.LogRecord) -> None:
        text = visible_record(_shortened(self._redactor.redact(self.format(record))))
        if not self._open:
            sys.stderr.write(f"{record.levelname} {record.name}: {text}\n")
            return
        level = next(name for number, name in _LEVELS if record.levelno >= number)
        if self._scheduled >= _MOST_SCHEDULED:  # a provider logs without end and does not let the event loop run
            self._left_out += 1
            return
        self._scheduled += 1
        self._loop.call_soon_threadsafe(self._put, level, text, record.name)

    def _put(self, level: wire.LogLevel, text: str, source: str) -> None:
        self._scheduled -= 1
        if self._left_out:
            text_of_gap = f"left out {self._left_out} lines of the log: its reader is too slow"
            if not self._messages.put(_notification("warning", text_of_gap, "partstream")):
                self._left_out += 1
                return
            self._left_out = 0
        if not self._messages.put(_notification(level, text, source)):
            self._left_out += 1


def _shortened(text: str) -> str:
    if len(text) <= _MOST_CHARACTERS:
        return text
    half = _MOST_CHARACTERS // 2
    return f"{text[:half]}... ({len(text) - 2 * half:,} characters left out) ...{text[-half:]}"


def _notification(level: wire.LogLevel, text: str, source: str) -> bytes:
    params: wire.LogParams = {"level": level, "message": text, "source": source}
    return encode_notification("log", params)


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
        # The first Ctrl-C ends the process in order; the second ends it at once, even if the loop is blocked.
        interrupts = count(1)

        def set_status() -> None:
            if not exited.done():
                exited.set_result(_INTERRUPTED)

        def handle(_number: int, _frame: FrameType | None) -> None:
            if next(interrupts) > 1:
                os._exit(_INTERRUPTED)
            loop.call_soon_threadsafe(set_status)

        signal.signal(signal.SIGINT, handle)
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
    idle = asyncio.Event()
    writer.when_idle(idle.set)
    try:
        async with asyncio.timeout(FLUSH_SECONDS):
            await idle.wait()
    except TimeoutError:
        sys.stderr.write(f"the extension did not read the last responses within {FLUSH_SECONDS:g} s\n")
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
    # They would log the URL of every request, and headers.
    for name in ("httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)

    def set_level(least: LogLevel) -> None:
        level.default = least
        root.setLevel(max(least.number, logging.DEBUG))

    set_level(LogLevel.INFO)
    return set_level


def _end_in_time(status: int, seconds: float = END_SECONDS) -> None:
    """Limits the time of the process's end, which waits for all that a provider runs: a thread, or a blocked loop."""
    timer = threading.Timer(seconds, os._exit, (status,))
    timer.daemon = True
    timer.start()
