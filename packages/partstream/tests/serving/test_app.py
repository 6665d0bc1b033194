"""What every wire of a server does: answers as a stream and as a document, lists of models, counts, keys, refusals."""

from __future__ import annotations
import asyncio
import gc
import weakref
from contextlib import contextmanager

import pytest

from partstream import chat_model
from partstream.codec.checks import InvalidArgumentError
from partstream.lm.outputs import Outcome
from partstream.lm.parts import TextPart
from partstream.server.application import app
from partstream.server.clients import Caller
from partstream.server.settings import ServingSettings
from partstream.upstream.endpoint import Secret
from rows import one_test_for
from serving.asgi import ask
from serving.providers import Driven
from serving.wires import WIRES, Wire

every_wire = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
KEY = "key-of-this-server-0123456789"


@chat_model(id="parrot", name="Parrot", count_tokens=lambda _: 7)
async def parrot(messages, options):
    del options
    yield "You said: "
    yield messages[-1].content[0].value


@every_wire
@one_test_for("stream", [True, False], ids=["stream", "document"])
def test_a_provider_answers_over_every_wire(wire: Wire, stream: bool):
    async def run():
        arguments, more = wire.asking("parrot", "Hi", stream=stream)
        reply = await ask(app(parrot), *arguments, **more)
        assert reply.status == 200, reply.body
        parts, finish = wire.read(reply.body, stream=stream)
        assert "".join(part.value for part in parts if isinstance(part, TextPart)) == "You said: Hi"
        assert finish.outcome is Outcome.COMPLETED
        assert finish.usage is not None
        assert (finish.usage.input_tokens or 0) >= 7
        assert finish.usage.output_tokens == 7

    asyncio.run(run())


@every_wire
@one_test_for("stream", [True, False], ids=["stream", "document"])
def test_what_belongs_to_an_answer_goes_with_its_end(wire: Wire, stream: bool):
    kept = []

    async def answer(progress, token):
        del token
        kept.append(weakref.ref(progress))
        progress.report(TextPart("Hi"))

    async def run():
        arguments, more = wire.asking("m", "Hi", stream=stream)
        reply = await ask(app(Driven(answer)), *arguments, **more)
        assert reply.status == 200, reply.body

    gc.disable()  # what only a collection finds would wait for it, with all that was asked
    try:
        asyncio.run(run())
        assert [one() for one in kept] == [None]
    finally:
        gc.enable()


@chat_model(id="names", name="Names")
async def names(messages, options):
    del options
    yield ", ".join(f"{one.role.name.lower()} {one.name}" for one in messages)


def test_the_names_that_a_client_gives_reach_the_provider():
    said = [("system", "house"), ("user", "Ann"), ("assistant", "Bot"), ("user", "Bob"), ("user", "Ann")]
    messages = [{"role": role, "name": name, "content": "Hi"} for role, name in said]

    async def run():
        body = {"model": "names", "messages": messages}
        reply = await ask(app(names), "/v1/chat/completions", body)
        [choice] = reply.json["choices"]
        assert choice["message"]["content"] == ", ".join(f"{role} {name}" for role, name in said)

    asyncio.run(run())


@every_wire
def test_no_wire_answers_without_the_key_and_each_answers_with_it(wire: Wire):
    application = app(parrot, ServingSettings(token=Secret(KEY)))

    async def run():
        arguments, more = wire.asking("parrot")
        for wrong in (
            {},
            {"authorization": "Bearer other"},
            {"x-api-key": KEY[:-1]},
            {"authorization": f"Basic {KEY}"},
        ):
            reply = await ask(application, *arguments, **(more | {"headers": more["headers"] | wrong}))
            assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")
            assert KEY not in reply.body.decode()
        own = wire.protocol.write_request().authorize(KEY, wire.key_kind)
        for right in ({"authorization": f"Bearer {KEY}"}, {"authorization": f"bearer  {KEY}"}, {"x-api-key": KEY}, own):
            reply = await ask(application, *arguments, **(more | {"headers": more["headers"] | right}))
            assert reply.status == 200

    asyncio.run(run())


def test_a_function_of_the_owner_may_say_who_asks():
    def who(headers):
        name = headers.get("x-team")
        return None if name is None else Caller(name)

    async def run():
        seen = []
        application = app(parrot, ServingSettings(authenticate=who))
        application.on_did_finish_answer(lambda answer: seen.append((answer.caller, answer.status)))
        for headers in ({}, {"x-team": "blue"}):
            await ask(application, "/v1/responses", {"model": "parrot", "input": "Hi"}, headers=headers)
        assert seen == [("", 401), ("blue", 200)]

    asyncio.run(run())


def test_the_key_is_asked_for_before_the_body_is_read():
    application = app(parrot, ServingSettings(token=Secret(KEY)))
    reply = asyncio.run(ask(application, "/v1/responses", b"this is no JSON"))
    assert reply.status == 401


@every_wire
def test_a_model_that_nobody_offers_is_refused_with_those_that_there_are(wire: Wire):
    arguments, more = wire.asking("cockatoo")
    reply = asyncio.run(ask(app(parrot), *arguments, **more))
    assert reply.status == 404
    assert b"cockatoo" in reply.body
    assert b"parrot" in reply.body


