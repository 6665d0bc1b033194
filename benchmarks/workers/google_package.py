"""The google-genai package: `generate_content_stream` over a transport that returns the chunks.

No network is below it, and no parts are made of the chunks: both are in its favour.
"""

from __future__ import annotations
from typing import TYPE_CHECKING

import httpx2
from google import genai
from google.genai.types import HttpOptions

from benchmarks.workers.worker import Chunks, serve_stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.genai.types import GenerateContentResponse


class _Body(httpx2.SyncByteStream):
    """The chunks as the body of a response."""

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._chunks)


def _stream(chunks: Chunks) -> Iterator[GenerateContentResponse]:
    def answer(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=_Body(chunks))

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    client = genai.Client(api_key="unused", http_options=HttpOptions(base_url="http://127.0.0.1:9", httpx_client=http))
    return client.models.generate_content_stream(model="model-1", contents="Tell me.")


def main() -> None:
    """Serves commands."""
    serve_stream(_stream, lambda chunk: [("text", len(chunk.text or ""))])


if __name__ == "__main__":
    main()
