"""A lock that lasts as long as its process: whoever gets it knows that the owner is gone, whatever killed it."""

from __future__ import annotations

import os
import sys
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FileLock"]


class FileLock:
    """A lock on a file of its own, which is made if there is none.

    Args:
        path: The path of the file.

    Raises:
        BlockingIOError: Somebody else has the lock, or has just removed the file.
        OSError: The file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            _lock(self._handle)
            _check_still_there(self._handle, path)
        except BaseException:
            self.release()
            raise
        _end_in_children(self)

    def release(self) -> None:
        """Lets go of the lock; the file stays."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def remove(self) -> None:
        """Removes the file and lets go of the lock."""
        with suppress(OSError):  # Windows removes no open file
            self._path.unlink()
        self.release()
        with suppress(OSError):
            self._path.unlink(missing_ok=True)


def _check_still_there(handle: int, path: Path) -> None:
    with suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(handle), path.stat()):
            return
    raise BlockingIOError(0, "another process has removed the lock")


def _end_in_children(lock: FileLock) -> None:
    """Keeps a process that is forked from holding on to the lock after its parent has died."""
    if hasattr(os, "register_at_fork"):
        of_parent = weakref.WeakMethod(lock.release)
        os.register_at_fork(after_in_child=lambda: (release := of_parent()) is not None and release())


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(0, "another process has the lock") from error

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
