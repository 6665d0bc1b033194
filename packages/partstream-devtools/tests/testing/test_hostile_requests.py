"""Requests that attack a server: each is refused or answered, nothing is smuggled, and the upstream goes on."""

import asyncio
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from partstream.codec.limits import MOST_VALUES
from partstream_devtools.testing import replaying
from partstream_devtools.testing.upstream import ReplayUpstream
from rows import one_test_for


def body_of(text: str = "Hi", **more: object) -> bytes:
    return json.dumps({"model": "text", "input": text, "stream": False, **more}).encode()


BODY = body_of()
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"


def request(
    headers: bytes,
    body: bytes = b"",
    *,
    line: bytes = b"POST /v1/responses HTTP/1.1",
    host: bytes = b"Host: h\r\n",
) -> bytes:
    return line + b"\r\n" + host + headers + b"\r\n" + body


def whole(body: bytes, more: bytes = b"") -> bytes:
    return request(b"Content-Length: %d\r\n" % len(body) + more, body)


REFUSED = {
    "a length and chunks": (request(LENGTH + CHUNKED, CHUNKS + SMUGGLED), 400),
    "chunks and a length": (request(CHUNKED + b"Content-Length: 5\r\n", CHUNKS + SMUGGLED), 400),
    "chunks in a folded header": (request(b"Transfer-Encoding:\r\n chunked\r\n" + LENGTH, CHUNKS + SMUGGLED), 400),
    "chunks in HTTP/1.0": (request(CHUNKED, CHUNKS + SMUGGLED, line=b"POST /v1/responses HTTP/1.0"), 400),
    "chunks twice": (request(CHUNKED * 2, CHUNKS + SMUGGLED), 501),
    "another encoding": (request(b"Transfer-Encoding: gzip, chunked\r\n", CHUNKS + SMUGGLED), 501),
    "an encoding that looks like chunks": (request(b"Transfer-Encoding: xchunked\r\n", CHUNKS + SMUGGLED), 501),
    "a blank before the colon": (request(b"Transfer-Encoding : chunked\r\n" + LENGTH, CHUNKS + SMUGGLED), 400),
    "a vertical tab": (request(b"Transfer-Encoding: \x0bchunked\r\n" + LENGTH, CHUNKS + SMUGGLED), 400),
    "two lengths": (request(LENGTH + b"Content-Length: 3\r\n", BODY + SMUGGLED), 400),
    "a length with a sign": (request(b"Content-Length: +3\r\n", b"abc" + SMUGGLED), 400),
    "a negative length": (request(b"Content-Length: -1\r\n", SMUGGLED), 400),
    "a length of 5,000 digits": (request(b"Content-Length: " + b"9" * 5000 + b"\r\n"), 400),
    "a length that no memory has": (request(b"Content-Length: 99999999999999999999\r\n"), 413),
    "a chunk of negative size": (request(CHUNKED, b"-5\r\nabc"), 400),
    "no host": (request(LENGTH, BODY, host=b""), 400),
    "two hosts": (request(LENGTH + b"Host: evil\r\n", BODY), 400),
    "a carriage return in a header": (request(LENGTH + b"X: a\rb\r\n", BODY), 400),
    "a null in a header": (request(LENGTH + b"X: a\0b\r\n", BODY), 400),
    "20,000 headers": (request(b"".join(b"X-%d: a\r\n" % number for number in range(20_000))), 431),
    "HTTP/2 by name": (request(LENGTH, BODY, line=b"POST /v1/responses HTTP/2.0"), 505),
    "HTTP/2 by its preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"a" * 200 + b"\r\n\r\n", 400),
}
ANSWERED = {
    "a file above the root": (request(b"", line=b"GET /v1/../../etc/passwd HTTP/1.1"), 404),
    "an escaped path": (request(b"", line=b"GET /%2e%2e/%00 HTTP/1.1"), 404),
    "another host in the line": (request(LENGTH, BODY, line=b"POST http://evil/v1/responses HTTP/1.1"), 404),
    "a tunnel": (request(b"", line=b"CONNECT evil:443 HTTP/1.1"), 404),
    "HEAD": (request(b"", line=b"HEAD /v1/models HTTP/1.1"), 200),
    "HEAD of nothing": (request(b"", line=b"HEAD /nothing HTTP/1.1"), 404),
    "a body of 100,000 levels": (whole(b'{"input":' + b"[" * 100_000 + b"]" * 100_000 + b"}"), 400),
    "calls of 100,000 levels": (whole(body_of('call:f{"a":' + '{"a":' * 100_000)), 200),
    "NaN": (whole(BODY[:-1] + b',"temperature":NaN}'), 400),
    "Infinity": (whole(BODY[:-1] + b',"temperature":-Infinity}'), 400),
    "a number of 5,000 digits": (whole(BODY[:-1] + b',"max_output_tokens":' + b"9" * 5000 + b"}"), 400),
    "half a character": (whole(b'{"model":"\\ud800","input":"\\ud800","stream":false}'), 200),
    "no UTF-8": (whole(b'{"model":"\xff"}'), 400),
    "a line end in the model": (whole(body_of(model="a\r\nX-Injected: 1")), 200),
    "a scenario of 5,000 digits": (whole(body_of("scenario:long=" + "9" * 5000)), 400),
    "a scenario without end": (whole(body_of("scenario:long=999999999999")), 400),
    "a pace of 5,000 digits": (whole(BODY, b"X-Partstream-Pace-Ms: " + b"9" * 5000 + b"\r\n"), 400),
    "a pace in superscript": (whole(BODY, "X-Partstream-Pace-Ms: ²\r\n".encode("latin-1")), 400),
    "a date too far away": (whole(body_of(f"fault:status=429:{'9' * 30}:date")), 400),
    "a header in a fault": (whole(BODY, b"X-Partstream-Fault: status=429:5%0d%0aX-Injected: 1\r\n"), 400),
    "pieces without end": (whole(body_of(f"fault:split={'9' * 5000}")), 400),
}


