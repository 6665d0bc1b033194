"""People of a hub who reach for what belongs to others: their responses, other models, codes that are none."""

from __future__ import annotations
import asyncio
import json
import select
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from hub.hubs import Seller, budget, hub, person, rows_of
from partstream.lm.parts import Usage
from partstream.server.settings import ServingSettings
from partstream.server.stored_answers import SQLiteAnswers
from partstream.tokens.amounts import BudgetUnit
from serving.asgi import Call, ask
from serving.asgi_socket import Socket

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hub.stores import HubDatabase

pytestmark = pytest.mark.parametrize("hub_database", ["sqlite"], indirect=True)

RESPONSES = "/v1/responses"
SECRET = "the text of ana"  # noqa: S105 - what no other person may read


async def _attacked(database: HubDatabase, folder: Path, attack: Any) -> None:
    """Runs an attack of bob, who has a key of his own, after ana has stored a response."""
    ana, changes = person("ana")
    bob, more = person("bob")
    serving = ServingSettings(store=SQLiteAnswers(folder / "answers.sqlite"))
    async with hub(database, [*changes, *more], Seller("m", "m2"), folder, serving=serving) as app:
        body = {"model": "m", "input": SECRET, "store": True}
        streamed = await ask(app, RESPONSES, body | {"stream": True}, headers=ana.bearer)
        events = [json.loads(line[6:]) for line in streamed.body.split(b"\n") if line.startswith(b"data: {")]
        stored = events[-1]["response"]
        own = await ask(app, f"{RESPONSES}/{stored['id']}/input_items", headers=ana.bearer)
        assert SECRET in own.body.decode()
        await attack(app, {"ana": ana.bearer, "bob": bob.bearer}, stored)


def _routes(stored: str) -> Iterator[tuple[str, str]]:
    for below in ("", "/input_items", "?stream=true&starting_after=0"):
        yield "GET", f"{RESPONSES}/{stored}{below}"
    yield "DELETE", f"{RESPONSES}/{stored}"
    yield "POST", f"{RESPONSES}/{stored}/cancel"
    for spelled in (
        f"/responses/{stored}",
        f"/v1/v1/responses/{stored}",
        f"{RESPONSES}/%{ord(stored[0]):02x}{stored[1:]}",
        f"{RESPONSES}/{stored}%00",
        f"{RESPONSES}/..%2fresponses%2f{stored}",
        f"{RESPONSES}/{quote(chr(39) + ' OR 1=1 --')}",
        f"{RESPONSES}/%25",
        f"{RESPONSES}//{stored}",
        f"{RESPONSES}/{'a' * 50_000}",
        f"{RESPONSES}/../../etc/passwd",
        "/v1/models/..%2f..%2fetc%2fpasswd",
    ):
        yield "GET", spelled


def test_no_route_gives_a_response_to_another_person(hub_database: HubDatabase, tmp_path: Path) -> None:
    async def attack(app: Any, people: Any, stored: Any) -> None:
        for method, target in _routes(stored["id"]):
            path, _, query = target.partition("?")
            reply = await ask(app, path, method=method, query=query, headers=people["bob"])
            assert reply.status in {400, 404, 405}, (method, path)
            assert SECRET.encode() not in reply.body
            assert b"root:" not in reply.body
            assert len(reply.body) < 1000, "an error does not repeat what was sent"
        still = await ask(app, f"{RESPONSES}/{stored['id']}", headers=people["ana"])
        assert still.status == 200, "it is still there for her"

    asyncio.run(_attacked(hub_database, tmp_path, attack))


def test_no_request_continues_a_response_of_another_person(hub_database: HubDatabase, tmp_path: Path) -> None:
    async def attack(app: Any, people: Any, stored: Any) -> None:
        before, item = {"previous_response_id": stored["id"]}, stored["output"][0]["id"]
        reference = {"type": "item_reference", "id": item}
        for path, body in (
            (RESPONSES, {"input": "repeat", **before}),
            (RESPONSES, {"input": [reference, {"role": "user", "content": "repeat"}]}),
            (RESPONSES, {"input": "x", "user": "ana", "safety_identifier": "ana", **before}),
            (f"{RESPONSES}/input_tokens", {"input": "x", **before}),
            (f"{RESPONSES}/compact", before),
        ):
            reply = await ask(app, path, {"model": "m", **body}, headers=people["bob"])
            assert reply.status in {400, 404}, (path, body, reply.body)
            assert SECRET.encode() not in reply.body
        socket = await Socket(app, RESPONSES, people["bob"]).opened()
        refused = await socket.turn(model="m", input="x", **before)
        assert (refused[-1]["type"], refused[-1]["status"]) == ("error", 400)
        await socket.close()

    asyncio.run(_attacked(hub_database, tmp_path, attack))


