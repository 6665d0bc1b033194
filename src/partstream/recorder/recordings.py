"""The files of one run of the recorder: one that grows, and those that are full and finished beside it."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Final

from partstream.devtools.bundles.forms import FORMS
from partstream.devtools.bundles.partial import PARTIAL_ENDING
from partstream.recorder.finishing import finish
from partstream.recorder.recording_file import RecordingFile

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from partstream.devtools.recorder.proxy import ExchangeWatcher, ForwardedRequest

__all__ = ["Recordings"]

_MOST_BYTES: Final = 64 * 1024 * 1024
_MOST_EXCHANGES: Final = 1_000
"""Of one file: what is longer is slow to look at, and takes much memory."""


class Recordings:
    """Records exchanges; belongs to one event loop.

    Args:
        file: Where the recording goes; further files have a number before the ending.
        on_failure: Called when a file cannot be written; what goes by is forwarded still.
        most_bytes: How many bytes a file holds at the most, about.
        most_exchanges: The same for its exchanges.

    Attributes:
        files: The files that were finished.
        left: Recordings that could not be finished, as they have grown, and why; every command reads them.

    Raises:
        OSError: The file cannot be made.
    """

    def __init__(
        self,
        file: Path,
        on_failure: Callable[[Exception], object],
        most_bytes: int = _MOST_BYTES,
        most_exchanges: int = _MOST_EXCHANGES,
    ) -> None:
        self.files: list[Path] = []
        self.left: dict[Path, Exception] = {}
        self._file = file
        self._on_failure = on_failure
        self._most_bytes = most_bytes
        self._most_exchanges = most_exchanges
        self._number = 1
        self._growing = self._new()
        self._full: list[tuple[RecordingFile, Path]] = []
        self._finishing: set[asyncio.Task[None]] = set()
        self._one_at_a_time = asyncio.Lock()

    @property
    def growing(self) -> Path:
        """The file that grows."""
        return self._growing.path

    def watch(self, request: ForwardedRequest) -> ExchangeWatcher:
        """What records an exchange."""
        growing = self._growing
        if growing.size >= self._most_bytes or growing.exchanges >= self._most_exchanges:
            self._turn_over()
        return self._growing.watch(request)

    async def close(self) -> None:
        """Finishes all files; one without an exchange is removed."""
        await asyncio.gather(*self._finishing)
        self._full.append((self._growing, self._path(self._number)))
        for recording, file in self._full:
            await recording.close()
            if recording.exchanges:
                await self._kept(recording.path, file, asyncio.to_thread(finish, recording.path, file))
            else:
                recording.path.unlink(missing_ok=True)

    def _turn_over(self) -> None:
        """Begins the next file, and has those finished that are full and whose exchanges are over."""
        full = (self._growing, self._path(self._number))
        try:
            self._number += 1
            self._growing = self._new()
        except OSError as error:
            self._number -= 1
            self._on_failure(error)  # it grows on
            return
        self._full.append(full)
        over = [one for one in self._full if not one[0].open_exchanges]
        self._full = [one for one in self._full if one[0].open_exchanges]
        for recording, file in over:
            task = asyncio.get_running_loop().create_task(self._finish_beside(recording, file))
            self._finishing.add(task)
            task.add_done_callback(self._finishing.discard)

    async def _finish_beside(self, recording: RecordingFile, file: Path) -> None:
        await recording.close()
        async with self._one_at_a_time:
            await self._kept(recording.path, file, _finish_in_a_process(recording.path, file))

    async def _kept(self, part: Path, file: Path, finishing: Awaitable[None]) -> None:
        try:
            await finishing
        except Exception as error:  # the recording stays as it has grown
            self.left[part] = error
        else:
            self.files.append(file)

    def _new(self) -> RecordingFile:
        file = self._path(self._number)
        return RecordingFile(file.with_name(_stem(file.name) + PARTIAL_ENDING), self._on_failure)

    def _path(self, number: int) -> Path:
        if number == 1:
            return self._file
        name = self._file.name
        stem = _stem(name)
        return self._file.with_name(f"{stem}-{number}{name[len(stem) :]}")


def _stem(name: str) -> str:
    """A name without the ending that says its form."""
    endings = (ending for form in FORMS for ending in form.endings if name.lower().endswith(ending))
    return name[: len(name) - max(map(len, endings), default=0)]


async def _finish_in_a_process(part: Path, file: Path) -> None:
    command = (sys.executable, "-m", "partstream.recorder.finishing", str(part), str(file))
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    _, said = await process.communicate()
    if process.returncode:
        lines = said.decode(errors="replace").strip().splitlines()
        raise OSError(0, lines[-1] if lines else f"the process ended with {process.returncode}")
