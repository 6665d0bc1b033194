"""How a server behaves: towards a client that leaves or reads slowly, a provider that is silent, and its own end."""

from __future__ import annotations
import asyncio
import json

import pytest

from openresponses_schema import validate_event
from partstream.errors import UpstreamHTTPError
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import FinishReason, TextPart, UnifiedFinishReason
from partstream.lm.provider import DrainingProgress
from partstream.server.application import app
from partstream.server.settings import ServingSettings
from partstream.upstream.endpoint import Secret
from rows import one_test_for
from serving.asgi import WAIT, Taken, ask, call
from serving.providers import Driven, deaf, silent
from serving.wires import WIRES, Wire

every_wire = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
CHAT = "/v1/chat/completions"


def body(*, stream: bool = True, model: str = "m") -> dict:
    return {"model": model, "messages": [{"role": "user", "content": "Hi"}], "stream": stream}


async def within(waiting):
    async with asyncio.timeout(WAIT):
        return await waiting


# ---- a client that leaves ----


@every_wire
@one_test_for("stream", [True, False], ids=["stream", "document"])
def test_a_client_that_leaves_cancels_a_silent_provider_on_every_wire(wire: Wire, stream: bool):
    async def run():
        provider = Driven(silent)
        application = app(provider)
        arguments, more = wire.asking("m", stream=stream)
        request = call(application, *arguments, **more)
        await within(provider.begun.wait())
        request.leave()
        await within(provider.cancelled.wait())
        await request.end()
        assert provider.events == ["begun", "cancelled", "returned"]
        assert request.messages == []
        assert application.open_answers == 0

    asyncio.run(run())


def test_a_client_that_leaves_in_the_middle_gets_nothing_more_and_its_provider_is_cancelled():
    async def answer(progress, token):
        progress.report(TextPart("one"))
        await silent(progress, token)
        progress.report(TextPart("too late"))

    async def run():
        provider = Driven(answer)
        request = call(app(provider), CHAT, body())
        await request.until(lambda: b"one" in request.body)
        request.leave()
        await request.end()
        assert provider.events == ["begun", "cancelled", "returned"]
        assert b"too late" not in request.body
        assert not request.is_whole

    asyncio.run(run())


def test_a_provider_that_ignores_its_token_is_cancelled_as_a_task():
    async def run():
        provider = Driven(deaf)
        application = app(provider, ServingSettings(stop_seconds=0.01))
        request = call(application, CHAT, body())
        await within(provider.begun.wait())
        request.leave()
        await request.end()
        assert provider.events == ["begun", "cancelled", "returned"]
        assert application.open_answers == 0

    asyncio.run(run())


def test_a_provider_that_cannot_be_stopped_is_given_up_and_named(caplog):
    release = asyncio.Event()

    async def answer(progress, token):
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    async def run():
        provider = Driven(answer)
        request = call(app({"stubborn": provider}, ServingSettings(stop_seconds=0.01)), CHAT, body())
        await within(provider.begun.wait())
        request.leave()
        await request.end()
        assert "stubborn/m did not stop" in caplog.text
        release.set()
        await within(provider.returned.wait())

    asyncio.run(run())


def test_a_server_that_raises_when_a_client_has_left_tells_it_too():
    async def answer(progress, token):
        progress.report(TextPart("one"))
        await silent(progress, token)

    async def run():
        provider, seen = Driven(answer), []
        application = app(provider)
        application.on_did_finish_answer(seen.append)
        request = call(application, CHAT, body(), breaks=OSError("gone"))
        await request.end()
        assert provider.events == ["begun", "cancelled", "returned"]
        assert [one.is_cancelled for one in seen] == [True]

    asyncio.run(run())


def test_a_server_that_fails_in_the_middle_of_an_answer_cancels_the_provider():
    async def answer(progress, token):
        progress.report(TextPart("one"))
        await silent(progress, token)

    async def run():
        provider = Driven(answer)
        application = app(provider)
        with pytest.raises(RuntimeError, match="no such message"):
            await call(application, CHAT, body(), breaks=RuntimeError("no such message")).end()
        await within(provider.returned.wait())
        assert provider.events == ["begun", "cancelled", "returned"]
        assert application.open_answers == 0

    asyncio.run(run())


