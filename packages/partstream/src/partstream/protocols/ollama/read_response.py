"""Ollama: lines of a response in, VS Code's parts out.

:class:`OllamaStream` reads one response. The states of a response are one table
(:mod:`partstream.protocols.read_response`); handlers do not look at the state. Any line, also the last one, may hold
thinking, text, images and calls (docs/wires/ollama.md#lines); `_MESSAGE` lists these fields in the order in which they
are read. Nothing is checked against a schema. A value that is missing, null or of another type is ignored; an unknown
field is counted as :class:`Unmapped`.

A complete response has a line with `done: true`, or with a reason for its end. Without either it was cut, whatever came
before: a runner that stops by itself sends no line (docs/wires/ollama.md#framing). Calls are whole and are emitted at
once. Some models send thinking in tags inside the content (docs/wires/ollama.md#thinking).

Thinking goes back to the model, unsigned. The metadata of the thinking
(:data:`partstream.conversation.provider_state.ITEMS`) carries items of the form
`{"type": "message-field", "field": NAME, "text": TEXT}`, in order; NAME is `thinking`, or `content` for thinking in
tags, with its tags. An item may continue the one before it, because an emitted item cannot be changed.
"""

from __future__ import annotations
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from partstream.codec.checks import as_count
from partstream.conversation.provider_state import ITEMS
from partstream.errors import AdapterUsageError, LanguageModelError
from partstream.lm.outputs import EmitText, Finish, Outcome, StreamOptions, StreamOutput, ThinkingMode, Unmapped
from partstream.lm.parts import FinishReason, UnifiedFinishReason, Usage, text_part, thinking_part, tool_call_part
from partstream.protocols.calls import Calls
from partstream.protocols.errors import ErrorBody, ErrorKind, Errors, read_error_body
from partstream.protocols.files import inline_file
from partstream.protocols.ollama.models import HIGHEST
from partstream.protocols.options import Correction, OptionalField, leave_out, refused_fields
from partstream.protocols.protocol import MatchConfidence, ResponseReaderSpec
from partstream.protocols.read_response import (
    TRANSITIONS,
    Action,
    Deltas,
    LifecycleEvent,
    LifecycleState,
    ResponseReader,
    Wire,
    identifier,
    mapping,
    objects,
)
from partstream.protocols.schemas import smallest_schemas
from partstream.protocols.thinking import TaggedPiece, ThinkTagSplitter

_Outputs: TypeAlias = list[StreamOutput]


