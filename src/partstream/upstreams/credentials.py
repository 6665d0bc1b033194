"""What a key is to the gateway: something that is asked for before each request, and once more when it was refused.

Knows no place where keys are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from partstream.errors import LanguageModelError, LanguageModelErrorCode

if TYPE_CHECKING:
    from partstream.upstreams.secret import Secret

__all__ = ["CredentialError", "CredentialSource", "FixedKey"]


class CredentialError(LanguageModelError):
    """The key could not be had from where it is kept; the message holds nothing of what is kept there.

    Attributes:
        source: Where it should have come from.
        expected: What would help.
    """

    def __init__(self, source: str, got: str, expected: str) -> None:
        super().__init__(f"no key from {source}: got {got}, expected {expected}", LanguageModelErrorCode.NO_PERMISSIONS)
        self.source = source
        self.expected = expected


class CredentialSource(Protocol):
    """Where the key of an upstream comes from; serves any number of requests at once."""

    async def get(self) -> Secret | None:
        """The key to send now, or None for a server that wants none.

        Raises:
            CredentialError: It cannot be had.
        """
        ...

    async def refresh(self, refused: Secret) -> Secret | None:
        """Another key after `refused` was answered with 401; None when there is no other.

        Raises:
            CredentialError: It cannot be had.
        """
        ...


class FixedKey:
    """A key that stays as it is.

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
