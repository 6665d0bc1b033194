"""The last line of an answer: why it ended, tokens, times, who answered (docs/wires/ollama.md#ends)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.numbers import as_count
from partstream.protocols.read_response import Wire, identifier
from partstream.usage import FinishReason, UnifiedFinishReason, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["COUNTS", "DURATIONS", "LOADED", "METADATA", "UNLOADED", "Ending"]

METADATA: Final = "ollama"
"""The provider's name in the metadata of a Finish."""
COUNTS: Final = ("prompt_eval_count", "eval_count")
"""The tokens of the prompt, cached ones included, and of the answer, thinking included."""
DURATIONS: Final = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")
"""Nanoseconds."""
LOADED: Final = "load"
UNLOADED: Final = "unload"
"""The reasons of answers to a request without messages, which says nothing."""

_REMOTE: Final = ("remote_model", "remote_host")
_LENGTH: Final = UnifiedFinishReason.LENGTH
_FILTER: Final = UnifiedFinishReason.CONTENT_FILTER

_WORDS: Final[Mapping[str, UnifiedFinishReason]] = {
    **dict.fromkeys(("stop", LOADED, UNLOADED), UnifiedFinishReason.STOP),
    "length": _LENGTH,
    # Emulators have the words of Chat Completions.
    "content_filter": _FILTER,
}


class Ending:
    """What is known of the end of one answer, and of the answer as a whole.

    Attributes:
        word: The server's reason, or None.
        model: The name of the model, or None.
        created_at: When the answer began, as the server says it; empty if it does not.
    """

    __slots__ = ("_counts", "_facts", "created_at", "model", "word")

    def __init__(self) -> None:
        self.word: str | None = None
        self.model: str | None = None
        self.created_at = ""
        self._counts: dict[str, int] = {}
        self._facts: dict[str, Any] = {}

    @property
    def is_known(self) -> bool:
        """Whether model and time have come."""
        return self.model is not None and bool(self.created_at)

    def read(self, chunk: Wire) -> None:
        """Takes what a line says beside its message."""
        self.word = identifier(chunk, "done_reason") or self.word
        self.model = self.model or identifier(chunk, "model")
        self.created_at = self.created_at or identifier(chunk, "created_at") or ""
        for name in COUNTS:
            if (count := as_count(chunk.get(name))) is not None:
                self._counts[name] = count
        for name in DURATIONS:
            if (duration := as_count(chunk.get(name))) is not None:
                self._facts[name] = duration
        for name in _REMOTE:
            if said := identifier(chunk, name):
                self._facts[name] = said

    @property
    def usage(self) -> Usage | None:
        """The reported tokens, or None. A count of 0 is left out by the server, and an unknown one never becomes 0."""
        if not self._counts:
            return None
        given, made = (self._counts.get(name) for name in COUNTS)
        total = given + made if given is not None and made is not None else None
        return Usage(given, made, total, raw=dict(self._counts))

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Times in nanoseconds, and where a cloud model ran, by the names of their fields."""
        return {METADATA: dict(self._facts)} if self._facts else {}

    @property
    def is_cut(self) -> bool:
        """Whether a limit or a filter ended the answer."""
        return _WORDS.get(self.word or "") in {_LENGTH, _FILTER}

    def reason(self, *, has_calls: bool) -> FinishReason:
        """The finish reason: `stop` comes with calls too (docs/wires/ollama.md#ends)."""
        if has_calls:
            return FinishReason(UnifiedFinishReason.TOOL_CALLS, self.word)
        return FinishReason(_WORDS.get(self.word or "", UnifiedFinishReason.OTHER), self.word)
