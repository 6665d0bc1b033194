"""Ollama: lines of a response in, VS Code's parts out.

:class:`OllamaStream` reads one response. The states of a response are one table
(:mod:`partstream.protocols.read_response`); handlers do not look at the state. Any line, also the last one, may hold
thinking, text, images and calls (docs/wires/ollama.md#lines); `_MESSAGE` lists these fields in the order in which they
are read. Nothing is checked against a schema. A value that is missing, null or of another type is ignored; an unknown
field is counted as :class:`Unmapped`.

A complete response has a line with `done: true`, or with a reason for its end. Without either it was cut, whatever came
before: a runner that stops by itself sends no line (docs/wires/ollama.md#framing). Calls are whole and are emitted at
once. :class:`partstream.conversation.thinking.TaggedThinking` takes thinking in tags out of the content
(docs/wires/ollama.md#thinking).

Thinking goes back to the model, unsigned. The metadata of the thinking
(:data:`partstream.conversation.provider_state.ITEMS`) carries items of the form
`{"type": "message-field", "field": NAME, "text": TEXT}`, in order; NAME is `thinking`, or `content` for thinking in
tags, with its tags. An item may continue the one before it, because an emitted item cannot be changed.
"""

from __future__ import annotations
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from partstream.codec.checks import as_count, places
from partstream.conversation.provider_state import FIELD, MESSAGE_FIELD, KeptThinking
from partstream.errors import LanguageModelError
from partstream.lm.outputs import Finish, Outcome, StreamOptions, StreamOutput, Unmapped
from partstream.lm.parts import FinishReason, UnifiedFinishReason, Usage, text_part
from partstream.protocols import read_response as base
from partstream.protocols.calls import Calls
from partstream.protocols.errors import ErrorBody, ErrorKind, Errors, failure_in_finish_word, read_error_body
from partstream.protocols.files import inline_file
from partstream.protocols.ollama.models import HIGHEST
from partstream.protocols.options import Correction, OptionalField, leave_out, refused_fields
from partstream.protocols.read_response import JSONObject, identifier, mapping, objects, text
from partstream.protocols.schemas import smallest_schemas
from partstream.protocols.serve import WireEvent

_Outputs: TypeAlias = list[StreamOutput]

# ---- The end: finish reason, tokens, times (docs/wires/ollama.md#ends) ----

METADATA: Final = "ollama"
COUNTS: Final = ("prompt_eval_count", "eval_count")
"""The tokens of the prompt, cached ones included, and of the response, thinking included."""
DURATIONS: Final = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")  # nanoseconds

_LENGTH: Final = UnifiedFinishReason.LENGTH
_FILTER: Final = UnifiedFinishReason.CONTENT_FILTER

_WORDS: Final[Mapping[str, UnifiedFinishReason]] = {
    # A request without messages ends with `load` or `unload`.
    **dict.fromkeys(("stop", "load", "unload"), UnifiedFinishReason.STOP),
    "length": _LENGTH,
    # Emulators have the words of Chat Completions.
    "content_filter": _FILTER,
}