class OllamaStream(ResponseReader):
    """One response of Ollama's `/api/chat`; see :class:`partstream.lm.outputs.ResponseStream`.

    Attributes:
        ending: Whether a line gave a finish reason without `done`: only the rest of that end may follow.
    """

    def __init__(self, options: StreamOptions = StreamOptions()) -> None:  # noqa: B008 - immutable
        super().__init__(options)
        self.ending = False
        self._ending = Ending()
        self._thinking = Thinking(options)
        self._texts = Texts(options, self._thinking)
        self._calls = Calls()
        self._prefix = options.call_id_prefix
        self._counted: set[str] = set()

    @property
    def usage(self) -> Usage | None:
        """The tokens that the server has reported so far."""
        return self._ending.usage

    def feed_into(self, event: Mapping[str, Any], outputs: _Outputs) -> None:
        """Reads the next line and appends its outputs."""
        self.emit_more = None
        if self._state is LifecycleState.ENDED:
            raise AdapterUsageError("fed a line after the stream was ended")
        chunk: Wire = event if isinstance(event, dict) else dict(event)
        kind = _kind(chunk)
        if kind is None:  # an object that is no line of this protocol
            if (failure := None if self.finished else ERRORS.failure_in_unknown(chunk)) is not None:
                outputs += self.fail(failure)
            elif chunk and not self.finished:
                outputs.append(Unmapped(identifier(chunk, "type") or "a line without a message", chunk))
            return
        next_state, action, _ = TRANSITIONS[self._state][kind]
        if action is not Action.HANDLE:
            return
        message = mapping(chunk, "message")
        if (error := ERRORS.failure_beside(message) or ERRORS.failure_in(chunk)) is not None:
            outputs += self.fail(error)
            return
        self._ending.read(chunk)
        self._read_message(message, outputs)
        if next_state is LifecycleState.FINISHED:
            self._complete(outputs)
            return
        self._state = next_state
        self.ending = self._ending.word is not None
        if not self.ending and self._ending.model is not None and self._ending.created_at:
            self.emit_more = self._more([name for name, value in message.items() if value and name != "role"])

    @property
    def _word(self) -> str | None:
        return self._ending.word

    def _is_whole(self, *, told: bool) -> bool:
        return told or self._ending.word is not None

    def _settle(self, outputs: _Outputs) -> None:
        self._texts.settle(outputs)

    def _complete(self, outputs: _Outputs) -> None:
        self._texts.settle(outputs)
        self._thinking.emit_items(outputs)
        broken = self._calls.end(outputs, is_cut=self._ending.is_cut)
        if broken is not None:
            outputs += self.fail(broken)
            return
        outcome = Outcome.INCOMPLETE if self._ending.is_cut else Outcome.COMPLETED
        reason = self._ending.reason(has_calls=self._calls.count > 0 and not self._calls.any_half)
        self._emit_finish(outcome, reason, outputs)

    def _emit_finish(
        self,
        outcome: Outcome,
        reason: FinishReason | None,
        outputs: _Outputs,
        error: LanguageModelError | None = None,
    ) -> None:
        about = self._ending
        outputs.append(Finish(outcome, reason, about.usage, None, about.model, error, about.metadata))
        self._state = LifecycleState.FINISHED

    def _read_message(self, message: Wire, outputs: _Outputs) -> None:
        for name, value in message.items():
            if value and name not in _MESSAGE and name != "role":
                self._count(f"message.{name}", {name: value}, outputs)
        for name, handler in _MESSAGE.items():
            if value := message.get(name):
                handler(self, value, outputs)

    def _more(self, fields: list[str]) -> EmitText | None:
        """The fast path for more lines like the last one, whose message has these fields; None where there is none."""
        if not self._texts.is_settled:
            return None
        if fields == [CONTENT] and not self._thinking.is_open:
            return lambda content, outputs: outputs.append(text_part(content))
        return self._thinking.more if fields == [THINKING] else None

    def thinking(self, value: Any, outputs: _Outputs) -> None:
        """Reads the `thinking` of a message."""
        if isinstance(value, str):
            self._texts.settle(outputs)
            self._thinking.keep(THINKING, value)
            self._thinking.show(value, outputs)
        else:
            self._count("message.thinking (of an unknown form)", {"thinking": value}, outputs)

    def content(self, value: Any, outputs: _Outputs) -> None:
        """Reads the `content` of a message."""
        if isinstance(value, str):
            self._texts.push(value, outputs)
        else:
            self._count("message.content (of an unknown form)", {"content": value}, outputs)

    def images(self, value: Any, outputs: _Outputs) -> None:
        """Reads the `images` of a message."""
        for one in value if isinstance(value, list) else [value]:
            self._texts.settle(outputs)
            self._thinking.close(outputs)
            part = inline_file(one)  # base64 without a media type (docs/wires/ollama.md#lines), or a `data:` URL
            outputs.append(part if part is not None else Unmapped("image (not readable)", {"images": [one]}))

    def tool_calls(self, value: Any, outputs: _Outputs) -> None:
        """Reads the `tool_calls` of a message: whole calls, emitted at once.

        `index` has no meaning (docs/wires/ollama.md#tool-calls), and a response has no id: model and time tell it from
        others.
        """
        self._calls.response_id = f"{self._ending.model} {self._ending.created_at}"
        for wire in objects({"tool_calls": value}, "tool_calls"):
            self._texts.settle(outputs)
            self._thinking.close(outputs)
            function = mapping(wire, "function")
            arguments = function.get("arguments")
            pieces = () if arguments is None else (arguments,)
            call = self._calls.take(identifier(wire, "id"), identifier(function, "name"), pieces, outputs)
            if call is not None:
                outputs.append(tool_call_part(self._prefix + call.call_id, call.name, call.input))

    def _count(self, name: str, data: Wire, outputs: _Outputs) -> None:
        """Counts data that no part can represent, once for each name."""
        if name not in self._counted:
            self._counted.add(name)
            outputs.append(Unmapped(name, data))


