"""What every worker in Python does: takes commands, one JSON object a line, and answers each with one line.

`load` reads a stream and cuts it into its chunks, `tally` says what a reader makes of it, `run` reads it once and says
how much processor time the loop took. The clock counts the processor time of this process with all its threads: some
packages leave a part of their work to others, and programs beside it disturb it as little as possible.
"""

from __future__ import annotations
import gc
import json
import sys
import time
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["Chunks", "Response", "Tally", "load", "serve", "serve_stream"]

Chunks = list[bytes]

Tally = Counter[str]
"""What a reader made: characters of `text` and of `thinking`, and how many `tool_calls`."""


def load(path: str, sizes: str) -> Chunks:
    """The chunks of a stream, each with bytes of its own, as a socket gives them."""
    data, start, chunks = Path(path).read_bytes(), 0, []
    for size in json.loads(Path(sizes).read_text(encoding="utf-8")):
        chunks.append(data[start : start + size])
        start += size
    return chunks


class Response:
    """What the stream class of a package of OpenAI's or Anthropic's asks of a response."""

    request = None

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = chunks

    def iter_bytes(self) -> Iterator[bytes]:
        return iter(self._chunks)

    def close(self) -> None:
        """Nothing is open."""


def serve_stream(stream: Callable[[Chunks], Iterable[Any]], pieces: Callable[[Any], Iterable[tuple[str, int]]]) -> None:
    """The same for a reader that is gone through event by event, each with entries of a tally."""

    def run(chunks: Chunks) -> None:
        for _event in stream(chunks):
            pass

    serve(run, lambda chunks: chain.from_iterable(pieces(event) for event in stream(chunks)))


def serve(run: Callable[[Chunks], object], pieces: Callable[[Chunks], Iterable[tuple[str, int]]]) -> None:
    """Answers commands until standard input ends.

    Args:
        run: Reads a stream and lets go of everything at once.
        pieces: Reads a stream with the same reader; what it makes, as entries of a tally.
    """
    streams: dict[str, Chunks] = {}
    for line in sys.stdin:
        command = json.loads(line)
        print(json.dumps(_answer(command, streams, run, pieces)), flush=True)


def _answer(
    command: dict[str, Any],
    streams: dict[str, Chunks],
    run: Callable[[Chunks], object],
    pieces: Callable[[Chunks], Iterable[tuple[str, int]]],
) -> dict[str, Any]:
    name = command["stream"]
    match command["command"]:
        case "load":
            streams[name] = load(command["path"], command["sizes"])
            return {}
        case "tally":
            return tally(pieces(streams[name]))
        case _:
            return {"seconds": _seconds(run, streams[name])}


def tally(pieces: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Adds up what a reader made."""
    counts = Tally({"text": 0, "thinking": 0, "tool_calls": 0})
    for kind, size in pieces:
        counts[kind] += size
    return dict(counts)


def _seconds(run: Callable[[Chunks], object], chunks: Sequence[bytes]) -> float:
    gc.collect()
    start = time.process_time()
    run(list(chunks))
    return time.process_time() - start
