"""The proxy over real sockets: what a client gets through it, what the server gets, and what is seen of it."""

import asyncio
import json

import pytest

from listening import accepting
from partstream_devtools.bundles.exchange import HowEnded
from partstream_devtools.testing.faults import FAULTS
from partstream_devtools.testing.replaying import Outcome
from partstream_devtools.testing.upstream import ReplayUpstream
from recorder.proxied import client, proxied, receive, run, without_times
from rows import one_test_for
from testing.clients import body

VALUES = {
    "status": ["=500", "=429:7"],
    "status_then_ok": ["=1"],
    "context_length": ["=600:700"],
    "stall_before_headers": ["=0.001"],
    "stall_before_events": ["=0.001"],
    "stall": ["=1:0.001"],
    "keep_open": ["=0.001"],
    "split": ["=7", "=50"],
    "missing": ["=response.created", "=response.completed"],
    "cut": ["", "=0"],
    "close": ["", "=0"],
}
ALL_FAULTS = [name + value for name in FAULTS for value in VALUES.get(name, [""])]
CUT = {"cut", "cut=0", "close", "close=0"}


@one_test_for("fault", ["", *ALL_FAULTS])
def test_bytes_through_the_proxy_are_the_bytes_of_the_server(fault):
    async def check(upstream, proxy, watching):
        asked = body(f"Hi fault:{fault}" if fault else "Hi")
        async with ReplayUpstream() as another:  # numbers its answers from the first one, as the one behind the proxy
            direct = await receive(f"{another.base_url}/responses", json=asked)
        through = await receive(f"{proxy.base_url}/responses", json=asked)
        assert without_times(through) == without_times(direct)
        seen = await watching.ended()
        assert seen.status == through.status
        if fault in CUT:
            # A reset may take bytes away that are on their way, with and without a proxy.
            assert seen.body.startswith(through.body)
            assert seen.how is HowEnded.CUT
        else:
            assert seen.body == through.body
            assert seen.how is (HowEnded.NO_RESPONSE if fault == "cut_before_headers" else HowEnded.WHOLE)
        assert (seen.error is None) == (seen.how is HowEnded.WHOLE)

    run(check)


@pytest.mark.parametrize("fault", ["stall", "stall=3", "keep_open", "stall_before_events"])
def test_a_silent_answer_comes_as_far_as_it_goes_and_is_cancelled_on_both_sides(fault):
    async def check(upstream, proxy, watching):
        async with ReplayUpstream() as another, asyncio.timeout(20):
            wanted = await receive(f"{another.base_url}/responses", json=body("Hi"))
        most = 0 if fault == "stall_before_events" else 100
        got = await receive(f"{proxy.base_url}/responses", json=body(f"Hi fault:{fault}"), most=most)
        assert without_times(got).body[:most] == without_times(wanted).body[:most]
        assert got.broke is None
        ended = await upstream.wait_for_end()
        assert ended.delivery.outcome is Outcome.CLIENT_CLOSED
        assert (await watching.ended()).how is HowEnded.CANCELLED

    run(check)


def test_the_server_sees_that_the_client_has_left_before_it_says_the_next_word():
    async def check(upstream, proxy, watching):
        got = await receive(f"{proxy.base_url}/responses", json=body("Hi pace:20000"), most=10)
        assert got.body
        # In five seconds at most: the next event is due in twenty.
        ended = await upstream.wait_for_end()
        assert ended.delivery.outcome is Outcome.CLIENT_CLOSED
        seen = await watching.ended()
        assert seen.how is HowEnded.CANCELLED
        assert seen.calls == ["sending", "head", *["chunk"] * len(seen.chunks), "end"]
        assert seen.times == sorted(seen.times)

    run(check)


def test_a_client_that_leaves_before_the_head_is_seen_too():
    async def check(upstream, proxy, watching):
        async with asyncio.timeout(10):
            asking = asyncio.create_task(
                receive(f"{proxy.base_url}/responses", json=body("Hi fault:stall_before_headers"))
            )
            await upstream.until(lambda: upstream.requests)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        assert (await upstream.wait_for_end()).delivery.outcome is Outcome.CLIENT_CLOSED
        assert (await watching.ended()).how is HowEnded.CANCELLED
        assert watching.seen[0].calls == ["sending", "end"]

    run(check)


