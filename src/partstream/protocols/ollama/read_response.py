"""Ollama: lines of an answer in, VS Code's parts out.

Rule 1: how far a response has come is one table, :mod:`partstream.protocols.read_response`; a handler never looks at
the state. Rule 2: `_MESSAGE` says what is read of a line's message, in this order: one line may hold thinking, text,
calls and images, the last line too (docs/wires/ollama.md#lines). Rule 3: nothing is checked against a schema. What is
missing, null or of another type says nothing; what is not known is counted as :class:`Unmapped`. Rule 4: a whole answer
has a line with `done: true`, or with a reason for its end. Without either it was cut, whatever came before: a runner
that stops by itself says nothing (docs/wires/ollama.md#framing).
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64decode
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.codec.checks import as_count
from partstream.conversation.media import sniff
from partstream.conversation.provider_state import ITEMS
from partstream.conversation.turns import canonical_json
from partstream.errors import AdapterUsageError, LanguageModelError, ToolArgumentsError
from partstream.lm.outputs import Finish, Outcome, StreamOptions, StreamOutput, ThinkingMode, Unmapped
from partstream.lm.parts import (
    DataPart,
    FinishReason,
    ToolCallPart,
    UnifiedFinishReason,
    Usage,
    text_part,
    thinking_part,
    tool_call_part,
    unchecked_part,
)
from partstream.protocols.errors import ErrorBody, ErrorKind, Errors, read_error_body
from partstream.protocols.ollama.models import HIGHEST
from partstream.protocols.options import OptionalField, leave_out, refused_fields
from partstream.protocols.protocol import MatchConfidence, ResponseReaderSpec
from partstream.protocols.read_response import (
    TRANSITIONS,
    Action,
    Adapter,
    LifecycleEvent,
    LifecycleState,
    Wire,
    identifier,
    mapping,
    objects,
    read_arguments,
)
from partstream.protocols.thinking import ThinkTagSplitter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from partstream.lm.outputs import FastPath
    from partstream.protocols.thinking import TaggedPiece


# ---- carried items ----
# What goes back to the model of its thinking: the shape of the items that carry it through the conversation.
#
# The items of one answer stand, in order, in the metadata of its thinking
# (:data:`partstream.conversation.provider_state.ITEMS`) and come back in requests to the same upstream and model as the
# pieces :class:`partstream.conversation.turns.Reasoning`. Each has the form::
#
#     `{"type": "message-field", "field": NAME, "text": TEXT}`
#
# NAME is `thinking` for the field of the assistant's message that holds thoughts, and `content` for thoughts in tags
# at the beginning of the content: the text with its tags, as it came. Nothing is signed
# (docs/wires/ollama.md#thinking). An item may continue the one before it, because what was handed out cannot be
# changed.

ITEM_TYPE: Final = "message-field"
"""The type of every item: it belongs to its message, not to the piece that follows, and stays where none does."""
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


# ---- texts ----
# Reads the visible text of an answer, and thinking that stands in it in tags.


class Texts:
    """The text of one answer, sometimes with its thinking in tags (docs/wires/ollama.md#thinking).

    Args:
        options: Where the text holds thinking.
        thinking: Takes the thinking in it, and is told where text begins.
    """

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
        """Takes a piece of the content."""
        if self._splitter.is_settled:
            self._show(content, outputs)
        else:
            self._emit(self._splitter.push(content), outputs)

    def settle(self, outputs: list[StreamOutput]) -> None:
        """Takes all further content as text: thinking comes in a field of its own, or the answer is over."""
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


# ---- thinking ----
# Shows the thinking of an answer, and collects what goes back of it (docs/wires/ollama.md#thinking).


class Thinking:
    """The thinking of one answer.

    Args:
        options: Whether it is shown.

    Attributes:
        is_open: Whether thinking was the last thing that was said.
    """

    __slots__ = ("_closed_once", "_items", "_kept", "_shows", "is_open", "wants_items")

    def __init__(self, options: StreamOptions) -> None:
        self.is_open = False
        self.wants_items = options.thinking is ThinkingMode.PART
        self._shows = options.thinking is not ThinkingMode.OFF
        self._closed_once = False
        self._kept: dict[str, list[str]] = {}
        self._items: list[dict[str, Any]] = []

    def read(self, thought: str, outputs: list[StreamOutput]) -> None:
        """Takes a piece of `message.thinking`."""
        self.keep(THINKING, thought)
        self.show(thought, outputs)

    def show(self, thought: str, outputs: list[StreamOutput]) -> None:
        """Emits a piece of thinking, wherever it stood."""
        self.is_open = True
        if self._shows:
            outputs.append(thinking_part(thought))

    def keep(self, field: str, text: str) -> None:
        """Keeps a text that goes back in a field of the message."""
        if self.wants_items:
            self._kept.setdefault(field, []).append(text)

    def close(self, outputs: list[StreamOutput]) -> None:
        """Text or a call follows. The first time, what goes back goes out with the thinking that it belongs to."""
        if self.is_open:
            self.is_open = False
            if not self._closed_once:
                self._closed_once = True
                self.hand_out(outputs)

    def hand_out(self, outputs: list[StreamOutput]) -> None:
        """Emits the items that have come since the last time, with all before them; nothing where there are none."""
        if self._kept:
            self._items += (
                {"type": ITEM_TYPE, FIELD: name, TEXT: "".join(pieces)} for name, pieces in self._kept.items()
            )
            self._kept = {}
            outputs.append(thinking_part("", None, {ITEMS: list(self._items)}))


# ---- tool calls ----
# Reads the tool calls of an answer: each element is a whole call (docs/wires/ollama.md#tool-calls).

_DIGITS: Final = 24


class ToolCalls:
    """The calls of one answer; `index` says nothing (docs/wires/ollama.md#tool-calls).

    Args:
        prefix: Stands before each id.

    Attributes:
        count: How many calls were handed out.
    """

    __slots__ = ("_contents", "_prefix", "count")

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._contents: dict[str, tuple[str, bytes]] = {}  # by id
        self.count = 0

    def read(self, wire: Wire, answer: str) -> ToolCallPart | None:
        """The call that an element of `tool_calls` is; None where the element repeats a call under the same id.

        Args:
            wire: The element.
            answer: What distinguishes the answer from others: ids of ours differ by it.

        Raises:
            ToolArgumentsError: It has no name, or its arguments are no object.
        """
        function = mapping(wire, "function")
        call_id, name, arguments = identifier(wire, "id"), identifier(function, "name"), function.get("arguments")
        value: dict[str, Any] | None = {} if arguments is None else read_arguments(arguments)
        if name is None or value is None:
            expected = "a JSON object" if name else "a name for these arguments"
            raise ToolArgumentsError(call_id=call_id, name=name, arguments=str(arguments), expected=expected)
        content = (name, canonical_json(value))
        if call_id is not None and self._contents.get(call_id) == content:
            return None
        if call_id is None or call_id in self._contents:
            call_id = self._own_id(answer, content)
        self._contents[call_id] = content
        self.count += 1
        return tool_call_part(self._prefix + call_id, name, value)

    def _own_id(self, answer: str, content: tuple[str, bytes]) -> str:
        """An id that no call of another answer has as far as the answers differ at all."""
        said = json.dumps([answer, self.count, content[0], content[1].decode(errors="replace")]).encode()
        return f"call_{hashlib.sha256(said).hexdigest()[:_DIGITS]}"


# ---- images ----
# Makes data parts of the images that models draw: base64 without a media type (docs/wires/ollama.md#lines).

_UNKNOWN: Final = "application/octet-stream"
_DATA_URL: Final = "data:"


def image_part(value: object) -> DataPart | None:
    """The image that an element of `images` is, of the type that its first bytes show; None for what is no base64.

    Emulators put `data:` URLs there.
    """
    if not isinstance(value, str):
        return None
    said = value.partition(",")[2] if value[:5].lower() == _DATA_URL else value
    try:
        data = b64decode(said, validate=True)
    except ValueError:
        return None
    return unchecked_part(DataPart, data, sniff(data) or _UNKNOWN) if data else None


# ---- ending ----
# The last line of an answer: why it ended, tokens, times, who answered (docs/wires/ollama.md#ends).

METADATA: Final = "ollama"
"""The provider's name in the metadata of a Finish."""
COUNTS: Final = ("prompt_eval_count", "eval_count")
"""The tokens of the prompt, cached ones included, and of the answer, thinking included."""
DURATIONS: Final = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")
"""Nanoseconds."""
LOADED: Final = "load"
UNLOADED: Final = "unload"
"""The reasons of answers to a request without messages, which says nothing."""

_REMOTE: Final = ("remote_model", "remote_host")
_LENGTH: Final = UnifiedFinishReason.LENGTH
_FILTER: Final = UnifiedFinishReason.CONTENT_FILTER

_WORDS: Final[Mapping[str, UnifiedFinishReason]] = {
    **dict.fromkeys(("stop", LOADED, UNLOADED), UnifiedFinishReason.STOP),
    "length": _LENGTH,
    # Emulators have the words of Chat Completions.
    "content_filter": _FILTER,
}


class Ending:
    """What is known of the end of one answer, and of the answer as a whole.

    Attributes:
        word: The server's reason, or None.
        model: The name of the model, or None.
        created_at: When the answer began, as the server says it; empty if it does not.
    """

    __slots__ = ("_counts", "_facts", "created_at", "model", "word")

    def __init__(self) -> None:
        self.word: str | None = None
        self.model: str | None = None
        self.created_at = ""
        self._counts: dict[str, int] = {}
        self._facts: dict[str, Any] = {}

    @property
    def is_known(self) -> bool:
        """Whether model and time have come."""
        return self.model is not None and bool(self.created_at)

    def read(self, chunk: Wire) -> None:
        """Takes what a line says beside its message."""
        self.word = identifier(chunk, "done_reason") or self.word
        self.model = self.model or identifier(chunk, "model")
        self.created_at = self.created_at or identifier(chunk, "created_at") or ""
        for name in COUNTS:
            if (count := as_count(chunk.get(name))) is not None:
                self._counts[name] = count
        for name in DURATIONS:
            if (duration := as_count(chunk.get(name))) is not None:
                self._facts[name] = duration
        for name in _REMOTE:
            if said := identifier(chunk, name):
                self._facts[name] = said

    @property
    def usage(self) -> Usage | None:
        """The reported tokens, or None. A count of 0 is left out by the server, and an unknown one never becomes 0."""
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
        """Whether a limit or a filter ended the answer."""
        return _WORDS.get(self.word or "") in {_LENGTH, _FILTER}

    def reason(self, *, has_calls: bool) -> FinishReason:
        """The finish reason: `stop` comes with calls too (docs/wires/ollama.md#ends)."""
        if has_calls:
            return FinishReason(UnifiedFinishReason.TOOL_CALLS, self.word)
        return FinishReason(_WORDS.get(self.word or "", UnifiedFinishReason.OTHER), self.word)


# ---- short way ----
# The short way of the lines that come by the thousand: a piece of text or of thinking, and nothing else.
#
# docs/decisions/0006-the-sink.md tells how it works.

FREQUENT: Final[Mapping[str, Mapping[str, str]]] = {
    "": {
        "message": "message",
        "done": "done?",
        "done_reason": "done_reason?",
        "error": "error?",
    }
}
"""The fields of a line that the short way reads: the message, and those that send a line the long way. Times and
models say the same in each line."""


class LineFastPath:
    """Offers a sink for more of what a line brought.

    Args:
        options: How the answer is rendered.
        texts: The text of the answer.
        thinking: The thinking of the answer.
    """

    __slots__ = ("_shows_thinking", "_texts", "_thinking")

    def __init__(self, options: StreamOptions, texts: Texts, thinking: Thinking) -> None:
        self._shows_thinking = options.thinking is not ThinkingMode.OFF
        self._texts = texts
        self._thinking = thinking

    def after(self, message: Any) -> FastPath | None:
        """The sink for more lines like the one with this message, or None."""
        if type(message) is not dict or not self._texts.is_settled:
            return None
        if message.get(CONTENT):
            return None if self._thinking.is_open else _read_text
        return self._read_thought if message.get(THINKING) else None

    def _read_thought(self, line: Any, outputs: list[StreamOutput]) -> bool:
        thought = _only(line, THINKING)
        if thought is None:
            return False
        self._thinking.keep(THINKING, thought)
        if self._shows_thinking:
            outputs.append(thinking_part(thought))
        return True


def _read_text(line: Any, outputs: list[StreamOutput]) -> bool:
    text = _only(line, CONTENT)
    if text is None:
        return False
    outputs.append(text_part(text))
    return True


def _only(line: Any, name: str) -> str | None:
    """The text in one field of the message of a line that says nothing else; None where the line needs the long way.

    Raises:
        KeyError: The message lacks the field.
    """
    message = line.message
    if line.done or line.done_reason or line.error or type(message) is not dict:
        return None
    for key, value in message.items():
        if value and key != name and key != "role":  # noqa: PLR1714 - a tuple of them takes twice as long
            return None
    value = message[name]
    return value if type(value) is str and value else None


# ---- optional fields ----
# The fields of Ollama that servers refuse, and what takes their place (docs/wires/ollama.md#thinking).

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

REFUSED_FIELDS: Final = refused_fields(OPTIONAL_FIELDS)
"""For :attr:`partstream.protocols.errors.Errors.refused_fields`."""

LEAVE_OUT: Final = leave_out(OPTIONAL_FIELDS)
"""For :attr:`partstream.protocols.protocol.RequestWriterSpec.leave_out`."""


# ---- errors ----
# The errors of Ollama: the words that it has beside those of other servers (docs/wires/ollama.md#errors).

_MAX_URL: Final = 2000
_STATUSES: Final = range(400, 600)


def _read_body(document: Any) -> ErrorBody:
    """Reads `{"error": TEXT}`, whose text may be the JSON of a runner's error, and what cloud models add:
    `{"signin_url", "StatusCode", "Status"}`."""
    read = read_error_body(document)
    if not isinstance(document, dict):
        return read
    status = document.get("StatusCode")
    if type(status) is int and status in _STATUSES:
        read = read._replace(status=status)
    if url := _signin_url(document):
        read = read._replace(message=f"{read.message or 'unauthorized'}; sign in at {url}")
    missing = _MISSING_MODEL.fullmatch(read.message or "")
    if missing is not None:
        model = missing["model"]
        read = read._replace(message=f"{read.message}; `ollama pull {model}` gets it", kind=ErrorKind.UNKNOWN_MODEL)
    return read


_MISSING_MODEL: Final = re.compile(r"model ['\"](?P<model>[^'\"]{1,200})['\"] not found(?:, try pulling it first)?")


def _signin_url(document: Mapping[str, Any]) -> str | None:
    url = document.get("signin_url")
    is_shown = isinstance(url, str) and len(url) <= _MAX_URL and url.startswith("https://") and url.isprintable()
    return url if is_shown else None


ERRORS: Final = Errors(read_body=_read_body, refused_fields=REFUSED_FIELDS)


# ---- read response ----

_Outputs: TypeAlias = list[StreamOutput]


class OllamaStream(Adapter):
    """One answer of Ollama's `/api/chat`; see :class:`partstream.lm.outputs.ResponseStream`.

    Attributes:
        sink: The short way, or None.
        ending: Whether a line gave a reason for the end without `done`: only the rest of that end may follow.
    """

    def __init__(self, options: StreamOptions = StreamOptions()) -> None:  # noqa: B008 - immutable
        super().__init__()
        self.ending = False
        self._ending = Ending()
        self._thinking = Thinking(options)
        self._texts = Texts(options, self._thinking)
        self._calls = ToolCalls(options.call_id_prefix)
        self._short_way = LineFastPath(options, self._texts, self._thinking)
        self._counted: set[str] = set()

    @property
    def usage(self) -> Usage | None:
        """The tokens that the server has reported so far."""
        return self._ending.usage

    def feed_into(self, event: Mapping[str, Any], outputs: _Outputs) -> None:
        """Takes the next line and appends what it means."""
        self.sink = None
        if self._state is LifecycleState.ENDED:
            raise AdapterUsageError("fed a line after the stream was ended")
        chunk: Wire = event if isinstance(event, dict) else dict(event)
        kind = _kind(chunk)
        if kind is None:
            self._unknown(chunk, outputs)
            return
        next_state, action, _ = TRANSITIONS[self._state][kind]
        if action is not Action.HANDLE:
            return
        if (error := ERRORS.failure_in(chunk)) is not None:
            outputs += self.fail(error)
            return
        self._ending.read(chunk)
        try:
            self._read_message(mapping(chunk, "message"), outputs)
        except ToolArgumentsError as failure:
            outputs += self.fail(failure)
            return
        self._state = next_state
        if next_state is LifecycleState.FINISHED:
            self._complete(outputs)
            return
        self.ending = self._ending.word is not None
        if not self.ending and self._ending.is_known:
            self.sink = self._short_way.after(chunk.get("message"))

    @property
    def _word(self) -> str | None:
        return self._ending.word

    def _is_whole(self, *, told: bool) -> bool:
        return told or self._ending.word is not None

    def _settle(self, outputs: _Outputs) -> None:
        self._texts.settle(outputs)

    def _complete(self, outputs: _Outputs) -> None:
        self._texts.settle(outputs)
        self._thinking.hand_out(outputs)
        outcome = Outcome.INCOMPLETE if self._ending.is_cut else Outcome.COMPLETED
        self._emit_finish(outcome, self._ending.reason(has_calls=self._calls.count > 0), outputs)

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

    def _unknown(self, chunk: Wire, outputs: _Outputs) -> None:
        """Counts an object that is no line of this protocol."""
        if chunk and not self.finished:
            outputs.append(Unmapped(identifier(chunk, "type") or "a line without a message", chunk))

    # A message

    def _read_message(self, message: Wire, outputs: _Outputs) -> None:
        for name, value in message.items():
            if value and name not in _MESSAGE and name not in _NOISE:
                self._count(f"message.{name}", {name: value}, outputs)
        for name, handler in _MESSAGE.items():
            if value := message.get(name):
                handler(self, value, outputs)

    def thinking(self, value: Any, outputs: _Outputs) -> None:
        """Takes the `thinking` of a message."""
        if isinstance(value, str):
            self._texts.settle(outputs)
            self._thinking.read(value, outputs)
        else:
            self._count("message.thinking (of an unknown form)", {"thinking": value}, outputs)

    def content(self, value: Any, outputs: _Outputs) -> None:
        """Takes the `content` of a message."""
        if isinstance(value, str):
            self._texts.push(value, outputs)
        else:
            self._count("message.content (of an unknown form)", {"content": value}, outputs)

    def images(self, value: Any, outputs: _Outputs) -> None:
        """Takes the `images` of a message."""
        for one in value if isinstance(value, list) else [value]:
            self._texts.settle(outputs)
            self._thinking.close(outputs)
            part = image_part(one)
            outputs.append(part if part is not None else Unmapped("image (not readable)", {"images": [one]}))

    def tool_calls(self, value: Any, outputs: _Outputs) -> None:
        """Takes the `tool_calls` of a message: whole calls, handed out at once."""
        for wire in objects({"tool_calls": value}, "tool_calls"):
            self._texts.settle(outputs)
            self._thinking.close(outputs)
            call = self._calls.read(wire, f"{self._ending.model} {self._ending.created_at}")
            if call is not None:
                outputs.append(call)

    def _count(self, name: str, data: Wire, outputs: _Outputs) -> None:
        """Counts what has no part, once for each name."""
        if name not in self._counted:
            self._counted.add(name)
            outputs.append(Unmapped(name, data))


_MESSAGE: Final[dict[str, Callable[[OllamaStream, Any, _Outputs], None]]] = {
    "thinking": OllamaStream.thinking,
    "content": OllamaStream.content,
    "images": OllamaStream.images,
    "tool_calls": OllamaStream.tool_calls,
}
"""What is read of a message, in this order."""

_NOISE: Final = frozenset({"role"})


def _kind(chunk: Wire) -> LifecycleEvent | None:
    """What a line is for the life of the response; None for an object of something else."""
    if _is_of_generate(chunk):
        return None
    if chunk.get("error") or chunk.get("done") is True:
        return LifecycleEvent.TERMINAL
    if isinstance(chunk.get("done"), bool) or identifier(chunk, "done_reason"):
        return LifecycleEvent.CONTENT
    return LifecycleEvent.CONTENT if isinstance(chunk.get("message"), dict) and "type" not in chunk else None


def _is_of_generate(chunk: Wire) -> bool:
    """Whether a line is of `/api/generate`, which completes a text: it has no message."""
    return isinstance(chunk.get("response"), str) and "message" not in chunk


def claims(_kind: str | None, event: Wire) -> MatchConfidence:
    """Tells whether an event of a recording belongs to this protocol."""
    if _is_of_generate(event):
        return MatchConfidence.NO
    if isinstance(event.get("done"), bool) and (isinstance(event.get("model"), str) or "message" in event):
        return MatchConfidence.SURE
    return (
        MatchConfidence.POSSIBLE if isinstance(event.get("error"), str) and "type" not in event else MatchConfidence.NO
    )


def events_of(document: Wire) -> Sequence[Wire]:
    """The lines that a document stands for: it is the last one, with the whole message (`stream: false`)."""
    return (document,)


READ_RESPONSE: Final = ResponseReaderSpec(open=OllamaStream, claim=claims, frequent=FREQUENT, events_of=events_of)
