"""Token counts, each with its source."""

import partstream.codec.silent_log  # noqa: F401 - for its effect
from partstream.tokens.counting import Counter, Counters, MessageCounter, estimate_text, estimate_tokens
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
