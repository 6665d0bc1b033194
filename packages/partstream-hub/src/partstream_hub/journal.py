"""The journal of one worker: a local SQLite file of the answers that run, and of those whose rows are not uploaded yet.

An answer is entered before its provider is asked, with the row that is charged if nothing more becomes known: all that
is reserved, as an estimate. Its end replaces that row by the real one, and the upload removes it. So whatever kills the
worker, the journal holds the row of each answer that the database does not have.

A commit is in the file when the call returns, which survives the death of the process. It is not forced to the disk,
which would stop the event loop: after a crash of the machine the last moments may be missing, and `boot` tells the
worker that adopts the journal that it may be so.

A journal has a file for its lock beside it. The lock lasts as long as its process, whatever kills it; it is taken
before the journal is made and removed after it. So a journal whose lock is free belongs to no worker that lives, and
another worker of the machine adopts it.

An operation is what a worker asks of the database, one thing at a time: a value that a thread carries out. The
decisions are made in :class:`partstream_hub.worker.BudgetManager`, without I/O; the driver carries an operation out and
brings the result, a worker in its thread, a simulation in its virtual time.
"""

from __future__ import annotations
import logging
import os
import sqlite3
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias, TypeVar

from partstream.codec.json_codec import dumps, loads
from partstream.codec.system import closed_on_error
from partstream_hub.amounts import JournalError, UnreadableRowError
from partstream_hub.store.values import AnswerContent, Charge, LedgerRow

if TYPE_CHECKING:
    from partstream_hub.directory import BudgetRule, Directory
    from partstream_hub.store.store import HubStore
    from partstream_hub.store.values import GivenBack, HeartbeatResult, LeaseAsk, LeaseGrant, Window

# ---- The journal ----

