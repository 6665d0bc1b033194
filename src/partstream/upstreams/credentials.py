"""The source of an upstream's key: asked before each request, and once more after a refusal.

Knows no place where keys are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from partstream.errors import LanguageModelError, LanguageModelErrorCode

if TYPE_CHECKING:
    from partstream.upstreams.secret import Secret

__all__ = ["CredentialError", "CredentialSource", "FixedKey"]


class CredentialError(LanguageModelError):
    """The key could not be read from its place; the message holds nothing of the place's content.

    Attributes:
        source: Where it should have come from.
        expected: What would help.
    """

    def __init__(self, source: str, got: str, expected: str) -> None:
        super().__init__(f"no key from {source}: got {got}, expected {expected}", LanguageModelErrorCode.NO_PERMISSIONS)
        self.source = source
        self.expected = expected


class CredentialSource(Protocol):
    """A source of an upstream's key; serves any number of requests at once."""

    async def get(self) -> Secret | None:
        """The key to send now; None for a server that needs none.

        Raises:
            CredentialError: It cannot be had.
        """
        ...

    async def refresh(self, refused: Secret) -> Secret | None:
        """Another key after `refused` got a 401; None if there is no other.

        Raises:
            CredentialError: It cannot be had.
        """
        ...


class FixedKey:
    """A fixed key.

    Args:
        key: The key, or None.
    """

    def __init__(self, key: Secret | None) -> None:
        self._key = key

    async def get(self) -> Secret | None:
        """The key."""
        return self._key

    async def refresh(self, refused: Secret) -> Secret | None:
        """There is no other."""
        return None
