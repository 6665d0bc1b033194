"""Token counts, each with its source."""

import partstream.codec.system  # noqa: F401 - for its effect
from partstream.tokens.counting.counters import Counter, Counters
from partstream.tokens.counting.estimator import estimate_text, estimate_tokens
from partstream.tokens.counting.message_counter import MessageCounter
from partstream.tokens.families import NO_TOKENS, CountSource, TokenCount, Vocabulary, vocabulary_of

__all__ = [
    "NO_TOKENS",
    "CountSource",
    "Counter",
    "Counters",
    "MessageCounter",
    "TokenCount",
    "Vocabulary",
    "estimate_text",
    "estimate_tokens",
    "vocabulary_of",
]
