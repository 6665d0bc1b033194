"""What estimates have to be multiplied with, by model family: learned from what upstreams report, as pure functions.

A sample is the ratio of a reported number to the *uncorrected* estimate of the same text. So the factor never works on
itself: a ratio against corrected estimates would converge to the square root of the truth. Knows no file and no clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "HIGHEST_FACTOR",
    "LOWEST_FACTOR",
    "MINIMUM_TOKENS",
    "WINDOW",
    "Sample",
    "are_much_closer",
    "are_off",
    "factor_of",
    "sample_of",
]

LOWEST_FACTOR: Final = 0.5
HIGHEST_FACTOR: Final = 3.0
"""What lies outside is no matter of vocabularies: something was sent that was not counted, or the other way round."""

MINIMUM_TOKENS: Final = 100
"""Of less nothing is learned: rounding and framing would be most of it."""

WINDOW: Final = 12
"""How many samples count, the newest; a model that changes behind its name is learned anew within seven answers."""

_MOST_WEIGHT: Final = 2_000
"""So that one long prompt does not outweigh ten answers after it."""

_PRIOR_WEIGHT: Final = 200
"""How much it takes to be believed alone, when nothing else is known."""

_FADING: Final = 0.9
"""What a sample weighs of the one after it."""

_CLOSE: Final = 0.015
"""How far ratios may scatter of a way of estimating that is preferred: the rounding of short texts, and no more."""

_FEW: Final = 3
"""As long as there are fewer samples, agreeing with each other says little."""

_AGREEING: Final = 4
_FEWEST_AGREEING: Final = 2
_OFF: Final = 0.08
"""How many reports have to agree that exact counts are none, and how far they are from these; what stands around a
message is a few per cent of it."""

_SPREAD: Final = 1.25
"""How far a sample may lie from the middle of them all; one that lies farther counts as if it lay there."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What one answer said of the estimate of its request.

    Attributes:
        ratio: Reported tokens for each token of the uncorrected estimate; within the limits of a factor.
        weight: How much it counts, at least :data:`MINIMUM_TOKENS`.
    """

    ratio: float
    weight: float


def sample_of(estimated: float, reported: float) -> Sample | None:
    """What an answer says, or None where too little was estimated to say anything.

    Args:
        estimated: The uncorrected estimate, in tokens.
        reported: What the upstream reported of the same text.
    """
    if estimated < MINIMUM_TOKENS or reported <= 0:
        return None
    return Sample(_clamped(reported / estimated), min(estimated, _MOST_WEIGHT))


def factor_of(samples: Sequence[Sample]) -> float:
    """What to multiply uncorrected estimates with; 1 when nothing is known.

    The weighted mean of the newest samples, each no farther from their middle than a quarter: one odd request moves
    it by a few per cent, and samples that agree give what they say.

    Args:
        samples: The oldest first.
    """
    newest = samples[-WINDOW:]
    if not newest:
        return 1.0
    middle = _middle([*newest, Sample(1.0, _PRIOR_WEIGHT)])
    total = weights = 0.0
    for age, sample in enumerate(reversed(newest)):
        weight = sample.weight * _FADING**age
        total += weight * min(max(sample.ratio, middle / _SPREAD), middle * _SPREAD)
        weights += weight
    return _clamped(total / weights)


def are_much_closer(samples: Sequence[Sample], others: Sequence[Sample]) -> bool:
    """Whether one way of estimating agrees with what was reported far better than another, of the same answers.

    Each is judged by how far its ratios lie from each other; while they are few, also by how far they lie from 1.
    """
    scatter = _scatter(samples)
    return bool(samples) and scatter < _CLOSE and scatter < _scatter(others) / 2


def are_off(samples: Sequence[Sample]) -> bool:
    """Whether exact counts are not what the upstream counts: the newest reports are all higher, or all lower.

    One report is not believed: a prompt of the upstream's own before the conversation would be in it.
    """
    newest = [math.log(sample.ratio) for sample in samples[-_AGREEING:]]
    return len(newest) >= _FEWEST_AGREEING and (min(newest) > _OFF or max(newest) < -_OFF)


def _scatter(samples: Sequence[Sample]) -> float:
    """How far ratios typically lie from their mean, as a part of it."""
    weighted = [(math.log(sample.ratio), sample.weight) for sample in samples[-WINDOW:]]
    if len(weighted) < _FEW:
        weighted.append((0.0, _MOST_WEIGHT / 2))
    weights = sum(weight for _, weight in weighted)
    mean = sum(ratio * weight for ratio, weight in weighted) / weights
    return math.sqrt(sum(weight * (ratio - mean) ** 2 for ratio, weight in weighted) / weights)


def _middle(samples: Sequence[Sample]) -> float:
    """The weighted median."""
    half = sum(sample.weight for sample in samples) / 2
    passed = 0.0
    for sample in sorted(samples, key=lambda sample: sample.ratio):
        passed += sample.weight
        if passed >= half:
            return sample.ratio
    return 1.0  # of no samples at all


def _clamped(ratio: float) -> float:
    return min(max(ratio, LOWEST_FACTOR), HIGHEST_FACTOR)
