"""Token counts, each of which says where it comes from."""

from partstream.tokens.counting.count import NO_TOKENS, CountSource, TokenCount
from partstream.tokens.counting.counters import Counter, Counters
from partstream.tokens.counting.estimator import CHARACTERS_PER_TOKEN, characters_of, estimate_text, estimate_tokens
from partstream.tokens.counting.message_counter import MessageCounter
from partstream.tokens.counting.vocabularies import Vocabulary, vocabulary_of
from partstream.tokens.upstream_count import UpstreamCounter

__all__ = [
    "CHARACTERS_PER_TOKEN",
    "NO_TOKENS",
    "CountSource",
    "Counter",
    "Counters",
    "MessageCounter",
    "TokenCount",
    "UpstreamCounter",
    "Vocabulary",
    "characters_of",
    "estimate_text",
    "estimate_tokens",
    "vocabulary_of",
]
