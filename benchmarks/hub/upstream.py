"""The model server behind both: it reports usage that depends on the request.

An answer of N words costs `INPUT` tokens and N tokens; so what was really spent is known from what was answered.
"""

from __future__ import annotations
import asyncio
import sys
import time

from benchmarks.raw_upstream import END_OF_BODY, HEAD, framed, run

INPUT = 20
"""The input tokens of every answer."""

_FIELDS = b'{"id":"u","object":"chat.completion.chunk","created":1,"model":"words","choices":['


def _event(choices: bytes, more: bytes = b"") -> bytes:
    return framed(b"data: " + _FIELDS + choices + b"]" + more + b"}\n\n")


_WORD = _event(b'{"index":0,"delta":{"content":"word "}}')
_STOP = _event(b'{"index":0,"delta":{},"finish_reason":"stop"}')


async def _answer(count: int, writer: asyncio.StreamWriter) -> None:
    first = _event(b'{"index":0,"delta":{"role":"assistant","content":"t=%d;"}}' % time.monotonic_ns())
    writer.write(HEAD + first)
    for _ in range(count - 1):
        writer.write(_WORD)
        await writer.drain()
        await asyncio.sleep(0)
    used = b'"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d' % (INPUT, count, INPUT + count)
    usage = _event(b"", b',"usage":{%b}' % used)
    writer.write(_STOP + usage + framed(b"data: [DONE]\n\n") + END_OF_BODY)


if __name__ == "__main__":
    run(int(sys.argv[1]), _answer)
