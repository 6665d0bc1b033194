"""Chat Completions: chunks in, VS Code's parts out.

:class:`ChatCompletionsStream` reads one response. The states of a response are one table
(:mod:`partstream.protocols.read_response`); handlers do not look at the state. A chunk is read in this order: its
error, its facts about the response as a whole (:class:`Envelope`, :class:`ReportedUsage`, :class:`Sources`), its delta
(:class:`Message`), and its finish reason (:class:`FinishWords`), which is applied after the delta.

`DELTA` lists the fields of a delta in the order in which they are read, after the thinking. The fields are independent:
none hides another (docs/wires/chat-completions.md#deltas). Nothing is checked against a schema. A value that is
missing, null or of another type is ignored; an unknown field is counted as :class:`Unmapped`.

The end of a response is always inferred: a response is complete if a finish reason came before the end of the bytes or
`[DONE]`. Tool calls are emitted only then. Real servers deviate:

- Some leave the first chunk blank, or give each chunk an id of its own: the first value of each field counts.
- Some put thinking in tags into the content, or send the content as a list of parts (Mistral).
- The last chunk often repeats images (docs/wires/chat-completions.md#images), and many chunks repeat sources, at
  positions that mean nothing (docs/wires/chat-completions.md#citations). Each is emitted once; sources follow the text.
- Usage comes in five places (docs/wires/chat-completions.md#usage), and as zeros until the last chunk (MiniMax).
- Finish reasons come in the words of other wires, through gateways; tool calls decide over the word
  (docs/wires/chat-completions.md#finish-reasons).

Source: docs/wires/chat-completions.md. No specification says what servers send.
"""

from __future__ import annotations
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.codec.checks import MOST_DOLLARS, as_amount, as_count
from partstream.conversation.media import sniff
from partstream.errors import AdapterUsageError, LanguageModelError, UpstreamAbortedError
from partstream.lm.outputs import Finish, Outcome, StreamOptions, StreamOutput, Unmapped
from partstream.lm.parts import (
    DataPart,
    FinishReason,
    UnifiedFinishReason,
    Usage,
    text_part,
    tool_call_part,
    unchecked_part,
)
from partstream.protocols.chat_completions.errors import ERRORS
from partstream.protocols.chat_completions.provider_state import (
    CONTENT,
    REASONING_FIELDS,
    REASONING_LISTS,
    STATE_FIELDS,
    Thinking,
)
from partstream.protocols.chat_completions.tool_calls import ToolCalls
from partstream.protocols.citations import Citation, Citations, CitedText
from partstream.protocols.files import Files, picture_in, read_base64
from partstream.protocols.protocol import MatchConfidence, ResponseReaderSpec
from partstream.protocols.read_response import (
    TRANSITIONS,
    Action,
    Choices,
    Deltas,
    EmittedPrefix,
    LifecycleEvent,
    LifecycleState,
    ResponseReader,
    Said,
    Wire,
    emit_into,
    identifier,
    index,
    mapping,
    objects,
    text,
)
from partstream.protocols.thinking import TaggedPiece, ThinkTagSplitter

if TYPE_CHECKING:
    from partstream.errors import ToolArgumentsError, UpstreamError
    from partstream.lm.outputs import CitationMode, EmitText
    from partstream.protocols.calls import CompleteCall

_Outputs: TypeAlias = list[StreamOutput]
ShowImage: TypeAlias = "Callable[[str | None, Wire, _Outputs], None]"
"""Shows a picture, by its address and the object that holds it."""


