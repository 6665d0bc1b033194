"""Clients that attack a server: nothing is answered without the key, smuggled or broken, and nothing is given away."""

import json
import os
import socket
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from partstream import TextPart
from partstream.server.settings import ServingSettings
from partstream.upstream.endpoint import Secret
from serving.hosted import SECONDS, hosted, json_of, posted, request, status_of
from serving.providers import Driven

TOKEN = "the-key-of-the-tests-1234"  # noqa: S105 - of no server but these
KEY = f"Authorization: Bearer {TOKEN}".encode()
CHAT = b"/v1/chat/completions"
BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}).encode()
LENGTH = b"Content-Length: %d" % len(BODY)
CHUNKED = b"Transfer-Encoding: chunked"
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
SMUGGLED = b"GET /v1/models HTTP/1.1\r\nHost: h\r\n" + KEY + b"\r\n\r\n"


async def _answer(progress, token):
    del token
    progress.report(TextPart("hello"))


@pytest.fixture(scope="module")
def server():
    provider = Driven(_answer)
    with hosted(provider, ServingSettings(token=Secret(TOKEN), body_bytes=100_000)) as served:
        served.provider = provider
        yield served


def _is_well(server):
    answer = server.exchange(posted(CHAT, BODY, KEY))
    return status_of(answer) == 200 and b'"hello"' in answer


WITHOUT_THE_KEY = {
    "nothing": [],
    "an empty key": [b"Authorization: Bearer "],
    "the scheme alone": [b"Authorization: Bearer"],
    "the key alone": [b"Authorization: " + TOKEN.encode()],
    "another scheme": [b"Authorization: Basic " + TOKEN.encode()],
    "the beginning of the key": [b"Authorization: Bearer " + TOKEN[:-1].encode()],
    "more than the key": [b"Authorization: Bearer " + TOKEN.encode() + b"x"],
    "other letters": [b"Authorization: Bearer " + TOKEN.upper().encode()],
    "two keys": [b"Authorization: Bearer x", KEY],
    "two keys in one header": [b"Authorization: Bearer x, Bearer " + TOKEN.encode()],
    "a null behind the key": [KEY + b"%00"],
    "the key in a cookie": [b"Cookie: token=" + TOKEN.encode()],
    "the key for a proxy": [b"Proxy-Authorization: Bearer " + TOKEN.encode()],
    "bytes that are no text": [b"Authorization: Bearer \xff\xfe"],
    "a name of this machine": [b"X-Forwarded-For: 127.0.0.1", b"Forwarded: for=127.0.0.1"],
    "a key of 40,000 characters": [b"Authorization: Bearer " + b"x" * 40_000],
    "an empty x-api-key": [b"x-api-key:"],
}


@pytest.mark.parametrize("headers", WITHOUT_THE_KEY.values(), ids=WITHOUT_THE_KEY)
def test_without_the_key_nothing_is_answered(server, headers):
    server.provider.forget()
    answer = server.exchange(posted(CHAT, BODY, *headers))
    assert status_of(answer) == 401
    assert TOKEN.encode() not in answer
    assert b"www-authenticate: Bearer" in answer
    assert server.provider.events == []


OTHER_WAYS = {
    "a path above": b"GET /healthz/../v1/models",
    "an escaped path above": b"GET /healthz/%2e%2e/v1/models",
    "escaped slashes": b"GET /healthz%2f..%2fv1%2fmodels",
    "two slashes": b"GET //v1/models",
    "a slash at the end": b"GET /v1/models/",
    "other letters": b"GET /V1/MODELS",
    "a parameter of the path": b"GET /healthz;/v1/models",
    "a null": b"GET /healthz%00/v1/models",
    "another method": b"PUT /v1/models",
    "a method that reads": b"HEAD /v1/models",
    "a question of the browser": b"OPTIONS /v1/chat/completions",
    "a whole address": b"GET http://127.0.0.1/v1/models",
    "the key in the query": b"GET /v1/models?key=" + TOKEN.encode(),
    "the key in the query under other names": b"GET /v1/models?api_key=%b&token=%b" % (TOKEN.encode(), TOKEN.encode()),
    "the model's own list": b"GET /v1/models/m",
    "the models of Google": b"GET /v1beta/models",
    "the models of Ollama": b"GET /api/tags",
    "figures": b"GET /metrics",
    "a stored answer": b"GET /v1/responses/resp_1",
    "a path of 60,000 characters": b"GET /" + b"x" * 60_000,
    "a file": b"GET /../../../../etc/passwd",
}


