"""Anthropic Messages, beside the types of the package `anthropic`: those of its betas, which hold all others."""

from __future__ import annotations
from typing import Final

from interop.freshness.facts import Fact, Wire
from partstream.protocols.anthropic_messages.read_response import BLOCKS, DELTAS, EVENTS, WORDS

__all__ = ["WIRE"]

_BETA: Final = "anthropic.types.beta"
_KEPT: Final = "opened without an effect: its arguments or its result go back to the server as they are"
_BLOCKS: Final = {
    "*_tool_result": _KEPT,
    "*_tool_use": _KEPT,
    "tool_use": "opened without an effect: it is a call when it closes",
    "container_upload": _KEPT,
    "mcp_tool_listing": _KEPT,
    "redacted_thinking": "opened without an effect: it is kept whole when it closes",
}
_EVENTS_OF_SERVERS: Final = {"error": "servers", "ping": "servers"}
"""The package reads them before it makes objects of events."""
_WORDS_OF_GATEWAYS: Final = dict.fromkeys(("content_filter", "length", "stop", "tool_calls"), "gateways")

WIRE: Final = Wire(
    "anthropic-messages",
    "anthropic",
    "pypi",
    (
        Fact("an event", f"{_BETA}:BetaRawMessageStreamEvent", "type", EVENTS, foreign=_EVENTS_OF_SERVERS),
        Fact("a delta", f"{_BETA}:BetaRawContentBlockDelta", "type", DELTAS),
        Fact("a block", f"{_BETA}:BetaContentBlock", "type", BLOCKS, _BLOCKS),
        Fact("a stop reason", f"{_BETA}:BetaStopReason", "", WORDS, foreign=_WORDS_OF_GATEWAYS),
        Fact("a citation", f"{_BETA}:BetaTextCitation", "type"),
        Fact("the usage", f"{_BETA}:BetaUsage"),
        Fact(
            "an event without betas",
            "anthropic.types:RawMessageStreamEvent",
            "type",
            EVENTS,
            foreign=_EVENTS_OF_SERVERS,
        ),
    ),
)
