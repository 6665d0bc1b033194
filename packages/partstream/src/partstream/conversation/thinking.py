"""Thinking that is text: takes it out of its tags, and shows thinking parts as a quote; knows no protocol.

:class:`ThinkTagSplitter` finds thinking in tags, however a server cuts the text. It recognizes an opening tag only
where it can be nothing else: as the first thing of the response that is not blank, or right after another block. The
first closing tag of its kind ends the block. Everywhere else a tag is text, as in a response about tags.

An adapter gives thinking parts, or none; where a consumer wants text, :class:`ThinkingAsText` makes a Markdown quote of
them, set apart from the answer. Of a wire that has a place for thinking, and servers that do not use it,
:class:`TaggedThinking` takes the tags out. :func:`open_response` opens the adapter of any protocol.
"""

from __future__ import annotations
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from partstream.codec.checks import narrow, replace
from partstream.conversation.provider_state import ITEMS
from partstream.lm.outputs import (
    EndingStream,
    PausingStream,
    ReportingStream,
    ResponseStream,
    ThinkingMode,
    ThinkTags,
    Unmapped,
)
from partstream.lm.parts import RefusalPart, TextPart, ThinkingPart, Usage, text_part, thinking_part

if TYPE_CHECKING:
    from partstream.errors import LanguageModelError
    from partstream.lm.outputs import EmitText, StreamOptions, StreamOutput


class _Block(NamedTuple):
    """What an opening tag begins.

    Attributes:
        ends: What ends the block, and is shown nowhere.
        stops: What ends the block and is the next opening tag.
        is_thinking: Whether the block holds thinking; else the answer, between marks of a model's template.
        goes_back: Whether the template of the model reads the block in the next request.
    """

    ends: tuple[str, ...]
    stops: tuple[str, ...] = ()
    is_thinking: bool = True
    goes_back: bool = True


_USUAL: Final = _Block(("</think>",))
# Servers leave marks of the harmony format out. The template of gpt-oss refuses a message that holds its own marks.
_ANALYSIS: Final = _Block(("<|end|>", "<|return|>"), ("<|start|>", "<|channel|>"), goes_back=False)
_HARMONY: Final = {"analysis": _ANALYSIS, "commentary": _ANALYSIS._replace(is_thinking=False),
                   "final": _Block(("<|end|>", "<|return|>"), is_thinking=False, goes_back=False)}  # fmt: skip

_BLOCKS: Final[dict[str, _Block]] = {
    "<think>": _USUAL,
    "<thinking>": _Block(("</thinking>",)),  # Amazon Nova
    "<thought>": _Block(("</thought>",)),  # Gemini, at its compatible endpoint
    "<Thought>": _Block(("</Thought>",)),
    "<reason>": _Block(("</reason>",)),
    "<reasoning>": _Block(("</reasoning>",)),  # gpt-oss at Bedrock: a block in each chunk
    "<seed:think>": _Block(("</seed:think>",)),  # Seed-OSS
    "[THINK]": _Block(("[/THINK]",)),  # Magistral
    "\u25c1think\u25b7": _Block(("\u25c1/think\u25b7",)),  # Kimi-VL
    "<|channel>thought": _Block(("<channel|>",)),  # Gemma 4
    "<|begin_of_thought|>": _Block(("<|end_of_thought|>",)),
    "<|begin_of_solution|>": _Block(("<|end_of_solution|>",), is_thinking=False, goes_back=False),
    "<|START_THINKING|>": _Block(("<|END_THINKING|>",)),  # Cohere
    "<|START_RESPONSE|>": _Block(("<|END_RESPONSE|>",), is_thinking=False, goes_back=False),
    **{
        f"{head}<|channel|>{channel}<|message|>": block
        for channel, block in _HARMONY.items()
        for head in ("", "<|start|>assistant")
    },
}
FIRST_CHARACTERS: Final = frozenset(opening[0] for opening in _BLOCKS)
"""Those that a block may begin with."""
_MOST_BLANKS: Final = 64
"""Between two blocks: what follows more is text."""
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
    INSIDE = auto()
    CLOSED = auto()
    """After a closing tag."""
    BETWEEN = auto()
    """After the line ends that belong to a closing tag."""
    TEXT = auto()


