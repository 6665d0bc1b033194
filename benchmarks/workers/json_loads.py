"""The standard library's json on frames without a type, one a chunk: no framing, no order, no end, only the text."""

from __future__ import annotations
import json
from typing import TYPE_CHECKING

from benchmarks.workers.worker import Chunks, serve
from partstream.lm.parts import TextPart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BEGIN, _END = len(b"data: "), -len(b"\n\n")


def read(chunks: Chunks, take: Callable[[TextPart], object]) -> None:
    """Reads one stream; every part goes to `take`."""
    for chunk in chunks:
        for choice in json.loads(chunk[_BEGIN:_END])["choices"]:
            if content := choice["delta"].get("content"):
                take(TextPart(content))


def main() -> None:
    """Serves commands."""

    def pieces(chunks: Chunks) -> Iterator[tuple[str, int]]:
        parts: list[TextPart] = []
        read(chunks, parts.append)
        yield from (("text", len(part.value)) for part in parts)

    serve(lambda chunks: read(chunks, lambda _part: None), pieces)


if __name__ == "__main__":
    main()
