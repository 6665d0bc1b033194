"""Ways to feed the bytes or the events of a stream; `protocols.openresponses.wire` says what holds for all that comes
out."""

import random
from collections.abc import Iterable, Iterator, Mapping

import pytest

from partstream.conversation.thinking import open_response
from partstream.lm.outputs import StreamOptions
from partstream.protocols.read_response import TRANSITIONS, LifecycleEvent, LifecycleState, ResponseReader, Transition
from partstream.protocols.reader import StreamReader
from protocols.openresponses.wire import Event, Result, check, comparable

SINGLE_BYTES = 2000


def whole(data: bytes) -> Iterable[bytes]:
    return [data]


def byte_by_byte(data: bytes) -> Iterator[bytes]:
    """The events of long answers are alike: of those, the bytes of the beginning and of the end are enough."""
    yield from (data[at : at + 1] for at in range(min(SINGLE_BYTES, len(data))))
    rest = data[SINGLE_BYTES:]
    if middle := rest[:-SINGLE_BYTES]:
        yield middle
    yield from (rest[at : at + 1] for at in range(len(middle), len(rest)))


def pieces_of_any_size(data: bytes) -> Iterator[bytes]:
    """The same in each run."""
    sizes = random.Random(len(data))  # noqa: S311 - guards nothing
    at = 0
    while at < len(data):
        size = sizes.choice((1, 2, 7, 40, 300, 5000))
        yield data[at : at + size]
        at += size


every_feed = pytest.mark.parametrize("feed", [whole, byte_by_byte, pieces_of_any_size])


def read_pieces(reader: StreamReader, pieces: Iterable[bytes]) -> Result:
    """What a reader makes of all bytes of a stream."""
    outputs = [output for piece in pieces for output in reader.feed(piece)]
    return check(Result([*outputs, *reader.end()]))


def read_objects(protocol: type[ResponseReader], events: Iterable[Event], options: StreamOptions) -> Result:
    """What a protocol makes of the events of a stream, which have no bytes."""
    stream = open_response(protocol, options)
    outputs = [output for event in events for output in stream.feed(event)]
    return check(Result([*outputs, *stream.end()]))


def assert_all_give(result: Result, ways: Mapping[str, Result]) -> None:
    """No way of feeding makes a difference."""
    expected = comparable(result)
    for way, other in ways.items():
        assert comparable(other) == expected, way


def strict_step(state: LifecycleState, kind: LifecycleEvent) -> Transition | None:
    """The step of an event that keeps every rule; None if the rules do not allow the event."""
    step = TRANSITIONS[state].get(kind)
    return None if step is None or step.lenient else step
