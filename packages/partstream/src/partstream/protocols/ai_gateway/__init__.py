"""The Vercel AI Gateway: the language model specification of the AI SDK over HTTP, versions 2, 3 and 4."""

from __future__ import annotations
from typing import Final

from partstream.protocols.protocol import Protocol, ServerProtocol, loaded

OF_BASE_PATHS: Final = {"/v3/ai": 3, "/v1/ai": 2, "/v4/ai": 4}
"""The version of the specification, by the base path of each major version of the published client."""

PROTOCOL: Final = Protocol(
    name="ai-gateway",
    read_response=loaded("partstream.protocols.ai_sdk.read_response", "ProviderStreamReader"),
    write_request=loaded("partstream.protocols.ai_gateway.write_request", "WRITE_REQUEST"),
    read_request=loaded("partstream.protocols.ai_gateway.serve", "READ_REQUEST"),
    own_settings=loaded("partstream.protocols.ai_gateway.models", "OWN_SETTINGS"),
    write_response=loaded("partstream.protocols.ai_gateway.serve", "GatewayWriter"),
    has_chunks=True,
    title="Vercel AI Gateway",
    says="Base URL https://ai-gateway.vercel.sh/v4/ai, or a server like it",
    spoken_at=loaded("partstream.protocols.ai_gateway", "SPOKEN_AT"),
    paths=("/language-model",),
    base_paths=tuple(OF_BASE_PATHS),
)

_SOURCE: Final = (
    "docs/wires/ai-sdk.md#gateway-requests, the base URLs of AI SDK 7, 6 and 5; recordings of @ai-sdk/gateway"
)

SPOKEN_AT: Final = tuple(
    ServerProtocol("vercel", f"https://ai-gateway.vercel.sh/{version}/ai", is_complete=True, reason="", source=_SOURCE)
    for version in ("v4", "v3", "v1")
)
"""The known servers, the newest version first: a person who names no version gets that one."""
