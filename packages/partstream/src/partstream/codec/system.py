"""Where the user's system wants files to be, how they are replaced, how SQLite keeps them, who lives; shared memory;
modules that are loaded late; uncaught errors.

The only module of this room that touches the system. It creates and opens no folder by itself.
"""

from __future__ import annotations
import errno
import gc
import os
import stat
import sys
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    import sqlite3


# ---- The user's folders for files of programs ----
# XDG Base Directory Specification 0.8; Apple, "File System Programming Guide"; Microsoft, "Known Folders".


class UserFolder(NamedTuple):
    """One of Partstream's folders, on each system.

    Attributes:
        variable: The environment variable that names another folder.
        mac: The parent folder on macOS, relative to the user's home.
        xdg_variable: The variable of the XDG specification, for all systems except Windows and macOS.
        xdg: The parent folder on those systems without that variable, relative to the user's home.
    """

    variable: str
    mac: str
    xdg_variable: str
    xdg: str

    def path(self) -> Path:
        """The folder in the current environment."""
        if named := os.environ.get(self.variable):
            return Path(named)
        if sys.platform == "win32":
            base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            base = Path.home() / self.mac
        else:
            base = Path(os.environ.get(self.xdg_variable) or Path.home() / self.xdg)
        return base / "partstream"


DATA: Final = UserFolder("PARTSTREAM_DATA", "Library/Application Support", "XDG_DATA_HOME", ".local/share")
"""Data that programs keep."""
CACHE: Final = UserFolder("PARTSTREAM_CACHE", "Library/Caches", "XDG_CACHE_HOME", ".cache")
"""Files that can be fetched again."""


class LazyModule:
    """A module that is loaded when something of it is first used: most programs never need it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        """What the module has of this name."""
        return getattr(import_module(self._name), name)


def report_uncaught(error: Exception) -> None:
    """Reports an error that no caller catches, as Python does where one ends a program."""
    sys.excepthook(type(error), error, error.__traceback__)


# ---- Files that several processes use at the same time ----


def make_private_folder(path: Path) -> None:
    """Makes a folder, and those above it that are missing, each for the user alone; one that exists stays as it is.

    Raises:
        OSError: The system refuses.
    """
    if not path.parent.exists():
        make_private_folder(path.parent)  # `mkdir` itself would leave these open, as far as the umask allows
    path.mkdir(mode=0o700, exist_ok=True)


def replace_file(path: Path, data: bytes, ready: Callable[[Path], object] = lambda _written: None) -> None:
    """Writes a file as a whole, readable for the user alone: others see the old one or the new one.

    Args:
        ready: Is given the new file before it takes the place of the old one, which stays if this raises.

    Raises:
        OSError: The system refuses, or a device, a pipe or a socket is there: root would replace a `/dev/null` too.
    """
    import tempfile  # noqa: PLC0415 - most callers want a folder and write nothing

    with suppress(FileNotFoundError):
        if stat.S_IFMT(path.lstat().st_mode) not in {stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR}:
            raise FileExistsError(errno.EEXIST, "there is a device, a pipe or a socket, and no file", str(path))
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")  # mode 0600
    written = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        ready(written)
        written.replace(path)
    except BaseException:  # also Ctrl-C must leave no file
        written.unlink(missing_ok=True)
        raise


_WRITER_SECONDS: Final = 10.0
_PIECE: Final = 64 * 1024


def read_given(path: Path, most_bytes: int | None = None) -> bytes:
    """What a file holds that a person has named, or its beginning; also a pipe, such as `<(...)` of a shell.

    Raises:
        OSError: It cannot be read, or is a pipe that no program writes into for ten seconds.
    """
    # The pipe of a shell leads to no path: its other end was open before this program began.
    if not path.is_fifo() or not Path(os.path.realpath(path)).is_fifo():
        with path.open("rb") as file:
            if most_bytes is None:
                return file.read()
            pieces = iter(lambda: file.read(_PIECE), b"")  # no room for all that may come, which mostly is little
            return b"".join(islice(pieces, most_bytes // _PIECE + 1))[:most_bytes]
    with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb", buffering=0) as pipe:
        last = time.monotonic() + _WRITER_SECONDS
        while (piece := pipe.read(1)) == b"":  # None where a program has it open, and has written nothing yet
            if time.monotonic() > last:
                raise TimeoutError(errno.ETIMEDOUT, "it is a pipe that no program writes into")
            time.sleep(0.02)
        os.set_blocking(pipe.fileno(), True)
        data = bytearray(piece or b"")
        while (most_bytes is None or len(data) < most_bytes) and (piece := pipe.read(_PIECE)):
            data += piece
    return bytes(data if most_bytes is None else data[:most_bytes])


def read_in_shared_folder(path: Path, most_bytes: int) -> bytes | None:
    """What a file holds in a folder where others may have put anything; never waits.

    Returns:
        None for a file that is not there or too large, for what is no plain file, such as a pipe, and for a file or a
        folder of another user, who could replace it at any time.
    """
    ours = {os.getuid(), 0} if sys.platform != "win32" else set()
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or (ours and not {found.st_uid, path.parent.stat().st_uid} <= ours):
                return None
            data = file.read(most_bytes + 1)
    except OSError:
        return None
    return data if len(data) <= most_bytes else None


def give_memory_back() -> None:
    """Gives what large requests took back to the system; takes some milliseconds.

    A request and its answer refer to each other, so only Python's collector frees them. Then glibc keeps what was freed
    for each thread that took it, and raises the size from which a block is a mapping of its own: a process would stay
    as large as at its largest moment. Both are undone here; a system with another C library gives back by itself.
    """
    import ctypes  # noqa: PLC0415 - large requests alone need it

    gc.collect()
    with suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(_MAPPED_FROM, 256 * 1024)
        library.malloc_trim(0)


_MAPPED_FROM: Final = -3
"""`M_MMAP_THRESHOLD` of glibc's malloc.h."""

