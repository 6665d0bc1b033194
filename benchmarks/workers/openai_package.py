"""The openai package: its own stream class over the bytes, as `for event in stream` reads it.

The response below it is a stand-in that returns the chunks, so no HTTP is measured, and no parts are made of the
events: both are in its favour.
"""

from __future__ import annotations
from typing import TYPE_CHECKING, Any

from openai import OpenAI, Stream
from openai.types.responses import ResponseStreamEvent

from benchmarks.workers.worker import Chunks, Response, serve_stream

if TYPE_CHECKING:
    from collections.abc import Iterator


def main() -> None:
    """Serves commands."""
    client = OpenAI(api_key="unused", base_url="http://127.0.0.1:9")

    def stream(chunks: Chunks) -> Any:
        response: Any = Response(chunks)
        kind: Any = ResponseStreamEvent
        return Stream(cast_to=kind, response=response, client=client)

    def pieces(event: Any) -> Iterator[tuple[str, int]]:
        match event.type:
            case "response.output_text.delta":
                yield "text", len(event.delta)
            case "response.reasoning_summary_text.delta":
                yield "thinking", len(event.delta)
            case "response.function_call_arguments.done":
                yield "tool_calls", 1

    serve_stream(stream, pieces)


if __name__ == "__main__":
    main()