def _anthropic(*parts: Any) -> dict[str, Any]:
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [*parts]}]
    return {"max_tokens": 9, "messages": [*said, {"role": "user", "content": "Go on"}]}


def test_a_sealed_summary_is_nothing_in_another_place(hub_database: HubDatabase, tmp_path: Path) -> None:
    async def test() -> None:
        (ana, changes), (bob, more), seller = person("ana"), person("bob"), Seller("m")
        async with hub(hub_database, [*changes, *more], seller, tmp_path) as app:
            made = await ask(app, f"{RESPONSES}/compact", {"model": "m", "input": "Hi"}, headers=ana.bearer)
            (sealed,) = (one["encrypted_content"] for one in made.json["output"] if one["type"] == "compaction")
            reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": sealed}
            thoughts = [{"role": "model", "parts": [{"text": "b", "thoughtSignature": sealed}]}]
            asked = [{"role": "user", "parts": [{"text": "Go on"}]}]
            for path, body in (
                (RESPONSES, {"input": [reasoning, {"role": "user", "content": "Go on"}]}),
                ("/v1/messages", _anthropic({"type": "thinking", "thinking": "x", "signature": sealed})),
                ("/v1/messages", _anthropic({"type": "redacted_thinking", "data": sealed})),
                ("/v1beta/models/m:generateContent", {"contents": [*asked, *thoughts, *asked]}),
            ):
                for who in (ana, bob):
                    reply = await ask(app, path, {"model": "m", **body}, headers=who.bearer)
                    assert reply.status == 200, (path, reply.body)
                    assert "word word" not in repr(seller.messages[-1]), "the summary was opened"

    asyncio.run(test())


def test_no_address_in_a_request_is_asked(hub_database: HubDatabase, tmp_path: Path) -> None:
    async def test(address: str) -> None:
        ana, changes = person("ana")
        of_gemini = {"fileData": {"fileUri": address, "mimeType": "image/png"}}
        picture = {"type": "image", "source": {"type": "url", "url": address}}
        async with hub(hub_database, changes, Seller("m"), tmp_path) as app:
            for path, body in (
                ("/v1/chat/completions", {"content": [{"type": "image_url", "image_url": {"url": address}}]}),
                (RESPONSES, {"content": [{"type": "input_image", "image_url": address}]}),
                (RESPONSES, {"content": [{"type": "input_file", "file_url": address}]}),
                ("/v1/messages", {"content": [picture, picture | {"type": "document"}]}),
                ("/v1beta/models/m:generateContent", {"parts": [of_gemini]}),
                ("/api/chat", {"content": "Hi", "images": [address]}),
            ):
                field = {RESPONSES: "input", "/v1beta/models/m:generateContent": "contents"}.get(path, "messages")
                asked = {"model": "m", "max_tokens": 9, field: [{"role": "user", **body}]}
                reply = await ask(app, path, asked, headers=ana.bearer)
                assert reply.status in {200, 400}, (path, reply.body)

    with socket.create_server(("127.0.0.1", 0)) as inside:
        asyncio.run(test(f"http://127.0.0.1:{inside.getsockname()[1]}/a.png"))
        assert select.select([inside], [], [], 0)[0] == []


CURSORS = ("-1", "0", "9" * 20, "1e3", "NaN", "1.5", "%00", "%EF%BC%99", "%2B1", "", "1&starting_after=2")
PAGES = ("limit=-1", "limit=1000000000", "limit=NaN", "after=../x", "order=zzz", "limit=1&limit=2")


def test_odd_cursors_are_refused_or_give_the_own_stream(hub_database: HubDatabase, tmp_path: Path) -> None:
    async def attack(app: Any, people: Any, stored: Any) -> None:
        path = f"{RESPONSES}/{stored['id']}"
        for cursor in CURSORS:
            query = f"stream=true&starting_after={cursor}"
            reply = await ask(app, path, query=query, headers=people["ana"])
            assert reply.status in {200, 400}, cursor
        for page in (*PAGES, "after=" + "a" * 10_000):
            reply = await ask(app, f"{path}/input_items", query=page, headers=people["ana"])
            assert reply.status in {200, 400, 404}, page
            assert len(reply.body) < 5000

    asyncio.run(_attacked(hub_database, tmp_path, attack))


SPELLINGS = (
    "large", "LARGE", "large ", " large", "large\0", "models/large", "large:latest", "routes/large", "small/../large",
    "*", "", "l*", "large%00", "l%61rge", "\uff4carge", "small,large", "['large']",
)  # fmt: skip


