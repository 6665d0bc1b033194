"""A protocol whose frames have no type, for the benchmark: text in the chunks of Chat Completions and no more.

It is as long as it has to be for measuring what the reader costs where nothing names the kind of a frame: every frame
is of one kind, and the piece of text stands deep inside.
"""

from __future__ import annotations
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import TruncatedStreamError
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import FinishReason, TextPart, UnifiedFinishReason
from partstream.protocols.protocol import SSE, MatchConfidence, Protocol, ResponseReaderSpec
from partstream.protocols.read_response import Deltas

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.errors import LanguageModelError
    from partstream.lm.outputs import EmitText, StreamOptions, StreamOutput
    from partstream.protocols.serve import WireEvent

__all__ = ["PROTOCOLS", "TypelessStream"]


class TypelessStream:
    """One answer.

    Args:
        _options: Nothing here depends on them.
        has_fast_path: Whether there is a fast path for chunks that bring only text.
    """

    def __init__(self, _options: StreamOptions, *, has_fast_path: bool = True) -> None:
        self.emit_more: EmitText | None = None
        self._emit: EmitText | None = _emit if has_fast_path else None
        self._finished = False

    @property
    def finished(self) -> bool:
        """Whether the Finish is out."""
        return self._finished

    @property
    def failing(self) -> bool:
        """Errors have no frame here."""
        return False

    def feed(self, event: Mapping[str, Any]) -> list[StreamOutput]:
        """Takes the next chunk and returns what it means."""
        outputs: list[StreamOutput] = []
        self.feed_into(event, outputs)
        return outputs

    def feed_into(self, event: Mapping[str, Any], outputs: list[StreamOutput]) -> None:
        """Takes the next chunk and appends what it means."""
        self.emit_more = None
        for choice in event["choices"]:
            if content := choice["delta"].get("content"):
                outputs.append(TextPart(content))
                self.emit_more = self._emit
            if choice["finish_reason"] is not None:
                outputs += self._finish(Outcome.COMPLETED)

    def end(self, *, whole: bool = False) -> list[StreamOutput]:
        """Says that no more chunks come."""
        return self._finish(Outcome.COMPLETED) if whole else self.fail(TruncatedStreamError("OPEN"))

    def fail(self, error: LanguageModelError) -> list[StreamOutput]:
        """Ends the answer with an error."""
        return self._finish(Outcome.FAILED, error)

    def _finish(self, outcome: Outcome, error: LanguageModelError | None = None) -> list[StreamOutput]:
        if self._finished:
            return []
        self._finished = True
        return [Finish(outcome, FinishReason(UnifiedFinishReason.STOP), error=error)]


def _emit(text: str, outputs: list[StreamOutput]) -> None:
    outputs.append(TextPart(text))


def _claim(_kind: str | None, event: WireEvent) -> MatchConfidence:
    return MatchConfidence.POSSIBLE if "choices" in event else MatchConfidence.NO


_DELTAS: Final = Deltas({"": (("choices", 0, "delta", "content"),)}, varying=("obfuscation",))
_FAST: Final = ResponseReaderSpec(TypelessStream, _claim, _DELTAS)
_SLOW: Final = ResponseReaderSpec(partial(TypelessStream, has_fast_path=False), _claim)

PROTOCOLS: Final = {
    "typeless": Protocol("typeless", lambda: _FAST, framings=(SSE,), tag=None),
    "typeless-without-fast-path": Protocol("typeless-without-fast-path", lambda: _SLOW, framings=(SSE,), tag=None),
}
"""The protocols that only the benchmark has, by name; in the second every frame takes the slow path."""
