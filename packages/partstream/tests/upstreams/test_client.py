"""The client of an upstream: proxies only where they can help, certificates only where TLS is spoken."""

import asyncio
import ssl
from pathlib import Path
from typing import Any

import httpx2
import pytest

from partstream.upstream.http import find_proxy, make_transport
from partstream.upstream.http_connection import DirectTransport
from upstreams.direct_client import Direct
from upstreams.upstreams import configuration

# Its own authority, good until 2126; its key was thrown away.
CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBdDCCARmgAwIBAgIUNvr7j2AfvxySwt4RHDm8jla9hI0wCgYIKoZIzj0EAwIw
DjEMMAoGA1UEAwwDT3duMCAXDTI2MTEyMTAzNDAxMVoYDzIxMjYxMDI4MDM0MDEx
WjAOMQwwCgYDVQQDDANPd24wWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARO/mLT
ffM9ECxROlIXKEjZVS0woHw+rvt0nQ/4drnk5L6kX3hd44TESlN7g5aB9KEUz6BC
tMsKzj4bx2iHkSeSo1MwUTAdBgNVHQ4EFgQUcrB1YbNleqqM5VGXxUN3X9xKnpQw
HwYDVR0jBBgwFoAUcrB1YbNleqqM5VGXxUN3X9xKnpQwDwYDVR0TAQH/BAUwAwEB
/zAKBggqhkjOPQQDAgNJADBGAiEAl9X0PNDIsf5yFtbDcEsgC2TIlMoYZUa/PNsX
5f3+POECIQCI+CZ1YTGA7KQ5j/ajODzTuO86MjYBmkS+Egl0tgPi/w==
-----END CERTIFICATE-----
"""


def _client(base_url: str, **changes: Any) -> httpx2.AsyncClient:
    of_upstream = configuration(base_url, **changes)
    made = make_transport(of_upstream, find_proxy(of_upstream))
    transport = Direct(made.certificates) if isinstance(made, DirectTransport) else made.client
    return httpx2.AsyncClient(transport=transport, trust_env=False)


LOOPBACK = ["http://127.0.0.1:1/v1", "http://localhost/v1", "http://[::1]:1/v1", "http://models.localhost/v1"]
ELSEWHERE = ["http://10.0.0.1/v1", "https://api.example.com/v1", "http://localhost.example.com/v1"]


@pytest.mark.parametrize(
    ("base_url", "proxied"), [*((url, False) for url in LOOPBACK), *((url, True) for url in ELSEWHERE)]
)
def test_proxies_of_the_environment_are_for_what_is_not_on_this_machine(
    base_url: str, proxied: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")

    found = find_proxy(configuration(base_url, allow_insecure_http=True))
    assert (found is not None) is proxied


def test_a_client_without_tls_trusts_no_certificate():
    async def test() -> None:
        async with _client("http://127.0.0.1:1/v1") as client:
            assert client._transport.certificates is None  # they take a megabyte
            with pytest.raises(httpx2.ConnectError):
                await client.get("https://127.0.0.1:1/v1")
            context = client._transport.certificates
            assert (context.verify_mode, context.get_ca_certs()) == (ssl.CERT_REQUIRED, [])

    asyncio.run(test())


NETWORKS = {
    "its own proxy": ("https://api.example.com/v1", "http://p:1", {}, "http://p:1"),
    "its own proxy before the environment's": (
        "https://api.example.com/v1",
        "http://p:1",
        {"ALL_PROXY": "http://e:1"},
        "http://p:1",
    ),
    "the environment's": ("https://api.example.com/v1", None, {"HTTPS_PROXY": "http://e:1"}, "http://e:1"),
    "none for what NO_PROXY names": ("https://api.example.com/v1", "http://p:1", {"NO_PROXY": "example.com"}, None),
    "none for what NO_PROXY names of the environment's": (
        "https://api.example.com/v1",
        None,
        {"HTTPS_PROXY": "http://e:1", "NO_PROXY": "example.com"},
        None,
    ),
    "none on this machine": ("http://127.0.0.1:1/v1", "http://p:1", {"ALL_PROXY": "http://e:1"}, None),
}


@pytest.mark.parametrize(("base_url", "proxy", "environment", "expected"), NETWORKS.values(), ids=NETWORKS)
def test_the_proxy_that_is_gone_through(
    base_url: str, proxy: str | None, environment: dict[str, str], expected: str | None, monkeypatch: pytest.MonkeyPatch
):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    async def test() -> None:
        async with _client(base_url, proxy=proxy) as client:
            transport = client._transport_for_url(httpx2.URL(f"{base_url}/models"))
            found = getattr(getattr(transport, "_pool", None), "_proxy_url", None)
            shown = found and f"{found.scheme.decode()}://{found.host.decode()}:{found.port}"
            assert shown == expected

    asyncio.run(test())


def test_a_proxy_really_is_asked():
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        writer.close()

    async def test() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        proxy = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        client = _client("http://far.example.com/v1", proxy=proxy, allow_insecure_http=True)
        async with server, client, asyncio.timeout(30):
            assert (await client.get("http://far.example.com/v1/models")).status_code == 204

    asyncio.run(test())
    assert asked[0].startswith(b"GET http://far.example.com/v1/models HTTP/1.1")


@pytest.mark.parametrize("base_url", ["https://api.example.com/v1", "https://localhost/v1"])
def test_certificates_are_those_of_the_environment_where_it_names_some(
    base_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "own.pem"
    path.write_text(CERTIFICATE)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))

    async def test() -> None:
        async with _client(base_url) as client:
            trusted = client._transport.certificates.get_ca_certs()
            assert [dict(field[0] for field in one["subject"])["commonName"] for one in trusted] == ["Own"]

    asyncio.run(test())


def test_certificates_are_not_looked_at_only_by_its_setting():
    async def test() -> None:
        for verify, expected in ((True, ssl.CERT_REQUIRED), (False, ssl.CERT_NONE)):
            async with _client("https://h/v1", verify_certificates=verify) as client:
                assert client._transport.certificates.verify_mode is expected

    asyncio.run(test())
