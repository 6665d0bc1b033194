"""What every client of HTTP may expect of a server: old versions, heads alone, packed bodies, slashes at the end."""

import gzip
import json
import zlib

import pytest

from partstream import TextPart
from partstream.cli.client_settings import CLIENTS
from partstream.protocols.protocol import loadable_protocols
from partstream.server.application import HEALTH, READINESS, SHOWN_CLIENTS
from partstream.server.requests import Routes, endpoints_of
from partstream.server.settings import ServingSettings
from partstream.upstream.endpoint import Secret
from serving.hosted import hosted, json_of, posted, request, status_of
from serving.providers import Driven

TOKEN = "the-key-of-the-tests-1234"  # noqa: S105 - of no server but these
KEY = f"Authorization: Bearer {TOKEN}".encode()
CHAT = b"/v1/chat/completions"
MOST = 100_000


async def _answer(progress, token):
    del token
    progress.report(TextPart("hello"))


@pytest.fixture(scope="module")
def server():
    with hosted(Driven(_answer), ServingSettings(token=Secret(TOKEN), body_bytes=MOST)) as served:
        yield served


def _asked(**more):
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}], **more}).encode()


def _head_and_body(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = (line.split(b": ", 1) for line in head.splitlines()[1:])
    return {name.decode(): value.decode() for name, value in lines}, body


# ---- HTTP/1.0 ----


@pytest.mark.parametrize("stream", [False, True], ids=["a document", "a stream"])
def test_an_answer_in_http_1_0_has_no_chunks_and_ends_with_the_connection(server, stream):
    asked = posted(CHAT, _asked(stream=stream), KEY).replace(b" HTTP/1.1", b" HTTP/1.0", 1)
    answer = server.exchange(asked.replace(b"Connection: close\r\n", b""))
    headers, body = _head_and_body(answer)
    assert status_of(answer) == 200
    assert "transfer-encoding" not in headers
    assert headers["connection"] == "close"
    if stream:
        assert body.startswith(b"data: {")
        assert body.endswith(b"data: [DONE]\n\n")
        assert "content-length" not in headers
    else:
        assert json.loads(body)["choices"][0]["message"]["content"] == "hello"
        assert headers["content-length"] == str(len(body))


# ---- Heads alone, and slashes at the end ----

ROUTES = tuple(Routes(endpoints_of(loadable_protocols()[0].values())))
READ = {
    one.path.replace("{model}", "m").replace("{id}", "resp_1").encode() for one in ROUTES if one.method == "GET"
} | {b"/", HEALTH.encode(), READINESS.encode(), b"/nothing", CHAT}
OWN = {"date", "x-request-id", "request-id"}


def _same_head(answer):
    headers, _ = _head_and_body(answer)
    return {name: value for name, value in headers.items() if name not in OWN and not name.endswith("request-id")}


@pytest.mark.parametrize("path", sorted(READ), ids=bytes.decode)
def test_a_head_alone_is_that_of_the_page(server, path):
    whole, alone = (server.exchange(request(method + b" " + path, KEY)) for method in (b"GET", b"HEAD"))
    assert status_of(alone) == status_of(whole)
    assert _same_head(alone).keys() == _same_head(whole).keys()
    assert _same_head(alone)["content-length"] == str(len(_head_and_body(whole)[1]))
    assert _head_and_body(alone)[1] == b""


def test_a_path_that_is_read_says_that_its_head_is_too(server):
    assert _head_and_body(server.exchange(request(b"PUT /v1/models", KEY)))[0]["allow"] == "GET, HEAD"
    assert _head_and_body(server.exchange(request(b"GET " + CHAT, KEY)))[0]["allow"] == "POST"


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        (b"/v1/models/", b"/v1/models"),
        (b"/v1/models//", b"/v1/models"),
        (b"/models/", b"/v1/models"),
        (b"/v1/v1/models/", b"/v1/models"),
        (b"/v1/models/m/", b"/v1/models/m"),
        (b"/api/tags/", b"/api/tags"),
    ],
    ids=lambda path: path.decode(),
)
def test_a_slash_at_the_end_changes_nothing(server, path, meant):
    given, expected = (_head_and_body(server.exchange(request(b"GET " + one, KEY)))[1] for one in (path, meant))
    assert json.loads(given) == json.loads(expected)
    assert b'"m"' in given or b'"m:' in given


def test_an_answer_is_asked_for_with_a_slash_at_the_end_too(server):
    answer = server.exchange(posted(CHAT + b"/", _asked(), KEY))
    assert json_of(answer)["choices"][0]["message"]["content"] == "hello"


# ---- Packed bodies ----


def _raw_deflate(data):
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKED = {
    "gzip": (b"gzip", gzip.compress),
    "gzip by its old name": (b"x-gzip", gzip.compress),
    "gzip in capital letters": (b" GZIP ", gzip.compress),
    "deflate with the head of zlib": (b"deflate", zlib.compress),
    "deflate without a head": (b"deflate", _raw_deflate),
    "deflate that does not pack": (b"deflate", lambda data: zlib.compress(data, 0)),
    "nothing": (b"identity", bytes),
}