def test_a_client_that_leaves_before_its_request_is_whole_is_forgotten():
    async def run():
        provider, seen = Driven(silent), []
        application = app(provider)
        application.on_did_finish_answer(seen.append)
        request = call(application, CHAT, chunks=[])
        request.leave()
        await request.end()
        assert (request.messages, provider.events) == ([], [])
        assert [(one.status, one.is_cancelled) for one in seen] == [(499, True)]

    asyncio.run(run())


# ---- a client that reads slowly ----


def test_a_slow_reader_pauses_the_provider_within_the_buffer():
    most = 4096
    sent = []

    async def answer(progress, token):
        assert isinstance(progress, DrainingProgress)
        for _ in range(200):
            progress.report(TextPart("x" * 100))
            sent.append(100)
            await progress.drain()

    async def run():
        provider = Driven(answer)
        request = call(app(provider, ServingSettings(buffer_bytes=most)), CHAT, body(), reads=False)
        await request.until(lambda: len(request.messages) == 2)
        for _ in range(100):
            await asyncio.sleep(0)
        paused_at = len(sent)
        assert 0 < paused_at * 100 < 2 * most
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(sent) == paused_at
        request.reading.set()
        await request.end()
        assert len(sent) == 200
        assert request.body.count(b"x" * 100) == 200

    asyncio.run(run())


def test_a_provider_that_never_waits_for_a_slow_reader_is_ended_with_an_error():
    async def answer(progress, token):
        while True:
            progress.report(TextPart("x" * 1000))

    async def run():
        provider = Driven(answer)
        settings = ServingSettings(buffer_bytes=1024, backlog_bytes=64 * 1024)
        request = await ask(app(provider, settings), CHAT, body())
        assert b"wait for a slow client" in request.body
        assert len(request.body) < 400_000
        assert provider.events == ["begun", "returned", "cancelled"]

    asyncio.run(run())


def test_a_client_that_takes_nothing_is_given_up_when_the_answer_has_taken_too_long():
    async def answer(progress, token):
        progress.report(TextPart("one"))
        await silent(progress, token)

    async def run():
        provider = Driven(answer)
        application = app(provider, ServingSettings(answer_seconds=0.05, stop_seconds=0.01))
        request = call(application, CHAT, body(), reads=False)
        await request.end()
        assert provider.events == ["begun", "cancelled", "returned"]
        assert not request.is_whole
        assert application.open_answers == 0

    asyncio.run(run())


def test_what_one_turn_of_the_loop_reports_is_one_send_and_the_first_part_is_not_held_back():
    async def answer(progress, token):
        progress.report(TextPart("first"))
        await progress.drain()
        for _ in range(50):
            progress.report(TextPart("more"))
            await progress.drain()

    async def run():
        request = await ask(app(Driven(answer)), CHAT, body())
        bodies = [one["body"] for one in request.messages[1:]]
        assert b"first" in bodies[0]
        assert b"more" not in bodies[0]
        assert len(bodies) <= 4
        assert request.body.count(b"more") == 50

    asyncio.run(run())


# ---- the head ----


@every_wire
@one_test_for("stream", [True, False], ids=["stream", "document"])
@one_test_for("reports", [True, False], ids=["reported", "raised"])
def test_a_provider_that_fails_before_its_first_part_is_an_http_status(wire: Wire, stream: bool, reports: bool):
    error = UpstreamHTTPError(429, provider_message="Slow down.", retry_after=12.0)

    async def answer(progress, token):
        if reports:
            progress.finish(Finish(Outcome.FAILED, error=error))
            return
        raise error

    async def run():
        arguments, more = wire.asking("m", stream=stream)
        reply = await ask(app(Driven(answer)), *arguments, **more)
        assert reply.status == 429
        assert reply.headers["retry-after"] == "12"
        assert reply.headers["content-type"].startswith("application/json")
        assert b"Slow down." in reply.body
        assert reply.headers["x-request-id"]

    asyncio.run(run())


