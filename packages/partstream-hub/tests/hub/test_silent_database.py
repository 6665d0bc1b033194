"""A database that is there and says nothing: every path of a request ends by our own clock, with 503 and a time."""

from __future__ import annotations
import asyncio
import socket
import sqlite3
import threading
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from psycopg import conninfo

from hub.hubs import QUICK, Seller, budget, hub, person
from hub.stores import HubDatabase
from partstream_hub.hub import new_code
from partstream_hub.store.opening import opened_store
from partstream_hub.store.values import JoinCode, StoreUnreachableError, Transaction
from rows import one_test_for
from serving.asgi import WAIT, Call, ask

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

IMPATIENT = replace(QUICK, wait_seconds=0.2, read_seconds=0.3, stop_seconds=1.0)


class QuietedPostgres:
    """A way to a Postgres on which nothing passes while it is quiet; what was said meanwhile passes afterwards."""

    def __init__(self, address: str) -> None:
        said = conninfo.conninfo_to_dict(address)
        self._target = f"{said['host']}/.s.PGSQL.{said.get('port') or 5432}"
        self._passes = threading.Event()
        self._passes.set()
        self._server = socket.create_server(("127.0.0.1", 0))
        self._open = [self._server]
        port = str(self._server.getsockname()[1])
        self.address = f"postgresql://?{urlencode({**said, 'host': '127.0.0.1', 'port': port, 'sslmode': 'disable'})}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                target = socket.socket(socket.AF_UNIX)
                self._open += [client, target]
                target.connect(self._target)
                for one, other in ((client, target), (target, client)):
                    threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65_536):
                self._passes.wait(WAIT)
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)

    @contextmanager
    def quiet(self) -> Iterator[None]:
        self._passes.clear()
        try:
            yield
        finally:
            self._passes.set()

    def close(self) -> None:
        self._passes.set()
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Another process in the middle of a transaction that changes the file, as far as SQLite can tell."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


ASK = {"model": "m", "input": "Hi", "max_output_tokens": 5}
ROUTES: list[tuple[str, str, str, Any, int, int]] = [
    ("an answer with a budget", "ben", "/v1/responses", ASK, 503, 503),
    ("the rest of a budget", "ben", "/hub/v1/me", None, 503, 503),
    ("joining", "", "/hub/v1/join", "a code", 503, 503),
    ("the page of a person", "ben", "/hub/v1/page", None, 200, 503),
    ("the page of an admin", "ana", "/hub/v1/page", None, 200, 503),
    ("an answer without a budget", "ana", "/v1/responses", ASK, 200, 200),
    ("who asks, without a budget", "ana", "/hub/v1/me", None, 200, 200),
    ("the models", "ben", "/v1/models", None, 200, 200),
    ("the frame of the page", "", "/hub", None, 200, 200),
    ("the frame to join", "", "/hub/join", None, 200, 200),
    ("whether it is ready", "", "/readyz", None, 200, 200),
    ("whether it lives", "", "/healthz", None, 200, 200),
]
"""What asks, who, where, with what, and the status: while a file is locked, which can be read, and without a word."""


