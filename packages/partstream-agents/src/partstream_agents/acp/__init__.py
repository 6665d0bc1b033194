"""The Agent Client Protocol both ways: our models as agents in editors, and agents of others as models.

`partstream acp my_agent.py` answers an editor on standard input and output (:mod:`partstream_agents.acp.agent`). The
protocol itself is the business of the official package `agent-client-protocol`, which is imported when it is used.

Here is what both ways share: how messages go as lines of JSON over standard input and output, or over the pipes of a
program. :class:`Lines` is a transport of the official package that is bounded: its own keeps a line of any length. A
line that is no JSON object, or has more values or levels than :mod:`partstream.codec.limits` allows, is left out and
logged; a longer one than :data:`MOST_LINE` ends the connection, because what follows it cannot be told apart. Nothing
else is written to where the lines go: what a person's code prints goes to standard error.
"""

from __future__ import annotations
import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import MOST_LEVELS, dumps, loads_or_none
from partstream.codec.limits import LARGE_BYTES, MOST_VALUES, loads_in_pieces, measure
from partstream.errors import CallerError, to_install
from partstream.vscode.rpc import Reader, claim_standard_streams

if TYPE_CHECKING:
    from asyncio.subprocess import Process

__all__ = ["AcpMissingError", "Lines", "end_program", "program_lines", "require_acp", "standard_lines"]


class AcpMissingError(CallerError):
    """The official package of the protocol is not installed."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} needs a package that is not installed: {to_install('acp')}")


def require_acp(what: str) -> None:
    """Looks for the official package without importing it.

    Args:
        what: What needs it, for the error.

    Raises:
        AcpMissingError: It is not installed.
    """
    if find_spec("acp") is None:
        raise AcpMissingError(what)


# ---- Lines ----

MOST_LINE: Final = 64 * 2**20
"""The most bytes of a message: a prompt may hold several images."""
SHORTEST_KEY: Final = 8
"""Characters of a setting that is hidden in errors; a shorter one may be any word."""

_logger = logging.getLogger("partstream.acp")


class Lines:
    """One end of a connection; see `acp.connection.Transport`.

    Args:
        reader: Has the lines of the peer; made with the limit :data:`MOST_LINE`.
        write: Writes bytes, and waits while the peer does not read.
        peer: The name of the peer in the log.

    Attributes:
        received: How many bytes have come.
    """

    def __init__(self, reader: asyncio.StreamReader, write: Callable[[bytes], Awaitable[None]], peer: str) -> None:
        self._reader = reader
        self._write = write
        self._peer = peer
        self._writing = asyncio.Lock()
        self.received = 0

    async def send(self, message: dict[str, Any]) -> None:
        """Writes a message as a line.

        Raises:
            ConnectionError: The peer has gone.
        """
        async with self._writing:
            await self._write(dumps(message) + b"\n")

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end of the connection."""
        while True:
            await asyncio.sleep(0)  # many lines may have come at once, and others have their turn
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.IncompleteReadError as end:
                line = end.partial
                if not line:
                    return None
            except asyncio.LimitOverrunError:
                _logger.warning("%s wrote a line of more than %d bytes: the connection ends", self._peer, MOST_LINE)
                return None
            except ConnectionError:
                return None
            self.received += len(line)
            if not line.strip():
                continue
            is_large = len(line) > LARGE_BYTES
            message = await asyncio.to_thread(_large, line) if is_large else loads_or_none(line)
            if isinstance(message, dict):
                return message
            _logger.warning("%s wrote a line of %d bytes that is no message; it was left out", self._peer, len(line))

    async def close(self) -> None:
        """Does nothing: the owner of the streams closes them."""


def _large(line: bytes) -> Any:
    """The value of a long line; None where it is no JSON, or holds too much."""
    held = measure(line)
    if held.values > MOST_VALUES or held.levels > MOST_LEVELS:
        return None
    try:
        return loads_in_pieces(line)
    except ValueError:
        return None


def program_lines(process: Process, name: str) -> Lines:
    """The lines of a program that was started with pipes and the limit :data:`MOST_LINE`."""
    reader, writer = process.stdout, process.stdin
    assert reader is not None  # noqa: S101 - for the type checker: both are pipes
    assert writer is not None  # noqa: S101

    async def write(data: bytes) -> None:
        writer.write(data)
        await writer.drain()

    return Lines(reader, write, name)


_END_SECONDS: Final = 3.0


async def end_program(process: Process) -> None:
    """Ends a program and its children: by the end of its input, then by force. Nothing else may read its output."""
    if process.stdin is not None:
        process.stdin.close()
    with suppress(TimeoutError):
        async with asyncio.timeout(_END_SECONDS):
            await process.wait()
    with suppress(ProcessLookupError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)  # also the processes that it started and left
        elif process.returncode is None:
            process.kill()
    with suppress(TimeoutError):  # a process that has left the group may hold the pipe
        async with asyncio.timeout(_END_SECONDS):
            while process.stdout is not None and await process.stdout.read(2**16):
                pass  # asyncio sees the end of a process after that of its output
            await process.wait()


def standard_lines() -> Lines:
    """The lines on standard input and output, which nothing else can use from now on."""
    reading, writing = claim_standard_streams()
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MOST_LINE)
    Reader(reading, loop, reader.feed_data, reader.feed_eof).start()

    def write_all(data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(writing, rest) :]

    async def write(data: bytes) -> None:
        # A thread: a pipe without a reader would block the whole event loop, and files are no pipes.
        await asyncio.to_thread(write_all, data)

    return Lines(reader, write, "the editor")
