"""The known servers that speak the protocol of the AI Gateway."""

from __future__ import annotations

from typing import Final

from partstream.protocols.protocol import ServerProtocol

__all__ = ["SPOKEN_AT"]

_SOURCE: Final = (
    "docs/wires/ai-sdk.md#gateway-requests, the base URLs of AI SDK 7, 6 and 5; recordings of @ai-sdk/gateway"
)

SPOKEN_AT: Final = tuple(
    ServerProtocol("vercel", f"https://ai-gateway.vercel.sh/{version}/ai", is_complete=True, reason="", source=_SOURCE)
    for version in ("v4", "v3", "v1")
)
"""The newest version first: it is the one that a person gets who names no other."""
