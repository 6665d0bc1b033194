"""One connection of the server, spoken to with bare bytes."""

import asyncio
import json

from partstream.server.loopback import LoopbackLimits
from partstream_devtools.testing.replaying import Outcome
from rows import one_test_for
from testing.clients import body, raw_chunks, raw_exchange, raw_request, run

SMALL = LoopbackLimits(header_bytes=1000, body_bytes=1000, request_seconds=0.1)


def _reply(data):
    head, _, content = data.partition(b"\r\n\r\n")
    # To a client whose HTTP version is not known, HTTP/1.0 is spoken: no chunks.
    if b"chunked" in head:
        chunks, ended = raw_chunks(data)
        assert ended
        content = b"".join(chunks)
    return int(head.split()[1]), json.loads(content)["error"]["message"]


def _exchange(data, **settings):
    replies = []

    async def check(upstream, client):
        replies.append(await raw_exchange(upstream.port, data))

    run(check, **settings)
    return replies[0]


@one_test_for(
    ("data", "status", "expected"),
    [
        (b"\x16\x03\x01\x02\x00 this is no HTTP\r\n\r\n", 400, "HTTP/1.1"),
        (b"GET / HTTP/1.1\r\n\r\n", 400, "Host"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n", 400, "HTTP/1.1"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 2000, 431, "HTTP/1.1"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n", 413, "1,001 bytes"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + b"x" * 1001, 413, "1,001 bytes"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx", 408, "0.1 seconds"),
        (b"POST / HT", 408, "0.1 seconds"),
    ],
)
def test_what_is_no_request_is_answered_with_its_status_and_the_connection_is_closed(data, status, expected):
    got, message = _reply(_exchange(data, limits=SMALL))
    assert got == status
    assert expected in message


def test_a_connection_that_lies_idle_is_closed_without_a_word():
    assert _exchange(b"", limits=SMALL) == b""


def test_a_connection_is_used_for_one_request_after_another():
    request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    last = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    assert _exchange(request + request + last).count(b"HTTP/1.1 200") == 3


def test_a_client_of_http_1_0_is_answered_and_closed():
    reply = _exchange(b"GET /healthz HTTP/1.0\r\n\r\n")
    assert reply.startswith(b"HTTP/1.1 200")
    assert reply.endswith(b'{"status":"ok"}')


def test_a_client_that_waits_for_100_continue_gets_it():
    async def check(upstream, client):
        reader, writer = await asyncio.open_connection("127.0.0.1", upstream.port)
        content = json.dumps(body(stream=False)).encode()
        head = b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n"
        writer.write(head % len(content))
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 \r\n\r\n"
        writer.write(content)
        assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 200")
        writer.close()

    run(check)


def test_a_client_that_leaves_in_the_middle_of_its_request_leaves_nothing_behind():
    async def check(upstream, client):
        _, writer = await asyncio.open_connection("127.0.0.1", upstream.port)
        writer.write(b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx")
        writer.close()
        await writer.wait_closed()
        assert (await client.get("/models")).status_code == 200
        assert [request.path for request in upstream.requests] == ["/v1/models"]

    run(check)


def test_every_event_is_one_chunk_of_its_own():
    request = raw_request(body()).replace(b"Host: x", b"Host: x\r\nConnection: close")
    chunks, ended = raw_chunks(_exchange(request))
    assert ended
    assert len(chunks) == 26
    assert all(chunk.endswith(b"\n\n") and chunk.count(b"\n\n") == 1 for chunk in chunks)


def test_a_client_that_does_not_read_holds_the_server_up_and_is_noticed_when_it_leaves():
    async def check(upstream, client):
        _, writer = await asyncio.open_connection("127.0.0.1", upstream.port, limit=1)
        writer.write(raw_request(body("scenario:long=30000")))
        await upstream.until(lambda: upstream.open_streams == 1)
        writer.transport.abort()
        exchange = await upstream.wait_for_end()
        assert exchange.delivery.outcome is Outcome.CLIENT_CLOSED
        assert exchange.delivery.events_sent < 30_000

    run(check)


def test_a_client_that_sends_without_end_while_it_is_answered_is_dropped():
    async def check(upstream, client):
        _, writer = await asyncio.open_connection("127.0.0.1", upstream.port)
        writer.write(raw_request(body("fault:stall")) + b"x" * 300_000)
        assert (await upstream.wait_for_end()).delivery.outcome is Outcome.CLIENT_CLOSED
        writer.close()

    run(check)
