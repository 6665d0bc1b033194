"""What `chat`, `models` and `doctor` say when something does not work: the cause, the server's words, what helps."""

import asyncio
import json
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest

from commands import Ended, call, run
from listening import deliver, listening
from partstream.server.loopback import ServerConnection
from partstream_devtools.testing.faults import Step, document
from rows import one_test_for
from upstreams.upstreams import server_of

KEY = f"sk-{token_hex(12)}"
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy")
COMMANDS = {
    "chat": ("chat", "--model", "m", "Hi"),
    "models": ("models",),
    "doctor": ("doctor",),
}
FAILED = {"chat": 3, "models": 3, "doctor": 1}


@pytest.fixture(autouse=True)
def nothing_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CONFIG_HOME", "APPDATA", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))


FORCED = {"PARTSTREAM_PROTOCOL": "openresponses"}
"""So that a server gets the requests of the test and no others."""


async def _asked(command: str, base_url: str, **environment: str) -> Ended:
    first, *rest = COMMANDS[command]
    home = {"XDG_CONFIG_HOME": "/nowhere", "APPDATA": "/nowhere"}
    once = {"PARTSTREAM_RETRY": '{"attempts": 1}'}
    return await call(first, "--base-url", base_url, *rest, **home, **once, **environment)


def _error(message: str, **fields: Any) -> bytes:
    return json.dumps({"error": {"message": message, **fields}}).encode()


# What a server answers, and what each of the commands says of it.
ANSWERS: dict[str, tuple[tuple[Step, ...], tuple[str, ...]]] = {
    "the key is wrong": (
        document(401, _error(f"Incorrect API key provided: {KEY}.", code="invalid_api_key")),
        ("HTTP 401: Incorrect API key provided: ***", "rejected this API key"),
    ),
    "an error in an array": (
        document(400, b'[{"error":{"code":400,"message":"API key not valid."}}]'),
        ("HTTP 400: API key not valid", "rejected this API key"),
    ),
    "no credit": (document(402, _error("You have no credit.")), ("HTTP 402: You have no credit.",)),
    "broken": (document(500, _error("The database is on fire.")), ("HTTP 500: The database is on fire.",)),
    "fields that are refused": (
        document(422, b'{"detail":[{"loc":["body","model"],"msg":"Field required"}]}'),
        ("HTTP 422: body.model: Field required",),
    ),
    "an error in no known shape": (document(400, b'{"fault":"E17"}'), ('no message in its answer {"fault":"E17"}',)),
    "nothing but a status": (document(400, b"{}"), ("HTTP 400: it gave no reason",)),
    "a redirect": (
        document(302, b"<html>", "text/html", [("location", f"https://u:p@login.example/in?next={KEY}")]),
        ("HTTP 302: it points to https://login.example/in", "a page to sign in?"),
    ),
    "a login page": (
        document(200, b"<!doctype html><html><head><title>Sign &amp; in</title>", "text/html"),
        ("a web page, perhaps a login (Sign & in)", "check the base URL, and whether a proxy or a login page"),
    ),
    "a page that is no login": (
        document(404, b"<html><title>404 Not Found</title>", "text/html"),
        ("HTTP 404: ", "does the base URL end as the server wants it, often in /v1?"),
    ),
    "an error page": (
        document(403, b"<html><title>403 Forbidden</title>", "text/html"),
        ("HTTP 403: it sent a web page, perhaps a login (403 Forbidden)",),
    ),
}


@one_test_for("command", COMMANDS)
@one_test_for("answer", ANSWERS)
def test_every_command_says_what_the_server_says_and_no_key(answer: str, command: str):
    reply, says = ANSWERS[answer]

    async def test() -> None:
        async with server_of(reply) as (url, _):
            ended = await _asked(command, url, PARTSTREAM_API_KEY=KEY)
        said = ended.output + ended.errors
        assert ended.code == FAILED[command], said
        for words in says:
            assert words in said
        assert KEY not in said
        assert "it gave no reason" not in said or "it gave no reason" in says[0]

    run(test())


def test_doctor_takes_no_protocol_for_spoken_where_the_server_fails_at_all_that_it_is_asked():
    async def test() -> None:
        async with server_of(document(500, _error("The database is on fire."))) as (url, _):
            ended = await _asked("doctor", url)
        assert "Asked in OpenResponses: a guess, as the server does not tell (HTTP 500)" in ended.output
        assert "it does not say whether it speaks OpenResponses (/responses: HTTP 500)" in ended.output
        assert "Speaks " not in ended.output

    run(test())


