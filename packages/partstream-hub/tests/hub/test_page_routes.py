"""What the page of the hub is given over HTTP: of whom, and what happens when the database cannot be read."""

from __future__ import annotations
import asyncio
import threading
from typing import TYPE_CHECKING

from hub.hubs import Seller, budget, hub, person, rows_of, team
from pages.read_html import read_html
from partstream.server.application import ServingApp
from partstream.server.clients import Caller
from partstream.server.settings import ServingSettings
from partstream.tokens.amounts import DOLLAR
from partstream_hub.page import CONTENT, HubPage
from partstream_hub.store.opening import opened_store
from serving.asgi import ask, call

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from hub.stores import HubDatabase
    from partstream_hub.store.store import HubStore


def test_the_page_shows_what_an_answer_took_and_a_person_only_the_own(hub_database: HubDatabase, tmp_path: Path):
    async def run() -> None:
        ana, of_ana = person("ana", team="core")
        root, of_root = person("root", is_admin=True)
        changes = [team("core"), *of_ana, *of_root, budget("ana", 1_000 * DOLLAR)]
        async with hub(hub_database, changes, Seller(words=5), tmp_path) as app:
            for asking in (ana, root):
                body = {"model": "m", "input": "Hi", "max_output_tokens": 10}
                assert (await ask(app, "/v1/responses", body, headers=asking.bearer)).status == 200
            await rows_of(hub_database, 2)
            own, whole = [await ask(app, CONTENT, query="days=1", headers=one.bearer) for one in (ana, root)]
        page = own.body.decode()
        assert "spent $15.00 (1%)" in page
        (day,) = read_html(page).tables[0][1:-1]
        assert day[1] == "1"
        assert "root" not in read_html(page).text
        people = next(table for table in read_html(whole.body.decode()).tables if table[0][0] == "person")
        assert sorted(row[0] for row in people[1:]) == ["all", "ana", "root"]

    asyncio.run(run())


def test_a_further_reader_is_refused_while_many_wait_and_nobody_is_kept_from_the_event_loop(tmp_path: Path):
    async def run() -> None:
        store = opened_store(tmp_path / "hub.sqlite")
        store.migrate()
        opening = threading.Event()

        def opened() -> HubStore:
            assert opening.wait(30)
            return store

        settings = ServingSettings(authenticate=lambda headers: Caller(headers["x-api-key"]))
        app = ServingApp(Seller(), settings)
        page = HubPage(opened, most_waiting=3)
        page.add_to(app)
        waiting = []
        for name in ("zoe", "ana", "ben"):
            waiting.append(call(app, CONTENT, headers={"x-api-key": name}))
            await asyncio.sleep(0)
            again = await ask(app, CONTENT, headers={"x-api-key": "zoe"})
            assert again.status == 503, "one reader has a share alone"
        refused = await ask(app, CONTENT, headers={"x-api-key": "eve"})
        assert (refused.status, "retry-after" in refused.headers) == (503, True)
        opening.set()
        assert [(await one.end()).status for one in waiting] == [403] * len(waiting)
        await page.stop()

    asyncio.run(run())


def test_a_database_that_cannot_be_used_is_named_in_the_log_and_not_to_the_reader(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    async def run() -> None:
        settings = ServingSettings(authenticate=lambda _headers: Caller("ana"))
        app = ServingApp(Seller(), settings)
        page = HubPage(lambda: opened_store(tmp_path / "without-tables.sqlite"))
        page.add_to(app)
        failed = await ask(app, CONTENT)
        assert failed.status == 500
        assert str(tmp_path) not in failed.body.decode()
        await page.stop()

    asyncio.run(run())
    assert "the page of the hub cannot be read" in caplog.text


def test_what_takes_long_to_read_is_not_read_again_at_once(tmp_path: Path):
    async def run() -> None:
        store = opened_store(tmp_path / "hub.sqlite")
        store.migrate()
        store.change([*person("ana")[1], *person("ben")[1]], "root")
        asking = ["ana"]
        app = ServingApp(Seller(), ServingSettings(authenticate=lambda _headers: Caller(asking[0])))
        page = HubPage(store.another, slow_seconds=0, rest=1_000_000)
        page.add_to(app)
        first = await ask(app, CONTENT)
        store.change([budget("ana", DOLLAR)], "root")
        assert (await ask(app, CONTENT)).body == first.body
        assert (await ask(app, CONTENT, query="days=7")).body != first.body
        asking[0] = "ben"
        other = await ask(app, CONTENT)
        assert "Hub: ben" in other.body.decode()
        await page.stop()
        store.close()

    asyncio.run(run())
