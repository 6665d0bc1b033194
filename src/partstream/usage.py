"""Token usage and finish reasons: one unified form for all providers, beside the provider's own."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import MOST_DOLLARS, TEXT, as_amount, as_count, check_fields, instance_of, optional
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
"""The media type of the data part from which Copilot reads the usage (`CustomDataPartMimeTypes.Usage`)."""

# Our own fields beside Copilot's; Copilot ignores them.
SOURCE_KEY: Final = "partstream_source"
"""The source of the numbers if the upstream did not report them: `estimated`."""
COST_KEY: Final = "partstream_cost"
"""The cost of the answer in US dollars, if known."""
EDITS_KEY: Final = "partstream_edits"
"""The upstream's own cuts to the conversation: a list of short phrases."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one model call, as the upstream reported them.

    Every count is in tokens, or None if the upstream did not report it: an unknown count never becomes 0.

    Attributes:
        input_tokens: All tokens of the prompt, including the cached ones.
        output_tokens: All tokens of the answer, including the reasoning.
        total_tokens: Their sum as reported, or computed if both are known and the sum was not reported.
        cached_tokens: The part of `input_tokens` that was read from the upstream's prompt cache.
        reasoning_tokens: The part of `output_tokens` that was spent on reasoning.
        raw: The upstream's usage object, unchanged.
        cache_write_tokens: The part of `input_tokens` that was written to the upstream's prompt cache.
        context_tokens: The prompt of the last call of the model, which fills its context window, where `input_tokens`
            counts those of several calls, as of tools that the upstream runs; None where it is `input_tokens`.

    Example:
        >>> from partstream import Usage
        >>> usage = Usage(input_tokens=9, output_tokens=5)
        >>> usage.output_tokens, usage.cached_tokens
        (5, None)
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)
    cache_write_tokens: int | None = None
    context_tokens: int | None = None


class UnifiedFinishReason(StrEnum):
    """Why a model stopped, in the Vercel AI SDK's terms for all providers."""

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
        unified: The term for all providers.
        raw: The provider's own term, or None.

    Example:
        >>> from partstream import FinishReason, UnifiedFinishReason
        >>> reason = FinishReason(UnifiedFinishReason.LENGTH, raw="max_tokens")
        >>> str(reason.unified), reason.raw
        ('length', 'max_tokens')
    """

    unified: UnifiedFinishReason
    raw: str | None = None

    def __post_init__(self) -> None:
        check_fields(self, _FINISH_REASON)


_FINISH_REASON: Final = {
    "unified": instance_of(UnifiedFinishReason, "a UnifiedFinishReason, such as UnifiedFinishReason.STOP"),
    "raw": optional(TEXT),
}


def usage_part(usage: Usage, cost: float | None = None, edits: Sequence[str] = ()) -> DataPart | None:
    """The data part of media type `usage`, from which VS Code's context widget reads the numbers. None if the upstream
    did not report both input and output: VS Code ignores a part without them. A number that no count can be is unknown.
    The prompt is the one that fills the window: the widget shows how full that is.

    Args:
        usage: The reported usage.
        cost: The cost of the answer in US dollars.
        edits: The upstream's own cuts to the conversation, a phrase each.

    Source: observed in VS Code 1.139, Copilot 0.67: JSON with the field names of Chat Completions; all three counts are
    numbers.
    """
    given, completion = as_count(usage.input_tokens), as_count(usage.output_tokens)
    if given is None or completion is None:
        return None
    context = as_count(usage.context_tokens)
    prompt = given if context is None else context
    payload: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": (context is None and as_count(usage.total_tokens)) or prompt + completion,
    }
    details = {"cached_tokens": usage.cached_tokens, "cache_creation_input_tokens": usage.cache_write_tokens}
    counts = {name: as_count(count) for name, count in details.items()}
    if known := {name: count for name, count in counts.items() if count is not None}:
        payload["prompt_tokens_details"] = known
    if (reasoning := as_count(usage.reasoning_tokens)) is not None:
        payload["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    if (dollars := as_amount(cost, MOST_DOLLARS)) is not None:
        payload[COST_KEY] = dollars
    if edits:
        payload[EDITS_KEY] = list(edits)
    return DataPart.json(payload, USAGE_MIME_TYPE)
