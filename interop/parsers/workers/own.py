"""Reads with this project: bytes as they come become parts."""

from __future__ import annotations
from typing import Any

import httpx2
from lines import serve

from partstream import CitationMode, StreamOptions, TextPart, ThinkingPart, ToolCallPart, read_stream
from partstream.lm.outputs import Finish


async def read(wire: str, url: str, told: Any) -> None:
    options = StreamOptions(citations=CitationMode.OFF)
    async with httpx2.AsyncClient() as client, client.stream("POST", f"{url}/any") as answer:
        async for output in read_stream(answer.aiter_bytes(), protocol=wire, options=options):
            if isinstance(output, TextPart):
                told.text += output.value
            elif isinstance(output, ThinkingPart):
                told.thinking += output.value
            elif isinstance(output, ToolCallPart):
                told.calls.append({"name": output.name, "input": output.input})
            elif isinstance(output, Finish):
                if output.usage is not None:
                    told.tokens = [output.usage.input_tokens, output.usage.output_tokens]
                if output.error is not None:
                    told.failed = f"{type(output.error).__name__}: {output.error}"


serve(read)