# ---- SQLite files that several processes use at the same time ----

_PAUSE: Final = 0.01


def open_private_database(path: Path, seconds: float) -> sqlite3.Connection:
    """Opens a file of SQLite, which is made for the user alone where there is none; so is its folder.

    Args:
        path: The file. SQLite itself would let everybody read a new one, and gives those beside it the same rights.
        seconds: How long to wait for another process that writes.

    Returns:
        A connection for any thread, which begins no transaction by itself and trusts no schema.

    Raises:
        OSError: The system refuses the file or its folder.
        sqlite3.Error: SQLite cannot open it.
    """
    import sqlite3  # noqa: PLC0415 - most callers want a folder and no database

    # For each None and each truth value without one, `sqlite3` looks for an adapter in vain: an error each time.
    sqlite3.register_adapter(type(None), {}.get)  # type: ignore[arg-type]
    sqlite3.register_adapter(bool, int)
    make_private_folder(path.parent)
    # An existing file is not opened here: closing it would release this process's locks on it
    # (sqlite.org/howtocorrupt.html, 2.2).
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    address = f"{path.absolute().as_uri()}?mode=rw"
    connection = sqlite3.connect(address, uri=True, timeout=seconds, isolation_level=None, check_same_thread=False)
    with closed_on_error(connection):
        connection.execute("PRAGMA trusted_schema = OFF")
        try:
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 0")
        except UnicodeDecodeError as error:  # SQLite's text about a damaged schema has the bytes of it
            broken = sqlite3.DatabaseError("malformed database schema")
            broken.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise broken from error
    return connection


def close_to_others(path: Path) -> None:
    """Takes the rights of others from a database of our own that exists, such as a copy, and from the files beside it,
    which have the same content."""
    for name in (path, *(Path(f"{path}{suffix}") for suffix in ("-wal", "-shm", "-journal"))):
        with suppress(OSError):  # there is none, or it is another user's
            mode = name.stat().st_mode
            if mode & 0o077:
                name.chmod(mode & 0o700)


