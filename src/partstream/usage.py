"""Token usage and finish reasons: the unified value beside what the provider itself said."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FinishReason", "UnifiedFinishReason", "Usage"]


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
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)


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
