"""Keeps stopped runs between two requests: one JSON file each, under a random key, in the user's data folder.

A record holds a conversation, so the folder and its files are for the user alone; what is too old or too much is
removed. Nothing is ever unpickled.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.kept_folder import FileLimits, KeptFolder
from partstream.user_folders import DATA

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RunStates"]

_logger = logging.getLogger("partstream.agents")

_FOLDER: Final = "agent-runs"
_KEY: Final = re.compile(r"[0-9a-f]{32}")
_NAMES: Final = re.compile(rf"{_KEY.pattern}\.json")
_LIMITS: Final = FileLimits(file_bytes=16 * 2**20, all_bytes=128 * 2**20, files=500, seconds=14 * 86_400.0)


class RunStates:
    """The stopped runs in one folder. Any number of processes may share it.

    Args:
        folder: The folder; None for that of the user's data. It is made when the first run is kept.
        limits: What it holds at the most. A larger record is not kept, and the run is rebuilt instead.
        clock: Returns the seconds since 1970.
    """

    def __init__(
        self,
        folder: Path | None = None,
        limits: FileLimits = _LIMITS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._place = folder
        self._limits = limits
        self._clock = clock

    def keep(self, record: dict[str, Any]) -> str | None:
        """Keeps a record; returns its key, or None where it cannot be kept: then the run is rebuilt from the
        conversation.

        Raises:
            TypeError: The record is no JSON.
        """
        data = dumps(record)
        if len(data) > self._limits.file_bytes:
            _logger.warning("a stopped run of an agent was not kept: it takes %d bytes", len(data))
            return None
        key = secrets.token_hex(16)
        try:
            self._folder().write(f"{key}.json", data)
        except OSError as error:
            _logger.warning("a stopped run of an agent was not kept: %s", error.strerror or type(error).__name__)
            return None
        return key

    def find(self, key: str) -> Any:
        """The record under a key, as its JSON value; None where there is none any more."""
        if not _KEY.fullmatch(key):  # the key comes from the conversation: it must not name a file elsewhere
            return None
        path = self._folder().path / f"{key}.json"
        try:
            if path.is_symlink() or path.stat().st_size > self._limits.file_bytes:
                return None
            return loads(path.read_bytes())
        except (OSError, JSONDecodeError):
            return None

    def _folder(self) -> KeptFolder:
        """The folder of this moment; one that a person has linked elsewhere is used there."""
        place = os.path.realpath(self._place or DATA.path() / _FOLDER)
        return KeptFolder(Path(place), _NAMES, self._limits, self._clock)
