"""A hub as its clients see it: own keys, own models, own budgets, own answers; on every kind of database."""

from __future__ import annotations
import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from hub.hubs import Seller, budget, hub, person, rows_of, team
from hub.stores import HubDatabase
from partstream.lm.parts import Usage
from partstream.server.settings import ServingSettings
from partstream.server.stored_answers import SQLiteAnswers
from partstream.tokens.amounts import DOLLAR, BudgetUnit, Period
from partstream_hub.commands_database import Administration
from partstream_hub.directory import (
    AuditLevel,
    Key,
    ModelPrice,
    ModelRoute,
    OwnerKind,
    Policy,
    RateLimits,
)
from partstream_hub.hub import new_code
from partstream_hub.store.store import HubStore
from partstream_hub.store.values import JoinCode
from serving.asgi import WAIT, Call, ask, call
from serving.asgi_socket import Socket
from serving.wires import WIRES, Wire

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

every_wire = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
one_database = pytest.mark.parametrize("hub_database", ["sqlite"], indirect=True)


def body(model: str = "m", **more: Any) -> dict[str, Any]:
    return {"model": model, "input": "Hi", **more}


async def said(application, headers, **more) -> Call:
    return await ask(application, "/v1/responses", body(**more), headers=headers)


def text_of(reply: Call) -> str:
    return "".join(part["text"] for item in reply.json["output"] for part in item.get("content", ()))


def test_a_person_chats_and_the_ledger_has_who_and_what(hub_database: HubDatabase, tmp_path: Path):
    async def run():
        ana, changes = person("ana", team="red")
        async with hub(hub_database, [team("red"), *changes, budget("ana", 5000 * DOLLAR)], Seller(), tmp_path) as app:
            headers = {**ana.bearer, "user-agent": "codex_exec/0.169.0", "session-id": "s-1"}
            reply = await said(app, headers, max_output_tokens=50)
            assert (reply.status, text_of(reply)) == (200, "word word word word word ")
            (row,) = await rows_of(hub_database, 1)
        assert row == {
            "answer_id": reply.headers["x-request-id"],
            "person": "ana",
            "team": "red",
            "key_id": ana.key.id,
            "model": "m",
            "client": "codex",
            "session": "s-1",
            "outcome": "completed",
            "is_estimated": row["is_estimated"],
            "input_tokens": 10,
            "output_tokens": 5,
            "nanodollars": 15 * DOLLAR,
            "status": 200,
        }
        assert not row["is_estimated"]

    asyncio.run(run())


def test_who_has_no_key_is_unauthenticated_and_a_new_key_works_within_a_heartbeat(
    hub_database: HubDatabase, tmp_path: Path
):
    async def run():
        ana, changes = person("ana")
        async with hub(hub_database, [], Seller(), tmp_path) as app:
            first = await said(app, ana.bearer)
            none = await said(app, {})
            assert (first.status, none.status) == (401, 401)
            assert first.json == none.json
            hub_database.store().change(changes, "test")
            assert await _until(lambda: said(app, ana.bearer), 200)

    asyncio.run(run())


async def _until(ask_again, status: int) -> Call:
    """Asks until the reply has a status."""
    async with asyncio.timeout(WAIT):
        while (reply := await ask_again()).status != status:
            await asyncio.sleep(0.01)
    return reply


def test_a_key_is_refused_within_two_heartbeats_of_its_revocation_on_a_socket_too(
    hub_database: HubDatabase, tmp_path: Path
):
    async def run():
        ana, changes = person("ana")
        async with hub(hub_database, changes, Seller(), tmp_path) as app:
            socket = await Socket(app, "/v1/responses", ana.bearer).opened()
            assert (await socket.turn(model="m", input="Hi"))[-1]["type"] == "response.completed"
            Administration(hub_database.store(), "test").revoke([ana.key.id])
            began = asyncio.get_running_loop().time()
            await _until(lambda: said(app, ana.bearer), 401)
            took = asyncio.get_running_loop().time() - began
            refused = await socket.turn(model="m", input="Hi")
            assert (refused[-1]["type"], refused[-1]["status"]) == ("error", 401)
            await socket.close()
            return took

    assert asyncio.run(run()) < 2.0


