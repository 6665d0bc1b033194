"""The one HTTP client of an upstream: shared connections, a key that is renewed once, limits that are the caller's."""

import asyncio
import gc
import itertools
from contextlib import aclosing

import httpx2
import pytest

from partstream import CancellationTokenSource
from partstream.conversation.preparation import CountTokens, RequestSettings
from partstream.errors import UpstreamConnectionError
from partstream.upstream.configuration import Timeouts
from partstream.upstream.endpoint import CredentialError, Secret
from partstream.upstream.http import OutboundHTTPRequest, UpstreamHTTP, place_of
from partstream.upstream.http_connection import DirectTransport
from partstream.upstream.provider import GatewayProvider
from partstream_devtools.testing.faults import document
from partstream_devtools.testing.upstream import ReplayUpstream
from rows import one_test_for
from upstreams.upstreams import HELLO, ask, configuration, run, server_of

COUNTING = RequestSettings(count_tokens=CountTokens.UPSTREAM)
REFUSED, FINE = document(401, b"{}"), document(200, b"{}")
MODELS = OutboundHTTPRequest("GET", "/v1/models")


def _clients() -> int:
    return sum(issubclass(type(thing), DirectTransport) for thing in gc.get_objects())


def test_the_list_of_models_a_count_and_an_answer_go_over_one_connection_of_one_client():
    async def test() -> None:
        before = _clients()
        async with ReplayUpstream() as upstream:
            provider = GatewayProvider(configuration(upstream.base_url, models=(), request=COUNTING))
            listed = await provider.provide_language_model_chat_information(True, CancellationTokenSource().token)
            assert listed
            # What else is asked about the models, behind the list, would need a second connection meanwhile.
            await provider._client.models.settle()
            for _ in range(2):
                assert (await ask(provider, "Hi")).text == HELLO
            asked = {exchange.request.path for exchange in upstream.exchanges}
            assert {"/v1/models", "/v1/responses/input_tokens", "/v1/responses"} <= asked
            assert upstream.open_connections == 1
            assert _clients() == before + 1
            await provider.aclose()

    run(test())


HOSTS = (
    "h.example", "h.example:8080", "127.0.0.1", "127.0.0.1:80", "xn--bcher-kva.example", "bücher.example",
    "[::1]", "[::1]:8000", "H.Example", "a_b", "1.2", "h:443",
)  # fmt: skip
TARGETS = (
    *("", "?", "?a=b", "/v1", "/v1/", "//v1", "/a/../b", "/a/./b", "/a.b", "/.b", "/a%20b", "/a%2", "/a%2f?x=%zz"),
    *(f"/a{chr(code)}b?c{chr(code)}d" for code in range(33, 127)),
    "/ü?ü",
)


@one_test_for(("scheme", "host", "target"), itertools.product(("http", "https"), HOSTS, TARGETS))
def test_a_request_goes_where_the_client_would_send_it(scheme: str, host: str, target: str) -> None:
    path, question, query = target.partition("#")[0].partition("?")
    parsed = httpx2.URL(f"{scheme}://{host}{path}{question if query else ''}{query}")
    port = parsed.port or (443 if scheme == "https" else 80)
    place = place_of(f"{scheme}://{host}", path, query)
    assert place.target == parsed.raw_path
    assert place.host == httpx2.Request("GET", parsed).headers["host"]
    assert place.origin == (scheme, parsed.raw_host.decode(), port, None)


def test_a_cookie_of_an_answer_does_not_go_with_the_next_request():
    async def test() -> None:
        replies = document(200, b"{}", headers=[("set-cookie", "sid=1; path=/")]), FINE
        async with server_of(*replies) as (url, requests), aclosing(UpstreamHTTP(configuration(url))) as http:
            for _ in range(2):
                assert (await http.fetch("/v1/models", {})).status == 200
            assert [request.headers.get("cookie") for request in requests] == [None, None]

    run(test())


# ---- keys ----


class Renewing:
    """A key with one or more successors; notes what was refused."""

    def __init__(self, *keys: str) -> None:
        self.keys = [Secret(key) for key in keys]
        self.refused: list[Secret] = []

    async def get(self) -> Secret:
        return self.keys[0]

    async def refresh(self, refused: Secret) -> Secret | None:
        self.refused.append(refused)
        return self.keys[1] if len(self.keys) > 1 else None


KEYS = {
    "a key that is accepted": (("key-1",), (FINE,), ["Bearer key-1"], 200),
    "a refused key that has no successor": (("key-1",), (REFUSED,), ["Bearer key-1"], 401),
    "a refused key and its successor": (("key-1", "key-2"), (REFUSED, FINE), ["Bearer key-1", "Bearer key-2"], 200),
    "two refused keys": (("key-1", "key-2"), (REFUSED,), ["Bearer key-1", "Bearer key-2"], 401),
}


@pytest.mark.parametrize(("keys", "replies", "sent", "status"), KEYS.values(), ids=KEYS)
def test_a_request_is_sent_once_more_with_another_key_where_its_own_is_refused(keys, replies, sent, status):
    async def test() -> None:
        credentials = Renewing(*keys)
        async with (
            server_of(*replies) as (url, requests),
            aclosing(UpstreamHTTP(configuration(url, credentials=credentials))) as http,
        ):
            assert (await http.fetch("/v1/models", {})).status == status
            assert [request.headers["authorization"] for request in requests] == sent
            assert len(credentials.refused) == (replies[0] is REFUSED)

    run(test())