class ChatCompletionsStream(ResponseReader):
    """One response of a Chat Completions server; see :class:`partstream.lm.outputs.ResponseStream`.

    Attributes:
        ending: Whether a finish reason came and no output after it: only the usage may still follow.
    """

    def __init__(self, options: StreamOptions = StreamOptions()) -> None:  # noqa: B008 - immutable
        super().__init__(options)
        self.ending = False
        self._prefix = options.call_id_prefix
        self._envelope = Envelope()
        self._message = Message(options)
        self._usage = ReportedUsage()
        self._finish = FinishWords()
        self._choices = Choices(_said)
        self._is_document = False  # whether a whole message came: it is complete whatever else is missing
        self._whole_beside: Wire = {}
        self._ends_with_usage = False  # whether the last chunk brought the first usage, and nothing else

    @property
    def usage(self) -> Usage | None:
        """The tokens that the server has reported so far."""
        return self._usage.value

    def feed_into(self, event: Mapping[str, Any], outputs: _Outputs) -> None:
        """Reads the next chunk and appends its outputs."""
        self.emit_more = None
        chunk: Wire = event if isinstance(event, dict) else dict(event)
        choices = objects(chunk, "choices")
        error = ERRORS.failure_in(chunk)
        kind = _kind(chunk) if error is None else LifecycleEvent.ERROR
        if self._state is LifecycleState.ENDED:
            raise AdapterUsageError("fed a chunk after the stream was ended")
        if kind is None:  # an event of something else, such as one that an agent mixes in
            if chunk and self._state is not LifecycleState.FINISHED:
                outputs.append(Unmapped(identifier(chunk, "type") or "a chunk without choices", chunk))
            return
        next_state, action, _ = TRANSITIONS[self._state][kind]
        if action is Action.IGNORE:
            return
        self._state = next_state
        self._error = self._error or error
        reports = self._usage.reports
        self._envelope.read(chunk)
        self._usage.read(mapping(chunk, "x_groq").get("usage"))
        self._usage.read(chunk.get("usage"))
        self._message.sources.chunk(chunk)
        if self._error is not None:
            return  # a chunk after an error only adds facts about the response
        is_whole = any(isinstance(choice.get("message"), dict) for choice in choices)
        self._read_choices(self._choices.take(choices, whole=is_whole), outputs)
        if choices and (failure := ERRORS.failure_beside(*_places_of_errors(choices[0]))) is not None:
            self._error, self._state = failure, LifecycleState.FAILING
            return
        has_output = any(map(_has_output, choices))
        self.ending = self._finish.raw is not None and not has_output
        # OpenRouter sends the cost only in the last chunk, even of an empty response: recording
        # req-openrouter-minimax-minimax-m1-object-streaming.
        is_begun = not self._message.is_empty or "cost" in mapping(chunk, "usage")
        self._ends_with_usage = self._usage.reports == 1 != reports and is_begun and not has_output
        is_named = self._envelope.response_id is not None and self._envelope.model is not None
        if has_output and is_named and self._choices.is_alone and self._usage.reports == reports:
            self.emit_more = self._message.more(*_only_field(chunk))

    @property
    def _word(self) -> str | None:
        return self._finish.raw

    def _is_whole(self, *, told: bool) -> bool:
        # Servers that forget the finish reason still end with the usage: recordings
        # pai-snowflake-snowflake-thinking-streaming and llm-tools-streaming-variant-b, where lines of JSON have no
        # place for `[DONE]`. A usage beside a piece of the message is no end: some servers report one with each.
        has_end = self._finish.raw is not None or self._is_document or self._ends_with_usage
        return self._state is LifecycleState.OPEN and (told or has_end)

    def end(self, *, whole: bool = False) -> _Outputs:
        """Ends the chunks; other choices than the first may have waited for it."""
        outputs: _Outputs = []
        if not self.finished:
            self._read_choices(self._choices.rest(), outputs)
        return outputs + super().end(whole=whole)

    def _settle(self, outputs: _Outputs) -> None:
        self._read_choices(self._choices.rest(), outputs)
        self._message.texts.settle(outputs)

    def _complete(self, outputs: _Outputs) -> None:
        message = self._message
        error = self._finish.failure(is_empty=False)
        if error is None and message.is_empty:
            # Perplexity repeats the message beside each delta; it counts only where no delta brought any.
            message.whole(self._whole_beside, outputs)
            error = self._finish.failure(is_empty=message.is_empty)
        if error is not None:
            outputs += self.fail(error)
            return
        calls, broken = message.complete(self._envelope.response_id, outputs, is_cut=self._finish.is_cut)
        outputs += (tool_call_part(self._prefix + one.call_id, one.name, one.input) for one in calls)
        if broken is not None:
            outputs += self.fail(broken)
            return
        reason = self._finish.reason(has_calls=bool(calls) and not message.calls.any_half)
        self._emit_finish(Outcome.INCOMPLETE if self._finish.is_cut else Outcome.COMPLETED, reason, outputs)

    def _emit_finish(
        self,
        outcome: Outcome,
        reason: FinishReason | None,
        outputs: _Outputs,
        error: LanguageModelError | None = None,
    ) -> None:
        about = self._envelope
        facts = {"provider": about.provider, "nativeFinishReason": self._finish.native, "cost": self._usage.cost}
        known = {name: fact for name, fact in facts.items() if fact is not None}
        metadata = {"chatCompletions": known} if known else {}
        outputs.append(Finish(outcome, reason, self._usage.value, about.response_id, about.model, error, metadata))
        self._state = LifecycleState.FINISHED

    def _read_choices(self, choices: list[tuple[int, Wire]], outputs: _Outputs) -> None:
        for place, choice in choices:
            self._read_choice(place, choice, outputs)
        for place, choice in self._choices.lost:
            self._message.count(f"choices[{place}]", choice, outputs)
        self._choices.lost.clear()

    def _read_choice(self, place: int, choice: Wire, outputs: _Outputs) -> None:
        delta, message = choice.get("delta"), choice.get("message")
        if isinstance(delta, dict):
            self._message.delta(delta, outputs)
            if isinstance(message, dict) and place == 0:
                self._whole_beside = message
        elif isinstance(message, dict):
            self._is_document = True
            self._message.whole(message, outputs, continues=place > 0)
        elif isinstance(choice.get("text"), str):  # the older API of the same servers
            self._message.delta({"content": choice["text"]}, outputs)
        self._usage.read(choice.get("usage"))
        self._finish.read(choice.get("finish_reason"), choice.get("native_finish_reason"))