Result = TypeVar("Result")

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS about (worker TEXT NOT NULL, boot TEXT NOT NULL, hub TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS answers (
    number INTEGER PRIMARY KEY, answer_id TEXT NOT NULL UNIQUE, has_ended INTEGER NOT NULL, row TEXT NOT NULL,
    content TEXT
);
CREATE INDEX IF NOT EXISTS ended ON answers (number) WHERE has_ended;
"""
_BUSY: Final = 5.0
"""The seconds that the thread and the event loop wait for each other, who hold the file for a millisecond."""
_MOST_LOG: Final = 4 * 1024 * 1024
"""The bytes of the write-ahead log from which on it is moved into the file."""
_MOST_CONTENT: Final = 8 * 1024 * 1024
"""The bytes of requests and answers after which an upload takes no further row."""
_FIELDS: Final = {kind: tuple(field.name for field in fields(kind)) for kind in (LedgerRow, AnswerContent)}
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


def boot_of_machine() -> str:
    """What differs after the machine has started again; "" where the system does not say."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return ""


class JournalRow(NamedTuple):
    """An answer as the journal has it: its row for the ledger, and what is kept of it with the length of that."""

    row: LedgerRow
    content: AnswerContent | None
    content_bytes: int


class Journal:
    """The journal of one worker. The event loop writes, and the thread of the database uploads.

    Args:
        path: The file, which is made if there is none; None keeps the journal in memory, for simulations.
        worker: The name of the worker, for a new file.

    Attributes:
        hub: Which database its numbers of windows belong to; "" as long as none has been reached.
        is_whole: Whether nothing can be missing in it: the machine has not crashed since it was begun.
        answers: How many answers it holds.
        content_bytes: The length of the requests and answers that are kept with them.

    Raises:
        JournalError: The file cannot be opened, or it is no journal.
    """

    def __init__(self, path: Path | None, worker: str = "") -> None:
        self._path = path
        self._loop_side = self._opened()
        with closed_on_error(self._loop_side):
            self._thread_side = self._loop_side if path is None else self._opened()
            with closed_on_error(self._thread_side):
                about, counts = self._tried(lambda: self._prepared(worker))
        self.worker, boot, self.hub = about
        self.answers, self.ended, self.content_bytes = counts
        self.is_whole = boot == boot_of_machine()

    def _prepared(self, worker: str) -> tuple[tuple[str, str, str], tuple[int, int, int]]:
        self._loop_side.executescript(_SCHEMA)
        about = self._loop_side.execute("SELECT worker, boot, hub FROM about").fetchone()
        if about is None:
            about = (worker, boot_of_machine(), "")
            self._loop_side.execute("INSERT INTO about VALUES (?, ?, ?)", about)
        counts = self._loop_side.execute(
            "SELECT count(*), coalesce(sum(has_ended), 0), coalesce(sum(length(content)), 0) FROM answers"
        ).fetchone()
        return about, counts

    def belongs_to(self, hub: str) -> None:
        """Notes which database the numbers of windows belong to.

        Raises:
            JournalError: The file cannot be written.
        """
        self._executed("UPDATE about SET hub = ?", (hub,))
        self.hub = hub

    def admitted(self, row: LedgerRow) -> None:
        """Enters an answer that begins, with the row that is charged if nothing more becomes known.

        Raises:
            JournalError: The disk is full, or the file cannot be written.
        """
        statement = "INSERT INTO answers (answer_id, has_ended, row) VALUES (?, 0, ?)"
        self._executed(statement, (row.answer_id, _text(row)))
        self.answers += 1

    def changed(self, row: LedgerRow) -> None:
        """Replaces the row of an answer that runs: more is reserved for it.

        Raises:
            JournalError: As of :meth:`admitted`.
        """
        self._replace(row, has_ended=False)

    def completed(self, row: LedgerRow, content: AnswerContent | None = None) -> None:
        """Replaces the row of an answer by that of its end.

        Raises:
            JournalError: As of :meth:`admitted`; the answer is still there as one that runs.
        """
        text = None if content is None else _text(content)
        self._replace(row, has_ended=True, content=text)
        self.ended += 1
        self.content_bytes += len(text or "")

    def dropped(self, answer_id: str) -> None:
        """Removes an answer for which no provider was asked.

        Raises:
            JournalError: As of :meth:`admitted`.
        """
        self._executed("DELETE FROM answers WHERE answer_id = ?", (answer_id,))
        self.answers -= 1

    def _replace(self, row: LedgerRow, *, has_ended: bool, content: str | None = None) -> None:
        statement = "UPDATE answers SET has_ended = ?, row = ?, content = ? WHERE answer_id = ?"
        self._executed(statement, (has_ended, _text(row), content, row.answer_id))

    def _executed(self, statement: str, values: tuple[object, ...]) -> None:
        self._tried(lambda: self._loop_side.execute(statement, values))

    # ---- in the thread of the database ----

    def rows(self, most: int, *, with_running: bool = False) -> list[JournalRow]:
        """The oldest rows that can be uploaded; fewer where long requests and answers are kept with them.

        Args:
            most: The most rows.
            with_running: Whether answers count that have not ended, because their worker is gone.

        Raises:
            JournalError: The file cannot be read.
            UnreadableRowError: It can, but not a row in it.
        """
        which = "" if with_running else "WHERE has_ended "
        question = f"SELECT row, content FROM answers {which}ORDER BY number"  # noqa: S608 - words of our own

        def read() -> list[JournalRow]:
            found: list[JournalRow] = []
            length = 0
            with closing(self._thread_side.execute(question)) as answers:
                for row, content in answers:
                    values = loads(row)
                    values["charges"] = tuple(Charge(*charge) for charge in values["charges"])
                    kept = None if content is None else AnswerContent(**loads(content))
                    found.append(JournalRow(LedgerRow(**values), kept, len(content or "")))
                    length += found[-1].content_bytes
                    if len(found) == most or length > _MOST_CONTENT:
                        break
            return found

        try:
            return self._tried(read)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UnreadableRowError(str(self._path), f"a row that cannot be read ({type(error).__name__})") from error

    def remove(self, answer_ids: Collection[str]) -> None:
        """Removes what the database has.

        Raises:
            JournalError: The file cannot be written; the rows stay and are uploaded again, which changes nothing.
        """

        def remove() -> None:
            self._thread_side.execute("BEGIN IMMEDIATE")
            try:
                rows = [(answer_id,) for answer_id in answer_ids]
                self._thread_side.executemany("DELETE FROM answers WHERE answer_id = ?", rows)
            except BaseException:
                self._thread_side.execute("ROLLBACK")
                raise
            self._thread_side.execute("COMMIT")

        self._tried(remove)

    def removed(self, count: int, content_bytes: int) -> None:
        """Counts rows that were removed; called by the event loop, which owns the counts."""
        self.answers -= count
        self.ended -= count
        self.content_bytes -= content_bytes

    def tidy(self) -> None:
        """Moves the write-ahead log into the file once it is long; the event loop never waits for that.

        Raises:
            JournalError: The disk refuses.
        """
        if self._path is None:
            return
        with suppress(OSError):
            if Path(f"{self._path}-wal").stat().st_size < _MOST_LOG:
                return
        self._tried(lambda: self._thread_side.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall())

    def close(self) -> None:
        """Closes the file, which stays."""
        for connection in {self._loop_side, self._thread_side}:
            with suppress(sqlite3.Error):
                connection.close()

    def _opened(self) -> sqlite3.Connection:
        def opened() -> sqlite3.Connection:
            if self._path is None:
                return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            # SQLite must not create the file: it would give everybody the right to read it.
            # An existing file is not opened here: closing it would release this process's locks on it
            # (sqlite.org/howtocorrupt.html, 2.2).
            with suppress(FileExistsError):
                os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            address = f"{self._path.absolute().as_uri()}?mode=rw"
            connection = sqlite3.connect(
                address, timeout=_BUSY, uri=True, isolation_level=None, check_same_thread=False
            )
            with closed_on_error(connection):
                for setting in ("journal_mode = WAL", "synchronous = NORMAL", "wal_autocheckpoint = 0"):
                    connection.execute(f"PRAGMA {setting}")
            return connection

        return self._tried(opened)

    def _tried(self, action: Callable[[], Result]) -> Result:
        try:
            return action()
        except (sqlite3.Error, OSError) as error:
            raise JournalError(str(self._path), str(error)) from error


def _text(value: LedgerRow | AnswerContent) -> str:
    return dumps({name: getattr(value, name) for name in _FIELDS[type(value)]}).decode()


# ---- The lock of a file ----


class FileLock:
    """A lock on a file of its own, which is made if there is none.

    Raises:
        BlockingIOError: Another process has the lock, or has just removed the file.
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
        # Keeps a process that is forked from holding on to the lock after its parent has died.
        if hasattr(os, "register_at_fork"):
            of_parent = weakref.WeakMethod(self.release)
            os.register_at_fork(after_in_child=lambda: (release := of_parent()) is not None and release())

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


# ---- Operations ----


class UploadSource(Protocol):
    """Where ended answers wait to be uploaded: the journal of a worker, or what a simulation has in its place."""

    def rows(self, most: int, *, with_running: bool = False) -> list[JournalRow]:
        """The oldest rows."""
        ...

    def remove(self, answer_ids: Sequence[str]) -> None:
        """Removes rows that the database has."""
        ...


class Adopter(Protocol):
    """Settles what dead workers of this machine have left; a simulation has an adopter without files."""

    def adopt(self, store: HubStore, most: int) -> bool:
        """Settles a batch; returns whether there is more to do at once."""
        ...


class Tools(NamedTuple):
    """With what operations are carried out."""

    store: HubStore
    journal: UploadSource
    adopter: Adopter


class Uploaded(NamedTuple):
    """What an upload has come to: what its rows were charged, and what the worker holds now, by window."""

    rows: int
    content_bytes: int
    charges: Mapping[int, int]
    held: Mapping[int, int]


def uploaded(store: HubStore, source: UploadSource, worker: str, most: int, *, with_running: bool = False) -> Uploaded:
    """Settles a batch of rows and then removes them from the journal.

    If anything breaks off in between, the rows are settled once more, which the database knows by their ids; they are
    counted as uploaded only when they have left the journal, which happens once.

    Raises:
        StoreUnreachableError: The database cannot be reached; the rows stay.
        JournalError: The journal cannot be read or written; the rows stay.
    """
    batch = source.rows(most, with_running=with_running)
    if not batch:
        return Uploaded(0, 0, {}, {})
    contents = [one.content for one in batch if one.content is not None]
    settled = store.settle(worker, [one.row for one in batch], contents)
    source.remove([one.row.answer_id for one in batch])
    charges: Counter[int] = Counter()
    for one in batch:
        for window, amount in one.row.charges:
            charges[window] += amount
    return Uploaded(len(batch), sum(one.content_bytes for one in batch), charges, settled.held)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Shows that the worker is alive, and brings what has changed."""

    worker: str
    windows: tuple[int, ...] = ()

    def run(self, tools: Tools) -> HeartbeatResult:
        """Carries it out."""
        return tools.store.heartbeat(self.worker, self.windows)


@dataclass(frozen=True, slots=True)
class ReadDirectory:
    """Reads the directory, which has another version."""

    known: int | None

    def run(self, tools: Tools) -> Directory | None:
        """Carries it out."""
        return tools.store.directory(self.known)


@dataclass(frozen=True, slots=True)
class OpenWindows:
    """Finds the current windows of rules."""

    rules: tuple[BudgetRule, ...]

    def run(self, tools: Tools) -> dict[str, Window]:
        """Carries it out."""
        return tools.store.open_windows(self.rules)


@dataclass(frozen=True, slots=True)
class TakeLease:
    """Leases more of windows."""

    worker: str
    asks: tuple[LeaseAsk, ...]

    def run(self, tools: Tools) -> dict[int, LeaseGrant]:
        """Carries it out."""
        return tools.store.lease(self.worker, self.asks)


@dataclass(frozen=True, slots=True)
class RequestRecall:
    """Asks all workers for what they do not use; by window, the recall that was seen last."""

    windows: Mapping[int, int]

    def run(self, tools: Tools) -> dict[int, int]:
        """Carries it out."""
        return tools.store.ask_recall(self.windows)


@dataclass(frozen=True, slots=True)
class ReturnLease:
    """Gives back what is not used, and answers recalls."""

    worker: str
    counter: int
    amounts: Mapping[int, int]
    recalls: Mapping[int, int] = field(default_factory=dict)

    def run(self, tools: Tools) -> GivenBack:
        """Carries it out."""
        return tools.store.give_back(self.worker, self.counter, self.amounts, self.recalls)


@dataclass(frozen=True, slots=True)
class Upload:
    """Uploads ended answers."""

    worker: str
    most: int

    def run(self, tools: Tools) -> Uploaded:
        """Carries it out."""
        return uploaded(tools.store, tools.journal, self.worker, self.most)


@dataclass(frozen=True, slots=True)
class ExpireLease:
    """Takes what a silent worker holds as spent."""

    worker: str
    counter: int

    def run(self, tools: Tools) -> dict[int, int]:
        """Carries it out."""
        return tools.store.expire(self.worker, self.counter)


@dataclass(frozen=True, slots=True)
class Adopt:
    """Settles a batch of what dead workers of this machine have left."""

    most: int

    def run(self, tools: Tools) -> bool:
        """Carries it out."""
        return tools.adopter.adopt(tools.store, self.most)


@dataclass(frozen=True, slots=True)
class Leave:
    """Ends the worker: what it holds can be leased by others."""

    worker: str

    def run(self, tools: Tools) -> None:
        """Carries it out."""
        tools.store.leave(self.worker)


_Lease: TypeAlias = OpenWindows | TakeLease | RequestRecall | ReturnLease | ExpireLease
Operation: TypeAlias = Heartbeat | ReadDirectory | _Lease | Upload | Adopt | Leave


# ---- The journals of a machine ----

_logger = logging.getLogger("partstream.hub")

_JOURNAL: Final = ".journal"
_LOCK: Final = ".lock"
_BROKEN: Final = ".broken"


class OwnedJournal:
    """A journal with its lock.

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
        """Leaves the journal to the worker that adopts it."""
        self.journal.close()
        self._lock.release()

    def put_aside(self) -> None:
        """Keeps the file under another name, for people to look at; it is not adopted again."""
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
    """A folder of journals, for the user alone."""

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
        if self.hub and self._adopted is None:
            self._adopted = self._of_this_hub()
        if self._adopted is None:
            return False
        journal = self._adopted.journal
        try:
            if uploaded(store, journal, journal.worker, most, with_running=True).rows:
                return True
        except UnreadableRowError as error:
            _logger.warning("%s; it is put aside, and what its worker held counts as spent", error)
            store.expire(journal.worker)
            self._adopted.put_aside()
            self._adopted = None
            return True
        (store.leave if journal.is_whole else store.expire)(journal.worker)
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
