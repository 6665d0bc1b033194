"""Writes an answer as the bytes of its stream, part by part.

Nearly all parts of an answer differ from the part before them in their text alone, and so do the bytes. A part takes
the long way once: as an event, then as JSON, then as a frame. For the parts that follow, the bytes around the text are
kept, and only the text is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.codec.json_codec import dumps_text
from partstream.kinds import as_kind
from partstream.outputs import FastPathWriter
from partstream.parts import TextPart, ThinkingPart

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from partstream.outputs import IdleWriter, Repeated, ResponseWriter, StreamOutput
    from partstream.protocols.serve import StreamForm, WireEvent

__all__ = ["AnswerBytes"]

_TEXT: Final = "6ff1d3c19bfc45a0"
_NUMBER: Final = 7_361_952_840_173_605
"""A text and a number that stand in no event by chance; where one does, the answer goes the long way."""


class AnswerBytes:
    """The bytes of one answer's stream.

    Args:
        writer: Writes the answer as events.
        form: How the events stand in the bytes.

    Attributes:
        events: How many events were written.
    """

    __slots__ = ("_form", "_id", "_repeat", "_separator", "_taken", "_writer", "_writes_repeated", "events")

    def __init__(self, writer: ResponseWriter, form: StreamForm) -> None:
        self.events = 0
        self._writer = writer
        self._form = form
        self._writes_repeated = as_kind(writer, FastPathWriter)
        self._separator = form.start
        self._taken: type | None = None  # the class of the parts that the short way takes
        self._id: str | None = None
        self._repeat: Callable[[str], bytes] | None = None

    def write(self, output: StreamOutput) -> bytes:
        """Takes the next output and returns its bytes, possibly none.

        Raises:
            AdapterUsageError: The Finish was written before.
        """
        if output.__class__ is self._taken and self._repeat is not None:
            text = output.value  # type: ignore[union-attr]
            if text.__class__ is str and text and (self._taken is TextPart or self._is_alike(output)):
                try:
                    written = self._repeat(text)
                except UnicodeEncodeError:
                    pass
                else:
                    self.events += 1
                    return written
        return self._write(output)

    def idle(self, writer: IdleWriter) -> bytes:
        """The bytes of the events that say that the model still works.

        Args:
            writer: The writer of the answer.
        """
        return self._write_events(writer.idle())

    def end(self) -> bytes:
        """The bytes behind the last event."""
        return self._form.end if self.events else self._form.start + self._form.end

    def _write(self, output: StreamOutput) -> bytes:
        self._taken = self._repeat = None
        written = self._write_events(self._writer.write(output))
        self._learn(output)
        return written

    def _write_events(self, events: Sequence[WireEvent]) -> bytes:
        pieces: list[bytes] = []
        for event in events:
            pieces += (self._separator, self._form.frame(event))
            self._separator = self._form.separator
            self.events += 1
        return b"".join(pieces)

    def _learn(self, output: StreamOutput) -> None:
        """Keeps the bytes around the text of a part that was written."""
        if self._writes_repeated is None or not isinstance(output, TextPart | ThinkingPart):
            return
        if isinstance(output, ThinkingPart):
            if output.metadata:
                return
            self._id = output.id
        if not output.value or not isinstance(output.value, str):
            return
        repeated = self._writes_repeated.repeated(output)
        if repeated is not None:
            self._repeat = _repeat_of(repeated, self._form)
            self._taken = None if self._repeat is None else type(output)

    def _is_alike(self, output: StreamOutput) -> bool:
        """Whether thinking goes on with the thinking before it."""
        return isinstance(output, ThinkingPart) and output.id == self._id and not output.metadata


def _repeat_of(repeated: Repeated, form: StreamForm) -> Callable[[str], bytes] | None:
    """A function that writes the frame of a text; None where the place of the text in the frame is not sure."""
    frame = form.separator + form.frame(repeated.event(_TEXT, _NUMBER))
    before, *more = frame.split(dumps_text(_TEXT))
    if len(more) != 1 or _TEXT.encode() in before + more[0]:
        return None
    behind, note = more[0], repeated.note
    if not repeated.is_numbered:

        def write(text: str) -> bytes:
            quoted = dumps_text(text)
            note(text)
            return before + quoted + behind

        return write
    number = b"%d" % _NUMBER
    head, *rest = before.split(number)
    if len(rest) != 1 or number in behind:
        return None
    middle = rest[0]

    def write_numbered(text: str) -> bytes:
        quoted = dumps_text(text)
        return b"%b%d%b%b%b" % (head, note(text), middle, quoted, behind)

    return write_numbered
