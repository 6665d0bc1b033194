"""Gemini: Google's `POST /models/{model}:streamGenerateContent`, on the Gemini API and on Vertex."""

from __future__ import annotations
from typing import Final

from partstream.protocols.protocol import JSON_LINES, LENIENT_SSE, Protocol, ServerProtocol, loaded

STREAM: Final = "streamGenerateContent"
_FOLDERS: Final = ("/models/", "/publishers/google/models/")
"""The paths of models: on the Gemini API, and on Vertex in express mode (docs/wires/gemini.md#framing)."""
PATHS: Final = tuple(f"{folder}{{model}}:{method}" for method in (STREAM, "generateContent") for folder in _FOLDERS)

# Events are `data:` lines alone; without `alt=sse` they are the elements of one JSON array. Nothing marks the end: a
# finish reason or a refused prompt shows the adapter that the answer is complete (docs/wires/gemini.md#framing).
PROTOCOL: Final = Protocol(
    name="gemini",
    read_response=loaded("partstream.protocols.gemini.read_response", "GeminiResponseReader"),
    write_request=loaded("partstream.protocols.gemini.write_request", "WRITE_REQUEST"),
    own_settings=loaded("partstream.protocols.gemini.models", "OWN_SETTINGS"),
    read_request=loaded("partstream.protocols.gemini.serve", "READ_REQUEST"),
    write_response=loaded("partstream.protocols.gemini.serve", "GeminiResponseWriter"),
    framings=(LENIENT_SSE, JSON_LINES),
    tag=None,
    has_chunks=True,
    title="Gemini",
    spoken_at=loaded("partstream.protocols.gemini", "SPOKEN_AT"),
    says="Google's own servers: the Gemini API and Vertex",
    paths=PATHS,
    base_paths=("/v1beta", "/v1"),
)

# Sources: docs/wires/gemini.md and the documentation of Google.
SPOKEN_AT: Final = (
    ServerProtocol(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta",
        source="docs/wires/gemini.md#framing; ai.google.dev/api/generate-content; recordings of the Gemini API",
    ),
    ServerProtocol(
        "vertex",
        "https://aiplatform.googleapis.com/v1/publishers/google",
        source="docs/wires/gemini.md#framing; cloud.google.com/vertex-ai, express mode; recordings of Vertex AI",
    ),
)
