"""Who asks a hub: the key of a request, verified in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from partstream.hub.keys import verified_key
from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.serving.authentication import Caller
from partstream.serving.failures import RequestFailedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from partstream.hub.directory import Directory
    from partstream.serving.authentication import KeyPlace

__all__ = ["HubAuthenticator", "HubCaller"]

_RETRY_SECONDS: Final = 1.0
_MOST_CHARACTERS: Final = 400
"""The most characters of a header that can hold a key."""


@dataclass(frozen=True, slots=True)
class HubCaller(Caller):
    """Who asks a hub. The name is that of the person, to whom all belongs that the server remembers.

    Attributes:
        key_id: The public id of the key. What it may do is looked up with every request: it may be revoked meanwhile.
    """

    key_id: str


class HubAuthenticator:
    """Finds the person of a key, without I/O.

    Args:
        directory: Gives the newest snapshot that the worker has; None before the first.
        time: Gives the time of the database, in seconds since 1970.
        places: The headers that may hold a key.
    """

    def __init__(
        self, directory: Callable[[], Directory | None], time: Callable[[], float], places: Iterable[KeyPlace]
    ) -> None:
        self._directory = directory
        self._time = time
        self._schemes: dict[str, tuple[str, ...]] = {}
        for header, scheme in places:
            self._schemes[header] = (*self._schemes.get(header, ()), scheme)

    def __call__(self, headers: Mapping[str, str]) -> HubCaller | None:
        """The caller, if all headers for keys that a request has hold one and the same valid key.

        Two that differ are refused: otherwise whoever stands before the hub and looks at one of them could be made to
        believe in another person than the hub does.

        Raises:
            RequestFailedError: The directory was not read yet, so that nobody is known.
        """
        directory = self._directory()
        if directory is None:
            said = "the hub is starting and has not read yet who may ask; ask again"
            raise RequestFailedError(ServedFailure(FailureKind.OVERLOADED, said, retry_after=_RETRY_SECONDS))
        given = {self._credential(header, headers[header]) for header in self._schemes if headers.get(header)}
        if len(given) != 1:
            return None
        key = verified_key(directory, given.pop(), self._time())
        if key is None:
            return None
        return HubCaller(key.person, key.id, is_owner=directory.people[key.person].is_admin)

    def _credential(self, header: str, value: str) -> str:
        """What a header gives as a key; the header as it is, which is none, where it has another form."""
        value = value[:_MOST_CHARACTERS].strip()
        scheme, _, rest = value.partition(" ")
        schemes = self._schemes[header]
        if scheme.lower() in schemes and rest:
            return rest.strip()
        return value if "" in schemes else f"{header}: {value}"
