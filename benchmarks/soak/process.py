"""A running `partstream serve` that serves the provider of the soak."""

from __future__ import annotations
import asyncio
import json
import os
import secrets
import sys
import tempfile
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.soak.client import Address, facts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

__all__ = ["MODEL", "MOST_MEMORY", "Served", "serving"]

MODEL = Path(__file__).with_name("model.py")
MOST_MEMORY = 512 << 20
"""What a pod has that `--print-kubernetes` prints."""
_GROUPS = Path("/sys/fs/cgroup")
_SECONDS = 30.0
_STEADY_LOOKS = 5


class Served:
    """The process and its address.

    Attributes:
        is_limited: Whether the system ends it where it takes more than :data:`MOST_MEMORY`, as in a pod.
    """

    def __init__(self, process: asyncio.subprocess.Process, address: Address, *, is_limited: bool) -> None:
        self.process = process
        self.address = address
        self.is_limited = is_limited

    async def end(self, number: int, seconds: float = _SECONDS) -> int:
        """Sends a signal and waits for the exit code."""
        self.process.send_signal(number)
        async with asyncio.timeout(seconds):
            return await self.process.wait()


@asynccontextmanager
async def serving(*options: str, within: tuple[str, ...] = (), token: str | None = None) -> AsyncIterator[Served]:
    """Starts the server, and ends it with the block.

    Args:
        options: Options of the command.
        within: A command that becomes the one after it.
        token: What clients present: the key of a person where it is a hub. None for a token that is made for it.
    """
    token = token or secrets.token_hex(16)
    with tempfile.TemporaryDirectory(prefix="partstream-soak-") as data:
        async with _running(token, data, options, within) as served:
            yield served


@asynccontextmanager
async def _running(token: str, data: str, options: tuple[str, ...], within: tuple[str, ...]) -> AsyncIterator[Served]:
    process = await asyncio.create_subprocess_exec(
        *(*within, sys.executable, "-m", "partstream", "serve", str(MODEL), "--port", "0", "--json", *options),
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | {"PARTSTREAM_SERVE_TOKEN": token, "PARTSTREAM_DATA": data},
    )
    drained: asyncio.Task[None] | None = None
    try:
        assert process.stdout is not None
        async with asyncio.timeout(_SECONDS):
            started = json.loads(await process.stdout.readline())
        drained = asyncio.create_task(_drained(process.stdout))  # a full pipe would stop the server
        address = Address(int(started["url"].rpartition(":")[2]), token)
        await _warmed_up(address)
        with _limited(process.pid) as is_limited:
            yield Served(process, address, is_limited=is_limited)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        if drained is not None:
            await drained


@contextmanager
def _limited(process_id: int) -> Iterator[bool]:
    """Puts a process into a group of its own with the memory of the pod; whether the system lets us. Without swap, and
    with what it has already."""
    name, is_second = f"partstream-soak-{process_id}", (_GROUPS / "cgroup.controllers").exists()
    group = (_GROUPS if is_second else _GROUPS / "memory") / name
    try:
        group.mkdir()
        (group / ("memory.max" if is_second else "memory.limit_in_bytes")).write_text(str(MOST_MEMORY))
        (group / "cgroup.procs").write_text(str(process_id))
    except OSError:
        with suppress(OSError):
            group.rmdir()
        yield False
        return
    try:
        yield True
    finally:
        with suppress(OSError):  # the process may not have ended yet
            (group.parent / "cgroup.procs").write_text(str(process_id))
        with suppress(OSError):
            group.rmdir()


async def _warmed_up(address: Address) -> None:
    """Waits until the first answers have opened what stays open, such as the ledger."""
    async with asyncio.timeout(_SECONDS):
        before, unchanged = await facts(address), 0
        while unchanged < _STEADY_LOOKS:
            await asyncio.sleep(0.05)
            now = await facts(address)
            unchanged = unchanged + 1 if now["files"] == before["files"] else 0
            before = now


async def _drained(stream: asyncio.StreamReader) -> None:
    while await stream.read(2**16):
        pass
