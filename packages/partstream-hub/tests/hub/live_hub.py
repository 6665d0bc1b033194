"""A worker of a hub in a thread of its own, for tests that look at its pages in a browser."""

from __future__ import annotations
import asyncio
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from partstream.runtime.demo_provider import DemoProvider
from partstream.server.listening import listening_sockets
from partstream.server.uvicorn_server import HttpServer
from partstream.tokens.amounts import DOLLAR, BudgetUnit, Period
from partstream_hub.app import hub_app
from partstream_hub.budgets import WorkerSettings
from partstream_hub.commands_database import Administration
from partstream_hub.directory import BudgetRule, Owner, OwnerKind, Person, Team
from partstream_hub.hub import HubSettings
from partstream_hub.store.opening import opened_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECONDS = 30.0


@dataclass(frozen=True)
class LiveHub:
    """A hub that runs.

    Attributes:
        url: Its address.
        administration: What changes it, over a connection of its own.
    """

    url: str
    administration: Administration


@contextmanager
def live_hub(folder: Path) -> Iterator[LiveHub]:
    """Runs a hub with a team of two people, until the block ends."""
    administration = Administration(opened_store(folder / "hub.sqlite3"), "root")
    administration.store.migrate()
    people = (Person("ana", "core"), Person("root", is_admin=True))
    rule = BudgetRule(Owner(OwnerKind.PERSON, "ana"), BudgetUnit.MONEY, Period.DAY, 5 * DOLLAR)
    administration.store.change([Team("core"), *people, rule], "root")
    settings = HubSettings(locks=folder / "locks", worker=WorkerSettings(heartbeat_seconds=0.1))
    application = hub_app(DemoProvider(), administration.store.another(), settings)
    sockets = listening_sockets("127.0.0.1", 0, SECONDS)
    server = HttpServer(application, sockets, drain_seconds=1.0)
    listening, loop = threading.Event(), asyncio.new_event_loop()
    thread = threading.Thread(target=lambda: loop.run_until_complete(server.serve(listening.set)))
    thread.start()
    try:
        assert listening.wait(SECONDS)
        yield LiveHub(f"http://127.0.0.1:{sockets[0].getsockname()[1]}", administration)
    finally:
        loop.call_soon_threadsafe(server.stop)
        thread.join(SECONDS)
        loop.close()
        administration.store.close()
