"""The endpoint that counts a request of OpenResponses; source: OpenAI's reference, `POST /responses/input_tokens`."""

from __future__ import annotations

from typing import Final

from partstream.protocols.protocol import CountEndpoint, count_of_fields

__all__ = ["COUNT"]

COUNT: Final = CountEndpoint(
    count_of_fields(
        "/responses/input_tokens",
        frozenset(
            {"conversation", "input", "instructions", "model", "parallel_tool_calls", "previous_response_id"}
            | {"reasoning", "text", "tool_choice", "tools", "truncation"}
        ),
    )
)
