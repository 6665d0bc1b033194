"""What commands that read recorded streams have in common: their argument, their option, their words for a bad file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from partstream.cli.terminal import ExitCode
from partstream.devtools.recorded_stream import RecordingError
from partstream.lm.outputs import Outcome
from partstream.protocols.protocol import PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from partstream.lm.outputs import Finish

__all__ = ["UnreadableRecordingError", "exit_code_of", "protocol_option", "read_file"]


_PIECE: Final = 65536  # bytes


class UnreadableRecordingError(click.ClickException):
    """A recording cannot be read."""

    exit_code = ExitCode.UNUSABLE


def protocol_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the option that names the protocol of a recording."""
    return click.option(
        "--protocol",
        type=click.Choice(sorted(PROTOCOLS)),
        help="Protocol of the recording. Default: told from its events.",
    )(function)


def exit_code_of(finish: Finish) -> ExitCode:
    """What the end of a recorded stream is for a script: a failure that was recorded is no end that is missing."""
    if finish.error is None:
        return ExitCode.FINE
    return ExitCode.TRUNCATED if finish.outcome is Outcome.TRUNCATED else ExitCode.FAILED


def _next_piece() -> bytes:
    return sys.stdin.buffer.read(_PIECE)


def read_file(file: str) -> bytes:
    """The bytes of a file, or of standard input for `-`.

    Raises:
        RecordingError: It cannot be read.
    """
    try:
        # Piece by piece: in one call that reads to the end, Ctrl-C would wait for the end.
        return b"".join(iter(_next_piece, b"")) if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise RecordingError(file, error.strerror or str(error)) from error
