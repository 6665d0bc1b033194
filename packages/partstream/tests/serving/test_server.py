"""The embedded server: its sockets, the limits of a connection, and its end; the application here is a few lines."""

import asyncio
import gc
import os
import socket
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from partstream.codec.limits import TURN_SECONDS
from partstream.lm.parts import TextPart
from partstream.server.application import app
from partstream.server.listening import (
    CannotListenError,
    ConnectionLimits,
    allow_files,
    is_loopback_address,
    listening_sockets,
)
from partstream.server.replies import BufferedReplySink
from partstream.server.requests import DirectReply
from partstream.server.uvicorn_server import HttpServer, InTurns, StoppedAtOnceError
from rows import one_test_for
from serving.providers import Driven, silent
from serving.served import served

GET = b"GET /whole HTTP/1.1\r\nHost: x\r\n\r\n"


class Application:
    """Answers `/whole` at once, and `/open` and sockets in two pieces: the second comes when `may_end` is set."""

    def __init__(self):
        self.open_answers = 0
        self.is_draining = False
        self.has_begun = asyncio.Event()
        self.may_end = asyncio.Event()
        self.bodies = []
        self.was_ended = False

    def begin_drain(self):
        self.is_draining = True

    async def drain(self, seconds):
        try:
            async with asyncio.timeout(seconds):
                while self.open_answers:
                    await self.may_end.wait()
                    await asyncio.sleep(0)
        except TimeoutError:
            self.was_ended = True
            self.may_end.set()
            while self.open_answers:
                await asyncio.sleep(0)

    async def __call__(self, scope, receive, send):
        await {"lifespan": self._live, "http": self._answer, "websocket": self._talk}[scope["type"]](
            scope, receive, send
        )

    async def _live(self, scope, receive, send):
        for kind in ("startup", "shutdown"):
            assert (await receive())["type"] == f"lifespan.{kind}"
            await send({"type": f"lifespan.{kind}.complete"})

    async def _answer(self, scope, receive, send):
        body = b""
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message["body"]
            more = message["more_body"]
        self.bodies.append(body)
        await send({"type": "http.response.start", "status": 503 if self.is_draining else 200, "headers": []})
        if scope["path"] == "/open":
            self.open_answers += 1
            await send({"type": "http.response.body", "body": b"first", "more_body": True})
            self.has_begun.set()
            await self.may_end.wait()
            self.open_answers -= 1
        await send({"type": "http.response.body", "body": b"last"})

    async def _talk(self, scope, receive, send):
        await receive()
        await send({"type": "websocket.accept"})
        while (await receive())["type"] == "websocket.receive":
            self.open_answers += 1
            await send({"type": "websocket.send", "text": "first"})
            self.has_begun.set()
            await self.may_end.wait()
            await send({"type": "websocket.send", "text": "last"})
            self.open_answers -= 1


