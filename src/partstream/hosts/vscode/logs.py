"""Sends Python's log to the extension's output channel, or to standard error while no extension is connected.

Never to both: the extension also shows standard error, where a provider's prints arrive.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Final

from partstream.codec.text import visible_record
from partstream.vscode.rpc import encode_notification

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from partstream.hosts.vscode.redaction import GroupSecrets
    from partstream.vscode import rpc_types as wire
    from partstream.vscode.rpc import MinorMessages

__all__ = ["ChannelHandler"]

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
    """Sends log records as `log` notifications; may be called on any thread.

    Args:
        loop: The event loop on which messages are queued.
        messages: The queue. Messages that it cannot hold are counted, and the count is logged once there is room.
        redactor: Removes secrets.
    """

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
