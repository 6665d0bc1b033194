"""Pages of browsers: which origins may read replies, and that an origin never replaces the key."""

from __future__ import annotations
import json
from functools import partial

import pytest

from partstream import InvalidArgumentError, TextPart
from partstream.server.clients import local_program
from partstream.server.origins import AllowedOrigins, is_allowable
from partstream.server.settings import ServingSettings
from partstream.upstream.endpoint import Secret
from rows import one_test_for
from serving.hosted import hosted, posted, request, status_of
from serving.providers import Driven

TOKEN = "the-key-of-the-tests-1234"  # noqa: S105 - of no server but these
KEY = f"Authorization: Bearer {TOKEN}".encode()
CHAT = b"/v1/chat/completions"
BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}).encode()


async def _answer(progress, token):
    del token
    progress.report(TextPart("hello"))


def _hosted(*origins, token=TOKEN):
    if token is None:
        authenticate = partial(local_program, allow=AllowedOrigins(origins).allow)
        return hosted(Driven(_answer), ServingSettings(authenticate=authenticate, allow_origins=origins))
    return hosted(Driven(_answer), ServingSettings(token=Secret(token), allow_origins=origins))


def _headers(answer):
    lines = (line.split(b": ", 1) for line in answer.partition(b"\r\n\r\n")[0].splitlines()[1:])
    return {name.decode(): value.decode() for name, value in lines}


def _cors(answer):
    return {
        name: value for name, value in _headers(answer).items() if name == "vary" or name.startswith("access-control")
    }


def _asks(origin, *headers, method=b"POST"):
    named = b"Access-Control-Request-Method: " + method
    return request(b"OPTIONS " + CHAT, b"Origin: " + origin, named, *headers)


ALLOWED = {
    "https://app.example": ["https://app.example"],
    "https://app.example:8443": ["https://app.example:8443"],
    "http://localhost:*": ["http://localhost", "http://localhost:1", "http://localhost:65535"],
    "http://[::1]:*": ["http://[::1]", "http://[::1]:3000"],
    "app://*": ["app://obsidian.md", "app://x"],
    "file://*": ["file://"],
    "local": ["http://localhost:3000", "https://127.0.0.1", "http://0.0.0.0:1", "app://x", "tauri://localhost"],
    "*": ["https://any.example", "null"],
}
REFUSED = {
    "https://app.example": [
        "http://app.example",
        "https://app.example:8443",
        "https://app.example.evil.example",
        "https://evil.app.example",
        "https://app.example/",
        "https://app.example@evil.example",
        "https://app.example,https://evil.example",
        "https://APP.example",
        "https://app.example ",
        "",
        "null",
    ],
    "http://localhost:*": [
        "https://localhost",
        "http://localhost.evil.example",
        "http://localhost:x",
        "http://localhost:",
    ],
    "app://*": ["https://app", "apps://x", "app:x", "app://*", "app://x/y"],
    "local": [
        "https://evil.example",
        "http://192.168.0.1",
        "null",
        "chrome-extension://abc",
        "http://*",
        "http://localhost:*",
    ],
}


@one_test_for(("pattern", "origin"), [(one, origin) for one, all_ in ALLOWED.items() for origin in all_])
def test_an_origin_of_an_allowed_form_may_read(pattern, origin):
    assert is_allowable(pattern)
    assert AllowedOrigins([pattern]).allow(origin)


@one_test_for(("pattern", "origin"), [(one, origin) for one, all_ in REFUSED.items() for origin in all_])
def test_another_origin_may_not(pattern, origin):
    assert not AllowedOrigins([pattern]).allow(origin)
    assert not AllowedOrigins().allow(origin)


@one_test_for(
    "pattern",
    [
        *("", "null", "app.example", "https://", "https://*", "http://*:*", "https://*.example", "https://a/b"),
        *("https://a b", "https://a:", "https://a:x", "app://*:*", "*.example", "https://a\r\nx: 1", "a" * 300),
    ],
)
def test_what_is_no_origin_cannot_be_allowed(pattern):
    assert not is_allowable(pattern)
    with pytest.raises(InvalidArgumentError, match="allow_origins"):
        ServingSettings(allow_origins=(pattern,))


@one_test_for(
    ("patterns", "are_local"),
    [
        ([], True),
        (["local", "http://[::1]:*", "vscode-webview://*"], True),
        (["local", "https://app.example"], False),
        (["http://192.168.0.1:*"], False),
        (["*"], False),
    ],
)
def test_origins_of_one_machine_are_told_from_those_of_a_network(patterns, are_local):
    assert AllowedOrigins(patterns).are_local is are_local


def test_without_the_setting_no_reply_has_a_header_of_cors():
    with _hosted() as server:
        asked = server.exchange(_asks(b"http://localhost:3000"))
        answered = server.exchange(posted(CHAT, BODY, KEY, b"Origin: http://localhost:3000"))
    assert (status_of(asked), _cors(asked)) == (405, {})
    assert (status_of(answered), _cors(answered)) == (200, {})