@one_database
def test_what_stands_in_lists_and_is_found_is_what_a_key_may_use(hub_database: HubDatabase, tmp_path: Path):
    async def run():
        ana, changes = person("ana", models=("small*",))
        bob, more = person("bob")
        async with hub(hub_database, [*changes, *more], Seller("small-1", "large"), tmp_path) as app:
            listed = await ask(app, "/v1/models", headers=ana.bearer)
            assert [one["id"] for one in listed.json["data"]] == ["small-1"]
            large = await said(app, ana.bearer, model="large")
            none = await said(app, ana.bearer, model="gone")
            assert (large.status, none.status) == (404, 404)
            assert json.loads(none.body.replace(b"gone", b"large")) == large.json
            assert "large" not in str(large.json).replace("got model 'large'", "").replace("`large`", "")[60:]
            assert (await said(app, bob.bearer, model="large")).status == 200

    asyncio.run(run())


SPENT = {"anthropic-messages": (402, "billing_error"), "openresponses": (429, "insufficient_quota")}
SPENT["chat-completions"] = SPENT["openresponses"]


@every_wire
@one_database
def test_a_spent_budget_is_said_on_every_wire_and_not_asked_again(hub_database, tmp_path: Path, wire: Wire):
    async def run():
        ana, changes = person("ana")
        boss, more = person("boss", is_admin=True)
        spent = budget("ana", 20 * DOLLAR, period=Period.DAY)
        async with hub(hub_database, [*changes, *more, spent], Seller(), tmp_path) as app:
            arguments, asking = wire.asking("m")
            asking["headers"] |= ana.bearer
            reply = await ask(app, *arguments, **asking)
            assert reply.headers["x-should-retry"] == "false"
            text = reply.body.decode()
            for part in ("person ana", "20.00 USD a day", "0.00 USD spent", "resets 20", "boss"):
                assert part in text
            if wire.name in SPENT:
                status, kind = SPENT[wire.name]
                assert (reply.status, reply.json["error"]["type"]) == (status, kind)
            assert reply.status in {402, 429}
            assert (await ask(app, "/v1/models", headers=boss.bearer)).status == 200

    asyncio.run(run())


def test_where_the_whole_does_not_fit_a_shorter_answer_is_asked_of_the_provider(
    hub_database: HubDatabase, tmp_path: Path
):
    async def run():
        ana, changes = person("ana")
        seller = Seller(words=10_000, most=100_000)
        async with hub(hub_database, [*changes, budget("ana", 1000 * DOLLAR)], seller, tmp_path) as app:
            reply = await said(app, ana.bearer)
            assert reply.status == 200
            (sent,) = seller.asked
            (row,) = await rows_of(hub_database, 1)
        limit = sent["max_output_tokens"]
        assert 256 <= limit < 1000
        assert 0.9 * limit <= row["output_tokens"] <= limit  # what it says is counted too, by estimate
        assert row["nanodollars"] <= 1000 * DOLLAR

    asyncio.run(run())


def test_a_provider_that_keeps_no_limit_is_stopped_where_the_money_ends(hub_database: HubDatabase, tmp_path: Path):
    class Deaf(Seller):
        async def provide_language_model_chat_response(self, model, messages, options, progress, token):
            await super().provide_language_model_chat_response(
                model, messages, replace(options, model_options={}), progress, token
            )

    async def run():
        ana, changes = person("ana")
        seller = Deaf(words=100_000, most=100_000)
        async with hub(hub_database, [*changes, budget("ana", 1000 * DOLLAR)], seller, tmp_path) as app:
            reply = await said(app, ana.bearer)
            assert reply.json["status"] == "incomplete"
            (row,) = await rows_of(hub_database, 1)
        window = _window(hub_database)
        assert row["outcome"] == "incomplete"
        assert window == (row["nanodollars"], 0)

    asyncio.run(run())


