"""Functions that the owner of a server puts at paths of its own, and what runs as long as the server."""

from __future__ import annotations
import asyncio
import json

import pytest

from partstream import chat_model
from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.server.application import app
from partstream.server.clients import NOBODY
from partstream.server.requests import RequestFailedError, json_object
from partstream.server.settings import OwnerReply, OwnerRoute, ServingSettings
from partstream.upstream.endpoint import Secret
from serving.asgi import ask

KEY = "key-of-this-server-0123456789"
BEARER = {"authorization": f"Bearer {KEY}"}


@chat_model(id="parrot", name="Parrot")
async def parrot(messages, options):
    del messages, options
    yield "Hello"


async def echo(request, body, caller):
    said = json_object(body)
    return OwnerReply.json({"path": request.path, "query": request.query, "said": said, "by": caller.name})


def server(**more):
    application = app(parrot, ServingSettings(token=Secret(KEY)))
    application.add_route("POST", "/hub/v1/echo", OwnerRoute(echo, **more))
    return application


def test_a_route_of_the_owner_gets_the_request_and_who_asks():
    reply = asyncio.run(ask(server(), "/hub/v1/echo", {"a": 1}, headers=BEARER, query="x=1"))
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    assert reply.json == {"path": "/hub/v1/echo", "query": "x=1", "said": {"a": 1}, "by": "token"}
    assert reply.headers["x-request-id"].startswith("req_")


def test_a_route_wants_the_key_unless_it_is_open():
    assert asyncio.run(ask(server(), "/hub/v1/echo", {})).status == 401
    reply = asyncio.run(ask(server(is_open=True), "/hub/v1/echo", {}))
    assert (reply.status, reply.json["by"]) == (200, NOBODY.name)


def test_another_method_is_refused_with_the_one_there_is():
    reply = asyncio.run(ask(server(), "/hub/v1/echo", headers=BEARER))
    assert (reply.status, reply.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(("body", "status"), [(b"[]", 400), (b"no", 400), (b" " * 101, 413)])
def test_a_body_is_a_json_object_within_the_bound(body, status):
    reply = asyncio.run(ask(server(most_bytes=100), "/hub/v1/echo", body, headers=BEARER))
    assert reply.status == status
    assert json.loads(reply.body)["error"]["message"]


def test_what_a_route_refuses_is_said_with_its_status():
    async def refuse(request, body, caller):
        raise RequestFailedError(ServedFailure(FailureKind.FORBIDDEN, "Only for admins."))

    application = server()
    application.add_route("GET", "/hub/v1/all", OwnerRoute(refuse))
    reply = asyncio.run(ask(application, "/hub/v1/all", headers=BEARER))
    assert (reply.status, reply.json["error"]["message"]) == (403, "Only for admins.")


class Noting:
    """Notes when it is started and stopped."""

    def __init__(self, name: str, notes: list[str], *, fails: bool = False) -> None:
        self.name, self.notes, self.fails = name, notes, fails

    async def start(self) -> None:
        self.notes.append(f"{self.name} starts")
        if self.fails:
            raise OSError("no room")

    async def stop(self) -> None:
        self.notes.append(f"{self.name} stops")
        if self.name == "second":
            raise OSError("was gone")


async def live(application) -> list[str]:
    """The life of an application; the messages that it sends."""
    said = []
    messages = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])

    async def receive():
        return next(messages)

    async def send(message):
        said.append(message["type"])

    await application({"type": "lifespan"}, receive, send)
    return said


def test_what_lives_with_the_server_starts_before_the_first_request_and_stops_after_the_last(caplog):
    notes: list[str] = []
    application = server()
    application.lifetimes.append(Noting("first", notes))
    application.lifetimes.append(Noting("second", notes))
    assert asyncio.run(live(application)) == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert notes == ["first starts", "second starts", "second stops", "first stops"]
    assert "Noting could not be stopped" in caplog.text


def test_a_server_does_not_start_without_what_lives_with_it():
    application = server()
    application.lifetimes.append(Noting("first", [], fails=True))
    with pytest.raises(OSError, match="no room"):
        asyncio.run(live(application))