class OllamaStream(base.ChunkReader):
    """One response of Ollama's `/api/chat`; see :class:`partstream.lm.outputs.ResponseStream`.

    Attributes:
        ending: Whether a line gave a finish reason without `done`: only the rest of that end may follow.
    """

    deltas = base.Deltas({"": (("message", "content"), ("message", "thinking"))}, varying=("created_at",))
    reads = places(
        {
            "": f"model created_at message done done_reason error logprobs {' '.join((*COUNTS, *DURATIONS))}"
            " remote_model remote_host StatusCode Status signin_url",
            "logprobs": f"{base.LOGPROB} top_logprobs",
            "logprobs.top_logprobs": base.LOGPROB,
            "message": "tool_calls *",
            "message.tool_calls": "id type function",
            "message.tool_calls.function": "index name arguments",
        }
    )
    kinds = base.KINDS | dict.fromkeys((*COUNTS, *DURATIONS), (int, float))
    nameless = "a line without a message"
    has_documents = True  # a document is a last line with the whole message (`stream: false`)

    @classmethod
    def claim(cls, _kind: str | None, event: WireEvent) -> base.MatchConfidence:  # noqa: D102
        if _is_of_generate(event):
            return base.MatchConfidence.NO
        if isinstance(event.get("done"), bool) and (isinstance(event.get("model"), str) or "message" in event):
            return base.MatchConfidence.SURE
        is_possible = isinstance(event.get("error"), str) and "type" not in event
        return base.MatchConfidence.POSSIBLE if is_possible else base.MatchConfidence.NO

    @classmethod
    def item_of_tags(cls, raw: str) -> Mapping[str, Any] | None:  # noqa: D102
        return {"type": MESSAGE_FIELD, FIELD: CONTENT, "text": raw}

    def __init__(self, options: StreamOptions = StreamOptions()) -> None:  # noqa: B008 - immutable
        super().__init__(options)
        self.ending = False
        self._thinking = KeptThinking(options)
        self._calls = Calls()
        self._prefix = options.call_id_prefix
        self._reason: str | None = None
        self._last_words = ""  # the content of the line with the reason
        self._model: str | None = None
        self._created_at = ""
        self._counts: dict[str, int] = {}
        self._facts: dict[str, Any] = {}  # times, and where a cloud model ran, by the names of their fields

    @property
    def usage(self) -> Usage | None:
        """The reported tokens, or None. Servers omit a count of 0, but an unknown count never becomes 0."""
        if not self._counts:
            return None
        given, made = (self._counts.get(name) for name in COUNTS)
        return Usage(given, made, base.total_of(None, given, made), raw=dict(self._counts))

    def _kind(self, chunk: JSONObject) -> base.LifecycleEvent | None:
        if _is_of_generate(chunk):
            return None
        if chunk.get("error") or chunk.get("done") is True:
            return base.LifecycleEvent.TERMINAL
        is_line = isinstance(chunk.get("message"), dict) and "type" not in chunk
        is_line |= isinstance(chunk.get("done"), bool) or identifier(chunk, "done_reason") is not None
        return base.LifecycleEvent.CONTENT if is_line else None

    def _read_unknown(self, chunk: JSONObject, outputs: _Outputs) -> None:
        if (failure := ERRORS.failure_in_unknown(chunk)) is not None:
            outputs += self.fail(failure)
        else:
            super()._read_unknown(chunk, outputs)

    def _read_chunk(self, chunk: JSONObject, outputs: _Outputs) -> None:
        message = mapping(chunk, "message")
        if (error := ERRORS.failure_beside(message) or ERRORS.failure_in(chunk)) is not None:
            outputs += self.fail(error)
            return
        if (reason := identifier(chunk, "done_reason")) is not None:
            self._reason, self._last_words = reason, text(message, CONTENT)
        self._model = self._model or identifier(chunk, "model")
        self._created_at = self._created_at or identifier(chunk, "created_at") or ""
        self._counts |= {name: count for name in COUNTS if (count := as_count(chunk.get(name))) is not None}
        self._facts |= {name: time for name in DURATIONS if (time := as_count(chunk.get(name))) is not None}
        self._facts |= {name: said for name in ("remote_model", "remote_host") if (said := identifier(chunk, name))}
        self._take_logprobs(logprobs := objects(chunk, "logprobs"))
        fields = [name for name, value in message.items() if value and name != "role"]
        for name in fields:
            if name not in _MESSAGE:
                self._count_once(f"message.{name}", {name: message[name]}, outputs)
        for name, handler in _MESSAGE.items():
            if value := message.get(name):
                handler(self, value, outputs)
        self.ending = self._reason is not None
        if self.ending or self._model is None or not self._created_at or logprobs:
            return
        if fields == [CONTENT] and not self._thinking.is_open:
            self.emit_more = lambda content, outputs: outputs.append(text_part(content))
        elif fields == [THINKING]:
            self.emit_more = partial(self._thinking.show, kept=self._thinking.pieces(THINKING))

    @property
    def _word(self) -> str | None:
        return self._reason

    def _is_whole(self, *, told: bool) -> bool:
        return told or self._reason is not None

    def _complete(self, outputs: _Outputs) -> None:
        self._thinking.emit_items(outputs)
        word = (self._reason or "").lower()
        unified = _WORDS.get(word, UnifiedFinishReason.OTHER)
        said = None if word in _WORDS else failure_in_finish_word(word)
        if said is not None:  # emulators say why in the content, or nowhere
            outputs += self.fail(ERRORS.failure_of_text(self._last_words) or ERRORS.failure(said, word))
            return
        is_cut = unified in {_LENGTH, _FILTER}
        broken = self._calls.end(outputs, is_cut=is_cut)
        if broken is not None:
            outputs += self.fail(broken)
            return
        if self._calls.count > 0 and not self._calls.any_half:  # `stop` comes with calls too
            unified = UnifiedFinishReason.TOOL_CALLS
        outcome = Outcome.INCOMPLETE if is_cut else Outcome.COMPLETED
        self._emit_finish(outcome, FinishReason(unified, self._reason), outputs)

    def _make_finish(self, outcome: Outcome, reason: FinishReason | None, error: LanguageModelError | None) -> Finish:
        metadata = {METADATA: dict(self._facts)} if self._facts else {}
        return Finish(outcome, reason, self.usage, None, self._model, error, metadata)

    def _read_thinking(self, value: Any, outputs: _Outputs) -> None:
        if isinstance(value, str):
            self.is_untagged = True
            self._thinking.show(value, outputs, self._thinking.pieces(THINKING))
        else:
            self._count_once("message.thinking (of an unknown form)", {"thinking": value}, outputs)

    def _read_content(self, value: Any, outputs: _Outputs) -> None:
        if isinstance(value, str):
            self._thinking.close(outputs)
            outputs.append(text_part(value))
        else:
            self._count_once("message.content (of an unknown form)", {"content": value}, outputs)

    def _read_images(self, value: Any, outputs: _Outputs) -> None:
        for one in value if isinstance(value, list) else [value]:
            self._thinking.close(outputs)
            part = inline_file(one)  # base64 without a media type (docs/wires/ollama.md#lines), or a `data:` URL
            outputs.append(part if part is not None else Unmapped("image (not readable)", {"images": [one]}))

    def _read_calls(self, value: Any, outputs: _Outputs) -> None:
        """Reads whole calls, emitted at once.

        `index` has no meaning (docs/wires/ollama.md#tool-calls), and a response has no id: model and time tell it from
        others.
        """
        self._calls.response_id = f"{self._model} {self._created_at}"
        for wire in objects({"tool_calls": value}, "tool_calls"):
            self._thinking.close(outputs)
            function = mapping(wire, "function")
            arguments = function.get("arguments")
            pieces = () if arguments is None else (arguments,)
            call = self._calls.take(identifier(wire, "id"), identifier(function, "name"), pieces, outputs)
            if call is not None:
                outputs.append(call.part(self._prefix))


