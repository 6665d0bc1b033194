"""OpenResponses: the open form of OpenAI's Responses API, specification of 2026-04-24."""

from __future__ import annotations

from typing import Final

from partstream.protocols.protocol import Protocol, loaded

__all__ = ["PROTOCOL"]


# `[DONE]` only says that the end is near: OpenRouter sends it too early (docs/wires/openresponses.md#openrouter).
PROTOCOL: Final = Protocol(
    name="openresponses",
    read_response=loaded("partstream.protocols.openresponses.read_response", "READ_RESPONSE"),
    write_request=loaded("partstream.protocols.openresponses.write_request", "WRITE_REQUEST"),
    read_request=loaded("partstream.protocols.openresponses.read_request", "READ_REQUEST"),
    write_response=loaded("partstream.protocols.openresponses.write_response", "WRITE_RESPONSE"),
    own_settings=loaded("partstream.protocols.openresponses.settings", "OWN_SETTINGS"),
    has_chunks=True,
    title="OpenResponses",
    says="Servers with `/responses`, such as OpenAI, LM Studio, Ollama or vLLM",
    spoken_at=loaded("partstream.protocols.openresponses.servers", "SPOKEN_AT"),
)