def _kind(chunk: Wire) -> LifecycleEvent | None:
    """The meaning of a chunk without an error for the lifecycle; None for an event of something else."""
    if isinstance(chunk.get("choices"), list) and chunk["choices"]:
        return LifecycleEvent.CONTENT
    if chunk.keys() & _REPORTS or ("id" in chunk and "type" not in chunk):
        return LifecycleEvent.REPORT
    return None


_REPORTS: Final = frozenset({"choices", "usage", "object", "x_groq"})
"""The fields of chunks without a choice: usage, filters, moderation, additions of an agent."""


def _has_output(choice: Wire) -> bool:
    """Whether a choice holds a piece of the message, or a whole one."""
    return bool(choice.get("message")) or any(
        value for name, value in mapping(choice, "delta").items() if name != "role"
    )


def _places_of_errors(choice: Wire) -> tuple[Wire, ...]:
    """Where gateways put the error of a response that has begun, beside a finish reason or without one."""
    return choice, mapping(choice, "delta"), mapping(choice, "message")


def _said(choice: Wire) -> Said:
    """What a choice brings."""
    message = mapping(choice, "delta") or mapping(choice, "message") or {"content": choice.get("text")}
    calls = objects(message, "tool_calls")
    numbers = (index(call, "index") for call in calls)
    places = frozenset(place if number is None else number for place, number in enumerate(numbers))
    return Said(
        speaks=any(value for name, value in message.items() if name not in {"role", "tool_calls", "function_call"}),
        calls=frozenset({0}) if not calls and message.get("function_call") else places,
        ends=bool(identifier(choice, "finish_reason")),
    )


class Envelope:
    """The server's id and model, and the provider that a router chose: docs/wires/chat-completions.md#envelope."""

    __slots__ = ("model", "provider", "response_id")

    def __init__(self) -> None:
        self.response_id: str | None = None
        self.model: str | None = None
        self.provider: str | None = None

    def read(self, chunk: Wire) -> None:
        """Reads a chunk; the first value of each field counts."""
        self.response_id = self.response_id or identifier(chunk, "id")
        self.model = self.model or identifier(chunk, "model")
        self.provider = self.provider or identifier(chunk, "provider")


# ---- Texts: content, refusals, transcripts, and thinking inside the content ----


