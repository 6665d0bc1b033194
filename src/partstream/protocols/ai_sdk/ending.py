"""The end of a response in every version: tokens, finish reason, identity and provider metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.outputs import Finish, Outcome
from partstream.protocols.ai_sdk.fields import (
    TOTAL_USAGE,
    Chunk,
    Names,
    count,
    field,
    identifier,
    mapping,
    merge,
    metadata,
)
from partstream.protocols.read_response import applied_edits
from partstream.usage import FinishReason, UnifiedFinishReason, Usage

if TYPE_CHECKING:
    from partstream.errors import LanguageModelError

__all__ = ["INTERRUPTED", "Ending"]

_INPUT: Final[Names] = ("inputTokens", "promptTokens")
_OUTPUT: Final[Names] = ("outputTokens", "completionTokens")
INTERRUPTED: Final = "interrupted"
"""The finish reason of a stream of a provider that broke off."""

# Words for "nobody said": version 4 and 5, then 6.
_UNKNOWN_REASONS: Final = frozenset({"unknown", "other"})


class Ending:
    """Collects the end of one response, step by step.

    Attributes:
        reason: The finish reason that was said last, or None.
        provider_metadata: What providers said of the whole response, by their names.
    """

    def __init__(self) -> None:
        self.reason: FinishReason | None = None
        self.provider_metadata: dict[str, Any] = {}
        self._steps: list[Usage] = []
        self._totals: list[Usage] = []
        self._message_usage: Usage | None = None
        self._response_id: str | None = None
        self._message_id: str | None = None
        self._model: str | None = None

    def identify(self, chunk: Chunk) -> None:
        """Takes the message's identifier, which is used if the response's own is never stated."""
        self._message_id = self._message_id or identifier(chunk, ("messageId",))
        self.message_metadata(chunk)

    def respond(self, response: Chunk) -> None:
        """Takes identity from a response object."""
        self._response_id = identifier(response, ("id",)) or self._response_id
        self._model = identifier(response, ("modelId",)) or self._model

    def message_metadata(self, chunk: Chunk) -> None:
        """Takes the application's metadata of its message; the UI stream has no other place for tokens."""
        said = mapping(chunk, ("messageMetadata",))
        if said:
            merge(self.provider_metadata, "messageMetadata", said)
            self._message_usage = _usage(mapping(said, TOTAL_USAGE), self.reason) or self._message_usage

    def remember(self, by_provider: Chunk) -> None:
        """Takes provider metadata of the whole response; later values of a provider win."""
        for provider, said in by_provider.items():
            merge(self.provider_metadata, provider, said)

    def finish_step(self, chunk: Chunk) -> None:
        """Takes the end of a step."""
        self.reason = _reason(chunk) or self.reason
        usage = _usage(mapping(chunk, ("usage",)), self.reason)
        if usage is not None:
            self._steps.append(usage)
        self.respond(mapping(chunk, ("response",)))
        self.remember(metadata(chunk))

    def finish(self, chunk: Chunk) -> None:
        """Takes the end of an answer. There is one, unless an application streams several answers as one."""
        self.reason = _reason(chunk) or self.reason
        total = _usage(mapping(chunk, TOTAL_USAGE), self.reason)
        self._totals += [total] if total is not None else []
        self.respond(mapping(chunk, ("response",)))
        self.remember(metadata(chunk))
        self.message_metadata(chunk)

    @property
    def interrupted(self) -> bool:
        """Whether the provider's stream broke off; version 7 says so, earlier versions say `unknown` or `other`."""
        return self.reason is not None and self.reason.raw == INTERRUPTED

    @property
    def complete(self) -> bool:
        """Whether the stream gives no sign that anything was cut."""
        return not self.interrupted and (self.reason is None or self.reason.unified not in _CUTTING)

    @property
    def usage(self) -> Usage | None:
        """The tokens that were reported so far, or None."""
        return _sum(self._totals) or _sum(self._steps) or self._message_usage

    def outcome(self) -> Outcome:
        """The Finish of a response that stated its end."""
        if self.reason is None:
            return Outcome.COMPLETED
        return Outcome.TRUNCATED if self.interrupted else _OUTCOMES.get(self.reason.unified, Outcome.COMPLETED)

    def output(self, outcome: Outcome, error: LanguageModelError | None = None) -> Finish:
        """The last output of the response."""
        reason = self.reason
        if outcome is Outcome.FAILED and (reason is None or reason.unified is not UnifiedFinishReason.ERROR):
            reason = FinishReason(UnifiedFinishReason.ERROR, None if reason is None else reason.raw)
        return Finish(
            outcome,
            reason,
            self.usage,
            self._response_id or self._message_id,
            self._model,
            error,
            self.provider_metadata,
            applied_edits(self.provider_metadata),
        )


