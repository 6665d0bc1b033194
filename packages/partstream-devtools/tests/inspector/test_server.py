"""The inspector's server, spoken to over its socket."""

import asyncio
import json
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest

from partstream_devtools.inspector.server import TOKEN_HEADER, Ending, ViewServer
from rows import one_test_for

SECONDS = 20
SAID = "what the model said"


@dataclass
class Source:
    """A view that the test changes; `None` in the queue ends it, an error is raised."""

    first: dict
    later: asyncio.Queue = field(default_factory=asyncio.Queue)
    bodies: dict = field(default_factory=dict)

    async def views(self):
        yield self.first
        while (view := await self.later.get()) is not None:
            if isinstance(view, Exception):
                raise view
            yield view

    def bytes_of(self, answer):
        return self.bodies.get(answer)


def view(*events):
    return {"title": SAID, "answers": [{"id": "1", "events": list(events)}]}


def page(nonce):
    return f"<!doctype html><script nonce={nonce}></script>"


@dataclass
class Asker:
    """Asks a server by bare bytes."""

    port: int
    token: str

    async def open(self, data):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(data)
        return reader, writer

    async def raw(self, data):
        """All that comes back until the server closes."""
        reader, writer = await self.open(data)
        try:
            return await reader.read()
        except ConnectionError:
            return b""
        finally:
            writer.close()

    def request(self, method, target, headers=None, body=b"", *, close=True):
        headers = {"Host": f"127.0.0.1:{self.port}", TOKEN_HEADER: self.token} | (headers or {})
        headers |= {"Content-Length": str(len(body))} if body or method == "POST" else {}
        headers |= {"Connection": "close"} if close else {}
        lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
        return "\r\n".join([f"{method} {target} HTTP/1.1", *lines, "", ""]).encode("latin-1") + body

    async def ask(self, method, target, headers=None, body=b""):
        """Status, headers and body."""
        return reply_of(await self.raw(self.request(method, target, headers, body)))


def reply_of(data):
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    return int(first.split()[1]), headers, body


def run(check, source=None, **settings):
    async def within():
        async with asyncio.timeout(SECONDS):
            shown = source or Source(view(1))
            async with ViewServer(shown, page, **settings) as server:
                address = urlsplit(server.url)
                await check(Asker(address.port, address.fragment), shown, server)

    asyncio.run(within())


async def next_event(reader):
    """The next server-sent event that is no comment, as a dictionary of its lines."""
    while True:
        lines = (await reader.readuntil(b"\n\n")).decode().split("\n")
        fields = dict(line.split(": ", 1) for line in lines if line and not line.startswith(":"))
        if fields:
            return fields


async def open_events(asker, last):
    data = asker.request("GET", "/events", {"Last-Event-ID": str(last)}, close=False)
    reader, writer = await asker.open(data)
    head = await reader.readuntil(b"\r\n\r\n")
    assert b" 200 " in head
    assert b"text/event-stream" in head
    return Unchunked(reader), writer


class Unchunked:
    """A body in chunks, as bytes."""

    def __init__(self, reader):
        self.reader = reader
        self.data = b""

    async def readuntil(self, end):
        while end not in self.data:
            size = int(await self.reader.readline(), 16)
            if size == 0:
                raise EOFError
            self.data += await self.reader.readexactly(size)
            await self.reader.readexactly(2)
        found, _, self.data = self.data.partition(end)
        return found + end


def test_the_page_holds_no_data_and_a_nonce_of_its_own_each_time():
    async def check(asker, source, server):
        replies = [await asker.ask("GET", "/", {TOKEN_HEADER: None}) for _ in range(2)]
        bodies = {body for _, _, body in replies}
        assert len(bodies) == 2
        for status, headers, body in replies:
            assert status == 200
            assert headers["content-type"] == "text/html; charset=utf-8"
            assert SAID.encode() not in body
            assert asker.token.encode() not in body

    run(check)


def test_the_url_has_the_token_in_its_fragment_which_no_browser_sends():
    async def check(asker, source, server):
        assert server.url == f"http://127.0.0.1:{asker.port}/#{asker.token}"
        assert len(asker.token) >= 43

    run(check)


def test_two_servers_share_neither_port_nor_token():
    async def check(asker, source, server):
        async with ViewServer(Source(view()), page) as other:
            address = urlsplit(other.url)
            assert (address.port, address.fragment) != (asker.port, asker.token)
            assert address.fragment != asker.token
            status, _, _ = await Asker(address.port, asker.token).ask("GET", "/view")
            assert status == 403

    run(check)


def test_the_view_comes_with_the_number_of_its_newest_change():
    async def check(asker, source, server):
        status, headers, body = await asker.ask("GET", "/view")
        assert status == 200
        assert json.loads(body) == {"number": 0, "view": view(1)}
        assert headers["content-type"] == "application/json"

    run(check)