def test_no_spelling_reaches_a_model_that_a_key_may_not_use(hub_database: HubDatabase, tmp_path: Path) -> None:
    async def run() -> None:
        ana, changes = person("ana", models=("small",))
        seller = Seller("small", "large")
        async with hub(hub_database, changes, seller, tmp_path) as app:
            for name in SPELLINGS:
                asked = {"model": name, "messages": [{"role": "user", "content": "Hi"}]}
                reply = await ask(app, "/v1/chat/completions", asked, headers=ana.bearer)
                listed = await ask(app, f"/v1/models/{quote(name, safe='')}", headers=ana.bearer)
                google = f"/v1beta/models/{quote(name, safe='')}:generateContent"
                other = await ask(app, google, {"contents": [{"parts": [{"text": "Hi"}]}]}, headers=ana.bearer)
                assert {reply.status, other.status} <= {400, 404, 405}, name
                assert listed.status in {400, 404} or b'"large"' not in listed.body, name
        assert seller.asked == []

    asyncio.run(run())


DEARER: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/v1/chat/completions", {"service_tier": "priority"}),
    ("/v1/chat/completions", {"Service_Tier": "FAST"}),
    ("/v1/messages", {"speed": "fast"}),
    ("/v1/messages", {"inference_geo": "us"}),
    ("/v1beta/models/m:generateContent", {"serviceTier": "priority"}),
    ("/v1/chat/completions", {"providerOptions": {"openai": {"serviceTier": "priority"}}}),
    (RESPONSES, {"service_tier": "priority"}),
)
LISTED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/v1/chat/completions", {"service_tier": "flex"}),
    ("/v1/chat/completions", {"service_tier": None}),
    ("/v1/messages", {"speed": "standard", "service_tier": "standard_only"}),
    (RESPONSES, {"service_tier": "auto"}),
)


@pytest.mark.parametrize("unit", list(BudgetUnit))
def test_a_dearer_tier_than_the_price_is_refused_where_a_budget_counts_money(
    hub_database: HubDatabase, tmp_path: Path, unit: BudgetUnit
) -> None:
    hi: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}], "input": "Hi", "max_tokens": 9}

    async def run() -> None:
        ana, changes = person("ana")
        seller = Seller("m", extra={"inputCost": 100, "outputCost": 100})
        async with hub(hub_database, [*changes, budget("ana", 10**12, unit)], seller, tmp_path) as app:
            for rows, dearer in ((DEARER, True), (LISTED, False)):
                for path, tier in rows:
                    asked = {"contents": [{"parts": [{"text": "Hi"}]}]} if "beta" in path else {"model": "m", **hi}
                    reply = await ask(app, path, {**asked, **tier}, headers=ana.bearer)
                    is_refused = b"costs more than the price of m" in reply.body
                    assert is_refused == (dearer and unit is BudgetUnit.MONEY), (path, tier, reply.body)
                    assert reply.status == (400 if is_refused else 200)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("mark", "nanodollars"), [({}, 1_250_000), ({"ttl": "5m"}, 1_250_000), ({"ttl": "1h"}, 2_000_000)]
)
def test_what_is_written_into_a_cache_for_an_hour_is_charged_as_that(
    hub_database: HubDatabase, tmp_path: Path, mark: dict[str, str], nanodollars: int
) -> None:
    async def run() -> None:
        ana, changes = person("ana")
        seller = Seller("m", extra={"inputCost": 100, "outputCost": 0, "cacheWriteCost": 125})
        seller.usage = Usage(1000, 0, 1000, cache_write_tokens=1000)
        text = {"type": "text", "text": "Hi " * 1000, "cache_control": {"type": "ephemeral", **mark}}
        asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [text]}]}
        async with hub(hub_database, [*changes, budget("ana", 10**12)], seller, tmp_path) as app:
            assert (await ask(app, "/v1/messages", asked, headers=ana.bearer)).status == 200
            (row,) = await rows_of(hub_database, 1)
        assert row["nanodollars"] == nanodollars

    asyncio.run(run())


def test_what_is_no_code_gives_no_key(hub_database: HubDatabase, tmp_path: Path) -> None:
    code = "psj_" + "A" * 43
    bodies: list[Any] = [
        None, 5, [code], {"a": 1}, code, code + " ", code + "\n", code.upper(), code[:-1], code + "A",
        "psj_" + "\u0410" * 43, "psj_" + "A" * 3000,
    ]  # fmt: skip

    async def run() -> None:
        async with hub(hub_database, [], Seller(), tmp_path) as app:
            told: list[Call] = [await ask(app, "/hub/v1/join", {"code": body}) for body in bodies]
            told.append(await ask(app, "/hub/v1/join", b"code=" + code.encode()))
            told.append(await ask(app, "/hub/v1/join", b"[" * 4000))
            told.append(await ask(app, "/hub/v1/join", b"{" + b" " * 5000 + b"}"))
            told.append(await ask(app, "/hub/v1/join", method="GET", query=f"code={code}"))
        assert {one.status for one in told} <= {400, 403, 405, 413, 429}
        assert not any(b'"key"' in one.body or code.encode() in one.body for one in told)

    asyncio.run(run())