class ThinkTagSplitter:
    """The text of one answer, taken apart.

    Args:
        mode: Whether there are tags, and whether the answer begins inside of them.
    """

    def __init__(self, mode: ThinkTags) -> None:
        self._place = _Place.TEXT if mode is ThinkTags.OFF else _Place.HEAD
        self._starts_inside = mode is ThinkTags.STARTS_INSIDE
        self._block = _USUAL
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
        while text and self._place is not _Place.TEXT:
            match self._place:
                case _Place.HEAD | _Place.BETWEEN:
                    text = self._seek(text, pieces)
                case _Place.INSIDE:
                    text = self._inside(text, pieces)
                case _Place.OPENED:
                    text = self._without_line_ends(text, _Place.INSIDE)
                case _:
                    text = self._without_line_ends(text, _Place.BETWEEN)
        if text:
            pieces.append(TaggedPiece(False, text))
        return pieces

    def settle(self) -> list[TaggedPiece]:
        """Ends the search: the server says its thinking in a field of its own, or the answer is over.

        Returns:
            What was held back.
        """
        held, is_thinking = self._held, self._place is _Place.INSIDE and self._block.is_thinking
        self._held = ""
        self._place = _Place.TEXT
        if is_thinking:
            self._keep(held)
        return [TaggedPiece(is_thinking, held)] if held else []

    # Each step takes what is its own from the beginning of the text and returns the rest, for the steps after it.

    def _seek(self, text: str, pieces: list[TaggedPiece]) -> str:
        rest = text.lstrip()
        blanks = text[: len(text) - len(rest)]
        is_head = self._place is _Place.HEAD
        if is_head and blanks:  # never held: only what may become a tag is
            pieces.append(TaggedPiece(self._starts_inside, blanks))
            blanks = ""
        if len(blanks) <= _MOST_BLANKS and (not rest or rest[0] in FIRST_CHARACTERS):
            for opening, block in _BLOCKS.items():
                if rest.startswith(opening):
                    self._block, self._place = block, _Place.OPENED
                    self._keep(blanks + opening)
                    return rest.removeprefix(opening)
            if any(opening.startswith(rest) for opening in _BLOCKS):
                self._held = blanks + rest
                return ""
        self._place = _Place.INSIDE if is_head and self._starts_inside else _Place.TEXT
        return blanks + rest

    def _inside(self, text: str, pieces: list[TaggedPiece]) -> str:
        ends = (*self._block.ends, *self._block.stops)
        places = [(at, end) for end in ends if (at := text.find(end)) >= 0]
        if places:
            at, end = min(places)
            said, closing = text[:at], end
            self._place = _Place.CLOSED
            if end in self._block.stops:
                closing, self._place = "", _Place.BETWEEN
            rest = text[at + len(closing) :]
        else:
            # The longest end that may be the beginning of a tag is held back.
            lengths = range(min(max(map(len, ends)) - 1, len(text)), 0, -1)
            self._held = next((text[-one:] for one in lengths if any(end.startswith(text[-one:]) for end in ends)), "")
            said, closing, rest = text.removesuffix(self._held), "", ""
        self._keep(said + closing)
        if said:
            pieces.append(TaggedPiece(self._block.is_thinking, said))
        return rest

    def _without_line_ends(self, text: str, next_place: _Place) -> str:
        """The text after a tag, without the one run of line ends that belongs to the tag."""
        rest = text.lstrip(_LINE_ENDS)
        self._keep(text[: len(text) - len(rest)])
        if rest:
            self._place = next_place
        return rest

    def _keep(self, said: str) -> None:
        if self._block.goes_back:
            self._raw.append(said)


# ---- Rendering ----