def test_doctor_asks_about_credit_and_not_about_a_log_where_the_server_wants_to_be_paid():
    async def test() -> None:
        async with server_of(document(402, _error("You have no credit."))) as (url, _):
            ended = await _asked("doctor", url)
        assert "check that the account of this key has credit left" in ended.output
        assert "the server's log" not in ended.output

    run(test())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_that_no_key_was_sent_and_where_one_can_be_put(command: str):
    async def test() -> None:
        async with server_of(document(401, _error("You did not provide an API key."))) as (url, _):
            ended = await _asked(command, url)
        said = ended.output + ended.errors
        assert "You did not provide an API key" in said
        assert "no key was sent: put one into the environment variable PARTSTREAM_API_KEY" in said
        assert "which is fine" not in said
        assert "rejected this API key" not in said

    run(test())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_refusal_for_which_no_key_was_sent_is_not_blamed_on_a_key(command: str):
    async def test() -> None:
        async with server_of(document(403, _error("Forbidden."))) as (url, _):
            ended = await _asked(command, url)
            with_key = await _asked(command, url, PARTSTREAM_API_KEY=KEY)
        said = ended.output + ended.errors
        assert "Forbidden" in said
        assert "no key was sent; if the server wants one: the environment variable PARTSTREAM_API_KEY holds it" in said
        assert "the key may not" not in said
        assert "no key was sent" not in with_key.output + with_key.errors

    run(test())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_asks_whether_a_server_runs_that_nothing_answers_for(command: str):
    async def test() -> None:
        ended = await _asked(command, "http://127.0.0.1:9/v1")
        said = ended.output + ended.errors
        assert ended.code == FAILED[command]
        assert "nothing listens at 127.0.0.1:9" in said
        assert "check that it is running" in said
        assert "attempts failed" not in said

    run(test())