REFUSED = {
    "no token": ("GET", "/view", {TOKEN_HEADER: None}, 403),
    "a wrong token": ("GET", "/view", {TOKEN_HEADER: "x" * 43}, 403),
    "the token in the query": ("GET", "/view?token={token}", {TOKEN_HEADER: None}, 403),
    "the token in the path": ("GET", "/{token}/view", {TOKEN_HEADER: None}, 403),
    "the token in a cookie": ("GET", "/view", {TOKEN_HEADER: None, "Cookie": "partstream-token={token}"}, 403),
    "changes without the token": ("GET", "/events", {TOKEN_HEADER: None}, 403),
    "bytes without the token": ("GET", "/bytes?answer=1", {TOKEN_HEADER: None, "Range": "bytes=0-1"}, 403),
    "another host": ("GET", "/view", {"Host": "rebound.example:{port}"}, 421),
    "another host for the page": ("GET", "/", {"Host": "rebound.example:{port}"}, 421),
    "another origin": ("GET", "/view", {"Origin": "https://site.example"}, 403),
    "no origin of a file": ("POST", "/stop", {"Origin": "null", "Content-Type": "application/json"}, 403),
    "another local page": ("GET", "/view", {"Origin": "http://127.0.0.1:1"}, 403),
    "a fetch of another site": ("GET", "/view", {"Sec-Fetch-Site": "cross-site"}, 403),
    "a question before a foreign request": ("OPTIONS", "/view", {"Origin": "https://site.example"}, 403),
    "above the root": ("GET", "/../../etc/passwd", {}, 404),
    "above the root, escaped": ("GET", "/%2e%2e/%2e%2e/etc/passwd", {}, 404),
    "a file of the package": ("GET", "/page/state.js", {}, 404),
    "an absolute target": ("GET", "http://127.0.0.1:{port}/view", {}, 404),
    "a read by POST": ("POST", "/view", {"Content-Type": "application/json"}, 405),
    "an action by GET": ("GET", "/stop", {}, 405),
    "TRACE": ("TRACE", "/view", {}, 405),
    "a form": ("POST", "/stop", {"Content-Type": "application/x-www-form-urlencoded"}, 415),
    "no range": ("GET", "/bytes?answer=1", {}, 416),
    "two ranges": ("GET", "/bytes?answer=1", {"Range": "bytes=0-1,3-4"}, 416),
    "a range from the end": ("GET", "/bytes?answer=1", {"Range": "bytes=-5"}, 416),
    "an open range": ("GET", "/bytes?answer=1", {"Range": "bytes=0-"}, 416),
    "a range backwards": ("GET", "/bytes?answer=1", {"Range": "bytes=5-1"}, 416),
    "a range behind the end": ("GET", "/bytes?answer=1", {"Range": "bytes=3000000-3000001"}, 416),
    "too long a range": ("GET", "/bytes?answer=1", {"Range": "bytes=0-1048576"}, 416),
    "digits without end": ("GET", "/bytes?answer=1", {"Range": f"bytes=0-{'9' * 5000}"}, 416),
    "bytes of no answer": ("GET", "/bytes?answer=..%2f1", {"Range": "bytes=0-1"}, 404),
}


@one_test_for("name", REFUSED)
def test_it_is_refused_with_a_sentence_and_without_data(name):
    method, target, headers, expected = REFUSED[name]

    async def check(asker, source, server):
        def filled(text):
            return text and text.format(token=asker.token, port=asker.port)

        filled_headers = {key: filled(value) for key, value in headers.items()}
        status, reply_headers, body = await asker.ask(method, filled(target), filled_headers)
        assert status == expected
        assert json.loads(body)["error"]
        assert SAID.encode() not in body
        assert asker.token.encode() not in body
        assert not [header for header in reply_headers if header.startswith("access-control-")]

    run(check, Source(view(1), bodies={"1": b"x" * 3_000_000}))


