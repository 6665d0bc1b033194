"""Responses in the background run at the upstream: what becomes of one, this server asks there."""

from __future__ import annotations
import json
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from partstream.server.application import app
from partstream.server.clients import Caller, local_program
from partstream.server.settings import ServingSettings
from partstream.server.stored_answers import SQLiteAnswers
from partstream_devtools.testing.faults import End, EndKind, Head, Send, Stall, Step, document
from serving.asgi import Call, ask, call
from serving.test_forwarding import Keeper
from serving.vendors import CHAT, KEPT_BACK, KEY, LIMITS, MODEL, RESPONSES, sse, vendor_of
from upstreams.upstreams import run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from pathlib import Path

    from partstream.server.loopback import LoopbackRequest

ID = "resp_of_the_vendor/1"
AT = "/v1/responses/resp_of_the_vendor%2F1"
BODY = {"model": MODEL, "input": "Hi", "background": True, "own": 1}


def response(status: str, **more: Any) -> dict[str, Any]:
    return {"id": ID, "object": "response", "created_at": 1, "status": status, "output": [], "model": MODEL, **more}


def begun(name: str, number: int) -> dict[str, Any]:
    return {"type": f"response.{name}", "sequence_number": number, "response": response("queued")}


QUEUED = json.dumps(response("queued", background=True, own=2), indent=1).encode()
STREAM = sse(begun("queued", 0), begun("in_progress", 1))


@asynccontextmanager
async def serving(
    tmp_path: Path, *replies: Iterable[Step], **settings: Any
) -> AsyncIterator[tuple[Any, list[LoopbackRequest]]]:
    store = SQLiteAnswers(tmp_path / "answers.sqlite")
    async with vendor_of(RESPONSES, *replies) as (provider, requests):
        yield app(provider, ServingSettings(store=store, **settings)), requests
    await store.close()


async def create(application: Any, **more: Any) -> Call:
    return await ask(application, "/v1/responses", {**BODY, **more})


ASKS: list[tuple[str, str, str, str]] = [
    ("GET", "", "", ""),
    ("GET", "", "include[]=reasoning.encrypted_content&key=none", "include%5B%5D=reasoning.encrypted_content"),
    ("GET", "", "stream=true&starting_after=1", "stream=true&starting_after=1"),
    ("POST", "/cancel", "", ""),
    ("GET", "/input_items", "limit=2&order=asc", "limit=2&order=asc"),
    ("DELETE", "", "", ""),
]
"""Method, path below the response, query, and the query that the upstream gets."""


@pytest.mark.parametrize(("method", "below", "query", "sent"), ASKS)
@pytest.mark.parametrize("is_restarted", [False, True], ids=["same process", "after a restart"])
def test_the_upstream_is_asked_for_what_it_keeps(
    tmp_path: Path, method: str, below: str, query: str, sent: str, is_restarted: bool
) -> None:
    stream = (Head(200, (("content-type", "text/event-stream"), *LIMITS, *KEPT_BACK)), *map(Send, STREAM), End())
    words = json.dumps({"own": "words"}, indent=1).encode()
    answer, whole = (stream, b"".join(STREAM)) if "stream" in query else (document(200, words), words)

    async def asked(application: Any, requests: list[LoopbackRequest]) -> None:
        headers = {"openai-organization": "org", "cookie": "no=1"}
        reply = await ask(application, AT + below, method=method, query=query, headers=headers)
        assert (reply.status, reply.body) == (200, whole)
        assert "set-cookie" not in reply.headers
        got = requests[-1]
        assert (got.method, got.path, got.query, got.body) == (method, AT + below, sent, b"")
        assert got.headers["openai-organization"] == "org"
        assert "cookie" not in got.headers
        assert KEY in got.headers["authorization"]
        again = await ask(application, AT)
        assert again.status == (404 if method == "DELETE" else 200)
        assert len(again.body) > 1

    async def test() -> None:
        replies = (document(200, QUEUED), *([] if is_restarted else [answer]))
        async with serving(tmp_path, *replies) as (application, requests):
            made = await create(application)
            assert (made.status, made.body) == (200, QUEUED), made.body
            assert json.loads(requests[0].body) == BODY
            if not is_restarted:
                await asked(application, requests)
        if is_restarted:
            async with serving(tmp_path, answer) as (application, requests):
                await asked(application, requests)

    run(test())


