"""The openai package on the chunks of Chat Completions: its stream class, and with `--helper` the events above it.

The response below it is a stand-in that returns the chunks, so no HTTP is measured, and no parts are made of the
chunks: both are in its favour.
"""

from __future__ import annotations
import sys
from typing import TYPE_CHECKING, Any

from openai import OpenAI, Stream, omit
from openai.lib.streaming.chat import ChatCompletionStream
from openai.types.chat import ChatCompletionChunk

from benchmarks.workers.worker import Chunks, Response, serve_stream

if TYPE_CHECKING:
    from collections.abc import Iterator


def main() -> None:
    """Serves commands."""
    client = OpenAI(api_key="unused", base_url="http://127.0.0.1:9")

    def stream(chunks: Chunks) -> Any:
        response: Any = Response(chunks)
        raw = Stream(cast_to=ChatCompletionChunk, response=response, client=client)
        if "--helper" not in sys.argv:
            return raw
        return ChatCompletionStream(raw_stream=raw, response_format=omit, input_tools=omit)

    def pieces(event: Any) -> Iterator[tuple[str, int]]:
        if event_type := getattr(event, "type", None):
            if event_type == "content.delta":
                yield "text", len(event.delta)
        elif event.choices:
            yield "text", len(event.choices[0].delta.content or "")

    serve_stream(stream, pieces)


if __name__ == "__main__":
    main()
