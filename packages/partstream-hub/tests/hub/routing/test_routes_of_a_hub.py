"""Routed models of a whole hub: listed once, not to be gone around, and changed in the database while answers run."""

from __future__ import annotations
import asyncio
from typing import TYPE_CHECKING

import pytest

from hub.hubs import Seller, budget, hub, person, rows_of
from partstream.server.settings import UPSTREAM_HEADER
from partstream.tokens.amounts import DOLLAR
from partstream_hub.directory import ModelRoute, Route
from serving.asgi import WAIT, ask, call

if TYPE_CHECKING:
    from pathlib import Path

    from hub.stores import HubDatabase

pytestmark = pytest.mark.parametrize("hub_database", ["sqlite"], indirect=True)

PATH = "/v1/responses"


def _body(model: str) -> dict[str, object]:
    return {"model": model, "input": "Hi", "max_output_tokens": 5}


def test_a_routed_model_is_listed_once_and_nobody_goes_around_its_route(hub_database: HubDatabase, tmp_path: Path):
    async def run():
        ana, changes = person("ana")
        routed = ModelRoute("big", (Route("west", "m"), Route("east", "m")))
        sellers = {"west": Seller("m", "own"), "east": Seller("m")}
        async with hub(hub_database, [*changes, routed], sellers, tmp_path) as app:
            listed = await ask(app, "/v1/models", headers=ana.bearer)
            assert sorted(one["id"] for one in listed.json["data"]) == ["big", "own"]
            for around in ("m", "east/m"):
                assert (await ask(app, PATH, _body(around), headers=ana.bearer)).status == 404
            reply = await ask(app, PATH, _body("big"), headers=ana.bearer)
            assert (reply.status, reply.headers[UPSTREAM_HEADER] in sellers) == (200, True)

    asyncio.run(run())


def test_a_route_changes_in_the_database_and_answers_that_run_go_on(hub_database: HubDatabase, tmp_path: Path):
    async def run():
        ana, changes = person("ana")
        west, east = Seller("m"), Seller("n")
        west.hold = asyncio.Event()
        given = [*changes, budget("ana", 5000 * DOLLAR), ModelRoute("big", (Route("west", "m"),))]
        async with hub(hub_database, given, {"west": west, "east": east}, tmp_path) as app:
            running = call(app, PATH, {**_body("big"), "stream": True}, headers=ana.bearer)
            async with asyncio.timeout(WAIT):
                await west.begun.wait()
            held, west.hold = west.hold, None  # the first answer waits, and no later one
            hub_database.store().change([ModelRoute("big", (Route("east", "n"),))], "test")
            async with asyncio.timeout(WAIT):
                while (await ask(app, PATH, _body("big"), headers=ana.bearer)).headers[UPSTREAM_HEADER] != "east":
                    await asyncio.sleep(0.01)
            assert not running.task.done()
            held.set()
            await running.end()
            assert running.headers[UPSTREAM_HEADER] == "west"
            assert b"response.completed" in running.body
            reply = await ask(app, PATH, _body("big"), headers=ana.bearer)
            assert (reply.status, reply.headers[UPSTREAM_HEADER]) == (200, "east")

    asyncio.run(run())


def test_a_budget_holds_for_the_model_that_answers_in_place_of_another(hub_database: HubDatabase, tmp_path: Path):
    class Broken(Seller):
        async def provide_language_model_chat_response(self, model, messages, options, progress, token):
            raise OSError("no route to host")

    async def run():
        ana, changes = person("ana")
        routed = [
            ModelRoute("big", (Route("west", "m"),), fallbacks=("small",)),
            ModelRoute("small", (Route("east", "n"),)),
        ]
        sellers = {"west": Broken("m"), "east": Seller("n")}
        async with hub(hub_database, [*changes, *routed, budget("ana", 5000 * DOLLAR)], sellers, tmp_path) as app:
            reply = await ask(app, PATH, _body("big"), headers=ana.bearer)
            assert (reply.status, reply.headers[UPSTREAM_HEADER]) == (200, "east")
            (row,) = await rows_of(hub_database, 1)
            assert (row["model"], row["nanodollars"]) == ("big", 15 * DOLLAR)

    asyncio.run(run())
