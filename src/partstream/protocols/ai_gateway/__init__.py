"""The Vercel AI Gateway: the language model specification of the AI SDK over HTTP, versions 2, 3 and 4."""

from __future__ import annotations

from typing import Final

from partstream.protocols.protocol import Protocol, loaded

__all__ = ["PROTOCOL"]


PROTOCOL: Final = Protocol(
    name="ai-gateway",
    read_response=loaded("partstream.protocols.ai_gateway.read_response", "READ_RESPONSE"),
    write_request=loaded("partstream.protocols.ai_gateway.write_request", "WRITE_REQUEST"),
    read_request=loaded("partstream.protocols.ai_gateway.read_request", "READ_REQUEST"),
    own_settings=loaded("partstream.protocols.ai_gateway.settings", "OWN_SETTINGS"),
    write_response=loaded("partstream.protocols.ai_gateway.write_response", "WRITE_RESPONSE"),
    has_chunks=True,
    title="Vercel AI Gateway",
    says="Base URL https://ai-gateway.vercel.sh/v4/ai, or a server like it",
    spoken_at=loaded("partstream.protocols.ai_gateway.servers", "SPOKEN_AT"),
)
