"""Responses that go through as they came, and what this server remembers of them: for their own caller alone."""

from __future__ import annotations
import json
import logging
from typing import TYPE_CHECKING, Any

import pytest

from partstream.protocols.openresponses.stored_responses import sealed_summary
from partstream.server.application import ServingApp, app
from partstream.server.clients import Caller
from partstream.server.requests import StoreFailedError
from partstream.server.settings import ServingSettings
from partstream.server.stored import AnswerMemory
from partstream.server.stored_answers import SQLiteAnswers
from partstream_devtools.testing.faults import End, Send, Stall, document
from serving.asgi import Call, ask, call
from serving.vendors import MODEL, RESPONSES, vendor_of
from upstreams.upstreams import run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

USERS = {"ann": {"authorization": "Bearer ann"}, "bob": {"authorization": "Bearer bob"}}
HI = {"type": "message", "role": "user", "content": "Hi"}


def caller_of(headers: Any) -> Caller | None:
    return Caller(headers["authorization"].removeprefix("Bearer "))


def serve(tmp_path: Path, use: Callable[[ServingApp, list[Any]], Awaitable[Any]], *, store: bool = True) -> None:
    """Serves the vendor with a store, and uses the server."""

    async def test() -> None:
        kept = SQLiteAnswers(tmp_path / "answers.sqlite") if store else None
        settings = ServingSettings(authenticate=caller_of, store=kept, state_folder=tmp_path)
        try:
            async with vendor_of(RESPONSES, RESPONSES.reply(stream=True)) as (provider, requests):
                await use(app(provider, settings), requests)
        finally:
            if kept is not None:
                await kept.close()

    run(test())


async def create(application: ServingApp, user: str = "ann", **body: Any) -> Call:
    said = {"model": MODEL, "input": [HI], "stream": True, **body}
    return await ask(application, "/v1/responses", said, headers={**USERS[user], "idempotency-key": "k"})


def test_a_response_that_is_kept_can_be_read_and_continued_by_its_caller(tmp_path: Path) -> None:
    async def use(application: ServingApp, requests: list[Any]) -> None:
        first = await create(application)
        assert first.body == b"".join(RESPONSES.events)
        sent = json.loads(requests[0].body)
        assert sent == {"model": MODEL, "input": [HI], "stream": True, "include": ["reasoning.encrypted_content"]}
        kept = await ask(application, "/v1/responses/resp_9", headers=USERS["ann"])
        assert kept.json["output"][0]["phase"] == "final"
        again = await ask(application, "/v1/responses/resp_9", headers=USERS["ann"], query="stream=true")
        assert again.body.startswith(b"".join(RESPONSES.events))
        second = await create(application, previous_response_id="resp_9", input="And?")
        assert second.status == 200
        continued = json.loads(requests[1].body)
        assert "previous_response_id" not in continued
        assert "Hello you" in json.dumps(continued["input"])

    serve(tmp_path, use)