def test_the_head_goes_out_after_a_while_and_a_failure_is_an_event_then():
    gate = asyncio.Event()

    async def answer(progress, token):
        await gate.wait()
        raise UpstreamHTTPError(500, provider_message="Broken.")

    async def run():
        provider = Driven(answer)
        request = call(app(provider, ServingSettings(head_seconds=0)), CHAT, body())
        await request.until(lambda: len(request.messages) == 2)
        assert request.status == 200
        assert request.body == b": keep-alive\n\n"
        gate.set()
        await request.end()
        assert b"Broken." in request.body
        assert request.is_whole

    asyncio.run(run())


def test_a_stream_has_the_headers_that_proxies_need():
    async def answer(progress, token):
        progress.report(TextPart("Hi"))

    reply = asyncio.run(ask(app(Driven(answer)), CHAT, body()))
    assert reply.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert reply.headers["cache-control"] == "no-cache"
    assert reply.headers["x-accel-buffering"] == "no"
    assert "content-encoding" not in reply.headers
    assert "content-length" not in reply.headers


# ---- a provider that is silent for long ----


def test_comments_keep_a_silent_stream_alive_and_stop_with_it():
    async def run():
        provider = Driven(silent)
        settings = ServingSettings(head_seconds=0, keep_alive_seconds=0.01)
        request = call(app(provider, settings), CHAT, body())
        await request.until(lambda: request.body.count(b": keep-alive\n\n") >= 3)
        request.leave()
        await request.end()
        assert request.body.replace(b": keep-alive\n\n", b"") == b""

    asyncio.run(run())


@every_wire
def test_silence_is_bridged_only_where_the_clients_of_a_wire_skip_what_bridges_it(wire: Wire):
    gate = asyncio.Event()

    async def answer(progress, token):
        await gate.wait()
        progress.report(TextPart("At last."))

    async def run():
        arguments, more = wire.asking("m")
        request = call(
            app(Driven(answer), ServingSettings(head_seconds=0, keep_alive_seconds=0.01)), *arguments, **more
        )
        await request.until(lambda: bool(request.messages))
        is_bridged = wire.name not in {"gemini", "ollama"}
        if is_bridged:
            await request.until(lambda: request.body.count(b": keep-alive\n\n") >= 2)
        gate.set()
        await request.end()
        assert (b"keep-alive" in request.body) is is_bridged
        said = [part.value for part in wire.read(request.body)[0] if isinstance(part, TextPart)]
        assert "".join(said) == "At last."

    asyncio.run(run())


def test_a_wire_with_an_event_for_it_sends_that_after_a_longer_silence():
    gate = asyncio.Event()

    async def answer(progress, token):
        await gate.wait()
        progress.report(TextPart("At last."))

    async def run():
        settings = ServingSettings(head_seconds=0, keep_alive_seconds=0.01, idle_event_seconds=0.01)
        request = call(app(Driven(answer), settings), "/v1/responses", {"model": "m", "input": "Hi", "stream": True})
        await request.until(lambda: request.body.count(b"event: response.in_progress\n") >= 3)
        gate.set()
        await request.end()
        events = [json.loads(line[6:]) for line in request.body.split(b"\n") if line.startswith(b"data: {")]
        assert [one["sequence_number"] for one in events] == list(range(len(events)))
        kinds = [one["type"] for one in events]
        assert kinds[0] == "response.created"
        assert kinds.count("response.created") == 1
        assert kinds[-1] == "response.completed"
        for event in events:
            validate_event(event)

    asyncio.run(run())


# ---- the end of the server ----


def test_a_server_that_is_stopped_refuses_new_answers_and_says_so():
    async def run():
        application = app(Driven(silent))
        application.is_draining = True
        reply = await ask(application, CHAT, body())
        assert reply.status == 503
        assert reply.headers["retry-after"] == "1"
        assert reply.headers["connection"] == "close"
        assert (await ask(application, "/healthz")).headers["x-request-id"]
        assert "connection" not in (await ask(application, CHAT, body(), http_version="2")).headers
        assert (await ask(application, "/readyz")).status == 503
        assert (await ask(application, "/v1/models")).status == 200

    asyncio.run(run())


