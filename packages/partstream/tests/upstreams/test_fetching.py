"""Documents over real HTTP: with the key, within bounds, from one host only."""

import pytest

from partstream.errors import UpstreamConnectionError, UpstreamProtocolError
from partstream.upstream.configuration import GatewayConfiguration
from partstream.upstream.discovery import Fetch
from partstream.upstream.endpoint import Secret
from partstream.upstream.http import UpstreamHTTP
from partstream_devtools.testing.faults import End, EndKind, Head, Send, document
from upstreams.upstreams import run, server_of

KEY = "sk-planted-0123456789"


def fetcher_to(configuration: GatewayConfiguration) -> tuple[UpstreamHTTP, Fetch]:
    http = UpstreamHTTP(configuration)
    return http, http.fetch


def test_a_path_is_fetched_with_the_key_the_headers_and_the_query_of_the_base_url():
    async def test() -> None:
        async with server_of(document(200, b"{}", headers=[("ETag", '"1"')])) as (url, requests):
            configuration = GatewayConfiguration(
                f"{url}?api-version=1", api_key=Secret(KEY), headers={"X-Team": "blue"}
            )
            http, fetch = fetcher_to(configuration)
            response = await fetch("/v1/models", {"if-none-match": '"0"'})
            assert (response.status, response.body, response.headers["etag"]) == (200, b"{}", '"1"')
            await fetch("/api/show", {}, b'{"model":"m"}')
            await http.aclose()
            first, second = requests
            assert (first.method, first.path) == ("GET", "/v1/models")
            assert (first.headers["authorization"], first.headers["x-team"]) == (f"Bearer {KEY}", "blue")
            assert first.headers["if-none-match"] == '"0"'
            assert (second.method, second.body) == ("POST", b'{"model":"m"}')

    run(test())


def test_a_redirect_is_not_followed():
    async def test() -> None:
        redirect = document(302, b"-", headers=[("location", "http://127.0.0.1:9/elsewhere")])
        async with server_of(redirect) as (url, requests):
            http, fetch = fetcher_to(GatewayConfiguration(url, api_key=Secret(KEY)))
            assert (await fetch("/v1/models", {})).status == 302
            assert len(requests) == 1
            await http.aclose()

    run(test())


def test_a_document_without_end_is_cut_off():
    async def test() -> None:
        pieces = [Head(200, ()), *[Send(b"x" * 1024 * 1024)] * 9, End()]
        async with server_of(pieces) as (url, _):
            http, fetch = fetcher_to(GatewayConfiguration(url))
            with pytest.raises(UpstreamProtocolError, match="expected at most 8,388,608"):
                await fetch("/v1/models", {})
            await http.aclose()

    run(test())


@pytest.mark.parametrize("end", [EndKind.RESET, EndKind.CLOSED])
def test_a_connection_that_breaks_is_an_error_that_shows_no_key(end):
    async def test() -> None:
        async with server_of([Head(200, ()), Send(b"{"), End(end)]) as (url, _):
            http, fetch = fetcher_to(GatewayConfiguration(f"{url}?key={KEY}", api_key=Secret(KEY)))
            with pytest.raises(UpstreamConnectionError) as caught:
                await fetch("/v1/models", {})
            assert KEY not in repr(caught.value) + str(vars(caught.value))
            await http.aclose()

    run(test())
