"""Finds what stands at a path of a server: where models answer, and the documents of the protocols."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from partstream.errors import CallerError
from partstream.protocols.serve import fits_path, literal_size, names_something

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from partstream.protocols.serve import ServedDocument, StoredRoute
    from partstream.serving.endpoints import Endpoint

__all__ = ["NoRouteError", "Route", "Routes"]

_USUAL_BASE: Final = "/v1"
_LONGEST_PATH: Final = 200
"""The most characters of a path in a message."""
_MOST_ALIKE: Final = 3
"""The most paths in a message that a client may have meant."""


@dataclass(frozen=True, slots=True)
class Route:
    """What stands at a path.

    Attributes:
        method: The HTTP method.
        path: The pattern of the whole path, see :mod:`partstream.protocols.serve`.
        endpoint: The endpoint whose protocol is spoken here.
        document: The document that stands here, or None.
        stored: What of kept answers stands here, or None.
    """

    method: str
    path: str
    endpoint: Endpoint
    document: ServedDocument | None = None
    stored: StoredRoute | None = None

    @property
    def is_answer(self) -> bool:
        """Whether a model answers."""
        return self.document is None and self.stored is None

    @property
    def is_for_everybody(self) -> bool:
        """Whether no header is needed to mean it."""
        return self.document is None or self.document.is_for_everybody

    def is_meant(self, headers: Mapping[str, str]) -> bool:
        """Whether a request with these headers asks for it."""
        return self.document is None or self.document.is_meant(headers)


class NoRouteError(CallerError):
    """Nothing stands at a path, or nothing for this method.

    Attributes:
        allowed: The methods that the path takes; empty where the path is unknown.
    """

    def __init__(self, message: str, allowed: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.allowed = allowed


class Routes:
    """What stands at the paths of a server.

    Args:
        endpoints: Where models answer, by the patterns of their paths; one at least.
        others: Further paths that the server has, for the message of an unknown one.
    """

    def __init__(self, endpoints: Mapping[str, Endpoint], others: Iterable[str] = ()) -> None:
        self._endpoints = tuple(endpoints.values())
        self._others = tuple(others)
        self._routes = tuple(_routes(self._endpoints))
        # Most requests are for a path that names nothing: found at once, and not by trying all patterns.
        self._fixed: dict[str, list[Route]] = {}
        for one in self._routes:
            if not names_something(one.path):
                self._fixed.setdefault(one.path, []).append(one)
        self._answering = {one.path: one for one in reversed(self._endpoints) if not names_something(one.path)}
        self._patterns = tuple(one for one in self._routes if names_something(one.path))

    def __iter__(self) -> Iterator[Route]:
        """Everything that stands at some path, protocol by protocol: answers first, then documents."""
        return iter(self._routes)

    def find(self, method: str, path: str, headers: Mapping[str, str]) -> Route:
        """What a request asks for.

        Of several patterns that fit the path, the one with the most characters of its own counts. Of several protocols
        with a document there, the one that the headers mean, then the first.

        Raises:
            NoRouteError: Nothing is there, or nothing for this method.
        """
        fitting = self._at(path)
        if not fitting:
            shown = path[:_LONGEST_PATH]
            raise NoRouteError(f"got path {shown}, expected {', '.join(self._alike(shown))}")
        closest = max(literal_size(one.path) for one in fitting)
        there = [one for one in fitting if literal_size(one.path) == closest]
        answering = [one for one in there if one.method == method]
        if not answering:
            allowed = tuple(dict.fromkeys(one.method for one in there))
            raise NoRouteError(f"got method {method} at {path[:_LONGEST_PATH]}, expected {', '.join(allowed)}", allowed)
        meant = [one for one in answering if one.is_meant(headers)]
        return min(meant or answering, key=lambda one: one.is_for_everybody)

    def _alike(self, path: str) -> list[str]:
        """The paths that a client may have meant: those that look like it, or else those where models answer."""
        known = dict.fromkeys((*self._others, *(one.path for one in self._routes)))
        return get_close_matches(path, known, _MOST_ALIKE) or [one.path for one in self._endpoints]

    def _at(self, path: str) -> list[Route]:
        """All that stands at a path; what stands at this very path counts before every pattern that fits it."""
        return self._fixed.get(path) or [one for one in self._patterns if fits_path(one.path, path)]

    def socket_at(self, path: str) -> Endpoint:
        """The endpoint whose WebSocket stands at a path.

        Raises:
            NoRouteError: None is there.
        """
        there = [one for one in self._endpoints if one.reads.socket is not None]
        found = next((one for one in there if fits_path(one.path, path)), None)
        if found is None:
            known = ", ".join(one.path for one in there) or "none"
            raise NoRouteError(f"got a WebSocket at path {path}, expected it at {known}")
        return found

    def meant_path(self, path: str) -> str:
        """The path that a client means, which may write `/v1` once too often, or not at all.

        Some clients append `/v1` to a base URL and some do not, and a person gives the base URL with or without it
        (docs/wires/serving.md#base-urls-with-and-without-v1). A path that has a route in none of these forms stays.
        """
        tried = (path, path.removeprefix(_USUAL_BASE), _USUAL_BASE + path)
        return next((one for one in tried if self._at(one)), path)

    def nearest(self, path: str) -> Endpoint:
        """The endpoint in whose protocol an error at a path is said: the one there, one beside it, or the first."""
        if path in self._answering:
            return self._answering[path]
        there = [one for one in self._endpoints if fits_path(one.path, path)]
        if there:
            return max(there, key=lambda one: literal_size(one.path))
        below = (one for one in self._endpoints if path.startswith(f"{one.base_path}/"))
        return max(below, key=lambda one: len(one.base_path), default=self._endpoints[0])


def _routes(endpoints: Iterable[Endpoint]) -> Iterator[Route]:
    of_bases = {(one.protocol.name, one.base_path): one for one in endpoints}
    for endpoint in endpoints:
        yield Route("POST", endpoint.path, endpoint)
    for endpoint in of_bases.values():
        for document in endpoint.writes.documents:
            yield Route(document.method, endpoint.base_path + document.path, endpoint, document)
        for further in endpoint.writes.further:
            there = replace(endpoint, pattern=further.path, reads=further.reads, writes=further.writes)
            yield Route("POST", there.path, there)
        for stored in () if endpoint.writes.state is None else endpoint.writes.state.routes:
            yield Route(stored.method, endpoint.base_path + stored.path, endpoint, stored=stored)