@one_test_for("kind", ["sqlite", "postgres"])
def test_no_path_waits_longer_for_the_database_than_our_own_limit(kind: str, tmp_path: Path, request):
    quieted = QuietedPostgres(request.getfixturevalue("postgres_address")) if kind == "postgres" else None
    path = str(tmp_path / f"{kind}.sqlite3")
    database = HubDatabase(kind, quieted.address if quieted else path)
    code = new_code()
    (ana, admin), (ben, poor) = person("ana", is_admin=True), person("ben")

    async def asked(app, who: str, where: str, body: Any) -> Call:
        headers = {"": {}, "ana": ana.bearer, "ben": ben.bearer}[who]
        document = {"code": code.secret.reveal()} if body == "a code" else body
        async with asyncio.timeout(WAIT):
            return await ask(app, where, document, method="GET" if body is None else "POST", headers=headers)

    async def run() -> None:
        async with hub(database, [*admin, *poor, budget("ben", 10**15)], Seller(), tmp_path, worker=IMPATIENT) as app:
            database.store().add_join_code(JoinCode(code.digest, "ben", 2.0**33))
            for _, who, where, body, _, _ in ROUTES[:2]:  # connections are there, windows are open
                assert (await asked(app, who, where, body)).status == 200
            await asyncio.sleep(0)
            with quieted.quiet() if quieted else locked(path):
                for name, who, where, body, *statuses in ROUTES:
                    reply = await asked(app, who, where, body)
                    assert reply.status == statuses[kind == "postgres"], name
                    if reply.status == 503:
                        assert 0 < float(reply.headers["retry-after"]) <= 10, name
                        assert "database" in reply.body.decode(), name
            async with asyncio.timeout(WAIT):
                for _, who, where, body, *_ in ROUTES:
                    if body != "a code":  # what was begun may have been carried out
                        while (await asked(app, who, where, body)).status != 200:
                            await asyncio.sleep(0.01)

    asyncio.run(run())
    assert database.store().check() == []
    database.close()
    if quieted:
        quieted.close()


def test_an_event_loop_gives_a_transaction_up_and_says_where_it_may_have_been_committed(
    postgres_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("partstream_hub.store.postgres._COMMIT_SECONDS", 0.1)
    quieted = QuietedPostgres(postgres_address)
    store = opened_store(quieted.address)
    store.migrate()
    assert store.run_at_once(lambda work: work.now()) is not None
    with quieted.quiet():
        assert store.run_at_once(lambda work: work.now()) is None  # nothing can have happened
    with ExitStack() as quiet:

        def until_its_end(work: Transaction) -> None:
            work.now()
            quiet.enter_context(quieted.quiet())

        store.time()  # connects again
        with pytest.raises(StoreUnreachableError):
            store.run_at_once(until_its_end)
    store.close()
    quieted.close()


@one_test_for("is_begun", [False, True])
@one_test_for("is_at_once", [False, True])
def test_a_connection_that_breaks_makes_a_database_unreachable_and_not_unusable(
    is_begun: bool, is_at_once: bool, postgres_address: str
) -> None:
    quieted = QuietedPostgres(postgres_address)
    store = opened_store(quieted.address)
    store.migrate()

    def broken(work: Transaction) -> float:
        work.now()
        quieted.close()
        work.run("SELECT pg_sleep(0)")
        return len(work.rows("SELECT 1"))

    if not is_begun:
        quieted.close()
    action = broken if is_begun else Transaction.now
    if is_at_once:
        assert store.run_at_once(action) is None
    with pytest.raises(StoreUnreachableError):
        store.run(action)
    store.close()
    quieted.close()


def test_a_server_that_accepts_and_says_nothing_keeps_nobody_waiting_from_the_beginning(tmp_path: Path):
    silent = socket.create_server(("127.0.0.1", 0))
    address = f"postgresql://ana:pw@127.0.0.1:{silent.getsockname()[1]}/hub?sslmode=disable&connect_timeout=2"
    ana, changes = person("ana", is_admin=True)
    known = HubDatabase("postgres", address)

    async def run() -> None:
        known.migrated = lambda *_: None  # type: ignore[assignment, method-assign] # tables cannot be made there
        async with hub(known, [], Seller(), tmp_path, worker=IMPATIENT) as app:
            for name, who, where, body, *_ in ROUTES:
                async with asyncio.timeout(WAIT):
                    headers = ana.bearer if who else {}
                    document = {"code": new_code().secret.reveal()} if body == "a code" else body
                    reply = await ask(app, where, document, method="GET" if body is None else "POST", headers=headers)
                is_open = where in ("/hub", "/hub/join", "/healthz")
                assert reply.status == (200 if is_open else 503), name

    asyncio.run(run())
    silent.close()
    assert changes
