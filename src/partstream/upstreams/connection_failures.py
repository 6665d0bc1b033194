"""Explains failed connections: one row for each kind of failure, with advice."""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import httpx2

from partstream.errors import UpstreamConnectionError
from partstream.upstream.http_errors import redacted_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.codec.redaction import Redactor
    from partstream.upstreams.proxies import Proxy

__all__ = ["RUNNING", "connection_error"]


@dataclass(frozen=True, slots=True)
class _Failure:
    """A row; its texts may hold `{peer}`, `{name}`, `{host}`, `{proxy}` and `{detail}`.

    Attributes:
        kind: The type of one of the causes of the error.
        says: What happened.
        advice: What may help.
        words: One of these stands in the cause; none where its type alone tells.
        scheme: The scheme of the URL, or empty for any.
        of_proxy: Whether it is the proxy that failed, where there is one.
        lasts: Whether another attempt would fail in the same way.
    """

    kind: type[BaseException]
    says: str
    advice: str
    words: tuple[str, ...] = ()
    scheme: str = ""
    of_proxy: bool = False
    lasts: bool = False

    def fits(self, cause: BaseException, scheme: str) -> bool:
        """Whether a cause of an error is of this kind."""
        if not isinstance(cause, self.kind) or self.scheme not in {"", scheme}:
            return False
        return not self.words or any(word in str(cause) for word in self.words)


RUNNING: Final = "is it running, and are its address and port right?"
_SIGN_OF_HTTP: Final = "does the base URL have to begin with http://{peer}?"
_SIGN_OF_HTTPS: Final = "does the base URL have to begin with https://{peer}, or did the server crash?"
_UNTRUSTED: Final = "name the certificate of your network in SSL_CERT_FILE"
_OFFLINE: Final = "is this machine online?"

# An SSLError is an OSError, and so is what a system says of names: the more special rows come first.
_FAILURES: Final = (
    _Failure(
        httpx2.ProxyError,
        "the proxy {proxy} refuses: {detail}",
        "a proxy that wants a password gets it as http://user:password@host:port; NO_PROXY names hosts that need none",
        ("407",),
        lasts=True,
    ),
    _Failure(
        httpx2.ProxyError,
        "the proxy {proxy} refuses: {detail}",
        "is that a proxy, and does it let this host through? NO_PROXY names hosts that need none",
        lasts=True,
    ),
    _Failure(
        ssl.SSLCertVerificationError,
        "the certificate of {name} is not trusted: {detail}",
        _UNTRUSTED,
        ("self-signed", "self signed", "unable to get local issuer", "unable to get issuer", "unable to verify"),
        lasts=True,
    ),
    _Failure(
        ssl.SSLCertVerificationError,
        "the certificate of {name} is not good: {detail}",
        "does the host's name fit?",
        lasts=True,
    ),
    _Failure(
        ssl.SSLError,
        "{peer} does not speak https",
        _SIGN_OF_HTTP,
        ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "UNKNOWN_PROTOCOL"),
        lasts=True,
    ),
    _Failure(ssl.SSLEOFError, "{peer} closed the connection before it was encrypted", _SIGN_OF_HTTP),
    _Failure(ssl.SSLError, "the connection cannot be encrypted: {detail}", ""),
    _Failure(
        socket.gaierror, "the name of {name} cannot be looked up", _OFFLINE, ("Temporary failure",), of_proxy=True
    ),
    _Failure(
        socket.gaierror, "there is no host {host}", f"is its name right, and {_OFFLINE}", of_proxy=True, lasts=True
    ),
    _Failure(ConnectionRefusedError, "nothing listens at {peer}", RUNNING, of_proxy=True),
    _Failure(ConnectionResetError, "{peer} reset the connection", _SIGN_OF_HTTPS, scheme="http", of_proxy=True),
    _Failure(ConnectionResetError, "{peer} reset the connection", "", of_proxy=True),
    _Failure(TimeoutError, "{peer} does not answer", RUNNING, of_proxy=True),
    _Failure(
        httpx2.RemoteProtocolError,
        "the answer of {peer} is not HTTP",
        "does the base URL have to begin with https://{peer}?",
        ("illegal", "malformed"),
        scheme="http",
        lasts=True,
    ),
    _Failure(
        httpx2.RemoteProtocolError,
        "{peer} closed the connection without an answer",
        _SIGN_OF_HTTPS,
        ("disconnected without",),
        scheme="http",
    ),
    _Failure(
        httpx2.RemoteProtocolError, "{peer} closed the connection without an answer", "", ("disconnected without",)
    ),
)


def connection_error(
    url: str,
    error: Exception,
    *,
    redactor: Redactor | None = None,
    proxy: Proxy | None = None,
    established: bool = False,
) -> UpstreamConnectionError:
    """The error for a connection that failed.

    The caller raises it without a cause: the client's own error holds the request with its key, and quotes what the
    upstream sent.

    Args:
        url: What was asked for, without its query.
        error: What the HTTP client met.
        redactor: Takes the secrets of the request out of what the HTTP client says; None where there are none.
        proxy: The proxy of the connection, or None.
        established: Whether a part of the answer had come: it says nothing of the way there then.
    """
    if established:
        failure = UpstreamConnectionError(url, _detail(error), established=True)
    else:
        failure = _not_established(url, error, proxy)
    return failure if redactor is None else redacted_error(failure, redactor)


def _not_established(url: str, error: Exception, proxy: Proxy | None) -> UpstreamConnectionError:
    address = urlsplit(url)
    found = ((row, cause) for row in _FAILURES for cause in _causes(error) if row.fits(cause, address.scheme))
    row, cause = next(found, (None, error))
    if row is None:
        detail = _detail(error)
        says = f"{detail}, through the proxy {_shown(proxy)}" if proxy is not None else detail
        return UpstreamConnectionError(url, says, advice="" if proxy is None else _NO_PROXY)
    if proxy is not None and row.of_proxy:
        peer = name = f"the proxy {_shown(proxy)}"
        host = f"for {name}"
    else:
        peer, name = address.netloc, address.hostname or ""
        host = name
    texts = {"peer": peer, "name": name, "host": host, "proxy": _shown(proxy), "detail": _detail(cause)}
    advice = row.advice.format(**texts)
    if proxy is not None and row.of_proxy:
        advice = f"is the proxy right? {_NO_PROXY}"
    return UpstreamConnectionError(url, row.says.format(**texts), advice=advice, lasts=row.lasts)


_NO_PROXY: Final = "NO_PROXY names hosts that need none"


def _shown(proxy: Proxy | None) -> str:
    return "" if proxy is None else f"{proxy.address} ({proxy.where})"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and all its causes."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop(0)
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [one.__cause__, one.__context__]
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions


def _detail(error: BaseException) -> str:
    """The message of an error without error numbers and file names."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return str(getattr(error, "verify_message", "")) or "TLS failed"
    if isinstance(error, ssl.SSLError):
        return getattr(error, "reason", None) or "TLS failed"  # only OpenSSL's own errors have one
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(_detail(one) for one in error.exceptions[:2])
    return str(error) or "the server closed it"
