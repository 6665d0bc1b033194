"""Says what one event of 2 MB costs the decoder of server-sent events, in one read and in reads of 1,460 bytes."""

from __future__ import annotations
import json
import sys
import time
from statistics import median

from benchmarks.streams import one_large_event
from partstream.codec.sse import SSEDecoder

_READ = 1460
"""What a TCP segment carries on Ethernet."""


def main(size: int, rounds: int) -> None:
    """Prints nanoseconds a byte for both, as one JSON object."""
    event = one_large_event(size)
    reads = [event[start : start + _READ] for start in range(0, len(event), _READ)]
    samples: dict[str, list[float]] = {"one_read": [], "small_reads": []}
    for _ in range(rounds):
        for name, chunks in (("one_read", [event]), ("small_reads", reads)):
            samples[name].append(_seconds(chunks) / len(event) * 1e9)
    print(json.dumps({name: median(measured) for name, measured in samples.items()} | {"bytes": len(event)}))


def _seconds(chunks: list[bytes]) -> float:
    decoder = SSEDecoder()
    start = time.thread_time()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    seconds = time.thread_time() - start
    assert len(events) == 1
    return seconds


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
