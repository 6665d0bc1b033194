"""The AI SDK as a provider: it runs in Node, and its chunks become parts by `StreamAdapter`."""

from __future__ import annotations
import asyncio
import json
from contextlib import aclosing
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interop.clients.official import find_node
from interop.servers.environments import ROOT
from partstream import (
    EmptyAnswerError,
    LanguageModelChatCapabilities,
    LanguageModelChatInformation,
    LanguageModelChatProvider,
    StreamAdapter,
    TextPart,
    ToolCallPart,
)
from partstream.lm.provider import FinishingProgress
from partstream.runtime.translation import to_model_messages
from partstream.tokens import estimate_tokens
from partstream.upstream.context import run_until_cancelled

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from partstream import CancellationToken, ChatMessage, Progress, RequestOptions
    from partstream.runtime.stream_adapter import AdaptedStream

WORKER = Path(__file__).with_name("ai_sdk.mjs")
MODEL = LanguageModelChatInformation(
    "ai-sdk", "AI SDK", "ai-sdk", "7", 128_000, 16_000, capabilities=LanguageModelChatCapabilities(tool_calling=True)
)


class AiSdk(LanguageModelChatProvider):
    """Asks a base URL with the AI SDK, all requests in one process of Node."""

    def __init__(self, base_url: str, protocol: str) -> None:
        self._arguments = (protocol, base_url)
        self._ids = count(1)
        self._chunks: dict[int, asyncio.Queue[Any]] = {}
        self._starting: asyncio.Task[asyncio.subprocess.Process] | None = None
        self._reading: asyncio.Task[None] | None = None

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """The one model."""
        del silent, token
        return [MODEL]

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        """Asks, and reports the parts of the chunks."""
        del model
        adapter = StreamAdapter()
        tools = [
            {"name": tool.name, "description": tool.description, "schema": tool.input_schema or {"type": "object"}}
            for tool in options.tools
        ]
        written = to_model_messages(messages, 7, call_id_prefix="")
        order = {"system": written.system, "messages": written.messages, "tools": tools}
        await run_until_cancelled(self._report(adapter.adapt_stream(self._answer(order), token), progress), token)

    async def _report(self, stream: AdaptedStream, progress: Progress) -> None:
        is_visible = False
        async with aclosing(stream) as parts:
            async for part in parts:
                is_visible = is_visible or isinstance(part, TextPart | ToolCallPart)
                progress.report(part)
        if not is_visible:
            raise EmptyAnswerError(None)
        finish = stream.get_usage().finish
        if isinstance(progress, FinishingProgress) and finish is not None:
            progress.finish(finish)

    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """An estimate."""
        del model, token
        return estimate_tokens(text)

    async def aclose(self) -> None:
        """Ends Node."""
        if self._starting is not None and self._reading is not None:
            process = await self._starting
            process.kill()
            await process.wait()
            await self._reading

    async def _answer(self, order: dict[str, Any]) -> AsyncIterator[Any]:
        process, number = await self._process(), next(self._ids)
        chunks = self._chunks[number] = asyncio.Queue[Any]()
        assert process.stdin is not None  # noqa: S101 - it is a pipe
        process.stdin.write(json.dumps({"id": number, **order}).encode() + b"\n")
        try:
            while (chunk := await chunks.get()) is not None:
                yield chunk
        finally:
            del self._chunks[number]
            process.stdin.write(json.dumps({"cancel": number}).encode() + b"\n")

    async def _process(self) -> asyncio.subprocess.Process:
        if self._starting is None:
            node = str(find_node(ROOT / "interop" / "clients" / "served" / "node"))
            pipe = asyncio.subprocess.PIPE
            start = asyncio.create_subprocess_exec(
                node, str(WORKER), *self._arguments, stdin=pipe, stdout=pipe, limit=2**24
            )
            self._starting = asyncio.create_task(start)
        process = await asyncio.shield(self._starting)
        if self._reading is None:
            self._reading = asyncio.create_task(self._read(process))
        return process

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        async for line in process.stdout:
            said = json.loads(line)
            chunks = self._chunks.get(said["id"])
            if chunks is not None:
                chunks.put_nowait(said.get("chunk"))
        for chunks in self._chunks.values():
            chunks.put_nowait(None)


def make(upstream: str, protocol: str) -> AiSdk:
    """The provider."""
    return AiSdk(upstream, protocol)
