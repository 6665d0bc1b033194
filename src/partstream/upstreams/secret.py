"""A value that must not be seen: it shows itself only when asked by name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from partstream.protocols.protocol import KeyKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["SECRET_HEADERS", "Secret", "without_secrets"]

SECRET_HEADERS: Final = frozenset({"api-key", "authorization", "cookie", "x-api-key", "x-goog-api-key"})
"""Headers whose value is a secret in every use; that of any other may be one."""

_SHORTEST: Final = 8
"""What is shorter would be cut out of words; a key is not that short."""
_JWT: Final = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)
"""RFC 7519: its head is a JSON object, which begins with `{"` and so with `eyJ` in base64url."""
_PLAIN_HEADERS: Final = frozenset({"accept", "content-type", "if-none-match", "user-agent"})


class Secret:
    """Holds a key; its `repr` and `str` never show it, so that no log and no error can.

    Args:
        value: The key.
        kind: What kind of key it is; None for a place that holds any kind, then a JSON Web Token is of OIDC.

    Attributes:
        kind: What kind of key it is.
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


def without_secrets(text: bytes, headers: Mapping[str, str], secrets: Iterable[str] = ()) -> bytes:
    """What an upstream says without what it was sent: some servers repeat the key that they refuse.

    Errors are logged and shown, lists of models are kept on disk.

    Args:
        text: What the upstream says.
        headers: The headers that it was sent.
        secrets: What else it was sent and may be a secret: in the body, in the URL.
    """
    sent = [value for name, value in headers.items() if name not in _PLAIN_HEADERS]
    # The longest first: `Bearer KEY` holds the key, which may stand alone too.
    for secret in sorted({*sent, *(value.rpartition(" ")[2] for value in sent), *secrets}, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret.encode(), b"***")
    return text
