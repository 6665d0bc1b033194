"""A number of tokens together with its source; knows no way of counting."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["NO_TOKENS", "CountSource", "TokenCount"]


class CountSource(StrEnum):
    """The source of a number of tokens, most certain first."""

    REPORTED = "reported"
    """The upstream reported the number for this very thing."""
    COUNTED = "counted"
    """A tokenizer of the model's vocabulary, or the upstream's counting endpoint, counted the tokens."""
    ESTIMATED = "estimated"
    """The number is an estimate."""


@dataclass(frozen=True, slots=True)
class TokenCount:
    """A number of tokens.

    Attributes:
        tokens: The number of tokens; never negative, and without a margin.
        source: The source of the number; for a sum, the least certain source of its terms.

    Example:
        >>> from partstream import CountSource, TokenCount
        >>> TokenCount(3, CountSource.ESTIMATED).tokens
        3
    """

    tokens: int
    source: CountSource

    def __add__(self, other: TokenCount) -> TokenCount:
        return TokenCount(self.tokens + other.tokens, max(self.source, other.source, key=_SURENESS.index))


_SURENESS: Final = tuple(CountSource)

NO_TOKENS: Final = TokenCount(0, CountSource.REPORTED)
"""The empty sum; adding it does not make another number less certain."""
