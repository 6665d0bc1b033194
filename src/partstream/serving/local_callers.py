"""Tells programs of this machine from pages in its browser, for a server on loopback that wants no token.

A page of any site can send requests to loopback, and a site whose name leads to 127.0.0.1 can read the answers too: the
headers `Origin` and `Host` say so, because no page can change them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from partstream.serving.authentication import Caller
from partstream.upstream.endpoint import is_loopback

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["local_program"]

_CALLER: Final = Caller("local")


def local_program(headers: Mapping[str, str]) -> Caller | None:
    """The one caller of a server without a token, unless the request is of a page of some site.

    Args:
        headers: The headers of the request, names in lower case.
    """
    origin = headers.get("origin")
    is_of_a_site = origin is not None and not _is_local(origin)
    return None if is_of_a_site or not _is_local(f"//{headers.get('host', '')}") else _CALLER


def _is_local(url: str) -> bool:
    try:
        return is_loopback(urlsplit(url).hostname or "")
    except ValueError:
        return False
