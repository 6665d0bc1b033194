"""How much is logged of one upstream, where several share a log: a level that goes along with the task.

Python's levels are those of loggers, which all upstreams have in common. Whoever serves an upstream says its level for
what runs on its behalf; the filter of a handler asks for it.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from partstream.settings.kinds import Choice

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["TRACE", "LevelFilter", "LogLevel", "is_traced", "logging_from"]


class LogLevel(Choice):
    """The least severe messages that are logged."""

    TRACE = "trace", "Every event of every answer too: its type, its ids, what came of it, and nothing of its content"
    DEBUG = "debug", "Every request and every answer too"
    INFO = "info", "What is worth knowing, such as how many tokens a request has"
    WARNING = "warning", "What may be wrong"
    ERROR = "error", "What failed"

    @property
    def number(self) -> int:
        """The level in the numbers of Python's `logging`."""
        return _NUMBERS[self]


TRACE: Final = 5
"""The level below DEBUG, in the numbers of Python's `logging`, which has no name for it."""

_NUMBERS: Final = {
    LogLevel.TRACE: TRACE,
    LogLevel.DEBUG: logging.DEBUG,
    LogLevel.INFO: logging.INFO,
    LogLevel.WARNING: logging.WARNING,
    LogLevel.ERROR: logging.ERROR,
}

_LEAST: Final[ContextVar[LogLevel | None]] = ContextVar("partstream_log_level", default=None)


@contextmanager
def logging_from(level: LogLevel | None) -> Iterator[None]:
    """Has what runs inside, and the tasks that it starts, logged from a level on; None changes nothing."""
    token = _LEAST.set(level or _LEAST.get())
    try:
        yield
    finally:
        _LEAST.reset(token)


def is_traced(logger: logging.Logger) -> bool:
    """Whether what runs now is traced: its level says so, or no level does and the logger's own does."""
    least = _LEAST.get()
    return logger.isEnabledFor(TRACE) if least is None else least is LogLevel.TRACE


class LevelFilter(logging.Filter):
    """Lets a handler write only what the task that logs wants to be written.

    Args:
        default: The least level for tasks that do not say any.

    Attributes:
        default: The same; whoever shows the log may change it.
    """

    def __init__(self, default: LogLevel) -> None:
        super().__init__()
        self.default = default

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is written."""
        return record.levelno >= (_LEAST.get() or self.default).number