UNREADABLE = {
    "no HTTP": (b"\x16\x03\x01\x02\x00\r\n\r\n", 400),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "two hosts": (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: rebound.example\r\n\r\n", 400),
    "too large a head": (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 20_000, 431),
    "too large a body": (b"POST /stop HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\n", 413),
    "two lengths": (
        b"POST /stop HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        400,
    ),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
}


@one_test_for("name", UNREADABLE)
def test_what_is_unreadable_or_too_large_is_refused_and_the_server_goes_on(name):
    data, expected = UNREADABLE[name]

    async def check(asker, source, server):
        status, _, body = reply_of(await asker.raw(data))
        assert status == expected
        assert b'{"error":"' in body
        assert (await asker.ask("GET", "/view"))[0] == 200

    run(check)


def test_no_answer_speaks_of_cors_sets_a_cookie_or_may_be_framed_or_kept():
    async def check(asker, source, server):
        for target in ("/", "/view", "/nowhere"):
            _, headers, _ = await asker.ask("GET", target, {"Origin": f"http://127.0.0.1:{asker.port}"})
            assert headers["cache-control"] == "no-store"
            assert headers["content-security-policy"] == "frame-ancestors 'none'"
            assert headers["cross-origin-resource-policy"] == "same-origin"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["x-content-type-options"] == "nosniff"
            assert not headers.keys() & {"set-cookie", "access-control-allow-origin", "vary", "server"}

    run(check)


def test_of_too_many_idle_connections_the_oldest_gives_way_and_the_others_go_on():
    async def check(asker, source, server):
        opened = [await asker.open(b"") for _ in range(32)]
        assert b" 200 " in await asker.raw(asker.request("GET", "/view"))
        assert await opened[0][0].read() == b""
        reader, writer = opened[1]
        writer.write(asker.request("GET", "/view"))
        assert b" 200 " in await reader.read()
        for _, writer in opened:
            writer.close()

    run(check)


def test_large_bytes_are_read_by_ranges():
    body = bytes(range(256)) * 8192

    async def check(asker, source, server):
        status, headers, data = await asker.ask("GET", "/bytes?answer=1", {"Range": "bytes=1000-1099"})
        assert (status, data) == (206, body[1000:1100])
        assert headers["content-range"] == f"bytes 1000-1099/{len(body)}"
        status, headers, data = await asker.ask(
            "GET", "/bytes?answer=1", {"Range": f"bytes={len(body) - 3}-{len(body)}"}
        )
        assert (status, data) == (206, body[-3:])

    run(check, Source(view(), bodies={"1": body}))


def test_changes_are_sent_as_they_come_and_the_end_is_said():
    async def check(asker, source, server):
        await asker.ask("GET", "/view")
        reader, writer = await open_events(asker, 0)
        source.later.put_nowait(view(1, 2))
        event = await next_event(reader)
        assert (event["id"], event["event"]) == ("1", "change")
        assert json.loads(event["data"])["answers"][0]["tails"] == {"events": [1, [2]]}
        source.later.put_nowait(view(1, 2, 3))
        assert (await next_event(reader))["id"] == "2"
        source.later.put_nowait(None)
        assert (await next_event(reader))["event"] == "end"
        writer.close()

    run(check)


def test_who_comes_back_gets_what_it_missed():
    async def check(asker, source, server):
        await asker.ask("GET", "/view")
        reader, writer = await open_events(asker, 0)
        source.later.put_nowait(view(1, 2))
        assert (await next_event(reader))["id"] == "1"
        writer.transport.abort()
        for last in range(3, 6):
            source.later.put_nowait(view(*range(1, last + 1)))
        reader, writer = await open_events(asker, 1)
        assert [(await next_event(reader))["id"] for _ in range(3)] == ["2", "3", "4"]
        writer.close()

    run(check)


@one_test_for("last", ["7", "-1", "", "x", "9" * 5000, "\xb2"])
def test_who_comes_back_with_a_number_that_is_unknown_reads_the_view_again(last):
    async def check(asker, source, server):
        await asker.ask("GET", "/view")
        reader, writer = await open_events(asker, last)
        assert (await next_event(reader))["event"] == "reset"
        with pytest.raises(EOFError):
            await next_event(reader)
        writer.close()

    run(check)


def test_a_person_stops_the_server_in_the_page():
    async def check(asker, source, server):
        ended = asyncio.create_task(server.ended())
        status, _, _ = await asker.ask("POST", "/stop", {"Content-Type": "application/json"}, b"{}")
        assert status == 200
        assert await ended is Ending.STOPPED

    run(check)


def test_it_ends_when_nobody_asks_for_long_enough():
    async def check(asker, source, server):
        await asker.ask("GET", "/", {TOKEN_HEADER: None})
        assert await server.ended() is Ending.IDLE

    run(check, idle_seconds=0.05)


def test_it_does_not_end_while_somebody_follows_the_changes():
    async def check(asker, source, server):
        await asker.ask("GET", "/view")
        reader, writer = await open_events(asker, 0)
        ended = asyncio.create_task(server.ended())
        done, _ = await asyncio.wait({ended}, timeout=0.3)
        assert not done
        source.later.put_nowait(None)
        assert (await next_event(reader))["event"] == "end"
        writer.close()
        assert await ended is Ending.IDLE

    run(check, idle_seconds=0.1)


def test_what_its_source_raises_ends_it_and_is_raised():
    async def within():
        source = Source(view())
        source.later.put_nowait(OSError("the file went"))
        with pytest.raises(OSError, match="the file went"):
            async with asyncio.timeout(SECONDS), ViewServer(source, page) as server:
                await server.ended()

    asyncio.run(within())
