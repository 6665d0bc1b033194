"""Which field of which part of the AI Gateway is a piece of which text: its parts are those of the AI SDK."""

from __future__ import annotations

from partstream.protocols.ai_sdk.fragments import FRAGMENTS

__all__ = ["FRAGMENTS"]