def test_draining_waits_for_the_answers_that_run():
    gate = asyncio.Event()

    async def answer(progress, token):
        progress.report(TextPart("one"))
        await gate.wait()
        progress.report(TextPart("two"))

    async def run():
        application = app(Driven(answer))
        request = call(application, CHAT, body())
        await request.until(lambda: b"one" in request.body)
        draining = asyncio.create_task(application.drain(WAIT))
        await asyncio.sleep(0)
        assert not draining.done()
        gate.set()
        await within(draining)
        await request.end()
        assert b"two" in request.body
        assert request.body.endswith(b"data: [DONE]\n\n")

    asyncio.run(run())


@every_wire
@one_test_for("begun", [True, False], ids=["begun", "silent"])
def test_draining_ends_what_is_left_with_the_last_event_of_its_wire(wire: Wire, begun: bool):
    async def answer(progress, token):
        if begun:
            progress.report(TextPart("one"))
        await silent(progress, token)

    async def run():
        provider = Driven(answer)
        application = app(provider)
        arguments, more = wire.asking("m")
        request = call(application, *arguments, **more)
        await (request.until(lambda: b"one" in request.body) if begun else within(provider.begun.wait()))
        await within(application.drain(0))
        await request.end()
        assert request.is_whole
        assert provider.events == ["begun", "cancelled", "returned"]
        if not begun:
            assert request.status in {503, 529}
            return
        _, finish = wire.read(request.body)
        assert finish.outcome in {Outcome.FAILED, Outcome.INCOMPLETE}

    asyncio.run(run())


@pytest.mark.parametrize(
    ("path", "asked", "last"),
    [
        ("/v1/responses", {"input": "Hi"}, [b"event: response.incomplete\n", b'"reason":"server_stopped"', b"[DONE]"]),
        ("/v1/messages", {"messages": [{"role": "user", "content": "Hi"}]}, [b"event: error\n", b"overloaded_error"]),
        (CHAT, {"messages": [{"role": "user", "content": "Hi"}]}, [b'data: {"error":{', b"shutting down", b"[DONE]"]),
        ("/api/chat", {"messages": [{"role": "user", "content": "Hi"}]}, [b'{"error":', b"shutting down"]),
    ],
)
def test_a_stopped_stream_says_in_the_words_of_its_wire_that_it_is_not_whole(path, asked, last):
    async def answer(progress, token):
        progress.report(TextPart("one"))
        await silent(progress, token)

    async def run():
        application = app(Driven(answer))
        request = call(application, path, {"model": "m", "stream": True, **asked})
        await request.until(lambda: b"one" in request.body)
        await within(application.drain(0))
        await request.end()
        end = request.body.partition(b"one")[2]
        places = [end.find(one) for one in last]
        assert -1 not in places
        assert places == sorted(places)
        if path == "/v1/responses":
            for line in request.body.split(b"\n"):
                if line.startswith(b"data: {"):
                    validate_event(json.loads(line[6:]))

    asyncio.run(run())


def test_the_end_of_the_application_ends_what_still_runs():
    async def run():
        application = app(Driven(silent))
        messages = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
        sent = []

        async def receive():
            if len(messages) == 1:
                request = call(application, CHAT, body())
                while not application.open_answers:
                    await asyncio.sleep(0)
                requests.append(request)
            return messages.pop(0)

        async def send(message):
            sent.append(message["type"])

        requests = []
        await within(application({"type": "lifespan"}, receive, send))
        assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
        assert (await requests[0].end()).status in {503, 529}

    asyncio.run(run())


# ---- bounds ----


def test_a_body_that_is_too_large_is_refused_while_it_comes():
    async def run():
        settings = ServingSettings(body_bytes=1024)
        application = app(Driven(silent), settings)
        declared = await ask(application, CHAT, b"{}", headers={"content-length": "2000"})
        counted = await ask(application, CHAT, chunks=[b"x" * 1000, b"x" * 1000, b"never read"])
        assert declared.status == counted.status == 413
        assert declared.headers["connection"] == counted.headers["connection"] == "close"

    asyncio.run(run())