class Texts:
    """The visible text of one response; `said` is the content that came, with its tags."""

    __slots__ = ("_refused", "_show_image", "_splitter", "_tags_carried", "_thinking", "any_shown", "said", "sound")

    def __init__(self, options: StreamOptions, thinking: Thinking, show_image: ShowImage) -> None:
        self.said = EmittedPrefix()
        self.sound = Sound()
        self.any_shown = False
        self._refused = EmittedPrefix()
        self._splitter = ThinkTagSplitter(options.think_tags)
        self._thinking = thinking
        self._show_image = show_image
        self._tags_carried = False

    @property
    def is_settled(self) -> bool:
        """Whether all further content is text."""
        return self._splitter.is_settled

    def content(self, value: Any, outputs: _Outputs) -> None:
        """Reads the `content` of a delta: a text, or a list of parts (Mistral, Databricks)."""
        if isinstance(value, list):
            for part in value:
                self._part(part, outputs)
        elif isinstance(value, str):
            if not value:
                return
            self.said.add(value)
            if self._splitter.is_settled:
                self._show(value, outputs)
            else:
                self._emit(self._splitter.push(value), outputs)
        elif value:
            outputs.append(Unmapped("content (of an unknown form)", {"content": value}))

    def _part(self, part: Any, outputs: _Outputs) -> None:
        """Reads a part of a content that is a list: Mistral's, and those of gateways."""
        match identifier(part, "type"):
            case "text" | "output_text" | "image_url":
                for name in part:  # some gateways put a text and a picture into one part
                    if name == "text":
                        self.content(text(part, "text"), outputs)
                    elif name == "image_url":
                        self._show_image(picture_in(part), part, outputs)
            case "thinking" | "reasoning" | "redacted_thinking":
                self.settle(outputs)
                if said := self._thinking.state.parts.add(part):
                    self._thinking.show(said, outputs)
            case kind:
                if isinstance(part, str):
                    self.content(part, outputs)
                else:
                    data = part if isinstance(part, dict) else {"part": part}
                    outputs.append(Unmapped(f"content:{kind or 'unknown'}", data))

    def refusal(self, value: Any, outputs: _Outputs) -> None:
        """Reads the `refusal` of a delta: what the model says in place of an answer."""
        if isinstance(value, str) and value:
            self._refused.add(value)
            self._show(value, outputs)

    def audio(self, value: Any, outputs: _Outputs) -> None:
        """Reads the `audio` of a delta: its transcript is the text of a response without any other text."""
        if isinstance(value, dict):
            self.sound.take(value)
        if self.said.is_empty and (transcript := text(value, "transcript")):
            self._show(transcript, outputs)

    def read_whole(self, message: Wire, outputs: _Outputs) -> None:
        """Reads the text of a whole message, as far as no delta has brought it."""
        content = message.get("content")
        if isinstance(content, list) and not self.said.is_empty:
            content = "".join(map(_text_of, content))
        if isinstance(content, str):
            content = _missing(self.said, content)
        self.content(content, outputs)
        refused = message.get("refusal")
        self.refusal(_missing(self._refused, refused) if isinstance(refused, str) else None, outputs)
        if message.get("audio") and self.sound.is_empty:
            self.audio(message["audio"], outputs)

    def settle(self, outputs: _Outputs) -> None:
        """Treats all further content as text: thinking has a field of its own, or the response is over."""
        if not self._splitter.is_settled:
            self._emit(self._splitter.settle(), outputs)
        self._carry_tags()

    def _emit(self, pieces: list[TaggedPiece], outputs: _Outputs) -> None:
        for is_thinking, value in pieces:
            if is_thinking:
                self._thinking.show(value, outputs)
            else:
                self._show(value, outputs)

    def _show(self, value: str, outputs: _Outputs) -> None:
        if self._splitter.is_settled:
            self._carry_tags()
            self._thinking.close(outputs)
        self.any_shown = True
        outputs.append(text_part(value))

    def _carry_tags(self) -> None:
        if not self._tags_carried:
            self._tags_carried = True
            if (raw := self._splitter.raw_thinking) and self._thinking.state.wanted:
                self._thinking.state.pieces(CONTENT).append(raw)


def _text_of(part: Any) -> str:
    return part if isinstance(part, str) else text(part, "text")


def _missing(said: EmittedPrefix, whole: str) -> str:
    """The part of a whole text that was not emitted; empty if the whole text contradicts what was emitted."""
    return whole[said.length :] if said.begins(whole) else ""


class Sound:
    """The sound of one response: each piece is base64 of its own (docs/wires/chat-completions.md#deltas)."""

    __slots__ = ("_format", "_pieces")

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._format = "pcm"  # OpenAI streams nothing else, and names it nowhere

    @property
    def is_empty(self) -> bool:
        """Whether none came."""
        return not self._pieces

    def take(self, audio: Wire) -> None:
        """Takes the `audio` of a delta or a message."""
        self._format = identifier(audio, "format") or self._format
        if (data := read_base64(audio.get("data"))) is not None:
            self._pieces.append(data)

    def emit(self, outputs: _Outputs) -> None:
        """Emits all of it as one file."""
        if self._pieces:
            data = b"".join(self._pieces)
            outputs.append(unchecked_part(DataPart, data, sniff(data) or f"audio/{self._format}"))
            self._pieces.clear()


_MOST_SOURCES: Final = 1000
"""The limit of sources for one response."""