class TaggedStream(ResponseStream, Protocol):
    """An adapter whose text may hold thinking in tags."""

    def item_of_tags(self, raw: str, /) -> Mapping[str, Any] | None:
        """The item that takes thinking in tags back to the server, or None."""


def open_response(reader: Callable[[StreamOptions], TaggedStream], options: StreamOptions) -> ResponseStream:
    """Opens the adapter of one response and renders thinking as the options say."""
    is_text = options.thinking is ThinkingMode.TEXT
    if is_text:
        options = replace(options, thinking=ThinkingMode.PART)
    stream = reader(options)
    rendered: ResponseStream = stream
    if options.think_tags is not ThinkTags.OFF:
        rendered = TaggedThinking(stream, options)
    return ThinkingAsText(rendered) if is_text else rendered


class _Rendering(ABC):
    """An adapter whose outputs are rendered in another way.

    Attributes:
        emit_more: The fast path, or None.
    """

    def __init__(self, stream: ResponseStream) -> None:
        self._stream = stream
        self._ending_stream = narrow(stream, EndingStream)
        self._pausing_stream = narrow(stream, PausingStream)  # looked at after each read
        self.emit_more: EmitText | None = None

    @abstractmethod
    def _shown(self, outputs: list[StreamOutput]) -> list[StreamOutput]:
        """The outputs in their other form."""

    def feed(self, event: Mapping[str, Any]) -> list[StreamOutput]:
        """Takes the next event and returns what it means."""
        outputs: list[StreamOutput] = []
        self.feed_into(event, outputs)
        return outputs

    def feed_into(self, event: Mapping[str, Any], outputs: list[StreamOutput]) -> None:
        """Like :meth:`feed`, but appends to an existing list."""
        outputs += self._shown(self._stream.feed(event))
        emit = self._emit_inner
        self.emit_more = None if emit is None else partial(self._emit_shown, emit)

    @property
    def _emit_inner(self) -> EmitText | None:
        return getattr(self._stream, "emit_more", None)  # adapters of 0.15 have none

    def _emit_shown(self, emit: EmitText, text: str, outputs: list[StreamOutput]) -> None:
        said: list[StreamOutput] = []
        emit(text, said)
        if said:
            outputs += self._shown(said)

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
        return self._ending_stream is not None and self._ending_stream.ending

    @property
    def paused(self) -> Mapping[str, Any] | None:
        """The upstream's record of a paused answer, or None."""
        return None if self._pausing_stream is None else self._pausing_stream.paused

    def go_on(self) -> None:
        """Tells that the continuation of a paused response follows."""
        if self._pausing_stream is not None:
            self._pausing_stream.go_on()

    @property
    def usage(self) -> Usage | None:
        """The tokens that were reported so far, or None."""
        return self._stream.usage if isinstance(self._stream, ReportingStream) else None


