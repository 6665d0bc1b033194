"""What keeps a connection from being made is said in words, with what may help, whatever the environment names."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.codec.redaction import Redactor
from partstream.errors import LanguageModelError, UpstreamConnectionError, UpstreamTimeoutError
from partstream.upstream.configuration import GatewayConfiguration
from partstream.upstream.http import (
    Connections,
    ConnectionSetupError,
    Proxy,
    UpstreamHTTP,
    connection_error,
    find_proxy,
    make_transport,
)
from upstreams.upstreams import configuration, run

PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@asynccontextmanager
async def port_of(serve: Serve) -> AsyncIterator[int]:
    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serve(reader, writer)
        writer.close()

    server = await asyncio.start_server(served, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


def answering(sent: bytes) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(sent)

    return serve


async def failure_of(gateway: GatewayConfiguration) -> LanguageModelError:
    http = UpstreamHTTP(gateway)
    try:
        with pytest.raises(LanguageModelError) as raised:
            await http.fetch("/v1/models", {})
        return raised.value
    finally:
        await http.aclose()


# What a server sends, the scheme that it is asked with, what is said, what may help.
SERVERS = {
    "https to a server of http": (b"HTTP/1.1 400 Bad Request\r\n\r\n", "https", "does not speak https", "http://"),
    "https to a server that hangs up": (b"", "https", "closed the connection", "http://"),
    "http to a server of https": (bytes.fromhex("15030100020246"), "http", "is not HTTP", "https://"),
    "http to a server that hangs up": (b"", "http", "closed the connection without an answer", "https://"),
}


@pytest.mark.parametrize(("sent", "scheme", "says", "advice"), SERVERS.values(), ids=SERVERS)
def test_a_scheme_that_does_not_fit_is_told_from_what_the_server_does(
    sent: bytes, scheme: str, says: str, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async def test() -> None:
        async with port_of(answering(sent)) as port:
            gateway = configuration(f"{scheme}://127.0.0.1:{port}/v1", verify_certificates=scheme == "http")
            error = await failure_of(gateway)
        assert isinstance(error, UpstreamConnectionError)
        assert says in error.reason
        assert advice in error.advice
        assert error.message.endswith(error.advice)

    run(test())


def test_nothing_listening_is_said_with_the_address():
    async def test() -> None:
        error = await failure_of(configuration("http://127.0.0.1:9/v1"))
        assert isinstance(error, UpstreamConnectionError)
        assert (error.reason, error.lasts) == ("nothing listens at 127.0.0.1:9", False)
        assert "check that it is running" in error.advice

    run(test())


def test_a_name_without_a_host_is_said_without_the_number_of_the_error():
    error = connection_error("http://nosuch.invalid/v1", _raised_from(OSError("x"), _unknown_name()))
    assert (error.reason, error.lasts) == ("there is no host nosuch.invalid", True)
    assert "online" in error.advice


def _unknown_name() -> OSError:
    import socket

    return socket.gaierror(-2, "Name or service not known")


def _raised_from(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


CERTIFICATES = {
    "self-signed certificate": ("not trusted", "SSL_CERT_FILE"),
    "unable to get local issuer certificate": ("not trusted", "SSL_CERT_FILE"),
    "Hostname mismatch, certificate is not valid for 'a'.": ("not good", "name"),
}


@pytest.mark.parametrize("said", CERTIFICATES)
def test_a_certificate_is_named_as_what_is_wrong_and_not_asked_for_again(said: str):
    text = f"[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: {said} (_ssl.c:1006)"
    cause = ssl.SSLCertVerificationError(1, text)
    cause.verify_message = said
    error = connection_error("https://h/v1", _raised_from(OSError(), cause))
    says, advice = CERTIFICATES[said]
    assert says in error.reason
    assert said in error.reason
    assert advice in error.advice
    assert error.lasts


# ---- proxies ----


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_dead_proxy_is_named_as_what_is_dead_with_who_named_it(scheme: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(f"{scheme.upper()}_PROXY", "http://user:hunter22@127.0.0.1:9")

    async def test() -> None:
        url = f"{scheme}://models.example/v1"
        error = await failure_of(configuration(url, allow_insecure_http=True, verify_certificates=scheme == "http"))
        assert isinstance(error, UpstreamConnectionError)
        assert f"nothing listens at the proxy 127.0.0.1:9 ({scheme.upper()}_PROXY)" in error.message
        assert "NO_PROXY" in error.advice
        assert "hunter22" not in error.message

    run(test())


def test_a_proxy_whose_name_has_no_host_is_named():
    proxy = Proxy("http://nosuch.invalid:3128", "HTTPS_PROXY")
    error = connection_error("https://h.example/v1", _raised_from(OSError("x"), _unknown_name()), proxy=proxy)
    assert error.reason == "there is no host for the proxy nosuch.invalid:3128 (HTTPS_PROXY)"


REFUSALS_OF_A_PROXY = {
    "403 Forbidden": "does it let this host through?",
    "404 Not Found": "is that a proxy",
    "407 Proxy Authentication Required": "for a proxy with a password, use",
}


@pytest.mark.parametrize("status", REFUSALS_OF_A_PROXY)
def test_a_proxy_that_refuses_is_named(status: str, monkeypatch: pytest.MonkeyPatch):
    async def test() -> None:
        async with port_of(answering(f"HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n".encode())) as port:
            monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{port}")
            error = await failure_of(configuration("https://models.example/v1", verify_certificates=False))
        assert f"the proxy 127.0.0.1:{port} (ALL_PROXY) refuses: {status}" in error.message
        assert REFUSALS_OF_A_PROXY[status] in error.message
        assert isinstance(error, UpstreamConnectionError)
        assert error.lasts

    run(test())


def test_a_limit_of_time_on_the_way_through_a_proxy_names_the_proxy(monkeypatch: pytest.MonkeyPatch):
    async def late(*_: object) -> None:
        raise httpx2.ConnectTimeout("late")

    async def test() -> None:
        error = await failure_of(configuration("https://models.example/v1", verify_certificates=False))
        assert isinstance(error, UpstreamTimeoutError)
        assert "proxy.example:3128 (HTTPS_PROXY)" in error.advice

    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.setattr(Connections, "send", late)
    run(test())


UNUSABLE = {
    "an unknown kind": ("garbage://x", "a proxy of the kind 'garbage'"),
    "a port that is none": ("http://h:port", "no URL"),
    "a port that is too large": ("http://h:99999", "no URL"),
    "half an address": ("http://[::1", "no URL"),
    "no host": ("http://", "without a host"),
    "a space": ("htp:/bro ken", "no URL"),
    "SOCKS": ("socks5://127.0.0.1:1080", "a SOCKS proxy"),
    "SOCKS with names": ("socks5h://127.0.0.1:1080", "a SOCKS proxy"),
}


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "ALL_PROXY", "https_proxy"])
@pytest.mark.parametrize(("value", "got"), UNUSABLE.values(), ids=UNUSABLE)
def test_a_proxy_that_cannot_be_used_is_named_by_its_variable(
    variable: str, value: str, got: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("partstream.upstream.http.find_spec", lambda name: None)
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConnectionSetupError) as raised:
        find_proxy(configuration("https://models.example/v1"))
    assert raised.value.where == variable
    assert got in raised.value.got


def test_the_package_that_socks_needs_is_named_and_none_of_another_client():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("partstream.upstream.http.find_spec", lambda name: None)
        patch.setenv("ALL_PROXY", "socks5://127.0.0.1:1080")
        with pytest.raises(ConnectionSetupError, match=r"pip install 'socksio>=") as raised:
            find_proxy(configuration("https://models.example/v1"))
    assert "httpx" not in str(raised.value)


def test_a_socks_proxy_is_gone_through_where_its_package_is_there(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("socksio", reason="the extra `socks` is not installed")
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(3)  # RFC 1928: version 5, one method, no authentication
        writer.write(b"\x05\x00")
        head = await reader.readexactly(5)  # CONNECT to a name of so many bytes
        asked.append(await reader.readexactly(head[4]))
        await reader.readexactly(2)
        writer.write(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50")
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")

    async def test() -> None:
        async with port_of(serve) as port:
            monkeypatch.setenv("ALL_PROXY", f"socks5://127.0.0.1:{port}")
            http = UpstreamHTTP(configuration("http://models.example/v1", allow_insecure_http=True))
            response = await http.fetch("/v1/models", {})
            await http.aclose()
        assert (response.status, response.body, asked) == (200, b"{}", [b"models.example"])

    run(test())


@pytest.mark.parametrize("value", [text for text, _ in UNUSABLE.values()])
def test_a_server_on_this_machine_is_reached_whatever_the_proxies_are(value: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ALL_PROXY", value)
    assert find_proxy(configuration("http://127.0.0.1:1/v1")) is None


_HOSTS = st.sampled_from(["h", "h:1", "h:x", "[::1]:3", "[::", "u:p@h", "u:p@", "", "ü", "%00", "h:-1", ":", "a b"])
_VALUES = st.one_of(
    st.builds("{}://{}".format, st.sampled_from(["http", "https", "socks5", "socks", "HTTP", "", "ftp"]), _HOSTS),
    _HOSTS,
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20),
)


@given(variables=st.dictionaries(st.sampled_from([*PROXY_VARIABLES, "https_proxy", "no_proxy"]), _VALUES))
def test_whatever_the_environment_says_of_proxies_there_is_a_client_or_a_sentence(variables: dict[str, str]):
    # Without TLS: reading the certificates of the system takes a quarter of a second.
    gateway = configuration("http://models.example/v1", allow_insecure_http=True)

    async def test() -> None:
        try:
            client = make_transport(gateway, find_proxy(gateway))
        except ConnectionSetupError as error:
            assert error.where in {*variables, "the system"}  # noqa: PT017 - one of two outcomes
        else:
            await client.aclose()

    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        asyncio.run(test())


# ---- certificates ----


@pytest.mark.parametrize("kind", ["missing", "folder", "empty", "junk", "too long a name"])
def test_certificates_that_cannot_be_read_are_named_by_variable_and_path(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / ("x" * 300 if kind == "too long a name" else "certificates.pem")
    if kind == "folder":
        path.mkdir()
    elif kind in {"empty", "junk"}:
        path.write_text("" if kind == "empty" else "no certificate\n")
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    with pytest.raises(ConnectionSetupError) as raised:
        make_transport(configuration("https://models.example/v1"), None)
    assert raised.value.where == f"SSL_CERT_FILE={path}"
    assert str(path) in str(raised.value)
    assert raised.value.expected


@given(value=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=30))
def test_whatever_the_environment_says_of_certificates_there_is_a_client_or_a_sentence(value: str):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", f"/nowhere/{value}")
        with pytest.raises(ConnectionSetupError, match="SSL_CERT_FILE"):
            make_transport(configuration("https://models.example/v1"), None)


def test_what_the_client_says_of_a_request_holds_no_key():
    error = connection_error("http://h/v1", ValueError("Bearer KEY"), redactor=Redactor(["KEY"]))
    assert error.reason == "Bearer ***"


def test_the_address_of_a_proxy_is_shown_without_its_password():
    assert Proxy("http://user:hunter22@h:1", "HTTPS_PROXY").address == "h:1"
    assert "hunter22" not in repr(Proxy("http://user:hunter22@h:1", "HTTPS_PROXY"))


@pytest.mark.parametrize(("scheme", "advice"), [("http", "https://"), ("https", "")])
def test_a_connection_that_is_reset_may_be_one_of_the_other_scheme(scheme: str, advice: str):
    error = connection_error(f"{scheme}://h/v1", _raised_from(OSError(), ConnectionResetError(104, "reset")))
    assert "reset the connection" in error.reason
    assert advice in error.advice
    assert bool(error.advice) is bool(advice)
