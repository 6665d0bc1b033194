"""A protocol whose frames have no type, for the benchmark: text in the chunks of Chat Completions and no more.

It is as long as it has to be for measuring what the reader costs where nothing names the kind of a frame: every frame
is of one kind, and the piece of text stands deep inside.
"""

from __future__ import annotations
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import TruncatedStreamError
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import FinishReason, TextPart, UnifiedFinishReason
from partstream.protocols.protocol import SSE, MatchConfidence, Protocol, ResponseReaderSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.errors import LanguageModelError
    from partstream.lm.outputs import FastPath, StreamOptions, StreamOutput
    from partstream.protocols.serve import WireEvent

__all__ = ["PROTOCOLS", "TypelessStream"]


class TypelessStream:
    """One answer.

    Args:
        _options: Nothing here depends on them.
        offers_sink: Whether there is a short way for chunks that bring only text.
    """

    def __init__(self, _options: StreamOptions, *, offers_sink: bool = True) -> None:
        self.sink: FastPath | None = None
        self._offer = self._more if offers_sink else None
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
        self.sink = None
        for choice in event["choices"]:
            if content := choice["delta"].get("content"):
                outputs.append(TextPart(content))
                self.sink = self._offer
            if choice["finish_reason"] is not None:
                outputs += self._finish(Outcome.COMPLETED)

    def _more(self, chunk: Any, outputs: list[StreamOutput]) -> bool:
        """The short way: one choice that brings a piece of text and nothing else."""
        (choice,) = chunk.choices
        delta = choice["delta"]
        content = delta["content"]
        if not content or len(delta) != 1 or choice["finish_reason"] is not None:
            return False
        outputs.append(TextPart(content))
        return True

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


def _claim(_kind: str | None, event: WireEvent) -> MatchConfidence:
    return MatchConfidence.POSSIBLE if "choices" in event else MatchConfidence.NO


_WITH_SINK: Final = ResponseReaderSpec(TypelessStream, _claim, MappingProxyType({"": {"choices": "choices"}}))
_WITHOUT_SINK: Final = ResponseReaderSpec(partial(TypelessStream, offers_sink=False), _claim)

PROTOCOLS: Final = {
    "typeless": Protocol("typeless", lambda: _WITH_SINK, framings=(SSE,), tag=None),
    "typeless-without-sink": Protocol("typeless-without-sink", lambda: _WITHOUT_SINK, framings=(SSE,), tag=None),
}
"""The protocols that only the benchmark has, by name; in the second every frame goes the long way."""
