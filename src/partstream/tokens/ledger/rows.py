"""The rows of the ledger, as values: numbers and digests, never a text, a key or an address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.tokens.families import CountSource
    from partstream.tokens.ledger.calibration import Sample
    from partstream.tokens.ledger.digests import Digest

__all__ = ["AnswerRow", "CountRow", "FoundRows", "LimitRow", "TotalRow", "UsageRow", "WantedRows"]


@dataclass(frozen=True, slots=True)
class CountRow:
    """The numbers of one message, one text or the tools of a request, in one scope.

    Attributes:
        version: The way in which `counted` was counted; a count of another version is repeated.
        counted: The tokens by a counter, uncorrected.
        source: The source of `counted`.
        reported: The tokens by a difference of two reported totals, or a share of it; None before any report.
        is_alone: Whether the difference covers only this thing, so that `reported` is exact.
        size: The bytes of text, if the thing is only text; otherwise None.
    """

    version: str
    counted: float
    source: CountSource
    reported: float | None = None
    is_alone: bool = False
    size: int | None = None


@dataclass(frozen=True, slots=True)
class TotalRow:
    """The total that an upstream reported for a whole request: for a beginning of a conversation, with tools.

    Attributes:
        tools: The digest of the tools.
        tools_tokens: The estimated part of the tools in `reported`.
        reported: The reported tokens.
    """

    tools: Digest
    tools_tokens: float
    reported: int


@dataclass(frozen=True, slots=True)
class LimitRow:
    """The input limit that an upstream reported for a model.

    Attributes:
        tokens: The limit.
        learned: The time of the report, in seconds since 1970.
    """

    tokens: int
    learned: float


@dataclass(frozen=True, slots=True)
class UsageRow:
    """The usage of one answer; an unknown number is None.

    Attributes:
        time: The end of the answer, in seconds since 1970.
        model: The model's id.
        upstream: A digest of the upstream.
        conversation: A digest of the conversation's id, or None if the host gave none.
        input_tokens: All tokens of the prompt.
        output_tokens: All tokens of the answer.
        cached_tokens: The prompt tokens that were read from a cache.
        reasoning_tokens: The answer tokens that were spent on reasoning.
        cost: The cost in US dollars.
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


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """An answer that this machine served: its tokens, and who asked; an unknown value is None or "".

    Attributes:
        usage: The tokens, the model and the time; without an upstream and a conversation.
        client: The name of the client.
        session: The client's own id of the conversation.
        kind: What the answer was for: `turn`, or `title`.
        retry: How many times the client had sent the request before.
        is_kept: Whether the tokens stand in the ledger a second time, as the usage of an upstream.
    """

    usage: UsageRow
    client: str
    session: str | None
    kind: str
    retry: int
    is_kept: bool


@dataclass(frozen=True, slots=True)
class WantedRows:
    """Rows that are about to be needed.

    Attributes:
        counts: The digests of messages, texts or tools whose counts are needed.
        totals: The digests of beginnings of conversations whose reported totals are needed.
        families: The families, or other owners of samples, whose samples are needed.
    """

    counts: Sequence[Digest] = ()
    totals: Sequence[Digest] = ()
    families: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class FoundRows:
    """The rows that the file has of those that were wanted.

    Attributes:
        counts: The counts, by digest and scope.
        totals: The totals, by digest and scope; a row for each set of tools.
        samples: The newest samples by family, the oldest of them first.
    """

    counts: Mapping[Digest, Mapping[str, CountRow]]
    totals: Mapping[Digest, Mapping[str, tuple[TotalRow, ...]]]
    samples: Mapping[str, Sequence[Sample]]