# What is in the environment, and how every command reports it.
SURROUNDINGS = {
    "certificates that are not there": ({"SSL_CERT_FILE": "/nope.pem"}, ("SSL_CERT_FILE=/nope.pem", "No such file")),
    "certificates that are none": ({"SSL_CERT_FILE": __file__}, (f"SSL_CERT_FILE={__file__}", "no certificate in it")),
    "a proxy of an unknown kind": ({"HTTPS_PROXY": "garbage://x"}, ("HTTPS_PROXY", "'garbage'", "http://")),
    "a proxy that is no URL": ({"HTTPS_PROXY": "http://h:port"}, ("HTTPS_PROXY", "no URL")),
    "a proxy that does not run": ({"HTTPS_PROXY": "http://127.0.0.1:9"}, ("the proxy 127.0.0.1:9 (HTTPS_PROXY)",)),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("surroundings", SURROUNDINGS)
def test_every_command_names_the_variable_that_keeps_it_from_the_server(surroundings: str, command: str):
    variables, says = SURROUNDINGS[surroundings]

    async def test() -> None:
        ended = await _asked(command, "https://models.example/v1", **variables)
        said = ended.output + ended.errors
        assert ended.code == FAILED[command], said
        for words in says:
            assert words in said
        assert "failed with" not in said

    run(test())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_names_the_package_that_a_socks_proxy_needs(command: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("partstream.upstream.http.find_spec", lambda name: None)

    async def test() -> None:
        ended = await _asked(command, "https://models.example/v1", ALL_PROXY="socks5://127.0.0.1:1080")
        said = ended.output + ended.errors
        assert ended.code == FAILED[command], said
        assert "ALL_PROXY" in said
        assert "pip install 'socksio>=1.0'" in said
        assert "httpx" not in said

    run(test())


def test_what_nobody_thought_of_is_a_finding_of_doctor_and_no_traceback(monkeypatch: pytest.MonkeyPatch):
    def broken(_gateway: object) -> None:
        raise RuntimeError(KEY)

    monkeypatch.setattr("partstream.upstream.http.find_proxy", broken)

    async def test() -> None:
        ended = await _asked("doctor", "http://127.0.0.1:9/v1")
        assert ended.code == 1
        assert "the check failed with RuntimeError" in ended.output
        assert KEY not in ended.output + ended.errors

    run(test())


# ---- a path that is not there ----

LIST = json.dumps({"object": "list", "data": [{"id": "qwen3:8b", "object": "model"}]}).encode()


async def _said_by_server_with(
    documents: dict[str, bytes], base: str, command: str, endpoint: str = "", **environment: str
) -> tuple[Ended, list[str]]:
    paths: list[str] = []

    async def serve(connection: ServerConnection) -> None:
        while (request := await connection.next_request()) is not None:
            paths.append(request.path)
            reply = document(404, b"404 page not found", "text/plain")
            if request.path in documents and request.method == "GET":
                reply = document(200, documents[request.path])
            if request.path == endpoint:
                reply = document(400, _error("got nothing, expected a conversation"))
            await deliver(connection, request, reply)

    async with listening(serve) as url:
        return await _asked(command, f"{url}{base}", **environment), paths


@pytest.mark.parametrize("command", ["chat", "doctor"])
def test_a_server_that_lists_models_and_has_no_endpoint_is_said_to_speak_something_else(command: str):
    async def test() -> None:
        ended, _ = await _said_by_server_with({"/v1/models": LIST}, "/v1", command)
        assert ended.code == FAILED[command]
        said = ended.output + ended.errors
        missing = "/v1/responses, /v1/chat/completions, /v1/messages"
        assert f"it lists models and has none of {missing}" in said
        assert "/api/chat: it speaks something else" in said, "other places were tried too"

    run(test())


def test_a_protocol_that_is_set_and_not_spoken_is_answered_with_the_one_that_is():
    async def test() -> None:
        chat, paths = await _said_by_server_with({"/v1/models": LIST}, "/v1", "chat", "/v1/chat/completions", **FORCED)
        assert chat.code == 3
        assert "HTTP 404: 404 page not found" in chat.errors
        assert "the server speaks Chat Completions at http://127.0.0.1:" in chat.errors
        assert "no OpenResponses: leave `protocol` out, or set it to chat-completions" in chat.errors
        assert paths[0] == "/v1/responses"  # nothing was asked before, and nothing is asked in another protocol

    run(test())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_base_url_without_v1_is_answered_with_the_one_that_works_where_the_protocol_is_set(command: str):
    async def test() -> None:
        ended, paths = await _said_by_server_with({"/v1/models": LIST}, "", command, "/v1/responses", **FORCED)
        said = ended.output + ended.errors
        assert ended.code == FAILED[command], said
        assert "did you mean http://127.0.0.1:" in said
        assert "name models" not in said
        assert "/v1?" in said
        assert "/v1/models" in paths

    run(test())


@pytest.mark.parametrize("command", ["models", "doctor"])
def test_a_base_url_without_v1_is_understood_where_the_protocol_is_found_out(command: str):
    async def test() -> None:
        ended, _ = await _said_by_server_with({"/v1/models": LIST}, "", command, "/v1/chat/completions")
        assert ended.code == 0, ended.output + ended.errors

    run(test())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_server_that_has_neither_is_asked_about_its_base_url(command: str):
    async def test() -> None:
        ended, _ = await _said_by_server_with({}, "/v1", command)
        assert "does the base URL end as the server wants it, often in /v1?" in ended.output + ended.errors

    run(test())


@pytest.mark.parametrize("environment", [{}, FORCED], ids=["found out", "set"])
def test_a_model_that_is_not_there_is_the_server_s_own_sentence_alone(environment: dict[str, str]):
    async def test() -> None:
        reply = document(404, _error("The model `m` does not exist.", code="model_not_found"))
        async with server_of(reply) as (url, requests):
            chat = await _asked("chat", url, **environment)
        assert chat.errors == "the server answered HTTP 404: The model `m` does not exist.\n"
        assert len(requests) == (1 if environment else 5)

    run(test())


def test_what_would_fail_in_the_same_way_again_is_not_tried_again():
    async def test() -> None:
        asked = 0

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal asked
            asked += 1
            await reader.read(1)
            writer.write(bytes.fromhex("15030100020246"))  # TLS: a fatal alert
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
            chat = await call("chat", "--base-url", url, "--model", "m", "Hi", **FORCED)
        assert (
            f"does the base URL have to begin with {url.removesuffix('/v1').replace('http', 'https')}?" in chat.errors
        )
        assert asked == 1

    run(test())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_adds_the_scheme_that_an_address_lacks_and_says_so(command: str):
    async def test() -> None:
        async with server_of(document(401, _error("No."))) as (url, _):
            ended = await _asked(command, url.removeprefix("http://"))
        said = ended.output + ended.errors
        assert f"--base-url: the address has no scheme, {url} is used" in said
        assert "HTTP 401: No" in said

    run(test())


PLAIN = {
    "no key": ({}, "prompts and answers would be readable on the network"),
    "a key": ({"PARTSTREAM_API_KEY": KEY}, "prompts, answers and the key would be readable on the network"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("environment", "says"), PLAIN.values(), ids=PLAIN)
def test_plain_http_to_another_machine_is_refused_with_the_option_that_allows_it(
    environment: dict[str, str], says: str, command: str
):
    async def test() -> None:
        ended = await _asked(command, "http://192.168.1.10:8000/v1", **environment)
        said = ended.output + ended.errors
        assert f"--base-url: refusing plain HTTP to 192.168.1.10:8000: {says}; use https://" in said
        assert "--allow-insecure-http" in said
        assert KEY not in said

    run(test())
