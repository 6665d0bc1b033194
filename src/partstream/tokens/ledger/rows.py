"""What the ledger remembers, as values: numbers and digests, never a text, a key or an address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from partstream.tokens.counting.count import CountSource
    from partstream.tokens.ledger.digests import Digest

__all__ = ["CountRow", "LimitRow", "TotalRow", "UsageRow"]


@dataclass(frozen=True, slots=True)
class CountRow:
    """What is known of one message, one text or the tools of a request, in one scope.

    Attributes:
        version: How `counted` was counted; a count of another version is counted anew.
        counted: Tokens by a counter, uncorrected.
        source: Where `counted` comes from.
        reported: Tokens as a difference of two reported totals, or its share of one; None before any report.
        is_alone: Whether the difference held nothing else, so that `reported` was said of this very thing.
        size: Bytes of text, where that is all there is to it; else None.
    """

    version: str
    counted: float
    source: CountSource
    reported: float | None = None
    is_alone: bool = False
    size: int | None = None


@dataclass(frozen=True, slots=True)
class TotalRow:
    """What an upstream reported of a whole request: of a beginning of a conversation, with tools.

    Attributes:
        tools: The digest of the tools.
        tools_tokens: How much of `reported` the tools take, as far as is known.
        reported: Tokens.
    """

    tools: Digest
    tools_tokens: float
    reported: int


@dataclass(frozen=True, slots=True)
class LimitRow:
    """The most input tokens that a model takes, as its upstream said.

    Attributes:
        tokens: The limit.
        learned: When that was, in seconds since 1970.
    """

    tokens: int
    learned: float


@dataclass(frozen=True, slots=True)
class UsageRow:
    """The usage of one answer; None is unknown.

    Attributes:
        time: When it ended, in seconds since 1970.
        model: The model, by its id.
        upstream: A digest of the upstream.
        conversation: A digest of the conversation's id, or None where the host gave none.
        input_tokens: All tokens of the prompt.
        output_tokens: All tokens of the answer.
        cached_tokens: Those of the prompt that were read from a cache.
        reasoning_tokens: Those of the answer that were spent on reasoning.
        cost: In US dollars.
    """

    time: float
    model: str
    upstream: str
    conversation: str | None
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    cost: float | None
