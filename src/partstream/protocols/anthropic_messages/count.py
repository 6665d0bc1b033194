"""Counts a request before it is sent (docs/wires/anthropic-messages.md#models-and-counting)."""

from __future__ import annotations

from typing import Final

from partstream.protocols.protocol import CountEndpoint, count_of_fields

__all__ = ["COUNT", "COUNT_PATH"]

COUNT_PATH: Final = "/messages/count_tokens"

COUNT: Final = CountEndpoint(
    count_of_fields(
        COUNT_PATH,
        frozenset(
            {"model", "messages", "system", "tools", "tool_choice", "thinking", "output_config"}
            | {"cache_control", "context_management"}
        ),
    )
)
