"""The replay upstream as its owner sees it: what came, what is under way, and when a client has left."""

import asyncio
import socket
import time

import httpx2
import pytest

from partstream.errors import CallerError
from partstream_devtools.testing.replaying import Outcome
from partstream_devtools.testing.upstream import ReplayUpstream
from testing.clients import body, free_port, raw_request, run, serving


def test_requests_are_kept_in_order_with_secrets_redacted():
    async def check(upstream, client):
        headers = {"Authorization": "Bearer sk-1", "X-Api-Key": "sk-2", "Cookie": "sk-3", "X-Other": "seen"}
        await client.post("/responses?x=1", json=body("one"), headers=headers)
        await client.post("/responses", content=b"no json", headers={"Authorization": "sk-4"})
        await client.get("/models")
        first, second, third = upstream.requests
        assert (first.number, first.method, first.path, first.body) == (1, "POST", "/v1/responses", body("one"))
        assert first.headers["authorization"] == "Bearer [redacted]"
        assert first.headers["x-other"] == "seen"
        assert (second.body, second.headers["authorization"]) == (None, "[redacted]")
        assert (third.number, third.method, third.body) == (3, "GET", None)
        assert "sk-" not in repr(upstream.exchanges)

    run(check)


@pytest.mark.parametrize(
    ("request_text", "events"),
    [("fault:stall_before_headers", 0), ("fault:stall=3", 3), ("fault:keep_open", 25), ("pace:60000", 5)],
)
def test_a_client_that_closes_in_the_middle_is_seen_before_the_next_piece_is_due(request_text, events):
    async def check(upstream, client):
        _, writer = await asyncio.open_connection("127.0.0.1", upstream.port)
        writer.write(raw_request(body(request_text)))
        await upstream.until(lambda: upstream.exchanges and upstream.exchanges[0].delivery.events_sent == events)
        writer.close()
        exchange = await upstream.wait_for_end()
        assert exchange.delivery.outcome is Outcome.CLIENT_CLOSED
        assert exchange.delivery.events_sent == events
        assert upstream.open_streams == 0

    run(check)


def test_a_client_that_resets_the_connection_is_seen_as_well():
    async def check(upstream, client):
        _, writer = await asyncio.open_connection("127.0.0.1", upstream.port)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        writer.write(raw_request(body("fault:stall")))
        await upstream.until(lambda: upstream.open_streams == 1)
        writer.transport.abort()
        assert (await upstream.wait_for_end()).delivery.outcome is Outcome.CLIENT_CLOSED

    run(check)


def test_it_is_known_how_many_events_a_stalled_reply_has_sent():
    async def check(upstream, client):
        async with client.stream("POST", "/responses", json=body("fault:stall=7")):
            await upstream.until(lambda: upstream.exchanges[0].delivery.events_sent == 7)
            assert upstream.open_streams == 1
            assert upstream.exchanges[0].delivery.outcome is None

    run(check)


def test_a_whole_answer_is_told_apart_from_a_client_that_left():
    async def check(upstream, client):
        await client.post("/responses", json=body())
        exchange = await upstream.wait_for_end()
        assert exchange.delivery.outcome is Outcome.WHOLE
        assert exchange.delivery.events_sent == 25
        assert exchange.started_at <= exchange.delivery.ended_at <= time.monotonic()

    run(check)


def test_an_event_is_made_when_it_is_sent():
    async def check(upstream, client):
        async with client.stream("POST", "/responses", json=body("scenario:long=1000000")) as response:
            await anext(response.aiter_raw())
        exchange = await upstream.wait_for_end()
        assert exchange.delivery.outcome is Outcome.CLIENT_CLOSED
        assert 0 < exchange.delivery.events_sent < 1_000_000

    run(check)


