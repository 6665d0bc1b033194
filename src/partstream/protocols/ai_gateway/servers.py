"""The known servers that speak the protocol of the AI Gateway."""

from __future__ import annotations

from typing import Final

from partstream.protocols.protocol import SpokenAt

__all__ = ["SPOKEN_AT"]

SPOKEN_AT: Final = (
    SpokenAt(
        "vercel",
        "https://ai-gateway.vercel.sh/v4/ai",
        is_complete=True,
        reason="",
        source="facts ai-sdk.md, the gateway's default base URL of the AI SDK 7; recordings of @ai-sdk/gateway 4.0.146",
    ),
)
