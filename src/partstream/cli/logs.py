"""Writes the log to standard error for a command that is asked to."""

from __future__ import annotations

import logging
import sys

import click

from partstream.codec.text import visible_record
from partstream.upstream.context import TRACE, LogLevel

__all__ = ["log_to_standard_error"]


def log_to_standard_error(level: LogLevel) -> None:
    """Writes what Partstream logs from a level on, until the command ends."""
    logger = logging.getLogger("partstream")
    before, propagated = logger.level, logger.propagate
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Records("%(levelname)s %(name)s: %(message)s"))

    def undo() -> None:
        logger.removeHandler(handler)
        logger.setLevel(before)
        logger.propagate = propagated

    logger.addHandler(handler)
    logger.setLevel(level.number)
    logger.propagate = False
    click.get_current_context().call_on_close(undo)


class _Records(logging.Formatter):
    """Formats a record so that no text in it looks like another record."""

    def format(self, record: logging.LogRecord) -> str:
        if record.levelno == TRACE:  # `logging` has no name for it
            record.levelname = LogLevel.TRACE.name
        return visible_record(super().format(record))
