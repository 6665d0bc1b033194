"""Keeps stopped runs between two requests: one JSON file each, under a random key, in the user's data folder.

A record holds a conversation, so the folder and its files are for the user alone; what is too old or too much is
removed. Nothing is ever unpickled.
"""

from __future__ import annotations

import contextlib
import logging
import re
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from partstream.json_codec import JSONDecodeError, dumps, loads
from partstream.user_folders import DATA

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["RunStates", "StateLimits"]

_logger = logging.getLogger("partstream.agents")

_FOLDER: Final = "agent-runs"
_KEY: Final = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class StateLimits:
    """What the folder of stopped runs holds at the most.

    Attributes:
        bytes_each: The most bytes of one record; a larger one is not kept, and the run is rebuilt instead.
        all_bytes: The most bytes of all records together.
        records: The most records.
        seconds: How long a record is kept.
    """

    bytes_each: int = 16 * 2**20
    all_bytes: int = 128 * 2**20
    records: int = 500
    seconds: float = 14 * 86_400


class RunStates:
    """The stopped runs in one folder. Any number of processes may share it.

    Args:
        folder: The folder; None for that of the user's data. It is made when the first run is kept.
        limits: What it holds at the most.
        clock: Returns the seconds since 1970.
    """

    def __init__(
        self,
        folder: Path | None = None,
        limits: StateLimits = StateLimits(),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._limits = limits
        self._clock = clock

    def keep(self, record: dict[str, Any]) -> str | None:
        """Keeps a record; returns its key, or None where it cannot be kept: then the run is rebuilt from the
        conversation.

        Raises:
            TypeError: The record is no JSON.
        """
        data = dumps(record)
        if len(data) > self._limits.bytes_each:
            _logger.warning("a stopped run of an agent was not kept: it takes %d bytes", len(data))
            return None
        key = secrets.token_hex(16)
        path = self._path(key)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.parent.chmod(0o700)
            path.touch(mode=0o600, exist_ok=False)
            path.write_bytes(data)
        except OSError as error:
            _logger.warning("a stopped run of an agent was not kept: %s", error.strerror or type(error).__name__)
            return None
        self._clean(path)
        return key

    def find(self, key: str) -> Any:
        """The record under a key, as its JSON value; None where there is none any more."""
        if not _KEY.fullmatch(key):  # the key comes from the conversation: it must not name a file elsewhere
            return None
        path = self._path(key)
        try:
            if path.is_symlink() or path.stat().st_size > self._limits.bytes_each:
                return None
            return loads(path.read_bytes())
        except (OSError, JSONDecodeError):
            return None

    def _path(self, key: str) -> Path:
        return (self._folder or DATA.path() / _FOLDER) / f"{key}.json"

    def _clean(self, newest: Path) -> None:
        """Removes what is old or too much; the newest record stays."""
        with contextlib.suppress(OSError):  # another process cleans too
            found = [path for path in newest.parent.iterdir() if _KEY.fullmatch(path.stem) and path != newest]
            facts = sorted(((path.lstat(), path) for path in found), key=lambda one: -one[0].st_mtime)
            total = newest.lstat().st_size
            for number, (about, path) in enumerate(facts, 2):
                total += about.st_size
                is_old = about.st_mtime < self._clock() - self._limits.seconds
                if is_old or number > self._limits.records or total > self._limits.all_bytes:
                    path.unlink(missing_ok=True)