def test_a_stream_is_known_by_its_id_while_it_runs_and_once_its_client_has_left(tmp_path: Path) -> None:
    head = Head(200, (("content-type", "text/event-stream"),))

    async def test() -> None:
        replies = ((head, *map(Send, STREAM), Stall()), document(200, QUEUED))
        async with serving(tmp_path, *replies) as (application, requests):
            creating = call(application, "/v1/responses", {**BODY, "stream": True})
            await creating.until(lambda: creating.body == b"".join(STREAM))
            assert (await ask(application, AT)).body == QUEUED
            creating.leave()
            await creating.end()
        async with serving(tmp_path, document(200, QUEUED)) as (application, requests):
            assert (await ask(application, f"{AT}/cancel", method="POST")).body == QUEUED
            assert requests[0].method == "POST"

    run(test())


def test_a_client_that_leaves_ends_the_stream_that_it_has_resumed(tmp_path: Path) -> None:
    head = Head(200, (("content-type", "text/event-stream"),))

    async def test() -> None:
        replies = (document(200, QUEUED), (head, *map(Send, STREAM), Stall()))
        async with serving(tmp_path, *replies) as (application, _):
            await create(application)
            resumed = call(application, AT, query="stream=true")
            await resumed.until(lambda: resumed.body == b"".join(STREAM))
            resumed.leave()
            await resumed.end()

    run(test())


def test_an_error_of_the_upstream_comes_in_its_words_without_the_key(tmp_path: Path) -> None:
    error = json.dumps({"error": {"message": f"gone, {KEY}", "code": "odd"}}).encode()

    async def test() -> None:
        async with serving(tmp_path, document(200, QUEUED), document(410, error)) as (application, _):
            await create(application)
            reply = await ask(application, AT)
            assert (reply.status, reply.json["error"]["code"]) == (410, "odd")
            assert KEY not in reply.body.decode()

    run(test())


def test_an_upstream_that_does_not_answer_is_an_error_of_the_wire(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path, document(200, QUEUED), (End(EndKind.RESET),)) as (application, _):
            await create(application)
            reply = await ask(application, AT)
            assert reply.status == 502
            assert reply.json["error"]["message"]

    run(test())


def test_what_continues_a_response_of_the_upstream_goes_there_and_is_kept_there(tmp_path: Path) -> None:
    later = json.dumps({**response("completed"), "id": "resp_2"}).encode()

    async def test() -> None:
        replies = (document(200, QUEUED), document(200, later), document(200, b"{}"))
        async with serving(tmp_path, *replies) as (application, requests):
            await create(application)
            body = {"model": MODEL, "input": "And?", "previous_response_id": ID}
            assert (await ask(application, "/v1/responses", body)).body == later
            assert json.loads(requests[1].body) == body
            assert (await ask(application, "/v1/responses/resp_2")).body == b"{}"

    run(test())


@pytest.mark.parametrize(
    ("vendor", "settings"),
    [
        (CHAT, {}),
        (RESPONSES, {"authenticate": lambda _headers: Caller("ann")}),
        (RESPONSES, {"admission": Keeper()}),
    ],
    ids=["another wire", "callers who share a key", "an admission that has to know the end"],
)
def test_elsewhere_the_field_is_refused_by_name(vendor: Any, settings: dict[str, Any]) -> None:
    async def test() -> None:
        async with vendor_of(vendor, vendor.reply(stream=False)) as (provider, requests):
            reply = await create(app(provider, ServingSettings(**settings)))
            assert (reply.status, reply.json["error"]["param"]) == (400, "background")
            assert not requests

    run(test())


def test_the_programs_of_one_machine_are_one_caller(tmp_path: Path) -> None:
    async def test() -> None:
        local = partial(local_program, allow=lambda _origin: False)
        async with serving(tmp_path, document(200, QUEUED), authenticate=local) as (application, _):
            here = {"host": "127.0.0.1:9000"}
            assert (await ask(application, "/v1/responses", BODY, headers=here)).body == QUEUED
            assert (await ask(application, AT, headers=here)).body == QUEUED

    run(test())
