"""The known servers that speak Gemini's own wire; sources: docs/wires/gemini.md and the documentation of Google."""

from __future__ import annotations

from typing import Final

from partstream.protocols.protocol import ServerProtocol

__all__ = ["SPOKEN_AT"]

SPOKEN_AT: Final = (
    ServerProtocol(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta",
        is_complete=True,
        reason="",
        source="docs/wires/gemini.md#framing; ai.google.dev/api/generate-content; recordings of the Gemini API",
    ),
    ServerProtocol(
        "vertex",
        "https://aiplatform.googleapis.com/v1/publishers/google",
        is_complete=True,
        reason="",
        source="docs/wires/gemini.md#framing; cloud.google.com/vertex-ai, express mode; recordings of Vertex AI",
    ),
)
