"""Writes the tokens of an answer (docs/wires/gemini.md#usage)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from partstream.usage import Usage

__all__ = ["written_usage"]


def written_usage(usage: Usage | None) -> dict[str, int] | None:
    """The `usageMetadata` of an answer: its thoughts stand beside its other tokens, the total is their sum. None where
    nothing is known."""
    if usage is None:
        return None
    given, made, thoughts = usage.input_tokens, usage.output_tokens, usage.reasoning_tokens
    if made is None or thoughts is None or thoughts > made:
        thoughts = None
    counts = {
        "promptTokenCount": given,
        "candidatesTokenCount": None if made is None else made - (thoughts or 0),
        "thoughtsTokenCount": thoughts,
        "totalTokenCount": None if given is None or made is None else given + made,
        "cachedContentTokenCount": usage.cached_tokens,
    }
    return {name: count for name, count in counts.items() if count is not None} or None
