"""What the words of `finishReason` and `blockReason` mean (docs/wires/gemini.md#finish-reasons)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.read_response import Wire, identifier, mapping
from partstream.usage import FinishReason, UnifiedFinishReason

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FAILURES", "FILTERS", "UNSPECIFIED", "WORDS", "FinishWords"]

FAILURES: Final[Mapping[str, str]] = {
    "MALFORMED_FUNCTION_CALL": "the model made a tool call that the server cannot read",
    "UNEXPECTED_TOOL_CALL": "the model called a tool that it may not call",
    "TOO_MANY_TOOL_CALLS": "the model called more tools in a row than the server allows",
    "MISSING_THOUGHT_SIGNATURE": "a signature of the model's thinking is missing",
    "MALFORMED_RESPONSE": "the model made an answer that the server cannot read",
    "PUP_LIMITED_DISABLED": "the account is limited or disabled, by the policy on prohibited use",
}
"""The words of answers that failed, and what they say to a person."""

FILTERS: Final = (
    "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR", "JAILBREAK", "ESCALATION",
)  # fmt: skip
"""The words of filters, for answers and for prompts."""

WORDS: Final[Mapping[str, UnifiedFinishReason]] = {
    "STOP": UnifiedFinishReason.STOP,
    "MAX_TOKENS": UnifiedFinishReason.LENGTH,
    # The limit of one request: the rest comes for a `continuationToken`.
    "CONTINUATION": UnifiedFinishReason.LENGTH,
    **dict.fromkeys(FILTERS, UnifiedFinishReason.CONTENT_FILTER),
    **dict.fromkeys(FAILURES, UnifiedFinishReason.ERROR),
}
UNSPECIFIED: Final = ("FINISH_REASON_UNSPECIFIED", "BLOCK_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED")


class FinishWords:
    """Why the model stopped, as the candidates and the feedback on the prompt say it.

    Attributes:
        word: The last finish reason, the reason for which the prompt was refused, or None.
        message: What the server says about it, or None.
        is_blocked: Whether the prompt was refused.
    """

    __slots__ = ("is_blocked", "message", "word")

    def __init__(self) -> None:
        self.word: str | None = None
        self.message: str | None = None
        self.is_blocked = False

    def candidate(self, candidate: Wire) -> None:
        """Takes what a candidate says. Proxies say `STOP` on early chunks: the last word counts, and one that says
        something wins over one that says nothing."""
        self._say(identifier(candidate, "finishReason"), identifier(candidate, "finishMessage"))

    def prompt(self, chunk: Wire) -> None:
        """Takes the feedback on the prompt: a refused one has no candidates."""
        feedback = mapping(chunk, "promptFeedback")
        if (word := identifier(feedback, "blockReason")) is not None:
            self.is_blocked = True
            self._say(word, identifier(feedback, "blockReasonMessage"))

    def _say(self, word: str | None, message: str | None) -> None:
        if word is not None and (self.word is None or word not in UNSPECIFIED):
            self.word = word
        self.message = message or self.message

    @property
    def is_said(self) -> bool:
        """Whether the end has been said."""
        return self.word is not None

    @property
    def unified(self) -> UnifiedFinishReason:
        """The reason in the terms of all providers."""
        if self.is_blocked:
            return UnifiedFinishReason.CONTENT_FILTER
        return WORDS.get(self.word or "", UnifiedFinishReason.OTHER)

    @property
    def failure(self) -> str | None:
        """What a person is told of an answer that failed, or None."""
        said = None if self.is_blocked else FAILURES.get(self.word or "")
        return f"{said}: {self.message}" if said and self.message else said

    @property
    def is_cut(self) -> bool:
        """Whether a limit or a filter ended the answer."""
        return self.unified in {UnifiedFinishReason.LENGTH, UnifiedFinishReason.CONTENT_FILTER}

    @property
    def explanation(self) -> str | None:
        """What the server says of an answer that a limit or a filter ended, or None."""
        return self.message if self.is_cut else None

    def reason(self, *, has_calls: bool) -> FinishReason:
        """The finish reason of an answer: no word announces calls (docs/wires/gemini.md#tool-calls)."""
        unified = self.unified
        if has_calls and unified in {UnifiedFinishReason.STOP, UnifiedFinishReason.OTHER}:
            unified = UnifiedFinishReason.TOOL_CALLS
        return FinishReason(unified, self.word)

    def metadata(self) -> Mapping[str, Any]:
        """What the server said about the end, by its own name."""
        return {} if self.message is None else {"finishMessage": self.message}
