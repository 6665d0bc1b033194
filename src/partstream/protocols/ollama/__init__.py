"""Ollama: its native `POST /api/chat`, lines of JSON."""

from __future__ import annotations

from typing import Final

from partstream.protocols.protocol import JSON_LINES, Protocol, loaded

__all__ = ["PROTOCOL"]


PROTOCOL: Final = Protocol(
    name="ollama",
    read_response=loaded("partstream.protocols.ollama.read_response", "READ_RESPONSE"),
    write_request=loaded("partstream.protocols.ollama.write_request", "WRITE_REQUEST"),
    own_settings=loaded("partstream.protocols.ollama.settings", "OWN_SETTINGS"),
    read_request=loaded("partstream.protocols.ollama.read_request", "READ_REQUEST"),
    write_response=loaded("partstream.protocols.ollama.write_response", "WRITE_RESPONSE"),
    framings=(JSON_LINES,),
    tag=None,
    has_chunks=True,
    title="Ollama",
    spoken_at=loaded("partstream.protocols.ollama.servers", "SPOKEN_AT"),
    says="Ollama's native `/api/chat`",
)
