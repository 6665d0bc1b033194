"""The URLs of an upstream, and the hosts that are this machine; resolves no name."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit, urlunsplit

__all__ = ["is_loopback", "url_on_host", "without_query"]


def is_loopback(host: str) -> bool:
    """Tells whether the host of a URL is certainly this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name
        return False


def url_on_host(base_url: str, path: str, query: str = "") -> str:
    """The URL of a path on the host of the base URL, with the query of the base URL before the other one."""
    address = urlsplit(base_url)
    queries = "&".join(filter(None, (address.query, query)))
    return urlunsplit((address.scheme, address.netloc, path, queries, ""))


def without_query(url: str) -> str:
    """The URL as a message may show it: without its query, which may hold a key."""
    address = urlsplit(url)
    return f"{address.scheme}://{address.netloc}{address.path}"
