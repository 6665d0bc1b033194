"""How estimates are corrected, by family and upstream: keeps samples in the ledger and works out what they say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from partstream.tokens.calibration import are_much_closer, factor_of, sample_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.tokens.calibration import Sample
    from partstream.tokens.hybrid import Residue
    from partstream.tokens.ledger import Ledger

__all__ = ["Correction", "Corrections"]

_NOTABLE: Final = 0.02
"""A change of a factor that is worth counting everything anew."""


@dataclass(frozen=True, slots=True)
class Correction:
    """How an estimate becomes the best one.

    Attributes:
        factor: For the tokenizer's estimate.
        size_factor: For the bytes, where the upstream goes by these; None for all others.
        is_learned: Whether anything of the family is known.
    """

    factor: float = 1.0
    size_factor: float | None = None
    is_learned: bool = False

    def is_far_from(self, other: Correction) -> bool:
        """Whether estimates that somebody keeps are not right any more."""
        if self.size_factor is None or other.size_factor is None:
            return self.size_factor is not other.size_factor or abs(self.factor / other.factor - 1) > _NOTABLE
        return abs(self.size_factor / other.size_factor - 1) > _NOTABLE


class Corrections:
    """The corrections of the models of one upstream.

    The factor belongs to the family, wherever it is served: that is the tokenizer. Whether bytes are what is counted
    belongs to the scope, an upstream and a family: that is the server.

    Args:
        ledger: Where samples are kept.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._known: dict[tuple[str, str], tuple[tuple[Sequence[Sample], ...], Correction]] = {}
        self._announced: dict[tuple[str, str], Correction] = {}

    def of(self, family: str, scope: str) -> Correction:
        """The correction as it is now."""
        of_estimates, of_bytes = _keys(scope)
        samples = tuple(self._ledger.samples(key) for key in (family, of_estimates, of_bytes))
        known = self._known.get((family, scope))
        # Asked for with every text, and changed by answers only.
        if known is None or any(one is not other for one, other in zip(known[0], samples, strict=True)):
            known = self._known[family, scope] = (samples, _correction(*samples))
            self._announced.setdefault((family, scope), known[1])
        return known[1]

    def learn(self, family: str, scope: str, residue: Residue) -> None:
        """Takes in what an answer said, and tells all who share the ledger."""
        self.of(family, scope)  # what is kept was asked for before this answer
        of_estimates, of_bytes = _keys(scope)
        self._keep(family, residue.estimated, residue.of_estimated)
        if residue.by_size is not None:
            self._keep(of_estimates, residue.estimated, residue.of_estimated)
            self._keep(of_bytes, residue.by_size, residue.of_estimated)
        self._ledger.did_learn.fire(family)

    def have_moved(self, family: str, scope: str) -> bool:
        """Whether estimates that somebody keeps are not right any more; said once of each such change.

        They are held against what was said to be right the last time, so that many small steps add up.
        """
        now = self.of(family, scope)
        is_far = now.is_far_from(self._announced[family, scope])
        if is_far:
            self._announced[family, scope] = now
        return is_far

    def _keep(self, key: str, estimated: float, reported: float) -> None:
        if (sample := sample_of(estimated, reported)) is not None:
            self._ledger.keep_sample(key, sample)


def _keys(scope: str) -> tuple[str, str]:
    return f"{scope} estimates", f"{scope} bytes"


def _correction(of_family: Sequence[Sample], of_estimates: Sequence[Sample], of_bytes: Sequence[Sample]) -> Correction:
    size_factor = factor_of(of_bytes) if are_much_closer(of_bytes, of_estimates) else None
    return Correction(factor_of(of_family), size_factor, bool(of_family))