@pytest.mark.parametrize("line", OTHER_WAYS.values(), ids=OTHER_WAYS)
def test_no_other_way_leads_to_what_the_key_guards(server, line):
    answer = server.exchange(request(line))
    assert status_of(answer) in {400, 401, 404, 405}
    assert b'"m"' not in answer
    assert b"root:" not in answer
    assert len(answer) < 20_000


SOCKET = b"/v1/responses"
UPGRADE = (
    b"Upgrade: websocket",
    b"Connection: Upgrade",
    b"Sec-WebSocket-Version: 13",
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
)
UNKNOWN = b"Sec-WebSocket-Version: 99"

REFUSED = {
    "a length and chunks": (request(b"POST " + CHAT, KEY, LENGTH, CHUNKED, body=CHUNKS + SMUGGLED), 400),
    "chunks and a length": (request(b"POST " + CHAT, KEY, CHUNKED, b"Content-Length: 5", body=CHUNKS + SMUGGLED), 400),
    "chunks in a folded header": (
        request(b"POST " + CHAT, KEY, b"Transfer-Encoding:\r\n chunked", LENGTH, body=CHUNKS + SMUGGLED),
        400,
    ),
    "chunks twice": (request(b"POST " + CHAT, KEY, CHUNKED, CHUNKED, body=CHUNKS + SMUGGLED), 400),
    "chunks and identity": (request(b"POST " + CHAT, KEY, CHUNKED + b", identity", body=CHUNKS + SMUGGLED), 400),
    "a coding that looks like chunks": (
        request(b"POST " + CHAT, KEY, b"Transfer-Encoding: xchunked", body=CHUNKS + SMUGGLED),
        501,
    ),
    "a quoted coding": (request(b"POST " + CHAT, KEY, b'Transfer-Encoding: "chunked"', body=CHUNKS + SMUGGLED), 501),
    "a coding behind a vertical tab": (
        request(b"POST " + CHAT, KEY, b"Transfer-Encoding: \x0bchunked", body=CHUNKS + SMUGGLED),
        400,
    ),
    "a coding with a parameter": (request(b"POST " + CHAT, KEY, CHUNKED + b";q=1", body=CHUNKS + SMUGGLED), 501),
    "another encoding": (
        request(b"POST " + CHAT, KEY, b"Transfer-Encoding: chunked, gzip", body=CHUNKS + SMUGGLED),
        400,
    ),
    "an unknown encoding before chunks": (
        request(b"POST " + CHAT, KEY, b"Transfer-Encoding: gzip, chunked", body=CHUNKS + SMUGGLED),
        501,
    ),
    "an unknown encoding and chunks": (
        request(b"POST " + CHAT, KEY, b"Transfer-Encoding: foo", CHUNKED, body=CHUNKS + SMUGGLED),
        501,
    ),
    "an empty encoding before chunks": (
        request(b"POST " + CHAT, KEY, b"Transfer-Encoding: ,chunked", body=CHUNKS + SMUGGLED),
        501,
    ),
    "a blank before the colon": (request(b"POST " + CHAT, KEY, b"Transfer-Encoding : chunked", body=CHUNKS), 400),
    "two lengths": (request(b"POST " + CHAT, KEY, LENGTH, b"Content-Length: 3", body=BODY + SMUGGLED), 400),
    "the same length twice": (request(b"POST " + CHAT, KEY, LENGTH, LENGTH, body=BODY + SMUGGLED), 400),
    "a list of lengths": (
        request(b"POST " + CHAT, KEY, LENGTH + b", %d" % len(BODY), body=BODY + SMUGGLED),
        400,
    ),
    "a negative length": (request(b"POST " + CHAT, KEY, b"Content-Length: -1", body=BODY + SMUGGLED), 400),
    "a hexadecimal length": (request(b"POST " + CHAT, KEY, b"Content-Length: 0x10", body=BODY + SMUGGLED), 400),
    "a length with a sign": (request(b"POST " + CHAT, KEY, b"Content-Length: +3", body=b"abc" + SMUGGLED), 400),
    "a length of 5,000 digits": (request(b"POST " + CHAT, KEY, b"Content-Length: " + b"9" * 5000), 400),
    "a length that no memory has": (request(b"POST " + CHAT, KEY, b"Content-Length: 9999999999999"), 413),
    "chunks that are too many": (
        request(b"POST " + CHAT, KEY, CHUNKED, body=b"9c40\r\n%s\r\n" % (b" " * 40_000) * 3 + b"0\r\n\r\n"),
        413,
    ),
    "a chunk size without end": (request(b"POST " + CHAT, KEY, CHUNKED, body=b"f" * 17 + b"\r\n" + BODY), 400),
    "a negative chunk size": (request(b"POST " + CHAT, KEY, CHUNKED, body=b"-1\r\n" + BODY), 400),
    "chunks of line feeds alone": (
        request(b"POST " + CHAT, KEY, CHUNKED, body=CHUNKS.replace(b"\r\n", b"\n") + SMUGGLED),
        400,
    ),
    "a chunk without its line end": (
        request(b"POST " + CHAT, KEY, CHUNKED, body=b"%x\r\n%sXX0\r\n\r\n" % (len(BODY), BODY) + SMUGGLED),
        400,
    ),
    "a socket by POST": (request(b"POST " + SOCKET, KEY, *UPGRADE), 400),
    "a socket with a body": (request(b"GET " + SOCKET, KEY, *UPGRADE, LENGTH, body=BODY), 400),
    "a socket of HTTP/1.0": (
        request(b"GET " + SOCKET, KEY, *UPGRADE).replace(b"HTTP/1.1", b"HTTP/1.0", 1),
        400,
    ),
    "a socket with 200 headers": (
        request(b"GET " + SOCKET, KEY, *UPGRADE, *(b"X-%d: a" % number for number in range(200))),
        431,
    ),
    "a socket with a long header": (request(b"GET " + SOCKET, KEY, *UPGRADE, b"X: " + b"a" * 20_000), 431),
    "a socket without a handshake": (request(b"GET " + SOCKET, KEY, *UPGRADE[:3]), 400),
    "a socket of another version": (request(b"GET " + SOCKET, KEY, *UPGRADE[:2], UNKNOWN, UPGRADE[3]), 400),
    "a carriage return in a header": (request(b"POST " + CHAT, KEY, LENGTH, b"X: a\rb", body=BODY), 400),
    "a null in a header": (request(b"POST " + CHAT, KEY, LENGTH, b"X: a\0b", body=BODY), 400),
    "20,000 headers": (request(b"GET /", *(b"X-%d: a" % number for number in range(20_000))), 431),
    "a header of 70 kB": (request(b"GET /", b"X: " + b"a" * 70_000), 431),
    "a method of 100 kB": (request(b"A" * 100_000 + b" /"), 400),
    "HTTP/2 by its preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"a" * 200 + b"\r\n\r\n", 400),
    "a tunnel": (request(b"CONNECT evil:443"), 400),
    "two hosts": (request(b"POST " + CHAT, b"Host: evil.example", KEY, LENGTH, body=BODY), 400),
    "no host": (b"POST %b HTTP/1.1\r\n%b\r\n%b\r\n\r\n%b" % (CHAT, KEY, LENGTH, BODY), 400),
    "another version": (request(b"POST " + CHAT, KEY, LENGTH, body=BODY).replace(b"HTTP/1.1", b"HTTP/2.0", 1), 400),
}


