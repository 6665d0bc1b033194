"""Writes usage in the form of `streamText` since version 6, with the field names of version 5 beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from partstream.protocols.ai_sdk.errors import Chunk
    from partstream.usage import Usage

__all__ = ["known", "rest_of", "written_usage"]


def written_usage(usage: Usage) -> Chunk:
    """The tokens as an object; unknown numbers are left out."""
    cached, written, reasoned = usage.cached_tokens, usage.cache_write_tokens, usage.reasoning_tokens
    return known(
        inputTokens=usage.input_tokens,
        inputTokenDetails=known(
            noCacheTokens=rest_of(usage.input_tokens, cached, written),
            cacheReadTokens=cached,
            cacheWriteTokens=written,
        ),
        outputTokens=usage.output_tokens,
        outputTokenDetails=known(textTokens=rest_of(usage.output_tokens, reasoned), reasoningTokens=reasoned),
        totalTokens=usage.total_tokens,
        reasoningTokens=reasoned,
        cachedInputTokens=cached,
    )


def rest_of(total: int | None, *parts: int | None) -> int | None:
    """The rest of a total; unknown if the total or all its parts are unknown."""
    given = [part for part in parts if part is not None]
    return None if total is None or not given else max(total - sum(given), 0)


def known(**fields: object) -> Chunk:
    """The fields that have a value: JSON has no undefined."""
    return {name: value for name, value in fields.items() if value is not None}
