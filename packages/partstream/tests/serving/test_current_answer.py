"""What a provider may know of who asks, and how a client learns which upstream a provider asked."""

from __future__ import annotations
import asyncio

import pytest

from partstream import chat_model
from partstream.errors import UpstreamFailureError
from partstream.server.application import app
from partstream.server.clients import Caller
from partstream.server.settings import CURRENT_ANSWER, UPSTREAM_HEADER, ServingSettings
from rows import one_test_for
from serving.asgi import ask
from serving.wires import WIRES

every_wire = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)


def test_a_provider_reads_who_asks_and_in_which_conversation():
    seen = []

    @chat_model(id="parrot")
    async def parrot(messages, options):
        del messages, options
        await asyncio.create_task(note())
        yield "Hi"

    async def note():
        answer = CURRENT_ANSWER.get()
        seen.append((answer.caller.name, answer.client.name, answer.client.session))

    async def run():
        application = app(parrot, ServingSettings(authenticate=lambda headers: Caller(headers["x-person"])))
        arguments, more = WIRES[0].asking("parrot")
        for person, session in (("ada", "one"), ("bob", "two")):
            headers = more["headers"] | {"x-person": person, "x-session-id": session, "user-agent": "opencode/1.18.33"}
            assert (await ask(application, *arguments, **(more | {"headers": headers}))).status == 200
        assert CURRENT_ANSWER.get() is None

    asyncio.run(run())
    assert seen == [("ada", "opencode", "one"), ("bob", "opencode", "two")]


@every_wire
@one_test_for("stream", [True, False], ids=["stream", "document"])
def test_a_reply_and_its_observation_name_the_upstream_that_the_provider_told_of(wire, stream):
    observed = []

    @chat_model(id="parrot")
    async def parrot(messages, options):
        del messages, options
        CURRENT_ANSWER.get().upstream = "west"
        yield "Hi"

    async def run():
        application = app({"birds": parrot})
        application.on_did_finish_answer(observed.append)
        arguments, more = wire.asking("parrot", stream=stream)
        reply = await ask(application, *arguments, **more)
        assert reply.headers[UPSTREAM_HEADER] == "west"

    asyncio.run(run())
    assert [one.provider for one in observed] == ["west"]


def test_a_failure_before_the_first_part_names_the_upstream_too():
    @chat_model(id="parrot")
    async def parrot(messages, options):
        del messages, options
        CURRENT_ANSWER.get().upstream = "west"
        raise UpstreamFailureError("out of order", http_status=503)
        yield

    async def run():
        arguments, more = WIRES[0].asking("parrot")
        reply = await ask(app(parrot), *arguments, **more)
        assert (reply.status, reply.headers[UPSTREAM_HEADER]) == (503, "west")

    asyncio.run(run())


def test_a_provider_that_tells_of_no_upstream_changes_nothing_of_its_reply():
    observed = []

    @chat_model(id="parrot")
    async def parrot(messages, options):
        del messages, options
        yield "Hi"

    async def run():
        application = app({"birds": parrot})
        application.on_did_finish_answer(observed.append)
        arguments, more = WIRES[0].asking("parrot")
        assert UPSTREAM_HEADER not in (await ask(application, *arguments, **more)).headers

    asyncio.run(run())
    assert [one.provider for one in observed] == ["birds"]
