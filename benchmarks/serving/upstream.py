"""The model server for the pass-through: it streams ready-made events, one a turn of the event loop."""

from __future__ import annotations
import asyncio
import sys
import time

from benchmarks.raw_upstream import END_OF_BODY, HEAD, framed, run
from benchmarks.serving.ready_made import END, EVENTS

_USAGE = b'data: {"id":"u","object":"chat.completion.chunk","created":1,"model":"words","choices":[],"usage":'
_FRAMES = [framed(event) for event in EVENTS]
_TAIL = framed(
    END.replace(
        b"data: [DONE]", _USAGE + b'{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}\n\ndata: [DONE]'
    )
)


async def _answer(count: int, writer: asyncio.StreamWriter) -> None:
    first = EVENTS[0].replace(b"word00 ", b"t=%d;" % time.monotonic_ns())
    writer.write(HEAD + framed(first))
    for number in range(count - 1):
        writer.write(_FRAMES[number % 64])
        await writer.drain()
        await asyncio.sleep(0)
    writer.write(_TAIL + END_OF_BODY)


if __name__ == "__main__":
    run(int(sys.argv[1]), _answer)