class Sources:
    """The sources of one response by address, in the four shapes of docs/wires/chat-completions.md#citations."""

    __slots__ = ("_citations", "_count", "_found", "_titles")

    def __init__(self, mode: CitationMode, count: Callable[[str, Wire, _Outputs], None]) -> None:
        self._citations = Citations(mode)
        self._count = count
        self._found: dict[str, Citation] = {}
        self._titles: dict[str, str] = {}

    def annotations(self, source: Wire, outputs: _Outputs) -> None:
        """Reads `annotations` of a delta or a message: OpenAI's search models, OpenRouter's plugin."""
        for annotation in objects(source, "annotations"):
            kind = identifier(annotation, "type") or "unknown"
            cited = mapping(annotation, kind) or annotation
            url = identifier(cited, "url")
            if url is None:
                self._count(f"annotation:{kind}", annotation, outputs)
                continue
            self._add(
                Citation(
                    url=url,
                    title=identifier(cited, "title"),
                    name=f"annotation:{kind}",
                    data=annotation,
                    start=index(cited, "start_index"),
                    end=index(cited, "end_index"),
                    cited_text=identifier(cited, "content"),
                )
            )

    def chunk(self, event: Wire) -> None:
        """Reads `citations` and `search_results` of a chunk: Perplexity, xAI, Zhipu."""
        for result in objects(event, "search_results"):
            url, title = identifier(result, "url"), identifier(result, "title")
            if url is not None and title is not None and len(self._titles) < _MOST_SOURCES:
                self._titles.setdefault(url, title)
        cited = event.get("citations")
        for one in cited if isinstance(cited, list) else ():
            url = one if isinstance(one, str) else identifier(one, "url")
            if url:
                self._add(Citation(url, identifier(one, "title"), "citations", {"url": url}))

    def emit(self, said: CitedText, outputs: _Outputs) -> None:
        """Emits all sources, each once."""
        for url, one in self._found.items():
            citation = one if one.title is not None else one._replace(title=self._titles.get(url))
            outputs += self._citations.render(citation, said, url)
        outputs += self._citations.at_end()
        self._found = {}

    def _add(self, citation: Citation) -> None:
        if citation.url is not None and len(self._found) < _MOST_SOURCES:
            self._found.setdefault(citation.url, citation)


# ---- The message, from deltas or from one whole message ----


class Message:
    """The message of one response."""

    __slots__ = ("_counted", "_files", "_images", "calls", "sources", "texts", "thinking")

    def __init__(self, options: StreamOptions) -> None:
        self.thinking = Thinking(options)
        self._files = options.files
        self._images: Files | None = None
        self.texts = Texts(options, self.thinking, self.show_image)
        self.calls = ToolCalls()
        self.sources = Sources(options.citations, self.count)
        self._counted: set[str] = set()

    @property
    def is_empty(self) -> bool:
        """Whether no delta has brought anything."""
        return not (
            self.texts.any_shown
            or not self.thinking.said.is_empty
            or self.calls.any_open
            or (self._images is not None and self._images.any_shown)
            or not self.texts.sound.is_empty
        )

    def delta(self, delta: Wire, outputs: _Outputs) -> None:
        """Reads a delta: thinking, then text, then calls."""
        self.thinking.read(delta, outputs)
        if not self.texts.is_settled and self.thinking.field is not None:
            self.texts.settle(outputs)
        for name, value in delta.items():
            if value and name not in DELTA and name not in ELSEWHERE:
                self.count(f"delta.{name}", {name: value}, outputs)
        for name, handler in DELTA.items():
            if (value := delta.get(name)) is not None:
                handler(self, value, outputs)

    def more(self, field: str, value: Any) -> EmitText | None:
        """The fast path for more of a field of a delta after its last value, or None."""
        thinking = self.thinking
        if field == "content":
            is_open = not self.texts.is_settled or thinking.is_open
            return None if is_open or not isinstance(value, str) else emit_into(self.texts.said, text_part)
        if field == thinking.field:
            return partial(thinking.show, kept=thinking.state.pieces(field))
        element = value[0] if field == "tool_calls" and len(value) == 1 and isinstance(value[0], dict) else {}
        function, place = mapping(element, "function"), index(element, "index")
        call = None if place is None or element.keys() & _OF_CALLS or function.get("name") else self.calls.at(place)
        if call is None:
            return None
        add = call.json.pieces.append
        return lambda arguments, _outputs: add(arguments)

    def whole(self, message: Wire, outputs: _Outputs, *, continues: bool = False) -> None:
        """Reads the rest of a message that no delta has brought.

        Args:
            message: The message.
            outputs: Where its outputs go.
            continues: Whether it is one more choice: its text follows what came, and repeats nothing of it.
        """
        if continues:
            self.delta({name: value for name, value in message.items() if name != "tool_calls"}, outputs)
            self.calls.message(objects(message, "tool_calls"), outputs)
            return
        self.thinking.read_whole(message, outputs)
        if not self.texts.is_settled and self.thinking.field is not None:
            self.texts.settle(outputs)
        self.texts.read_whole(message, outputs)
        self.sources.annotations(message, outputs)
        _show_images(self, message.get("images"), outputs)
        self.calls.message(objects(message, "tool_calls"), outputs)
        if not self.calls.any_open and (function := mapping(message, "function_call")):
            self.calls.delta([{"function": function}], outputs)

    def complete(
        self, response_id: str | None, outputs: _Outputs, *, is_cut: bool
    ) -> tuple[list[CompleteCall], ToolArgumentsError | None]:
        """Ends the message, which a limit or a filter may have cut.

        Returns:
            Its calls, and the error of one that is not whole.
        """
        self.texts.settle(outputs)
        self.texts.sound.emit(outputs)
        calls, broken = self.calls.complete(response_id, is_cut=is_cut, outputs=outputs)
        self.sources.emit(self.texts.said, outputs)
        for call, extra in calls:
            if extra is not None:
                self.thinking.state.add_extra(extra, call.call_id)
        self.thinking.finish(outputs, has_calls=bool(calls), is_cut=is_cut)
        return [call for call, _ in calls], broken

    def show_image(self, address: str | None, wire: Wire, outputs: _Outputs) -> None:
        """Shows a picture once; `wire` is the object that holds its address."""
        if self._images is None:
            self._images = Files(self._files)
        self._images.show(address, wire, outputs)

    def count(self, name: str, data: Wire, outputs: _Outputs) -> None:
        """Counts data that no part can represent, once for each name."""
        if name not in self._counted:
            self._counted.add(name)
            outputs.append(Unmapped(name, data))