@pytest.mark.parametrize("key", ["wrong", None])
def test_a_client_that_still_sends_is_refused_when_it_can_read_the_reply(key):
    async def run():
        settings = ServingSettings(body_bytes=1024, token=Secret("right"))
        headers = {"authorization": f"Bearer {key or 'right'}", "content-length": "4000"}
        taken = []
        reply = await ask(app(Driven(silent), settings), CHAT, chunks=Taken([b"x" * 1000] * 4, taken), headers=headers)
        assert reply.status == (401 if key else 413)
        assert taken == [b"x" * 1000] * 4

    asyncio.run(run())


@pytest.mark.parametrize(
    ("pieces", "headers", "taken"),
    [
        (10, {}, 5),  # four times the largest body, and the piece in which that is noticed
        (2, {"expect": "100-continue", "content-length": "2048"}, 0),
    ],
    ids=["too much", "sends nothing unasked"],
)
def test_no_more_of_a_refused_body_is_taken_than_helps_a_client(pieces, headers, taken):
    async def run():
        seen = []
        settings = ServingSettings(body_bytes=1024)
        chunks = Taken([b"x" * 1024] * pieces, seen)
        reply = await ask(app(Driven(silent), settings), CHAT, chunks=chunks, headers=headers)
        assert reply.status == 413
        assert len(seen) == taken

    asyncio.run(run())


def test_a_declared_size_that_is_no_number_of_bytes_changes_nothing():
    reply = asyncio.run(ask(app(Driven(silent)), CHAT, {}, headers={"content-length": "9" * 5000}))
    assert (reply.status, reply.json["error"]["param"]) == (400, "messages")


def test_a_body_that_does_not_come_is_refused_in_time():
    async def run():
        request = call(app(Driven(silent), ServingSettings(body_seconds=0.01)), CHAT, chunks=[])
        await request.end()
        assert request.status in {408, 504}

    asyncio.run(run())


@one_test_for("data", [b"", b"{", b"[]", b"\xff", b'{"a": NaN}', b"[" * 100_000], ids=len)
def test_a_body_that_is_no_json_object_is_refused(data):
    reply = asyncio.run(ask(app(Driven(silent)), CHAT, data, method="POST"))
    assert reply.status == 400


def test_one_answer_more_than_may_run_is_refused_and_asked_to_come_again():
    async def run():
        provider = Driven(silent)
        application = app(provider, ServingSettings(concurrent_answers=1))
        first = call(application, CHAT, body())
        await within(provider.begun.wait())
        reply = await ask(application, CHAT, body())
        assert (reply.status, reply.headers["retry-after"]) == (503, "1")
        first.leave()
        await first.end()
        assert application.open_answers == 0

    asyncio.run(run())


def test_one_request_more_than_may_be_open_is_refused_before_its_body_is_read():
    async def run():
        application = app(Driven(silent), ServingSettings(concurrent_requests=1))
        first = call(application, CHAT, chunks=[])
        await asyncio.sleep(0)
        second = await ask(application, CHAT, b"this is no JSON")
        assert (second.status, second.headers["retry-after"]) == (503, "1")
        first.leave()
        await first.end()
        assert (await ask(application, "/v1/models")).status == 200

    asyncio.run(run())


def test_an_answer_that_takes_too_long_is_ended():
    async def run():
        provider = Driven(silent)
        request = await ask(app(provider, ServingSettings(answer_seconds=0.05)), CHAT, body())
        assert request.status == 504
        assert provider.events == ["begun", "cancelled", "returned"]

    asyncio.run(run())


def test_a_finish_that_says_incomplete_is_no_failure():
    async def answer(progress, token):
        progress.report(TextPart("one"))
        progress.finish(Finish(Outcome.INCOMPLETE, FinishReason(UnifiedFinishReason.LENGTH)))

    reply = asyncio.run(ask(app(Driven(answer)), CHAT, body(stream=False)))
    assert reply.json["choices"][0]["finish_reason"] == "length"
