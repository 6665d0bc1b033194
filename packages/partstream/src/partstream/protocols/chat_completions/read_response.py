"""Chat Completions: chunks in, VS Code's parts out.

:class:`ChatCompletionsStream` reads one response. The states of a response are one table
(:mod:`partstream.protocols.read_response`); handlers do not look at the state. A chunk is read in this order: its
error, its facts about the response as a whole, and each choice: the delta, the usage, the finish reason. The facts are
the id, the model, the provider that a router chose (docs/wires/chat-completions.md#envelope), usage and sources.

`DELTA` lists the fields of a delta in the order in which they are read, after the thinking. The fields are independent:
none hides another (docs/wires/chat-completions.md#deltas). Nothing is checked against a schema. A value that is
missing, null or of another type is ignored; an unknown field is counted as :class:`Unmapped`. What most responses lack,
such as thinking, calls and sources, is opened when the first of it comes.

The end of a response is always inferred: a response is complete if a finish reason came before the end of the bytes or
`[DONE]`. Tool calls are emitted only then. Real servers deviate:

- Some leave the first chunk blank, or give each chunk an id of its own: the first value of each field counts.
- Some put thinking in tags into the content, which :class:`partstream.conversation.thinking.TaggedThinking` takes out,
  or send the content as a list of parts (Mistral).
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

from partstream.codec.checks import MOST_DOLLARS, as_amount, as_count, places
from partstream.conversation.citations import Citation, Citations
from partstream.conversation.media import sniff
from partstream.conversation.provider_state import FIELD, MESSAGE_FIELD
from partstream.errors import LanguageModelError, UpstreamAbortedError, UpstreamError
from partstream.lm.outputs import EmitText, Finish, Outcome, StreamOptions, StreamOutput, Unmapped
from partstream.lm.parts import DataPart, FinishReason, RefusalPart, UnifiedFinishReason, Usage, text_part
from partstream.protocols import read_response as base
from partstream.protocols.chat_completions import provider_state as state
from partstream.protocols.chat_completions.errors import ERRORS
from partstream.protocols.chat_completions.provider_state import Thinking
from partstream.protocols.chat_completions.tool_calls import EndedCalls, ToolCalls
from partstream.protocols.errors import NO_REASON, failure_in_finish_word
from partstream.protocols.files import Files, picture_in, read_base64
from partstream.protocols.read_response import EmittedPrefix, JSONObject, identifier, index, mapping, objects, text

if TYPE_CHECKING:
    from partstream.lm.parts import TextPart
    from partstream.protocols.serve import WireEvent

_Outputs: TypeAlias = list[StreamOutput]

# ---- Finish reasons ----

_STOP: Final = UnifiedFinishReason.STOP
_LENGTH: Final = UnifiedFinishReason.LENGTH
_FILTER: Final = UnifiedFinishReason.CONTENT_FILTER
_ERROR: Final = UnifiedFinishReason.ERROR

_ABORTED: Final = "abort"
"""SGLang's word for a response that it stopped itself."""

_TOO_LONG: Final = "model_context_window_exceeded"
_OVERFLOWS: Final = (_TOO_LONG, "compaction")
"""The words for a full window: of an empty response, the input was too long."""

WORDS: Final[Mapping[str, UnifiedFinishReason]] = {
    **dict.fromkeys(("stop", "eos", "eos_token", "end", "end_turn", "stop_sequence", "complete"), _STOP),
    **dict.fromkeys(("tool_calls", "function_call", "tool_use"), UnifiedFinishReason.TOOL_CALLS),
    # Mistral's, Z.ai's and Google's words among them.
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_length", *_OVERFLOWS), _LENGTH),
    **dict.fromkeys(
        (
            "content_filter", "content_filtered", "safety", "recitation", "blocklist", "prohibited_content", "spii",
            "sensitive", "refusal", "guardrail_intervened",
        ),
        _FILTER,
    ),
}  # fmt: skip
"""The meaning of a word in lower case; any other may say that the answer failed, see
:func:`partstream.protocols.errors.failure_in_finish_word`. Words of other wires come through gateways."""

