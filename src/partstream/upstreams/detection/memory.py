"""Keeps what was found out about an address in a file between starts; a missing or broken file only costs requests."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from partstream._version import __version__
from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.protocols.known_servers import KNOWN_SERVERS
from partstream.upstream.detection_rules import Detected, path_of, with_path

__all__ = ["DetectionFile"]

_logger = logging.getLogger("partstream.upstreams")

_NAME: Final = re.compile(r"protocol-[0-9a-f]{16}\.json")
_MOST_FILES: Final = 200
_MAX_BYTES: Final = 16 * 1024
_MAX_REASON: Final = 500
_FRESH_SECONDS: Final = 24 * 3600.0
"""A server that is renewed may speak a better protocol than before."""


@dataclass(frozen=True, slots=True)
class DetectionFile:
    """The file about one base URL.

    It holds a path, and never a host: whoever can write into the folder cannot lead a key elsewhere. Its name is a
    digest of the URL.

    Attributes:
        folder: The folder of the file.
        url: The base URL as it was given.
    """

    folder: Path
    url: str

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self.folder / f"protocol-{hashlib.sha256(self.url.encode()).hexdigest()[:16]}.json"

    def load(self, now: float) -> Detected | None:
        """What was found out; None where nothing is known, or not any more.

        Args:
            now: The seconds since 1970.
        """
        try:
            with self.path.open("rb") as file:
                document = loads(file.read(_MAX_BYTES))
        except (OSError, JSONDecodeError) as error:
            if not isinstance(error, FileNotFoundError):
                _logger.info("what the server speaks is found out again: %s", type(error).__name__)
            return None
        return self._read(document, now)

    def _read(self, document: Any, now: float) -> Detected | None:
        if not isinstance(document, dict) or document.get("version") != __version__:
            return None
        protocol, path, reason, at = (document.get(name) for name in ("protocol", "path", "reason", "at"))
        if not (isinstance(protocol, str) and isinstance(path, str) and isinstance(reason, str)):
            return None
        if not path.startswith("/") and path:
            return None
        if not isinstance(at, int | float) or not 0 <= now - at <= _FRESH_SECONDS:
            return None
        server = next((one.name for one in KNOWN_SERVERS if one.name == document.get("server")), "")
        return Detected(protocol, with_path(self.url, path), reason[:_MAX_REASON], server=server)

    def save(self, detected: Detected, now: float) -> None:
        """Writes what was found out; a reader sees either the old file or the new one. Logs a failure."""
        path = path_of(detected.base_url)
        content = dumps(
            {
                "version": __version__,
                "protocol": detected.protocol,
                "path": path,
                "reason": detected.reason,
                "server": detected.server,
                "at": now,
            }
        )
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.folder, prefix=f"{self.path.name}.", suffix=".new")
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(name).replace(self.path)
            self._clean()
        except OSError as error:
            _logger.warning("cannot store what the server speaks: %s", error)

    def _clean(self) -> None:
        """Removes the oldest files of this kind where there are too many."""
        with suppress(FileNotFoundError):  # another process cleans too
            files = [path for path in self.folder.iterdir() if _NAME.fullmatch(path.name)]
            for path in sorted(files, key=lambda path: path.lstat().st_mtime)[:-_MOST_FILES]:
                path.unlink(missing_ok=True)

    def remove(self) -> None:
        """Removes the file, if there is one. Logs a failure."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            _logger.warning("cannot remove what was stored of what the server speaks: %s", error)
