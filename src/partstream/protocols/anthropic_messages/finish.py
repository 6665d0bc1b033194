"""The meaning of `stop_reason` (docs/wires/anthropic-messages.md#stop-reasons), for answers with and without calls."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from partstream.outputs import Outcome
from partstream.protocols.read_response import Wire, identifier, mapping
from partstream.usage import FinishReason, UnifiedFinishReason

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PAUSED", "WORDS", "StopReason"]

PAUSED: Final = "pause_turn"
"""The server's own tools have run as often as they may in one request: the answer goes on in the next."""

WORDS: Final[Mapping[str, UnifiedFinishReason]] = MappingProxyType(
    {
        "end_turn": UnifiedFinishReason.STOP,
        "tool_use": UnifiedFinishReason.TOOL_CALLS,
        "stop_sequence": UnifiedFinishReason.STOP,
        "max_tokens": UnifiedFinishReason.LENGTH,
        "model_context_window_exceeded": UnifiedFinishReason.LENGTH,
        "refusal": UnifiedFinishReason.CONTENT_FILTER,
        PAUSED: UnifiedFinishReason.OTHER,
        "compaction": UnifiedFinishReason.OTHER,
        # Words of Chat Completions that gateways pass on.
        "stop": UnifiedFinishReason.STOP,
        "tool_calls": UnifiedFinishReason.TOOL_CALLS,
        "length": UnifiedFinishReason.LENGTH,
        "content_filter": UnifiedFinishReason.CONTENT_FILTER,
    }
)
"""The words, those of the documentation first."""

_CUT: Final = frozenset({UnifiedFinishReason.LENGTH, UnifiedFinishReason.CONTENT_FILTER})
_UNFINISHED: Final = frozenset({PAUSED, "compaction"})


class StopReason:
    """Why the model stopped.

    Attributes:
        word: The server's word, or None: Ollama leaves it out where it knows none.
        sequence: The stop sequence that the model said, or None.
        details: What a refusal says of itself; empty for other reasons.
    """

    __slots__ = ("details", "sequence", "word")

    def __init__(self) -> None:
        self.word: str | None = None
        self.sequence: str | None = None
        self.details: Wire = {}

    def say(self, source: Any) -> None:
        """Takes a message or the `delta` of a `message_delta`; null and `""` say nothing."""
        self.word = identifier(source, "stop_reason") or self.word
        self.sequence = identifier(source, "stop_sequence") or self.sequence
        self.details = mapping(source, "stop_details") or self.details

    @property
    def unified(self) -> UnifiedFinishReason:
        """The term for all providers, whatever the answer holds."""
        if self.word is None:
            return UnifiedFinishReason.STOP
        return WORDS.get(self.word, UnifiedFinishReason.OTHER)

    @property
    def is_cut(self) -> bool:
        """Whether something stopped the model before it was done: a limit, a filter, or a pause."""
        return self.unified in _CUT or self.word in _UNFINISHED

    def outcome(self, *, has_calls: bool) -> Outcome:
        """How the response ended, if it is whole.

        Args:
            has_calls: Whether calls were handed out: those are no pause, whatever the word is.
        """
        is_cut = self.unified in _CUT or (self.word in _UNFINISHED and not has_calls)
        return Outcome.INCOMPLETE if is_cut else Outcome.COMPLETED

    @property
    def explanation(self) -> str | None:
        """What the server says of a refusal, or None."""
        return identifier(self.details, "explanation")

    def reason(self, *, has_calls: bool) -> FinishReason:
        """The finish reason of an answer.

        Args:
            has_calls: Whether calls were handed out: LiteLLM says `end_turn` with them.
        """
        unified = self.unified
        if has_calls and unified not in _CUT:
            unified = UnifiedFinishReason.TOOL_CALLS
        elif unified is UnifiedFinishReason.TOOL_CALLS and not has_calls:
            unified = UnifiedFinishReason.OTHER  # tools of the server wait, and no call is the client's
        return FinishReason(unified, self.word)
