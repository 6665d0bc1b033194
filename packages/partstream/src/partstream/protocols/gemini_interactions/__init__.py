"""Google Interactions: `POST /interactions` of the Gemini API (docs/wires/gemini.md#interactions)."""

from __future__ import annotations
from typing import Final

from partstream.protocols.protocol import JSON_LINES, LENIENT_SSE, Protocol, Terminators, loaded

# Its streams are read, and no request is written yet: no server of it was recorded, and its official types and its
# documentation differ in what has to go back.
PROTOCOL: Final = Protocol(
    name="gemini-interactions",
    read_response=loaded("partstream.protocols.gemini_interactions.read_response", "READ_RESPONSE"),
    framings=(LENIENT_SSE, JSON_LINES),
    tag="event_type",
    ends=Terminators(),
    has_chunks=True,
    title="Google Interactions",
    says="The Gemini API, beside its older `generateContent`",
)
