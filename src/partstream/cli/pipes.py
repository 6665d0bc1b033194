"""Drops the output of a command whose reader has gone."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import click

__all__ = ["drop_output", "echo_while_read"]


def drop_output() -> None:
    """Sends what is still to be written nowhere: without a reader, Python itself would complain at its end."""
    with suppress(OSError, ValueError):  # in a test, the output is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def echo_while_read(text: str) -> None:
    """Prints a line, for a command that goes on when nobody reads its output any more."""
    try:
        click.echo(text)
    except BrokenPipeError:
        drop_output()
