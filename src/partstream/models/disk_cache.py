"""Keeps answers in a file between starts; a missing or broken file only costs time."""

from __future__ import annotations

import hmac
import logging
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from partstream.codec.json_codec import dumps, loads
from partstream.models.kept_answers import Answers, answers_from_json, answers_to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.models.kept_answers import CachedAnswer

__all__ = ["DiskCache"]

_logger = logging.getLogger("partstream.models")

_MAX_BYTES: Final = 32 * 1024 * 1024


class DiskCache:
    """The file with the answers of one upstream to one account.

    Attributes:
        path: The path of the file. Its name holds a digest of the URL, keyed with the account: neither can be read
            from it, and the answers to one account are never those to another.

    Args:
        folder: The folder of the file; created by the first :meth:`save`.
        upstream: The base URL, which identifies the upstream.
        account: What the upstream knows the caller by, such as a key; empty where it knows nobody.
    """

    def __init__(self, folder: Path, upstream: str, account: bytes = b"") -> None:
        digest = hmac.digest(account, upstream.encode(), "sha256").hex()[:16]
        self.path = folder / f"models-{digest}.json"

    def load(self) -> Answers:
        """Reads the answers; empty if there is no file. A file that cannot be read is renamed and counts as none."""
        try:
            return answers_from_json(loads(_bounded(self.path)))
        except FileNotFoundError:
            return {}
        except OSError as error:
            _logger.warning("cannot read the stored list of models: %s", error)
            return {}
        except ValueError as error:
            _logger.warning("renamed the stored list of models to %s.corrupt: %s", self.path.name, error)
            with suppress(OSError):  # another process was first, or the folder is read-only: the file is written again
                self.path.replace(self.path.with_name(f"{self.path.name}.corrupt"))
            return {}

    def save(self, answers: Mapping[str, CachedAnswer]) -> None:
        """Writes the answers; a reader sees either the old file or the new one. Logs a failure."""
        try:
            content = dumps(answers_to_json(answers))
        except TypeError as error:  # a server's number such as 1e999, which reads as infinite
            _logger.warning("the list of models is not stored: %s", error)
            return
        if len(content) > _MAX_BYTES:
            _logger.warning(
                "the list of models is not stored: got %d bytes, expected at most %d", len(content), _MAX_BYTES
            )
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._replace(content)
        except OSError as error:
            _logger.warning("cannot store the list of models: %s", error)

    def remove(self) -> None:
        """Removes the file, if there is one. Logs a failure."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            _logger.warning("cannot remove the stored list of models: %s", error)

    def _replace(self, content: bytes) -> None:
        """Replaces the file as a whole, because several processes may write."""
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f"{self.path.name}.", suffix=".new")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(name).replace(self.path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def _bounded(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise ValueError(f"got more than {_MAX_BYTES:,} bytes")
    return content
