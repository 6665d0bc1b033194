"""LiteLLM: `litellm.completion(stream=True)` over the openai package, whose transport returns the chunks.

Runs in an environment of its own. No network is below it, and no parts are made of the chunks: both are in its favour.
"""

from __future__ import annotations
import os
import sys
from typing import TYPE_CHECKING, Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # nothing is fetched

import httpx
import litellm
from openai import OpenAI

from benchmarks.workers.worker import Chunks, serve_stream

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Body(httpx.SyncByteStream):
    """The chunks as the body of a response."""

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._chunks)


def _stream(chunks: Chunks) -> Any:
    def answer(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=_Body(chunks))

    client = OpenAI(
        api_key="unused",
        base_url="http://127.0.0.1:9",
        http_client=httpx.Client(transport=httpx.MockTransport(answer)),
    )
    return litellm.completion(
        model="openai/model-1", messages=[{"role": "user", "content": "Tell me."}], stream=True, client=client
    )


def main() -> None:
    """Serves commands."""
    serve_stream(_stream, lambda chunk: [("text", len(one.delta.content or "")) for one in chunk.choices])
    sys.stdout.flush()
    os._exit(0)  # at its end it would empty its queue of logs, for longer than anybody waits


if __name__ == "__main__":
    main()
