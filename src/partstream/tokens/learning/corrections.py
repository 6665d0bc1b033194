"""The corrections of estimates, by family and upstream: keeps samples in the ledger and computes factors from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.tokens.learning.correction import Correction
from partstream.tokens.records import are_much_closer, are_off, factor_of, sample_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.tokens.learning.shares import UnattributedTokens
    from partstream.tokens.ledger import Ledger
    from partstream.tokens.records import Sample

__all__ = ["Corrections"]

_ENOUGH: Final = 3
"""The number of answers that it takes to prefer bytes to exact counts."""


class Corrections:
    """The corrections of the models of one upstream.

    The factor belongs to the family at all upstreams, because it depends on the tokenizer. Whether an upstream computes
    tokens from bytes, and whether exact counts are right, belongs to the scope (an upstream and a family), because it
    depends on the server. For a family with a known tokenizer, the server's treatment of other families is assumed
    until the family itself has answered.

    Args:
        ledger: Keeps the samples.
        upstream: The identity of the upstream.
    """

    def __init__(self, ledger: Ledger, upstream: str) -> None:
        self._ledger = ledger
        self._upstream = upstream
        self._known: dict[tuple[str, str], tuple[tuple[Sequence[Sample], ...], Correction]] = {}
        self._announced: dict[tuple[str, str], Correction] = {}

    def of(self, family: str, scope: str, *, is_exact: bool = False) -> Correction:
        """The current correction.

        Args:
            family: The model family.
            scope: The family at this upstream.
            is_exact: Whether a tokenizer counts the text of the family.
        """
        of_family, own = self._ledger.samples(family), self._samples_of(scope)
        of_others = self._samples_of(self._upstream) if is_exact and not own[0] else own
        samples = (of_family, *own, *of_others)
        known = self._known.get((family, scope))
        # Read with every text, and changed only by answers.
        if known is None or any(one is not other for one, other in zip(known[0], samples, strict=True)):
            is_learned = bool(own[0] if is_exact else of_family)
            correction = _correction(of_family, *of_others, is_exact=is_exact, is_learned=is_learned)
            known = self._known[family, scope] = (samples, correction)
            self._announced.setdefault((family, scope), correction)
        return known[1]

    def families(self, family: str, scope: str) -> tuple[str, ...]:
        """The owners of all samples that a correction is made of."""
        return (family, *_keys(scope), *_keys(self._upstream))

    def learn(self, family: str, scope: str, residue: UnattributedTokens) -> None:
        """Learns from an answer, and notifies all who share the ledger."""
        is_exact = residue.counted > 0
        self.of(family, scope, is_exact=is_exact)  # kept estimates were made with the correction before this answer
        if residue.is_telling:
            self._keep(family, residue.estimated, residue.of_estimated)
        if residue.by_size is not None:
            for owner in (scope, self._upstream) if is_exact else (scope,):
                of_texts, of_bytes = _keys(owner)
                self._keep(of_texts, residue.counted + residue.estimated, residue.tokens)
                self._keep(of_bytes, residue.by_size, residue.tokens)
        self._ledger.did_learn.fire(family)

    def have_moved(self, family: str, scope: str, *, is_exact: bool = False) -> bool:
        """Whether kept estimates are no longer right; true once for each such change.

        Compares with the correction of the last such change, so that many small steps add up.
        """
        now = self.of(family, scope, is_exact=is_exact)
        is_far = now.is_far_from(self._announced[family, scope])
        if is_far:
            self._announced[family, scope] = now
        return is_far

    def _samples_of(self, owner: str) -> tuple[Sequence[Sample], Sequence[Sample]]:
        of_texts, of_bytes = (self._ledger.samples(key) for key in _keys(owner))
        return of_texts, of_bytes

    def _keep(self, key: str, estimated: float, reported: float) -> None:
        if (sample := sample_of(estimated, reported)) is not None:
            self._ledger.keep_sample(key, sample)


def _keys(owner: str) -> tuple[str, str]:
    return f"{owner} estimates", f"{owner} bytes"


def _correction(
    of_family: Sequence[Sample],
    of_texts: Sequence[Sample],
    of_bytes: Sequence[Sample],
    *,
    is_exact: bool,
    is_learned: bool,
) -> Correction:
    size_factor = counted_factor = None
    # A tokenizer's counts are right until the upstream has reported other numbers more than once.
    if are_much_closer(of_bytes, of_texts) and (len(of_texts) >= _ENOUGH or not is_exact):
        size_factor = factor_of(of_bytes)
    if is_exact and (size_factor is not None or are_off(of_texts)):
        counted_factor = factor_of(of_texts)
    return Correction(factor_of(of_family), size_factor, counted_factor, is_learned)