def test_a_wait_has_a_bound_and_says_what_there_was():
    async def check(upstream, client):
        async with client.stream("POST", "/responses", json=body("fault:stall=2")):
            with pytest.raises(TimeoutError, match="events_sent=2"):
                await upstream.wait_for_end(timeout=0.05)
        with pytest.raises(TimeoutError, match=r"0\.05 seconds"):
            await upstream.until(lambda: False, timeout=0.05)

    run(check)


def test_one_can_wait_for_a_request_that_has_not_come_yet():
    async def check(upstream, client):
        waiting = asyncio.create_task(upstream.wait_for_end())
        await asyncio.sleep(0)
        await client.get("/models")
        assert (await waiting).request.path == "/v1/models"

    run(check)


def test_the_end_of_every_exchange_is_announced():
    async def check(upstream, client):
        ended = []
        upstream.on_did_finish_exchange(ended.append)
        await client.post("/responses", json=body())
        await client.get("/models")
        await upstream.wait_for_end(2)
        assert ended == upstream.exchanges

    run(check)


def test_many_streams_at_once_do_not_mix():
    async def check(upstream, client):
        async def ask(number):
            text = f'scenario:tools call:echo{{"number":{number}}} pace:1'
            return (await client.post("/responses", json=body(text))).text

        answers = await asyncio.gather(*map(ask, range(50)))
        for number, answer in enumerate(answers):
            assert f'{{\\"number\\":{number}}}' in answer
            assert answer.endswith("data: [DONE]\n\n")

    run(check)


def test_the_end_of_the_block_ends_what_is_under_way():
    async def check():
        async with serving() as (upstream, client):
            request = asyncio.create_task(client.post("/responses", json=body("fault:stall")))
            await upstream.until(lambda: upstream.open_streams == 1)
            await upstream.__aexit__(None, None, None)
            assert upstream.exchanges[0].delivery.outcome is Outcome.STOPPED
            assert upstream.open_streams == 0
            (error,) = await asyncio.gather(request, return_exceptions=True)
            assert isinstance(error, Exception)

    asyncio.run(check())


def test_a_reply_that_the_client_has_whole_is_whole_also_when_the_upstream_is_stopped_in_that_moment():
    async def check():
        async with ReplayUpstream() as upstream:
            reader, writer = await asyncio.open_connection("127.0.0.1", upstream.port)
            writer.write(raw_request(body()))
            await reader.readuntil(b"\r\n0\r\n\r\n")
            await upstream.__aexit__(None, None, None)
            assert upstream.exchanges[0].delivery.outcome is Outcome.WHOLE
            writer.close()

    asyncio.run(check())


def test_only_the_last_1000_exchanges_are_kept():
    async def check(upstream, client):
        _, writer = await asyncio.open_connection("127.0.0.1", upstream.port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 1005)
        await upstream.wait_for_end(1005, timeout=30)
        writer.close()
        assert [request.number for request in upstream.requests] == list(range(6, 1006))

    run(check)


def test_it_listens_on_loopback_at_the_port_that_was_asked_for():
    async def check():
        port = free_port()
        async with ReplayUpstream(port=port) as upstream:
            assert upstream.base_url == f"http://127.0.0.1:{port}/v1"
            assert upstream.port == port

    asyncio.run(check())


def test_outside_its_block_it_has_no_address():
    with pytest.raises(CallerError, match="async with"):
        _ = ReplayUpstream().base_url


def test_an_upstream_of_one_protocol_knows_the_paths_of_no_other():
    async def check():
        async with ReplayUpstream(protocols={"chat-completions"}) as upstream, httpx2.AsyncClient() as client:
            host = upstream.base_url_of("chat-completions").removesuffix("/v1")
            paths = ("/v1/models", "/v1/chat/completions", "/v1/responses", "/v4/ai/config")
            return {path: (await client.request("GET", host + path)).status_code for path in paths}

    assert asyncio.run(check()) == {
        "/v1/models": 200,
        "/v1/chat/completions": 405,
        "/v1/responses": 404,
        "/v4/ai/config": 404,
    }