def test_an_upstream_that_wants_a_key_where_there_is_none_is_asked_once():
    async def test() -> None:
        async with (
            server_of(REFUSED) as (url, requests),
            aclosing(UpstreamHTTP(configuration(url))) as http,
        ):
            assert (await http.fetch("/v1/models", {})).status == 401
            assert "authorization" not in requests[0].headers
            assert len(requests) == 1

    run(test())


class Lost(Renewing):
    async def refresh(self, refused: Secret) -> Secret | None:
        raise CredentialError("a file", "nothing", "a key")


def test_a_key_that_cannot_be_renewed_leaves_no_connection_open():
    async def test() -> None:
        async with (
            server_of(REFUSED) as (url, requests),
            aclosing(UpstreamHTTP(configuration(url, credentials=Lost("key-1")))) as http,
        ):
            with pytest.raises(CredentialError, match="no key from a file"):
                await http.fetch("/v1/models", {})
            assert len(requests) == 1

    run(test())


def test_the_limit_of_time_does_not_hold_while_a_key_is_fetched():
    class Slow(Renewing):
        async def refresh(self, refused: Secret) -> Secret | None:
            begun = asyncio.get_running_loop().time()
            while asyncio.get_running_loop().time() < begun + 0.3:
                await asyncio.sleep(0.01)
            return await super().refresh(refused)

    async def test() -> None:
        brief = Timeouts(connect=20.0, first_event=0.25, idle=20.0, total=20.0)
        async with ReplayUpstream(fault="status_then_ok=1:401") as upstream:
            settings = configuration(upstream.base_url, credentials=Slow("key-1", "key-2"), timeouts=brief)
            provider = GatewayProvider(settings)
            assert (await ask(provider, "Hi")).text == HELLO
            await provider.aclose()

    run(test())


def test_a_limit_that_is_reached_is_the_callers_to_name():
    async def test() -> None:
        async with (
            ReplayUpstream(fault="stall_before_headers") as upstream,
            aclosing(UpstreamHTTP(configuration(upstream.base_url))) as http,
        ):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await http.send(OutboundHTTPRequest("POST", "/v1/responses", content=b'{"model":"m"}'), None)

    run(test())


# ---- headers ----


def test_headers_of_the_request_win_over_those_of_the_configuration_and_those_over_the_protocols():
    async def test() -> None:
        settings = {"X-A": "configured", "X-B": "configured", "Authorization": "configured"}
        request = OutboundHTTPRequest(
            "GET", "/v1/models", headers={"x-a": "protocol", "x-c": "protocol"}, own_headers={"X-A": "request"}
        )
        async with (
            server_of(FINE) as (url, requests),
            aclosing(UpstreamHTTP(configuration(url, headers=settings, api_key=Secret("key-1")))) as http,
        ):
            await (await http.send(request, await http.credentials.get())).aclose()
            names = ("x-a", "x-b", "x-c", "authorization")
            assert [requests[0].headers[name] for name in names] == ["request", "configured", "protocol", "configured"]
            assert requests[0].headers["user-agent"].startswith("partstream/")

    run(test())


def test_what_the_upstream_says_is_told_without_what_it_was_sent_in_secret():
    async def test() -> None:
        request = OutboundHTTPRequest(
            "GET", "/v1/models", headers={"x-model": "a-public-name"}, own_headers={"X-A": "planted-2"}
        )
        async with (
            server_of(FINE) as (url, _),
            aclosing(UpstreamHTTP(configuration(url, api_key=Secret("planted-1")))) as http,
            aclosing(await http.send(request, await http.credentials.get())) as answer,
        ):
            assert answer.redactor.redact("planted-1 planted-2 a-public-name") == "*** *** a-public-name"
            assert "planted" not in repr(answer) + repr(request)

    run(test())


@pytest.mark.parametrize("key", [None, Secret("planted-1")])
def test_a_closed_port_is_a_connection_error_without_the_query(key):
    async def test() -> None:
        async with server_of(FINE) as (url, _):
            pass
        async with aclosing(UpstreamHTTP(configuration(f"{url}?tenant=private", api_key=key))) as http:
            with pytest.raises(UpstreamConnectionError) as caught:
                await http.send(MODELS, await http.credentials.get())
            assert caught.value.url == f"{url}/models"

    run(test())


VERSIONS = [({}, "2023-06-01"), ({"Anthropic-Version": "2099-01-01"}, "2099-01-01")]


@pytest.mark.parametrize(("headers", "version"), VERSIONS)
def test_a_known_server_gets_the_headers_that_it_needs_unless_somebody_sets_them(headers: dict[str, str], version: str):
    async def test() -> None:
        async with server_of(document(200, b"{}")) as (proxy, requests):  # a proxy is asked instead of hosts
            for host in ("api.anthropic.com", "api.example.com"):
                gateway = configuration(
                    f"http://{host}/v1",
                    allow_insecure_http=True,
                    proxy=proxy.removesuffix("/v1"),
                    headers=headers if "anthropic" in host else {},
                )
                async with aclosing(UpstreamHTTP(gateway)) as http:
                    await http.fetch("/v1/models", {})
        assert [request.headers.get("anthropic-version") for request in requests] == [version, None]

    run(test())