_RANKS: Final[Mapping[UnifiedFinishReason, int]] = {
    UnifiedFinishReason.OTHER: 0,
    _STOP: 1,
    _LENGTH: 2,
    _FILTER: 2,
    UnifiedFinishReason.TOOL_CALLS: 3,
    _ERROR: 4,
}
"""Of two finish reasons, the one with the higher rank counts, else the first."""

# ---- The response ----

_MOST_SOURCES: Final = 1000


class ChatCompletionsStream(base.ChoicesReader):
    """One response of a Chat Completions server; see :class:`partstream.lm.outputs.ResponseStream`.

    Attributes:
        ending: Whether a finish reason came and no output after it: only the usage may still follow.
    """

    deltas = base.Deltas(
        places={
            "": (
                ("choices", 0, "delta", "content"),
                *(("choices", 0, "delta", field) for field in state.REASONING_FIELDS),
                ("choices", 0, "delta", "tool_calls", 0, "function", "arguments"),
            )
        },
        varying=("id", "created", "obfuscation"),
    )
    nameless = "a chunk without choices"
    field = "choices"
    has_documents = True  # a document is a chunk whose choice has a message in place of a delta

    @classmethod
    def claim(cls, _kind: str | None, event: WireEvent) -> base.MatchConfidence:  # noqa: D102
        if isinstance(event.get("choices"), list) or str(event.get("object")).startswith("chat.completion"):
            return base.MatchConfidence.SURE
        return base.MatchConfidence.POSSIBLE if event.get("error") and "type" not in event else base.MatchConfidence.NO

    @classmethod
    def item_of_tags(cls, raw: str) -> Mapping[str, Any] | None:  # noqa: D102
        return {"type": MESSAGE_FIELD, FIELD: state.CONTENT, "text": raw}

    def __init__(self, options: StreamOptions = StreamOptions()) -> None:  # noqa: B008 - immutable
        super().__init__(options, _said)
        self.ending = False
        self._provider: str | None = None
        self._tier: dict[str, str] = {}
        self._thinking: Thinking | None = None
        self._calls: ToolCalls | None = None
        self._said = EmittedPrefix()
        self._options = options
        self._refused = EmittedPrefix()
        self._any_text = False
        self._images: Files | None = None
        self._sound: list[bytes] = []  # each piece is base64 of its own (docs/wires/chat-completions.md#deltas)
        self._sound_format = "pcm"  # OpenAI streams nothing else, and names it nowhere
        self._sources: dict[str, Citation] = {}  # by address
        self._is_document = False  # whether a whole message came: it is complete whatever else is missing
        self._whole_beside: JSONObject = {}
        # The server's word for the end, its meaning, and the word of the model's own server through a gateway.
        self._raw_word: str | None = None
        self._unified = UnifiedFinishReason.OTHER
        self._native_word: str | None = None
        self._matched: str | None = None
        # The last report with a number that is not 0, else the last with any, and how many came with one.
        self._usage: JSONObject | None = None
        self._reports = 0
        self._ends_with_usage = False  # whether the last chunk brought the first usage, and nothing else

    @property
    def usage(self) -> Usage | None:
        """The tokens that the server has reported so far."""
        return None if self._usage is None else read_usage(self._usage)

    def _error_in(self, chunk: JSONObject) -> LanguageModelError | None:
        return ERRORS.failure_in(chunk)

    def _kind(self, chunk: JSONObject) -> base.LifecycleEvent | None:
        if isinstance(chunk.get("choices"), list) and chunk["choices"]:
            return base.LifecycleEvent.CONTENT
        is_report = chunk.keys() & _REPORTS or ("id" in chunk and "type" not in chunk)
        return base.LifecycleEvent.REPORT if is_report else None

    def _read_chunk(self, chunk: JSONObject, outputs: _Outputs) -> None:
        choices, reports = objects(chunk, "choices"), self._reports
        self._response_id = self._response_id or identifier(chunk, "id")
        self._model = self._model or identifier(chunk, "model")
        if "provider" in chunk:
            self._provider = self._provider or identifier(chunk, "provider")
        if "service_tier" in chunk:
            self._tier = base.tier(chunk) or self._tier
        if "x_groq" in chunk:
            self._read_usage(mapping(chunk, "x_groq").get("usage"))
        if "usage" in chunk:
            self._read_usage(chunk["usage"])
        if chunk.get("citations") or chunk.get("search_results"):
            self._read_sources(chunk)
        if self._error is not None:
            return
        is_whole = any([isinstance(choice.get("message"), dict) for choice in choices])  # noqa: C419 - quicker so
        self._read_choices(self._choices.take(choices, whole=is_whole), outputs)
        # Gateways put the error of a response that has begun beside a finish reason, or without one.
        first = choices[0] if choices else {}
        failure = ERRORS.failure_beside(first, mapping(first, "delta"), mapping(first, "message")) if first else None
        if failure is not None:
            self._error, self._state = failure, base.LifecycleState.FAILING
            return
        has_output = any(map(_has_output, choices))
        self.ending = self._raw_word is not None and not has_output
        # OpenRouter sends the cost only in the last chunk, even of an empty response: recording
        # req-openrouter-minimax-minimax-m1-object-streaming.
        is_first_report = self._reports == 1 != reports
        is_begun = is_first_report and (not self._is_empty or "cost" in mapping(chunk, "usage"))
        self._ends_with_usage = is_begun and not has_output
        is_named = self._response_id is not None and self._model is not None
        if has_output and is_named and self._choices.is_alone and self._reports == reports:
            self.emit_more = self._more(chunk)

    @property
    def _word(self) -> str | None:
        return self._raw_word

    def _is_whole(self, *, told: bool) -> bool:
        # Servers that forget the finish reason still end with the usage: recordings
        # pai-snowflake-snowflake-thinking-streaming and llm-tools-streaming-variant-b, where lines of JSON have no
        # place for `[DONE]`. A usage beside a piece of the message is no end: some servers report one with each.
        has_end = self._raw_word is not None or self._is_document or self._ends_with_usage
        return self._state is base.LifecycleState.OPEN and (told or has_end)

    def _complete(self, outputs: _Outputs) -> None:
        if self._unified is not _ERROR and self._is_empty:
            # Perplexity repeats the message beside each delta; it counts only where no delta brought any.
            self._read_whole(self._whole_beside, outputs)
        if (error := self._failure()) is not None:
            outputs += self.fail(error)
            return
        unified = self._unified
        is_cut = unified in {_LENGTH, _FILTER}
        if sound := b"".join(self._sound):
            outputs.append(DataPart(sound, sniff(sound) or f"audio/{self._sound_format}"))
        ended = EndedCalls() if self._calls is None else self._calls.complete(self._response_id, outputs, is_cut=is_cut)
        self._emit_sources_and_calls(ended, outputs, is_cut=is_cut)
        if ended.broken is not None:
            outputs += self.fail(ended.broken)
            return
        if ended.calls and not ended.any_half:
            unified = UnifiedFinishReason.TOOL_CALLS
        elif unified is UnifiedFinishReason.TOOL_CALLS:  # a parser of the server failed: there is no call
            unified = UnifiedFinishReason.OTHER
        outcome = Outcome.INCOMPLETE if is_cut else Outcome.COMPLETED
        self._emit_finish(outcome, FinishReason(unified, self._raw_word), outputs)

    def _emit_sources_and_calls(self, ended: EndedCalls, outputs: _Outputs, *, is_cut: bool) -> None:
        if self._sources:
            citations = Citations(self._options.citations)
            for url, citation in self._sources.items():
                outputs += citations.render(citation, self._said, url)
            outputs += citations.at_end()
        # The state of thinking that came late, or goes back beside a call, precedes the calls.
        for call, extra in ended.calls:
            if extra is not None:
                self._thoughts().add_extra(extra, call.call_id)
        if self._thinking is not None:
            self._thinking.finish(outputs, has_calls=bool(ended.calls), is_cut=is_cut)
        prefix = self._options.call_id_prefix
        outputs += (one.part(prefix) for one, _ in ended.calls)

    def _failure(self) -> UpstreamError | None:
        """The error of a response that failed, or that is empty because the window was full; else None."""
        word = (self._raw_word or "").lower()
        if word in _OVERFLOWS and self._is_empty:
            return ERRORS.failure(f"the conversation fills the context window of the model ({word})", _TOO_LONG)
        if self._unified is not _ERROR:
            return None
        if word == _ABORTED:
            return UpstreamAbortedError(self._native_word)
        said = failure_in_finish_word(word) or NO_REASON
        return ERRORS.failure(said if self._native_word is None else f"{said} ({self._native_word})", word)

    def _make_finish(self, outcome: Outcome, reason: FinishReason | None, error: LanguageModelError | None) -> Finish:
        counted = ((as_amount(_at(self._usage, path), MOST_DOLLARS * part), part) for path, part in _COSTS)
        cost = next((amount / part for amount, part in counted if amount is not None), None)
        facts = {"provider": self._provider, "nativeFinishReason": self._native_word, "cost": cost}
        facts |= {base.STOP_SEQUENCE: self._matched, **self._tier}
        known = {name: fact for name, fact in facts.items() if fact is not None}
        metadata = {"chatCompletions": known} if known else {}
        return Finish(outcome, reason, self.usage, self._response_id, self._model, error, metadata)

    # Chunks and choices

    def _read_usage(self, report: Any) -> None:
        """Reads a field `usage`: a later one replaces an earlier one. MiniMax reports zeros until its last chunk."""
        if not isinstance(report, dict):
            return
        numbers = [value for value in report.values() if isinstance(value, int | float) and not isinstance(value, bool)]
        if any(numbers) or (numbers and not self._reports):
            self._usage = report
            self._reports += any(numbers)

    def _read_choice(self, place: int, choice: JSONObject, outputs: _Outputs) -> None:
        delta, message = choice.get("delta"), choice.get("message")
        if isinstance(delta, dict):
            self._read_delta(delta, outputs)
            if isinstance(message, dict) and place == 0:
                self._whole_beside = message
        elif isinstance(message, dict):
            self._is_document = True
            self._read_whole(message, outputs, continues=place > 0)
        elif isinstance(choice.get("text"), str):  # the older API of the same servers
            self._read_delta({"content": choice["text"]}, outputs)
        if logprobs := choice.get("logprobs"):
            self._take_logprobs(objects(logprobs, "content"))
        if "usage" in choice:
            self._read_usage(choice["usage"])
        if "stop_reason" in choice or "matched_stop" in choice:
            # vLLM's and SGLang's names; a number is a token that ends every answer.
            self._matched = self._matched or identifier(choice, "stop_reason") or identifier(choice, "matched_stop")
        word, native = choice.get("finish_reason"), choice.get("native_finish_reason")
        if isinstance(word, str) and word:  # null and `""` are none
            unified = WORDS.get(word.lower()) or (
                UnifiedFinishReason.OTHER if failure_in_finish_word(word) is None else _ERROR
            )
            if self._raw_word is None or _RANKS[unified] > _RANKS[self._unified]:
                self._raw_word, self._unified = word, unified
                self._native_word = native if isinstance(native, str) else None

    # The message, from deltas or from one whole message

    @property
    def _is_empty(self) -> bool:
        """Whether no delta has brought anything."""
        return not (
            self._any_text
            or (self._thinking is not None and not self._thinking.said.is_empty)
            or (self._calls is not None and self._calls.any_open)
            or (self._images is not None and self._images.any_shown)
            or self._sound
        )

    def _read_delta(self, delta: JSONObject, outputs: _Outputs) -> None:
        """Reads a delta: thinking, then text, then calls."""
        if not _OF_THINKING.isdisjoint(delta):
            self._read_thinking(delta, outputs)
        for name, value in delta.items():
            if value and name not in DELTA and name not in ELSEWHERE:
                self._count_once(f"delta.{name}", {name: value}, outputs)
        for name, handler in DELTA.items():
            if name in delta and (value := delta[name]) is not None:
                handler(self, value, outputs)

    def _more(self, chunk: JSONObject) -> EmitText | None:
        """The fast path for more of the field of the delta that is all a chunk brings, or None."""
        choice = chunk["choices"][0]
        fields = [(name, value) for name, value in mapping(choice, "delta").items() if value and name != "role"]
        if len(chunk["choices"]) > 1 or len(fields) != 1:
            return None
        # Lists, because they are quicker than generators.
        is_more = any([value and name in _SLOW_FIELDS for name, value in chunk.items()])  # noqa: C419
        if is_more or any([value and name not in _QUIET for name, value in choice.items()]):  # noqa: C419
            return None
        field, value = fields[0]
        thinking = self._thinking
        if field == "content":
            is_open = thinking is not None and thinking.is_open
            return None if is_open or not isinstance(value, str) else base.emit_into(self._said, text_part)
        if thinking is not None and field == thinking.field:
            return partial(thinking.show, kept=thinking.pieces(field))
        elements = objects({"tool_calls": value}, "tool_calls") if field == "tool_calls" else []
        element = elements[0] if len(elements) == 1 else {}
        place = index(element, "index")
        is_first = element.keys() & _OF_CALLS or mapping(element, "function").get("name")
        call = None if place is None or is_first or self._calls is None else self._calls.at(place)
        if call is None:
            return None
        add = call.json.pieces.append
        return lambda arguments, _outputs: add(arguments)

    def _read_whole(self, message: JSONObject, outputs: _Outputs, *, continues: bool = False) -> None:
        """Reads the rest of a message that no delta has brought; of one more choice, the text repeats nothing."""
        if continues:
            self._read_delta({name: value for name, value in message.items() if name != "tool_calls"}, outputs)
        else:
            if not _OF_THINKING.isdisjoint(message):
                self._read_thinking(message, outputs, is_whole=True)
            content = message.get("content")
            if isinstance(content, list) and not self._said.is_empty:
                content = "".join(part if isinstance(part, str) else text(part, "text") for part in content)
            self._read_content(_missing(self._said, content) if isinstance(content, str) else content, outputs)
            refused = message.get("refusal")
            self._read_refusal(_missing(self._refused, refused) if isinstance(refused, str) else None, outputs)
            if not self._sound:
                self._read_audio(message.get("audio"), outputs)
            self._read_annotations(message.get("annotations"), outputs)
            self._read_images(message.get("images"), outputs)
        if calls := objects(message, "tool_calls"):
            self._tool_calls().message(calls, outputs)
        if not (continues or (self._calls is not None and self._calls.any_open)):
            self._read_function_call(mapping(message, "function_call"), outputs)

    def _thoughts(self) -> Thinking:
        if self._thinking is None:
            self._thinking = Thinking(self._options)
        return self._thinking

    def _read_thinking(self, message: JSONObject, outputs: _Outputs, *, is_whole: bool = False) -> None:
        thinking = self._thoughts()
        (thinking.read_whole if is_whole else thinking.read)(message, outputs)
        self.is_untagged = self.is_untagged or not thinking.said.is_empty

    def _tool_calls(self) -> ToolCalls:
        if self._calls is None:
            self._calls = ToolCalls()
        return self._calls

    def _say(self, part: TextPart, outputs: _Outputs) -> None:
        if self._thinking is not None:
            self._thinking.close(outputs)
        self._any_text = True
        outputs.append(part)

    def _read_content(self, value: Any, outputs: _Outputs) -> None:
        """Reads a text, or a list of parts: Mistral's, Databricks', and those of gateways."""
        if isinstance(value, str):
            if value:
                self._said.add(value)
                self._say(text_part(value), outputs)
        elif isinstance(value, list):
            for part in value:
                self._read_part(part, outputs)
        elif value:
            outputs.append(Unmapped("content (of an unknown form)", {"content": value}))

    def _read_part(self, part: Any, outputs: _Outputs) -> None:
        match identifier(part, "type"):
            case "text" | "output_text" | "image_url":
                for name in part:  # some gateways put a text and a picture into one part
                    if name == "text":
                        self._read_content(text(part, "text"), outputs)
                    elif name == "image_url":
                        self._read_images([part], outputs)
            case "thinking" | "reasoning" | "redacted_thinking":
                self.is_untagged = True
                self._thoughts().read_part(part, outputs)
            case kind:
                if isinstance(part, str):
                    self._read_content(part, outputs)
                else:
                    data = part if isinstance(part, dict) else {"part": part}
                    outputs.append(Unmapped(f"content:{kind or 'unknown'}", data))

    def _read_refusal(self, value: Any, outputs: _Outputs) -> None:
        """Reads what the model says in place of an answer."""
        if isinstance(value, str) and value:
            self._refused.add(value)
            self._say(RefusalPart(value), outputs)

    def _read_audio(self, value: Any, outputs: _Outputs) -> None:
        """Reads sound; its transcript is the text of a response without any other text."""
        self._sound_format = identifier(value, "format") or self._sound_format
        if (data := read_base64(text(value, "data"))) is not None:
            self._sound.append(data)
        if self._said.is_empty and (transcript := text(value, "transcript")):
            self._say(text_part(transcript), outputs)

    def _read_images(self, value: Any, outputs: _Outputs) -> None:
        """Shows the picture in each object of a list, once."""
        for wire in objects({"images": value}, "images"):
            self._images = self._images or Files(self._options.files)
            self._images.show(picture_in(wire), wire, outputs)

    def _read_annotations(self, value: Any, outputs: _Outputs) -> None:
        """Reads sources: those of OpenAI's search models, of OpenRouter's plugin."""
        for annotation in objects({"annotations": value}, "annotations"):
            kind = identifier(annotation, "type") or "unknown"
            cited = mapping(annotation, kind) or annotation
            url = identifier(cited, "url")
            if url is None:
                self._count_once(f"annotation:{kind}", annotation, outputs)
                continue
            self._add_source(
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

    def _read_sources(self, chunk: JSONObject) -> None:
        """Reads `citations` and `search_results` of a chunk: Perplexity, xAI, Zhipu."""
        for name in ("citations", "search_results"):  # the second has the titles of the first, or comes alone
            said = chunk.get(name)
            for one in said if isinstance(said, list) else ():
                if url := one if isinstance(one, str) else identifier(one, "url"):
                    self._add_source(Citation(url, identifier(one, "title"), name, {"url": url}))

    def _add_source(self, citation: Citation) -> None:
        """Adds a source in one of the four shapes of docs/wires/chat-completions.md#citations."""
        if citation.url is not None and (citation.url in self._sources or len(self._sources) < _MOST_SOURCES):
            known = self._sources.setdefault(citation.url, citation)
            if known.title is None:
                self._sources[citation.url] = known._replace(title=citation.title)

    def _read_calls(self, value: Any, outputs: _Outputs) -> None:
        if elements := objects({"tool_calls": value}, "tool_calls"):
            self._tool_calls().delta(elements, outputs)

    def _read_function_call(self, value: Any, outputs: _Outputs) -> None:
        """Reads the older form of one call."""
        if isinstance(value, dict) and value:
            self._tool_calls().delta([{"index": 0, "function": value}], outputs)


DELTA: Final[dict[str, Callable[[ChatCompletionsStream, Any, _Outputs], None]]] = {
    "content": ChatCompletionsStream._read_content,
    "refusal": ChatCompletionsStream._read_refusal,
    "audio": ChatCompletionsStream._read_audio,
    "images": ChatCompletionsStream._read_images,
    "annotations": ChatCompletionsStream._read_annotations,
    "extra_content": lambda stream, value, _outputs: (
        stream._thoughts().add_extra(value) if isinstance(value, dict) else None
    ),
    "tool_calls": ChatCompletionsStream._read_calls,
    "function_call": ChatCompletionsStream._read_function_call,
}
"""The fields of a delta in the order in which they are read."""

_OF_THINKING: Final = frozenset({*state.REASONING_FIELDS, *state.STATE_FIELDS, *state.REASONING_LISTS})
ELSEWHERE: Final = _OF_THINKING | {"role", "logprobs", "channel", "token_id", "error"}
"""The fields that thinking reads, and those without a meaning for the response."""

_REPORTS: Final = frozenset({"choices", "usage", "object", "x_groq"})
"""The fields of chunks without a choice: usage, filters, moderation, additions of an agent."""


def _has_output(choice: JSONObject) -> bool:
    """Whether a choice holds a piece of the message, or a whole one."""
    if choice.get("message"):
        return True
    for name, value in mapping(choice, "delta").items():  # noqa: SIM110 - quicker than a generator
        if value and name != "role":
            return True
    return False


def _said(choice: JSONObject) -> base.Said:
    """What a choice brings."""
    message = mapping(choice, "delta") or mapping(choice, "message") or {"content": choice.get("text")}
    speaks = False
    for name, value in message.items():
        speaks = speaks or (bool(value) and name not in {"role", "tool_calls", "function_call"})
    places = base.NO_CALLS
    if "tool_calls" in message or "function_call" in message:
        calls = objects(message, "tool_calls")
        numbers = (index(call, "index") for call in calls)
        places = frozenset(place if number is None else number for place, number in enumerate(numbers))
        places = frozenset({0}) if not calls and message.get("function_call") else places
    return base.Said(speaks, places, bool(identifier(choice, "finish_reason")))


def _missing(said: EmittedPrefix, whole: str) -> str:
    """The part of a whole text that was not emitted; empty if the whole text contradicts what was emitted."""
    return whole[said.length :] if said.begins(whole) else ""


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

_COSTS: Final = ((("cost_in_usd_ticks",), 10_000_000_000), (("cost", "total_cost"), 1))
"""Where the cost in US dollars is no number in `cost`, and the fraction of a dollar: of xAI, and of Perplexity, which
sends the parts and their sum."""


def read_usage(raw: JSONObject) -> Usage:
    """The usage that an object reports.

    xAI's `completion_tokens` leave out the reasoning. Arithmetic shows that, not a name: where prompt, completion and
    reasoning add up to the total, the output is the sum of the last two (recording xai-text). xAI's cached tokens may
    exceed its prompt tokens, which then leave out the cached ones.
    """
    given, made = as_count(raw.get("prompt_tokens")), as_count(raw.get("completion_tokens"))
    total = as_count(raw.get("total_tokens"))
    cached, written, reasoning = _first_count(raw, _CACHED), _first_count(raw, _WRITTEN), _first_count(raw, _REASONING)
    if given is not None and made is not None and reasoning and given + made + reasoning == total:
        made += reasoning
    if given is not None and cached is not None and cached > given:
        given += cached
    return Usage(given, made, base.total_of(total, given, made), cached, reasoning, raw, written)


def _first_count(raw: JSONObject, paths: tuple[tuple[str, ...], ...]) -> int | None:
    for path in paths:
        if path[0] in raw and (count := as_count(_at(raw, path))) is not None:
            return count
    return None


def _at(raw: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(raw, dict) or name not in raw:
            return None
        raw = raw[name]
    return raw


# ---- Fast path ----

_SLOW_FIELDS: Final = frozenset({"usage", "x_groq", "base_resp", "citations", "search_results", "error"})
"""The fields of a chunk that do more than its choice, if they are not empty."""

_QUIET: Final = frozenset(
    {"delta", "content_filter_results", "content_filter_offsets", "matched_stop", "token_ids", "seed"}
)
"""The fields of a choice whose values have no meaning here."""

_OF_CALLS: Final = frozenset({"id", "type", "extra_content"})
"""The fields of an element that begins a call."""

# ---- What is read ----

_OF_A_MESSAGE: Final = " ".join(("role", *DELTA, *_OF_THINKING))
_OF_USAGE: Final = (
    *((name,) for name in ("prompt_tokens", "completion_tokens", "total_tokens", "cost", "prompt_cache_miss_tokens")),
    *(*_CACHED, *_WRITTEN, *_REASONING, *(path for path, _ in _COSTS)),
)

ChatCompletionsStream.reads = places(
    {
        "": "id object created model provider choices usage x_groq citations search_results error base_resp"
        " service_tier system_fingerprint obfuscation",
        "choices": "index delta message text logprobs finish_reason native_finish_reason stop_reason matched_stop error"
        " usage=usage",
        "choices.logprobs": "content",
        "choices.logprobs.content": f"{base.LOGPROB} top_logprobs",
        "choices.logprobs.content.top_logprobs": base.LOGPROB,
        "choices.delta": f"{_OF_A_MESSAGE} *",  # of the deltas, it counts unknown fields
        "choices.message": f"{_OF_A_MESSAGE} error",
        "choices.delta.images choices.message.images": "*",
        "choices.delta.reasoning_details choices.message.reasoning_details": "text summary *",
        "choices.delta.audio choices.message.audio": "data format transcript",
        "choices.delta.annotations[url_citation] choices.message.annotations[url_citation]": "type index url_citation",
        "choices.delta.annotations.url_citation choices.message.annotations.url_citation": "url title start_index"
        " end_index content",
        "choices.delta.tool_calls choices.message.tool_calls": "index id type function extra_content",
        "choices.delta.tool_calls.function choices.message.tool_calls.function": "name arguments",
        "search_results": "url title",
        "x_groq": "id usage=usage",
        "usage": " ".join(first for first, *_ in _OF_USAGE),
        **{
            f"usage.{name}": " ".join(one for first, *rest in _OF_USAGE if first == name for one in rest)
            for name in ("prompt_tokens_details", "prompt_token_details", "completion_tokens_details")
        },
    }
)

# ---- Plain answers ----

_PLAIN_CHUNK: Final = frozenset({*ChatCompletionsStream.reads[""], "usage"}) - {
    "provider", "x_groq", "citations", "search_results", "error", "base_resp",
}  # fmt: skip
_PLAIN_CHOICE: Final = frozenset({"index", "delta", "finish_reason", "logprobs"})
_PLAIN_DELTA: Final = frozenset({"role", "content", "refusal"})
_PLAIN_WORDS: Final = frozenset({"stop", "length"})
_COST: Final = frozenset({"cost", "cost_in_usd_ticks"})


class ChatGlance(base.Glance):
    """A look at an answer of Chat Completions; see :class:`partstream.protocols.read_response.Glance`."""

    reads = ChatCompletionsStream.reads
    text_field = b'"content":'

    def __init__(self) -> None:
        super().__init__()
        self._id: str | None = None
        self._model: str | None = None
        self._word: str | None = None
        self._usage: Usage | None = None

    def _piece(self, frame: bytes) -> str | None:
        if frame == b"data: [DONE]":
            word = self._word
            return None if word is None else self._end(WORDS[word], word, self._usage, self._id, self._model)
        chunk = self.decode(frame.removeprefix(b"data: "))
        choices, usage = chunk["choices"], chunk.get("usage")
        is_plain = chunk.keys() <= _PLAIN_CHUNK and ("service_tier" not in chunk or not base.tier(chunk))
        if not is_plain or type(choices) is not list or len(choices) > 1:
            return None
        if self._model is None or self._id is None:
            self._id, self._model = self._id or identifier(chunk, "id"), self._model or identifier(chunk, "model")
        piece = self._said(choices[0]) if choices else ""
        if usage is not None:
            if piece or not self._takes(usage):
                return None
            self._note_unread(chunk)
            self.usage_event = None if choices else frame + b"\n\n"
        return None if usage is None and not choices else piece

    def _said(self, choice: JSONObject) -> str | None:
        """Takes the choice, and returns its piece of the text."""
        delta, word = choice["delta"], choice.get("finish_reason")
        is_plain = choice.keys() <= _PLAIN_CHOICE and delta.keys() <= _PLAIN_DELTA and self._word is None
        if not is_plain or choice.get("index") or choice.get("logprobs") or delta.get("refusal"):
            return None
        piece = delta.get("content") or ""
        if word is not None:
            if piece or word not in _PLAIN_WORDS:
                return None
            self.ending, self._word = True, word
        return piece if type(piece) is str else None

    def _takes(self, usage: JSONObject) -> bool:
        """Takes the usage, once, with the end or after it; tells whether it is plain."""
        is_plain = self._word is not None and self._usage is None and usage.keys().isdisjoint(_COST)
        self._usage = read_usage(usage)
        return is_plain and any(type(one) is int and one for one in usage.values())


ChatCompletionsStream.glance = ChatGlance
