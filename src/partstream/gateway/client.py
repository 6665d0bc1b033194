"""The HTTP client of one upstream: certificates, proxies, redirects; knows no request."""

from __future__ import annotations

import ssl
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2

if TYPE_CHECKING:
    from partstream.gateway.configuration import GatewayConfiguration

__all__ = ["make_client"]


def make_client(configuration: GatewayConfiguration) -> httpx2.AsyncClient:
    """A client for the event loop that runs; whoever asked for it closes it."""
    address = urlsplit(configuration.base_url)
    return httpx2.AsyncClient(
        # The other limits are ours: httpx2 has none for the first event or for the whole answer.
        timeout=httpx2.Timeout(None, connect=configuration.timeouts.connect),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=8),
        follow_redirects=False,  # a redirect must not carry the key to another host
        # Without TLS nothing has to be trusted, and reading the certificates takes a quarter of a second.
        verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if address.scheme == "http" else True,
        # The proxies of the environment lead out of this machine: a model server on it is not behind them.
        trust_env=not _is_loopback(address.hostname or ""),
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name
        return False
