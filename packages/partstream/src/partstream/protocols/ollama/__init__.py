"""Ollama: its native `POST /api/chat`, lines of JSON."""

from __future__ import annotations
from typing import Final

from partstream.protocols.protocol import JSON_LINES, Protocol, ServerProtocol, loaded

PROTOCOL: Final = Protocol(
    name="ollama",
    read_response=loaded("partstream.protocols.ollama.read_response", "OllamaStream"),
    write_request=loaded("partstream.protocols.ollama.write_request", "WRITE_REQUEST"),
    own_settings=loaded("partstream.protocols.ollama.models", "OWN_SETTINGS"),
    read_request=loaded("partstream.protocols.ollama.serve", "READ_REQUEST"),
    write_response=loaded("partstream.protocols.ollama.serve", "OllamaWriter"),
    framings=(JSON_LINES,),
    tag=None,
    has_chunks=True,
    title="Ollama",
    spoken_at=loaded("partstream.protocols.ollama", "SPOKEN_AT"),
    says="Ollama's native `/api/chat`",
    paths=("/chat",),
    base_paths=("/api",),
    greeting="Ollama is running",  # clients compare the whole text (docs/wires/ollama.md#the-probe)
)

# Source: docs/wires/ollama.md.
SPOKEN_AT: Final = (
    ServerProtocol(
        "ollama",
        "http://localhost:11434/api",
        source="docs/wires/ollama.md; ollama server/routes.go, api/types.go; recordings of Ollama",
    ),
)