def test_a_page_about_everybody_is_for_admins(hub_database: HubDatabase, tmp_path: Path):
    async def run():
        (ana, anas), (ben, bens) = person("ana", is_admin=True), person("ben")
        async with hub(hub_database, [*anas, *bens], Seller(), tmp_path) as app:
            app.add_page("/metrics", lambda _: ("text/plain", b"of all"))
            admins, others = [await ask(app, "/metrics", headers=one.bearer) for one in (ana, ben)]
        assert (admins.status, admins.body) == (200, b"of all")
        assert (others.status, others.json["error"]["type"]) == (403, "permission_error")

    asyncio.run(run())


@pytest.mark.parametrize("limit", [1, 1000, 100_000])
def test_who_asks_a_provider_that_keeps_no_limit_for_a_short_answer_gets_no_more_than_the_money(
    hub_database: HubDatabase, tmp_path: Path, limit: int
):
    class Deaf(Seller):
        async def provide_language_model_chat_response(self, model, messages, options, progress, token):
            kept = replace(options, model_options={})
            await super().provide_language_model_chat_response(model, messages, kept, progress, token)

    async def run():
        ana, changes = person("ana")
        seller = Deaf(words=100_000, most=100_000)
        async with hub(hub_database, [*changes, budget("ana", 1000 * DOLLAR)], seller, tmp_path) as app:
            reply = await said(app, ana.bearer, max_output_tokens=limit)
            assert reply.json["status"] == "incomplete"
            (row,) = await rows_of(hub_database, 1)
        assert _window(hub_database) == (row["nanodollars"], 0)

    asyncio.run(run())


@pytest.mark.parametrize(
    "limits",
    [
        {"max_tokens": 3, "max_completion_tokens": 99_999},
        {"max_output_tokens": 99_999, "max_tokens": 3},
        {"num_predict": 3},
    ],
    ids=str,
)
def test_the_limit_that_is_reserved_is_the_one_that_the_provider_gets(
    hub_database: HubDatabase, tmp_path: Path, limits: dict[str, object]
):
    async def run():
        ana, changes = person("ana")
        seller = Seller(words=10)
        async with hub(hub_database, [*changes, budget("ana", 1000 * DOLLAR)], seller, tmp_path) as app:
            assert (await said(app, ana.bearer, **limits)).status == 200
        (sent,) = seller.asked
        assert {name: sent[name] for name in (*limits, "max_output_tokens") if name in sent} == {"max_output_tokens": 3}

    asyncio.run(run())


def _window(database: HubDatabase) -> tuple[int, int]:
    """What is spent of the only window, and by how much that is over; nothing is reserved once the worker has ended."""
    ((spent, limit, reserved),) = database.store().read("SELECT spent, budget_limit, reserved FROM hub_windows")
    assert reserved == 0
    return spent, max(0, spent - limit)


def test_200_requests_at_once_for_the_last_cent_get_no_more_than_it(hub_database: HubDatabase, tmp_path: Path):
    async def run():
        ana, changes = person("ana")
        seller = Seller(words=10, most=10)
        bound = 200 * DOLLAR  # what one request takes at most lies below that
        async with hub(hub_database, [*changes, budget("ana", 3 * bound)], seller, tmp_path) as app:
            seller.hold = asyncio.Event()
            asked = [call(app, "/v1/responses", body(), headers=ana.bearer) for _ in range(200)]
            await asyncio.wait_for(seller.begun.wait(), WAIT)
            async with asyncio.timeout(WAIT):
                while sum(one.task.done() for one in asked) < 200 - len(seller.asked):
                    await asyncio.sleep(0.01)
            seller.hold.set()
            replies = [await one.end() for one in asked]
            answered = [one for one in replies if one.status == 200]
            assert {one.status for one in replies} == {200, 429}
            assert 3 <= len(answered) < 20
            rows = await rows_of(hub_database, len(answered))
        window = _window(hub_database)
        assert sum(row["nanodollars"] for row in rows) == window[0] <= 3 * bound
        assert window[1] == 0

    asyncio.run(run())


