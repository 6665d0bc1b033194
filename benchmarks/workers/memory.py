"""Says how many bytes of memory reading a stream takes at its peak, beyond what is there before; parts are dropped.

`deltas` is the peak until the first event that says the whole text again, `whole` the peak of the whole stream: the
closing events hold the text, so that one grows with the text whatever the reader does.
"""

from __future__ import annotations
import json
import sys
import tracemalloc
from itertools import islice

from benchmarks.workers.partstream_reader import reader
from benchmarks.workers.worker import load

_CLOSING = b"response.output_text.done"


def main(path: str, sizes: str) -> None:
    """Prints the peaks as one JSON object."""
    chunks = load(path, sizes)
    closing = next(place for place, chunk in enumerate(chunks) if _CLOSING in chunk)
    make = reader(with_msgspec="--without-msgspec" not in sys.argv)
    for chunk in chunks[:50]:
        make().feed(chunk)  # so that what is loaded once is there
    feed = make().feed
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for chunk in islice(chunks, closing):
        feed(chunk)
    _, deltas = tracemalloc.get_traced_memory()
    for chunk in islice(chunks, closing, None):
        feed(chunk)
    _, whole = tracemalloc.get_traced_memory()
    print(json.dumps({"deltas": deltas - before, "whole": whole - before}))


if __name__ == "__main__":
    main(*sys.argv[1:3])
