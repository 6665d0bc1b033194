"""A protocol whose frames have no type, for the benchmark: text in the chunks of Chat Completions and no more.

It is as long as it has to be for measuring what the reader costs where nothing names the kind of a frame: every frame
is of one kind, and the piece of text stands deep inside.
"""

from __future__ import annotations
from typing import TYPE_CHECKING, Any, Final

from partstream.lm.outputs import Outcome
from partstream.lm.parts import FinishReason, TextPart, UnifiedFinishReason
from partstream.protocols.protocol import SSE, Protocol
from partstream.protocols.read_response import Deltas, MatchConfidence, ResponseReader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.lm.outputs import StreamOutput
    from partstream.protocols.serve import WireEvent

__all__ = ["PROTOCOLS", "TypelessStream"]


class TypelessStream(ResponseReader):
    """One answer."""

    deltas = Deltas({"": (("choices", 0, "delta", "content"),)}, varying=("obfuscation",))
    has_fast_path = True

    @classmethod
    def claim(cls, _kind: str | None, event: WireEvent) -> MatchConfidence:
        """A chunk with choices may be one."""
        return MatchConfidence.POSSIBLE if "choices" in event else MatchConfidence.NO

    def feed_into(self, event: Mapping[str, Any], outputs: list[StreamOutput]) -> None:
        """Takes the next chunk and appends what it means."""
        self.emit_more = None
        for choice in event["choices"]:
            if content := choice["delta"].get("content"):
                outputs.append(TextPart(content))
                self.emit_more = _emit if self.has_fast_path else None
            if choice["finish_reason"] is not None:
                self._complete(outputs)

    def _is_whole(self, *, told: bool) -> bool:
        return told

    def _complete(self, outputs: list[StreamOutput]) -> None:
        self._emit_finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.STOP), outputs)


def _emit(text: str, outputs: list[StreamOutput]) -> None:
    outputs.append(TextPart(text))


class SlowTypelessStream(TypelessStream):
    """The same without a fast path."""

    has_fast_path = False


PROTOCOLS: Final = {
    "typeless": Protocol("typeless", lambda: TypelessStream, framings=(SSE,), tag=None),
    "typeless-without-fast-path": Protocol(
        "typeless-without-fast-path", lambda: SlowTypelessStream, framings=(SSE,), tag=None
    ),
}
"""The protocols that only the benchmark has, by name; in the second every frame takes the slow path."""
