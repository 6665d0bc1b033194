"""Makes a stream that shows a fault as small as it gets: fewer events, then fewer bytes in each."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from fuzzing.damage import Stream

_MOST_TRIES = 2000


def shrink(stream: Stream, is_faulty: Callable[[Stream], bool]) -> Stream:
    """The smallest stream found that still shows the fault.

    Args:
        stream: One that shows it.
        is_faulty: Whether a stream shows it.
    """
    tries = iter(range(_MOST_TRIES))
    smaller: Stream | None = stream
    while smaller is not None:
        stream = smaller
        candidates = (candidate for _, candidate in zip(tries, _smaller(stream), strict=False))
        smaller = next((candidate for candidate in candidates if is_faulty(candidate)), None)
    return stream


def _smaller(stream: Stream) -> Iterator[Stream]:
    """The stream with something left out, much first."""
    for pieces in _without_some(stream.pieces):
        yield replace(stream, pieces=tuple(pieces))
    for place, piece in enumerate(stream.pieces):
        for shorter in _without_some(piece):
            yield replace(stream, pieces=(*stream.pieces[:place], shorter, *stream.pieces[place + 1 :]))


def _without_some(whole: Any) -> Iterator[Any]:
    size = len(whole) // 2
    while size:
        for start in range(0, len(whole), size):
            yield whole[:start] + whole[start + size :]
        size //= 2