def test_a_page_of_an_allowed_origin_asks_first_and_reads_the_reply():
    with _hosted("https://app.example") as server:
        asked = server.exchange(
            _asks(b"https://app.example", b"Access-Control-Request-Headers: authorization,x-stainless-os")
        )
        answered = server.exchange(posted(CHAT, BODY, KEY, b"Origin: https://app.example"))
    assert status_of(asked) == 204
    assert _cors(asked) == {
        "access-control-allow-origin": "https://app.example",
        "access-control-expose-headers": "*",
        "access-control-allow-methods": "GET, HEAD, POST, DELETE",
        "access-control-allow-headers": "authorization, x-stainless-os",
        "access-control-max-age": "3600",
        "vary": "origin",
    }
    assert status_of(answered) == 200
    assert _cors(answered)["access-control-allow-origin"] == "https://app.example"
    assert _cors(answered)["vary"] == "origin"


@pytest.mark.parametrize("origin", [b"https://evil.example", b"null", b"https://app.example.evil.example"])
def test_a_page_of_another_origin_reads_nothing_and_caches_keep_them_apart(origin):
    with _hosted("https://app.example") as server:
        asked = server.exchange(_asks(origin))
        answered = server.exchange(posted(CHAT, BODY, KEY, b"Origin: " + origin))
    assert (status_of(asked), _cors(asked)) == (405, {"vary": "origin"})
    assert _cors(answered) == {"vary": "origin"}


WITHOUT_KEY = {
    "an answer": posted(CHAT, BODY, b"Origin: https://app.example"),
    "the models": request(b"GET /v1/models", b"Origin: https://app.example"),
    "the models of Ollama": request(b"GET /api/tags", b"Origin: https://app.example"),
}


@pytest.mark.parametrize("data", WITHOUT_KEY.values(), ids=WITHOUT_KEY)
@pytest.mark.parametrize("allowed", ["https://app.example", "*"])
def test_an_allowed_page_without_the_key_reads_that_it_needs_one(data, allowed):
    with _hosted(allowed) as server:
        answer = server.exchange(data)
    assert status_of(answer) == 401
    assert "access-control-allow-origin" in _cors(answer)
    assert b'"m"' not in answer


@pytest.mark.parametrize("path", [b"/", b"/metrics-of-the-owner"])
def test_the_routes_of_the_owner_are_for_no_page_of_others(path):
    with _hosted("*") as server:
        answer = server.exchange(request(b"GET /", b"Origin: https://app.example", KEY))
        asked = server.exchange(_asks(b"https://app.example").replace(CHAT, b"/"))
    assert status_of(answer) == 200
    assert "access-control-allow-origin" not in _cors(answer)
    assert status_of(asked) == 405


ASKED_HEADERS = {
    "line ends": b"authorization,\x0bx",
    "no names": b"a b, c:d, \xff",
    "ten thousand": b",".join(b"x-%d" % number for number in range(10_000)),
    "a long one": b"x" * 10_000,
}


@pytest.mark.parametrize("names", ASKED_HEADERS.values(), ids=ASKED_HEADERS)
def test_the_names_of_headers_are_repeated_within_bounds(names):
    said = AllowedOrigins(["*"]).preflight(
        "OPTIONS",
        {"access-control-request-method": "POST", "access-control-request-headers": names.decode("latin-1")},
    )
    allowed = dict(said).get("access-control-allow-headers", "")
    assert len(allowed) <= 5000
    assert allowed.isascii()
    assert all(name and " " not in name for name in allowed.split(", ") if allowed)


# ---- Without a token ----

NO_TOKEN = {
    "a program": ([], [], b"127.0.0.1", 200),
    "a page of this machine": ([], [b"Origin: http://localhost:3000"], b"127.0.0.1", 200),
    "an app of this machine that is not allowed": ([], [b"Origin: app://obsidian.md"], b"127.0.0.1", 401),
    "an app of this machine that is": (["app://*"], [b"Origin: app://obsidian.md"], b"127.0.0.1", 200),
    "a page of a site": (["local"], [b"Origin: https://evil.example"], b"127.0.0.1", 401),
    "a page of no origin": (["local"], [b"Origin: null"], b"127.0.0.1", 401),
    "a name that leads here": (["local"], [], b"evil.example", 401),
    "a name that leads here, from a page of this machine": (
        ["local"],
        [b"Origin: http://localhost:3000"],
        b"evil.example",
        401,
    ),
}


@pytest.mark.parametrize(("origins", "headers", "host", "status"), NO_TOKEN.values(), ids=NO_TOKEN)
def test_without_a_token_the_host_and_the_origin_are_of_this_machine(origins, headers, host, status):
    with _hosted(*origins, token=None) as server:
        asked = posted(CHAT, BODY, *headers).replace(b"Host: h\r\n", b"Host: " + host + b"\r\n")
        assert status_of(server.exchange(asked)) == status
