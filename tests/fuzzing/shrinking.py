"""Makes an input that shows a fault as small as it gets: fewer pieces, then fewer bytes in each."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

_MOST_TRIES = 2000

Piecewise = TypeVar("Piecewise")
"""An input with `pieces`."""


def shrink(given: Piecewise, is_faulty: Callable[[Piecewise], bool], seconds: float = 600.0) -> Piecewise:
    """The smallest input found that still shows the fault.

    Args:
        given: One that shows it.
        is_faulty: Whether an input shows it.
        seconds: How long is looked at most.
    """
    tries, until = iter(range(_MOST_TRIES)), time.monotonic() + seconds
    smaller: Piecewise | None = given
    while smaller is not None:
        given = smaller
        candidates = (one for _, one in zip(tries, _smaller(given), strict=False) if time.monotonic() < until)
        smaller = next((candidate for candidate in candidates if is_faulty(candidate)), None)
    return given


def _smaller(given: Any) -> Iterator[Any]:
    """The input with something left out, much first."""
    for pieces in _without_some(given.pieces):
        yield replace(given, pieces=tuple(pieces))
    for place, piece in enumerate(given.pieces):
        for shorter in _without_some(piece):
            yield replace(given, pieces=(*given.pieces[:place], shorter, *given.pieces[place + 1 :]))


def _without_some(whole: Any) -> Iterator[Any]:
    size = len(whole) // 2
    while size:
        for start in range(0, len(whole), size):
            yield whole[:start] + whole[start + size :]
        size //= 2
