"""How fast people, teams and keys may ask: each worker keeps its share of a limit; no I/O, no clock.

A share is the limit divided by the workers that live, so that all together keep it without asking each other. Who is
balanced unevenly may be slowed down before the whole limit is reached; budgets are exact, and kept elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from partstream.hub.directory import Owner, RateLimits

__all__ = ["RateGate", "RatePass", "TooFast"]

_MINUTE: Final = 60.0
_BUSY_SECONDS: Final = 1.0
"""After how many seconds it makes sense to ask again while too many answers run."""
_NEVER_SECONDS: Final = 60.0
"""After how many seconds it makes sense to ask again where the limit is 0."""


class TooFast(NamedTuple):
    """Why a request has to wait.

    Attributes:
        owner: Whose limit it is.
        limit: The limit of the whole hub, in words, such as `60 requests a minute`.
        retry_after: The seconds after which it may be asked again.
    """

    owner: Owner
    limit: str
    retry_after: float


@dataclass(slots=True)
class _Bucket:
    """What may still be used of a rate; it fills up by itself, and may be overdrawn by one request."""

    level: float
    filled_at: float

    def fill(self, share: float, now: float) -> None:
        self.level = min(share, self.level + share * (now - self.filled_at) / _MINUTE)
        self.filled_at = now

    def wait(self, share: float, needed: float) -> float:
        """The seconds until as much is there."""
        return 0.0 if self.level >= needed else _MINUTE * (needed - self.level) / share if share else _NEVER_SECONDS


@dataclass(slots=True, eq=False)
class _Pace:
    """How fast one owner has asked at this worker."""

    requests: _Bucket | None = None
    tokens: _Bucket | None = None
    answers: int = 0


class RatePass:
    """The leave of one answer to run; ended once.

    Args:
        end: Takes the tokens of the answer in the end.
    """

    __slots__ = ("_end",)

    def __init__(self, end: Callable[[int], None]) -> None:
        self._end: Callable[[int], None] | None = end

    def end(self, tokens: int) -> None:
        """The answer is over and took these tokens; later calls do nothing."""
        end, self._end = self._end, None
        if end is not None:
            end(tokens)


class RateGate:
    """What the owners of one hub have used of their rates at one worker."""

    def __init__(self) -> None:
        self._paces: dict[Owner, _Pace] = {}

    def enter(
        self, limits: Sequence[tuple[Owner, RateLimits]], tokens: int, workers: int, now: float
    ) -> RatePass | TooFast:
        """Lets a request in if all its owners may ask now.

        Args:
            limits: The owners and their limits.
            tokens: What the request takes at least; corrected in the end.
            workers: How many workers live.
            now: The time in seconds, of a clock that only goes forward.
        """
        limited = [(owner, one, self._pace(owner, one, workers, now)) for owner, one in limits if _is_limit(one)]
        for owner, one, pace in limited:
            if (refused := _refusal(owner, one, pace, workers)) is not None:
                return refused
        paces = [pace for _, _, pace in limited]
        for pace in paces:
            _take(pace.requests, 1)
            _take(pace.tokens, tokens)
            pace.answers += 1

        def end(taken: int) -> None:
            for pace in paces:
                _take(pace.tokens, taken - tokens)
                pace.answers -= 1

        return RatePass(end)

    def keep(self, owners: frozenset[Owner]) -> None:
        """Forgets all other owners, whose limits are gone."""
        self._paces = {owner: pace for owner, pace in self._paces.items() if owner in owners or pace.answers}

    def _pace(self, owner: Owner, limits: RateLimits, workers: int, now: float) -> _Pace:
        pace = self._paces.setdefault(owner, _Pace())
        pace.requests = _filled(pace.requests, limits.requests_per_minute, workers, now)
        pace.tokens = _filled(pace.tokens, limits.tokens_per_minute, workers, now)
        return pace


def _is_limit(limits: RateLimits) -> bool:
    return (limits.requests_per_minute, limits.tokens_per_minute, limits.concurrent_answers) != (None, None, None)


def _filled(bucket: _Bucket | None, limit: int | None, workers: int, now: float) -> _Bucket | None:
    if limit is None:
        return None
    share = limit / workers
    if bucket is None:
        return _Bucket(share, now)
    bucket.fill(share, now)
    return bucket


def _refusal(owner: Owner, limits: RateLimits, pace: _Pace, workers: int) -> TooFast | None:
    requests, tokens, answers = limits.requests_per_minute, limits.tokens_per_minute, limits.concurrent_answers
    if answers is not None and pace.answers >= math.ceil(answers / workers):
        return TooFast(owner, f"{answers:,} answers at the same time", _BUSY_SECONDS if answers else _NEVER_SECONDS)
    if requests is not None and pace.requests is not None:
        # With more workers than requests a minute, a share is less than one request: it is saved up.
        wait = pace.requests.wait(requests / workers, min(1.0, requests / workers) or 1.0)
        if wait:
            return TooFast(owner, f"{requests:,} requests a minute", wait)
    if tokens is not None and pace.tokens is not None:
        wait = pace.tokens.wait(tokens / workers, min(1.0, tokens / workers) or 1.0)
        if wait:
            return TooFast(owner, f"{tokens:,} tokens a minute", wait)
    return None


def _take(bucket: _Bucket | None, amount: float) -> None:
    if bucket is not None:
        bucket.level -= amount
