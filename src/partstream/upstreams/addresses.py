"""The URLs of an upstream, and the hosts that are this machine; resolves no name."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from partstream.settings.kinds import shown_name

__all__ = ["is_loopback", "likely_scheme", "url_meant_by", "url_on_host", "with_scheme", "without_query"]

_HOST: Final = re.compile(
    r"(?:localhost|\[[0-9a-fA-F:.]+\]|[\w-]+(?:\.[\w-]+)+|[\w-]+(?=:\d))(?::\d{1,5})?(?:/[\w./-]*)?", re.ASCII
)
"""A host with a dot or a port, and a path."""


def is_loopback(host: str) -> bool:
    """Tells whether the host of a URL is certainly this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name
        return False


def url_meant_by(text: str) -> str | None:
    """The URL that an address without a scheme means, see :func:`likely_scheme`; None for what may be a key."""
    if _HOST.fullmatch(text) is None or shown_name(text) != text:
        return None
    try:
        return f"{likely_scheme(text)}://{text}"
    except ValueError:  # brackets around what is no IPv6 address
        return None


def likely_scheme(address: str) -> str:
    """The scheme of an address that has none: http on this machine and at an IP address, https elsewhere.

    Few IP addresses have a certificate. Plain http to another machine needs a permission of its own.

    Raises:
        ValueError: It is no address.
    """
    host = urlsplit(f"//{address}").hostname or ""
    try:
        ip_address(host)
    except ValueError:
        return "http" if is_loopback(host) else "https"
    return "http"


def with_scheme(text: str) -> str:
    """The text with the scheme that it lacks; the text as it is where it has one, or where it may be a key."""
    return text if "://" in text else url_meant_by(text.strip()) or text


def url_on_host(base_url: str, path: str, query: str = "") -> str:
    """The URL of a path on the host of the base URL, with the query of the base URL before the other one."""
    address = urlsplit(base_url)
    queries = "&".join(filter(None, (address.query, query)))
    return urlunsplit((address.scheme, address.netloc, path, queries, ""))


def without_query(url: str) -> str:
    """The URL as a message may show it: without its query, which may hold a key."""
    address = urlsplit(url)
    return f"{address.scheme}://{address.netloc}{address.path}"
