"""How an estimate becomes the best one, as a value; knows no ledger and no report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["Correction"]

_NOTABLE: Final = 0.02
"""A change of a factor that is worth counting everything anew."""


@dataclass(frozen=True, slots=True)
class Correction:
    """How an estimate becomes the best one.

    Attributes:
        factor: For the tokenizer's estimate.
        size_factor: For the bytes, where the upstream goes by these; None for all others.
        counted_factor: For what a tokenizer counted exactly, where the upstream counts with another one; None where
            exact counts are right.
        is_learned: Whether anything of the family is known.
    """

    factor: float = 1.0
    size_factor: float | None = None
    counted_factor: float | None = None
    is_learned: bool = False

    @property
    def corrects_counts(self) -> bool:
        """Whether exact counts are none for this upstream, but estimates like all others."""
        return self.counted_factor is not None

    @property
    def learned_factor(self) -> float | None:
        """What the upstream's own answers say that estimates are multiplied with; None where they said nothing."""
        return self.factor_of_texts if self.is_learned else None

    @property
    def factor_of_texts(self) -> float:
        """What estimates are multiplied with where bytes say nothing."""
        return self.factor if self.counted_factor is None else self.counted_factor

    def is_far_from(self, other: Correction) -> bool:
        """Whether estimates that somebody keeps are not right any more."""
        if self.size_factor is not None or other.size_factor is not None:
            return _are_far(self.size_factor, other.size_factor)
        return _are_far(self.factor, other.factor) or _are_far(self.counted_factor, other.counted_factor)


def _are_far(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is not other
    return abs(one / other - 1) > _NOTABLE
