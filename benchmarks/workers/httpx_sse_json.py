"""httpx-sse and the standard library's json, with the same switch into parts as the JavaScript floor."""

from __future__ import annotations
import codecs
import json
import sys
from typing import TYPE_CHECKING, Any

import httpx2

from benchmarks.workers.worker import Chunks, serve
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# httpx-sse names httpx in its annotations only; httpx2 has the same classes and is installed already.
sys.modules.setdefault("httpx", httpx2)

from httpx_sse import EventSource  # noqa: E402 - after the line above


class _Response:
    """What httpx-sse asks of a response: text, decoded as httpx decodes it."""

    headers = {"content-type": "text/event-stream"}  # noqa: RUF012 - read only

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = chunks

    def iter_text(self) -> Iterator[str]:
        decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        for chunk in self._chunks:
            yield decode(chunk)


Part = TextPart | ThinkingPart | ToolCallPart


def read(chunks: Chunks, take: Callable[[Part], object]) -> None:
    """Reads one stream; every part goes to `take`."""
    response: Any = _Response(chunks)
    arguments: dict[int, list[str]] = {}
    for message in EventSource(response).iter_sse():
        event = json.loads(message.data)
        match event["type"]:
            case "response.output_text.delta":
                take(TextPart(event["delta"]))
            case "response.reasoning_summary_text.delta":
                take(ThinkingPart(event["delta"], event["item_id"]))
            case "response.output_item.added":
                arguments[event["output_index"]] = []
            case "response.function_call_arguments.delta":
                arguments[event["output_index"]].append(event["delta"])
            case "response.output_item.done" if event["item"]["type"] == "function_call":
                item = event["item"]
                whole = json.loads("".join(arguments[event["output_index"]]))
                take(ToolCallPart(item["call_id"], item["name"], whole))


def main() -> None:
    """Serves commands."""

    def pieces(chunks: Chunks) -> Iterator[tuple[str, int]]:
        parts: list[Part] = []
        read(chunks, parts.append)
        for part in parts:
            match part:
                case TextPart(value):
                    yield "text", len(value)
                case ThinkingPart(value):
                    yield "thinking", len(value)
                case ToolCallPart():
                    yield "tool_calls", 1

    serve(lambda chunks: read(chunks, lambda _part: None), pieces)


if __name__ == "__main__":
    main()
