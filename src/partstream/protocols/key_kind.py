"""What kind of key goes with a request: some protocols say it in a header of their own."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["KeyKind"]


class KeyKind(StrEnum):
    """Who made the key."""

    API_KEY = "api-key"
    """The upstream, for a person or a program."""
    OIDC = "oidc"
    """A provider of identities: a token of OpenID Connect, which ends by itself."""