@pytest.mark.parametrize(("data", "status"), REFUSED.values(), ids=REFUSED)
def test_it_is_refused_and_nothing_behind_it_is_read(server, data, status):
    server.provider.forget()
    answer = server.exchange(data)
    assert status_of(answer) == status
    assert answer.count(b"HTTP/1.1 ") == 1
    assert server.provider.events == []
    assert _is_well(server)


ONCE = {
    "a chunk extension of 200 kB": request(
        b"POST " + CHAT, KEY, CHUNKED, body=CHUNKS.replace(b"\r\n", b";" + b"a" * 200_000 + b"\r\n", 1)
    ),
    "a trailer of 200 kB": request(
        b"POST " + CHAT, KEY, CHUNKED, body=CHUNKS[:-2] + b"X: " + b"a" * 200_000 + b"\r\n\r\n"
    ),
    "20,000 trailers": request(b"POST " + CHAT, KEY, CHUNKED, body=CHUNKS[:-2] + b"X: a\r\n" * 20_000 + b"\r\n"),
    "1,000 headers": request(b"POST " + CHAT, KEY, LENGTH, *(b"X-%d: a" % number for number in range(1000)), body=BODY),
    "HTTP/0.9": b"GET /v1/models\r\n\r\n",
    "an upgrade to h2c": request(
        b"POST " + CHAT, KEY, LENGTH, b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", body=BODY
    ),
    "an absolute address": request(b"POST http://evil.example" + CHAT, KEY, LENGTH, body=BODY),
}


