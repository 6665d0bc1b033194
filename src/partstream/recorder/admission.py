"""Which requests the recording proxy forwards, and what the others are told. Sans-IO.

A page of the web can send requests to this machine, and with a name that it resolves to 127.0.0.1 (DNS rebinding) it
can read the replies too. So the host has to be this machine by name, and the origin of a page as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from partstream.codec.json_codec import dumps
from partstream.upstream.endpoint import is_loopback

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Refusal", "refusal_body", "refusal_of"]

_PAGES: Final = frozenset({"http", "https"})
"""Schemes of pages of the web; programs that are made like pages have schemes of their own."""
_NAMELESS: Final = frozenset({"", "null"})
"""Origins of a frame in a sandbox, and of pictures and links of a page: a browser says then that another page asks."""
_OF_ANOTHER_PAGE: Final = frozenset({"cross-site", "same-site"})
_WEB_SOCKET: Final = "websocket"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not forwarded.

    Attributes:
        status: The HTTP status of the reply.
        message: What was got and what was expected.
    """

    status: int
    message: str


def refusal_of(target: str, headers: Mapping[str, str]) -> Refusal | None:
    """Why a request is refused; None for one that is forwarded.

    Args:
        target: Its target without the query.
        headers: Its header fields, names in lower case.
    """
    host = headers.get("host", "")
    if not _is_this_machine(f"//{host}"):
        return Refusal(
            403, f"got the host {host!r}, expected 127.0.0.1 or localhost: it listens for this machine alone"
        )
    origin = headers.get("origin", "")
    if origin.partition("://")[0].lower() in _PAGES and not _is_this_machine(origin):
        return Refusal(403, f"got a request of the page {origin!r}, expected none of a page from another machine")
    if origin.lower() in _NAMELESS and headers.get("sec-fetch-site", "").lower() in _OF_ANOTHER_PAGE:
        return Refusal(403, "got a request of a page that does not say which it is, expected one of a program")
    if not target.startswith("/"):
        return Refusal(
            400,
            f"got the target {target!r}, expected a path: this is no proxy of the system; set the base URL of the "
            "client to its address",
        )
    if headers.get("upgrade", "").lower() == _WEB_SOCKET:  # any other upgrade is an offer, which nobody has to take
        return Refusal(426, "got a WebSocket, expected plain HTTP: a recording holds no WebSocket; switch it off")
    return None


def refusal_body(message: str) -> bytes:
    """The body of a reply that the proxy makes itself, in the form in which most clients look for an error."""
    return dumps({"error": {"type": "partstream_record", "message": f"partstream record: {message}"}})


def _is_this_machine(url: str) -> bool:
    try:
        return is_loopback(urlsplit(url).hostname or "")
    except ValueError:
        return False
