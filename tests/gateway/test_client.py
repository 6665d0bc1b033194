"""The client of an upstream: proxies only where they can help, certificates only where TLS is spoken."""

import asyncio
import ssl

import pytest

from gateway.upstreams import configuration
from partstream.gateway.client import make_client

LOOPBACK = ["http://127.0.0.1:1/v1", "http://localhost/v1", "http://[::1]:1/v1", "http://models.localhost/v1"]
ELSEWHERE = ["http://10.0.0.1/v1", "https://api.example.com/v1", "http://localhost.example.com/v1"]


@pytest.mark.parametrize(
    ("base_url", "proxied"), [*((url, False) for url in LOOPBACK), *((url, True) for url in ELSEWHERE)]
)
def test_proxies_of_the_environment_are_for_what_is_not_on_this_machine(
    base_url: str, proxied: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")

    async def test() -> None:
        async with make_client(configuration(base_url, allow_insecure_http=True)) as client:
            assert client.trust_env is proxied

    asyncio.run(test())


def test_a_client_without_tls_trusts_no_certificate():
    async def test() -> None:
        async with make_client(configuration("http://127.0.0.1:1/v1")) as client:
            context = client._transport._pool._ssl_context
            assert (context.verify_mode, context.get_ca_certs()) == (ssl.CERT_REQUIRED, [])

    asyncio.run(test())


def test_a_client_follows_no_redirect_and_leaves_all_limits_but_that_of_connecting_to_us():
    async def test() -> None:
        async with make_client(configuration("https://api.example.com/v1")) as client:
            assert client.follow_redirects is False
            limits = client.timeout.as_dict()
            assert limits == {"connect": 2.0, "read": None, "write": None, "pool": None}

    asyncio.run(test())
