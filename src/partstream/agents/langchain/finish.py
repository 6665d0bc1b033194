"""Tokens and the reason of the end, as the messages of LangChain hold them. Source: core 1.x, `UsageMetadata`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.agents.adapter import StepUsage
from partstream.errors import TruncatedStreamError
from partstream.numbers import as_count
from partstream.outputs import Finish, Outcome
from partstream.usage import FinishReason, UnifiedFinishReason, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LastFinish", "StepTokens", "finish_reason_of", "usage_of"]

_REASON_FIELDS: Final = ("finish_reason", "stop_reason", "done_reason")
"""Where packages for models put the reason: OpenAI and Google, Anthropic, Ollama."""
_REASONS: Final[Mapping[str, UnifiedFinishReason]] = {
    "stop": UnifiedFinishReason.STOP,
    "end_turn": UnifiedFinishReason.STOP,
    "stop_sequence": UnifiedFinishReason.STOP,
    "length": UnifiedFinishReason.LENGTH,
    "max_tokens": UnifiedFinishReason.LENGTH,
    "model_length": UnifiedFinishReason.LENGTH,
    "tool_calls": UnifiedFinishReason.TOOL_CALLS,
    "tool_use": UnifiedFinishReason.TOOL_CALLS,
    "function_call": UnifiedFinishReason.TOOL_CALLS,
    "content_filter": UnifiedFinishReason.CONTENT_FILTER,
    "refusal": UnifiedFinishReason.CONTENT_FILTER,
    "safety": UnifiedFinishReason.CONTENT_FILTER,
    # The Responses API has a status in place of a reason.
    "completed": UnifiedFinishReason.STOP,
    "max_output_tokens": UnifiedFinishReason.LENGTH,
}
_SAY_THEIR_END: Final = frozenset({"openai", "anthropic", "google_genai", "ollama"})
"""Whose models always say why they stopped, also in streams; seen with langchain-openai 1.7, langchain-anthropic 1.7,
langchain-google-genai 4.4 and langchain-ollama 1.1."""
_COUNTS: Final[Mapping[str, tuple[str, ...]]] = {
    "input_tokens": ("input_tokens",),
    "output_tokens": ("output_tokens",),
    "total_tokens": ("total_tokens",),
    "cached_tokens": ("input_token_details", "cache_read"),
    "cache_write_tokens": ("input_token_details", "cache_creation"),
    "reasoning_tokens": ("output_token_details", "reasoning"),
}
"""The path of each count of :class:`~partstream.usage.Usage` in `usage_metadata`."""


def finish_reason_of(metadata: Mapping[str, Any]) -> FinishReason | None:
    """Why the model stopped, by the `response_metadata` of a message; None where nothing says it."""
    incomplete = metadata.get("incomplete_details")
    cut = incomplete.get("reason") if isinstance(incomplete, dict) else None
    said = [*(metadata.get(name) for name in _REASON_FIELDS), cut, metadata.get("status")]
    raw = next((one for one in said if isinstance(one, str)), None)
    return None if raw is None else FinishReason(_REASONS.get(raw.lower(), UnifiedFinishReason.OTHER), raw)


def usage_of(metadata: Mapping[str, Any]) -> Usage:
    """The tokens in the `usage_metadata` of a message."""
    counts = {name: as_count(_at(metadata, path)) for name, path in _COUNTS.items()}
    return Usage(**counts, raw=dict(metadata))


class StepTokens:
    """The tokens of the inner requests, each given once: chunks of one message add up."""

    def __init__(self) -> None:
        self._open: dict[str, Usage] = {}

    def add(self, message_id: str, metadata: Mapping[str, Any] | None) -> None:
        """Takes the `usage_metadata` of a message or of a piece of one."""
        if metadata:
            new = usage_of(metadata)
            known = self._open.get(message_id)
            self._open[message_id] = new if known is None else _sum(known, new)

    def close(self, message_id: str) -> list[StepUsage]:
        """The tokens of a message that is whole."""
        usage = self._open.pop(message_id, None)
        return [] if usage is None else [StepUsage(usage)]

    def close_all(self) -> list[StepUsage]:
        """The tokens of all messages that are left."""
        return [one for message_id in list(self._open) for one in self.close(message_id)]


class LastFinish:
    """How the last inner request ended."""

    def __init__(self) -> None:
        self._reason: FinishReason | None = None
        self._model: str | None = None
        self._is_open = False
        self._has_tokens = False

    def note(self, message: Any, provider: str | None) -> None:
        """Takes a message or a chunk of one.

        Args:
            message: The message.
            provider: Whose model said it, in LangChain's name; None where nobody knows.
        """
        metadata = message.response_metadata
        if message.type == "AIMessageChunk" and provider in _SAY_THEIR_END:
            self._is_open = True
        self._has_tokens = self._has_tokens or bool(message.usage_metadata)
        if not metadata:
            return
        self._reason = finish_reason_of(metadata) or self._reason
        model = metadata.get("model_name") or metadata.get("model")
        self._model = model if isinstance(model, str) else self._model

    def begin(self) -> None:
        """Another inner request begins, which has reasons of its own."""
        self._reason, self._is_open, self._has_tokens = None, False, False

    @property
    def finish(self) -> Finish:
        """The end of the answer. The packages for models take the end of the bytes for the end of the answer: an answer
        that says neither why it ended nor what it took was cut."""
        if self._is_open and self._reason is None and not self._has_tokens:
            return Finish(Outcome.TRUNCATED, model=self._model, error=TruncatedStreamError("streaming"))
        return Finish(Outcome.COMPLETED, reason=self._reason, model=self._model)


def _at(metadata: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = metadata
    for name in path:
        value = value.get(name) if hasattr(value, "get") else None
    return value


def _sum(one: Usage, other: Usage) -> Usage:
    counts = {name: _plus(getattr(one, name), getattr(other, name)) for name in _COUNTS}
    return Usage(**counts, raw={**one.raw, **other.raw})


def _plus(one: int | None, other: int | None) -> int | None:
    return other if one is None else one + (other or 0)