class TaggedThinking(_Rendering):
    """An adapter of a wire with a place for thinking, whose server may leave it in the text: tags become thinking.

    The wire's own thinking, or any other part before the text, shows that the text has no tags.
    """

    def __init__(self, stream: TaggedStream, options: StreamOptions) -> None:
        super().__init__(stream)
        self._splitter = ThinkTagSplitter(options.think_tags)
        self._mode = options.thinking
        self._item_of_tags = stream.item_of_tags
        self._item: Mapping[str, Any] | None = None
        self._is_over = False  # whether the text was taken apart

    def feed_into(self, event: Mapping[str, Any], outputs: list[StreamOutput]) -> None:  # noqa: D102
        if self._is_over and self._item is None:
            self._stream.feed_into(event, outputs)
            self.emit_more = self._emit_inner
        else:
            said = self._stream.feed(event)
            outputs += self._shown(said)
            emit = self._emit_inner
            if emit is not None and not self._is_over:
                # A text is looked at for tags. An event that said nothing may be one of arguments, or hold a text back.
                emit = None if said else partial(self._emit_shown, emit)
            self.emit_more = emit

    def _shown(self, outputs: list[StreamOutput]) -> list[StreamOutput]:
        if self._is_over and self._item is None:
            return outputs
        shown: list[StreamOutput] = []
        for output in outputs:
            is_text = isinstance(output, TextPart) and not isinstance(output, RefusalPart)
            has_tags = is_text and not getattr(self._stream, "is_untagged", False)
            if not (self._is_over or has_tags or isinstance(output, Unmapped)):
                self._say(self._splitter.settle(), shown)
                self._settle(shown)
            if self._is_over or not isinstance(output, TextPart):
                shown.append(self._with_item(output))
                continue
            pieces = self._splitter.push(output.value)
            if self._splitter.is_settled and not self._splitter.raw_thinking and not any(one[0] for one in pieces):
                pieces = [TaggedPiece(False, "".join(value for _, value in pieces))]
            self._say(pieces, shown)
        return shown

    def _say(self, pieces: Iterable[TaggedPiece], shown: list[StreamOutput]) -> None:
        for is_thinking, value in pieces:
            if not is_thinking:
                if self._splitter.is_settled:
                    self._settle(shown)
                shown.append(text_part(value))
            elif self._mode is ThinkingMode.PART:
                shown.append(thinking_part(value))

    def _settle(self, shown: list[StreamOutput]) -> None:
        if self._is_over:
            return
        self._is_over = True
        raw = self._splitter.raw_thinking
        if raw and self._mode is ThinkingMode.PART and (item := self._item_of_tags(raw)) is not None:
            self._item = item
            shown.append(thinking_part("", None, {ITEMS: [item]}))

    def _with_item(self, output: StreamOutput) -> StreamOutput:
        """Adds the item of the tags to later metadata: each metadata lists all items of its answer."""
        if self._item is None or not isinstance(output, ThinkingPart) or ITEMS not in (output.metadata or {}):
            return output
        metadata = {**(output.metadata or {})}
        metadata[ITEMS] = [self._item, *metadata[ITEMS]]
        return replace(output, metadata=metadata)


_MARK: Final = "> "
"""CommonMark 0.31 section 5.1: a line of a block quote."""
_EMPTY_LINE: Final = ">\n"


class ThinkingAsText(_Rendering):
    """An adapter whose thinking parts become text: a quote, with an empty line before and after it.

    What a server wants back of its thinking is left out: only a thinking part could carry it.
    """

    def __init__(self, stream: ResponseStream) -> None:
        super().__init__(stream)
        self._is_open = False  # whether a quote is
        self._is_line_begun = False
        self._block: str | None = None
        self._tail = "\n\n"  # of the text of the answer

    def _shown(self, outputs: list[StreamOutput]) -> list[StreamOutput]:
        shown: list[StreamOutput] = []
        for output in outputs:
            if isinstance(output, ThinkingPart):
                if output.value:  # a part without a text only carries metadata
                    shown.append(TextPart(self._quoted(output)))
                continue
            if self._is_open and not isinstance(output, Unmapped):
                self._is_open, self._tail = False, "\n\n"
                shown.append(TextPart("\n\n" if self._is_line_begun else "\n"))
            shown.append(output)
            if isinstance(output, TextPart):
                self._tail = (self._tail + output.value)[-2:]
        return shown

    def _quoted(self, part: ThinkingPart) -> str:
        said = ""
        if not self._is_open:  # the line ends that are missing for an empty line after the text
            said = "\n" * (2 - len(self._tail) + len(self._tail.rstrip("\n")))
        elif part.id != self._block:
            said = ("\n" if self._is_line_begun else "") + _EMPTY_LINE
        if not self._is_open or part.id != self._block:
            self._is_open, self._is_line_begun, self._block = True, False, part.id
        for number, line in enumerate(part.value.split("\n")):
            if number:
                said += "\n" if self._is_line_begun else _EMPTY_LINE
                self._is_line_begun = False
            if line:
                said += line if self._is_line_begun else _MARK + line
                self._is_line_begun = True
        return said