@pytest.mark.parametrize("data", ONCE.values(), ids=ONCE)
def test_what_may_be_odd_is_answered_once(server, data):
    server.provider.forget()
    answer = server.exchange(data)
    assert status_of(answer) in {200, 400, 401, 431}
    assert answer.count(b"HTTP/1.1 ") == 1
    assert len(server.provider.events) <= 2
    assert _is_well(server)


def _with(more):
    return BODY[:-1] + b"," + more + b"}"


BODIES = {
    "nothing": (b"", 400),
    "no JSON": (b"model=m", 400),
    "half of it": (BODY[:-5], 400),
    "something behind it": (BODY + b"x", 400),
    "a list": (b"[" + BODY + b"]", 400),
    "a word": (b'"m"', 400),
    "null": (b"null", 400),
    "no UTF-8": (_with(b'"user":"\xff"'), 400),
    "100,000 levels": (b'{"messages":' + b"[" * 40_000 + b"]" * 40_000 + b"}", 400),
    "40,000 objects in each other": (b'{"a":' * 15_000 + b"1" + b"}" * 15_000, 400),
    "NaN": (_with(b'"temperature":NaN'), 400),
    "Infinity": (_with(b'"temperature":-Infinity'), 400),
    "a number of 5,000 digits": (_with(b'"max_tokens":' + b"9" * 5000), 400),
    "a number above all numbers": (_with(b'"temperature":1e999999'), 400),
    "other types": (b'{"model":["m"],"messages":{"role":1}}', 400),
    "no messages": (b'{"model":"m"}', 400),
    "messages that are texts": (b'{"model":"m","messages":["Hi"]}', 400),
    "another model": (BODY.replace(b'"m"', b'"unknown"'), 404),
    "a model with a line end": (BODY.replace(b'"m"', b'"m\\r\\nX-Injected: 1"'), 404),
    "a model with a null": (BODY.replace(b'"m"', b'"m\\u0000"'), 404),
    "half a character as the model": (BODY.replace(b'"m"', b'"\\ud800"'), 404),
    "a model of 50,000 characters": (BODY.replace(b'"m"', b'"' + b"m" * 50_000 + b'"'), 404),
    "half a character as the text": (BODY.replace(b"Hi", b"\\ud800"), 200),
    "a null as the text": (BODY.replace(b"Hi", b"\\u0000"), 200),
    "a prototype": (_with(b'"__proto__":{"x":1},"constructor":1'), 200),
}


@pytest.mark.parametrize(("body", "status"), BODIES.values(), ids=BODIES)
def test_a_body_of_any_kind_is_answered_and_the_server_goes_on(server, body, status):
    answer = server.exchange(posted(CHAT, body, KEY))
    assert status_of(answer) == status
    assert b"x-injected" not in answer.partition(b"\r\n\r\n")[0].lower()
    assert b"Traceback" not in answer
    assert TOKEN.encode() not in answer
    assert len(answer) < 20_000, "an error does not repeat what was sent"
    assert json_of(answer) if status != 200 else _is_well(server)


