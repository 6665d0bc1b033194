"""Token usage and finish reasons: the unified value beside what the provider itself said."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from partstream.parts import DataPart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "COST_KEY",
    "EDITS_KEY",
    "SOURCE_KEY",
    "USAGE_MIME_TYPE",
    "FinishReason",
    "UnifiedFinishReason",
    "Usage",
    "usage_part",
]

USAGE_MIME_TYPE: Final = "usage"
"""The media type of the part that tells Copilot the usage (`CustomDataPartMimeTypes.Usage`)."""

# Fields of our own beside Copilot's, which ignores them.
SOURCE_KEY: Final = "partstream_source"
"""Where the numbers come from, where the upstream did not report them: `estimated`."""
COST_KEY: Final = "partstream_cost"
"""What the answer costs, in US dollars, where that is known."""
EDITS_KEY: Final = "partstream_edits"
"""What the upstream took out of the conversation by itself: a list of short phrases."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one model call, as the upstream reported them.

    Every number is a count of tokens, or None where the upstream said nothing: nothing unknown becomes 0.

    Attributes:
        input_tokens: All tokens of the prompt, the cached ones included.
        output_tokens: All tokens of the answer, the reasoning included.
        total_tokens: Their sum as reported, or as added up when both are known and the sum was not given.
        cached_tokens: The part of `input_tokens` that was read from the upstream's prompt cache.
        reasoning_tokens: The part of `output_tokens` that was spent on reasoning.
        raw: The upstream's own object, unchanged.
        cache_write_tokens: The part of `input_tokens` that was put into the upstream's prompt cache.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)
    cache_write_tokens: int | None = None


class UnifiedFinishReason(StrEnum):
    """Why a model stopped, in the words that the Vercel AI SDK uses for every provider."""

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content-filter"
    TOOL_CALLS = "tool-calls"
    ERROR = "error"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class FinishReason:
    """Why the model stopped.

    Attributes:
        unified: One word for all providers.
        raw: The provider's own word, or None where it gave none.
    """

    unified: UnifiedFinishReason
    raw: str | None = None


def usage_part(usage: Usage, cost: float | None = None, edits: Sequence[str] = ()) -> DataPart | None:
    """The data part of media type `usage` by which VS Code's context widget learns the numbers; None when the upstream
    did not say both input and output, because VS Code ignores the whole part then.

    Args:
        usage: What the upstream reported.
        cost: What the answer costs, in US dollars.
        edits: What the upstream took out of the conversation by itself.

    Source: facts of VS Code 1.139, Copilot 0.67: JSON in the field names of Chat Completions, all three counts numbers.
    """
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    payload: dict[str, Any] = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens or usage.input_tokens + usage.output_tokens,
    }
    details = {"cached_tokens": usage.cached_tokens, "cache_creation_input_tokens": usage.cache_write_tokens}
    if known := {name: count for name, count in details.items() if count is not None}:
        payload["prompt_tokens_details"] = known
    if usage.reasoning_tokens is not None:
        payload["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    if cost is not None:
        payload[COST_KEY] = cost
    if edits:
        payload[EDITS_KEY] = list(edits)
    return DataPart.json(payload, USAGE_MIME_TYPE)
