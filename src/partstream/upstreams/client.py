"""The HTTP client of one upstream: certificates, proxies, redirects; knows no request."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

import httpx2

from partstream.upstreams.addresses import is_loopback

if TYPE_CHECKING:
    from partstream.upstreams.configuration import GatewayConfiguration

__all__ = ["make_client"]


def make_client(configuration: GatewayConfiguration) -> httpx2.AsyncClient:
    """A client for the event loop that runs; whoever asked for it closes it."""
    address = urlsplit(configuration.base_url)
    host = address.hostname or ""
    # A proxy leads out of this machine: a model server on it is not behind one, nor what NO_PROXY names.
    direct = is_loopback(host) or (configuration.proxy is not None and bool(proxy_bypass(host)))
    return httpx2.AsyncClient(
        # The other limits are ours: httpx2 has none for the first event or for the whole answer.
        timeout=httpx2.Timeout(None, connect=configuration.timeouts.connect),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=8),
        follow_redirects=False,  # a redirect must not carry the key to another host
        verify=_certificates(address.scheme, verify=configuration.verify_certificates),
        proxy=None if direct else configuration.proxy,
        trust_env=not direct,
    )


def _certificates(scheme: str, *, verify: bool) -> ssl.SSLContext:
    """What has to be trusted: SSL_CERT_FILE and SSL_CERT_DIR where they are set, else what the system trusts."""
    if scheme == "http" and verify:
        # Without TLS nothing has to be trusted, and reading the certificates takes a quarter of a second.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx2.create_ssl_context(verify=verify)
