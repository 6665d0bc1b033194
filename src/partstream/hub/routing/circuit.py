"""The circuit of an upstream: it is left alone for a while once it fails, then tried with one request.

No clock: whoever asks gives the time, in seconds of any clock that only goes forward.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["Attempt", "Circuit", "CircuitRules", "CircuitState"]


class CircuitState(StrEnum):
    """Whether an upstream is asked."""

    CLOSED = "closed"
    """It is asked."""
    OPEN = "open"
    """It is left alone."""
    HALF_OPEN = "half open"
    """One request finds out whether it answers again."""


@dataclass(frozen=True, slots=True)
class CircuitRules:
    """When a circuit opens, and for how long.

    Attributes:
        failures: The failures in a row that open it: requests that got no part, or answers that broke off.
        first_pause: The seconds for which it opens the first time; each probe that fails doubles them.
        longest_pause: The most seconds of a pause that the upstream has not asked for itself.
        longest_wait: The most seconds for which it is left alone because it asked for that.
    """

    failures: int = 3
    first_pause: float = 5.0
    longest_pause: float = 60.0
    longest_wait: float = 3600.0


_DEFAULT: Final = CircuitRules()


class Circuit:
    """What is known of the health of one upstream.

    Args:
        rules: When it opens.
    """

    __slots__ = ("_asked_to_wait", "_breaks", "_failures", "_generation", "_opens_until", "_pause", "_probe", "_rules")

    def __init__(self, rules: CircuitRules = _DEFAULT) -> None:
        self._rules = rules
        self._failures = 0
        self._breaks = 0
        self._generation = 0
        self._opens_until: float | None = None
        self._pause = 0.0
        self._asked_to_wait = False
        self._probe: Attempt | None = None

    def state(self, now: float) -> CircuitState:
        """Whether the upstream is asked."""
        if self._opens_until is None:
            return CircuitState.CLOSED
        return CircuitState.OPEN if now < self._opens_until else CircuitState.HALF_OPEN

    def admits(self, now: float) -> bool:
        """Whether a request may go there."""
        state = self.state(now)
        return state is CircuitState.CLOSED or (state is CircuitState.HALF_OPEN and self._probe is None)

    def asked_wait(self, now: float) -> float | None:
        """The seconds that the upstream itself still asks to wait; None if it does not."""
        if self._opens_until is None or not self._asked_to_wait or now >= self._opens_until:
            return None
        return self._opens_until - now

    def begin(self) -> Attempt:
        """A request goes there; one of the next four calls says how it went."""
        attempt = Attempt(self._generation)
        if self._opens_until is not None and self._probe is None:
            self._probe = attempt
        return attempt

    def began(self, attempt: Attempt) -> None:
        """The upstream has begun to answer."""
        if not self._is_older(attempt):
            self._failures = 0
            if self._opens_until is not None:
                self._turn(None)
                attempt.generation = self._generation
        attempt.has_begun = True

    def failed(self, attempt: Attempt, now: float, pause: float | None = None, *, is_asked: bool = False) -> None:
        """The upstream could not answer, or broke its answer off.

        Args:
            attempt: The request.
            now: The time.
            pause: The seconds for which it is to be left alone at once; None for a failure that may be one of its kind.
            is_asked: Whether the upstream asked for that pause itself.
        """
        is_known = attempt is not self._probe if self._opens_until is not None else self._is_older(attempt)
        if is_known:
            return  # the circuit has opened since it began, for failures of the same time
        if attempt.has_begun:
            self._breaks += 1
        else:
            self._failures += 1
        if pause is not None:
            limit = self._rules.longest_wait if is_asked else self._rules.longest_pause
            self._open(now, min(pause, limit), is_asked=is_asked)
        elif self._opens_until is not None or max(self._failures, self._breaks) >= self._rules.failures:
            longer = 2 * self._pause if self._pause else self._rules.first_pause
            self._pause = min(longer, self._rules.longest_pause)
            self._open(now, self._pause, is_asked=False)

    def completed(self, attempt: Attempt) -> None:
        """The answer is whole."""
        self.began(attempt)
        if not self._is_older(attempt):
            self._breaks = 0
            self._pause = 0.0

    def left(self, attempt: Attempt) -> None:
        """Nothing more is learned from a request: its client has left, or it is to blame itself."""
        if attempt is self._probe:
            self._probe = None

    def _is_older(self, attempt: Attempt) -> bool:
        return attempt.generation != self._generation

    def _open(self, now: float, seconds: float, *, is_asked: bool) -> None:
        self._turn(now + seconds)
        self._asked_to_wait = is_asked

    def _turn(self, opens_until: float | None) -> None:
        self._opens_until = opens_until
        self._asked_to_wait = False
        self._failures = self._breaks = 0
        self._probe = None
        self._generation += 1


@dataclass(slots=True)
class Attempt:
    """One request to an upstream.

    Attributes:
        generation: How often the circuit had changed when it began.
        has_begun: Whether the answer has begun.
    """

    generation: int
    has_begun: bool = False
