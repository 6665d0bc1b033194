"""Token counts, each of which says where it comes from."""

from partstream.tokens.count import NO_TOKENS, CountSource, TokenCount
from partstream.tokens.estimator import CHARACTERS_PER_TOKEN, characters_of, estimate_tokens

__all__ = [
    "CHARACTERS_PER_TOKEN",
    "NO_TOKENS",
    "CountSource",
    "TokenCount",
    "characters_of",
    "estimate_tokens",
]
