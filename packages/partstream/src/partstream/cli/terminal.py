"""The gate before the terminal: what a command writes leaves through it, and nothing in it acts on the terminal.

What commands write through `click.echo`, loggers and the standard streams meets the gate in the streams. The console of
:mod:`partstream.cli.console` styles text itself, so it has the gate before its styling.
"""

from __future__ import annotations
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from typing import IO, Any, TypeVar, cast

import click

from partstream.codec.text import visible

AnyCommand = TypeVar("AnyCommand", bound="Callable[..., Any]")


def all_options(*options: Callable[[Any], Any]) -> Callable[[AnyCommand], AnyCommand]:
    """A decorator that adds several options to a command, in the order of its help."""

    def with_options(function: AnyCommand) -> AnyCommand:
        decorated: Any = function
        for option in reversed(options):
            decorated = option(decorated)
        return cast("AnyCommand", decorated)

    return with_options


class _GatedStream:
    """A text stream whose text is made visible; in all else, it is the wrapped stream."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream  # the stream without a gate

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    @property
    def buffer(self) -> _GatedBytes:
        """Its stream of bytes, with the gate."""
        return _GatedBytes(self.stream)

    def write(self, text: str) -> int:
        self.stream.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)


class _GatedBytes:
    """A stream of bytes that are UTF-8, made visible; each call of `write` has whole characters."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream.buffer, name)  # type: ignore[attr-defined]

    def write(self, data: bytes) -> int:
        self._stream.write(visible(bytes(data).decode(errors="backslashreplace")))
        return len(data)

    def flush(self) -> None:
        self._stream.flush()


@contextmanager
def gated_streams() -> Iterator[None]:
    """Has everything that is written to standard output and standard error inside pass the gate.

    After an unexpected error the gate stays: the interpreter prints the traceback.
    """
    streams = sys.stdout, sys.stderr
    for stream in streams:
        if hasattr(stream, "reconfigure"):  # a character that the encoding does not have becomes a question mark
            stream.reconfigure(errors="replace")
    sys.stdout, sys.stderr = (cast("Any", _GatedStream(stream)) for stream in streams)
    try:
        yield
    except SystemExit:
        sys.stdout, sys.stderr = streams
        raise
    else:
        sys.stdout, sys.stderr = streams


def ungated(stream: IO[str]) -> IO[str]:
    """The stream without its gate, for a caller that has a gate of its own."""
    return stream.stream if isinstance(stream, _GatedStream) else stream


# ---- Pipes ----


def drop_output() -> None:
    """Sends what is still to be written nowhere: without a reader, Python itself would complain at its end."""
    with suppress(OSError, ValueError):  # in a test, the output is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def echo_while_read(text: str) -> None:
    """Prints a line, for a command that goes on when its reader has gone."""
    try:
        click.echo(text)
    except BrokenPipeError:
        drop_output()


# ---- Exit codes ----


class ExitCode(IntEnum):
    """How a command ended."""

    FINE = 0
    """It did what it was asked to."""
    FOUND = 1
    """It found what it looks for: a broken rule (`check`), a problem (`doctor`); or it could not do its own work."""
    UNUSABLE = 2
    """It cannot start: a wrong option, an unusable setting or file, a recording of an unknown protocol."""
    FAILED = 3
    """A model server or a recorded stream failed: an error, no connection, an answer without text."""
    TRUNCATED = 4
    """A recorded stream has no end: the recorder lost the rest, or the server died."""
    INTERRUPTED = 130
    """Ctrl-C, as shells report it."""
    NO_READER = 141
    """The reader of its output has gone, as shells report it."""
