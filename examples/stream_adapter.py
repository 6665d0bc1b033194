"""The chunks of an AI SDK stream as VS Code's parts, without a provider and without VS Code.

Run it with the output of a Node program that prints one chunk of `streamText(…).fullStream` a line:

    node my_app.mjs | python examples/stream_adapter.py
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

from partstream import StreamAdapter, TextPart, ToolCallPart


async def chunks() -> AsyncIterator[dict[str, Any]]:
    """The chunks that arrive on standard input, one JSON object a line."""
    while line := await asyncio.to_thread(sys.stdin.readline):
        yield json.loads(line)


async def main() -> None:
    """Prints the answer as it streams, then what it took."""
    adapter = StreamAdapter(enable_reasoning=False, on_unknown_chunk=lambda chunk: print("other:", chunk["type"]))
    async for part in adapter.adapt_stream(chunks()):
        match part:
            case TextPart(value):
                print(value, end="", flush=True)
            case ToolCallPart(name=name, input=arguments):
                print(f"\ncall: {name} {dict(arguments)}")
            case _:
                pass
    usage = adapter.get_usage()
    print(f"\n{usage.input_tokens} tokens in, {usage.output_tokens} out")


asyncio.run(main())
