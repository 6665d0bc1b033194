"""Learns the factors that multiply estimates, by model family, from upstreams' reports; pure functions.

A sample is the ratio of a reported number to the *uncorrected* estimate of the same text. The factor therefore never
affects its own samples: a ratio to corrected estimates would converge to the square root of the truth. Knows no file
and no clock.
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
"""The limits of a factor. A ratio outside them has another cause than the vocabulary: something was sent and not
counted, or counted and not sent."""

MINIMUM_TOKENS: Final = 100
"""The fewest tokens to learn from; fewer would consist mostly of rounding and framing."""

WINDOW: Final = 12
"""The number of newest samples that count; if a model changes under its name, seven answers teach the new factor."""

_MOST_WEIGHT: Final = 2_000
"""The largest weight of a sample, so that one long prompt does not outweigh the ten answers after it."""

_PRIOR_WEIGHT: Final = 200
"""The weight of the assumed ratio 1, against which the first samples have to prevail."""

_FADING: Final = 0.9
"""The weight of a sample relative to the next newer one."""

_CLOSE: Final = 0.015
"""The largest scatter of ratios for a preferred way of estimating: the rounding of short texts."""

_FEW: Final = 3
"""The number of samples below which their agreement means little."""

_AGREEING: Final = 4
_FEWEST_AGREEING: Final = 2
_OFF: Final = 0.08
"""The number of newest reports that have to agree that exact counts are wrong, the fewest that suffice, and their least
distance (logarithm of the ratio); the overhead around a message is a few per cent of it."""

_SPREAD: Final = 1.25
"""The largest ratio of a sample to the median; a sample beyond it counts as if it lay there."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The accuracy of one request's estimate, according to its answer.

    Attributes:
        ratio: The reported tokens per token of the uncorrected estimate, within the limits of a factor.
        weight: The weight of the sample, at least :data:`MINIMUM_TOKENS`.
    """

    ratio: float
    weight: float


def sample_of(estimated: float, reported: float) -> Sample | None:
    """The sample of an answer, or None if the estimate is too small to learn from.

    Args:
        estimated: The uncorrected estimate, in tokens.
        reported: The upstream's number for the same text, in tokens.
    """
    if estimated < MINIMUM_TOKENS or reported <= 0:
        return None
    return Sample(_clamped(reported / estimated), min(estimated, _MOST_WEIGHT))


def factor_of(samples: Sequence[Sample]) -> float:
    """The factor that multiplies uncorrected estimates; 1 without samples.

    It is the weighted mean of the newest samples, each limited to a quarter from their median: one odd request moves
    the factor by a few per cent, and samples that agree give their common value.

    Args:
        samples: The samples, oldest first.
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
    """Whether one way of estimating agrees with the reports far better than another, for the same answers.

    Each way is judged by the scatter of its ratios; while there are few, also by their distance from 1.
    """
    scatter = _scatter(samples)
    return bool(samples) and scatter < _CLOSE and scatter < _scatter(others) / 2


def are_off(samples: Sequence[Sample]) -> bool:
    """Whether exact counts differ from the upstream's: the newest reports are all higher, or all lower.

    One report is not enough: it would include the upstream's own prompt before the conversation.
    """
    newest = [math.log(sample.ratio) for sample in samples[-_AGREEING:]]
    return len(newest) >= _FEWEST_AGREEING and (min(newest) > _OFF or max(newest) < -_OFF)


def _scatter(samples: Sequence[Sample]) -> float:
    """The relative standard deviation of the ratios."""
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
    return 1.0  # without samples


def _clamped(ratio: float) -> float:
    return min(max(ratio, LOWEST_FACTOR), HIGHEST_FACTOR)
