"""Anthropic Messages: Anthropic's `POST /v1/messages`, as Claude and many other servers speak it.

:data:`SPOKEN_AT` says only where the known servers are, and whether everything gets through
(docs/wires/anthropic-messages.md#servers). What a server wants in another form is a row in the module `models`.
"""

from __future__ import annotations
from typing import Final

from partstream.protocols.protocol import ENDED_BY_DONE, JSON_LINES, LENIENT_SSE, Protocol, ServerProtocol, loaded

PREFIX: Final = "anthropic/"
"""Claude Code shows only models whose ids begin with `claude` or `anthropic`: each other model is listed a second time,
under this prefix and its id, and may be asked for by that name."""

# Only proxies send `[DONE]`, after `message_stop` or in its place (docs/wires/anthropic-messages.md#events).
PROTOCOL: Final = Protocol(
    name="anthropic-messages",
    read_response=loaded("partstream.protocols.anthropic_messages.read_response", "MessagesStream"),
    write_request=loaded("partstream.protocols.anthropic_messages.write_request", "WRITE_REQUEST"),
    own_settings=loaded("partstream.protocols.anthropic_messages.models", "OWN_SETTINGS"),
    spoken_at=loaded("partstream.protocols.anthropic_messages", "SPOKEN_AT"),
    read_request=loaded("partstream.protocols.anthropic_messages.serve", "READ_REQUEST"),
    write_response=loaded("partstream.protocols.anthropic_messages.serve", "MessagesResponseWriter"),
    framings=(LENIENT_SSE, JSON_LINES),
    ends=ENDED_BY_DONE,
    has_chunks=True,
    title="Anthropic Messages",
    says="Servers with `/messages`, such as Anthropic, Ollama, vLLM or llama.cpp",
    paths=("/messages",),
    request_id_header="request-id",
    aliases=(PREFIX,),
)

# Where not everything gets through: server, base URL, what is missing, section of docs/wires/anthropic-messages.md.
_IN_PART: Final = (
    ("openrouter", "https://openrouter.ai/api/v1",
     "models of other makers are translated, and their thinking comes without a signature",
     "servers"),
    ("ollama", "http://localhost:11434/v1",
     "a prompt that is too long is cut without a word, and files do not get through",
     "requests-that-are-too-long"),
    ("lm-studio", "http://localhost:1234/v1",
     "files do not get through",
     "servers"),
    ("llama.cpp", "http://localhost:8080/v1",
     "a call is whole only at the end of the answer",
     "deviations-of-servers"),
    ("vllm", "http://localhost:8000/v1",
     "why an answer ended is not always said, and what came from the cache never is",
     "usage"),
    ("deepseek", "https://api.deepseek.com/anthropic/v1",
     "the names of models are mapped, and images do not get through",
     "servers"),
    ("moonshot", "https://api.moonshot.ai/anthropic/v1",
     "thinking comes without a signature, and files do not get through",
     "servers"),
    ("zhipu", "https://api.z.ai/api/anthropic/v1",
     "thinking comes with a signature of its own kind, and files do not get through",
     "servers"),
    ("minimax", "https://api.minimax.io/anthropic/v1",
     "some models cannot stop thinking, and files do not get through",
     "servers"),
    ("litellm", "http://localhost:4000/v1",
     "models of other makers are translated, with blocks in the wrong order",
     "deviations-of-servers"),
)  # fmt: skip

SPOKEN_AT: Final = (
    ServerProtocol(
        "anthropic",
        "https://api.anthropic.com/v1",
        source="docs/wires/anthropic-messages.md; platform.claude.com/docs, Messages API; recordings anthropic-*",
    ),
    *(
        ServerProtocol(
            server, url, is_complete=False, reason=reason, source=f"docs/wires/anthropic-messages.md#{section}"
        )
        for server, url, reason, section in _IN_PART
    ),
)
