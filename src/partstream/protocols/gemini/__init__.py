"""Gemini: Google's `POST /models/{model}:streamGenerateContent`, on the Gemini API and on Vertex."""

from __future__ import annotations

from typing import Final

from partstream.protocols.protocol import JSON_LINES, LENIENT_SSE, Protocol, Terminators, loaded

__all__ = ["PROTOCOL"]


# Events are `data:` lines alone; without `alt=sse` they are the elements of one JSON array. Nothing marks the end: a
# finish reason or a refused prompt shows the adapter that the answer is complete (docs/wires/gemini.md#framing).
PROTOCOL: Final = Protocol(
    name="gemini",
    read_response=loaded("partstream.protocols.gemini.read_response", "READ_RESPONSE"),
    write_request=loaded("partstream.protocols.gemini.write_request", "WRITE_REQUEST"),
    own_settings=loaded("partstream.protocols.gemini.settings", "OWN_SETTINGS"),
    read_request=loaded("partstream.protocols.gemini.read_request", "READ_REQUEST"),
    write_response=loaded("partstream.protocols.gemini.write_response", "WRITE_RESPONSE"),
    framings=(LENIENT_SSE, JSON_LINES),
    tag=None,
    ends=Terminators(),
    has_chunks=True,
    title="Gemini",
    spoken_at=loaded("partstream.protocols.gemini.servers", "SPOKEN_AT"),
    says="Google's own servers: the Gemini API and Vertex",
)
