"""Runs commands: in this process, as processes with pipes, or with a terminal of 80 columns in front of them."""

import asyncio
import os
import re
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest
from click.testing import CliRunner

from partstream.cli import main


@dataclass(frozen=True)
class Ended:
    """How a command ended and what it said."""

    code: int
    output: str
    errors: str


_DATA = tempfile.TemporaryDirectory(prefix="partstream-cli-")
"""What commands remember, until the tests end."""


def _environment(**environment: str) -> dict[str, str]:
    left_out = ("COLUMNS", "LINES", "PARTSTREAM_", "UV")  # what the person who runs the tests has configured
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    nowhere = {
        "XDG_CONFIG_HOME": os.devnull,
        "APPDATA": os.devnull,
        "PARTSTREAM_DATA": _DATA.name,
        # A folder for each call: the next server at the same port may be another.
        "PARTSTREAM_CACHE": tempfile.mkdtemp(dir=_DATA.name),
    }
    # The shell finds the command, so that hints name it.
    path = os.pathsep.join((os.path.dirname(sys.executable), kept.get("PATH", "")))
    return kept | nowhere | {"PATH": path, "TERM": "xterm-256color", "PYTHONUTF8": "1"} | environment


async def start(*arguments: str, **environment: str) -> asyncio.subprocess.Process:
    """A running command with pipes."""
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, "-m", "partstream", *arguments)
    env = _environment(**environment)
    return await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe, env=env)


async def kill(process: asyncio.subprocess.Process) -> None:
    """Ends a command that may still run, and reads what it has written: only then its pipes are closed."""
    if process.returncode is None:
        process.kill()
    async with asyncio.timeout(30):
        await process.communicate()


async def end(process: asyncio.subprocess.Process, typed: str | bytes | None = "") -> Ended:
    """Writes to the command's input, closes it, and waits for the end."""
    data = typed.encode() if isinstance(typed, str) else typed
    try:
        async with asyncio.timeout(30):
            output, errors = await process.communicate(data)
    except BaseException:
        await kill(process)
        raise
    return Ended(process.returncode, (output or b"").decode(), errors.decode())


async def call_process(
    *arguments: str, typed: str | bytes = "", reader_goes: bool = False, **environment: str
) -> Ended:
    """Runs a command with pipes to its end, as a process of its own.

    Args:
        arguments: The command line.
        typed: What its input holds.
        reader_goes: Whether its output has no reader: its first write finds a closed pipe.
        environment: More environment variables.
    """
    if not reader_goes:
        return await end(await start(*arguments, **environment), typed)
    reading, writing = os.pipe()
    os.close(reading)
    try:
        command = (sys.executable, "-m", "partstream", *arguments)
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=writing,
            stderr=asyncio.subprocess.PIPE,
            env=_environment(**environment),
        )
    finally:
        os.close(writing)
    return await end(process)


async def call(*arguments: str, typed: str | bytes = "", **environment: str) -> Ended:
    """Runs a command to its end in a thread of this process: what it says and does is the same, and half a second less.

    Its input and output are no terminal, as with pipes; Ctrl-C does not reach it.
    """
    wanted = _environment(**environment)
    changes = {name: wanted.get(name) for name in os.environ.keys() | wanted.keys()}
    runner = CliRunner(env={name: value for name, value in changes.items() if value != os.environ.get(name)})
    async with asyncio.timeout(30):
        run = await asyncio.to_thread(runner.invoke, main, arguments, input=typed, catch_exceptions=False)
    return Ended(run.exit_code, run.stdout, run.stderr)


class Terminal:
    """A command in a terminal."""

    def __init__(self, process: asyncio.subprocess.Process, descriptor: int) -> None:
        self.process = process
        self.shown = ""
        self._typed_at = 0
        self._is_closed = False
        self._descriptor = descriptor
        self._changed = asyncio.Event()
        asyncio.get_running_loop().add_reader(descriptor, self._read)

    @property
    def plain(self) -> str:
        """What was shown, without colours."""
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.shown).replace("\r", "")

    def type(self, text: str) -> None:
        """Types; what was shown before is not waited for any more."""
        self._typed_at = len(self.plain)
        os.write(self._descriptor, text.encode())

    async def until(self, text: str) -> None:
        """Waits until `text` is shown, whatever its line breaks."""
        await self._until(lambda: text in " ".join(self._answer.split()))

    async def asks(self) -> None:
        """Waits until the command waits for a line."""
        await self._until(lambda: self._answer.endswith("\n> "))

    @property
    def _answer(self) -> str:
        return self.plain[self._typed_at :]

    async def _until(self, condition: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(30):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError as error:
            raise TimeoutError(f"not within 30 s; shown: {self.plain}") from error

    async def all_shown(self) -> None:
        """Waits until the terminal of a command that has ended holds nothing more."""
        async with asyncio.timeout(30):
            while not self._is_closed:
                self._changed.clear()
                await self._changed.wait()

    async def interrupted(self) -> int:
        """Ctrl-C at the prompt. CPython misses a signal between showing the prompt and waiting for a key: as a person
        does then, it is pressed again.
        """
        for _ in range(10):
            self.process.send_signal(signal.SIGINT)
            with suppress(TimeoutError):
                async with asyncio.timeout(1.5):
                    return await self.process.wait()
        raise TimeoutError(f"Ctrl-C did not end it; shown: {self.plain}")

    async def ended(self) -> int:
        try:
            async with asyncio.timeout(30):
                return await self.process.wait()
        except TimeoutError as error:
            raise TimeoutError(f"it did not end within 30 s; shown: {self.plain}") from error

    def close(self) -> None:
        if self._descriptor >= 0:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:  # how Linux says that the other end is closed
            data = b""
        if not data:
            self._is_closed = True
            asyncio.get_running_loop().remove_reader(self._descriptor)
        self.shown += data.decode(errors="replace")
        self._changed.set()


_AS_OWN_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "partstream", *sys.argv[1:]])
"""
"""Makes the terminal the one that controls the command: what is asked for hidden is read from there, and typed Ctrl-C
arrives as a signal."""


@asynccontextmanager
async def terminal(*arguments: str, controls: bool = False, **environment: str) -> AsyncIterator[Terminal]:
    """A running command in a terminal of 80 columns; it is ended with the block.

    Args:
        arguments: The command line.
        controls: Whether the terminal controls the command, as that of a shell does.
        environment: More environment variables.
    """
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")

    ours, theirs = pty.openpty()
    try:
        start = ("-c", _AS_OWN_TERMINAL) if controls else ("-m", "partstream")
        command = (sys.executable, *start, *arguments)
        env = _environment(**{"COLUMNS": "80", "LINES": "24", **environment})
        process = await asyncio.create_subprocess_exec(*command, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
    finally:
        os.close(theirs)
    shown = Terminal(process, ours)
    try:
        yield shown
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        shown.close()


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    """Runs a test within bounds."""

    async def within() -> None:
        async with asyncio.timeout(50):
            await coroutine

    asyncio.run(within())
