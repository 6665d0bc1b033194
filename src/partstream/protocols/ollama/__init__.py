"""Ollama: its native `POST /api/chat`, lines of JSON."""

from __future__ import annotations

from typing import Final

from partstream.protocols.framings import JSON_LINES
from partstream.protocols.protocol import Protocol, loaded

__all__ = ["PROTOCOL"]


PROTOCOL: Final = Protocol(
    name="ollama",
    read_response=loaded("partstream.protocols.ollama.read_response", "READ_RESPONSE"),
    framings=(JSON_LINES,),
    tag=None,
    has_chunks=True,
    title="Ollama",
    says="Ollama's native `/api/chat`",
)