_MESSAGE: Final[dict[str, Callable[[OllamaStream, Any, _Outputs], None]]] = {
    "thinking": OllamaStream.thinking,
    "content": OllamaStream.content,
    "images": OllamaStream.images,
    "tool_calls": OllamaStream.tool_calls,
}
"""The fields of a message in the order in which they are read."""


def _kind(chunk: Wire) -> LifecycleEvent | None:
    """The meaning of a line for the lifecycle; None for an object of something else."""
    if _is_of_generate(chunk):
        return None
    if chunk.get("error") or chunk.get("done") is True:
        return LifecycleEvent.TERMINAL
    if isinstance(chunk.get("done"), bool) or identifier(chunk, "done_reason"):
        return LifecycleEvent.CONTENT
    return LifecycleEvent.CONTENT if isinstance(chunk.get("message"), dict) and "type" not in chunk else None


def _is_of_generate(chunk: Wire) -> bool:
    """Whether a line comes from `/api/generate`, which completes a text and has no message."""
    return isinstance(chunk.get("response"), str) and "message" not in chunk


# ---- Text and thinking ----

ITEM_TYPE: Final = "message-field"
"""The type of every item: it belongs to its message, not to the piece that follows, and stays without such a piece."""
FIELD: Final = "field"
TEXT: Final = "text"
THINKING: Final = "thinking"
CONTENT: Final = "content"