def test_keys_are_verified_and_answers_without_a_budget_given_while_the_database_is_away(own_postgres, tmp_path: Path):
    async def run():
        ana, changes = person("ana")
        database = HubDatabase("postgres", own_postgres.address())
        ben, more = person("ben")
        limit = budget("ana", 10_000_000 * DOLLAR)
        async with hub(database, [*changes, *more, limit], Seller(), tmp_path) as app:
            assert (await said(app, ana.bearer, max_output_tokens=10)).status == 200
            own_postgres.stop()
            refused = await said(app, ana.bearer, max_output_tokens=10)
            replies = [await said(app, ben.bearer, max_output_tokens=10) for _ in range(5)]
            other = await said(app, {"authorization": "Bearer psk_aaaaaaaaaa_" + 43 * "A"})
            me = await ask(app, "/hub/v1/me", headers=ana.bearer)
            page = await ask(app, "/hub/v1/page", headers=ana.bearer)
            own_postgres.start()
            assert [one.status for one in replies] == [200] * 5
            assert other.status == 401
            assert (me.status, "retry-after" in me.headers) == (503, True)
            assert (page.status, "retry-after" in page.headers) == (503, True)
            assert (refused.status, "retry-after" in refused.headers) == (503, True)
            rows = await rows_of(database, 6)
            assert {row["outcome"] for row in rows} == {"completed"}
        database.close()

    asyncio.run(run())


@one_database
def test_a_model_without_a_price_is_refused_where_money_counts_with_the_command_that_sets_one(
    hub_database: HubDatabase, tmp_path: Path
):
    async def run():
        ana, changes = person("ana")
        bob, more = person("bob")
        tokens = budget("bob", 100_000, BudgetUnit.TOKENS)
        all_changes = [*changes, *more, budget("ana", 5 * DOLLAR), tokens]
        async with hub(hub_database, all_changes, Seller(extra={}), tmp_path) as app:
            refused = await said(app, ana.bearer)
            assert refused.status == 403
            assert "partstream hub add model m --price" in refused.json["error"]["message"]
            assert (await said(app, bob.bearer)).status == 200
            priced = ModelRoute("m", price=ModelPrice(DOLLAR, DOLLAR))
            hub_database.store().change([priced], "test")
            await _until(lambda: said(app, ana.bearer), 200)

    asyncio.run(run())


@one_database
def test_every_budget_of_key_person_and_team_has_to_cover_a_request(hub_database: HubDatabase, tmp_path: Path):
    async def run():
        for owner, kind in (("red", OwnerKind.TEAM), ("ana", OwnerKind.PERSON), ("key", OwnerKind.KEY)):
            ana, changes = person("ana", team="red")
            small = budget(ana.key.id if kind is OwnerKind.KEY else owner, 10, BudgetUnit.TOKENS, kind)
            large = budget("ana", 10**9, BudgetUnit.TOKENS, period=Period.WEEK)
            folder = tmp_path / owner
            database = HubDatabase("sqlite", str(tmp_path / f"{owner}.sqlite3"))
            async with hub(database, [team("red"), *changes, small, large], Seller(), folder) as app:
                refused = await said(app, ana.bearer)
                assert (refused.status, f"{kind} " in refused.json["error"]["message"]) == (429, True)
            database.close()

    asyncio.run(run())