@one_test_for(
    ("path", "headers", "ids"),
    [
        ("/v1/models", {}, lambda said: [one["id"] for one in said["data"]]),
        ("/v1/models", {"anthropic-version": "2023-06-01"}, lambda said: [one["id"] for one in said["data"]][:1]),
        ("/models", {}, lambda said: [one["id"] for one in said["data"]]),
        ("/v1beta/models", {}, lambda said: [one["name"].removeprefix("models/") for one in said["models"]]),
        ("/api/tags", {}, lambda said: [one["name"] for one in said["models"]]),
    ],
)
def test_the_models_are_listed_on_every_wire(path, headers, ids):
    reply = asyncio.run(ask(app(parrot), path, headers=headers))
    assert reply.status == 200
    assert ids(reply.json) == ["parrot"]


@pytest.mark.parametrize(
    ("path", "body", "tokens"),
    [
        (
            "/v1/messages/count_tokens",
            {"model": "parrot", "messages": [{"role": "user", "content": "Hi"}]},
            lambda said: said["input_tokens"],
        ),
        (
            "/v1beta/models/parrot:countTokens",
            {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
            lambda said: said["totalTokens"],
        ),
    ],
)
def test_a_request_is_counted_as_its_provider_counts(path, body, tokens):
    reply = asyncio.run(ask(app(parrot), path, body))
    assert reply.status == 200
    assert 7 <= tokens(reply.json) <= 17  # the message, and what stands around a conversation


@pytest.mark.parametrize("base", ["", "/v1", "/v1/v1"])
def test_a_base_url_may_end_in_v1_or_not(base):
    body = {"model": "parrot", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    reply = asyncio.run(ask(app(parrot), f"{base}/messages", body))
    assert reply.json["content"][0]["text"] == "You said: Hi"


@pytest.mark.parametrize("mount", ["/llm", "/a b"])
def test_the_path_of_a_mount_is_no_part_of_the_path(mount):
    body = {"model": "parrot", "input": "Hi"}
    application = app(parrot)
    reply = asyncio.run(ask(application, "/v1/responses", body, root_path=mount))
    assert reply.status == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [("GET", "/v1/responses", 405, "POST"), ("POST", "/v2/responses", 404, None), ("GET", "/nothing", 404, None)],
)
def test_what_is_not_there_is_said_with_what_is(method, path, status, allow):
    reply = asyncio.run(ask(app(parrot), path, {} if method == "POST" else None, method=method))
    assert (reply.status, reply.headers.get("allow")) == (status, allow)
    assert "/v1/responses" in reply.body.decode()


@every_wire
def test_every_reply_has_the_id_of_its_request_in_every_header_that_clients_look_in(wire: Wire):
    async def run():
        for model in ("parrot", "unknown"):
            arguments, more = wire.asking(model)
            reply = await ask(app(parrot), *arguments, **more)
            assert reply.headers["x-request-id"] == reply.headers["request-id"] != ""

    asyncio.run(run())


@one_test_for(
    "providers",
    [None, [], {}, "parrot", [parrot, 3]],
    ids=["none", "no list", "no mapping", "a text", "a number"],
)
def test_what_is_no_provider_is_refused(providers):
    with pytest.raises(InvalidArgumentError, match="providers"):
        app(providers)


def test_models_of_several_providers_are_found_by_their_ids_and_the_later_of_two_by_its_name():
    @chat_model(id="parrot", name="Another")
    async def another(messages, options):
        del messages, options
        yield "another"

    application = app({"first": parrot, "second": another})

    async def run():
        said = {}
        for model in ("parrot", "second/parrot"):
            reply = await ask(application, "/v1/chat/completions", {"model": model, "messages": [HI]})
            said[model] = reply.json["choices"][0]["message"]["content"]
        assert said == {"parrot": "You said: Hi", "second/parrot": "another"}

    asyncio.run(run())


HI = {"role": "user", "content": "Hi"}


def test_a_page_of_the_owner_is_read_with_the_key():
    async def run():
        application = app(parrot, ServingSettings(token=Secret(KEY)))
        application.add_page("/metrics", lambda accept: ("text/plain", f"for {accept}".encode()))
        assert (await ask(application, "/metrics")).status == 401
        reply = await ask(application, "/metrics", headers={"authorization": f"Bearer {KEY}", "accept": "text/plain"})
        assert (reply.status, reply.headers["content-type"], reply.body) == (200, "text/plain", b"for text/plain")

    asyncio.run(run())


def test_a_listener_that_fails_keeps_nobody_else_from_hearing_of_an_answer(caplog):
    seen = []

    def fails(answer):
        raise RuntimeError("no room")

    async def run():
        application = app(parrot)
        application.on_did_finish_answer(fails)
        application.on_did_finish_answer(seen.append)
        await ask(application, "/responses", {"model": "parrot", "input": "Hi"})

    asyncio.run(run())
    assert [one.model for one in seen] == ["parrot"]
    assert "a listener of finished answers failed" in caplog.text


def test_each_request_for_an_answer_is_traced_from_its_head_to_what_is_known_of_it():
    seen = []

    class Trace:
        @contextmanager
        def calling(self, provider, model):
            seen.append(("calling", provider, model))
            yield
            seen.append("called")

        def finish(self, answer):
            seen.append(("finished", answer.status))

    def start(method, route, headers):
        seen.append((method, route, headers["traceparent"]))
        return Trace()

    async def run():
        application = app(parrot)
        application.trace_answers(start)
        for model in ("parrot", "cockatoo"):
            body = {"model": model, "input": "Hi"}
            await ask(application, "/responses", body, headers={"traceparent": "00-1-2-01"})
        await ask(application, "/v1/models")
        begun = ("POST", "/v1/responses", "00-1-2-01")
        assert seen == [begun, ("calling", "provider", "parrot"), "called", ("finished", 200), begun, ("finished", 404)]

    asyncio.run(run())