def file_identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from any that takes its place under the same name; None where there is none."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


@contextmanager
def closed_on_error(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Closes a connection if the block that prepares it raises, because no caller gets it then."""
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Begins as a writer, so that no other process makes it fail in the middle; takes everything back on an error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:  # SQLite itself has taken it back after some errors, not after others
            connection.execute("ROLLBACK")


def use_write_ahead_log(connection: sqlite3.Connection, seconds: float) -> None:
    """Lets others read during a write, if the file system allows; otherwise SQLite's old journal is used.

    Args:
        seconds: How long to wait for another process that changes the mode: SQLite does not wait for it, whatever the
            timeout of the connection.

    Raises:
        sqlite3.Error: The mode cannot be changed.
    """
    import sqlite3  # noqa: PLC0415 - most callers want a folder and no database

    ends = time.monotonic() + seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > ends:
                raise
            time.sleep(_PAUSE)
        else:
            return


# ---- Who of a machine is alive ----

_LOCK: Final = ".lock"


class LifeLocks:
    """A file for each process of this machine that shares something, whose lock lasts as long as the process, whatever
    kills it; so a file whose lock is free belongs to no process that lives.

    Args:
        folder: Has the files of all of them, for the user alone.
        name: The own name, which no other has.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._own: FileLock | None = None

    def begin(self) -> None:
        """Takes the own lock.

        Raises:
            OSError: There can be no such file.
        """
        make_private_folder(self._folder)
        if self._folder.is_symlink():
            raise NotADirectoryError(0, "it is a link")
        self._folder.chmod(0o700)
        self._own = FileLock(self._folder / f"{self._name}{_LOCK}")

    def end(self, *, is_settled: bool) -> None:
        """Lets go of it; where not everything is settled, the file stays for others to find."""
        own, self._own = self._own, None
        if own is not None:
            (own.remove if is_settled else own.release)()

    def bury(self, settle: Callable[[str], object]) -> None:
        """Settles for each process that is gone, by its name, and removes its file; one that fails is found again."""
        if self._own is None:
            return
        for path in sorted(self._folder.glob(f"*{_LOCK}")):
            if path.stem == self._name:
                continue
            try:
                lock = FileLock(path)
            except OSError:  # it lives
                continue
            try:
                settle(path.stem)
            except BaseException:
                lock.release()
                raise
            lock.remove()


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


# ---- Memory that several owners share ----

Value = TypeVar("Value")


class SharedRoom(Generic[Value]):
    """Values of several owners within one bound. Room is made by the owner who has the most, with his oldest value: who
    has no more than an equal share loses nothing, whatever others keep.

    Args:
        most: The most that all values may have together, in the unit of their sizes.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[Hashable, OrderedDict[Hashable, tuple[Value, int]]] = {}
        self._sizes: dict[Hashable, int] = {}

    def keep(self, owner: Hashable, key: Hashable, value: Value, size: int = 1) -> None:
        """Keeps a value in place of an older one with its key; one that is larger than the room is not kept."""
        self.forget(owner, key)
        if size > self._most:
            return
        self._kept.setdefault(owner, OrderedDict())[key] = value, size
        self._sizes[owner] = self._sizes.get(owner, 0) + size
        while sum(self._sizes.values()) > self._most:
            largest = max(self._sizes, key=lambda one: (self._sizes[one], one == owner))
            self.forget(largest, next(iter(self._kept[largest])))

    def find(self, owner: Hashable, key: Hashable) -> Value | None:
        """A value of an owner, or None; it counts as new again."""
        values = self._kept.get(owner)
        if values is None or key not in values:
            return None
        values.move_to_end(key)
        return values[key][0]

    def forget(self, owner: Hashable, key: Hashable) -> None:
        """Forgets a value, if it is kept."""
        values = self._kept.get(owner)
        if values is not None and key in values:
            self._sizes[owner] -= values.pop(key)[1]
            if not values:
                del self._kept[owner], self._sizes[owner]

    def __len__(self) -> int:
        return sum(map(len, self._kept.values()))
