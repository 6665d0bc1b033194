"""A folder of the user in which a program keeps files by itself: for the user alone, and never too much of them.

Any number of processes may share one.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import partstream.codec.system  # noqa: F401 - for its effect

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

__all__ = ["FileLimits", "KeptFolder"]

_logger = logging.getLogger("partstream.files")


@dataclass(frozen=True, slots=True)
class FileLimits:
    """What a folder of kept files holds at the most; the oldest files go first.

    Attributes:
        file_bytes: The most bytes of one file.
        all_bytes: The most bytes of all files together.
        files: The most files.
        seconds: How long a file is kept.
    """

    file_bytes: int = 64 * 1024 * 1024
    all_bytes: int = 512 * 1024 * 1024
    files: int = 500
    seconds: float = 30 * 24 * 3600.0


class KeptFolder:
    """A folder of kept files.

    Args:
        path: The folder. It is made when the first file is written, for the user alone.
        names: The names of the files that are kept here: nothing else in the folder is ever removed.
        limits: What it holds at the most.
        clock: Returns the seconds since 1970.

    Attributes:
        path: The same.
    """

    def __init__(
        self, path: Path, names: re.Pattern[str], limits: FileLimits, clock: Callable[[], float] = time.time
    ) -> None:
        self.path = path
        self._names = names
        self._limits = limits
        self._clock = clock

    def write(self, name: str, data: bytes) -> Path:
        """Writes a file as a whole, readable for the user alone; whatever has its name is replaced.

        Args:
            name: A name that `names` knows.
            data: The content.

        Returns:
            Where it is.

        Raises:
            OSError: The system refuses, or something else stands in the place of the folder.
        """
        self._prepare()
        handle, written = tempfile.mkstemp(dir=self.path, prefix="new-")
        path = self.path / name
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(written).replace(path)
        except BaseException:
            Path(written).unlink(missing_ok=True)
            raise
        self._clean(path)
        return path

    def newest_first(self) -> list[Path]:
        """The files that are kept here now, the one that was written last first."""
        try:
            found = [path for path in self.path.iterdir() if self._names.fullmatch(path.name)]
            return sorted(found, key=lambda path: -path.lstat().st_mtime)
        except OSError:  # there is no folder yet, or another process cleans
            return []

    def _prepare(self) -> None:
        """Makes the folder, readable for the user alone.

        Raises:
            OSError: There is a link or something else in its place.
        """
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.path.is_symlink():
            raise NotADirectoryError(0, "a link stands in the place of the folder")
        self.path.chmod(0o700)

    def _clean(self, newest: Path) -> None:
        """Removes what is old or too much; the newest file stays."""
        try:
            found = [path for path in self.path.iterdir() if self._names.fullmatch(path.name) and path != newest]
            facts = sorted(((path.lstat(), path) for path in found), key=lambda one: -one[0].st_mtime)
            total = newest.lstat().st_size
            for number, (about, path) in enumerate(facts, 2):
                total += about.st_size
                is_old = about.st_mtime < self._clock() - self._limits.seconds
                if is_old or number > self._limits.files or total > self._limits.all_bytes:
                    path.unlink(missing_ok=True)
        except OSError as error:  # another process cleans too
            _logger.info("old files in %s stay: %s", self.path.name, error)
