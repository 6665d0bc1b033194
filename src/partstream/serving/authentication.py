"""Who asks: the key of a request, in the header that its wire has for it; decided before the body is read."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from partstream.protocols.protocol import KeyKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.serving.endpoints import Endpoint
    from partstream.upstream.endpoint import Secret

__all__ = ["NOBODY", "Authenticator", "Caller", "KeyPlace", "TokenAuthenticator", "key_places", "nobody_in_particular"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks.

    Attributes:
        name: What logs and figures call the caller; never the key. What a server remembers belongs to this name.
        is_owner: Whether the caller may read what the server says of all its callers, such as its metrics.
    """

    name: str
    is_owner: bool = field(default=True, kw_only=True, compare=False)


Authenticator: TypeAlias = Callable[[Mapping[str, str]], Caller | None]
"""Finds out who asks by the headers of a request, names in lower case; None for nobody who may."""


class KeyPlace(NamedTuple):
    """A header that holds a key.

    Attributes:
        header: Its name in lower case.
        scheme: The word before the key in lower case, such as `bearer`; empty for the key alone.
    """

    header: str
    scheme: str


_MARK: Final = "0123456789abcdef"
_EVERYWHERE: Final = (KeyPlace("authorization", "bearer"), KeyPlace("x-api-key", ""))
"""Where every wire takes a key: clients differ (docs/wires/serving.md#keys-and-headers-of-messages)."""


def key_places(endpoints: Iterable[Endpoint]) -> tuple[KeyPlace, ...]:
    """Where the clients of some endpoints put their keys."""
    found = dict.fromkeys(_EVERYWHERE)
    for endpoint in endpoints:
        for kind in KeyKind:
            for name, value in endpoint.key_headers(_MARK, kind).items():
                found[KeyPlace(name.lower(), value.partition(_MARK)[0].strip().lower())] = None
    return tuple(found)


class TokenAuthenticator:
    """Knows one caller by one key, which is compared in constant time.

    Args:
        token: The key.
        places: The headers that may hold it.
    """

    _CALLER: Final = Caller("token")

    def __init__(self, token: Secret, places: Iterable[KeyPlace]) -> None:
        self._token = token
        self._places = tuple(places)

    def __call__(self, headers: Mapping[str, str]) -> Caller | None:
        """The caller, if one of the headers holds the key."""
        expected = self._token.reveal().encode()
        is_known = False
        for header, scheme in self._places:
            said, _, key = headers.get(header, "").strip().rpartition(" ")
            if said.strip().lower() == scheme and key:
                is_known |= hmac.compare_digest(key.encode(errors="surrogatepass"), expected)
        return self._CALLER if is_known else None


NOBODY: Final = Caller("")


def nobody_in_particular(_headers: Mapping[str, str]) -> Caller:
    """The one caller of a server without a key."""
    return NOBODY
