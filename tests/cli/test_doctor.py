"""`partstream doctor`: what it finds, what it advises, its exit codes, and that it costs nothing."""

import json
from pathlib import Path
from secrets import token_hex

import pytest
from commands import call, call_process, run

from partstream.testing.steps import document
from upstreams.upstreams import server_of

KEY = f"sk-{token_hex(12)}"
LIST = json.dumps({"object": "list", "data": [{"id": "small"}, {"id": "large"}]}).encode()

SERVERS = {
    "all is well": (document(200, LIST), 0, "fine", "lists 2 language models", ""),
    "the key is refused": (document(401, KEY.encode()), 1, "problem", "HTTP 401", "another key"),
    "no such path": (document(404, b"{}"), 1, "problem", "HTTP 404", "/v1"),
    "something else": (document(200, b"<html>", "text/html"), 1, "problem", "web page, perhaps a login", "login stand"),
    "broken": (document(500, b"{}"), 1, "problem", "HTTP 500", "its own log"),
}


@pytest.mark.parametrize(("reply", "code", "verdict", "says", "advice"), SERVERS.values(), ids=SERVERS)
def test_the_server_is_asked_for_its_models_and_for_nothing_else(
    reply: tuple, code: int, verdict: str, says: str, advice: str, tmp_path: Path
):
    async def test() -> None:
        async with server_of(reply) as (url, requests):
            options = ("--json", "--base-url", url, "--protocol", "openresponses")
            doctor = await call("doctor", *options, PARTSTREAM_API_KEY=KEY, **_nowhere(tmp_path))
        assert doctor.code == code, doctor.errors
        assert {(request.method, request.path) for request in requests} == {("GET", "/v1/models")}
        assert requests[0].headers["authorization"] == f"Bearer {KEY}"
        finding = json.loads(doctor.output)[-1]
        assert (finding["subject"], finding["verdict"]) == ("server", verdict)
        assert says in finding["says"]
        assert advice in finding["advice"]
        assert KEY not in doctor.output + doctor.errors

    run(test())


def test_a_key_that_only_a_further_list_asks_for_is_looked_at_too(tmp_path: Path):
    async def test() -> None:
        async with server_of(document(200, LIST), document(401, b"{}")) as (url, requests):
            base = url.removesuffix("/v1") + "/v3/ai"
            options = ("--base-url", base, "--protocol", "ai-gateway")
            doctor = await call("doctor", "--json", *options, PARTSTREAM_API_KEY=KEY, **_nowhere(tmp_path))
        assert [request.path for request in requests] == ["/v1/models", "/v3/ai/config"]
        assert doctor.code == 1
        assert "another key" in json.loads(doctor.output)[-1]["advice"]

    run(test())


def _nowhere(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path), "APPDATA": str(tmp_path), "HOME": str(tmp_path)}


def test_models_that_are_named_and_not_listed_are_a_warning(tmp_path: Path):
    async def test() -> None:
        async with server_of(document(200, LIST)) as (url, _):
            variables = {"PARTSTREAM_FALLBACKS": '{"large": ["smal"]}', **_nowhere(tmp_path)}
            doctor = await call("doctor", "--base-url", url, **variables)
        assert doctor.code == 0, doctor.errors
        assert "the server does not list smal" in doctor.output

    run(test())


def test_what_is_missing_is_said_in_the_order_in_which_a_request_needs_it(tmp_path: Path):
    async def test() -> None:
        nothing = await call("doctor", **_nowhere(tmp_path))
        assert nothing.code == 1
        assert "--base-url" in nothing.output

        url = "http://127.0.0.1:9/v1"
        variables = {"PARTSTREAM_API_KEY_FILE": str(tmp_path / "key"), **_nowhere(tmp_path)}
        without_key = await call("doctor", "--base-url", url, **variables)
        assert without_key.code == 1
        assert str(tmp_path / "key") in without_key.output
        assert "server" not in without_key.output

        alone = await call("doctor", "--base-url", url, **_nowhere(tmp_path))
        assert alone.code == 1
        assert "is it running" in alone.output

        wrong = await call("doctor", "--base-url", url, PARTSTREAM_PROTOCOL="x", **_nowhere(tmp_path))
        assert wrong.code == 2
        assert "PARTSTREAM_PROTOCOL" in wrong.output

    run(test())


def test_plain_http_to_another_machine_is_refused_and_its_setting_named(tmp_path: Path):
    async def test() -> None:
        doctor = await call_process("doctor", "--base-url", "http://10.0.0.1/v1", **_nowhere(tmp_path))
        assert doctor.code == 1
        assert "allowInsecureHttp" in doctor.output

    run(test())
