"""The gate before the terminal: what a command writes leaves through it, and nothing in it acts on the terminal.

What commands write through `click.echo`, loggers and the standard streams meets the gate in the streams. The console of
:mod:`partstream.cli.console` styles text itself, so it has the gate before its styling.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, cast

from partstream.codec.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["gated_streams", "ungated"]


class _GatedStream:
    """A text stream whose text is made visible; in all else, it is the stream that it stands for.

    Attributes:
        stream: The stream without a gate.
    """

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    @property
    def buffer(self) -> _GatedBytes:
        """The stream of bytes behind it, with the gate."""
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

    After an error that nobody expected it stays: the interpreter prints the traceback.
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