@one_database
def test_an_answer_that_is_cut_is_charged_for_what_was_seen_and_marked(hub_database: HubDatabase, tmp_path: Path):
    async def run():
        ana, changes = person("ana")
        seller = Seller(words=100)
        seller.hold = asyncio.Event()
        async with hub(hub_database, [*changes, budget("ana", 50_000 * DOLLAR)], seller, tmp_path) as app:
            leaving = call(app, "/v1/responses", body(stream=True), headers=ana.bearer)
            await leaving.until(lambda: b"word" in leaving.body)
            leaving.leave()
            seller.hold.set()
            await leaving.end()
            (row,) = await rows_of(hub_database, 1)
        assert (row["outcome"], bool(row["is_estimated"])) == ("cancelled", True)
        assert 1 <= row["output_tokens"] <= 4
        assert 1 <= row["input_tokens"] < 30
        assert row["nanodollars"] == (row["input_tokens"] + row["output_tokens"]) * DOLLAR

    asyncio.run(run())


@one_database
def test_the_audit_of_a_team_says_what_is_kept(hub_database: HubDatabase, tmp_path: Path):
    async def run():
        levels = {"none": AuditLevel.NONE, "meta": AuditLevel.METADATA, "all": AuditLevel.CONTENT}
        people, changes = {}, []
        for name, level in levels.items():
            people[name], more = person(f"of-{name}", team=name)
            changes += [team(name, policy=Policy(level)), *more]
        async with hub(hub_database, changes, Seller(), tmp_path) as app:
            for one in people.values():
                headers = {**one.bearer, "user-agent": "codex_exec/1", "session-id": "s-1"}
                assert (await said(app, headers, input="my secret")).status == 200
            rows = {row["team"]: row for row in await rows_of(hub_database, 3)}
            store = hub_database.store()
            contents = {team: store.contents(row["answer_id"]) for team, row in rows.items()}
        assert {team: (row["client"], row["session"]) for team, row in rows.items()} == {
            "none": ("", None),
            "meta": ("codex", "s-1"),
            "all": ("codex", "s-1"),
        }
        assert (contents["none"], contents["meta"]) == (None, None)
        assert "my secret" in contents["all"].request
        assert "word word" in contents["all"].response

    asyncio.run(run())


@one_database
def test_rates_are_kept_for_answers_and_counts(hub_database: HubDatabase, tmp_path: Path):
    async def run():
        ana, changes = person("ana", rates=RateLimits(requests_per_minute=2))
        async with hub(hub_database, changes, Seller(), tmp_path) as app:
            count = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
            statuses = [
                (await said(app, ana.bearer)).status,
                (await ask(app, "/v1/messages/count_tokens", count, headers=ana.bearer)).status,
            ]
            limited = await said(app, ana.bearer)
            assert statuses == [200, 200]
            assert (limited.status, 1 <= int(limited.headers["retry-after"]) <= 60) == (429, True)
            assert "2 requests a minute" in limited.json["error"]["message"]
            assert limited.json["error"]["code"] == "rate_limit_exceeded"

    asyncio.run(run())


@one_database
def test_a_refused_request_makes_room_again(hub_database: HubDatabase, tmp_path: Path):
    async def run():
        ana, changes = person("ana", rates=RateLimits(concurrent_answers=1))
        async with hub(hub_database, [*changes, budget("ana", 0)], Seller(), tmp_path) as app:
            replies = [await said(app, ana.bearer) for _ in range(3)]
            assert {one.json["error"]["code"] for one in replies} == {"insufficient_quota"}

    asyncio.run(run())