class Served:
    def __init__(self, application, server, port, task):
        self.application = application
        self.server = server
        self.port = port
        self.task = task

    async def exchange(self, data):
        """What comes until the server closes the connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(data)
        received = await reader.read()
        writer.close()
        return received


@asynccontextmanager
async def serving(**options):
    limits = options.pop("limits", ConnectionLimits(closing_seconds=1))
    sockets = listening_sockets("127.0.0.1", 0, limits.peer_seconds)
    port = sockets[0].getsockname()[1]
    application = Application()
    server = HttpServer(application, sockets, limits=limits, **options)
    is_listening = asyncio.Event()
    task = asyncio.create_task(server.serve(is_listening.set))
    await is_listening.wait()
    try:
        yield Served(application, server, port, task)
    finally:
        application.may_end.set()
        server.stop()
        await asyncio.wait((task,), timeout=10)
        assert task.done()


def run(test, **options):
    async def within():
        async with asyncio.timeout(20), serving(**options) as served:
            await test(served)

    asyncio.run(within())


def test_what_a_program_has_frozen_is_frozen_also_after_a_server_of_its():
    frozen = gc.get_freeze_count()  # by conftest.py

    async def test(served):
        assert (await served.exchange(OLD["what has no length"][0])).endswith(b"last")

    run(test)
    assert gc.get_freeze_count() > frozen / 2 > 0


OLD = {
    "what has no length": (b"GET /whole HTTP/1.0\r\n\r\n", b"last"),
    "a stream": (b"GET /open HTTP/1.0\r\n\r\n", b"firstlast"),
    "a client that would keep the connection": (b"GET /whole HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", b"last"),
    "the head alone": (b"HEAD /whole HTTP/1.0\r\n\r\n", b""),
    "a body that waits for a word": (
        b"POST /whole HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
        b"last",
    ),
    "HTTP/0.9": (b"GET /whole HTTP/0.9\r\nConnection: keep-alive\r\n\r\n", b"last"),
}


@one_test_for(("data", "body"), OLD.values(), ids=OLD)
def test_a_client_of_http_1_0_gets_no_chunks_and_the_connection_ends_the_reply(data, body):
    async def test(served):
        served.application.may_end.set()
        head, _, received = (await served.exchange(data)).partition(b"\r\n\r\n")
        status, date, *headers = head.splitlines()
        assert (status, date[:5], headers) == (b"HTTP/1.1 200 OK", b"date:", [b"connection: close"])
        assert received == body

    run(test)


def test_a_client_of_http_1_0_gets_each_piece_of_a_stream_at_once():
    async def test(served):
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(b"GET /open HTTP/1.0\r\n\r\n")
        await reader.readuntil(b"\r\n\r\nfirst")
        served.application.may_end.set()
        assert await reader.read() == b"last"
        writer.close()

    run(test)


def test_chunks_of_a_client_that_cannot_know_them_are_refused():
    async def test(served):
        answer = await served.exchange(b"POST /whole HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
        assert b" 400 " in answer
        assert served.application.bodies == []

    run(test)


async def _open_stream(served):
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(GET.replace(b"whole", b"open"))
    await served.application.has_begun.wait()
    return reader, writer


def test_a_stream_that_is_open_when_the_server_is_stopped_goes_on_to_its_end():
    async def test(served):
        reader, writer = await _open_stream(served)
        served.server.stop()
        refused = await served.exchange(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        assert b" 503 " in refused.partition(b"\r\n")[0], "a new request is refused, not a connection"
        served.application.may_end.set()
        assert (await reader.read()).endswith(b"5\r\nfirst\r\n4\r\nlast\r\n0\r\n\r\n")
        writer.close()
        await served.task
        assert not served.application.was_ended

    run(test)


def test_a_stream_that_does_not_end_in_time_is_ended_by_the_application():
    async def test(served):
        reader, writer = await _open_stream(served)
        served.server.stop()
        assert (await reader.read()).endswith(b"0\r\n\r\n")
        writer.close()
        await served.task
        assert served.application.was_ended

    run(test, drain_seconds=0.05)


def test_a_turn_on_a_socket_ends_before_the_socket_is_closed():
    async def test(served):
        async with connect(f"ws://127.0.0.1:{served.port}/", proxy=None) as client:
            await client.send("go")
            assert await client.recv() == "first"
            served.server.stop()
            served.application.may_end.set()
            assert await client.recv() == "last"
            with pytest.raises(ConnectionClosed) as closed:
                await client.recv()
        assert closed.value.rcvd.code == 1012
        await served.task

    run(test)


def test_a_second_stop_ends_the_server_with_its_answers_open():
    said = []

    async def test(served):
        reader, writer = await _open_stream(served)
        served.server.stop()
        while not said:
            await asyncio.sleep(0)
        served.server.stop()
        with pytest.raises(StoppedAtOnceError):
            await served.task
        assert not (await reader.read()).endswith(b"0\r\n\r\n")
        writer.close()

    run(test, on_drain=said.append)
    assert said == [1]


def test_an_idle_connection_does_not_delay_the_end():
    async def test(served):
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(GET)
        await reader.readuntil(b"0\r\n\r\n")
        served.server.stop()
        assert await reader.read() == b""
        await served.task
        writer.close()

    run(test)


FEW = ConnectionLimits(connections=2, request_head_bytes=1024, waiting_requests=3, closing_seconds=1)
SHORT = ConnectionLimits(request_head_seconds=0.05, slow_body_seconds=0.05, closing_seconds=1)


NO_REQUESTS = [
    (b"\x16\x03\x01\x02\x00 this is no HTTP\r\n\r\n", b"400"),
    (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n", b"400"),
    (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", b"400"),
    (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef", b"400"),
    (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"400"),
    (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, x\r\n\r\n0\r\n\r\n", b"400"),
    (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"400"),
    (b"POST / HTTP/1.1\r\nHost: x\r\nX : y\r\nContent-Length: 0\r\n\r\n", b"400"),
    (b"GET / HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n" + GET, b"400"),
    (b"GET / HTTP/1.1\nHost: x\n\n", b"400"),
    (b"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n", b"400"),
    (b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n", b"400"),
    (b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", b"400"),
    (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 2000, b"431"),
    (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 2000 + b"\r\n\r\n", b"431"),
    (b"GET /" + b"x" * 2000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", b"431"),
]


UNFINISHED = [
    b"POST / HT",
    b"POST / HTTP/1.1\r\nHost: x\r\nX:",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx",
    b"",
]


def test_what_does_not_arrive_in_time_gets_408_and_the_connection_is_closed():
    async def test(served):
        for data in UNFINISHED:
            assert (await served.exchange(data)).split(b" ")[1] == b"408", data
        assert served.application.bodies == []

    run(test, limits=SHORT)


def test_what_is_no_request_gets_its_status_and_the_connection_is_closed():
    async def test(served):
        for data, status in NO_REQUESTS:
            received = await served.exchange(data)
            assert received.split(b" ")[1] == status, data
            assert received.count(b"HTTP/1.1 ") == 1, "one answer, and nothing behind it"
        assert served.application.bodies == []

    run(test, limits=FEW)


@one_test_for("requests", [1, 300])
def test_an_upgrade_to_what_is_not_served_is_ignored_and_its_body_holds_no_request(requests: int) -> None:
    body = GET * requests
    head = b"POST /whole HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: %d\r\n" % len(
        body
    )
    last = b"GET /whole HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

    async def test(served: Served) -> None:
        received = await served.exchange(head + b"\r\n" + body + last)
        assert (received.count(b"HTTP/1.1 200 "), served.application.bodies) == (2, [body, b""])
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(head + b"Expect: 100-continue\r\n\r\n")
        await reader.readuntil(b"HTTP/1.1 100 Continue\r\n\r\n")
        writer.write(body + last)
        assert (await reader.read()).count(b"HTTP/1.1 200 ") == 2
        writer.close()
        assert served.application.bodies == [body, b""] * 2

    run(test)


@one_test_for("upgrade", [(b"h2c", b"Transfer-Encoding: chunked"), (b"websocket", b"Content-Length: %d" % len(GET))])
def test_no_body_follows_an_upgrade_where_it_would_be_the_next_request(upgrade: tuple[bytes, bytes]) -> None:
    head = b"POST /whole HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: %b\r\n%b\r\n\r\n" % upgrade

    async def test(served: Served) -> None:
        assert (await served.exchange(head)).startswith(b"HTTP/1.1 400 ")
        assert served.application.bodies == []

    run(test, limits=SHORT)


UPGRADE = (
    b"GET /socket HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


@one_test_for("more", [b"no request\r\n\r\n", GET + b"no request\r\n\r\n", GET + b"GET /who", UPGRADE, GET + UPGRADE])
def test_neither_a_refusal_nor_a_socket_is_written_into_an_answer_that_has_begun(more: bytes) -> None:
    async def test(served: Served) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(GET.replace(b"whole", b"open"))
        await served.application.has_begun.wait()
        writer.write(more)
        received = await reader.read()
        writer.close()
        assert (received.count(b"HTTP/1.1 "), received.endswith(b"first\r\n")) == (1, True)

    run(test, limits=SHORT)


def test_a_connection_that_sends_its_second_head_slowly_is_closed_too():
    async def test(served):
        received = await served.exchange(GET + b"GET /who")
        assert [line.split(b" ")[1] for line in received.split(b"HTTP/1.1")[1:3]] == [b"200", b"408"]

    run(test, limits=SHORT)


def test_a_body_that_keeps_coming_may_take_longer():
    limits = ConnectionLimits(slow_body_seconds=0.05, body_bytes_per_second=1, closing_seconds=1)

    async def test(served):
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(b"POST /whole HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n" + b"x" * 99)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.15):
                await reader.read(1)
        writer.write(b"x")
        await reader.readuntil(b"0\r\n\r\n")
        writer.close()
        assert served.application.bodies == [b"x" * 100]

    run(test, limits=limits)


def test_a_client_that_sends_more_requests_than_it_waits_for_answers_is_refused():
    async def test(served):
        reader, writer = await _open_stream(served)
        writer.write(GET * 5)
        assert b"0\r\n\r\n" not in await reader.read(), "the answer that runs is cut: nothing may follow it"
        writer.close()
        assert len(served.application.bodies) == 1
        served.application.may_end.set()

    run(test, limits=FEW)


def test_one_connection_too_many_gets_503():
    async def test(served):
        held = [await asyncio.open_connection("127.0.0.1", served.port) for _ in range(2)]
        for reader, writer in held:
            writer.write(GET)
            await reader.readuntil(b"0\r\n\r\n")
        assert b" 503 " in await served.exchange(GET)
        for _, writer in held:
            writer.close()

    run(test, limits=FEW)


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="this system has no such option")
def test_data_that_nobody_takes_ends_the_connection_after_thirty_seconds():
    async def test(served):
        _, writer = await _open_stream(served)
        (connection,) = served.server.state.connections
        accepted = connection.transport.get_extra_info("socket")
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 30_000
        assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        writer.close()

    run(test)


def test_a_process_may_open_as_many_files_as_it_wants_up_to_the_limit_of_the_system():
    resource = pytest.importorskip("resource", reason="this system has no such limits")
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, most))
        allow_files(300)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 300
        allow_files(100)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 300
        if most != resource.RLIM_INFINITY:
            allow_files(most + 1)
            assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == most
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


def test_an_address_that_is_taken_is_named():
    (first,) = listening_sockets("127.0.0.1", 0, 30)
    port = first.getsockname()[1]
    with (
        first,
        pytest.raises(CannotListenError, match=rf"cannot listen on 127\.0\.0\.1:{port}: "),
    ):
        listening_sockets("127.0.0.1", port, 30)


def test_a_name_that_nobody_knows_is_named():
    with pytest.raises(CannotListenError, match=r"cannot listen on no\.such\.host\.invalid:1: "):
        listening_sockets("no.such.host.invalid", 1, 30)


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("127.0.0.2", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)],  # noqa: S104
)
def test_loopback_is_told_by_the_address(host, expected):
    if ":" in host and not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    assert is_loopback_address(host) is expected


@pytest.mark.parametrize("requests", [1, 2, 3])
def test_a_client_that_leaves_cancels_the_answer_that_runs_whatever_waits_behind_it(requests):
    provider = Driven(silent)
    application = app(provider)
    body = b'{"model":"m","messages":[{"role":"user","content":"Hi"}]}'
    request = b"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(body) + body

    async def run():
        async with served(application) as url, asyncio.timeout(10):
            _, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
            writer.write(request * requests)
            await provider.begun.wait()
            writer.close()
            await provider.returned.wait()

    asyncio.run(run())
    assert provider.events == ["begun", "cancelled", "returned"]
    assert application.open_answers == 0


async def _greet(progress, token):
    del token
    progress.report(TextPart("Hello"))


def test_a_client_of_an_answer_that_broke_by_a_fault_of_ours_leaves_like_any_other(monkeypatch, caplog):
    async def break_down(*_):
        await asyncio.gather(*(one for one in asyncio.all_tasks() if one.get_coro().__name__ == "_provide"))
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(BufferedReplySink, "pump", break_down)
    body = b'{"model":"m","messages":[{"role":"user","content":"Hi"}],"stream":true}'
    request = b"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(body) + body

    async def run():
        async with served(app(Driven(_greet))) as url, asyncio.timeout(10):
            reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
            writer.write(request)
            assert b"Hello" in await reader.read()
            writer.close()

    asyncio.run(run())
    assert "a fault of ours" in caplog.text
    assert "AttributeError" not in caplog.text


HEADS: dict[str, tuple[int, list[tuple[str, str]], bytes]] = {
    "a stream": (
        200, [("content-type", "text/plain")],
        b"HTTP/1.1 200 OK\r\ndate: now\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n2\r\nHi\r\n",
    ),
    "a document": (
        404, [("content-length", "2")],
        b"HTTP/1.1 404 Not Found\r\ndate: now\r\ncontent-length: 2\r\n\r\nHi",
    ),
    "a status without a body": (204, [], b""),
    "the end of the connection": (200, [("connection", "close")], b""),
    "a header in a value": (200, [("x", "a\r\nevil: 1")], b""),
    "a line feed": (200, [("x", "a\nb")], b""),
    "a carriage return": (200, [("x", "a\rb")], b""),
    "a header in a name": (200, [("x: y\r\nevil", "1")], b""),
    "a zero": (200, [("x", "a\0b")], b""),
    "an escape": (200, [("x", "a\x1bb")], b""),
}  # fmt: skip


@pytest.mark.parametrize(("status", "headers", "written"), HEADS.values(), ids=HEADS)
def test_a_head_is_written_at_once_or_left_to_asgi_which_judges_it(status, headers, written):
    came: list[bytes] = []
    cycle = SimpleNamespace(
        flow=SimpleNamespace(write_paused=False),
        transport=SimpleNamespace(write=came.append),
        default_headers=[(b"date", b"now")],
        disconnected=False,
        response_started=False,
        keep_alive=True,
    )
    assert DirectReply(cycle, STATUS_LINE).begin(status, headers, b"Hi") is bool(written)
    assert b"".join(came) == written
    assert cycle.response_started is bool(written)


@pytest.mark.parametrize(("headers", "end"), [([], b"0\r\n\r\n"), ([("content-length", "2")], b"")])
def test_a_reply_whose_first_bytes_are_the_last_is_one_write_and_asgi_ends_it(headers, end):
    came: list[bytes] = []

    async def run():
        flow = SimpleNamespace(write_paused=False)
        transport = SimpleNamespace(write=came.append)
        cycle = RequestResponseCycle(
            {"method": "POST"}, transport, flow, logger=None, access_logger=None, access_log=False, default_headers=[],
            message_event=asyncio.Event(), expect_100_continue=False, keep_alive=True,
            on_response=lambda: came.append(b"over"),
        )  # fmt: skip
        assert DirectReply(cycle, STATUS_LINE).begin(200, headers, b"Hi", last=True)
        await cycle.send({"type": "http.response.body", "body": b""})
        assert cycle.response_complete

    asyncio.run(run())
    assert came[0].endswith(b"Hi" + (b"\r\n" if end else b"") + end)
    assert came[1:] == [b"", b"over"]


class _Connection:
    """A loop, a protocol and a transport of one connection, whose parser takes a millisecond for each slice."""

    SLICE = 0.001
    may_read = True

    def __init__(self) -> None:
        self.transport, self.said, self.later, self.now, self.is_over = self, [], [], 0.0, False
        self.turns = InTurns(self, self, self._feed)  # type: ignore[arg-type]

    def _feed(self, data: bytes) -> None:
        self.said.append(data)
        self.now += self.SLICE

    def time(self) -> float:
        return self.now

    def is_closing(self) -> bool:
        return self.is_over

    def call_soon(self, then) -> None:
        self.later.append(then)

    def pause_reading(self) -> None:
        self.said.append("paused")

    def resume_reading(self) -> None:
        self.said.append("resumed")


def test_what_comes_at_once_is_read_in_turns_and_nothing_else_meanwhile():
    connection = _Connection()
    sent = os.urandom(100_000)
    connection.turns.take(sent[:60_000])
    slices_of_a_turn = TURN_SECONDS / _Connection.SLICE
    turns = 0
    while connection.later:
        if turns == 1:
            connection.turns.take(sent[60_000:])
        told_before = len(connection.said)
        connection.later.pop()()
        assert len(connection.said) - told_before <= slices_of_a_turn + 2
        turns += 1
    assert turns > 2
    slices = [one for one in connection.said if isinstance(one, bytes)]
    assert b"".join(slices) == sent
    assert max(map(len, slices)) <= 4096
    assert connection.said.count("resumed") == 1
    assert connection.said[-1] == "resumed"


def test_what_waits_is_forgotten_with_its_connection():
    connection = _Connection()
    connection.turns.take(b"a" * 100_000)
    read = len(connection.said)
    connection.is_over = True
    connection.later.pop()()
    assert connection.said[read:] == []
