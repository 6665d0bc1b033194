"""Computes totals from reported and counted numbers, and the share of a new report for each item; pure functions.

A request is a beginning with a reported total, and the items after it: messages, and the tools if the report was for
other tools. The part of a new report that exceeds the known numbers belongs to the items without a report so far.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from partstream.tokens.families import NO_TOKENS, CountSource, TokenCount
from partstream.tokens.learning.sizes import BYTES_PER_TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from partstream.tokens.learning.correction import Correction
    from partstream.tokens.records import CountRow, Digest

__all__ = [
    "CountedItem",
    "Learned",
    "UnattributedTokens",
    "estimate_of",
    "learn",
    "residue_of",
    "sum_of",
    "with_transferred",
]

_LOWEST_SHARE: Final = 1 / 3
_HIGHEST_SHARE: Final = 3.0
"""The limits for the ratio of a report to the expectation for the new items. Outside them, the report has another
cause: history that the upstream cleared, or its own prompt before ours. It then holds for the whole, not for items."""

_LEAST_PART: Final = 0.05
"""The smallest share of the new items in the request; for less, the rounding errors of the other items are larger."""


class CountedItem(NamedTuple):
    """A message, a text or the tools of a request.

    Attributes:
        digest: The item's digest.
        row: The known numbers of the item in its scope.
        tokens: The best number.
        source: The source of `tokens`.
    """

    digest: Digest
    row: CountRow
    tokens: float
    source: CountSource

    @classmethod
    def of(cls, digest: Digest, row: CountRow, correction: Correction) -> CountedItem:
        """The item with the best number of its own scope: reported, else counted, else estimated and corrected."""
        source = CountSource.ESTIMATED if correction.corrects_counts else row.source
        if row.reported is not None:
            return cls(digest, row, row.reported, CountSource.REPORTED if row.is_alone else source)
        if source is CountSource.ESTIMATED:
            return cls(digest, row, estimate_of(row, correction), source)
        return cls(digest, row, row.counted, source)

    @property
    def is_reported(self) -> bool:
        """Whether a report of the item's own scope gives its number."""
        return self.row.reported is not None


def estimate_of(row: CountRow, correction: Correction) -> float:
    """The corrected estimate of a thing; also for a count by another tokenizer than the upstream's."""
    if correction.size_factor is not None and row.size is not None:
        return row.size / BYTES_PER_TOKEN * correction.size_factor
    return row.counted * correction.factor_of_texts


@dataclass(frozen=True, slots=True)
class UnattributedTokens:
    """The part of a report that exceeds the known numbers: it belongs to the new items, which have no report so far.

    Attributes:
        tokens: The tokens of the reported total that belong to the new items.
        counted: The new items' tokens by an exact counter.
        estimated: The new items' tokens by the estimator, uncorrected.
        by_size: The new items' tokens by their bytes; None unless all of them are text.
        is_large: Whether the new items are a large enough part of the request to learn from.
    """

    tokens: float
    counted: float
    estimated: float
    by_size: float | None
    is_large: bool

    @property
    def is_telling(self) -> bool:
        """Whether a factor for the estimator can be learned."""
        return self.is_large and self.tokens > self.counted and self.estimated >= self.counted / 4

    @property
    def of_estimated(self) -> float:
        """The reported tokens of the estimated items; counted items need no correction."""
        return self.tokens - self.counted


@dataclass(frozen=True, slots=True)
class Learned:
    """The result of a report.

    Attributes:
        rows: The row of each new item, with its share of the report.
    """

    rows: Mapping[Digest, CountRow]


def sum_of(base: TokenCount | None, items: Iterable[CountedItem]) -> TokenCount:
    """The total; its source is the least certain of all."""
    items, total = list(items), base or NO_TOKENS
    for source in {item.source for item in items}:
        total += TokenCount(0, source)
    return TokenCount(max(total.tokens + round(sum(item.tokens for item in items)), 0), total.source)


def with_transferred(
    items: Sequence[CountedItem], others: Sequence[CountRow | None], factor: float | None
) -> list[CountedItem]:
    """The items, with better estimates for those that only another family's upstream has reported.

    The error of an estimate depends mostly on the text: the same code and the same Chinese are hard for other
    tokenizers too. The factor of the other family is removed if that of the own family is known.

    Args:
        items: The items of one request.
        others: For each item, its row in another scope, or None.
        factor: The factor of the own family, or None if unknown.
    """
    usable = [_is_usable(item, other) for item, other in zip(items, others, strict=True)]
    counted = sum(other.counted for other, use in zip(others, usable, strict=True) if use and other)
    reported = sum(other.reported or 0 for other, use in zip(others, usable, strict=True) if use and other)
    if counted <= 0 or reported <= 0:
        return list(items)
    scale = 1.0 if factor is None else factor * counted / reported
    return [
        item._replace(tokens=item.row.counted * scale * other.reported / other.counted)
        if use and other and other.reported is not None
        else item
        for item, other, use in zip(items, others, usable, strict=True)
    ]


def _is_usable(item: CountedItem, other: CountRow | None) -> bool:
    if item.is_reported or item.source is not CountSource.ESTIMATED or other is None:
        return False
    return other.reported is not None and other.reported > 0 and other.counted > 0


def residue_of(base: float, items: Iterable[CountedItem], reported: float) -> UnattributedTokens:
    """The residue of a reported total.

    Args:
        base: The total of the known beginning; 0 without one.
        items: The items after the known beginning.
        reported: The newly reported total.
    """
    items = list(items)
    new = [item for item in items if not item.is_reported]
    known = sum(item.tokens for item in items if item.is_reported)
    expected = sum(item.tokens for item in new)
    left = reported - base - known
    estimated = sum(item.row.counted for item in new if item.row.source is CountSource.ESTIMATED)
    counted = sum(item.row.counted for item in new if item.row.source is not CountSource.ESTIMATED)
    sizes = [item.row.size for item in new if item.row.size is not None]
    by_size = sum(sizes) / BYTES_PER_TOKEN if len(sizes) == len(new) else None
    return UnattributedTokens(left, counted, estimated, by_size, left > 0 and expected >= _LEAST_PART * known)


def learn(items: Iterable[CountedItem], residue: UnattributedTokens) -> Learned:
    """Divides the residue among the new items, in proportion to their expected tokens."""
    new = [item for item in items if not item.is_reported]
    expected = sum(item.tokens for item in new)
    if expected <= 0 or not _LOWEST_SHARE <= residue.tokens / expected <= _HIGHEST_SHARE:
        return Learned({})
    share = residue.tokens / expected
    is_alone = len(new) == 1
    rows = {item.digest: replace(item.row, reported=item.tokens * share, is_alone=is_alone) for item in new}
    return Learned(rows)
