"""Shows a model's thinking as text that is set apart from its answer; works behind the adapter of any protocol.

An adapter gives thinking parts, or none; where a consumer wants text, what follows here makes a Markdown quote of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.outputs import EndingStream, PausingStream, ReportingStream, ThinkingMode, Unmapped
from partstream.parts import TextPart, ThinkingPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from partstream.errors import LanguageModelError
    from partstream.outputs import FastPath, ResponseStream, StreamOptions, StreamOutput
    from partstream.protocols.protocol import ResponseReaderSpec
    from partstream.usage import Usage

__all__ = ["ThinkingAsText", "open_response"]

_MARK: Final = "> "
"""CommonMark 0.31 section 5.1: a line of a block quote."""
_EMPTY_LINE: Final = ">\n"


def open_response(corner: ResponseReaderSpec, options: StreamOptions) -> ResponseStream:
    """Opens the adapter of one response and renders thinking as the options say.

    Args:
        corner: The corner of a protocol that reads answers.
        options: How the response is rendered.
    """
    if options.thinking is not ThinkingMode.TEXT:
        return corner.open(options)
    return ThinkingAsText(corner.open(replace(options, thinking=ThinkingMode.PART)))


class ThinkingAsText:
    """An adapter whose thinking parts become text: a quote, with an empty line before and behind it.

    What a server wants back of its thinking is left out: only a thinking part could carry it.

    Args:
        stream: The adapter that reads the response.

    Attributes:
        sink: None: there is no short way through the quote.
    """

    __slots__ = ("_quote", "_stream", "sink")

    def __init__(self, stream: ResponseStream) -> None:
        self._stream = stream
        self._quote = _Quote()
        self.sink: FastPath | None = None

    def feed(self, event: Mapping[str, Any]) -> list[StreamOutput]:
        """Takes the next event and returns what it means."""
        return self._shown(self._stream.feed(event))

    def feed_into(self, event: Mapping[str, Any], outputs: list[StreamOutput]) -> None:
        """Like :meth:`feed`, but appends to an existing list."""
        outputs += self.feed(event)

    def end(self, *, whole: bool = False) -> list[StreamOutput]:
        """Ends the events."""
        return self._shown(self._stream.end(whole=whole))

    def fail(self, error: LanguageModelError) -> list[StreamOutput]:
        """Ends the stream with an error of the layer below."""
        return self._shown(self._stream.fail(error))

    @property
    def finished(self) -> bool:
        """Whether the :class:`partstream.outputs.Finish` is out."""
        return self._stream.finished

    @property
    def failing(self) -> bool:
        """Whether the upstream has reported an error and may still say more about it."""
        return self._stream.failing

    @property
    def ending(self) -> bool:
        """Whether only what adds to the answer may still come."""
        return isinstance(self._stream, EndingStream) and self._stream.ending

    @property
    def paused(self) -> Mapping[str, Any] | None:
        """What the upstream has said of a paused answer, or None."""
        return self._stream.paused if isinstance(self._stream, PausingStream) else None

    def go_on(self) -> None:
        """Tells that the response follows that goes on with a paused answer."""
        if isinstance(self._stream, PausingStream):
            self._stream.go_on()

    @property
    def usage(self) -> Usage | None:
        """The tokens that were reported so far, or None."""
        return self._stream.usage if isinstance(self._stream, ReportingStream) else None

    def _shown(self, outputs: Iterable[StreamOutput]) -> list[StreamOutput]:
        shown: list[StreamOutput] = []
        for output in outputs:
            if isinstance(output, ThinkingPart):
                shown += self._quote.say(output)
            elif isinstance(output, Unmapped):
                shown.append(output)
            else:
                shown += self._quote.close()
                shown.append(output)
                if isinstance(output, TextPart):
                    self._quote.after(output.value)
        return shown


class _Quote:
    """The quote that is open, if any."""

    __slots__ = ("_block", "_is_line_begun", "_is_open", "_tail")

    def __init__(self) -> None:
        self._is_open = False
        self._is_line_begun = False
        self._block: str | None = None
        self._tail = "\n\n"

    def after(self, text: str) -> None:
        """Takes a text of the answer."""
        self._tail = (self._tail + text)[-2:]

    def say(self, part: ThinkingPart) -> list[StreamOutput]:
        """A piece of thinking as text; empty for a part that only carries metadata."""
        text = part.value
        if not text:
            return []
        said = self._opened(part.id)
        for number, line in enumerate(text.split("\n")):
            if number:
                said += "\n" if self._is_line_begun else _EMPTY_LINE
                self._is_line_begun = False
            if line:
                said += line if self._is_line_begun else _MARK + line
                self._is_line_begun = True
        return [TextPart(said)]

    def close(self) -> list[StreamOutput]:
        """The text between the quote and what follows; empty if no quote is open."""
        if not self._is_open:
            return []
        self._is_open = False
        self._tail = "\n\n"
        return [TextPart("\n\n" if self._is_line_begun else "\n")]

    def _opened(self, block: str | None) -> str:
        """The text before the next piece; empty inside a block."""
        if self._is_open and block == self._block:
            return ""
        said = _before(self._tail) if not self._is_open else ("\n" if self._is_line_begun else "") + _EMPTY_LINE
        self._is_open, self._is_line_begun, self._block = True, False, block
        return said


def _before(tail: str) -> str:
    """The line ends that make an empty line after a text."""
    return "" if tail.endswith("\n\n") else "\n" if tail.endswith("\n") else "\n\n"
