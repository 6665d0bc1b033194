"""Looks for conversations that break a promise: generates them, tries them, and makes each find as small as it gets.

Bounded by a number of examples and by seconds. A find is repeated at the end: one that does not break the promise each
time is reported as flaky, with how often it did.
"""

from __future__ import annotations

import importlib.util
import time
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final

from partstream.devtools.conformance.exercises import Exercised, Relation, perform, shrink
from partstream.errors import CallerError, to_install

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.devtools.conformance.checks import BrokenPromise
    from partstream.devtools.conformance.exercises import Exercise
    from partstream.devtools.conformance.targets import Tested

__all__ = ["Failure", "FuzzSettings", "Fuzzed", "fuzz", "minimal_failure"]

_BATCH: Final = 10
"""How many exercises are made up at once: one batch a seed."""
_NEEDED: Final = f"generating needs Hypothesis: {to_install('conformance')}"
_SEARCHING: Final = 0.6
"""The share of the time for finding; the rest is for making smaller."""


@dataclass(frozen=True, slots=True)
class FuzzSettings:
    """How long to look, and where.

    Attributes:
        seconds: The most seconds in all.
        examples: The most exercises; None for as many as the time allows.
        seed: The seed of what is generated.
        repetitions: How often the smallest exercise is repeated.
    """

    seconds: float = 30.0
    examples: int | None = 50
    seed: int = 0
    repetitions: int = 3

    def __post_init__(self) -> None:
        if not self.seconds > 0 or (self.examples is not None and self.examples < 1) or self.repetitions < 1:
            raise CallerError(f"fuzzing: got {self}, expected seconds, examples and repetitions above 0")


@dataclass(frozen=True, slots=True)
class Failure:
    """A broken promise with the smallest exercise that was found to break it.

    Attributes:
        promise: The id of the promise.
        exercise: The exercise.
        exercised: What it showed when it last broke the promise.
        size_before: How much the exercise that was found first had in it.
        failed: How many repetitions of the exercise broke the promise.
        repetitions: How often it was repeated.
    """

    promise: str
    exercise: Exercise
    exercised: Exercised
    size_before: int
    failed: int
    repetitions: int

    @property
    def finding(self) -> BrokenPromise:
        """What was found."""
        return self.exercised.broken[self.promise]

    @property
    def is_flaky(self) -> bool:
        """Whether some repetition kept the promise."""
        return self.failed < self.repetitions


@dataclass(slots=True)
class Fuzzed:
    """What a search has found.

    Attributes:
        settings: How long it looked, and where.
        tried: How many exercises it tried, without those that make a find smaller.
        failures: What it found, by promise.
        judged: The ids of the promises that some conversation said something about.
    """

    settings: FuzzSettings
    tried: int = 0
    failures: dict[str, Failure] = field(default_factory=dict)
    judged: set[str] = field(default_factory=set)


async def fuzz(tested: Tested, settings: FuzzSettings | None = None, other: Tested | None = None) -> Fuzzed:
    """Looks for broken promises of a target.

    Args:
        tested: The target.
        settings: How long to look, and where.
        other: The same target over another protocol, which has to bring the same parts.

    Raises:
        CallerError: Hypothesis is not installed.
    """
    chosen = settings or FuzzSettings()
    result = Fuzzed(chosen)
    found: dict[str, tuple[Exercise, Exercised]] = {}
    made = _generated(tested, chosen, has_other=other is not None)
    first = next(made)  # before the clock runs: this loads Hypothesis
    began = time.monotonic()
    for exercise in chain([first], made):
        if time.monotonic() - began > chosen.seconds * _SEARCHING:
            break
        result.tried += 1
        exercised = await perform(tested, exercise, other)
        result.judged |= exercised.judged
        for promise in exercised.broken:
            kept = found.get(promise)
            if kept is None or exercise.size < kept[0].size:
                found[promise] = (exercise, exercised)
    for number, (promise, (exercise, exercised)) in enumerate(found.items()):
        rest = chosen.seconds - (time.monotonic() - began)
        share = max(rest, 0.0) / (len(found) - number)
        result.failures[promise] = await minimal_failure(
            tested, promise, exercise, exercised, seconds=share, repetitions=chosen.repetitions, other=other
        )
    return result


async def minimal_failure(
    tested: Tested,
    promise: str,
    exercise: Exercise,
    exercised: Exercised,
    *,
    seconds: float,
    repetitions: int = 3,
    other: Tested | None = None,
) -> Failure:
    """Makes a find as small as the time allows, and repeats it.

    Args:
        tested: The target.
        promise: The promise that is broken.
        exercise: What breaks it.
        exercised: What that showed.
        seconds: The most seconds for making it smaller.
        repetitions: How often the smallest exercise is repeated.
        other: The same target over another protocol.
    """
    until = time.monotonic() + seconds
    last = exercised

    async def still_fails(candidate: Exercise) -> bool:
        nonlocal last
        shown = await perform(tested, candidate, other)
        if promise in shown.broken:
            last = shown
        return promise in shown.broken

    smallest = await shrink(exercise, still_fails, has_time=lambda: time.monotonic() < until)
    failed = 0
    for _ in range(repetitions):
        failed += await still_fails(smallest)
    return Failure(promise, smallest, last, exercise.size, failed, repetitions)


def check_can_generate() -> None:
    """Looks for what generating needs.

    Raises:
        CallerError: Hypothesis is not installed.
    """
    if importlib.util.find_spec("hypothesis") is None:
        raise CallerError(_NEEDED)


def _generated(tested: Tested, settings: FuzzSettings, *, has_other: bool) -> Iterator[Exercise]:
    try:
        from partstream.conformance.generated import exercises, generate  # noqa: PLC0415 - needs an extra
    except ImportError as error:
        raise CallerError(_NEEDED) from error
    from partstream.devtools.conformance.driving import Provocation  # noqa: PLC0415

    if tested.way is Provocation.PARSER:
        raise CallerError("a parser has no conversations to generate; the kit cuts its streams at every place anyway")
    is_sandwich = tested.session.upstream is not None
    relations = [Relation.NONE, Relation.AGAIN, *([Relation.CUT] * is_sandwich), *([Relation.OTHER] * has_other)]
    strategy = exercises(plays=tested.way is not Provocation.DIRECTED, faults=is_sandwich, relations=tuple(relations))
    left = settings.examples
    batch = 0
    while left is None or left > 0:
        count = _BATCH if left is None else min(left, _BATCH)
        yield from generate(strategy, count, settings.seed + batch)
        left = None if left is None else left - count
        batch += 1
