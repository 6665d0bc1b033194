"""Who may ask the inspector's server, decided before anything is read: pure, one row a rule.

The server listens on loopback, and still any web page can send requests there: other local servers had holes of this
kind (docs/wires/practice.md#requests-to-a-local-server). So the `Host` of a request must name this machine (which keeps
out names that DNS led here), `Origin` and `Sec-Fetch-Site` must name the page itself, and a header must carry the token
from the fragment of the URL: no other page can send that header without permission by CORS, which no response gives.
"""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

__all__ = ["PAGE", "TOKEN_HEADER", "GateRefusal", "InspectorRequest", "refusal_of"]

TOKEN_HEADER: Final = "partstream-token"  # noqa: S105 - the name of a header
PAGE: Final = "/"
"""The path of the page: a frame without any data, which therefore needs no token."""

_THIS_MACHINE: Final = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?", re.IGNORECASE | re.ASCII)
_OWN_FETCHES: Final = frozenset({"same-origin", "none"})


@dataclass(frozen=True, slots=True)
class InspectorRequest:
    """A request, as far as the gate looks at it.

    Attributes:
        method: The HTTP method.
        path: The path as it came, with its escapes: a path is one of the table or none.
        headers: The headers by name in lower case; several of one name are joined.
    """

    method: str
    path: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class GateRefusal:
    """Why a request gets no answer.

    Attributes:
        status: The HTTP status.
        message: What came and what was expected; it repeats nothing of the token.
        allow: The methods that the path has, for status 405.
    """

    status: int
    message: str
    allow: tuple[str, ...] = ()


def refusal_of(asking: InspectorRequest, token: str, paths: Mapping[str, Collection[str]]) -> GateRefusal | None:
    """Why the request is refused, or None.

    Args:
        asking: The request.
        token: The token of this server.
        paths: The methods of each path.
    """
    for is_broken, status, message in _RULES:
        if is_broken(asking, token):
            return GateRefusal(status, message)
    methods = paths.get(asking.path)
    if methods is None:
        return GateRefusal(404, "no such path")
    if asking.method not in methods:
        return GateRefusal(405, f"expected {' or '.join(sorted(methods))}", tuple(sorted(methods)))
    content_type = asking.headers.get("content-type", "").partition(";")[0].strip()
    if asking.method == "POST" and content_type != "application/json":
        return GateRefusal(415, "expected a body of application/json")
    return None


def _is_for_another_host(asking: InspectorRequest, _token: str) -> bool:
    # Any port: an editor may forward the port to another number (docs/wires/practice.md#forwarded-ports).
    return _THIS_MACHINE.fullmatch(asking.headers.get("host", "")) is None


def _is_of_another_page(asking: InspectorRequest, _token: str) -> bool:
    origin = asking.headers.get("origin")
    host = asking.headers.get("host", "")
    return origin is not None and origin not in {f"http://{host}", f"https://{host}"}


def _is_fetched_elsewhere(asking: InspectorRequest, _token: str) -> bool:
    # A link from anywhere may lead to the page, which holds nothing; what it reads is for itself alone.
    return asking.path != PAGE and asking.headers.get("sec-fetch-site", "none") not in _OWN_FETCHES


def _has_no_token(asking: InspectorRequest, token: str) -> bool:
    given = asking.headers.get(TOKEN_HEADER, "")
    return asking.path != PAGE and not hmac.compare_digest(given.encode(), token.encode())


_RULES: Final[tuple[tuple[Callable[[InspectorRequest, str], bool], int, str], ...]] = (
    (_is_for_another_host, 421, "expected a Host of this machine: 127.0.0.1, localhost or [::1]"),
    (_is_of_another_page, 403, "expected an Origin that is this server's, or none"),
    (_is_fetched_elsewhere, 403, "expected a request of this server's own page"),
    (
        _has_no_token,
        403,
        f"expected this server's token in the header {TOKEN_HEADER}: open the URL as it was printed",
    ),
)
