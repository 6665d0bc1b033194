"""Makes the HTTP client of one upstream: certificates, proxies, redirects."""

from __future__ import annotations

import logging
import os
import ssl
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import httpx2

from partstream.upstreams.direct_transport import DirectTransport
from partstream.upstreams.proxies import ConnectionSetupError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from partstream.codec.redaction import Redactor
    from partstream.upstream.configuration import GatewayConfiguration
    from partstream.upstreams.proxies import Proxy

__all__ = ["make_client", "make_transport", "redacted_log"]

_REDACTING: Final[ContextVar[Callable[[], Redactor] | None]] = ContextVar("partstream_redacting", default=None)
"""Makes the redactor of the request that runs."""

_CERTIFICATE_VARIABLES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""The first that is set holds."""


def make_client(configuration: GatewayConfiguration, proxy: Proxy | None) -> httpx2.AsyncClient:
    """Makes a client for the running event loop; the caller closes it.

    Args:
        configuration: The limits of time, and whether certificates are checked.
        proxy: The proxy of all requests, see :func:`partstream.upstreams.proxies.find_proxy`.

    Raises:
        ConnectionSetupError: The certificates that are trusted cannot be read.
    """
    log = logging.getLogger("httpx2")
    if not any(isinstance(one, _RedactedRecords) for one in log.filters):
        log.addFilter(_RedactedRecords())
    scheme = urlsplit(configuration.base_url).scheme
    certificates = _certificates(scheme, verify=configuration.verify_certificates)
    return httpx2.AsyncClient(
        # The other limits are ours: httpx2 has none for the first event or for the whole answer.
        timeout=httpx2.Timeout(None, connect=configuration.timeouts.connect),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=8),
        follow_redirects=False,  # a redirect must not carry the key to another host
        verify=certificates,
        proxy=None if proxy is None else proxy.url,
        transport=DirectTransport(certificates) if proxy is None else None,
        trust_env=False,  # the proxies of the environment are looked up before, so that errors can name them
    )


def make_transport(configuration: GatewayConfiguration, proxy: Proxy | None) -> httpx2.AsyncBaseTransport:
    """Makes what is below a client, for those who hand requests on as they are; the caller closes it.

    It logs nothing, keeps no cookies and follows no redirect.

    Args:
        configuration: Whether certificates are checked.
        proxy: The proxy of all requests.

    Raises:
        ConnectionSetupError: The certificates that are trusted cannot be read.
    """
    scheme = urlsplit(configuration.base_url).scheme
    certificates = _certificates(scheme, verify=configuration.verify_certificates)
    if proxy is None:
        return DirectTransport(certificates)
    return httpx2.AsyncHTTPTransport(verify=certificates, proxy=httpx2.Proxy(proxy.url))


@contextmanager
def redacted_log(redactor: Callable[[], Redactor]) -> Iterator[None]:
    """Has what the client logs of a request redacted: it logs the URL with its query, and what the server answered.

    Args:
        redactor: Makes the redactor; called only if something is logged.
    """
    token = _REDACTING.set(redactor)
    try:
        yield
    finally:
        _REDACTING.reset(token)


class _RedactedRecords(logging.Filter):
    """Redacts the client's records of our requests; those of other code that uses the client stay as they are."""

    def filter(self, record: logging.LogRecord) -> bool:
        make = _REDACTING.get()
        if make is not None:
            record.msg, record.args = make().redact(record.getMessage()), ()
        return True


def _certificates(scheme: str, *, verify: bool) -> ssl.SSLContext:
    """The trusted certificates: those of SSL_CERT_FILE and SSL_CERT_DIR if they are set, else the system's."""
    if scheme == "http" and verify:
        # Without TLS nothing has to be trusted, and reading the certificates takes a quarter of a second.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        return httpx2.create_ssl_context(verify=verify)
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        variable = next((name for name in _CERTIFICATE_VARIABLES if os.environ.get(name)), None)
        where = "the certificates of the system" if variable is None else f"{variable}={os.environ[variable]}"
        reason = "no certificate in it" if isinstance(error, ssl.SSLError) else getattr(error, "strerror", None)
        raise ConnectionSetupError(
            where,
            reason or str(error),
            "a file of certificates in PEM that can be read; unset it to trust the system's",
        ) from error