@one_database
def test_what_a_person_stored_belongs_to_all_his_keys_and_to_nobody_else(hub_database: HubDatabase, tmp_path: Path):
    async def run():
        ana, changes = person("ana")
        again, key = person("ana")
        bob, more = person("bob")
        store = SQLiteAnswers(tmp_path / "answers.sqlite")
        serving = ServingSettings(store=store)
        second: Any = key[1]
        all_changes = [*changes, second, *more]
        async with hub(hub_database, all_changes, Seller(), tmp_path, serving=serving) as app:
            made = (await said(app, ana.bearer)).json["id"]
            path = f"/v1/responses/{made}"
            assert (await ask(app, path, headers=again.bearer)).status == 200
            others = [
                await ask(app, path, headers=bob.bearer),
                await ask(app, f"{path}/input_items", headers=bob.bearer),
                await ask(app, f"{path}/cancel", {}, headers=bob.bearer),
                await ask(app, path, method="DELETE", headers=bob.bearer),
            ]
            unknown = await ask(app, "/v1/responses/resp_gone", headers=bob.bearer)
            assert {one.status for one in others} == {404}
            assert others[0].json["error"]["code"] == unknown.json["error"]["code"]
            continued = await said(app, bob.bearer, previous_response_id=made)
            missing = await said(app, bob.bearer, previous_response_id="resp_gone")
            assert (continued.status, continued.json["error"]["code"]) == (
                missing.status,
                missing.json["error"]["code"],
            )
            socket = await Socket(app, "/v1/responses", bob.bearer).opened()
            refused = await socket.turn(model="m", input="Hi", previous_response_id=made)
            assert refused[-1]["type"] == "error"
            await socket.close()
            assert (await said(app, again.bearer, previous_response_id=made)).status == 200
        await store.close()

    asyncio.run(run())


@one_database
def test_me_says_who_asks_which_models_there_are_and_what_is_left(hub_database: HubDatabase, tmp_path: Path):
    async def run():
        ana, changes = person("ana", team="red")
        daily = budget("ana", 5000 * DOLLAR, period=Period.DAY)
        shared = budget("red", 2_000_000, BudgetUnit.TOKENS, OwnerKind.TEAM)
        async with hub(hub_database, [team("red"), *changes, daily, shared], Seller(), tmp_path) as app:
            assert (await said(app, ana.bearer)).status == 200
            await rows_of(hub_database, 1)
            me = (await ask(app, "/hub/v1/me", headers=ana.bearer)).json
            assert (me["person"], me["team"], me["models"], me["is_admin"]) == ("ana", "red", ["m"], False)
            money, tokens = sorted(me["budgets"], key=lambda one: one["unit"])
            assert (money["limit"], money["spent"], money["remaining"]) == (
                5000 * DOLLAR,
                15 * DOLLAR,
                4985 * DOLLAR,
            )
            assert money["text"] == "4,985.00 USD of 5,000.00 USD a day left"
            assert money["resets_at"] > "20"
            assert (tokens["spent"], tokens["resets_at"], tokens["owner"]) == (15, None, "team red")
            assert (await ask(app, "/hub/v1/me")).status == 401

    asyncio.run(run())


def test_a_code_gives_a_key_once(hub_database: HubDatabase, tmp_path: Path):
    async def run():
        _, changes = person("ana")
        code = new_code()
        async with hub(hub_database, changes, Seller(), tmp_path) as app:
            store = hub_database.store()
            store.add_join_code(JoinCode(code.digest, "ana", store.time() + 60, "laptop"))
            asked = {"code": code.secret.reveal()}
            joined = await ask(app, "/hub/v1/join", asked)
            assert (joined.status, joined.json["person"]) == (200, "ana")
            assert joined.headers["cache-control"] == "no-store"
            bearer = {"authorization": f"Bearer {joined.json['key']}"}
            assert (await ask(app, "/hub/v1/me", headers=bearer)).json["key"]["label"] == "laptop"
            again = await ask(app, "/hub/v1/join", asked)
            wrong = [await ask(app, "/hub/v1/join", {"code": one}) for one in ("", "psj_" + "A" * 43, 7, None)]
            assert {one.status for one in (again, *wrong)} == {403}
            assert {one.body for one in wrong} == {again.body}

    asyncio.run(run())


