import asyncio
from collections.abc import AsyncIterator, Sequence

from partstream import (
    ChatMessage,
    Finish,
    FinishReason,
    Outcome,
    RequestOptions,
    ThinkingPart,
    UnifiedFinishReason,
    Usage,
    chat_model,
    connect,
)


@chat_model(name="Thinker", max_input_tokens=8_000, count_tokens=lambda text: len(str(text)) // 4)
async def provider(
    messages: Sequence[ChatMessage], options: RequestOptions
) -> AsyncIterator[str | ThinkingPart | Finish]:
    yield ThinkingPart("Six times seven.")
    yield "42"
    yield Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.STOP), Usage(input_tokens=9, output_tokens=5))


async def main() -> None:
    async with connect(provider) as model:
        response = model.stream("What is six times seven?")
        print(await response.read_text(), response.usage, await model.count_tokens("twelve chars"))


asyncio.run(main())
