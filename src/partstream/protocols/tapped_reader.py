"""A reader with a tap: somebody sees each event of a response with the outputs that came of it; knows nobody who does.

A reader without a tap has no line for it: this is another class, which takes the long way for every event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.outputs import StreamOptions
from partstream.protocols.reader import StreamReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from partstream.codec.sse import ServerSentEvent
    from partstream.errors import LanguageModelError
    from partstream.outputs import PausingStream, StreamOutput
    from partstream.protocols.protocol import Framing, ProtocolName
    from partstream.protocols.protocol import Protocol as WireProtocol

__all__ = ["DOCUMENT", "END_OF_BYTES", "FAILURE", "ReadStep", "Tap", "TappedReader"]

END_OF_BYTES = "end of the bytes"
FAILURE = "failure"
DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class ReadStep:
    """One step of reading a response, in most cases an event.

    Attributes:
        kind: The type of the event, in the upstream's own words; else the text of what is no object, such as `[DONE]`,
            or one of :data:`END_OF_BYTES`, :data:`FAILURE` (of the framing, or below it) and :data:`DOCUMENT`.
        size: The bytes of its data.
        event: The event; empty where there is none.
        outputs: What came of it.
    """

    kind: str
    size: int
    event: Mapping[str, Any]
    outputs: Sequence[StreamOutput]


class Tap(Protocol):
    """Sees what a reader reads."""

    def step(self, step: ReadStep) -> None:
        """Takes the next step."""
        ...


class TappedReader(StreamReader):
    """A reader that shows each step to a tap.

    Args:
        tap: Sees the steps.
        protocol: What the bytes are, or its name.
        options: How what is read is rendered.
        framing: How the events are told apart; None for the framing of the wire.
        paused: The adapter of an answer that was paused, and with which these bytes go on; None for a new answer.

    Raises:
        KeyError: There is no protocol of that name.
        ProtocolLoadError: An installed package promises the protocol, and it cannot be loaded.
    """

    __slots__ = ("_seen", "_tap")

    def __init__(
        self,
        tap: Tap,
        protocol: WireProtocol | ProtocolName,
        options: StreamOptions = StreamOptions(),  # noqa: B008 - immutable
        *,
        framing: Framing | None = None,
        paused: PausingStream | None = None,
    ) -> None:
        super().__init__(protocol, options, framing=framing, paused=paused)
        self._tap = tap
        self._seen = 0

    def feed_document(self, data: bytes) -> list[StreamOutput]:
        """Takes the whole document, as one step."""
        outputs = super().feed_document(data)
        self._tap.step(ReadStep(DOCUMENT, len(data), _object(data), outputs))
        return outputs

    def end(self) -> list[StreamOutput]:
        """Says that no more bytes come, as a step of its own."""
        outputs = super().end()
        self._tap.step(ReadStep(END_OF_BYTES, 0, {}, outputs[self._seen :]))
        return outputs

    def fail(self, error: LanguageModelError) -> list[StreamOutput]:
        """Ends the response with an error, as a step of its own."""
        outputs = super().fail(error)
        self._tap.step(ReadStep(FAILURE, 0, {}, outputs))
        return outputs

    def _read(self, events: Iterable[ServerSentEvent]) -> list[StreamOutput]:
        self._seen = 0
        outputs = super()._read(events)
        if rest := outputs[self._seen :]:
            self._tap.step(ReadStep(FAILURE, 0, {}, rest))
            self._seen = len(outputs)
        return outputs

    def _read_event(self, name: bytes, data: bytes, outputs: list[StreamOutput]) -> bool:
        goes_on = super()._read_event(name, data, outputs)
        self._sink = None
        event = _object(data)
        kind = event.get(self._tag, "") if self._tag is not None else ""
        shown = kind or name.decode(errors="replace") or ("" if event else data.decode(errors="replace"))
        self._tap.step(ReadStep(str(shown), len(data), event, outputs[self._seen :]))
        self._seen = len(outputs)
        return goes_on


def _object(data: bytes) -> Mapping[str, Any]:
    """The JSON object in data; empty for anything else."""
    try:
        value = loads(data.decode(errors="replace"))
    except (JSONDecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
