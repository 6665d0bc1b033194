"""A number of tokens and where it comes from: the two never go separate ways; knows no way of counting."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["NO_TOKENS", "CountSource", "TokenCount"]


class CountSource(StrEnum):
    """Where a number of tokens comes from, the surest first."""

    REPORTED = "reported"
    """The upstream said it, of the very thing that is counted."""
    COUNTED = "counted"
    """A tokenizer of the model's vocabulary, or the upstream's own count, gave it."""
    ESTIMATED = "estimated"


@dataclass(frozen=True, slots=True)
class TokenCount:
    """A number of tokens.

    Attributes:
        tokens: How many; never negative, and without any margin.
        source: Where the number comes from; of a sum, the least sure of those of its terms.
    """

    tokens: int
    source: CountSource

    def __add__(self, other: TokenCount) -> TokenCount:
        return TokenCount(self.tokens + other.tokens, max(self.source, other.source, key=_SURENESS.index))


_SURENESS: Final = tuple(CountSource)

NO_TOKENS: Final = TokenCount(0, CountSource.REPORTED)
"""The sum of nothing: it makes no other number less sure."""