def test_the_last_event_waits_until_the_response_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its client may name it at once, and another process may get that request."""
    seen: list[bytes] = []

    async def use(application: ServingApp, _: list[Any]) -> None:
        running = call(
            application, "/v1/responses", {"model": MODEL, "input": [HI], "stream": True}, headers=USERS["ann"]
        )
        save = SQLiteAnswers.save

        async def saved(*values: Any) -> None:
            seen.append(running.body)
            await save(*values)

        monkeypatch.setattr(SQLiteAnswers, "save", saved)
        assert (await running.end()).body == b"".join(RESPONSES.events)

    serve(tmp_path, use)
    assert seen == [b"".join(RESPONSES.events[:-1])]


@pytest.mark.parametrize("store", [True, False])
def test_nobody_refers_to_the_response_of_another_caller(tmp_path: Path, store: bool) -> None:
    async def use(application: ServingApp, requests: list[Any]) -> None:
        await create(application)
        for reference in ({"previous_response_id": "resp_9"}, {"input": [{"type": "item_reference", "id": "msg_9"}]}):
            refused = await create(application, "bob", **reference)
            assert refused.status in {400, 404}, refused.body
        assert len(requests) == 1

    serve(tmp_path, use, store=store)


def test_reasoning_that_a_caller_names_by_its_id_alone_is_looked_up_nowhere(tmp_path: Path, caplog: Any) -> None:
    async def use(application: ServingApp, requests: list[Any]) -> None:
        by_id = {"type": "reasoning", "id": "rs_of_another", "summary": []}
        with caplog.at_level(logging.DEBUG, "partstream"):
            await create(application, input=[HI, by_id, HI], store=False)
        assert b"rs_of_another" not in requests[0].body
        assert "which it would look up for every caller" in caplog.text
        whole = {**by_id, "encrypted_content": "vendor=="}
        await create(application, input=[HI, whole, HI], store=False)
        assert json.loads(requests[1].body)["input"] == [HI, whole, HI]

    serve(tmp_path, use)


def test_two_callers_have_no_key_of_idempotency_in_common(tmp_path: Path) -> None:
    async def use(application: ServingApp, requests: list[Any]) -> None:
        for user in ("ann", "ann", "bob"):
            await create(application, user, store=False)
        first, second, third = (one.headers["idempotency-key"] for one in requests)
        assert first == second != third
        assert first != "k"

    serve(tmp_path, use)


def test_a_summary_that_this_server_has_signed_goes_on_opened(tmp_path: Path) -> None:
    async def use(application: ServingApp, requests: list[Any]) -> None:
        memory = AnswerMemory(None, (tmp_path / "serve-signing-key").read_bytes().strip())
        sealed = sealed_summary("They said hi.", memory.secret_of("ann"), {"model": MODEL})
        item = {"type": "compaction", "id": "cmp_1", "encrypted_content": sealed}
        own = {"type": "compaction", "id": "cmp_2", "encrypted_content": "vendor=="}
        reply = await create(application, input=[item, own, {**HI, "phase": "x"}], store=False)
        assert reply.body == b"".join(RESPONSES.events)
        first, *rest = json.loads(requests[0].body)["input"]
        assert "They said hi." in first["content"]
        assert rest == [own, {**HI, "phase": "x"}]

    serve(tmp_path, use)


def test_a_summary_is_asked_of_the_model_in_the_way_of_this_server(tmp_path: Path) -> None:
    async def use(application: ServingApp, requests: list[Any]) -> None:
        reply = await create(application, input=[HI, {"type": "compaction_trigger"}], store=False)
        assert b"compaction_trigger" not in requests[0].body
        assert b"partstream-signed" in reply.body

    serve(tmp_path, use)


@pytest.mark.parametrize("form", ["without names", "without a response", "with another line end"])
def test_frames_in_another_form_reach_the_client_as_they_are(tmp_path: Path, form: str) -> None:
    changed = {
        "without names": lambda event: event.partition(b"\n")[2],
        "without a response": lambda event: event.replace(b'"response": {', b'"answer": {'),
        "with another line end": lambda event: event.replace(b"\n", b"\r\n"),
    }[form]
    events = [*map(changed, RESPONSES.events)]

    async def test() -> None:
        kept = SQLiteAnswers(tmp_path / "answers.sqlite")
        settings = ServingSettings(authenticate=caller_of, store=kept)
        head = RESPONSES.reply(stream=True)[0]
        try:
            async with vendor_of(RESPONSES, (head, *map(Send, events), End())) as (provider, _):
                application = app(provider, settings)
                reply = await create(application)
                assert reply.body == b"".join(events)
                kept_there = await ask(application, "/v1/responses/resp_9", headers=USERS["ann"])
                assert kept_there.status == (404 if form == "without a response" else 200)
                if kept_there.status == 200:
                    again = await ask(application, "/v1/responses/resp_9", headers=USERS["ann"], query="stream=true")
                    assert again.body.count(b"event: ") == len(events)
        finally:
            await kept.close()

    run(test())


def test_a_document_is_kept_too(tmp_path: Path) -> None:
    async def test() -> None:
        kept = SQLiteAnswers(tmp_path / "answers.sqlite")
        settings = ServingSettings(authenticate=caller_of, store=kept)
        try:
            async with vendor_of(RESPONSES, document(200, RESPONSES.whole)) as (provider, _):
                application = app(provider, settings)
                reply = await create(application, stream=False)
                assert reply.body == RESPONSES.whole
                again = await ask(application, "/v1/responses/resp_9", headers=USERS["ann"])
                assert again.json == json.loads(RESPONSES.whole)
        finally:
            await kept.close()

    run(test())


def test_a_response_that_runs_can_be_cancelled_by_its_caller(tmp_path: Path) -> None:
    async def test() -> None:

        kept = SQLiteAnswers(tmp_path / "answers.sqlite")
        settings = ServingSettings(authenticate=caller_of, store=kept)
        head = RESPONSES.reply(stream=True)[0]
        try:
            async with vendor_of(RESPONSES, (head, *map(Send, RESPONSES.events[:4]), Stall(None))) as (provider, _):
                application = app(provider, settings)
                running = call(
                    application, "/v1/responses", {"model": MODEL, "input": "Hi", "stream": True}, headers=USERS["ann"]
                )
                await running.until(lambda: b"Hello" in running.body)
                cancelled = await ask(application, "/v1/responses/resp_9/cancel", b"", headers=USERS["ann"])
                assert cancelled.json["status"] == "cancelled"
                await running.end()
                assert b"response.incomplete" in running.body
        finally:
            await kept.close()

    run(test())


@pytest.mark.parametrize("stream", [False, True])
def test_a_response_that_cannot_be_stored_does_not_say_so_in_the_words_of_its_upstream_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    async def full(*_: object) -> None:
        raise StoreFailedError("database or disk is full")

    async def use(application: ServingApp, _: list[Any]) -> None:
        monkeypatch.setattr(SQLiteAnswers, "save", full)
        reply = await create(application, input=[HI], stream=stream)
        body = reply.body if not stream else reply.body.split(b"response.completed\n")[1]
        assert b'"store":true' not in body.replace(b": ", b":")
        assert b"Hello" in body or b"hi" in body.lower()
        assert stream or int(reply.headers["content-length"]) == len(reply.body)

    serve(tmp_path, use)