def _show_images(message: Message, value: Any, outputs: _Outputs) -> None:
    for image in objects({"images": value}, "images"):
        message.show_image(picture_in(image), image, outputs)


def _tool_calls(message: Message, value: Any, outputs: _Outputs) -> None:
    message.calls.delta(objects({"tool_calls": value}, "tool_calls"), outputs)


def _function_call(message: Message, value: Any, outputs: _Outputs) -> None:
    if isinstance(value, dict):
        message.calls.delta([{"index": 0, "function": value}], outputs)


def _annotations(message: Message, value: Any, outputs: _Outputs) -> None:
    message.sources.annotations({"annotations": value}, outputs)


def _extra_content(message: Message, value: Any, _outputs: _Outputs) -> None:
    if isinstance(value, dict):
        message.thinking.state.add_extra(value)


DELTA: Final[dict[str, Callable[[Message, Any, _Outputs], None]]] = {
    "content": lambda message, value, outputs: message.texts.content(value, outputs),
    "refusal": lambda message, value, outputs: message.texts.refusal(value, outputs),
    "audio": lambda message, value, outputs: message.texts.audio(value, outputs),
    "images": _show_images,
    "annotations": _annotations,
    "extra_content": _extra_content,
    "tool_calls": _tool_calls,
    "function_call": _function_call,
}
"""The fields of a delta in the order in which they are read. `function_call` is the older form of one call."""

_NOISE: Final = ("role", "logprobs", "channel", "token_id", "error")
ELSEWHERE: Final = frozenset({*REASONING_FIELDS, *STATE_FIELDS, *REASONING_LISTS, *_NOISE})
"""The fields that thinking reads, and those without a meaning for the response."""


# ---- Finish reasons ----

_STOP: Final = UnifiedFinishReason.STOP
_LENGTH: Final = UnifiedFinishReason.LENGTH
_FILTER: Final = UnifiedFinishReason.CONTENT_FILTER
_ERROR: Final = UnifiedFinishReason.ERROR

ABORTED: Final = "abort"
"""SGLang's word for a response that it stopped itself."""

FAILURES: Final[Mapping[str, str]] = {
    "error": "it gave no reason",
    "network_error": "a network error on its side",  # GLM
    "insufficient_system_resource": "it has too few resources",  # DeepSeek
    ABORTED: "it stopped the answer",
    "malformed_function_call": "the model made a malformed tool call",
    "unexpected_tool_call": "the model called a tool that it may not call",
    "missing_thought_signature": "a signature of the model's thinking is missing",
}
"""The words of failed responses, in lower case, with their messages for users."""

