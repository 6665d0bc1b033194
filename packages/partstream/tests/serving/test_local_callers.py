"""Who may ask a server on loopback without a token."""

import asyncio

from partstream.runtime.demo_provider import DemoProvider
from partstream.server.application import app
from partstream.server.clients import local_program
from partstream.server.settings import ServingSettings
from rows import one_test_for
from serving.asgi import ask
from serving.asgi_socket import Socket


@one_test_for(
    "headers",
    [
        {"host": "127.0.0.1:8642"},
        {"host": "localhost:8642"},
        {"host": "[::1]:8642"},
        {"host": "127.0.0.1:8642", "origin": "http://localhost:3000"},
        {"host": "app.localhost", "origin": "http://127.0.0.1"},
    ],
)
def test_a_program_and_a_page_of_this_machine_may_ask(headers):
    assert local_program(headers) is not None


@one_test_for(
    "headers",
    [
        {},
        {"host": ""},
        {"host": "evil.example"},
        {"host": "evil.example:8642"},
        {"host": "127.0.0.1.evil.example"},
        {"host": "localhost.evil.example"},
        {"host": "[::1"},
        {"host": "127.0.0.1", "origin": "https://evil.example"},
        {"host": "127.0.0.1", "origin": "null"},
        {"host": "127.0.0.1", "origin": ""},
        {"host": "127.0.0.1", "origin": "http://127.0.0.1.evil.example"},
        {"host": "127.0.0.1", "origin": "http://127.0.0.1@evil.example"},
        {"host": "127.0.0.1@evil.example"},
        {"host": "127.0.0.1, evil.example"},
        {"host": "127.0.0.1#evil.example"},
        {"host": "127.0.0.1?evil.example"},
        {"host": "127.0.0.1/evil.example"},
        {"host": "127.0.0.1:80:evil.example"},
        {"host": "127.0.0.1", "origin": "http://127.0.0.1#evil.example"},
        {"host": "127.0.0.1", "origin": "ftp://127.0.0.1"},
        {"host": "127.0.0.1", "sec-fetch-site": "cross-site"},
    ],
)
def test_a_page_of_a_site_may_not_even_under_a_name_that_leads_here(headers):
    assert local_program(headers) is None


EVIL = "https://evil.example"
MINE = ("https://my.example",)
KEYLESS: list[tuple[dict[str, str], tuple[str, ...], bool]] = [
    # headers, allowed origins, whether an application without a key answers
    ({}, (), True),
    ({"host": "127.0.0.1:8000"}, (), True),
    ({"host": "192.168.1.5:8000"}, (), True),
    ({"host": "[fd00::1]:8000"}, (), True),
    ({"host": "testserver"}, (), True),
    ({"host": "models.localhost"}, (), True),
    ({"host": "127.0.0.1:8000", "origin": "http://localhost:3000"}, (), True),
    ({"host": "192.168.1.5:8000", "origin": "http://192.168.1.5:8000"}, (), True),
    ({"host": "my.example", "origin": "https://my.example"}, MINE, True),
    ({"host": "my.example:8443"}, MINE, True),
    ({"host": "127.0.0.1", "origin": "https://my.example"}, MINE, True),
    ({"host": "any.example", "origin": EVIL}, ("*",), True),
    ({"host": "127.0.0.1", "sec-fetch-site": "cross-site"}, ("*",), True),
    ({"host": "127.0.0.1", "origin": "app://one"}, ("local",), True),
    ({"host": "127.0.0.1", "origin": EVIL}, (), False),
    ({"host": "127.0.0.1", "origin": EVIL}, MINE, False),
    ({"host": "127.0.0.1", "origin": "null"}, (), False),
    ({"host": "127.0.0.1", "origin": "app://one"}, (), False),
    ({"host": "127.0.0.1", "sec-fetch-site": "cross-site"}, (), False),
    ({"host": "evil.example"}, (), False),
    ({"host": "evil.example:8000", "origin": "http://evil.example:8000"}, (), False),
    ({"host": "my.example"}, (), False),
    ({"host": "my.example.evil.example"}, MINE, False),
    ({"host": "127.0.0.1#.evil.example"}, (), False),
    ({"host": "127.0.0.1, evil.example"}, (), False),
    ({"host": "evil.example@127.0.0.1"}, (), False),
]
ASKED = {
    "/v1/chat/completions": {"model": "demo", "messages": [{"role": "user", "content": "Hi"}]},
    "/v1/responses": {"model": "demo", "input": "Hi"},
    "/v1/messages": {"model": "demo", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]},
    "/api/chat": {"model": "demo", "messages": [{"role": "user", "content": "Hi"}], "stream": False},
    "/v1/models": None,
    "/v1/responses/resp_1": None,
    "/own": None,
}


@one_test_for("row", KEYLESS)
def test_an_application_without_a_key_answers_no_page_on_any_path_or_socket(row) -> None:
    headers, origins, answers = row

    async def main() -> list[bool]:
        application = app(DemoProvider(), ServingSettings(allow_origins=origins))
        application.add_page("/own", lambda _accept: ("text/plain", b"mine"))
        refused = []
        for path, body in ASKED.items():
            said = await ask(application, path, body, method="GET" if body is None else "POST", headers=headers)
            refused.append(said.status == 403)
        socket = Socket(application, "/v1/responses", headers)
        refused.append((await socket.next()).get("status") == 403)
        await socket.close()
        return refused

    assert asyncio.run(main()) == [not answers] * (len(ASKED) + 1)
