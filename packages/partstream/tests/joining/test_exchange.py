"""A join code becomes a key over real HTTP: sent once, to one address, and never seen again in any error or log."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from models.server import ModelServer, serving
from partstream.codec.json_codec import loads
from partstream.errors import LanguageModelError, UpstreamHTTPError, UpstreamProtocolError
from partstream.upstream.configuration import GatewayConfiguration
from partstream.upstream.endpoint import FixedKey, Secret
from partstream.upstream.hub import base_url_of, fetch_standing, is_of_hub, join
from rows import one_test_for

CODE = "k3Jx-92_bQ7vLw0r"
KEY = "psk_ada1_" + "s3cretWord" * 4
JOIN = "/hub/v1/join"
ME = "/hub/v1/me"
STANDING = {"person": "ada", "team": "engines", "models": [], "budgets": []}


def asked(
    documents: dict[str, Any], ask: Callable[[GatewayConfiguration], Any], key: str | None = None, **statuses: int
) -> tuple[Any, ModelServer]:
    """What asking a server of these documents brings, or raises; and the server."""

    async def test() -> tuple[Any, ModelServer]:
        server = ModelServer(documents, statuses={f"/hub/v1/{name}": status for name, status in statuses.items()})
        async with serving(server):
            secret = None if key is None else Secret(key)
            return await ask(GatewayConfiguration(server.url, api_key=secret)), server

    return asyncio.run(test())


def joining(answer: Any, **statuses: int) -> tuple[Any, ModelServer]:
    return asked({JOIN: answer}, lambda hub: join(hub, Secret(CODE)), **statuses)


def test_a_code_is_sent_once_without_any_key_and_brings_the_key_of_a_person():
    joined, server = joining({"key": KEY, "person": "ada"})
    assert (joined.key.reveal(), joined.person) == (KEY, "ada")
    (request,) = server.requests
    assert (request.method, request.path, loads(request.body)) == ("POST", JOIN, {"code": CODE})
    assert "authorization" not in request.headers
    assert KEY not in repr(joined)


@pytest.mark.parametrize("status", [400, 403, 404, 410])
def test_a_code_that_is_not_taken_says_where_another_one_comes_from(status: int):
    with pytest.raises(UpstreamHTTPError, match="ask the person who runs the hub for a new link") as refused:
        joining({}, join=status)
    assert refused.value.http_status == status


@pytest.mark.parametrize(
    "answer",
    [
        {},
        [],
        {"key": None},
        {"key": "sk-of-somebody-else-0123456789"},
        {"key": f"{KEY}\r\nx: y"},
        {"key": "psk_ada1_" + "x" * 300},
        f'{{"key": "{KEY}'.encode(),
        f"{CODE} is no JSON".encode(),
        f"<title>{CODE}</title>".encode(),
    ],
)
def test_what_is_no_key_is_refused_and_neither_the_code_nor_a_key_is_quoted(
    answer: Any, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    with pytest.raises(UpstreamProtocolError) as refused:
        joining(answer)
    fields = f"{refused.value!r} {vars(refused.value)} {refused.value.__context__!r} {refused.value.__cause__!r}"
    for secret in (CODE, KEY, "sk-of-somebody-else"):
        assert secret not in fields
        assert secret not in caplog.text


def test_a_hub_that_repeats_the_code_in_its_refusal_gets_it_hidden():
    async def test() -> None:
        server = ModelServer({})
        async with serving(server):
            with pytest.raises(UpstreamHTTPError) as refused:
                await join(GatewayConfiguration(f"{server.url.removesuffix('/v1')}/{CODE}/v1"), Secret(CODE))
        assert CODE not in f"{refused.value!r} {vars(refused.value)}"

    asyncio.run(test())


def test_a_redirect_is_followed_nowhere():
    with pytest.raises(LanguageModelError):
        joining({}, join=307)


def test_a_hub_below_a_path_is_asked_there():
    async def test() -> None:
        server = ModelServer({f"/models{ME}": STANDING})
        async with serving(server):
            hub = base_url_of(server.url.removesuffix("/v1") + "/models")
            assert (await fetch_standing(GatewayConfiguration(hub, api_key=Secret(KEY)))).person == "ada"

    asyncio.run(test())


def test_a_standing_is_asked_for_with_the_key():
    standing, server = asked({ME: STANDING}, fetch_standing, KEY)
    assert standing.person == "ada"
    (request,) = server.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("document", [b"<html><title>Sign in</title>", b"{", {"object": "list"}])
def test_what_is_no_hub_says_so(document: Any):
    with pytest.raises(UpstreamProtocolError):
        asked({ME: document}, fetch_standing, KEY)


@one_test_for(
    ("key", "is_of"),
    [
        (KEY, True),
        (None, False),
        ("", False),
        ("sk-0123456789abcdefghij", False),
        ("psk_short_1", False),
        ("psk__0123456789abcdef", False),
    ],
)
def test_the_key_alone_says_whether_a_server_is_a_hub_and_nobody_is_asked(key: str | None, is_of: bool):
    secret = None if key is None else Secret(key)
    held = GatewayConfiguration("https://hub.example.com/v1", api_key=secret)
    fetched = GatewayConfiguration("https://hub.example.com/v1", credentials=FixedKey(secret))
    assert [asyncio.run(is_of_hub(one)) for one in (held, fetched)] == [is_of, is_of]
