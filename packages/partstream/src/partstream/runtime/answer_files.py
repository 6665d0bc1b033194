"""Keeps the files of responses in a folder of the user, for hosts that cannot show them: a link leads to each.

A chat shows neither images nor other files of a response, and reports no response where there is nothing else. So the
program with the screen keeps the file and shows its place. :class:`BoundedFolder` is for the user alone and bounded:
the oldest files go first. Any number of processes may share one.
"""

from __future__ import annotations
import hashlib
import logging
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import partstream.codec.silent_log  # noqa: F401 - for its effect
from partstream.codec.checks import dataclass
from partstream.codec.system import CACHE, make_private_folder, replace_file
from partstream.conversation.media import MediaKind, extension_of, read_media
from partstream.lm.parts import DataPart, is_mark

_logger = logging.getLogger("partstream.files")


@dataclass(frozen=True, slots=True)
class FileLimits:
    """The limits of a folder of kept files, and how many seconds a file is kept; the oldest files go first."""

    file_bytes: int = 64 * 1024 * 1024
    all_bytes: int = 512 * 1024 * 1024
    files: int = 500
    seconds: float = 30 * 24 * 3600.0


class BoundedFolder:
    """A folder of kept files. It is made when the first file is written, for the user alone.

    Args:
        names: The names of the files that are kept here: nothing else in the folder is ever removed.
    """

    def __init__(
        self, path: Path, names: re.Pattern[str], limits: FileLimits, clock: Callable[[], float] = time.time
    ) -> None:
        self.path = path
        self._names = names
        self._limits = limits
        self._clock = clock

    def write(self, name: str, data: bytes) -> Path:
        """Writes a file as a whole, readable for the user alone; a file of the same name is replaced.

        `names` has to know the name.

        Raises:
            OSError: The system refuses, or the folder is a link or something else.
        """
        make_private_folder(self.path)
        if self.path.is_symlink():
            raise NotADirectoryError(0, "the folder is a link")
        self.path.chmod(0o700)
        path = self.path / name
        replace_file(path, data)
        self._clean(path)
        return path

    def keep(self, name: str, data: bytes, what: str) -> bool:
        """Writes a file like :meth:`write`; False, with a line in the log, for one that is too large or that the
        system refuses. `what` says in words what it holds."""
        if len(data) > self._limits.file_bytes:
            _logger.warning("%s was not kept: it takes %d bytes", what, len(data))
            return False
        try:
            self.write(name, data)
        except OSError as error:
            _logger.warning("%s was not kept: %s", what, error.strerror or type(error).__name__)
            return False
        return True

    def read(self, name: str) -> bytes | None:
        """A kept file; None where there is none, for a link, and for one that is larger than any that is kept."""
        path = self.path / name
        try:
            is_kept = self._names.fullmatch(name) and not path.is_symlink()
            return path.read_bytes() if is_kept and path.stat().st_size <= self._limits.file_bytes else None
        except OSError:
            return None

    def newest_first(self) -> list[Path]:
        """The files that are kept here now, the one that was written last first."""
        try:
            found = [path for path in self.path.iterdir() if self._names.fullmatch(path.name)]
            return sorted(found, key=lambda path: -path.lstat().st_mtime)
        except OSError:  # there is no folder yet, or another process cleans
            return []

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


# ---- Files of responses ----

_FOLDER: Final = "answer-files"
_NAME: Final = re.compile(r"[0-9a-f]{32}\.[a-z0-9]{1,5}")
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,100}")
_UNKNOWN: Final = "application/octet-stream"
_KILO: Final = 1024
_IMAGES: Final = "image/"
"""Also those that are text: SVG."""


class FileNotKeptError(Exception):
    """A file cannot be kept; the message says why."""


@dataclass(frozen=True, slots=True)
class AnswerFile:
    """A file of a response, with its description, such as `image/png, 12 KB`."""

    path: Path
    description: str

    @property
    def link(self) -> str:
        """A link to it in Markdown."""
        return f"[{self.description}]({self.path.as_uri()})"


def is_file(part: DataPart) -> bool:
    """Whether a data part of an answer is a file that a person wants to see: no mark, no text, no address."""
    if is_mark(part.mime_type) or not part.data:
        return False
    media = read_media(part)
    return (media.kind is not MediaKind.TEXT or media.media_type.startswith(_IMAGES)) and not media.url


def described(part: DataPart) -> str:
    """The description of a file: its media type as its bytes show it, and its size."""
    media_type = read_media(part).media_type
    known = media_type if _MEDIA_TYPE.fullmatch(media_type) else _UNKNOWN
    return f"{known}, {_size(len(part.data))}"


def _size(count: int) -> str:
    if count < _KILO:
        return f"{count} bytes"
    return f"{count / _KILO:.0f} KB" if count < _KILO**2 else f"{count / _KILO**2:.1f} MB"


class AnswerFiles:
    """The files of responses in one folder, by default that of the user's cache.

    It is made when the first file is kept, for the user alone. Any number of processes may share it.
    """

    def __init__(
        self, folder: Path | None = None, limits: FileLimits = FileLimits(), clock: Callable[[], float] = time.time
    ) -> None:
        self._folder = BoundedFolder(folder or CACHE.path() / _FOLDER, _NAME, limits, clock)
        self._most_bytes = limits.file_bytes

    def keep(self, part: DataPart) -> AnswerFile:
        """Keeps a file. Its name comes from its bytes alone, so that the same file is kept once.

        Raises:
            FileNotKeptError: It is too large, or the system refuses to write it.
        """
        if len(part.data) > self._most_bytes:
            raise FileNotKeptError(f"it has more than {_size(self._most_bytes)}")
        name = f"{hashlib.sha256(part.data).hexdigest()[:32]}.{extension_of(read_media(part).media_type)}"
        try:
            path = self._folder.write(name, part.data)
        except OSError as error:
            raise FileNotKeptError(error.strerror or type(error).__name__) from error
        return AnswerFile(path, described(part))

    def owns(self, url: str) -> bool:
        """Whether a link with this address leads to a file that is, or was, kept here."""
        path = self._folder.path / url.rpartition("/")[2]
        return _NAME.fullmatch(path.name) is not None and path.as_uri() == url

    def find(self, url: str, most_bytes: int) -> bytes | None:
        """The bytes of a kept file by the address in its link, if they are no more than `most_bytes`.

        None for a file that is gone or larger, and for the address of anything else.
        """
        path = self._folder.path / url.rpartition("/")[2]
        if not self.owns(url) or path.is_symlink():
            return None
        try:
            return path.read_bytes() if path.stat().st_size <= most_bytes else None
        except OSError:  # it was too old, or was removed
            return None
