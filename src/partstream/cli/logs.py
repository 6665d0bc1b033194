"""Writes the log to standard error for a command that is asked to."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from partstream.log_level import LogLevel

__all__ = ["log_to_standard_error"]


def log_to_standard_error(level: LogLevel) -> None:
    """Writes what Partstream logs from a level on, until the command ends."""
    logger = logging.getLogger("partstream")
    before, propagated = logger.level, logger.propagate
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))

    def undo() -> None:
        logger.removeHandler(handler)
        logger.setLevel(before)
        logger.propagate = propagated

    logger.addHandler(handler)
    logger.setLevel(level.number)
    logger.propagate = False
    click.get_current_context().call_on_close(undo)