def joined_items(items: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The texts of the items of one message by field; items of other protocols' forms mean nothing."""
    fields: dict[str, str] = {}
    for item in items:
        name, said = item.get(FIELD), item.get(TEXT)
        if name in (THINKING, CONTENT) and isinstance(said, str):
            fields[name] = fields.get(name, "") + said
    return fields


class Texts:
    """The text of one response, sometimes with its thinking in tags (docs/wires/ollama.md#thinking)."""

    __slots__ = ("_splitter", "_tags_kept", "_thinking")

    def __init__(self, options: StreamOptions, thinking: Thinking) -> None:
        self._splitter = ThinkTagSplitter(options.think_tags)
        self._thinking = thinking
        self._tags_kept = False

    @property
    def is_settled(self) -> bool:
        """Whether all further content is text."""
        return self._splitter.is_settled

    def push(self, content: str, outputs: list[StreamOutput]) -> None:
        """Reads a piece of the content."""
        if self._splitter.is_settled:
            self._show(content, outputs)
        else:
            self._emit(self._splitter.push(content), outputs)

    def settle(self, outputs: list[StreamOutput]) -> None:
        """Treats all further content as text: thinking has a field of its own, or the response is over."""
        if not self._splitter.is_settled:
            self._emit(self._splitter.settle(), outputs)
        self._keep_tags()

    def _emit(self, pieces: Iterable[TaggedPiece], outputs: list[StreamOutput]) -> None:
        for is_thinking, value in pieces:
            if is_thinking:
                self._thinking.show(value, outputs)
            else:
                self._show(value, outputs)

    def _show(self, value: str, outputs: list[StreamOutput]) -> None:
        if self._splitter.is_settled:
            self._keep_tags()
            self._thinking.close(outputs)
        outputs.append(text_part(value))

    def _keep_tags(self) -> None:
        if not self._tags_kept:
            self._tags_kept = True
            if raw := self._splitter.raw_thinking:
                self._thinking.keep(CONTENT, raw)


class Thinking:
    """The thinking of one response, with the texts that go back; `is_open` if the last output was thinking."""

    __slots__ = ("_closed_once", "_items", "_kept", "_wants_items", "is_open", "shows")

    def __init__(self, options: StreamOptions) -> None:
        self.is_open = False
        self.shows = options.thinking is not ThinkingMode.OFF
        self._wants_items = options.thinking is ThinkingMode.PART
        self._closed_once = False
        self._kept: dict[str, list[str]] = {}
        self._items: list[dict[str, Any]] = []

    def show(self, thought: str, outputs: list[StreamOutput]) -> None:
        """Emits a piece of thinking."""
        self.is_open = True
        if self.shows:
            outputs.append(thinking_part(thought))

    def more(self, thought: str, outputs: list[StreamOutput]) -> None:
        """Keeps and emits a piece of thinking after another one."""
        self.keep(THINKING, thought)
        if self.shows:
            outputs.append(thinking_part(thought))

    def keep(self, field: str, text: str) -> None:
        """Keeps a text that goes back in a field of the message."""
        if self._wants_items:
            self._kept.setdefault(field, []).append(text)

    def close(self, outputs: list[StreamOutput]) -> None:
        """Text or a call follows. The first time, the items are emitted with the thinking that they belong to."""
        if self.is_open:
            self.is_open = False
            if not self._closed_once:
                self._closed_once = True
                self.emit_items(outputs)

    def emit_items(self, outputs: list[StreamOutput]) -> None:
        """Emits the items if any has come since the last time, with all items before them."""
        if self._kept:
            self._items += (
                {"type": ITEM_TYPE, FIELD: name, TEXT: "".join(pieces)} for name, pieces in self._kept.items()
            )
            self._kept = {}
            outputs.append(thinking_part("", None, {ITEMS: list(self._items)}))


# ---- Images ----


# ---- The end: finish reason, tokens, times (docs/wires/ollama.md#ends) ----

METADATA: Final = "ollama"
"""The provider's name in the metadata of a Finish."""
COUNTS: Final = ("prompt_eval_count", "eval_count")
"""The tokens of the prompt, cached ones included, and of the response, thinking included."""
DURATIONS: Final = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")
"""Nanoseconds."""

_LENGTH: Final = UnifiedFinishReason.LENGTH
_FILTER: Final = UnifiedFinishReason.CONTENT_FILTER

_WORDS: Final[Mapping[str, UnifiedFinishReason]] = {
    # A request without messages ends with `load` or `unload`.
    **dict.fromkeys(("stop", "load", "unload"), UnifiedFinishReason.STOP),
    "length": _LENGTH,
    # Emulators have the words of Chat Completions.
    "content_filter": _FILTER,
}


class Ending:
    """The facts of one response beside its messages: finish reason (`word`), model, start, tokens and times."""

    __slots__ = ("_counts", "_facts", "created_at", "model", "word")

    def __init__(self) -> None:
        self.word: str | None = None
        self.model: str | None = None
        self.created_at = ""
        self._counts: dict[str, int] = {}
        self._facts: dict[str, Any] = {}

    def read(self, chunk: Wire) -> None:
        """Reads the fields of a line beside its message."""
        self.word = identifier(chunk, "done_reason") or self.word
        self.model = self.model or identifier(chunk, "model")
        self.created_at = self.created_at or identifier(chunk, "created_at") or ""
        for name in COUNTS:
            if (count := as_count(chunk.get(name))) is not None:
                self._counts[name] = count
        for name in DURATIONS:
            if (duration := as_count(chunk.get(name))) is not None:
                self._facts[name] = duration
        for name in ("remote_model", "remote_host"):
            if said := identifier(chunk, name):
                self._facts[name] = said

    @property
    def usage(self) -> Usage | None:
        """The reported tokens, or None. Servers omit a count of 0, but an unknown count never becomes 0."""
        if not self._counts:
            return None
        given, made = (self._counts.get(name) for name in COUNTS)
        total = given + made if given is not None and made is not None else None
        return Usage(given, made, total, raw=dict(self._counts))

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Times in nanoseconds, and where a cloud model ran, by the names of their fields."""
        return {METADATA: dict(self._facts)} if self._facts else {}

    @property
    def is_cut(self) -> bool:
        """Whether a limit or a filter ended the response."""
        return _WORDS.get(self.word or "") in {_LENGTH, _FILTER}

    def reason(self, *, has_calls: bool) -> FinishReason:
        """The finish reason: `stop` comes with calls too (docs/wires/ollama.md#ends)."""
        if has_calls:
            return FinishReason(UnifiedFinishReason.TOOL_CALLS, self.word)
        return FinishReason(_WORDS.get(self.word or "", UnifiedFinishReason.OTHER), self.word)


# ---- Errors and refused fields (docs/wires/ollama.md#errors, docs/wires/ollama.md#thinking) ----

OPTIONAL_FIELDS: Final = (
    # Servers that predate the word refuse it with those that they know.
    OptionalField("think", instead="high", sentence=rf'invalid think value: "{HIGHEST}"'),
    OptionalField(
        "think",
        sentence=rf'does not support thinking|invalid think value(?!: "{HIGHEST}")|field \S*\.think\b',
    ),
    OptionalField("logprobs", is_word=True),
    OptionalField("top_logprobs"),
    OptionalField("format", is_word=True),
    OptionalField("keep_alive"),
)

_CORRECTIONS: Final = (Correction(*smallest_schemas("tools[].function.parameters")),)

REFUSED_FIELDS: Final = refused_fields(OPTIONAL_FIELDS, _CORRECTIONS)
"""For :attr:`partstream.protocols.errors.Errors.refused_fields`."""

LEAVE_OUT: Final = leave_out(OPTIONAL_FIELDS, _CORRECTIONS)
"""For :attr:`partstream.protocols.protocol.RequestWriter.leave_out`."""


def _read_body(document: Any) -> ErrorBody:
    """Reads `{"error": TEXT}`, whose text may be the JSON of a runner's error, and the additions of cloud models:
    `{"signin_url", "StatusCode", "Status"}`."""
    read = read_error_body(document)
    if not isinstance(document, dict):
        return read
    status, url = document.get("StatusCode"), document.get("signin_url")
    if type(status) is int and 400 <= status < 600:
        read = read._replace(status=status)
    if isinstance(url, str) and len(url) <= 2000 and url.startswith("https://") and url.isprintable():
        read = read._replace(message=f"{read.message or 'unauthorized'}; sign in at {url}")
    missing = _MISSING_MODEL.fullmatch(read.message or "")
    if missing is not None:
        model = missing["model"]
        read = read._replace(message=f"{read.message}; `ollama pull {model}` gets it", kind=ErrorKind.UNKNOWN_MODEL)
    return read


_MISSING_MODEL: Final = re.compile(r"model ['\"](?P<model>[^'\"]{1,200})['\"] not found(?:, try pulling it first)?")


ERRORS: Final = Errors(read_body=_read_body, refused_fields=REFUSED_FIELDS)


def claims(_kind: str | None, event: Wire) -> MatchConfidence:
    """Tells whether an event of a recording belongs to this protocol."""
    if _is_of_generate(event):
        return MatchConfidence.NO
    if isinstance(event.get("done"), bool) and (isinstance(event.get("model"), str) or "message" in event):
        return MatchConfidence.SURE
    is_possible = isinstance(event.get("error"), str) and "type" not in event
    return MatchConfidence.POSSIBLE if is_possible else MatchConfidence.NO


READ_RESPONSE: Final = ResponseReaderSpec(
    open=OllamaStream,
    claim=claims,
    deltas=Deltas({"": (("message", CONTENT), ("message", THINKING))}, varying=("created_at",)),
    events_of=lambda document: (document,),  # a document is a last line with the whole message (`stream: false`)
)
