"""Chat Completions: OpenAI's `POST /chat/completions`, as some thirty servers speak it."""

from __future__ import annotations

from typing import Final

from partstream.protocols.protocol import JSON_LINES, LENIENT_SSE, EndMark, Protocol, Terminators, loaded

__all__ = ["PROTOCOL"]


# `[DONE]` ends the answer, because proxies keep the connection open after it. Servers that leave it out send a finish
# reason, which the adapter handles (docs/wires/chat-completions.md#framing).
PROTOCOL: Final = Protocol(
    name="chat-completions",
    read_response=loaded("partstream.protocols.chat_completions.read_response", "READ_RESPONSE"),
    write_request=loaded("partstream.protocols.chat_completions.write_request", "WRITE_REQUEST"),
    own_settings=loaded("partstream.protocols.chat_completions.settings", "OWN_SETTINGS"),
    framings=(LENIENT_SSE, JSON_LINES),
    read_request=loaded("partstream.protocols.chat_completions.read_request", "READ_REQUEST"),
    write_response=loaded("partstream.protocols.chat_completions.write_response", "WRITE_RESPONSE"),
    tag=None,
    ends=Terminators(data={b"[DONE]": EndMark(closes=True, completes=True)}),
    has_chunks=True,
    title="Chat Completions",
    spoken_at=loaded("partstream.protocols.chat_completions.servers", "SPOKEN_AT"),
    says="Servers with `/chat/completions`: most model servers",
)
