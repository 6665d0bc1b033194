"""Keeps the responses that clients ask to store: in SQLite, by threads of their own, for a bounded time and size.

A row is written once and never changed; the responses of a conversation are a chain of rows. A row belongs to the
caller whose request it answers, and no other caller finds it. Several processes on one machine may share a file. Each
public method is a job of a thread, a writer or one of two readers: readers of a file in WAL mode do not wait for the
one writer. Old rows go at the start and with each new one.

Owners share the file and the threads, and each has a share. Of a file that is too large, the owner who has the most
loses his oldest tenth, until it is small enough. The writer and the readers have one job of an owner each; his others
wait outside, so that one who reads the longest chains holds up no other.
"""

from __future__ import annotations
import asyncio
import logging
import sqlite3
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, Final, TypeVar

from partstream.codec import limits
from partstream.codec.checks import storable_text
from partstream.codec.json_codec import dumps, loads
from partstream.codec.system import (
    close_to_others,
    closed_on_error,
    open_private_database,
    transaction,
    use_write_ahead_log,
)
from partstream.errors import CallerError
from partstream.protocols.serve import StoredAnswer
from partstream.server.requests import ChainTooLargeError, StoreFailedError

T = TypeVar("T")

_logger = logging.getLogger("partstream.serving")

KEPT_DAYS: Final = 30.0
"""As OpenAI keeps responses."""
LARGEST_STORE: Final = 1024**3
_MOST_WAITING: Final = 1024
"""Jobs of one owner."""
_LONGEST_CHAIN: Final = 10_000
LARGEST_CHAIN: Final = 64 * 1024 * 1024
"""In bytes of JSON: more than any model takes."""
_TIDIED: Final = 90
"""Percent of the limit that are left once the oldest answers go: to find whose they are takes a look at all."""
_DAY: Final = 86_400.0
_BUSY_SECONDS: Final = 5.0
_FORM: Final = 1