_MESSAGE: Final[dict[str, Callable[[OllamaStream, Any, _Outputs], None]]] = {
    "thinking": OllamaStream._read_thinking,
    "content": OllamaStream._read_content,
    "images": OllamaStream._read_images,
    "tool_calls": OllamaStream._read_calls,
}
"""The fields of a message in the order in which they are read."""


def _is_of_generate(chunk: JSONObject) -> bool:
    """Whether a line comes from `/api/generate`, which completes a text and has no message."""
    return isinstance(chunk.get("response"), str) and "message" not in chunk


# ---- Thinking ----

THINKING: Final = "thinking"
CONTENT: Final = "content"


def joined_items(items: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The texts of the items of one message by field; items of other protocols' forms mean nothing."""
    fields: dict[str, str] = {}
    for item in items:
        name, said = item.get(FIELD), item.get("text")
        if name in (THINKING, CONTENT) and isinstance(said, str):
            fields[name] = fields.get(name, "") + said
    return fields


# ---- Errors and refused fields (docs/wires/ollama.md#errors, docs/wires/ollama.md#thinking) ----

_OPTIONAL_FIELDS: Final = (
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

LEAVE_OUT: Final = leave_out(_OPTIONAL_FIELDS, _CORRECTIONS)
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

ERRORS: Final = Errors(read_body=_read_body, refused_fields=refused_fields(_OPTIONAL_FIELDS, _CORRECTIONS))