def test_a_read_is_forwarded_before_the_next_one_comes():
    """The server waits for the client's word before it goes on: a proxy that holds a read back would wait for ever."""

    async def check():
        got = asyncio.Queue()

        async def serve(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 Fine\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            for number in range(5):
                writer.write(b"1\r\n%d\r\n" % number)
                assert await got.get() == b"%d" % number
            writer.write(b"0\r\n\r\n")

        async with accepting(serve) as url, proxied(url) as (proxy, watching), client() as asker:
            async with asker.stream("GET", f"{proxy.base_url}/x") as response:
                assert response.reason_phrase == "Fine"
                async for piece in response.aiter_raw():
                    await got.put(piece)
            seen = await watching.ended()
            assert seen.chunks == [b"0", b"1", b"2", b"3", b"4"]
            assert seen.how is HowEnded.WHOLE

    asyncio.run(_within(check()))


def test_a_slow_client_holds_the_server_up_and_not_the_memory_of_the_proxy():
    """The server writes without end; what the proxy has read of it stays below what the buffers of sockets take."""

    async def check():
        written = 0
        is_held_up = asyncio.Event()

        async def serve(reader, writer):
            nonlocal written
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            piece = b"10000\r\n" + bytes(0x10000) + b"\r\n"
            while True:
                writer.write(piece)
                draining = asyncio.create_task(writer.drain())
                done, _ = await asyncio.wait({draining}, timeout=0.5)
                if not done:
                    is_held_up.set()
                try:
                    await draining
                except ConnectionError:
                    return
                written += 0x10000

        async with accepting(serve) as url, proxied(url) as (proxy, watching):
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            await is_held_up.wait()
            assert written < 64 * 1024 * 1024
            writer.transport.abort()
            assert (await watching.ended()).how is HowEnded.CANCELLED
            assert reader is not None

    asyncio.run(_within(check()))


def test_several_clients_are_served_at_once_each_with_its_own_answer():
    async def check(upstream, proxy, watching):
        url = f"{proxy.base_url}/responses"
        asked = [receive(url, json=body(f"question {n}")) for n in range(8)]
        slow = asyncio.create_task(receive(url, json=body("Hi fault:stall"), most=100_000))
        answers = await asyncio.gather(*asked)
        assert all(answer.status == 200 and answer.broke is None for answer in answers)
        assert not slow.done()
        slow.cancel()
        await asyncio.gather(slow, return_exceptions=True)
        by_request = {json.loads(seen.request.body)["input"]: seen.body for seen in watching.seen}
        for n, answer in enumerate(answers):
            assert by_request[f"question {n}"] == answer.body
        assert sorted(seen.request.number for seen in watching.seen) == list(range(1, 10))

    run(check)


def test_a_client_keeps_its_connection_for_the_next_request():
    async def check(upstream, proxy, watching):
        async with client() as asker:
            for _ in range(3):
                response = await asker.post(f"{proxy.base_url}/responses", json=body("Hi"))
                assert response.status_code == 200
                assert proxy.open_connections == 1
        assert upstream.open_connections == 1  # and the proxy keeps its own to the server

    run(check)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/models", 200),
        ("HEAD", "/models", 200),
        ("GET", "/nothing/here", 404),
        ("POST", "/responses", 200),
        ("DELETE", "/models", 405),
    ],
)
def test_every_path_and_method_passes(method, path, status):
    async def check(upstream, proxy, watching):
        request = {"json": body("Hi", stream=False)} if method == "POST" else {}
        through = await receive(proxy.base_url + path, method, **request)
        async with ReplayUpstream() as another:
            direct = await receive(another.base_url + path, method, **request)
        assert without_times(through) == without_times(direct)
        assert through.status == status
        assert (await watching.ended()).how is HowEnded.WHOLE

    run(check)


async def _within(check):
    async with asyncio.timeout(30):
        await check
