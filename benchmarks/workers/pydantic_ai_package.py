"""pydantic-ai: the events of its chat model over the openai package, whose transport returns the chunks.

Runs in an environment of its own. No network is below it, in its favour.
"""

from __future__ import annotations
import asyncio
from typing import TYPE_CHECKING

import httpx2
from openai import AsyncOpenAI
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import ModelRequest, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from benchmarks.workers.worker import Chunks, serve

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from pydantic_ai.messages import ModelResponseStreamEvent


class _Body(httpx2.AsyncByteStream):
    """The chunks as the body of a response."""

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk


async def _events(chunks: Chunks) -> AsyncIterator[ModelResponseStreamEvent]:
    def answer(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=_Body(chunks))

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        client = AsyncOpenAI(api_key="unused", base_url="http://127.0.0.1:9", http_client=http)
        model = OpenAIChatModel("model-1", provider=OpenAIProvider(openai_client=client))
        async with model_request_stream(model, [ModelRequest.user_text_prompt("Tell me.")]) as stream:
            async for event in stream:
                yield event


async def _run(chunks: Chunks) -> None:
    async for _event in _events(chunks):
        pass


async def _texts(chunks: Chunks) -> list[str]:
    texts = []
    async for event in _events(chunks):
        match event:
            case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                texts.append(text)
            case _:
                pass
    return texts


def main() -> None:
    """Serves commands."""

    def pieces(chunks: Chunks) -> Iterator[tuple[str, int]]:
        return (("text", len(text)) for text in asyncio.run(_texts(chunks)))

    serve(lambda chunks: asyncio.run(_run(chunks)), pieces)


if __name__ == "__main__":
    main()
