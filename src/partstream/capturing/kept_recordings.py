"""The recordings that were written without a name of their own: in the user's data folder, aged out."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from partstream.codec.system import DATA
from partstream.runtime.answer_files import FileLimits, KeptFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["KeptRecordings"]

_FOLDER: Final = "recordings"
_NAMES: Final = re.compile(r"[0-9]{8}-[0-9]{6}-[a-z0-9.-]{1,60}\.partstream\.(?:zip|part)")
"""Also of recordings that were never finished, because the recorder was killed."""
_NO_WORDS: Final = re.compile(r"[^a-z0-9.]+")
_LONGEST: Final = 40
_LIMITS: Final = FileLimits(file_bytes=200 * 1024 * 1024, all_bytes=200 * 1024 * 1024, files=1_000)


class KeptRecordings:
    """The folder of recordings.

    Args:
        folder: The folder; None for that in the user's data folder.
        limits: What it holds at the most: 30 days and 200 MB.
        clock: Returns the seconds since 1970.
    """

    def __init__(
        self,
        folder: Path | None = None,
        limits: FileLimits = _LIMITS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder = KeptFolder(folder or DATA.path() / _FOLDER, _NAMES, limits, clock)
        self._clock = clock

    def write(self, data: bytes, about: str) -> Path:
        """Writes a recording; its name says when it was written and what it is about.

        Args:
            data: The bytes of a `.partstream.zip`.
            about: What it is about, such as the model's id: what a file name can hold of it goes into the name.

        Raises:
            OSError: The system refuses.
        """
        moment = datetime.fromtimestamp(self._clock(), UTC).strftime("%Y%m%d-%H%M%S")
        words = _NO_WORDS.sub("-", about.lower()).strip("-.")[:_LONGEST] or "answer"
        taken = {path.name for path in self._folder.newest_first()}
        for number in range(1, len(taken) + 2):
            name = f"{moment}-{words}{f'-{number}' if number > 1 else ''}.partstream.zip"
            if name not in taken:
                break
        return self._folder.write(name, data)

    def newest(self) -> Path | None:
        """The recording that was written last; None where there is none."""
        return next(iter(self._folder.newest_first()), None)