def test_a_failure_of_the_provider_puts_no_header_into_the_reply_and_no_key_into_its_words():
    async def fail(progress, token):
        raise ValueError(f"no\r\nX-Injected: {TOKEN}")

    with hosted(Driven(fail, model_id="m\r\nX-Injected: 1"), ServingSettings(token=Secret(TOKEN))) as server:
        answer = server.exchange(posted(CHAT, BODY.replace(b'"m"', b'"m\\r\\nX-Injected: 1"'), KEY))
        listed = server.exchange(request(b"GET /v1/models", KEY))
    assert status_of(answer) >= 500
    assert status_of(listed) == 200
    for reply in (answer, listed):
        assert b"x-injected" not in reply.partition(b"\r\n\r\n")[0].lower()
        assert TOKEN.encode() not in reply


def _socket(server, path="/v1/responses", **headers):
    return connect(f"ws://127.0.0.1:{server.port}{path}", additional_headers=headers, proxy=None, max_size=None)


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/v1/responses", {}),
        ("/v1/responses", {"Authorization": f"Bearer {TOKEN}x"}),
        ("/v1/responses?key=" + TOKEN, {}),
        ("/v1/responses", {"Sec-WebSocket-Protocol": TOKEN}),
        ("/healthz", {}),
        ("/v1/models", {}),
    ],
)
def test_a_socket_without_the_key_is_not_opened(server, path, headers):
    with pytest.raises(InvalidStatus) as refused:
        _socket(server, path, **headers)
    assert refused.value.response.status_code in {401, 403, 404, 405, 426}


FRAMES = {
    "no JSON": "model",
    "a list": "[]",
    "nothing": "{}",
    "another type": '{"type":"response.cancel"}',
    "steering of nothing": '{"type":"response.steer"}',
    "a model with a line end": '{"type":"response.create","model":"m\\r\\nX: 1","input":"Hi"}',
    "NaN": '{"type":"response.create","model":"m","input":"Hi","temperature":NaN}',
    "Infinity where it is repeated": '{"type":"response.create","model":"m","input":"Hi","metadata":{"a":-1e999}}',
    "Infinity in a message that is refused": '{"type":"response.steer","input":[{"role":"user","content":1e999}]}',
    "10,000 levels": '{"type":"response.create","model":"m","input":' + "[" * 10_000 + "]" * 10_000 + "}",
    "bytes": b"\x00\xff",
}


def test_a_socket_that_is_refused_leaves_no_line_in_the_log(server, caplog):
    for headers in ((), (b"Authorization: Bearer wrong",), (b"Origin: https://evil.example",)):
        with socket.create_connection(("127.0.0.1", server.port), SECONDS) as own:
            own.sendall(request(b"GET " + SOCKET, *headers, *UPGRADE))
            said = b""
            while piece := own.recv(1 << 16):
                said += piece
        assert said.startswith(b"HTTP/1.1 401")
    assert _is_well(server)
    assert not caplog.records, "who has no key could fill the disk with them"


def test_what_a_socket_cannot_use_is_an_error_and_the_socket_goes_on(server):
    with _socket(server, Authorization=f"Bearer {TOKEN}") as client:
        for name, frame in FRAMES.items():
            client.send(frame)
            said = json.loads(client.recv(SECONDS))
            assert said["type"] == ("response.steer.failed" if name == "steering of nothing" else "error"), name
            assert TOKEN not in str(said)
        client.send('{"type":"response.create","model":"m","input":"Hi"}')
        last = ""
        while last not in {"response.completed", "error"}:
            last = json.loads(client.recv(SECONDS))["type"]
        assert last == "response.completed"


def test_a_frame_that_is_too_large_closes_its_socket_alone(server):
    with _socket(server, Authorization=f"Bearer {TOKEN}") as client:
        client.send("x" * 200_000)
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(SECONDS)
    assert closed.value.rcvd.code == 1009
    assert _is_well(server)


