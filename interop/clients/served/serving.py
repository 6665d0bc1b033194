"""Runs `partstream serve` on loopback for one client, and tells what the server saw of each answer."""

from __future__ import annotations
import asyncio
import json
import os
import sys
import tempfile
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

__all__ = ["KEY", "Served", "serving"]

KEY: Final = "key-of-the-clients"
_MODEL: Final = Path(__file__).resolve().parent / "model.py"
_LONGEST_START: Final = 30
_LONGEST_END: Final = 15
_QUIET: Final = 0.3
"""Seconds without a further answer, after which no more are expected of a trial."""
_LONGEST_LEAVE: Final = 10
"""Seconds in which the model has to notice that it was left."""


class Served:
    """A running `partstream serve`.

    Attributes:
        base_urls: The base URL of each protocol.
    """

    def __init__(self, base_urls: Mapping[str, str], answers: asyncio.Queue[dict[str, Any]], left: Path) -> None:
        self.base_urls = base_urls
        self._answers = answers
        self._left = left

    async def answers(self) -> list[dict[str, Any]]:
        """What the server logged about the answers since the last call; waits until it logs nothing more."""
        seen: list[dict[str, Any]] = []
        with suppress(TimeoutError):
            while True:
                seen.append(await asyncio.wait_for(self._answers.get(), _QUIET))
        return seen

    async def was_left(self) -> bool:
        """Whether the model has noticed that it was left since the last call."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LONGEST_LEAVE):
                while not self._left.exists():
                    await asyncio.sleep(0.02)
        is_left = self._left.exists()
        self._left.unlink(missing_ok=True)
        return is_left


@asynccontextmanager
async def serving() -> AsyncIterator[Served]:
    """Starts the command, and ends it with the block."""
    with tempfile.TemporaryDirectory() as folder:
        left = Path(folder) / "left"
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "partstream", "serve", str(_MODEL), "--port", "0", "--json",
            stdout=asyncio.subprocess.PIPE, env=_environment(folder, left),
        )  # fmt: skip
        answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        try:
            base_urls = await _base_urls(process)
            reading = asyncio.create_task(_read(process, answers))
            yield Served(base_urls, answers, left)
            process.terminate()
            await asyncio.wait_for(process.wait(), _LONGEST_END)
            await reading
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


def _environment(folder: str, left: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PARTSTREAM_")}
    ours = {"PARTSTREAM_SERVE_TOKEN": KEY, "PARTSTREAM_DATA": folder, "LEFT_FILE": str(left)}
    return kept | ours | {"XDG_CONFIG_HOME": folder}


async def _base_urls(process: asyncio.subprocess.Process) -> Mapping[str, str]:
    assert process.stdout is not None  # noqa: S101 - it was started with a pipe
    async with asyncio.timeout(_LONGEST_START):
        while line := await process.stdout.readline():
            said = json.loads(line)
            if said["type"] == "listening":
                urls: Mapping[str, str] = said["base_urls"]
                return urls
    raise RuntimeError("partstream serve has ended before it listened")


async def _read(process: asyncio.subprocess.Process, answers: asyncio.Queue[dict[str, Any]]) -> None:
    assert process.stdout is not None  # noqa: S101 - it was started with a pipe
    async for line in process.stdout:
        said = json.loads(line)
        if said["type"] == "answer":
            answers.put_nowait(said)
