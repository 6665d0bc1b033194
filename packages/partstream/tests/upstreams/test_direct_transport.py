"""Connections that lead straight to a server: opened, kept, used again, and closed at once where nothing waits."""

import asyncio
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from partstream.server.listening import listening_sockets
from partstream.upstream import http_connection
from partstream.upstream.http_connection import (
    KEPT,
    AnswerBody,
    DirectTransport,
    PlainRequest,
    ProxyTransport,
    _Conversation,
    plain_answer,
    plain_request,
)
from upstreams.direct_client import Direct

try:
    import uvloop
except ImportError:  # not on Windows
    uvloop = None  # type: ignore[assignment]

SIZED = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
_Serve = Callable[["Peer"], Awaitable[None]]


class Peer:
    """One connection, as the server sees it."""

    def __init__(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.number = number
        self.reader = reader
        self.writer = writer

    async def asked(self) -> bytes:
        """The head of the next request, whose body is read away."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        sizes = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        if sizes:
            await self.reader.readexactly(int(sizes[0].partition(b":")[2]))
        return head

    async def write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()


@asynccontextmanager
async def serving(serve: _Serve, certificates: ssl.SSLContext | None = None) -> AsyncIterator[tuple[int, list[Peer]]]:
    """A server on loopback; gives its port and the connections to it so far."""
    peers: list[Peer] = []
    tasks: set[asyncio.Task[Any]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        peers.append(Peer(len(peers), reader, writer))
        try:
            await serve(peers[-1])
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=certificates)
    try:
        yield server.sockets[0].getsockname()[1], peers
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _echo(peer: Peer) -> None:
    while True:
        await peer.asked()
        await peer.write(SIZED)


def _client(certificates: ssl.SSLContext | None = None) -> httpx2.AsyncClient:
    trusted = certificates or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx2.AsyncClient(transport=Direct(trusted), timeout=httpx2.Timeout(None, connect=5))


def run(test: Awaitable[None]) -> None:
    """Runs a test that takes a moment, or fails after ten seconds."""

    async def bounded() -> None:
        async with asyncio.timeout(10):
            await test

    asyncio.run(bounded())


def test_an_answer_that_was_read_leaves_its_connection_for_the_next_request() -> None:
    async def test() -> None:
        async with serving(_echo) as (port, peers), _client() as client:
            for content in (b"", b"body", b"x" * 1_000_000):
                answer = await client.post(f"http://127.0.0.1:{port}/v1", content=content)
                assert (answer.status_code, answer.content) == (200, b"ok")
            assert len(peers) == 1
            assert len(client._transport._all) == 1

    run(test())


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
        SIZED + b"more",
    ],
    ids=["the server says so", "HTTP/1.0", "something follows the answer"],
)
def test_a_connection_is_not_used_again_where(answer: bytes) -> None:
    async def serve(peer: Peer) -> None:
        await peer.asked()
        await peer.write(answer)
        await peer.reader.read()

    async def test() -> None:
        async with serving(serve) as (port, peers), _client() as client:
            for _ in range(2):
                assert (await client.get(f"http://127.0.0.1:{port}/")).content == b"ok"
            assert len(peers) == 2
            await asyncio.sleep(0)
            assert len(client._transport._all) == 0

    run(test())


def test_a_connection_that_the_server_has_closed_is_not_used_again() -> None:
    closed = asyncio.Event()

    async def serve(peer: Peer) -> None:
        await peer.asked()
        await peer.write(SIZED)
        if peer.number == 0:
            peer.writer.close()
            await peer.writer.wait_closed()
            closed.set()
        else:
            await peer.reader.read()

    async def test() -> None:
        async with serving(serve) as (port, peers), _client() as client:
            await client.get(f"http://127.0.0.1:{port}/")
            await closed.wait()
            assert (await client.get(f"http://127.0.0.1:{port}/")).content == b"ok"
            assert len(peers) == 2

    run(test())


def test_an_answer_before_which_the_server_says_that_it_works_is_read() -> None:
    async def serve(peer: Peer) -> None:
        await peer.asked()
        await peer.write(b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n" + SIZED)
        await peer.reader.read()

    async def test() -> None:
        async with serving(serve) as (port, _), _client() as client:
            assert (await client.get(f"http://127.0.0.1:{port}/")).content == b"ok"

    run(test())


def test_a_server_that_answers_before_it_has_read_the_request_is_heard() -> None:
    async def serve(peer: Peer) -> None:
        await peer.reader.readuntil(b"\r\n\r\n")
        await peer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno")
        peer.writer.write_eof()
        await peer.reader.read()

    async def test() -> None:
        async with serving(serve) as (port, _), _client() as client:
            answer = await client.post(f"http://127.0.0.1:{port}/", content=b"x" * 5_000_000)
            assert (answer.status_code, answer.content) == (413, b"no")

    run(test())


@pytest.mark.parametrize("begun", [False, True], ids=["before the head", "in the middle of the body"])
def test_the_connection_of_a_request_that_is_cancelled_is_closed_at_once(begun: bool) -> None:
    asked, gone = asyncio.Event(), asyncio.Event()

    async def serve(peer: Peer) -> None:
        await peer.asked()
        if begun:
            await peer.write(CHUNKED + b"1\r\na\r\n")
        asked.set()
        with suppress(ConnectionResetError):
            assert await peer.reader.read() == b""
        gone.set()

    async def test() -> None:
        async with serving(serve) as (port, _), _client() as client:
            request = asyncio.create_task(client.get(f"http://127.0.0.1:{port}/"))
            await asked.wait()
            request.cancel()
            await gone.wait()
            with pytest.raises(asyncio.CancelledError):
                await request

    run(test())


def test_an_answer_that_nobody_reads_makes_the_server_wait() -> None:
    wrote = 0

    async def serve(peer: Peer) -> None:
        nonlocal wrote
        peer.writer.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * 1024)
        await peer.asked()
        await peer.write(CHUNKED)
        piece = b"%x\r\n%b\r\n" % (65536, b"x" * 65536)
        for _ in range(1000):
            await peer.write(piece)
            wrote += 1
        await peer.write(b"0\r\n\r\n")
        await peer.reader.read()  # the connection is aborted behind this: not before the client has read all

    async def test() -> None:
        async with serving(serve) as (port, _), _client() as client:
            request = client.build_request("GET", f"http://127.0.0.1:{port}/")
            answer = await client.send(request, stream=True)
            before = -1
            while wrote != before:  # until the server stands still for a while
                before = wrote
                for _ in range(200):
                    await asyncio.sleep(0)
            assert wrote < 500, "all 64 MB were taken although they had no reader"
            assert sum([len(piece) async for piece in answer.aiter_bytes()]) == 65_536_000

    run(test())


def test_the_first_pieces_come_before_the_server_writes_the_next() -> None:
    read = asyncio.Event()

    async def serve(peer: Peer) -> None:
        await peer.asked()
        await peer.write(CHUNKED + b"1\r\na\r\n")
        await read.wait()
        await peer.write(b"1\r\nb\r\n0\r\n\r\n")
        await peer.reader.read()

    async def test() -> None:
        async with (
            serving(serve) as (port, _),
            _client() as client,
            client.stream("GET", f"http://127.0.0.1:{port}/") as answer,
        ):
            pieces = answer.aiter_bytes()
            assert await anext(pieces) == b"a"
            read.set()
            assert await anext(pieces) == b"b"

    run(test())


def test_the_body_can_be_read_beside_the_client() -> None:
    async def serve(peer: Peer) -> None:
        await peer.asked()
        await peer.write(CHUNKED + b"1\r\na\r\n0\r\n\r\n")
        await peer.reader.read()

    async def test() -> None:
        async with (
            serving(serve) as (port, _),
            _client() as client,
            client.stream("GET", f"http://127.0.0.1:{port}/") as answer,
        ):
            body = answer.extensions["body"]
            assert isinstance(body, AnswerBody)
            assert [await body.next(), await body.next()] == [b"a", b""]

    run(test())


def test_only_so_many_connections_are_kept() -> None:
    async def test() -> None:
        async with serving(_echo) as (port, peers), _client() as client:
            url = f"http://127.0.0.1:{port}/"
            await asyncio.gather(*(client.get(url) for _ in range(KEPT + 12)))
            assert len(peers) == KEPT + 12
            await asyncio.gather(*(client.get(url) for _ in range(KEPT)))
            assert len(peers) == KEPT + 12
            await asyncio.gather(*(client.get(url) for _ in range(KEPT + 1)))
            assert len(peers) == KEPT + 13

    run(test())


def test_the_end_of_the_client_closes_what_is_open() -> None:
    ended = asyncio.Event()

    async def serve(peer: Peer) -> None:
        await peer.asked()
        await peer.write(SIZED)
        await peer.reader.read()
        ended.set()

    async def test() -> None:
        async with serving(serve) as (port, _):
            async with _client() as client:
                await client.get(f"http://127.0.0.1:{port}/")
            await ended.wait()

    run(test())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A key and a certificate for localhost, made for this run."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is missing, which makes the certificate of this test")
    folder = tmp_path_factory.mktemp("certificate")
    key, path = folder / "key.pem", folder / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*made, "-keyout", str(key), "-out", str(path), *names], check=True, capture_output=True)
    return key, path


@pytest.fixture
def server_context(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate[1], certificate[0])
    return context


def test_an_encrypted_connection_is_kept_too(certificate: tuple[Path, Path], server_context: ssl.SSLContext) -> None:
    async def test() -> None:
        trusted = ssl.create_default_context(cafile=str(certificate[1]))
        async with serving(_echo, server_context) as (port, peers), _client(trusted) as client:
            for _ in range(3):
                assert (await client.get(f"https://localhost:{port}/")).content == b"ok"
            assert len(peers) == 1

    run(test())


def test_a_certificate_is_for_the_name_that_the_request_says(
    certificate: tuple[Path, Path], server_context: ssl.SSLContext
) -> None:
    async def test() -> None:
        trusted = ssl.create_default_context(cafile=str(certificate[1]))
        async with serving(_echo, server_context) as (port, _), _client(trusted) as client:
            url = f"https://127.0.0.1:{port}/"
            with pytest.raises(httpx2.ConnectError) as caught:
                await client.get(url)
            assert isinstance(caught.value.__cause__, ssl.SSLCertVerificationError)
            answer = await client.get(url, extensions={"sni_hostname": "localhost"})
            assert answer.content == b"ok"

    run(test())


def test_a_request_through_a_tunnel_is_sent_once_the_tunnel_is_there(
    certificate: tuple[Path, Path], server_context: ssl.SSLContext
) -> None:
    steps: list[str] = []

    async def tunnel(peer: Peer) -> None:
        head = await peer.asked()
        steps.append("the proxy is asked")
        port = int(head.split()[1].rpartition(b":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await peer.write(b"HTTP/1.1 200 OK\r\n\r\n")

        async def pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                sink.write(data)

        try:
            await asyncio.gather(pass_on(peer.reader, writer), pass_on(reader, peer.writer))
        finally:
            writer.close()

    async def test() -> None:
        trusted = ssl.create_default_context(cafile=str(certificate[1]))
        sent = [partial(steps.append, "the first byte is sent"), partial(steps.append, "the last byte is sent")]
        request = PlainRequest("GET", b"/v1", [(b"host", b"localhost")], b"", *sent)
        async with (
            serving(_echo, server_context) as (port, _),
            serving(tunnel) as (proxy, _),
            aclosing(ProxyTransport(trusted, f"http://127.0.0.1:{proxy}")) as transport,
        ):
            came = await transport.send(("https", "localhost", port, None), request, 5)
            assert (came.head.status, came.fields) == (200, [("content-length", "2")])
            assert [await came.body.next(), await came.body.next()] == [b"ok", b""]
            await came.body.aclose()
        assert steps == ["the proxy is asked", "the first byte is sent", "the last byte is sent"]

    run(test())


def _at(family: socket.AddressFamily, *place: object) -> tuple[object, ...]:
    return family, socket.SOCK_STREAM, 6, "", place


def test_an_address_that_refuses_is_followed_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with serving(_echo) as (port, peers), _client() as client:
            with socket.socket() as closed:  # bound, and not listening
                closed.bind(("127.0.0.1", 0))
                refusing = closed.getsockname()[1]
                rows = [_at(socket.AF_INET, "127.0.0.1", refusing), _at(socket.AF_INET, "127.0.0.1", port)]

                async def found(*_args: object, **_named: object) -> list[tuple[object, ...]]:
                    return rows

                monkeypatch.setattr(http_connection, "looked_up", found)
                assert (await client.get(f"http://models.test:{port}/")).content == b"ok"
                assert len(peers) == 1
                rows[1] = _at(socket.AF_INET6, "::1", refusing)
                with pytest.raises(httpx2.ConnectError):
                    await DirectTransport(None).dial(("http", "models.test", refusing, None), None)

    run(test())


def test_names_that_take_their_time_to_be_looked_up_take_no_shared_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    may_end, asked = threading.Event(), list[str]()

    def look_up(host: str, *_args: object, **_named: object) -> list[tuple[object, ...]]:
        asked.append(host)
        assert may_end.wait(20)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    async def test() -> None:
        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        names = [f"models-{number % 40}.test" for number in range(80)]
        dialling = [asyncio.create_task(DirectTransport(None).dial(("http", one, 80, None), None)) for one in names]
        try:
            async with asyncio.timeout(10):
                while len(asked) < 40:
                    await asyncio.to_thread(threading.Event)
            assert not any(one.done() for one in dialling)
        finally:
            may_end.set()
        errors = await asyncio.gather(*dialling, return_exceptions=True)
        assert {type(one) for one in errors} == {httpx2.ConnectError}
        assert sorted(asked) == sorted(set(names))  # once for all who wait

    run(test())


def test_an_address_that_is_silent_does_not_hold_up_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with serving(_echo) as (port, _), _client() as client:
            connect = http_connection._connect
            tried: list[object] = []

            async def found(*_args: object, **_named: object) -> list[tuple[object, ...]]:
                return [_at(socket.AF_INET, "127.0.0.9", port), _at(socket.AF_INET, "127.0.0.1", port)]

            async def slow(opened: socket.socket, place: Any) -> None:
                tried.append(place[0])
                if place[0] == "127.0.0.9":
                    await asyncio.Event().wait()
                await connect(opened, place)

            monkeypatch.setattr(http_connection, "looked_up", found)
            monkeypatch.setattr(http_connection, "_connect", slow)
            assert (await client.get(f"http://models.test:{port}/")).content == b"ok"
            assert tried == ["127.0.0.9", "127.0.0.1"]

    run(test())


def test_a_server_that_accepts_nothing_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async def never(_opened: socket.socket, _place: object) -> None:
            await asyncio.Event().wait()

        monkeypatch.setattr(http_connection, "_connect", never)
        with pytest.raises(httpx2.ConnectTimeout):
            await DirectTransport(None).dial(("http", "127.0.0.1", 9, None), 0.01)

    run(test())


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop] if uvloop else [None])
def test_neither_end_of_a_connection_holds_small_pieces_back(new_loop: Callable[[], Any] | None) -> None:
    async def test() -> None:
        accepted = asyncio.get_running_loop().create_future()

        async def accept(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted.set_result(writer.transport)

        (listener,) = listening_sockets("127.0.0.1", 0, 30.0)
        async with await asyncio.start_server(accept, sock=listener), aclosing(DirectTransport(None)) as transport:
            opened = await transport.dial(("http", *listener.getsockname(), None), 5)
            for one in (opened._transport, await accepted):
                end = one.get_extra_info("socket")
                assert end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                one.abort()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(asyncio.wait_for(test(), 10))


_IDLE_PROCESS = """
import asyncio, os, socket, sys, uvloop
from partstream.upstream.http_connection import DirectTransport

async def connect():
    with socket.create_server(("127.0.0.1", 0)) as server:
        (await DirectTransport(None).dial(("http", *server.getsockname(), None), None))
    return len(os.listdir("/proc/self/task")), "encodings.idna" in sys.modules

print(uvloop.run(connect()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_to_connect_to_an_address_takes_no_thread_and_no_table_of_names() -> None:
    came = subprocess.run([sys.executable, "-c", _IDLE_PROCESS], capture_output=True, text=True, check=True, timeout=60)
    assert came.stdout == "(1, False)\n"


# ---- Heads: those that are plain are what h11 makes of them, and it judges all others ----

ASKED = PlainRequest("POST", b"/v1/x?a=b", [(b"Host", b"h:1"), (b"content-length", b"2")], b"{}")
PLAIN_REQUESTS = {
    "with a body": ASKED,
    "without one": PlainRequest("GET", b"/", [(b"accept", b"*/*"), (b"host", b"h")], b""),
    "with an empty one": PlainRequest("POST", b"/", [(b"host", b"h"), (b"content-length", b"0")], b""),
    "with an empty header": ASKED._replace(headers=[*ASKED.headers, (b"x-none", b"")]),
    "with a text that is no ASCII": ASKED._replace(headers=[*ASKED.headers, (b"x-name", b"J\xf6rg  K")]),
}
JUDGED_REQUESTS = {
    "a header in a header": ASKED._replace(headers=[*ASKED.headers, (b"x", b"a\r\nevil: 1")]),
    "a line end": ASKED._replace(headers=[*ASKED.headers, (b"x", b"a\nb")]),
    "a zero": ASKED._replace(headers=[*ASKED.headers, (b"x", b"a\x00b")]),
    "a space around": ASKED._replace(headers=[*ASKED.headers, (b"x", b" a")]),
    "no name": ASKED._replace(headers=[*ASKED.headers, (b"", b"a")]),
    "a name with a value": ASKED._replace(headers=[*ASKED.headers, (b"x: y", b"a")]),
    "a header in a name": ASKED._replace(headers=[*ASKED.headers, (b"x: y\r\nevil", b"a")]),
    "a name with a space": ASKED._replace(headers=[*ASKED.headers, (b"x y", b"a")]),
    "a target with a space": ASKED._replace(target=b"/a b HTTP/1.1"),
    "another length": ASKED._replace(headers=[(b"host", b"h"), (b"content-length", b"3")]),
    "two lengths": ASKED._replace(headers=[*ASKED.headers, (b"Content-Length", b"2")]),
    "no host": ASKED._replace(headers=ASKED.headers[1:]),
    "two hosts": ASKED._replace(headers=[*ASKED.headers, (b"host", b"other")]),
    "chunks": PlainRequest("POST", b"/", [(b"host", b"h"), (b"transfer-encoding", b"chunked")], b"{}"),
    "a body without a length": PlainRequest("POST", b"/", [(b"host", b"h")], b"{}"),
}
PLAIN_ANSWERS = {
    "chunks": CHUNKED + b"5\r\nhello\r\n",
    "a length": SIZED,
    "no headers": b"HTTP/1.1 204 No Content\r\n\r\n",
    "no reason": b"HTTP/1.1 200\r\nA: b\r\n\r\n",
    "an empty reason": b"HTTP/1.1 200 \r\nA: b\r\n\r\n",
    "the version before": b"HTTP/1.0 200 OK\r\nconnection: keep-alive\r\n\r\nrest",
    "spaces and nothing": b"HTTP/1.1 404 Not Found\r\nA:\t b c \r\nB:\r\nset-cookie: a=b\r\nset-cookie: c=d\r\n\r\n",
}
JUDGED_ANSWERS = {
    "a part of it": SIZED[:20],
    "another answer first": b"HTTP/1.1 100 Continue\r\n\r\n" + SIZED,
    "a folded line": b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
    "lines with one sign at the end": SIZED.replace(b"\r\n", b"\n"),
    "two lengths": b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok",
    "a length of words": b"HTTP/1.1 200 OK\r\ncontent-length: two\r\n\r\nok",
    "a length and chunks": b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "another coding": b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
    "a zero": b"HTTP/1.1 200 OK\r\nA: b\x00\r\n\r\n",
    "a space before the colon": b"HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
    "no HTTP": b"SSH-2.0-OpenSSH\r\n\r\n",
}


@pytest.mark.parametrize("request_", PLAIN_REQUESTS.values(), ids=PLAIN_REQUESTS)
def test_a_plain_request_is_written_as_h11_writes_it(request_: PlainRequest):
    assert plain_request(request_) == _Conversation(request_).sent


@pytest.mark.parametrize("request_", JUDGED_REQUESTS.values(), ids=JUDGED_REQUESTS)
def test_a_request_that_is_not_plain_is_left_to_h11(request_: PlainRequest):
    assert plain_request(request_) is None


def test_no_sign_of_a_header_makes_a_plain_request_that_h11_would_not_write_so():
    for code in range(256):
        for text in (b"a%cb" % code, b"%cb" % code, b"a%c" % code):
            for header in ((b"x", text), (text, b"x")):
                request = ASKED._replace(headers=[*ASKED.headers, header])
                plain = plain_request(request)
                assert plain is None or plain == _Conversation(request).sent, header


@pytest.mark.parametrize("data", PLAIN_ANSWERS.values(), ids=PLAIN_ANSWERS)
def test_a_plain_answer_is_read_as_h11_reads_it(data: bytes):
    plain, read = plain_answer(data), _Conversation(ASKED).answer(data)
    assert plain is not None
    assert read is not None
    assert plain == read


@pytest.mark.parametrize("data", JUDGED_ANSWERS.values(), ids=JUDGED_ANSWERS)
def test_an_answer_that_is_not_plain_is_left_to_h11(data: bytes):
    assert plain_answer(data) is None