class StoreUnusableError(CallerError):
    """The file of stored answers cannot be used.

    Attributes:
        path: The file.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: got {reason}, expected a file for stored answers that can be written")
        self.path = path


_TABLES: Final = """
CREATE TABLE IF NOT EXISTS answers (
    owner TEXT NOT NULL, id TEXT NOT NULL, previous_id TEXT, expires_at REAL NOT NULL,
    request BLOB NOT NULL, response BLOB NOT NULL, frames BLOB,
    PRIMARY KEY (owner, id)
);
CREATE INDEX IF NOT EXISTS answers_by_end ON answers (expires_at);
CREATE TABLE IF NOT EXISTS items (
    owner TEXT NOT NULL, id TEXT NOT NULL, answer_id TEXT NOT NULL,
    PRIMARY KEY (owner, id, answer_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS items_by_answer ON items (owner, answer_id);
CREATE TRIGGER IF NOT EXISTS items_go AFTER DELETE ON answers BEGIN
    DELETE FROM items WHERE owner = old.owner AND answer_id = old.id;
END;
"""
_FOREIGN: Final = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name NOT IN ('answers', 'items')"

_CHAIN: Final = """
WITH RECURSIVE chain (id, previous_id, place) AS (
    SELECT id, previous_id, 0 FROM answers WHERE owner = :owner AND id = :id AND expires_at > :now
    UNION ALL
    SELECT one.id, one.previous_id, chain.place + 1 FROM answers AS one JOIN chain ON one.id = chain.previous_id
    WHERE one.owner = :owner AND one.expires_at > :now AND chain.place < :most
)
"""
_READ_CHAIN: Final = """
SELECT one.id, one.previous_id, one.request, one.response FROM chain
JOIN answers AS one ON one.owner = :owner AND one.id = chain.id ORDER BY chain.place DESC
"""
_READ_WITH_ITEM: Final = """
SELECT one.id, one.previous_id, one.request, one.response FROM items
JOIN answers AS one ON one.owner = items.owner AND one.id = items.answer_id
WHERE items.owner = ? AND items.id = ? AND one.expires_at > ? LIMIT 1
"""
_LAST_AS_LONG: Final = """
UPDATE answers SET expires_at = :end WHERE owner = :owner AND expires_at < :end AND id IN (SELECT id FROM chain)
"""
_LARGEST_OWNER: Final = """
SELECT owner FROM (
    SELECT owner, length(request) + length(response) + ifnull(length(frames), 0) AS size FROM answers
    UNION ALL SELECT owner, 2 * (length(owner) + length(id) + length(answer_id)) FROM items
) GROUP BY owner ORDER BY sum(size) DESC LIMIT 1
"""
_DELETE_TENTH: Final = """
DELETE FROM answers WHERE rowid IN (
    SELECT rowid FROM answers WHERE owner = :owner
    ORDER BY expires_at LIMIT (SELECT count(*) / 10 + 1 FROM answers WHERE owner = :owner)
)
"""


class SQLiteAnswers:
    """Responses in a file of SQLite. Any method may raise :class:`~partstream.server.requests.StoreFailedError`.

    Args:
        path: The file; made if there is none, readable for its user alone.
        days: How long an answer is kept after the last one that continues it.
        most_bytes: The size above which the oldest answers of the owner who has the most are deleted.
        chain_bytes: The most bytes of JSON that one answer and those that it continues may have.

    Raises:
        StoreUnusableError: The file cannot be used.
    """

    def __init__(
        self,
        path: Path,
        days: float = KEPT_DAYS,
        most_bytes: int = LARGEST_STORE,
        now: Callable[[], float] = time.time,
        chain_bytes: int = LARGEST_CHAIN,
    ) -> None:
        self._path = path
        self._seconds = days * _DAY
        self._most_bytes = most_bytes
        self._now = now
        self._chain_bytes = chain_bytes
        self._turns: dict[tuple[ThreadPoolExecutor, str], asyncio.Lock] = {}
        self._waiting: Counter[tuple[ThreadPoolExecutor, str]] = Counter()
        self._connections = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._writer = ThreadPoolExecutor(1, "partstream-answers-writer")
        self._reader = ThreadPoolExecutor(2, "partstream-answers-reader")
        try:
            with closing(self._connect()) as connection:
                form = connection.execute("PRAGMA user_version").fetchone()[0]
                if form not in (0, _FORM):
                    raise sqlite3.DatabaseError(f"answers in form {form} of another version")
                if not form and connection.execute(_FOREIGN).fetchone() is not None:
                    raise sqlite3.DatabaseError("tables of another program")
                close_to_others(self._path)
                use_write_ahead_log(connection, _BUSY_SECONDS)
                connection.executescript(_TABLES)
                connection.execute(f"PRAGMA user_version = {_FORM}")
                with transaction(connection):
                    self._tidy(connection)
        except (OSError, sqlite3.Error) as error:
            raise StoreUnusableError(path, getattr(error, "strerror", None) or str(error)) from error

    def _connect(self) -> sqlite3.Connection:
        with closed_on_error(open_private_database(self._path, _BUSY_SECONDS)) as connection:
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA secure_delete = ON")  # what a client deletes is not left in the file
        return connection

    async def save(self, owner: str, answer: StoredAnswer, item_ids: Collection[str]) -> None:
        """Keeps an answer, and makes those of its chain last as long. An answer with the same id is replaced."""

        def save(connection: sqlite3.Connection) -> None:
            now = self._now()
            end = now + self._seconds
            frames = None if answer.frames is None else zlib.compress(b"".join(answer.frames), 1)
            row = (owner, answer.id, answer.previous_id, end, dumps(answer.request), dumps(answer.response), frames)
            with transaction(connection):
                connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", row)
                items = [(owner, storable_text(one), answer.id) for one in item_ids]
                connection.executemany("INSERT OR REPLACE INTO items VALUES (?, ?, ?)", items)
                if answer.previous_id is not None:
                    values = {"owner": owner, "id": answer.id, "now": now, "end": end, "most": _LONGEST_CHAIN}
                    connection.execute(_CHAIN + _LAST_AS_LONG, values)
                self._tidy(connection)

        await self._run(self._writer, owner, save)

    async def chain(self, owner: str, answer_id: str) -> tuple[StoredAnswer, ...]:
        """An answer after those that it continues, the oldest first, without frames; empty if it is not known.

        Raises:
            ChainTooLargeError: They are too many or too large.
        """

        def chain(connection: sqlite3.Connection) -> tuple[StoredAnswer, ...]:
            values = {"owner": owner, "id": storable_text(answer_id), "now": self._now(), "most": _LONGEST_CHAIN}
            rows = connection.execute(_CHAIN + _READ_CHAIN, values)
            return self._answers(rows, "the answer continues more than {:,} bytes of conversation")

        return await self._run(self._reader, owner, chain)

    async def frames(self, owner: str, answer_id: str) -> tuple[bytes, ...] | None:
        """The frames of an answer; None if none are kept."""

        def frames(connection: sqlite3.Connection) -> tuple[bytes, ...] | None:
            row = connection.execute(
                "SELECT frames FROM answers WHERE owner = ? AND id = ? AND expires_at > ?",
                (owner, storable_text(answer_id), self._now()),
            ).fetchone()
            if row is None or row[0] is None:
                return None
            return tuple(frame + b"\n\n" for frame in zlib.decompress(row[0]).split(b"\n\n")[:-1])

        return await self._run(self._reader, owner, frames)

    async def answers_with(self, owner: str, item_ids: Collection[str]) -> tuple[StoredAnswer, ...]:
        """The answers that have one of the items, without frames."""

        def find(connection: sqlite3.Connection) -> tuple[StoredAnswer, ...]:
            if len(item_ids) > _LONGEST_CHAIN:
                said = f"the input names {len(item_ids):,} items, expected at most {_LONGEST_CHAIN:,}"
                raise ChainTooLargeError(said, "input")
            keys = ((owner, storable_text(item_id), self._now()) for item_id in item_ids)
            rows = (row for key in keys for row in connection.execute(_READ_WITH_ITEM, key))
            return self._answers(rows, "the input names items of more than {:,} bytes", "input")

        return await self._run(self._reader, owner, find)

    async def delete(self, owner: str, answer_id: str) -> bool:
        """Deletes an answer; whether there was one."""

        def delete(connection: sqlite3.Connection) -> bool:
            key = (owner, storable_text(answer_id))
            with transaction(connection):
                return connection.execute("DELETE FROM answers WHERE owner = ? AND id = ?", key).rowcount > 0

        return await self._run(self._writer, owner, delete)

    async def close(self) -> None:
        """Waits until everything is written; nothing can be kept or found after it."""
        for executor in (self._writer, self._reader):
            await asyncio.to_thread(executor.shutdown)
        while self._opened:
            self._opened.pop().close()

    async def _run(self, executor: ThreadPoolExecutor, owner: str, job: Callable[[sqlite3.Connection], T]) -> T:
        """The result of a job of an owner, once those before it have ended."""
        key = executor, owner
        if self._waiting[key] >= _MOST_WAITING:
            raise StoreFailedError(f"more than {_MOST_WAITING:,} answers are to be kept or found at once")
        self._waiting[key] += 1
        try:
            async with self._turns.setdefault(key, asyncio.Lock()):
                return await asyncio.wrap_future(executor.submit(lambda: job(self._connection())))
        except sqlite3.Error as error:
            raise StoreFailedError(f"{self._path}: {error}") from error
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key], self._turns[key]

    def _answers(self, rows: Iterable[tuple[Any, ...]], said: str, *param: str) -> tuple[StoredAnswer, ...]:
        """The answers of some rows, each once; `said` is why a request is refused that refers to too much."""
        room, objects = self._chain_bytes, limits.MOST_VALUES
        found: dict[str, StoredAnswer] = {}
        for answer_id, previous_id, *documents in rows:
            if answer_id in found:
                continue
            for document in documents:
                room -= len(document)
                objects -= document.count(b"{") + document.count(b"[")
            if room < 0 or objects < 0 or len(found) >= _LONGEST_CHAIN:
                raise ChainTooLargeError(said.format(self._chain_bytes), *param)
            found[answer_id] = StoredAnswer(answer_id, previous_id, *map(_loaded, documents))
        return tuple(found.values())

    def _connection(self) -> sqlite3.Connection:
        """The connection of the running thread."""
        connection: sqlite3.Connection | None = getattr(self._connections, "one", None)
        if connection is None:
            connection = self._connections.one = self._connect()
            self._opened.append(connection)
        return connection

    def _tidy(self, connection: sqlite3.Connection) -> None:
        """Deletes what is over, and while the file is too large the oldest tenth of the owner who has the most. The log
        names what a person may miss: all at once, as by a clock that is ahead, and what had not lasted its time."""
        over = connection.execute("DELETE FROM answers WHERE expires_at <= ?", (self._now(),)).rowcount
        if over > 1 and len(connection.execute("SELECT 1 FROM answers LIMIT 2").fetchall()) < 2:
            said = "%s: all %d answers are over by the clock of this machine (%s), and deleted"
            _logger.warning(said, self._path, over, time.strftime("%Y-%m-%d", time.gmtime(self._now())))
        most, early = self._most_bytes, 0
        while True:
            names = ("page_count", "freelist_count", "page_size")
            pages, free, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
            if (pages - free) * size <= most:
                break
            most = self._most_bytes * _TIDIED // 100
            owner = connection.execute(_LARGEST_OWNER).fetchone()
            if owner is None or not (gone := connection.execute(_DELETE_TENTH, {"owner": owner[0]}).rowcount):
                break
            early += gone
        if early:
            said = "%s has more than %s bytes: the oldest %d answers of who has the most are deleted"
            _logger.warning(said, self._path, f"{self._most_bytes:,}", early)


def _loaded(document: bytes) -> Any:
    return limits.loads_in_pieces(document) if len(document) > limits.LARGE_BYTES else loads(document)