@pytest.mark.parametrize(("coding", "pack"), PACKED.values(), ids=PACKED)
@pytest.mark.parametrize("piece", [1, 7, 100_000])
def test_a_packed_body_is_read_in_whatever_pieces_it_comes(server, coding, pack, piece):
    packed = pack(_asked())
    chunks = (packed[at : at + piece] for at in range(0, len(packed), piece))
    body = b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in chunks) + b"0\r\n\r\n"
    headers = (KEY, b"Content-Encoding:" + coding, b"Transfer-Encoding: chunked")
    answer = server.exchange(request(b"POST " + CHAT, *headers, body=body))
    assert json_of(answer)["choices"][0]["message"]["content"] == "hello"


BOMB = gzip.compress(b" " * (50 * 1024 * 1024))
BROKEN = {
    "a bomb": (b"gzip", BOMB, 413),
    "a bomb of deflate": (b"deflate", zlib.compress(b" " * (MOST + 1)), 413),
    "as much as there may be, which is no JSON": (b"gzip", gzip.compress(b" " * MOST), 400),
    "half of it": (b"gzip", gzip.compress(_asked())[:-9], 400),
    "the head alone": (b"gzip", gzip.compress(b"")[:10], 400),
    "something after it": (b"gzip", gzip.compress(_asked()) + b"x", 400),
    "two of them": (b"gzip", gzip.compress(_asked()) * 2, 400),
    "another checksum": (b"gzip", gzip.compress(_asked())[:-8] + b"\0" * 8, 400),
    "what is not packed": (b"gzip", _asked(), 400),
    "gzip under the name of deflate": (b"deflate", gzip.compress(_asked()), 400),
    "nothing at all": (b"gzip", b"", 400),
}


@pytest.mark.parametrize(("coding", "body", "status"), BROKEN.values(), ids=BROKEN)
def test_a_packed_body_that_is_too_large_or_broken_is_refused(server, coding, body, status):
    assert len(BOMB) < MOST, "the bytes that are sent are not too many"
    answer = server.exchange(posted(CHAT, body, KEY, b"Content-Encoding: " + coding))
    assert status_of(answer) == status
    assert json_of(answer)["error"]["message"].startswith("got ")


WIRES = {
    b"/v1/responses": lambda said: said["error"]["message"],
    CHAT: lambda said: said["error"]["message"],
    b"/v1/messages": lambda said: said["error"]["message"] if said["type"] == "error" else None,
    b"/v1beta/models/m:generateContent": lambda said: (
        said["error"]["message"] if said["error"]["code"] == 415 else None
    ),
    b"/api/chat": lambda said: said["error"],
}


@pytest.mark.parametrize(
    "coding", [b"zstd", b"br", b"gzip, gzip", b"deflate, br", b"x" * 1000], ids=lambda one: one[:9]
)
@pytest.mark.parametrize("path", WIRES, ids=bytes.decode)
def test_another_packing_is_refused_in_the_words_of_the_wire_and_the_usual_ones_are_named(server, path, coding):
    answer = server.exchange(posted(path, b"packed", KEY, b"Content-Encoding: " + coding))
    assert status_of(answer) == 415
    assert _head_and_body(answer)[0]["accept-encoding"] == "gzip, deflate"
    said = WIRES[path](json_of(answer))
    assert said.startswith("unsupported media type: ")
    assert len(said) < 200


# ---- The page at the address ----

HTML = b"Accept: text/html,application/xhtml+xml"


@pytest.mark.parametrize(
    "headers", [[], [b"User-Agent: ollama/0.6.3 (amd64 linux) Go/go1.26"], [b"Accept: */*"]], ids=len
)
def test_a_program_that_looks_for_ollama_finds_it(server, headers):
    answer = server.exchange(request(b"GET /", *headers))
    assert _head_and_body(answer)[1] == b"Ollama is running"
    assert _head_and_body(answer)[0]["content-type"].startswith("text/plain")


@pytest.mark.parametrize(("headers", "names_models"), [([], False), ([KEY], True), ([KEY + b"x"], False)])
def test_the_page_names_the_models_to_those_with_a_key_alone(server, headers, names_models):
    answer = server.exchange(request(b"GET /", HTML, *headers))
    said, page = _head_and_body(answer)
    assert status_of(answer) == 200
    assert (b"<code>m</code>" in page) is names_models
    assert (b"Only clients with a key" in page) is not names_models
    assert said["cache-control"] == "no-store"


def test_the_page_repeats_nothing_of_the_request(server):
    answer = server.exchange(request(b"GET /?evil1", HTML, b"X-Forwarded-Host: evil2", host=b"Host: evil3\r\n"))
    assert status_of(answer) == 200
    assert b"evil" not in answer


def test_the_clients_that_the_page_names_can_be_connected(server):
    assert set(SHOWN_CLIENTS) <= set(CLIENTS)
    page = server.exchange(request(b"GET /", HTML)).decode()
    assert all(f"partstream connect {name} --url" in page for name in SHOWN_CLIENTS)