async def exchange(upstream: ReplayUpstream, data: bytes) -> bytes:
    """What the upstream answers until it closes the connection, which it must."""
    reader, writer = await asyncio.open_connection("127.0.0.1", upstream.port)
    try:
        writer.write(data)
        async with asyncio.timeout(20):
            return await reader.read()
    finally:
        writer.transport.abort()


def statuses(answer: bytes) -> list[int]:
    return [int(one[:3]) for one in answer.split(b"HTTP/1.1 ")[1:] if one[:3].isdigit()]


async def is_alive(upstream: ReplayUpstream) -> bool:
    answer = await exchange(upstream, request(b"Connection: close\r\n", line=b"GET /healthz HTTP/1.1"))
    return statuses(answer) == [200]


@one_test_for(("data", "status"), REFUSED.values(), ids=REFUSED)
def test_it_is_refused_and_its_connection_closed(data: bytes, status: int):
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            assert statuses(await exchange(upstream, data))[:1] == [status]
            assert not upstream.requests
            assert await is_alive(upstream)

    asyncio.run(test())


@one_test_for(("data", "status"), ANSWERED.values(), ids=ANSWERED)
def test_it_is_answered_and_the_upstream_goes_on(data: bytes, status: int):
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            reader, writer = await asyncio.open_connection("127.0.0.1", upstream.port)
            writer.write(data)
            async with asyncio.timeout(20):
                head = await reader.readuntil(b"\r\n\r\n")
            writer.transport.abort()
            assert statuses(head) == [status]
            assert b"x-injected" not in head.lower()
            assert await is_alive(upstream)

    asyncio.run(test())


def test_what_a_page_of_a_site_sends_is_refused_and_little_of_it_is_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(replaying, "_KEPT_BYTES", 3 * len(BODY))
    foreign = b"Origin: https://evil.example\r\nContent-Type: text/plain\r\n"

    async def test() -> None:
        async with ReplayUpstream() as upstream:
            for body in [BODY] * 5 + [b"[" + b"[]," * MOST_VALUES + b"1]"]:
                reader, writer = await asyncio.open_connection("127.0.0.1", upstream.port)
                writer.write(whole(body, foreign))
                async with asyncio.timeout(20):
                    assert statuses(await reader.readuntil(b"\r\n\r\n")) == [403]
                writer.transport.abort()
                assert len(upstream.exchanges) <= 3
            assert [one.body for one in upstream.requests] == [None]

    asyncio.run(test())


PIECES = st.sampled_from(
    [b"POST /v1/responses HTTP/1.1\r\n", b"GET / HTTP/1.1\r\n", b"Host: h\r\n", LENGTH, CHUNKED, b"\r\n", BODY, CHUNKS]
)


@given(data=st.lists(PIECES | st.binary(max_size=8), max_size=12).map(b"".join))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_bytes_break_the_upstream(data: bytes):
    async def test() -> None:
        async with ReplayUpstream() as upstream:  # raises what broke in it
            _, writer = await asyncio.open_connection("127.0.0.1", upstream.port)
            writer.write(data)
            writer.write_eof()
            assert await is_alive(upstream)
            writer.transport.abort()

    asyncio.run(test())
