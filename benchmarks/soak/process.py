"""A running `partstream serve` that serves the provider of the soak."""

from __future__ import annotations
import asyncio
import json
import os
import secrets
import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.soak.client import Address, facts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["MODEL", "Served", "serving"]

MODEL = Path(__file__).with_name("model.py")
_SECONDS = 30.0
_STEADY_LOOKS = 5


class Served:
    """The process and its address."""

    def __init__(self, process: asyncio.subprocess.Process, address: Address) -> None:
        self.process = process
        self.address = address

    async def end(self, number: int, seconds: float = _SECONDS) -> int:
        """Sends a signal and waits for the exit code."""
        self.process.send_signal(number)
        async with asyncio.timeout(seconds):
            return await self.process.wait()


@asynccontextmanager
async def serving(*options: str) -> AsyncIterator[Served]:
    """Starts the server, and ends it with the block."""
    token = secrets.token_hex(16)
    with tempfile.TemporaryDirectory(prefix="partstream-soak-") as data:
        async with _running(token, data, options) as served:
            yield served


@asynccontextmanager
async def _running(token: str, data: str, options: tuple[str, ...]) -> AsyncIterator[Served]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "partstream", "serve", str(MODEL), "--port", "0", "--json", *options),
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
        yield Served(process, address)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        if drained is not None:
            await drained


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
