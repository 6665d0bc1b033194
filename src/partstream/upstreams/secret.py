"""A secret value that shows itself only on an explicit call."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from partstream.codec.redaction import NotPickled, Redactor, names_a_secret, secrets_in_header
from partstream.protocols.protocol import KeyKind
from partstream.settings.row import SHORTEST_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["Secret", "redactor_of", "secrets_in_url"]

_JWT: Final = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)
"""RFC 7519: its head is a JSON object, which begins with `{"` and so with `eyJ` in base64url."""
_PLAIN_HEADERS: Final = frozenset({"accept", "content-type", "if-none-match", "user-agent"})


class Secret(NotPickled):
    """Holds a key; its `repr` and `str` never show it, so that no log and no error can.

    Args:
        value: The key.
        kind: What kind of key it is; None for a place that holds any kind, then a JSON Web Token is of OIDC.

    Attributes:
        kind: What kind of key it is.

    Example:
        >>> from partstream import Secret
        >>> key = Secret("sk-1")
        >>> "sk-1" in f"{key} {key!r}"
        False
        >>> key.reveal()
        'sk-1'
    """

    __slots__ = ("_value", "kind")

    def __init__(self, value: str, kind: KeyKind | None = None) -> None:
        self._value = value
        self.kind = kind or (KeyKind.OIDC if _JWT.fullmatch(value) else KeyKind.API_KEY)

    def reveal(self) -> str:
        """The key itself, for the one header that needs it."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


def secrets_in_url(url: str) -> Iterator[str]:
    """The user name and password of a URL, and what its query holds under names of secrets."""
    address = urlsplit(url)
    known = address.netloc.rpartition("@")[0]
    query = [pair.partition("=") for pair in address.query.split("&")]
    for text in (known, *known.split(":", 1), *(value for name, _, value in query if names_a_secret(name))):
        yield text
        yield unquote(text)


def redactor_of(headers: Mapping[str, str], secrets: Iterable[str] = ()) -> Redactor:
    """Removes what an upstream was sent from what it says: some servers repeat the key that they refuse.

    Errors are logged and shown, lists of models are kept on disk.

    Args:
        headers: The headers that it was sent.
        secrets: What else it was sent and may be a secret: in the body, in the URL.
    """
    sent = [value for name, value in headers.items() if name not in _PLAIN_HEADERS]
    found = (*chain.from_iterable(map(secrets_in_header, sent)), *secrets)
    return Redactor(secret for secret in found if len(secret) >= SHORTEST_KEY)
