"""The known servers that speak Ollama's own wire; source: docs/wires/ollama.md."""

from __future__ import annotations

from typing import Final

from partstream.protocols.protocol import ServerProtocol

__all__ = ["SPOKEN_AT"]

SPOKEN_AT: Final = (
    ServerProtocol(
        "ollama",
        "http://localhost:11434/api",
        is_complete=True,
        reason="",
        source="docs/wires/ollama.md; ollama server/routes.go, api/types.go; recordings of Ollama",
    ),
)
