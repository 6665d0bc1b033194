"""`fullStream` of `streamText`: chunks as objects, in recordings as lines of JSON."""

from __future__ import annotations
from typing import Final

from partstream.protocols.protocol import JSON_LINES, SSE, Protocol, loaded

PROTOCOL: Final = Protocol(
    name="ai-sdk",
    read_response=loaded("partstream.protocols.ai_sdk.read_response", "FULL_STREAM"),
    write_response=loaded("partstream.protocols.ai_sdk.serve", "WRITE_FULL_STREAM"),
    framings=(JSON_LINES, SSE),
    has_chunks=True,
)
