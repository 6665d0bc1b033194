"""The anthropic package on the events of Messages: its stream class, and with `--helper` the events above it.

The response below it is a stand-in that returns the chunks, so no HTTP is measured, and no parts are made of the
events: both are in its favour.
"""

from __future__ import annotations
import sys
from typing import TYPE_CHECKING, Any

from anthropic import NOT_GIVEN, Anthropic, Stream
from anthropic.lib.streaming import MessageStream
from anthropic.types import RawMessageStreamEvent

from benchmarks.workers.worker import Chunks, Response, serve_stream

if TYPE_CHECKING:
    from collections.abc import Iterator


def main() -> None:
    """Serves commands."""
    client = Anthropic(api_key="unused", base_url="http://127.0.0.1:9")

    def stream(chunks: Chunks) -> Any:
        response: Any = Response(chunks)
        kind: Any = RawMessageStreamEvent
        raw: Any = Stream(cast_to=kind, response=response, client=client)
        return MessageStream(raw, output_format=NOT_GIVEN) if "--helper" in sys.argv else raw

    def pieces(event: Any) -> Iterator[tuple[str, int]]:
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            yield "text", len(event.delta.text)

    serve_stream(stream, pieces)


if __name__ == "__main__":
    main()
