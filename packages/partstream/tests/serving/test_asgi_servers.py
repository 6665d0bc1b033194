"""One application, unchanged under each server that teams run: the same bytes and the same manners."""

from __future__ import annotations
import asyncio
import re

import pytest

from partstream import chat_model
from partstream.lm.parts import DataPart, TextPart, ToolCallPart
from partstream.server.application import app
from serving.asgi import WAIT, ask
from serving.asgi_servers import SERVERS, Server, exchange, request_bytes, uvicorn_stopping
from serving.providers import Driven, silent

every_server = pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)

MESSAGES = [{"role": "user", "content": "Hi"}]
REQUESTS = {
    "/v1/chat/completions": {"model": "m", "messages": MESSAGES, "stream": True},
    "/v1/responses": {"model": "m", "input": "Hi", "stream": True},
    "/v1/messages": {"model": "m", "messages": MESSAGES, "max_tokens": 9},
    "/api/chat": {"model": "m", "messages": MESSAGES},
    "/v1beta/models/m:generateContent": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
    "/v1/messages/count_tokens": {"model": "unknown", "messages": MESSAGES},
    "/v1/nothing": {},
}


@chat_model(id="m", count_tokens=lambda _: 3)
async def speaking(messages, options):
    del messages, options
    for number in range(5):
        yield f"Word {number}. "
        await asyncio.sleep(0)
    yield ToolCallPart("call-1", "look", {"at": "this"})


def running(server: Server, work) -> None:
    with asyncio.Runner(loop_factory=server.loop) as runner:
        runner.run(work())


_OWN = re.compile(rb"[0-9a-f]{16,64}|(\d{10}\b)|\d{4}-\d\d-\d\dT[\d:.]+Z")
"""What differs between two replies to one request: ids and times."""


def masked(body: bytes) -> bytes:
    return _OWN.sub(b"OWN", body)


@every_server
def test_every_server_sends_the_bytes_of_the_application(server: Server):
    async def work():
        application = app(speaking)
        async with server.run(application) as port:
            for path, body in REQUESTS.items():
                own = await ask(application, path, body)
                reply = await exchange(port, request_bytes(server.base + path, body))
                assert (reply.status, masked(reply.body)) == (own.status, masked(own.body)), path
                there = {name: value for name, value in reply.headers.items() if name in own.headers}
                differing = {"x-request-id", "request-id", "content-length"}
                assert {name: there[name] for name in own.headers if name not in differing} == {
                    name: value for name, value in own.headers.items() if name not in differing
                }
                assert differing - {"content-length"} <= there.keys()

    running(server, work)


@every_server
def test_a_client_that_leaves_cancels_a_silent_provider_under_every_server(server: Server):
    async def work():
        provider = Driven(silent)
        async with server.run(app(provider)) as port, asyncio.timeout(WAIT):
            for stream in (True, False):
                provider.forget()
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                body = REQUESTS["/v1/chat/completions"] | {"stream": stream}
                writer.write(request_bytes(f"{server.base}/v1/chat/completions", body))
                await provider.begun.wait()
                writer.close()
                await provider.returned.wait()
                assert provider.events == ["begun", "cancelled", "returned"]

    running(server, work)


def test_uvicorn_cuts_no_stream_and_tells_of_no_client_that_left_when_it_is_stopped():
    """A version that sends `http.disconnect` then would turn every deployment into cancelled answers."""
    gate = asyncio.Event()

    async def answer(progress, token):
        progress.report(TextPart("one"))
        await progress.drain()
        await gate.wait()
        progress.report(TextPart("two"))

    async def work():
        provider = Driven(answer)
        async with asyncio.timeout(WAIT):
            async with uvicorn_stopping(app(provider)) as (port, stop):
                request = request_bytes("/v1/chat/completions", REQUESTS["/v1/chat/completions"])
                reading = asyncio.create_task(exchange(port, request))
                await provider.begun.wait()
                await stop()
                gate.set()
                reply = await reading
        assert provider.events == ["begun", "returned"]
        assert reply.body.endswith(b"data: [DONE]\n\n")
        assert b"two" in reply.body

    asyncio.run(work())


@pytest.mark.parametrize("server", SERVERS[:1], ids=lambda server: server.name)
def test_a_client_that_does_not_read_pauses_the_provider(server: Server):
    paused = asyncio.Event()
    piece = b"\x89PNG\r\n\x1a\n" + b"x" * 100_000  # an answer has less text than the kernel holds
    reported = []

    async def answer(progress, token):
        while not token.is_cancellation_requested:
            progress.report(DataPart(piece, "image/png"))
            reported.append(len(piece))
            caught_up = asyncio.ensure_future(progress.drain())
            if not (await asyncio.wait({caught_up}, timeout=0.2))[0]:
                paused.set()
            await caught_up

    async def work():
        provider = Driven(answer)
        async with server.run(app(provider)) as port, asyncio.timeout(WAIT):
            _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
            writer.transport.pause_reading()
            writer.write(request_bytes("/v1/chat/completions", REQUESTS["/v1/chat/completions"]))
            await paused.wait()
            assert sum(reported) < 32_000_000  # what the kernel holds, and a few pieces
            writer.transport.abort()
            await provider.cancelled.wait()

    running(server, work)
