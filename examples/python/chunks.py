import asyncio
from typing import Any

from partstream import StreamAdapter

CHUNKS: list[dict[str, Any]] = [
    {"type": "text-delta", "id": "1", "text": "Hello"},
    {"type": "tool-call", "toolCallId": "c1", "toolName": "look_up", "input": {"word": "hello"}},
    {"type": "finish", "finishReason": "tool-calls", "totalUsage": {"inputTokens": 7, "outputTokens": 3}},
]


async def main() -> None:
    adapter = StreamAdapter()
    async for part in adapter.adapt_stream(CHUNKS):
        print(part)
    print(adapter.get_usage().output_tokens)


asyncio.run(main())
