"""What the owner of a server has put at paths of its own, beside those of the protocols: pages, and functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.codec.json_codec import dumps
from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.serving.failures import RequestFailedError
from partstream.serving.requests import json_object
from partstream.serving.routes import NoRouteError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from partstream.serving.authentication import Caller

__all__ = ["MOST_BYTES", "OwnerHandler", "OwnerReply", "OwnerRequest", "OwnerRoute", "OwnerRoutes", "page_handler"]

MOST_BYTES: Final = 64 * 1024
"""The largest body that a route of an owner takes by default."""


@dataclass(frozen=True, slots=True)
class OwnerRequest:
    """A request at a path of the owner's.

    Attributes:
        method: The HTTP method.
        path: The path.
        query: The query without the question mark.
        headers: The headers by name in lower case, with the key in them.
        body: The body.
        request_id: The id of the request.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    request_id: str

    def json(self) -> dict[str, Any]:
        """The JSON object of the body.

        Raises:
            RequestFailedError: It is none.
        """
        return json_object(self.body)


@dataclass(frozen=True, slots=True)
class OwnerReply:
    """A reply to a request at a path of the owner's.

    Attributes:
        body: The body.
        content_type: Its media type.
        status: The HTTP status.
        headers: Further headers, names in lower case.
    """

    body: bytes
    content_type: str = "application/json"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def json(cls, value: Any, status: int = 200, *headers: tuple[str, str]) -> OwnerReply:
        """A JSON document."""
        return cls(dumps(value), status=status, headers=headers)


OwnerHandler: TypeAlias = "Callable[[OwnerRequest, Caller], Awaitable[OwnerReply]]"
"""Answers a request of a caller; raises :class:`partstream.serving.failures.RequestFailedError` to refuse it."""


@dataclass(frozen=True, slots=True)
class OwnerRoute:
    """What the owner has put at a path for a method.

    Attributes:
        handler: Answers a request.
        is_open: Whether it is answered without a key; the caller is nobody then.
        most_bytes: The largest body that it takes.
    """

    handler: OwnerHandler
    is_open: bool = False
    most_bytes: int = MOST_BYTES


class OwnerRoutes:
    """What the owner of one server has put at paths of its own."""

    def __init__(self) -> None:
        self._routes: dict[str, dict[str, OwnerRoute]] = {}

    def add(self, method: str, path: str, route: OwnerRoute) -> None:
        """Puts a route at a path, in place of an earlier one for the same method."""
        self._routes.setdefault(path, {})[method] = route

    def find(self, method: str, path: str) -> OwnerRoute | None:
        """The route of a request; None where the owner has put nothing at its path.

        Raises:
            NoRouteError: There is something, but not for this method.
        """
        there = self._routes.get(path)
        if there is None:
            return None
        if method not in there:
            raise NoRouteError(f"got method {method}, expected {', '.join(there)}", tuple(there))
        return there[method]


def page_handler(make: Callable[[str], tuple[str, bytes]]) -> OwnerHandler:
    """Answers with a page, which is for owners of the server, and for whoever asks where no key is needed.

    Args:
        make: Makes the page, given the header `accept` of the request: its content type and its bytes.
    """

    async def show(request: OwnerRequest, caller: Caller) -> OwnerReply:
        if not caller.is_owner:
            said = "this page is about all who ask this server, so it is for its admins"
            raise RequestFailedError(ServedFailure(FailureKind.FORBIDDEN, said))
        content_type, body = make(request.headers.get("accept", ""))
        return OwnerReply(body, content_type)

    return show