_CUTTING: Final = frozenset({UnifiedFinishReason.LENGTH, UnifiedFinishReason.CONTENT_FILTER, UnifiedFinishReason.ERROR})

_OUTCOMES: Final = {
    UnifiedFinishReason.LENGTH: Outcome.INCOMPLETE,
    UnifiedFinishReason.CONTENT_FILTER: Outcome.INCOMPLETE,
    UnifiedFinishReason.ERROR: Outcome.FAILED,
}


def _reason(chunk: Chunk) -> FinishReason | None:
    """A word (version 2 of the provider's interface, and the SDK), or the word beside the provider's own (3 and 4)."""
    said = field(chunk, ("finishReason",))
    inner = said if isinstance(said, dict) else {}
    word = said if isinstance(said, str) and said else identifier(inner, ("unified",))
    if word is None:
        return None
    raw = identifier(chunk, ("rawFinishReason",)) or identifier(inner, ("raw",))
    known = word in {*UnifiedFinishReason}
    return FinishReason(
        UnifiedFinishReason(word) if known else UnifiedFinishReason.OTHER,
        word if word == INTERRUPTED else raw or (None if known else word),
    )


def _usage(raw: Chunk, reason: FinishReason | None) -> Usage | None:
    """The tokens of a usage object in any version's form; None if it states none."""
    inputs, outputs = mapping(raw, ("inputTokens",)), mapping(raw, ("outputTokens",))
    input_details, output_details = mapping(raw, ("inputTokenDetails",)), mapping(raw, ("outputTokenDetails",))
    input_tokens, output_tokens = _either(raw, _INPUT, inputs), _either(raw, _OUTPUT, outputs)
    if input_tokens is None and output_tokens is None:
        return None
    if not input_tokens and not output_tokens and reason is not None and reason.raw in _UNKNOWN_REASONS:
        return None  # version 4 reports zeros for a stream that broke off: recording truncated_no_finish
    total = count(raw, ("totalTokens",))
    if total is None and input_tokens is not None and output_tokens is not None:
        total = input_tokens + output_tokens
    return Usage(
        input_tokens,
        output_tokens,
        total,
        _known(
            count(input_details, ("cacheReadTokens",)),
            count(inputs, ("cacheRead",)),
            count(raw, ("cachedInputTokens",)),
        ),
        _known(
            count(output_details, ("reasoningTokens",)),
            count(outputs, ("reasoning",)),
            count(raw, ("reasoningTokens",)),
        ),
        raw,
        _known(count(input_details, ("cacheWriteTokens",)), count(inputs, ("cacheWrite",))),
    )


def _either(raw: Chunk, names: Names, nested: Chunk) -> int | None:
    return _known(count(raw, names[:1]), count(nested, ("total",)), count(raw, names[1:]))


def _known(*counts: int | None) -> int | None:
    return next((found for found in counts if found is not None), None)


_SUMMED: Final = (
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "cache_write_tokens",
)


def _sum(steps: list[Usage]) -> Usage | None:
    """The sum over all steps; a number that one step does not state is unknown."""
    if len(steps) <= 1:
        return steps[0] if steps else None
    sums: list[int | None] = []
    for name in _SUMMED:
        counts = [getattr(step, name) for step in steps]
        sums.append(None if None in counts else sum(counts))
    inputs, outputs, total, cached, reasoning, written = sums
    raw = {"steps": [dict(step.raw) for step in steps]}
    return Usage(inputs, outputs, total, cached, reasoning, raw, written)