def test_a_stranger_who_tries_codes_keeps_no_right_link_out_and_asks_the_database_seldom(
    hub_database: HubDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked: list[bytes | None] = []
    join, look = HubStore.join, HubStore.join_codes
    monkeypatch.setattr(
        HubStore, "join", lambda self, digest, *more: (asked.append(digest), join(self, digest, *more))[1]
    )
    monkeypatch.setattr(HubStore, "join_codes", lambda self: (asked.append(None), look(self))[1])

    async def run():
        _, changes = person("ana")
        async with hub(hub_database, changes, Seller(), tmp_path) as app:
            store = hub_database.store()
            tried = 0

            def guess() -> Coroutine[Any, Any, Call]:
                nonlocal tried
                tried += 1
                return ask(app, "/hub/v1/join", {"code": new_code().secret.reveal()})

            for expected in (1, 2, 3):
                code = new_code()
                store.add_join_code(JoinCode(code.digest, "ana", store.time() + 60, "laptop"))
                await asyncio.gather(*(guess() for _ in range(50)))
                flood = [asyncio.create_task(guess()) for _ in range(300)]
                await asyncio.sleep(0)
                joined = await ask(app, "/hub/v1/join", {"code": code.secret.reveal()})
                assert joined.status == 200
                assert {one.status for one in await asyncio.gather(*flood)} <= {403, 503}
                assert [one for one in asked if one is not None][expected - 1 :] == [code.digest]
            assert (tried, asked.count(None) <= 7) == (1050, True)

    asyncio.run(run())


@pytest.mark.parametrize("many", [20])
def test_of_many_who_use_one_code_at_once_one_gets_a_key(hub_database: HubDatabase, tmp_path: Path, many: int):
    async def run():
        _, changes = person("ana")
        code = new_code()
        async with hub(hub_database, changes, Seller(), tmp_path) as app:
            store = hub_database.store()
            store.add_join_code(JoinCode(code.digest, "ana", store.time() + 60, "laptop"))
            asked = {"code": code.secret.reveal()}
            said = await asyncio.gather(*(ask(app, "/hub/v1/join", asked) for _ in range(many)))
            assert sorted(one.status for one in said) == [200, *[403] * (many - 1)]

    asyncio.run(run())


def test_a_hub_is_ready_once_it_knows_who_may_ask(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    async def run():
        missing = HubDatabase("postgres", "postgresql://nobody@127.0.0.1:1/none?connect_timeout=1")
        from partstream_hub.app import hub_app
        from partstream_hub.hub import HubSettings

        app = hub_app(Seller(), missing.store(), HubSettings(locks=tmp_path))
        replies = [await ask(app, one) for one in ("/healthz", "/readyz")]
        assert [one.status for one in replies] == [200, 503]
        assert replies[1].json == {"status": "starting"}
        key, _ = person("ana")
        refused = await said(app, key.bearer)
        assert (refused.status, "retry-after" in refused.headers) == (503, True)
        await app.stop()  # as a server with a lifespan does at its end
        assert "could not be stopped" not in caplog.text
        missing.close()

    asyncio.run(run())


@one_database
def test_headers_of_proxies_hosts_and_our_own_give_nothing(hub_database: HubDatabase, tmp_path: Path):
    async def run():
        ana, changes = person("ana")
        bob, more = person("bob", is_admin=True)
        async with hub(hub_database, [*changes, *more], Seller(), tmp_path) as app:
            smuggled = {
                **ana.bearer,
                "x-forwarded-for": "127.0.0.1",
                "x-forwarded-user": "bob",
                "x-forwarded-host": "evil.example",
                "forwarded": "for=127.0.0.1;host=evil.example",
                "x-request-disconnect-disabled": "?1",
                "serve_multiplexed_model_id": "other",
                "x-partstream-upstream": "other",
                "x-partstream-person": "bob",
                "x-request-id": "req_of_somebody",
                "host": "evil.example",
            }
            reply = await said(app, smuggled)
            assert (reply.status, reply.headers["x-request-id"] == "req_of_somebody") == (200, False)
            assert "x-partstream-upstream" not in reply.headers
            me = await ask(app, "/hub/v1/me", headers=smuggled)
            assert (me.json["person"], me.json["is_admin"]) == ("ana", False)
            (row,) = await rows_of(hub_database, 1)
            assert (row["person"], row["answer_id"]) == ("ana", reply.headers["x-request-id"])
            assert (await ask(app, "/hub/v1/me", headers={"x-forwarded-user": "bob"})).status == 401
            assert bob

    asyncio.run(run())


@one_database
def test_a_client_that_asks_not_to_be_noticed_leaving_is_noticed(hub_database: HubDatabase, tmp_path: Path):
    async def run():
        ana, changes = person("ana")
        seller = Seller(words=100)
        seller.hold = asyncio.Event()
        async with hub(hub_database, changes, seller, tmp_path) as app:
            headers = {**ana.bearer, "x-request-disconnect-disabled": "?1"}
            leaving = call(app, "/v1/responses", body(stream=True), headers=headers)
            await leaving.until(lambda: b"word" in leaving.body)
            leaving.leave()
            seller.hold.set()
            await leaving.end()
            (row,) = await rows_of(hub_database, 1)
            assert row["outcome"] == "cancelled"

    asyncio.run(run())


@one_database
def test_the_policy_of_the_owner_decides_and_is_told(hub_database: HubDatabase, tmp_path: Path):
    policy = tmp_path / "policy.py"
    policy.write_text(
        "from pathlib import Path\n"
        "from partstream import ChatMessage\n"
        "from partstream_hub.policy import Changed, Refusal\n"
        "def before_request(request):\n"
        "    if 'bad' in request.messages[-1].content[0].value:\n"
        "        return Refusal('Say something nicer.')\n"
        "    return Changed(messages=[ChatMessage.user('masked')], max_output_tokens=3)\n"
        "async def at_end(answer):\n"
        f"    Path({str(tmp_path / 'told')!r}).write_text(f'{{answer.person}} {{answer.output_tokens}}')\n"
    )

    async def run():
        ana, changes = person("ana")
        seller = Seller()
        async with hub(hub_database, changes, seller, tmp_path, policy=str(policy)) as app:
            refused = await said(app, ana.bearer, input="bad")
            assert (refused.status, refused.json["error"]["message"]) == (403, "Say something nicer.")
            reply = await said(app, ana.bearer)
            assert text_of(reply) == "word word word "
            assert seller.messages[0][-1].content[0].value == "masked"
            async with asyncio.timeout(WAIT):
                while not (told := tmp_path / "told").exists() or not told.read_text():
                    await asyncio.sleep(0.01)
            assert told.read_text() == "ana 3"

    asyncio.run(run())


@one_database
def test_a_reported_bill_is_charged_to_the_nanodollar(hub_database: HubDatabase, tmp_path: Path):
    async def run():
        ana, changes = person("ana")
        seller = Seller(extra={"inputCost": 0.1, "outputCost": 0.3})
        seller.usage = Usage(12_345, 678)
        async with hub(hub_database, [*changes, budget("ana", DOLLAR)], seller, tmp_path) as app:
            assert (await said(app, ana.bearer)).status == 200
            (row,) = await rows_of(hub_database, 1)
        window = _window(hub_database)
        assert row["nanodollars"] == -(-(12_345 * 1_000_000 + 678 * 3_000_000) // 1_000_000)
        assert window[0] == row["nanodollars"]

    asyncio.run(run())


@one_database
def test_names_with_sql_in_them_are_names_or_are_refused(hub_database: HubDatabase, tmp_path: Path):
    async def run():
        ana, changes = person("ana")
        async with hub(hub_database, changes, Seller(), tmp_path) as app:
            hostile = "x'; DROP TABLE hub_ledger; --"
            headers = {**ana.bearer, "user-agent": hostile, "x-session-id": hostile}
            assert (await said(app, headers)).status == 200
            assert (await said(app, headers, model=hostile)).status == 404
            assert (await said(app, {"x-api-key": f"psk_{hostile}_{'A' * 43}"})).status == 401
            (row,) = await rows_of(hub_database, 1)
            assert row["session"] is None

    asyncio.run(run())


def test_a_key_holds_nothing_but_what_a_key_holds():
    with pytest.raises(ValueError, match="name"):
        Key("k'; --", bytes(32), "ana")
