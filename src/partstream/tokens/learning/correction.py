"""The correction of estimates, as a value; knows no ledger and no report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["Correction"]

_NOTABLE: Final = 0.02
"""The smallest relative change of a factor that makes kept estimates wrong."""


@dataclass(frozen=True, slots=True)
class Correction:
    """The factors that correct estimates.

    Attributes:
        factor: The factor for the estimator's numbers.
        size_factor: The factor for bytes, if the upstream computes tokens from bytes; otherwise None.
        counted_factor: The factor for exact counts, if the upstream counts with another tokenizer; None if exact counts
            are right.
        is_learned: Whether the factors come from any samples.
    """

    factor: float = 1.0
    size_factor: float | None = None
    counted_factor: float | None = None
    is_learned: bool = False

    @property
    def corrects_counts(self) -> bool:
        """Whether exact counts are only estimates for this upstream."""
        return self.counted_factor is not None

    @property
    def learned_factor(self) -> float | None:
        """The factor for estimates that was learned from the upstream's own answers, or None."""
        return self.factor_of_texts if self.is_learned else None

    @property
    def factor_of_texts(self) -> float:
        """The factor for estimates that do not come from bytes."""
        return self.factor if self.counted_factor is None else self.counted_factor

    def is_far_from(self, other: Correction) -> bool:
        """Whether estimates with the other correction are no longer right."""
        if self.size_factor is not None or other.size_factor is not None:
            return _are_far(self.size_factor, other.size_factor)
        return _are_far(self.factor, other.factor) or _are_far(self.counted_factor, other.counted_factor)


def _are_far(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is not other
    return abs(one / other - 1) > _NOTABLE
