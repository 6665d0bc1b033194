"""What must hold for each stream, however damaged: one end, no exception, and the same answer in every way of reading.

The ways are: cut anywhere; with and without the fast path for frequent events; with a tap; from deep inside a caller's
stack. That msgspec makes no difference either, :mod:`fuzzing.codec` says.
"""

import hashlib
import itertools
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from fuzzing.damage import Stream
from partstream.lm.outputs import Finish, StreamOutput
from partstream.lm.parts import DataPart, ThinkingPart, ToolCallPart
from partstream.protocols.protocol import PROTOCOLS, Protocol, known_framings
from partstream.protocols.read_response import Deltas
from partstream.protocols.reader import ReadStep, StreamReader, TappedReader

_SIZES = (1, 2, 3, 7, 20, 100, 500, 2048, 2049, 5000)
_DEEP = 400
"""Frames of a caller; Python stops at 1000."""
_BYTE_BY_BYTE = 4000

Answer = list[str]
"""What came out of a stream, each output in words."""


def faults_of(stream: Stream, ways: random.Random) -> list[str]:
    """What does not hold, in words; nothing for a stream that is read as it must be.

    Args:
        stream: The stream.
        ways: Chooses where it is cut.
    """
    try:
        outputs = _read(stream, [stream.data])
    except BaseException as error:
        return [f"raised: {type(error).__name__}: {error!s:.200}"]
    faults = [*faults_of_outputs(outputs)]
    expected = in_words(outputs)
    for name, read in _ways(stream, ways):
        try:
            answer = in_words(read())
        except BaseException as error:
            faults.append(f"{name}: raised {type(error).__name__}: {error!s:.200}")
            continue
        if answer != expected:
            faults.append(f"{name}: {_first_difference(expected, answer)}")
    return faults


def digest(stream: Stream) -> str:
    """What the stream means, as a short text to compare."""
    try:
        answer = in_words(_read(stream, [stream.data]))
    except BaseException as error:
        answer = [type(error).__name__]
    return hashlib.sha256("\n".join(answer).encode("utf-8", "surrogatepass")).hexdigest()


def in_words(outputs: Iterable[StreamOutput]) -> Answer:
    """Outputs as texts that compare: errors and NaN do not."""
    return [_finish_in_words(one) if isinstance(one, Finish) else repr(one) for one in outputs]


def _finish_in_words(finish: Finish) -> str:
    error = None if finish.error is None else f"{type(finish.error).__name__}: {finish.error}"
    return repr(
        (finish.outcome, finish.reason, finish.usage, finish.response_id, finish.model, error, finish.edits)
    ) + (repr(dict(finish.provider_metadata)))


def _first_difference(expected: Answer, answer: Answer) -> str:
    for number, (one, other) in enumerate(itertools.zip_longest(expected, answer)):
        if one != other:
            return f"output {number} is {other!s:.300}, expected {one!s:.300}"
    return "nothing"


# ---- the ways of reading ----


def _ways(stream: Stream, ways: random.Random) -> Iterator[tuple[str, Callable[[], list[StreamOutput]]]]:
    data = stream.data
    yield "an event a piece", lambda: _read(stream, stream.pieces)
    yield "a line a piece", lambda: _read(stream, re.split(rb"(?<=[\r\n])", data))
    cuts = [*_cut(data, ways)]
    yield "cut anywhere", lambda: _read(stream, cuts)
    if len(data) <= _BYTE_BY_BYTE:
        yield "byte by byte", lambda: _read(stream, (data[at : at + 1] for at in range(len(data))))
    yield "without the fast path", lambda: _read(stream, [data], _without_fast_path(stream.protocol))
    yield "with a tap", lambda: _fed(_tapped(stream), [data])
    yield "deep in the stack", lambda: _deep(_DEEP, lambda: _read(stream, [data]))


def _read(stream: Stream, pieces: Iterable[bytes], protocol: Protocol | None = None) -> list[StreamOutput]:
    return _fed(
        StreamReader(protocol or stream.protocol, stream.options, framing=known_framings()[stream.framing]), pieces
    )


class _Tap:
    """Looks at each step and keeps none."""

    def step(self, step: ReadStep) -> None:
        assert step.size >= 0


def _tapped(stream: Stream) -> StreamReader:
    return TappedReader(_Tap(), stream.protocol, stream.options, framing=known_framings()[stream.framing])


def _fed(reader: StreamReader, pieces: Iterable[bytes]) -> list[StreamOutput]:
    outputs: list[StreamOutput] = []
    for piece in pieces:
        outputs += reader.feed(piece)
    return outputs + reader.end()


def _cut(data: bytes, ways: random.Random) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        size = ways.choice(_SIZES)
        yield data[at : at + size]
        at += size


@cache
def _without_fast_path(name: str) -> Protocol:
    row = PROTOCOLS[name]
    reader, none = row.read_response(), Deltas()
    slow = type("Slow", (reader,), {"deltas": none}) if isinstance(reader, type) else replace(reader, deltas=none)
    return replace(row, read_response=lambda: slow)


def _deep(frames: int, read: Callable[[], list[StreamOutput]]) -> list[StreamOutput]:
    return read() if frames == 0 else _deep(frames - 1, read)


# ---- what comes out ----


def faults_of_outputs(outputs: list[StreamOutput]) -> Iterator[str]:
    ends = [number for number, output in enumerate(outputs) if isinstance(output, Finish)]
    if ends != [len(outputs) - 1]:
        yield f"the Finish is at {ends} of {len(outputs)} outputs"
    ids = [output.call_id for output in outputs if isinstance(output, ToolCallPart)]
    if len(ids) != len(set(ids)):
        yield "a call came twice"
    for output in outputs:
        for value in _json_values(output):
            try:
                json.dumps(value, allow_nan=False)
            except (TypeError, ValueError, RecursionError) as error:
                yield f"{type(output).__name__} holds no JSON: {error}"


def _json_values(output: StreamOutput) -> Iterator[Any]:
    if isinstance(output, ToolCallPart):
        yield output.input
    elif isinstance(output, ThinkingPart):
        yield output.metadata
    elif isinstance(output, DataPart) and output.mime_type.endswith("json"):
        try:
            yield json.loads(output.data)
        except (ValueError, RecursionError):
            return  # a file of the upstream, whatever it is called