_TOO_LONG: Final = "model_context_window_exceeded"
_OVERFLOWS: Final = (_TOO_LONG, "compaction")
"""The words for a full window: of an empty response, the input was too long."""

WORDS: Final[Mapping[str, UnifiedFinishReason]] = {
    **dict.fromkeys(("stop", "eos", "eos_token", "end", "end_turn", "stop_sequence", "complete"), _STOP),
    **dict.fromkeys(("tool_calls", "function_call", "tool_use"), UnifiedFinishReason.TOOL_CALLS),
    # Mistral's, Z.ai's and Google's words among them.
    **dict.fromkeys(
        ("length", "max_tokens", "max_output_tokens", "model_length", *_OVERFLOWS),
        _LENGTH,
    ),
    **dict.fromkeys(
        (
            "content_filter", "content_filtered", "safety", "recitation", "blocklist", "prohibited_content", "spii",
            "sensitive", "refusal", "guardrail_intervened",
        ),
        _FILTER,
    ),
    **dict.fromkeys(FAILURES, _ERROR),
}  # fmt: skip
"""The meaning of a word in lower case. Words of other wires come through gateways."""


_RANKS: Final[Mapping[UnifiedFinishReason, int]] = {
    UnifiedFinishReason.OTHER: 0,
    _STOP: 1,
    _LENGTH: 2,
    _FILTER: 2,
    UnifiedFinishReason.TOOL_CALLS: 3,
    _ERROR: 4,
}
"""Of two finish reasons, the one with the higher rank counts, else the first."""


class FinishWords:
    """The finish reason of one response: the server's word, its meaning, and the word of the model's own server where
    a gateway passes it on."""

    __slots__ = ("native", "raw", "unified")

    def __init__(self) -> None:
        self.raw: str | None = None
        self.unified = UnifiedFinishReason.OTHER
        self.native: str | None = None

    def read(self, word: object, native: object) -> None:
        """Reads a finish reason; null and `""` are none."""
        if not isinstance(word, str) or not word:
            return
        unified = WORDS.get(word.lower(), UnifiedFinishReason.OTHER)
        if self.raw is None or _RANKS[unified] > _RANKS[self.unified]:
            self.raw, self.unified, self.native = word, unified, native if isinstance(native, str) else None

    @property
    def is_cut(self) -> bool:
        """Whether a limit or a filter ended the response."""
        return self.unified in {_LENGTH, _FILTER}

    def failure(self, *, is_empty: bool) -> UpstreamError | None:
        """The error of a response that failed, or that is empty because the window was full; else None."""
        word = (self.raw or "").lower()
        if is_empty and word in _OVERFLOWS:
            message = f"the conversation fills the context window of the model ({word})"
            return ERRORS.failure(message, _TOO_LONG)
        if self.unified is not _ERROR:
            return None
        if word == ABORTED:
            return UpstreamAbortedError(self.native)
        said = FAILURES[word]
        return ERRORS.failure(said if self.native is None else f"{said} ({self.native})", word)

    def reason(self, *, has_calls: bool) -> FinishReason:
        """The finish reason of a response."""
        if has_calls:
            return FinishReason(UnifiedFinishReason.TOOL_CALLS, self.raw)
        if self.unified is UnifiedFinishReason.TOOL_CALLS:  # a parser of the server failed: there is no call
            return FinishReason(UnifiedFinishReason.OTHER, self.raw)
        return FinishReason(self.unified, self.raw)


# ---- Usage ----

_CACHED: Final = (
    ("prompt_tokens_details", "cached_tokens"),
    ("prompt_cache_hit_tokens",),  # DeepSeek
    ("cached_tokens",),  # Moonshot
    ("num_cached_tokens",),  # Mistral
    ("prompt_token_details", "cached_tokens"),  # Mistral's spelling
)
_WRITTEN: Final = (
    ("prompt_tokens_details", "cache_write_tokens"),  # OpenRouter
    ("prompt_tokens_details", "cache_creation_input_tokens"),  # Qwen
    ("prompt_tokens_details", "created_cache_tokens"),  # vLLM
)
_REASONING: Final = (("completion_tokens_details", "reasoning_tokens"), ("reasoning_tokens",))  # the second: SGLang


_TICKS: Final = 10_000_000_000
"""xAI counts the cost in this fraction of a US dollar."""


