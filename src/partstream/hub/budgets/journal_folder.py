"""The journals of all workers of a machine: locked while the worker lives, adopted by another when it is gone.

A journal has a file for its lock beside it. The lock is taken before the journal is made and removed after it, so a
journal whose lock is free belongs to nobody.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from partstream.hub.amounts import JournalError, UnreadableRowError
from partstream.hub.budgets.file_lock import FileLock
from partstream.hub.budgets.journal import Journal
from partstream.hub.budgets.operations import uploaded

if TYPE_CHECKING:
    from pathlib import Path

    from partstream.hub.store.store import HubStore

__all__ = ["JournalAdopter", "JournalFolder", "OwnedJournal"]

_logger = logging.getLogger("partstream.hub")

_JOURNAL: Final = ".journal"
_LOCK: Final = ".lock"
_BROKEN: Final = ".broken"


class OwnedJournal:
    """A journal with its lock.

    Args:
        path: The path of the journal.
        lock: The lock.
        worker: The name of the worker, for a new journal.

    Raises:
        JournalError: The file cannot be opened, or it is no journal; the lock is free again.
    """

    def __init__(self, path: Path, lock: FileLock, worker: str = "") -> None:
        self._path = path
        self._lock = lock
        try:
            self.journal = Journal(path, worker)
        except BaseException:
            lock.release()
            raise

    def close(self) -> None:
        """Leaves the journal to whoever adopts it."""
        self.journal.close()
        self._lock.release()

    def put_aside(self) -> None:
        """Keeps the file under another name, for people to look at; nobody adopts it again."""
        self.journal.close()
        with suppress(OSError):
            self._path.replace(self._path.with_suffix(_BROKEN))
        self._lock.remove()

    def remove(self) -> None:
        """Removes the journal, of which nothing is left to do."""
        self.journal.close()
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        self._lock.remove()


class JournalFolder:
    """A folder of journals, for the user alone.

    Args:
        path: The folder; it is made when the first journal is begun.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def begin(self, worker: str) -> OwnedJournal:
        """Begins the journal of a worker.

        Raises:
            JournalError: The folder cannot be used, or there is a journal of this name.
        """
        try:
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._path.is_symlink():
                raise NotADirectoryError(0, "a link stands in its place")
            self._path.chmod(0o700)
            lock = FileLock(self._path / f"{worker}{_LOCK}")
        except OSError as error:
            raise JournalError(str(self._path), error.strerror or str(error)) from error
        path = self._path / f"{worker}{_JOURNAL}"
        if path.exists():
            lock.release()
            raise JournalError(str(path), "another worker of this name has left it")
        return OwnedJournal(path, lock, worker)

    def abandoned(self, ignored: set[str]) -> OwnedJournal | None:
        """A journal whose worker is gone, with its lock; None if there is none.

        Args:
            ignored: The names of files that are passed over; one that turns out to be no journal is put aside.
        """
        try:
            found = sorted(self._path.glob(f"*{_JOURNAL}"))
        except OSError as error:
            _logger.warning("cannot look for journals of other workers: %s", error)
            return None
        for path in found:
            if path.name in ignored:
                continue
            try:
                lock = FileLock(path.with_suffix(_LOCK))
            except OSError:  # its worker lives
                continue
            if not path.exists():  # another worker has adopted and removed it
                lock.remove()
                continue
            try:
                return OwnedJournal(path, lock)
            except JournalError as error:
                _logger.warning("%s; it is put aside, and what its worker held counts as spent", error)
                with suppress(OSError):
                    path.replace(path.with_suffix(_BROKEN))
        return None


class JournalAdopter:
    """Settles the journals of workers that are gone, a batch at a time.

    Answers that had not ended are charged in full, as estimated. Then the rest of the worker's leases is free again,
    unless the machine has crashed: the journal may then lack answers, and what is left counts as spent.

    Args:
        folder: The journals.

    Attributes:
        hub: Which database the windows of this worker belong to; nothing is adopted before it is known.
    """

    def __init__(self, folder: JournalFolder) -> None:
        self.hub = ""
        self._folder = folder
        self._ignored: set[str] = set()
        self._adopted: OwnedJournal | None = None

    def adopt(self, store: HubStore, most: int) -> bool:
        """Settles a batch; returns whether there is more to do at once.

        Raises:
            StoreUnreachableError: The database cannot be reached; the journal stays as it is.
            JournalError: The journal cannot be read or written.
        """
        if not self.hub:
            return False
        if self._adopted is None:
            self._adopted = self._of_this_hub()
        if self._adopted is None:
            return False
        journal = self._adopted.journal
        try:
            if uploaded(store, journal, journal.worker, most, with_running=True).rows:
                return True
        except UnreadableRowError as error:
            _logger.warning("%s; it is put aside, and what its worker held counts as spent", error)
            store.forfeit(journal.worker)
            self._adopted.put_aside()
            self._adopted = None
            return True
        if journal.is_whole:
            store.leave(journal.worker)
        else:
            store.forfeit(journal.worker)
        self._adopted.remove()
        self._adopted = None
        return True

    def _of_this_hub(self) -> OwnedJournal | None:
        while (found := self._folder.abandoned(self._ignored)) is not None:
            if found.journal.hub in {"", self.hub}:
                return found
            name = f"{found.journal.worker}{_JOURNAL}"
            _logger.warning("the journal %s belongs to another database, and is left alone", name)
            self._ignored.add(name)
            found.close()
        return None

    def close(self) -> None:
        """Leaves what is not settled to others."""
        if self._adopted is not None:
            self._adopted.close()
            self._adopted = None
