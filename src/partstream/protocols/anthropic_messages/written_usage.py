"""The tokens of an answer that is written.

Here `input_tokens` leaves the prompt cache out: the prompt is the sum of three fields
(docs/wires/anthropic-messages.md#usage). A stream begins with estimates, and its end has the numbers that count.

Source: `anthropic` 2.12.0, `types/usage.py` and `types/message_delta_usage.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partstream.usage import Usage

__all__ = ["usage_at_end", "usage_at_start"]


def usage_at_start() -> dict[str, Any]:
    """The usage of `message_start`; the official types demand numbers."""
    return {
        "input_tokens": 0,
        "cache_creation_input_tokens": None,
        "cache_read_input_tokens": None,
        "output_tokens": 0,
    }


def usage_at_end(usage: Usage | None) -> dict[str, Any]:
    """The usage of `message_delta`: what is known, and the tokens of the answer, which the official types demand."""
    if usage is None:
        return {"output_tokens": 0}
    written: dict[str, Any] = {}
    if usage.input_tokens is not None:
        cached = (usage.cached_tokens or 0) + (usage.cache_write_tokens or 0)
        written["input_tokens"] = max(0, usage.input_tokens - cached)
    if usage.cache_write_tokens is not None:
        written["cache_creation_input_tokens"] = usage.cache_write_tokens
    if usage.cached_tokens is not None:
        written["cache_read_input_tokens"] = usage.cached_tokens
    written["output_tokens"] = usage.output_tokens or 0
    if usage.reasoning_tokens is not None:
        written["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    return written