class ReportedUsage:
    """The usage of one response. A later report replaces an earlier one, and nothing is added up.

    `raw` is the last object with a number that is not 0, else the last with any number; `reports` counts the objects
    with a number that is not 0.
    """

    __slots__ = ("raw", "reports")

    def __init__(self) -> None:
        self.raw: Wire | None = None
        self.reports = 0

    def read(self, report: Any) -> None:
        """Reads a field `usage`. MiniMax reports zeros until its last chunk."""
        if not isinstance(report, dict):
            return
        numbers = [value for value in report.values() if isinstance(value, int | float) and not isinstance(value, bool)]
        if any(numbers) or (numbers and not self.reports):
            self.raw = report
            self.reports += any(numbers)

    @property
    def cost(self) -> float | None:
        """The cost in US dollars where it is no number in `cost`: Perplexity sends its parts and their sum."""
        ticks = as_amount(_at(self.raw, ("cost_in_usd_ticks",)), MOST_DOLLARS * _TICKS)
        total = as_amount(_at(self.raw, ("cost", "total_cost")), MOST_DOLLARS)
        return total if ticks is None else ticks / _TICKS

    @property
    def value(self) -> Usage | None:
        """The usage, or None if none was reported."""
        return None if self.raw is None else read_usage(self.raw)


def read_usage(raw: Wire) -> Usage:
    """The usage that an object reports.

    xAI's `completion_tokens` leave out the reasoning. Arithmetic shows that, not a name: where prompt, completion and
    reasoning add up to the total, the output is the sum of the last two (recording xai-text). xAI's cached tokens may
    exceed its prompt tokens, which then leave out the cached ones.
    """
    given, made, total = (as_count(raw.get(name)) for name in ("prompt_tokens", "completion_tokens", "total_tokens"))
    cached, written, reasoning = (
        next((count for path in paths if (count := as_count(_at(raw, path))) is not None), None)
        for paths in (_CACHED, _WRITTEN, _REASONING)
    )
    if given is not None and made is not None and reasoning and given + made + reasoning == total:
        made += reasoning
    if given is not None and cached is not None and cached > given:
        given += cached
    if total is None and given is not None and made is not None:
        total = given + made
    return Usage(given, made, total, cached, reasoning, raw, written)


def _at(raw: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        raw = raw.get(name) if isinstance(raw, dict) else None
    return raw


# ---- Fast path ----

_SLOW_FIELDS: Final = frozenset({"usage", "x_groq", "base_resp", "citations", "search_results", "error"})
"""The fields of a chunk that do more than its choice, if they are not empty."""

_QUIET: Final = frozenset(
    {"delta", "logprobs", "content_filter_results", "content_filter_offsets", "matched_stop", "token_ids", "seed"}
)
"""The fields of a choice whose values have no meaning here."""

_OF_CALLS: Final = frozenset({"id", "type", "extra_content"})
"""The fields of an element that begins a call."""

DELTAS: Final = Deltas(
    places={
        "": (
            ("choices", 0, "delta", "content"),
            *(("choices", 0, "delta", field) for field in REASONING_FIELDS),
            ("choices", 0, "delta", "tool_calls", 0, "function", "arguments"),
        )
    },
    varying=("id", "created", "obfuscation"),
)


def _only_field(chunk: Wire) -> tuple[str, Any]:
    """The field of the delta that is all a chunk brings, with its value; two empty ones where it brings more."""
    choices = chunk["choices"]
    if len(choices) == 1 and not any(chunk.get(name) for name in _SLOW_FIELDS):
        choice = choices[0]
        fields = [(name, value) for name, value in mapping(choice, "delta").items() if value and name != "role"]
        if len(fields) == 1 and not any(value and name not in _QUIET for name, value in choice.items()):
            return fields[0]
    return "", None


# ---- The protocol's reader ----


def claims(_kind: str | None, event: Wire) -> MatchConfidence:
    """Tells whether an event of a recording belongs to this protocol."""
    if isinstance(event.get("choices"), list) or str(event.get("object")).startswith("chat.completion"):
        return MatchConfidence.SURE
    return MatchConfidence.POSSIBLE if event.get("error") and "type" not in event else MatchConfidence.NO


READ_RESPONSE: Final = ResponseReaderSpec(
    open=ChatCompletionsStream,
    claim=claims,
    deltas=DELTAS,
    events_of=lambda document: (document,),  # a document is a chunk whose choice has a message in place of a delta
)
