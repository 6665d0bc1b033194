"""Totals out of what was reported and what was counted, and what a new report says of each thing in it; pure functions.

A request is a beginning whose total was reported, and items behind it: messages, and the tools where the report was of
others. What a report says beyond what is known belongs to the items of which nothing was reported yet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from partstream.tokens.counting.count import NO_TOKENS, CountSource, TokenCount
from partstream.tokens.learning.sizes import BYTES_PER_TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from partstream.tokens.learning.correction import Correction
    from partstream.tokens.ledger.digests import Digest
    from partstream.tokens.ledger.rows import CountRow

__all__ = ["Item", "Learned", "Residue", "estimate_of", "learn", "residue_of", "sum_of", "with_transferred"]

_LOWEST_SHARE: Final = 1 / 3
_HIGHEST_SHARE: Final = 3.0
"""A report that is farther than this from what was expected of the items that are new tells of something else: history
that the upstream cleared, or a prompt of its own before ours. It holds for the whole, and says nothing of the items."""

_LEAST_PART: Final = 0.05
"""New items that are less of what stands behind the known beginning are drowned by the rounding of the others."""


class Item(NamedTuple):
    """A message, a text or the tools of a request.

    Attributes:
        digest: Its digest.
        row: What is known of it in its scope.
        tokens: The best number for it.
        source: Where `tokens` comes from.
    """

    digest: Digest
    row: CountRow
    tokens: float
    source: CountSource

    @classmethod
    def of(cls, digest: Digest, row: CountRow, correction: Correction) -> Item:
        """The item with the best number of its own scope: reported, else counted, else estimated and corrected."""
        source = CountSource.ESTIMATED if correction.corrects_counts else row.source
        if row.reported is not None:
            return cls(digest, row, row.reported, CountSource.REPORTED if row.is_alone else source)
        if source is CountSource.ESTIMATED:
            return cls(digest, row, estimate_of(row, correction), source)
        return cls(digest, row, row.counted, source)

    @property
    def is_reported(self) -> bool:
        """Whether a report of its own scope says it."""
        return self.row.reported is not None


def estimate_of(row: CountRow, correction: Correction) -> float:
    """The corrected estimate of a thing; also of what a tokenizer counted that the upstream does not count with."""
    if correction.size_factor is not None and row.size is not None:
        return row.size / BYTES_PER_TOKEN * correction.size_factor
    return row.counted * correction.factor_of_texts


@dataclass(frozen=True, slots=True)
class Residue:
    """What a report says beyond what is known.

    Attributes:
        tokens: What is left of the reported total for the items of which nothing was reported.
        counted: What an exact counter says of them.
        estimated: What an estimator says of them, uncorrected.
        by_size: What the bytes of all of them say; None where they are not all text.
        is_large: Whether it is enough of the request to say anything.
    """

    tokens: float
    counted: float
    estimated: float
    by_size: float | None
    is_large: bool

    @property
    def is_telling(self) -> bool:
        """Whether a factor of the estimator can be learned from it."""
        return self.is_large and self.tokens > self.counted and self.estimated >= self.counted / 4

    @property
    def of_estimated(self) -> float:
        """What was reported for the estimated items: counted numbers need no correction."""
        return self.tokens - self.counted


@dataclass(frozen=True, slots=True)
class Learned:
    """What a report says of each item: its row, with the share of the report that it is."""

    rows: Mapping[Digest, CountRow]


def sum_of(base: TokenCount | None, items: Iterable[Item]) -> TokenCount:
    """The total; its source is the least sure of all."""
    items, total = list(items), base or NO_TOKENS
    for source in {item.source for item in items}:
        total += TokenCount(0, source)
    return TokenCount(max(total.tokens + round(sum(item.tokens for item in items)), 0), total.source)


def with_transferred(items: Sequence[Item], others: Sequence[CountRow | None], factor: float | None) -> list[Item]:
    """The items, those of which only another family's upstream reported something with a better estimate.

    How far a text lies from its estimate is mostly the text's doing: another tokenizer finds the same code and the
    same Chinese hard. What belongs to the other family, its factor, is taken out where the own one is known.

    Args:
        items: The items of one request.
        others: For each, what is known of it in another scope, or None.
        factor: The factor of the own family, or None while there is none.
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


def _is_usable(item: Item, other: CountRow | None) -> bool:
    if item.is_reported or item.source is not CountSource.ESTIMATED or other is None:
        return False
    return other.reported is not None and other.reported > 0 and other.counted > 0


def residue_of(base: float, items: Iterable[Item], reported: float) -> Residue:
    """What a reported total leaves for the items of which nothing was reported.

    Args:
        base: The total of the known beginning; 0 where none is.
        items: What stands behind it.
        reported: The total that was reported now.
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
    return Residue(left, counted, estimated, by_size, left > 0 and expected >= _LEAST_PART * known)


def learn(items: Iterable[Item], residue: Residue) -> Learned:
    """Gives each item of which nothing was reported its share of what is left, in proportion to what was expected."""
    new = [item for item in items if not item.is_reported]
    expected = sum(item.tokens for item in new)
    if expected <= 0 or not _LOWEST_SHARE <= residue.tokens / expected <= _HIGHEST_SHARE:
        return Learned({})
    share = residue.tokens / expected
    is_alone = len(new) == 1
    rows = {item.digest: replace(item.row, reported=item.tokens * share, is_alone=is_alone) for item in new}
    return Learned(rows)
