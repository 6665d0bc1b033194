"""Google Interactions: `POST /interactions` of the Gemini API (docs/wires/gemini.md#interactions)."""

from __future__ import annotations
from typing import Final

from partstream.protocols.protocol import JSON_LINES, LENIENT_SSE, Protocol, ServerProtocol, loaded

PROTOCOL: Final = Protocol(
    name="gemini-interactions",
    read_response=loaded("partstream.protocols.gemini_interactions.read_response", "InteractionsResponseReader"),
    write_request=loaded("partstream.protocols.gemini_interactions.write_request", "WRITE_REQUEST"),
    own_settings=loaded("partstream.protocols.gemini_interactions.write_request", "OWN_SETTINGS"),
    read_request=loaded("partstream.protocols.gemini_interactions.serve", "READ_REQUEST"),
    write_response=loaded("partstream.protocols.gemini_interactions.serve", "InteractionsResponseWriter"),
    framings=(LENIENT_SSE, JSON_LINES),
    tag="event_type",
    has_chunks=True,
    title="Google Interactions",
    spoken_at=loaded("partstream.protocols.gemini_interactions", "SPOKEN_AT"),
    says="The newer part of the Gemini API, beside `generateContent`",
    paths=("/interactions",),
    base_paths=("/v1beta", "/v1"),
)

# The documentation and the official types were read, and recorded streams; no server was asked.
SPOKEN_AT: Final = (
    ServerProtocol(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta",
        is_complete=False,
        reason="the tokens of a request are not counted before it is sent, and filtered answers are not reported",
        source="docs/wires/gemini.md#interactions; ai.google.dev/gemini-api/docs/interactions",
    ),
)
