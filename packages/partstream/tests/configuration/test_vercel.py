"""The token of a Vercel project: from the environment while it is good, else by the login of Vercel's CLI."""

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from configuration.test_renewing import jwt
from partstream.config.loading import VercelOidc, login_file
from partstream.protocols.protocol import KeyKind
from partstream.upstream.configuration import GatewayConfiguration
from partstream.upstream.endpoint import CredentialError, Secret
from partstream_devtools.testing.faults import document
from upstreams.upstreams import run, server_of

NOW = 10_000.0
LOGIN = "login-planted-0123"


@dataclass
class Machine:
    """A machine with or without a login of Vercel's CLI."""

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    def log_in(self, content: Any) -> None:
        path = login_file(self.environment)
        path.parent.mkdir(parents=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))

    @property
    def environment(self) -> dict[str, str]:
        return {"XDG_DATA_HOME": str(self.folder), **self.variables}

    def vercel(
        self, url: str = "http://127.0.0.1:9", project: str | None = "prj_1", team: str | None = None
    ) -> VercelOidc:
        connection = GatewayConfiguration(url.removesuffix("/v1"))
        return VercelOidc(project, team, self.environment, connection, lambda: NOW)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_token_of_the_environment_serves_while_it_is_good(machine: Machine):
    token = jwt({"exp": NOW + 3600})
    machine.variables["VERCEL_OIDC_TOKEN"] = token

    async def test() -> None:
        fetched = await machine.vercel().fetch(None)
        assert fetched == (Secret(token), NOW + 3600)
        assert fetched.key.kind is KeyKind.OIDC

    run(test())


@pytest.mark.parametrize("left", [-100, 60])
def test_a_token_that_ends_is_replaced_by_the_login(machine: Machine, left: float):
    machine.variables["VERCEL_OIDC_TOKEN"] = jwt({"exp": NOW + left})
    machine.log_in({"token": LOGIN, "expiresAt": NOW + 1000})
    fresh = jwt({"exp": NOW + 3600})

    async def test() -> None:
        async with server_of(document(200, json.dumps({"token": fresh}).encode())) as (url, requests):
            assert await machine.vercel(url, team="team_1").fetch(None) == (Secret(fresh), NOW + 3600)
        (request,) = requests
        assert (request.method, request.path) == ("POST", "/v1/projects/prj_1/token")
        assert request.headers["authorization"] == f"Bearer {LOGIN}"

    run(test())


@pytest.mark.parametrize(("team", "asked"), [("team_1", "&teamId=team_1"), (None, "")])
def test_vercel_is_asked_as_its_own_cli_asks(machine: Machine, team: str | None, asked: str):
    machine.log_in({"token": LOGIN})
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b'HTTP/1.1 200 OK\r\ncontent-length: 18\r\nconnection: close\r\n\r\n{"token": "plain"}')
        await writer.drain()
        writer.close()

    async def test() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            await machine.vercel(f"http://127.0.0.1:{port}", "prj/1", team).fetch(None)

    run(test())
    first_line = heads[0].partition(b"\r\n")[0].decode()
    assert first_line == f"POST /v1/projects/prj%2F1/token?source=vercel-oidc-refresh{asked} HTTP/1.1"


def test_a_refused_token_of_the_environment_is_replaced_by_the_login(machine: Machine):
    token = jwt({"exp": NOW + 3600})
    machine.variables["VERCEL_OIDC_TOKEN"] = token
    machine.log_in({"token": LOGIN})

    async def test() -> None:
        async with server_of(document(200, b'{"token": "plain"}')) as (url, _):
            # A token that does not say when it ends is good for an hour.
            fetched = await machine.vercel(url).fetch(Secret(token))
            assert fetched == (Secret("plain"), NOW + 3600)
            assert fetched.key.kind is KeyKind.OIDC

    run(test())


WITHOUT = {
    "no login": (None, "no login in", "`vercel login`"),
    "a login that is no JSON": ("{", "no login in", "`vercel login`"),
    "a login without a token": ({}, "no login in", "`vercel login`"),
    "a login that has ended": ({"token": LOGIN, "expiresAt": NOW - 1}, "a login that has ended", "`vercel whoami`"),
}


@pytest.mark.parametrize(("login", "got", "expected"), WITHOUT.values(), ids=WITHOUT)
def test_without_a_login_it_is_said_what_to_do(machine: Machine, login: Any, got: str, expected: str):
    if login is not None:
        machine.log_in(login)

    async def test() -> None:
        with pytest.raises(CredentialError) as raised:
            await machine.vercel().fetch(None)
        assert got in str(raised.value)
        assert expected in raised.value.expected
        assert LOGIN not in str(raised.value)

    run(test())


def test_without_a_project_only_the_environment_is_asked(machine: Machine):
    async def test() -> None:
        with pytest.raises(CredentialError, match="no VERCEL_OIDC_TOKEN and no project"):
            await machine.vercel(project=None).fetch(None)
        machine.variables |= {"VERCEL_OIDC_TOKEN": "plain"}
        assert (await machine.vercel(project=None).fetch(None)).key == Secret("plain")
        with pytest.raises(CredentialError, match="a token that was refused"):
            await machine.vercel(project=None).fetch(Secret("plain"))

    run(test())


ANSWERS = {
    "the login is refused": (document(403, b"{}"), "HTTP 403 for the CLI's login"),
    "there is no such project": (document(404, b"{}"), "HTTP 404"),
    "no token": (document(200, b"{}"), "an answer without a token"),
    "no JSON": (document(200, LOGIN.encode()), "an answer without a token"),
}


@pytest.mark.parametrize(("reply", "got"), ANSWERS.values(), ids=ANSWERS)
def test_what_vercel_answers_instead_of_a_token_is_said(machine: Machine, reply: Any, got: str):
    machine.log_in({"token": LOGIN})

    async def test() -> None:
        async with server_of(reply) as (url, _):
            with pytest.raises(CredentialError) as raised:
                await machine.vercel(url).fetch(None)
        assert got in str(raised.value)
        assert LOGIN not in str(raised.value)

    run(test())
