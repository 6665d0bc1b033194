"""Finds the proxy for an upstream and the setting that names it; opens no connection."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

from partstream.errors import LanguageModelError, UnexpectedValueError, to_install
from partstream.upstream.endpoint import is_loopback

if TYPE_CHECKING:
    from partstream.upstream.configuration import GatewayConfiguration

__all__ = ["ConnectionSetupError", "Proxy", "find_proxy"]

_SETTING: Final = "the setting proxy"
_SYSTEM: Final = "the system"
_SOCKS: Final = frozenset({"socks5", "socks5h"})
_SCHEMES: Final = frozenset({"http", "https", *_SOCKS})
_SOCKS_PACKAGE: Final = "socksio"


class ConnectionSetupError(UnexpectedValueError, LanguageModelError):
    """No connection can be tried: the configured proxy or certificates are unusable.

    `where` is the environment variable or the setting that names them, `got` says what is wrong without a password.
    """


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy.

    Attributes:
        url: Its URL, perhaps with a password.
        where: The environment variable or the setting that names it.
    """

    url: str = field(repr=False)
    where: str

    @property
    def address(self) -> str:
        """Its host and port, without a password."""
        return urlsplit(self.url).netloc.rpartition("@")[2]


def find_proxy(configuration: GatewayConfiguration) -> Proxy | None:
    """The proxy for requests to an upstream; None if they go there directly.

    A proxy leads out of this machine: a model server on it is not behind one, nor what NO_PROXY names.

    Raises:
        ConnectionSetupError: The proxy cannot be used.
    """
    address = urlsplit(configuration.base_url)
    host = address.hostname or ""
    if is_loopback(host) or proxy_bypass(host):
        return None
    if configuration.proxy is not None:
        return _checked(Proxy(configuration.proxy, _SETTING))
    of_environment = getproxies()
    for scheme in (address.scheme, "all"):
        if url := of_environment.get(scheme, ""):
            return _checked(Proxy(url if "://" in url else f"http://{url}", _place(scheme, url)))
    return None


def _place(scheme: str, url: str) -> str:
    """The environment variable that names the proxy for a scheme; Windows and macOS have settings of their own too."""
    names = (f"{scheme}_proxy", f"{scheme.upper()}_PROXY")
    return next((name for name in names if os.environ.get(name) == url), _SYSTEM)


def _checked(proxy: Proxy) -> Proxy:
    scheme, separator, _ = proxy.url.partition("://")
    scheme = scheme.lower()
    if scheme not in _SCHEMES:
        expected = "http://host:port, https://host:port or socks5://host:port"
        # What stands before the separator is no password, unless there is no separator.
        raise ConnectionSetupError(
            proxy.where, f"a proxy of the kind {scheme[:20]!r}" if separator else "no URL", expected
        )
    try:
        host = httpx2.Proxy(proxy.url).url.host
        port = urlsplit(proxy.url).port
    except (httpx2.InvalidURL, ValueError) as error:
        raise ConnectionSetupError(proxy.where, "a proxy that is no URL", f"{scheme}://host:port") from error
    if any(map(str.isspace, proxy.url)):  # the HTTP client would take it for a part of the path
        raise ConnectionSetupError(proxy.where, "a proxy that is no URL", f"{scheme}://host:port")
    if not host or port == 0:
        raise ConnectionSetupError(proxy.where, "a proxy without a host and port", f"{scheme}://host:port")
    if scheme in _SOCKS and find_spec(_SOCKS_PACKAGE) is None:
        raise ConnectionSetupError(
            proxy.where,
            "a SOCKS proxy, which needs a further package",
            f"the package {_SOCKS_PACKAGE} beside Partstream ({to_install('socks')}), or an http:// proxy",
        )
    return proxy
