"""A running `partstream serve` that serves the provider of the soak."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from soak.client import Address

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["Served", "serving"]

_MODEL = Path(__file__).with_name("model.py")
_SECONDS = 30.0


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
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "partstream", "serve", str(_MODEL), "--port", "0", "--json", *options),
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | {"PARTSTREAM_SERVE_TOKEN": token, "PARTSTREAM_SERVE_NO_STORE": "true"},
    )
    drained: asyncio.Task[None] | None = None
    try:
        assert process.stdout is not None  # noqa: S101 - for the type checker: a pipe was asked for
        async with asyncio.timeout(_SECONDS):
            started = json.loads(await process.stdout.readline())
        drained = asyncio.create_task(_drained(process.stdout))  # a full pipe would stop the server
        yield Served(process, Address(int(started["url"].rpartition(":")[2]), token))
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        if drained is not None:
            await drained


async def _drained(stream: asyncio.StreamReader) -> None:
    while await stream.read(2**16):
        pass