def test_pings_of_a_client_that_does_not_read_are_not_answered(server):
    with socket.socket() as own:
        own.settimeout(SECONDS)
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        own.connect(("127.0.0.1", server.port))
        own.sendall(request(b"GET " + SOCKET, KEY, *UPGRADE))
        assert own.recv(12) == b"HTTP/1.1 101"
        ping = b"\x89\xfd\0\0\0\0" + b"a" * 125
        own.sendall(ping * 100_000 + b"\x88\x80\0\0\0\0")
        answered = 0
        while piece := own.recv(1 << 20):
            answered += len(piece)
    assert answered < 8_000_000, "the rest would have waited in the memory of the server"
    assert _is_well(server)


def _frame(first, payload=b"", *, length=None, masked=True):
    """A frame of a client, masked with zeros; its length may be a lie."""
    size = len(payload) if length is None else length
    short, width = (size, 0) if size < 126 else (126, 2) if size < 1 << 16 else (127, 8)
    mask = b"\0" * 4 if masked else b""
    return (
        bytes([first, short | (0x80 if masked else 0)])
        + (size.to_bytes(width, "big") if width else b"")
        + mask
        + payload
    )


BROKEN_FRAMES = {
    "packed": (_frame(0xC1, b"\xca\x48\xcd\xc9\xc9\x07\x00"), {1002}),
    "unmasked": (_frame(0x81, b"{}", masked=False), {1002}),
    "an unknown opcode": (_frame(0x83, b"{}"), {1002}),
    "a ping of 126 bytes": (_frame(0x89, b"a" * 126), {1002}),
    "a close of one byte": (_frame(0x88, b"a"), {1002}),
    "a close with an impossible code": (_frame(0x88, b"\x03\xed"), {1002}),
    "2^62 bytes": (_frame(0x81, length=1 << 62), {1002, 1009}),
    "2^63 bytes": (_frame(0x81, length=1 << 63), {1002, 1009}),
    "no UTF-8": (_frame(0x81, b"\xff\xfe"), {1007}),
    "a text within a text": (_frame(0x01, b"{") + _frame(0x81, b"{}"), {1002}),
    "a continuation of nothing": (_frame(0x80, b"{}"), {1002}),
}


def _upgraded(server):
    own = socket.create_connection(("127.0.0.1", server.port), SECONDS)
    own.sendall(request(b"GET " + SOCKET, KEY, *UPGRADE, b"Sec-WebSocket-Extensions: permessage-deflate"))
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += own.recv(1)
    assert head.startswith(b"HTTP/1.1 101")
    assert b"permessage-deflate" not in head, "packed messages would have to be unpacked within a limit"
    return own


@pytest.mark.parametrize(("frames", "codes"), BROKEN_FRAMES.values(), ids=BROKEN_FRAMES)
def test_a_broken_frame_closes_its_socket_alone(server, frames, codes, caplog):
    with _upgraded(server) as own:
        own.sendall(frames)
        said = b""
        while piece := own.recv(1 << 16):
            said += piece
    assert said[:1] == b"\x88", "a close, and nothing before it"
    assert int.from_bytes(said[2:4], "big") in codes
    assert _is_well(server)
    assert not [record for record in caplog.records if record.exc_info], "the log has no place for what strangers send"


def test_empty_fragments_take_no_memory(server):
    with _upgraded(server) as own:
        own.sendall(_frame(0x01) + _frame(0x00) * 10_000)
        before = _memory()
        own.sendall(_frame(0x00) * 90_000 + _frame(0x80, b"{}"))
        answered = own.recv(1 << 16)
    assert answered[:1] == b"\x81", "the message is read when it is whole"
    assert _memory() - before < 20_000_000
    assert _is_well(server)


def test_sockets_that_come_and_go_leave_nothing(server):
    def some():
        for _ in range(20):
            with _socket(server, Authorization=f"Bearer {TOKEN}") as client:
                client.send('{"type":"response.create","model":"m","input":"Hi"}')
                client.recv(SECONDS)

    some()
    before = _memory()
    some()
    assert _memory() - before < 4_000_000
    assert _is_well(server)


def _memory():
    """The bytes of this process, in which the server runs too."""
    pages = Path("/proc/self/statm")
    return int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if pages.exists() else 0
