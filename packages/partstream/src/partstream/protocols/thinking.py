"""Thinking that is text: takes it out of its tags, and shows thinking parts as a quote; knows no protocol.

:class:`ThinkTagSplitter` finds thinking in tags, however a server cuts the text. It recognizes a tag only where it can
be nothing else: the opening one as the first thing of the response that is not blank, the closing one once, at its
first occurrence. Everywhere else a tag is text, as in a response about tags.

:func:`open_response` opens the adapter of any protocol. An adapter gives thinking parts, or none; where a consumer
wants text, :class:`ThinkingAsText` makes a Markdown quote of them, set apart from the answer.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.lm.outputs import EndingStream, PausingStream, ReportingStream, ThinkingMode, ThinkTags, Unmapped
from partstream.lm.parts import TextPart, ThinkingPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from partstream.errors import LanguageModelError
    from partstream.lm.outputs import FastPath, ResponseStream, StreamOptions, StreamOutput
    from partstream.lm.parts import Usage
    from partstream.protocols.protocol import ResponseReaderSpec


_TAGS: Final = {"<think>": "</think>", "<thought>": "</thought>"}
"""Opening and closing tags; the second pair is Gemini's, at its compatible endpoint."""
_USUAL: Final = "</think>"
_LINE_ENDS: Final = "\r\n"


class TaggedPiece(NamedTuple):
    """A piece of a response: thinking or text."""

    is_thinking: bool
    value: str


class _Place(Enum):
    """The place of the next piece in the response."""

    HEAD = auto()
    """Before anything that is not blank."""
    OPENED = auto()
    """After an opening tag."""
    THINKING = auto()
    CLOSED = auto()
    """After a closing tag."""
    TEXT = auto()


class ThinkTagSplitter:
    """The text of one answer, taken apart.

    Args:
        mode: Whether there are tags, and whether the answer begins inside of them.
    """

    __slots__ = ("_closing", "_held", "_inside", "_place", "_raw")

    def __init__(self, mode: ThinkTags) -> None:
        self._place = _Place.TEXT if mode is ThinkTags.OFF else _Place.HEAD
        self._inside = mode is ThinkTags.STARTS_INSIDE
        self._closing = _USUAL
        self._held = ""
        self._raw: list[str] = []

    @property
    def is_settled(self) -> bool:
        """Whether all that follows is text."""
        return self._place is _Place.TEXT

    @property
    def raw_thinking(self) -> str:
        """The beginning of the answer with its thinking and its tags, as it came; empty if it had none."""
        return "".join(self._raw)

    def push(self, text: str) -> list[TaggedPiece]:
        """Takes the next piece of the text; returns what is known of it now."""
        pieces: list[TaggedPiece] = []
        text, self._held = self._held + text, ""
        text = self._head(text, pieces)
        if self._place is _Place.OPENED:
            text = self._without_line_ends(text, _Place.THINKING)
        text = self._thinking(text, pieces)
        if self._place is _Place.CLOSED:
            text = self._without_line_ends(text, _Place.TEXT)
        if text:
            pieces.append(TaggedPiece(False, text))
        return pieces

    def settle(self) -> list[TaggedPiece]:
        """Ends the search: the server says its thinking in a field of its own, or the answer is over.

        Returns:
            What was held back.
        """
        held, is_thinking = self._held, self._place is _Place.THINKING
        self._held = ""
        self._place = _Place.TEXT
        if is_thinking:
            self._raw.append(held)
        return [TaggedPiece(is_thinking, held)] if held else []

    # Each step takes what is its own from the beginning of the text and returns the rest, for the steps after it.

    def _head(self, text: str, pieces: list[TaggedPiece]) -> str:
        if self._place is not _Place.HEAD:
            return text
        rest = text.lstrip()
        if blanks := text[: len(text) - len(rest)]:  # never held: only what may become a tag is
            pieces.append(TaggedPiece(self._inside, blanks))
        for opening, closing in _TAGS.items():
            if rest.startswith(opening):
                self._closing, self._place = closing, _Place.OPENED
                self._raw.append(opening)
                return rest.removeprefix(opening)
        if any(opening.startswith(rest) for opening in _TAGS):
            self._held = rest
            return ""
        self._place = _Place.THINKING if self._inside else _Place.TEXT
        return rest

    def _thinking(self, text: str, pieces: list[TaggedPiece]) -> str:
        if self._place is not _Place.THINKING:
            return text
        thought, closing, rest = text.partition(self._closing)
        if closing:
            self._place = _Place.CLOSED
        else:
            # The longest end that may be the beginning of the tag is held back.
            lengths = range(min(len(self._closing) - 1, len(thought)), 0, -1)
            ends = (thought[-length:] for length in lengths)
            self._held = next((end for end in ends if self._closing.startswith(end)), "")
            thought = thought.removesuffix(self._held)
        self._raw.append(thought + closing)
        if thought:
            pieces.append(TaggedPiece(True, thought))
        return rest

    def _without_line_ends(self, text: str, next_place: _Place) -> str:
        """The text after a tag, without the one run of line ends that belongs to the tag."""
        rest = text.lstrip(_LINE_ENDS)
        self._raw.append(text[: len(text) - len(rest)])
        if rest:
            self._place = next_place
        return rest


# ---- Thinking as text ----

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
    """An adapter whose thinking parts become text: a quote, with an empty line before and after it.

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
        """Whether the :class:`partstream.lm.outputs.Finish` is out."""
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
        """Tells that the continuation of a paused response follows."""
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
        if self._is_open:
            said = ("\n" if self._is_line_begun else "") + _EMPTY_LINE
        else:  # the line ends that are missing for an empty line after the text
            said = "\n" * (2 - len(self._tail) + len(self._tail.rstrip("\n")))
        self._is_open, self._is_line_begun, self._block = True, False, block
        return said
