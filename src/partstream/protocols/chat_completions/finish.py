"""What the words of `finish_reason` mean; calls decide (docs/wires/chat-completions.md#finish-reasons)."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from partstream.usage import FinishReason, UnifiedFinishReason

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FAILURES", "WORDS", "FinishWords"]

_STOP: Final = UnifiedFinishReason.STOP
_LENGTH: Final = UnifiedFinishReason.LENGTH
_FILTER: Final = UnifiedFinishReason.CONTENT_FILTER
_ERROR: Final = UnifiedFinishReason.ERROR

ABORTED: Final = "abort"
"""SGLang's word for an answer that it stopped itself."""

FAILURES: Final[Mapping[str, str]] = {
    "error": "it gave no reason",
    "network_error": "a network error on its side",  # GLM
    "insufficient_system_resource": "it has too few resources",  # DeepSeek
    ABORTED: "it stopped the answer",
    "malformed_function_call": "the model made a malformed tool call",
    "unexpected_tool_call": "the model called a tool that it may not call",
    "missing_thought_signature": "a signature of the model's thinking is missing",
}
"""The words of answers that failed, in lower case, and what they say to a person."""

_OVERFLOWS: Final = frozenset({"model_context_window_exceeded", "compaction"})
"""The words for a window that was full: with nothing said, the input was too long."""

WORDS: Final[Mapping[str, UnifiedFinishReason]] = {
    **dict.fromkeys(("stop", "eos", "eos_token", "end", "end_turn", "stop_sequence", "complete"), _STOP),
    **dict.fromkeys(("tool_calls", "function_call", "tool_use"), UnifiedFinishReason.TOOL_CALLS),
    # Mistral's, Z.ai's and Google's words among them.
    **dict.fromkeys(
        ("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded", "compaction"),
        _LENGTH,
    ),
    **dict.fromkeys(
        (
            "content_filter", "content_filtered", "safety", "recitation", "blocklist", "prohibited_content", "spii",
            "sensitive", "refusal", "guardrail_intervened",
        ),
        _FILTER,
    ),
    **dict.fromkeys(FAILURES, _ERROR),
}  # fmt: skip
"""The meaning of a word in lower case. Words of other wires come through gateways."""


class _Rank(IntEnum):
    """How much a word says: of two, the one that says more counts, else the first."""

    UNKNOWN = 0
    STOP = 1
    CUT = 2
    CALLS = 3
    FAILURE = 4


_RANKS: Final[Mapping[UnifiedFinishReason, _Rank]] = {
    UnifiedFinishReason.OTHER: _Rank.UNKNOWN,
    _STOP: _Rank.STOP,
    _LENGTH: _Rank.CUT,
    _FILTER: _Rank.CUT,
    UnifiedFinishReason.TOOL_CALLS: _Rank.CALLS,
    _ERROR: _Rank.FAILURE,
}


class _Said(NamedTuple):
    """A word, its meaning, and the word of the model's own server where a gateway says it too."""

    word: str
    unified: UnifiedFinishReason
    native: str | None


class FinishWords:
    """The finish reasons of one answer."""

    __slots__ = ("_said",)

    def __init__(self) -> None:
        self._said: _Said | None = None

    def say(self, word: object, native: str | None) -> None:
        """Takes a finish reason; null and `""` are none."""
        if not isinstance(word, str) or not word:
            return
        unified = WORDS.get(word.lower(), UnifiedFinishReason.OTHER)
        if self._said is None or _RANKS[unified] > _RANKS[self._said.unified]:
            self._said = _Said(word, unified, native)

    @property
    def is_said(self) -> bool:
        """Whether a reason has come."""
        return self._said is not None

    @property
    def raw(self) -> str | None:
        """The server's word, or None."""
        return None if self._said is None else self._said.word

    @property
    def native(self) -> str | None:
        """The word of the model's own server, as a gateway passes it on, or None."""
        return None if self._said is None else self._said.native

    @property
    def failure(self) -> str | None:
        """The word of a failure in lower case, or None."""
        said = self._said
        return said.word.lower() if said is not None and said.unified is _ERROR else None

    @property
    def is_cut(self) -> bool:
        """Whether a limit or a filter ended the answer."""
        return self._said is not None and self._said.unified in {_LENGTH, _FILTER}

    @property
    def overflow(self) -> str | None:
        """The word that says that the window was full, in lower case, or None."""
        word = None if self._said is None else self._said.word.lower()
        return word if word in _OVERFLOWS else None

    def reason(self, *, has_calls: bool) -> FinishReason:
        """The finish reason of an answer."""
        if has_calls:
            return FinishReason(UnifiedFinishReason.TOOL_CALLS, self.raw)
        unified = UnifiedFinishReason.OTHER if self._said is None else self._said.unified
        if unified is UnifiedFinishReason.TOOL_CALLS:  # a parser of the server that failed: there is no call
            unified = UnifiedFinishReason.OTHER
        return FinishReason(unified, self.raw)
