"""Reads an answer of the gateway: the stream of a provider, or the document of a client that wants no stream."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from partstream.protocols.ai_gateway.documents import chunks_of
from partstream.protocols.ai_sdk.read_response import PROVIDER_STREAM

__all__ = ["READ_RESPONSE"]

READ_RESPONSE: Final = replace(PROVIDER_STREAM, events_of=chunks_of)
