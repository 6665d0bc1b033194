"""Anthropic Messages: Anthropic's `POST /v1/messages`, as Claude and many other servers speak it."""

from __future__ import annotations

from typing import Final

from partstream.protocols.protocol import JSON_LINES, LENIENT_SSE, EndMark, Protocol, Terminators, loaded

__all__ = ["PROTOCOL"]


# Only proxies send `[DONE]`, after `message_stop` or in its place (docs/wires/anthropic-messages.md#events).
PROTOCOL: Final = Protocol(
    name="anthropic-messages",
    read_response=loaded("partstream.protocols.anthropic_messages.read_response", "READ_RESPONSE"),
    write_request=loaded("partstream.protocols.anthropic_messages.write_request", "WRITE_REQUEST"),
    own_settings=loaded("partstream.protocols.anthropic_messages.settings", "OWN_SETTINGS"),
    spoken_at=loaded("partstream.protocols.anthropic_messages.servers", "SPOKEN_AT"),
    read_request=loaded("partstream.protocols.anthropic_messages.read_request", "READ_REQUEST"),
    write_response=loaded("partstream.protocols.anthropic_messages.write_response", "WRITE_RESPONSE"),
    framings=(LENIENT_SSE, JSON_LINES),
    ends=Terminators(data={b"[DONE]": EndMark(closes=True, completes=True)}),
    has_chunks=True,
    title="Anthropic Messages",
    says="Servers with `/messages`, such as Anthropic, Ollama, vLLM or llama.cpp",
)
