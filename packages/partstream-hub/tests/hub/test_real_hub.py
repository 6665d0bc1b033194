"""A person joins a real hub over real HTTP, asks its model, and reads what is left and why nothing is."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hub.hubs import Seller, budget, hub, person, rows_of
from hub.stores import HubDatabase
from partstream import RequestOptions
from partstream.errors import UpstreamHTTPError
from partstream.server.loopback import Host
from partstream.tokens.amounts import Period
from partstream.upstream.configuration import GatewayConfiguration
from partstream.upstream.hub import base_url_of, fetch_standing, is_of_hub, join, join_link, left_text, page_link
from partstream_hub.commands_database import Administration
from upstreams.upstreams import ask, gateway_to

CONVERSATION = "5f0c8a8e-6f0e-4f0b-9a53-0d9a7b1c2d3e"
DOLLAR = 10**9


@pytest.fixture
def database(tmp_path: Path) -> Iterator[HubDatabase]:
    """SQLite: what a person sees is the same on any database, and the hub's own tests run on all."""
    made = HubDatabase("sqlite", str(tmp_path / "hub.db"))
    yield made
    made.close()


@asynccontextmanager
async def joined(
    database: HubDatabase, folder: Path, dollars: int, seller: Seller
) -> AsyncIterator[GatewayConfiguration]:
    """A hub with one person who has joined by a link and may spend so much a day; gives the hub as an upstream."""
    _, changes = person("ada", is_admin=True)
    rules = [*changes, budget("ada", dollars * DOLLAR, period=Period.DAY)]
    async with (
        hub(database, rules, seller, folder, contact="lamps@example.com") as application,
        Host(application, lambda status, message: message.encode()) as host,
    ):
        code = Administration(database.store(), "test").invite("ada", expires_at=time.time() + 60)
        link = join_link(page_link(f"http://127.0.0.1:{host.port}", code.reveal()))
        assert link.code is not None
        upstream = GatewayConfiguration(base_url_of(link.hub), protocol="openresponses")
        made = await join(upstream, link.code)
        assert made.person == "ada"
        with pytest.raises(UpstreamHTTPError, match="already used"):
            await join(upstream, link.code)
        yield GatewayConfiguration(upstream.base_url, protocol="openresponses", api_key=made.key)


async def refusal_of(upstream: GatewayConfiguration) -> UpstreamHTTPError:
    """Asks until it is refused."""
    while True:
        try:
            await fetch_standing(upstream)
        except UpstreamHTTPError as error:
            return error


def test_who_has_joined_asks_a_model_and_sees_what_is_left_and_the_hub_knows_the_conversation(
    database: HubDatabase, tmp_path: Path
):
    async def test() -> None:
        async with joined(database, tmp_path, 5000, Seller()) as upstream:
            assert await is_of_hub(upstream)
            (before,) = (await fetch_standing(upstream)).budgets
            assert left_text(before) == "$5,000.00 of $5,000.00 left today"
            options = RequestOptions(model_options={"_conversationId": CONVERSATION})
            async with gateway_to(upstream.base_url, api_key=upstream.api_key, models=()) as provider:
                answer = await ask(provider, "Hi", model_id="m", options=options)
            assert (answer.error, answer.text.split()) == (None, ["word"] * 5)
            (row,) = await rows_of(database, 1)
            assert (row["person"], row["client"], row["session"]) == ("ada", "partstream", CONVERSATION)
            standing = await fetch_standing(upstream)
            (after,) = standing.budgets
            assert standing.person == "ada"
            assert after.remaining == before.remaining - row["nanodollars"]
            assert left_text(after) == "$4,985.00 of $5,000.00 left today"
            assert after.resets_at is not None
            assert after.resets_at > time.time()

    asyncio.run(test())


def test_a_spent_budget_is_one_request_and_one_sentence_that_says_all(database: HubDatabase, tmp_path: Path):
    async def test() -> None:
        seller = Seller()
        async with (
            joined(database, tmp_path, 1, seller) as upstream,
            gateway_to(upstream.base_url, api_key=upstream.api_key, models=()) as provider,
        ):
            answer = await ask(provider, "Hi", model_id="m")
            assert isinstance(answer.error, UpstreamHTTPError)
            assert (answer.error.http_status, answer.error.provider_code) == (429, "insufficient_quota")
            assert (answer.error.should_retry, answer.error.retry_after) == (False, None)
            said = str(answer.error)
            for expected in ("person ada", "of 1.00 USD a day", "it resets 20", "for more, ask lamps@example.com"):
                assert expected in said, said
            assert seller.asked == []

    asyncio.run(test())


def test_a_key_that_was_revoked_is_refused_from_then_on(database: HubDatabase, tmp_path: Path):
    async def test() -> None:
        async with joined(database, tmp_path, 5, Seller()) as upstream:
            assert upstream.api_key is not None
            _, key_id, _ = upstream.api_key.reveal().split("_", 2)
            Administration(database.store(), "test").revoke([key_id])
            async with asyncio.timeout(10):
                assert (await refusal_of(upstream)).http_status == 401

    asyncio.run(test())
