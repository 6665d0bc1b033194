"""Chat Completions: chunks in, VS Code's parts out.

Rule 1: how far a response has come is one table, :mod:`partstream.protocols.read_response`; a handler never looks at
the state. Rule 2: `message.DELTA` says what is read of a delta, in this order. Its fields are independent: none hides
another (docs/wires/chat-completions.md#deltas). What a chunk says about its end counts after its delta. Rule 3: nothing
is checked against a schema. What is missing, null or of another type says nothing; what is not known is counted as
:class:`Unmapped`. Rule 4: the end is only ever inferred. A finish reason and the end of the bytes, or `[DONE]`, is a
whole answer; calls are handed out then.

Source: docs/wires/chat-completions.md. No specification says what servers send.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from urllib.parse import unquote_to_bytes

from partstream.codec.checks import MOST_DOLLARS, as_amount, as_count
from partstream.codec.json_codec import make_event_decoder
from partstream.codec.text import bare_media_type
from partstream.conversation.media import sniff
from partstream.errors import AdapterUsageError, LanguageModelError, ToolArgumentsError, UpstreamAbortedError
from partstream.lm.outputs import Finish, Outcome, StreamOptions, StreamOutput, ThinkingMode, Unmapped
from partstream.lm.parts import (
    DataPart,
    FinishReason,
    UnifiedFinishReason,
    Usage,
    text_part,
    thinking_part,
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
from partstream.protocols.chat_completions.tool_calls import CompleteCall, ToolCalls
from partstream.protocols.citations import FOLD_AT, Citation, Citations, linked_file
from partstream.protocols.protocol import MatchConfidence, ResponseReaderSpec
from partstream.protocols.read_response import (
    TRANSITIONS,
    Action,
    Adapter,
    EmittedPrefix,
    LifecycleEvent,
    LifecycleState,
    Wire,
    identifier,
    index,
    make_chunk_template,
    mapping,
    objects,
    text,
)
from partstream.protocols.thinking import TaggedPiece, ThinkTagSplitter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from partstream.errors import UpstreamError
    from partstream.lm.outputs import CitationMode, FastPath, FileMode
    from partstream.protocols.citations import CitedText


# ---- envelope ----
# What the chunks of an answer say about the answer as a whole: docs/wires/chat-completions.md#envelope.

_METADATA: Final = "chatCompletions"


class Envelope:
    """Who answers, and under which id. The first word counts: some servers leave the first chunk blank, others give
    each chunk an id of its own.

    Attributes:
        response_id: The server's id of the response, or None.
        model: The server's name of the model that answers, or None.
        provider: The provider that a router chose, or None.
    """

    __slots__ = ("model", "provider", "response_id")

    def __init__(self) -> None:
        self.response_id: str | None = None
        self.model: str | None = None
        self.provider: str | None = None

    @property
    def is_known(self) -> bool:
        """Whether id and model have come."""
        return self.response_id is not None and self.model is not None

    def read(self, chunk: Wire) -> None:
        """Takes what a chunk says."""
        self.response_id = self.response_id or identifier(chunk, "id")
        self.model = self.model or identifier(chunk, "model")
        self.provider = self.provider or identifier(chunk, "provider")

    def metadata(self, native_finish_reason: str | None, cost: float | None) -> Mapping[str, Any]:
        """The server's other facts about the answer: which provider a router chose, that provider's own word for why
        the model stopped, and the cost in US dollars."""
        facts = {"provider": self.provider, "nativeFinishReason": native_finish_reason, "cost": cost}
        known = {name: fact for name, fact in facts.items() if fact is not None}
        return {_METADATA: known} if known else {}


# ---- texts ----
# Reads the visible text of an answer: content, refusals, transcripts, and thinking that stands in the content.


class Texts:
    """The text of one answer.

    Args:
        options: Where the text holds thinking.
        thinking: Takes the thinking in it, and is told where text begins.
        images: Takes the images in it.

    Attributes:
        said: The content that came, with its tags.
    """

    __slots__ = ("_any", "_images", "_refused", "_splitter", "_tags_carried", "_thinking", "said")

    def __init__(self, options: StreamOptions, thinking: Thinking, images: Images) -> None:
        self.said = EmittedPrefix()
        self._refused = EmittedPrefix()
        self._splitter = ThinkTagSplitter(options.think_tags)
        self._thinking = thinking
        self._images = images
        self._tags_carried = False
        self._any = False

    @property
    def any_shown(self) -> bool:
        """Whether any text was emitted."""
        return self._any

    @property
    def is_settled(self) -> bool:
        """Whether all further content is text."""
        return self._splitter.is_settled

    def content(self, value: Any, outputs: list[StreamOutput]) -> None:
        """Takes the `content` of a delta: a text, or Mistral's list of parts."""
        if isinstance(value, str):
            if value:
                self._push(value, outputs)
        elif isinstance(value, list):
            for part in value:
                self._take_part(part, outputs)
        elif value:
            outputs.append(Unmapped("content (of an unknown form)", {"content": value}))

    def refusal(self, value: Any, outputs: list[StreamOutput]) -> None:
        """Takes the `refusal` of a delta: what the model says in place of an answer."""
        if isinstance(value, str) and value:
            self._refused.add(value)
            self._show(value, outputs)

    def audio(self, value: Any, outputs: list[StreamOutput]) -> None:
        """Takes the `audio` of a delta: its transcript is the text of an answer that has no other."""
        if self.said.is_empty and (transcript := text(value, "transcript")):
            self._show(transcript, outputs)

    def read_whole(self, message: Wire, outputs: list[StreamOutput]) -> None:
        """Takes the text of a whole message, as far as no delta has brought it."""
        content = message.get("content")
        if isinstance(content, list) and not self.said.is_empty:
            content = "".join(_text_of(part) for part in content)
        if isinstance(content, str):
            content = _missing(self.said, content)
        self.content(content, outputs)
        refused = message.get("refusal")
        self.refusal(_missing(self._refused, refused) if isinstance(refused, str) else None, outputs)
        if message.get("audio"):
            self.audio(message["audio"], outputs)

    def settle(self, outputs: list[StreamOutput]) -> None:
        """Takes all further content as text: thinking comes in a field of its own, or the answer is over."""
        if not self._splitter.is_settled:
            self._emit(self._splitter.settle(), outputs)
        self._carry_tags()

    def _push(self, value: str, outputs: list[StreamOutput]) -> None:
        self.said.add(value)
        if self._splitter.is_settled:
            self._show(value, outputs)
        else:
            self._emit(self._splitter.push(value), outputs)

    def _emit(self, pieces: list[TaggedPiece], outputs: list[StreamOutput]) -> None:
        for is_thinking, value in pieces:
            if is_thinking:
                self._thinking.show(value, outputs)
            else:
                self._show(value, outputs)

    def _show(self, value: str, outputs: list[StreamOutput]) -> None:
        if self._splitter.is_settled:
            self._carry_tags()
            self._thinking.close(outputs)
        self._any = True
        outputs.append(text_part(value))

    def _carry_tags(self) -> None:
        if not self._tags_carried:
            self._tags_carried = True
            if (raw := self._splitter.raw_thinking) and self._thinking.state.wanted:
                self._thinking.state.pieces(CONTENT).append(raw)

    def _take_part(self, part: Any, outputs: list[StreamOutput]) -> None:
        if isinstance(part, str):
            self.content(part, outputs)
            return
        kind = identifier(part, "type")
        take = _PARTS.get(kind or "")
        if take is None:
            outputs.append(Unmapped(f"content:{kind or 'unknown'}", part if isinstance(part, dict) else {"part": part}))
        else:
            take(self, part, outputs)

    def text_part(self, part: Wire, outputs: list[StreamOutput]) -> None:
        """Takes a part of text."""
        self.content(text(part, "text"), outputs)

    def thinking_part(self, part: Wire, outputs: list[StreamOutput]) -> None:
        """Takes a part of thinking."""
        self.settle(outputs)
        thought = part.get("thinking")
        said = thought if isinstance(thought, str) else "".join(_text_of(one) for one in objects(part, "thinking"))
        if said:
            self._thinking.state.add_part(said)
            self._thinking.show(said, outputs)

    def image_part(self, part: Wire, outputs: list[StreamOutput]) -> None:
        """Takes an image."""
        self._images.show(part, outputs)


_PARTS: Final[dict[str, Callable[[Texts, Wire, list[StreamOutput]], None]]] = {
    "text": Texts.text_part,
    "output_text": Texts.text_part,
    "thinking": Texts.thinking_part,
    "image_url": Texts.image_part,
}
"""What becomes of a part of a content that is a list: Mistral's, and those of gateways."""


def _text_of(part: Any) -> str:
    return part if isinstance(part, str) else text(part, "text")


def _missing(said: EmittedPrefix, whole: str) -> str:
    """What a whole text adds to what was said of it; nothing where it says something else."""
    return whole[said.length :] if said.begins(whole) else ""


# ---- images ----
# Makes data parts of images, which the last chunk often repeats (docs/wires/chat-completions.md#images).

_UNKNOWN: Final = "application/octet-stream"


class Images:
    """The images of one answer.

    Args:
        mode: What becomes of an image of which only the address comes.

    Attributes:
        any_shown: Whether there was one.
    """

    __slots__ = ("_mode", "_seen", "any_shown")

    def __init__(self, mode: FileMode) -> None:
        self._mode = mode
        self._seen: set[bytes] = set()
        self.any_shown = False

    def show(self, part: Wire, outputs: list[StreamOutput]) -> None:
        """Emits an image, the first time that it comes.

        Args:
            part: `{"type": "image_url", "image_url": {"url"}}`, or the URL itself in place of the object.
            outputs: Where it goes.
        """
        url = identifier(mapping(part, "image_url"), "url") or identifier(part, "image_url") or identifier(part, "url")
        key = hashlib.sha256((url or "").encode(errors="surrogatepass")).digest()
        if key in self._seen:
            return
        self._seen.add(key)
        made = None if url is None else _part(url, self._mode)
        self.any_shown = self.any_shown or made is not None
        outputs.append(made if made is not None else Unmapped("image (not readable)", part))


def _part(url: str, mode: FileMode) -> Any:
    if url[:5].lower() != "data:":
        return linked_file(url, mode) if url.lower().startswith(("http://", "https://")) else None
    head, _, said = url[5:].partition(",")
    try:
        data = b64decode(said) if head.lower().endswith(";base64") else unquote_to_bytes(said)
    except ValueError:
        return None
    if not data:
        return None
    return unchecked_part(DataPart, data, sniff(data) or bare_media_type(head) or _UNKNOWN)


# ---- citations ----
# Reads the sources of an answer in the four shapes of docs/wires/chat-completions.md#citations.
#
# Servers repeat them in many chunks, and at places of the text that say nothing. So they are collected, and each is
# shown once, behind the text.

_MOST: Final = 1000
"""Sources of one answer."""


class Sources:
    """The sources of one answer, by their addresses."""

    __slots__ = ("_citations", "_found", "_titles", "_unknown")

    def __init__(self, mode: CitationMode) -> None:
        self._citations = Citations(mode)
        self._found: dict[str, Citation] = {}
        self._titles: dict[str, str] = {}
        self._unknown: set[str] = set()

    def annotations(self, source: Wire, outputs: list[StreamOutput]) -> None:
        """Takes `annotations` of a delta or a message: OpenAI's search models, OpenRouter's plugin."""
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
        """Takes `citations` and `search_results` of a chunk: Perplexity, xAI, Zhipu."""
        for result in objects(event, "search_results"):
            url, title = identifier(result, "url"), identifier(result, "title")
            if url is not None and title is not None and len(self._titles) < _MOST:
                self._titles.setdefault(url, title)
        cited = event.get("citations")
        for one in cited if isinstance(cited, list) else ():
            url = one if isinstance(one, str) else identifier(one, "url")
            if url:
                self._add(Citation(url, identifier(one, "title"), "citations", {"url": url}))

    def hand_out(self, said: CitedText, outputs: list[StreamOutput]) -> None:
        """Shows all sources, each once."""
        for url, one in self._found.items():
            citation = one if one.title is not None else one._replace(title=self._titles.get(url))
            outputs += self._citations.render(citation, said, url)
        outputs += self._citations.at_end()
        self._found = {}

    def _add(self, citation: Citation) -> None:
        if citation.url is not None and len(self._found) < _MOST:
            self._found.setdefault(citation.url, citation)

    def _count(self, name: str, data: dict[str, Any], outputs: list[StreamOutput]) -> None:
        if name not in self._unknown:
            self._unknown.add(name)
            outputs.append(Unmapped(name, data))


# ---- message ----
# The one message of an answer, put together from deltas or said whole.


class Message:
    """The message of one answer.

    Args:
        options: How it is rendered.

    Attributes:
        thinking: Its thinking.
        texts: Its visible text.
        images: Its images.
        calls: Its tool calls.
        sources: Its sources.
    """

    __slots__ = ("_counted", "calls", "images", "sources", "texts", "thinking")

    def __init__(self, options: StreamOptions) -> None:
        self.thinking = Thinking(options)
        self.images = Images(options.files)
        self.texts = Texts(options, self.thinking, self.images)
        self.calls = ToolCalls()
        self.sources = Sources(options.citations)
        self._counted: set[str] = set()

    @property
    def is_empty(self) -> bool:
        """Whether no delta has brought anything."""
        return not (
            self.texts.any_shown or not self.thinking.said.is_empty or self.calls.any_open or self.images.any_shown
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

    def whole(self, message: Wire, outputs: _Outputs) -> None:
        """Reads a whole message: what no delta of it has brought."""
        self.thinking.read_whole(message, outputs)
        if not self.texts.is_settled and self.thinking.field is not None:
            self.texts.settle(outputs)
        self.texts.read_whole(message, outputs)
        self.sources.annotations(message, outputs)
        for image in objects(message, "images"):
            self.images.show(image, outputs)
        self.calls.message(objects(message, "tool_calls"), outputs)
        if not self.calls.any_open and (function := mapping(message, "function_call")):
            self.calls.delta([{"function": function}], outputs)

    def settle(self, outputs: _Outputs) -> None:
        """Emits what was held back."""
        self.texts.settle(outputs)

    def complete(self, response_id: str | None, outputs: _Outputs, *, is_cut: bool) -> list[CompleteCall]:
        """Ends the message and returns its calls.

        Args:
            response_id: The server's id of the response, or None.
            outputs: Where all that is left goes.
            is_cut: Whether a limit or a filter ended the answer.

        Raises:
            ToolArgumentsError: A call is not whole.
        """
        self.texts.settle(outputs)
        calls = self.calls.complete(response_id, is_cut=is_cut, outputs=outputs)
        self.sources.hand_out(self.texts.said, outputs)
        for call in calls:
            if call.extra is not None:
                self.thinking.state.add_extra(call.extra, call.call_id)
        self.thinking.finish(outputs, has_calls=bool(calls))
        return calls

    def count(self, name: str, data: Wire, outputs: _Outputs) -> None:
        """Counts what has no part, once for each name."""
        if name not in self._counted:
            self._counted.add(name)
            outputs.append(Unmapped(name, data))


def _show_images(message: Message, value: Any, outputs: _Outputs) -> None:
    for image in objects({"images": value}, "images"):
        message.images.show(image, outputs)


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
"""What is read of a delta behind its thinking, in this order. `function_call` is the older form of one call."""

_NOISE: Final = ("role", "logprobs", "channel", "token_id")
ELSEWHERE: Final = frozenset({*REASONING_FIELDS, *STATE_FIELDS, *REASONING_LISTS, *_NOISE})
"""The fields that thinking reads, and those that say nothing of the answer."""


# ---- finish ----
# What the words of `finish_reason` mean; calls decide (docs/wires/chat-completions.md#finish-reasons).

_STOP: Final = UnifiedFinishReason.STOP
_LENGTH: Final = UnifiedFinishReason.LENGTH
_FILTER: Final = UnifiedFinishReason.CONTENT_FILTER
_ERROR: Final = UnifiedFinishReason.ERROR

ABORTED: Final = "abort"
"""SGLang's word for an answer that it stopped itself."""

FAILURES: Final[Mapping[str, str]] = {
    "error": "it gave no reason",
    "network_error": "a network error on its side",  # GLM
    "insufficient_system_resource": "it has too few resources",  # DeepSeek
    ABORTED: "it stopped the answer",
    "malformed_function_call": "the model made a malformed tool call",
    "unexpected_tool_call": "the model called a tool that it may not call",
    "missing_thought_signature": "a signature of the model's thinking is missing",
}
"""The words of answers that failed, in lower case, and what they say to a person."""

_OVERFLOWS: Final = frozenset({"model_context_window_exceeded", "compaction"})
"""The words for a window that was full: with nothing said, the input was too long."""

WORDS: Final[Mapping[str, UnifiedFinishReason]] = {
    **dict.fromkeys(("stop", "eos", "eos_token", "end", "end_turn", "stop_sequence", "complete"), _STOP),
    **dict.fromkeys(("tool_calls", "function_call", "tool_use"), UnifiedFinishReason.TOOL_CALLS),
    # Mistral's, Z.ai's and Google's words among them.
    **dict.fromkeys(
        ("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded", "compaction"),
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


class _Rank(IntEnum):
    """How much a word says: of two, the one that says more counts, else the first."""

    UNKNOWN = 0
    STOP = 1
    CUT = 2
    CALLS = 3
    FAILURE = 4


_RANKS: Final[Mapping[UnifiedFinishReason, _Rank]] = {
    UnifiedFinishReason.OTHER: _Rank.UNKNOWN,
    _STOP: _Rank.STOP,
    _LENGTH: _Rank.CUT,
    _FILTER: _Rank.CUT,
    UnifiedFinishReason.TOOL_CALLS: _Rank.CALLS,
    _ERROR: _Rank.FAILURE,
}


class _Said(NamedTuple):
    """A word, its meaning, and the word of the model's own server where a gateway says it too."""

    word: str
    unified: UnifiedFinishReason
    native: str | None


class FinishWords:
    """The finish reasons of one answer."""

    __slots__ = ("_said",)

    def __init__(self) -> None:
        self._said: _Said | None = None

    def say(self, word: object, native: str | None) -> None:
        """Takes a finish reason; null and `""` are none."""
        if not isinstance(word, str) or not word:
            return
        unified = WORDS.get(word.lower(), UnifiedFinishReason.OTHER)
        if self._said is None or _RANKS[unified] > _RANKS[self._said.unified]:
            self._said = _Said(word, unified, native)

    @property
    def is_said(self) -> bool:
        """Whether a reason has come."""
        return self._said is not None

    @property
    def raw(self) -> str | None:
        """The server's word, or None."""
        return None if self._said is None else self._said.word

    @property
    def native(self) -> str | None:
        """The word of the model's own server, as a gateway passes it on, or None."""
        return None if self._said is None else self._said.native

    @property
    def failure(self) -> str | None:
        """The word of a failure in lower case, or None."""
        said = self._said
        return said.word.lower() if said is not None and said.unified is _ERROR else None

    @property
    def is_cut(self) -> bool:
        """Whether a limit or a filter ended the answer."""
        return self._said is not None and self._said.unified in {_LENGTH, _FILTER}

    @property
    def overflow(self) -> str | None:
        """The word that says that the window was full, in lower case, or None."""
        word = None if self._said is None else self._said.word.lower()
        return word if word in _OVERFLOWS else None

    def reason(self, *, has_calls: bool) -> FinishReason:
        """The finish reason of an answer."""
        if has_calls:
            return FinishReason(UnifiedFinishReason.TOOL_CALLS, self.raw)
        unified = UnifiedFinishReason.OTHER if self._said is None else self._said.unified
        if unified is UnifiedFinishReason.TOOL_CALLS:  # a parser of the server that failed: there is no call
            unified = UnifiedFinishReason.OTHER
        return FinishReason(unified, self.raw)


# ---- usage ----
# Reads the tokens that servers report, in five places (docs/wires/chat-completions.md#usage).

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


class ReportedUsage:
    """The usage of one answer. A later report replaces an earlier one, and nothing is added up.

    Attributes:
        raw: The last object with a number in it that is not 0, else the last with any number; None without one.
        reports: How many objects with a number that is not 0 came.
    """

    __slots__ = ("raw", "reports")

    def __init__(self) -> None:
        self.raw: Wire | None = None
        self.reports = 0

    def say(self, report: Any) -> None:
        """Takes what stands in a field `usage`. MiniMax reports zeros until its last frame."""
        if not isinstance(report, dict):
            return
        numbers = [value for value in report.values() if isinstance(value, int | float) and not isinstance(value, bool)]
        if any(numbers) or (numbers and not self.reports):
            self.raw = report
            self.reports += any(numbers)

    @property
    def cost(self) -> float | None:
        """The cost in US dollars that no reader of `cost` would find, or None."""
        return None if self.raw is None else read_cost(self.raw)

    @property
    def value(self) -> Usage | None:
        """The usage, or None if none was reported."""
        return None if self.raw is None else read_usage(self.raw)


def read_usage(raw: Wire) -> Usage:
    """The usage that an object reports.

    xAI's `completion_tokens` leave the reasoning out. That is told by arithmetic, not by name: where all three together
    are the total, the output is the sum of two (recording xai-text). Its cached tokens may be more than its prompt,
    which then leaves them out.
    """
    given, made, total = (as_count(raw.get(name)) for name in ("prompt_tokens", "completion_tokens", "total_tokens"))
    cached, written, reasoning = (_first(raw, paths) for paths in (_CACHED, _WRITTEN, _REASONING))
    if given is not None and made is not None and reasoning and given + made + reasoning == total:
        made += reasoning
    if given is not None and cached is not None and cached > given:
        given += cached
    if total is None and given is not None and made is not None:
        total = given + made
    return Usage(given, made, total, cached, reasoning, raw, written)


def read_cost(raw: Wire) -> float | None:
    """What an object says of the cost, in US dollars, in another form than a number in `cost`; None if nothing.

    Perplexity has the parts of the cost and their sum, xAI counts in ten billionths of a dollar.
    """
    ticks = as_amount(raw.get("cost_in_usd_ticks"), MOST_DOLLARS * _TICKS)
    total = as_amount(_at(raw, ("cost", "total_cost")), MOST_DOLLARS)
    return total if ticks is None else ticks / _TICKS


def _first(raw: Mapping[str, Any], paths: tuple[tuple[str, ...], ...]) -> int | None:
    """The count at the first of some places that has one."""
    return next((count for path in paths if (count := as_count(_at(raw, path))) is not None), None)


def _at(raw: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        raw = raw.get(name) if isinstance(raw, dict) else None
    return raw


# ---- stream errors ----
# The errors that a stream or a document of Chat Completions reports, found before anything else is read of it.

_TOO_LONG: Final = "model_context_window_exceeded"
"""A code of inputs that are too long, see :mod:`partstream.protocols.errors`."""


def failure_of_word(word: str, native: str | None) -> UpstreamError:
    """The error for an answer whose finish reason means a failure (docs/wires/chat-completions.md#finish-reasons).

    Args:
        word: The finish reason in lower case.
        native: The word of the model's own server, or None.
    """
    if word == ABORTED:
        return UpstreamAbortedError(native)
    said = FAILURES[word]
    return ERRORS.failure(said if native is None else f"{said} ({native})", word)


def overflow(word: str) -> UpstreamError:
    """The error for an empty answer whose finish reason says that the window of the model was full."""
    return ERRORS.failure(f"the conversation fills the context window of the model ({word})", _TOO_LONG)


# ---- short way ----
# The short way of the chunks that come by the thousand: a piece of text, of thinking, or of one call's arguments.
#
# docs/decisions/0006-the-sink.md tells how it works. A sink takes a chunk only if the long way would do nothing else
# with it: one choice, one delta, and nothing in either that says more.

FREQUENT: Final[Mapping[str, Mapping[str, str]]] = {"": {}}
"""Every chunk may come by the thousand, and its sink takes the bytes."""

_FIELDS: Final = {
    "choices": "choices",
    **{
        name: f"{name}?"
        for name in ("usage", "error", "object", "x_groq", "base_resp", "citations", "search_results", "provider")
    },
}
"""The fields of a chunk that the short way reads: the choices, and those that send a chunk the long way."""

_decode = make_event_decoder(None, "", _FIELDS)

_QUIET: Final = frozenset(
    {"delta", "logprobs", "content_filter_results", "content_filter_offsets", "matched_stop", "token_ids", "seed"}
)
"""The fields of a choice that may hold something without saying anything. An index of 0 holds nothing."""

_WATCHED: Final = frozenset(REASONING_FIELDS)


class ChunkFastPath:
    """Offers a sink for more of what a chunk brought.

    Args:
        options: How the answer is rendered.
        envelope: What is known of the answer as a whole.
        message: The message that the chunks fill.
    """

    __slots__ = ("_envelope", "_message", "_shows_thinking", "_text")

    def __init__(self, options: StreamOptions, envelope: Envelope, message: Message) -> None:
        self._envelope = envelope
        self._message = message
        self._shows_thinking = options.thinking is not ThinkingMode.OFF
        self._text: FastPath | None = None

    def after(self, choices: Any) -> FastPath | None:
        """The sink for more chunks like the one with these choices, or None."""
        if not self._envelope.is_known or type(choices) is not list or len(choices) != 1:
            return None
        delta = choices[0].get("delta") if type(choices[0]) is dict else None
        if type(delta) is not dict:
            return None
        thinking = self._message.thinking
        if delta.get("content"):
            if not self._message.texts.is_settled or thinking.is_open:
                return None
            self._text = self._text or self._text_sink()
            return self._text
        if thinking.field is not None and delta.get(thinking.field):
            return self._thinking_sink(thinking.field)
        return self._call_sink(delta.get("tool_calls"))

    def _text_sink(self) -> FastPath:
        said, thinking, envelope = self._message.texts.said, self._message.thinking, self._envelope
        pieces, add = said.pieces, said.pieces.append
        read, learn = make_chunk_template("content")

        def sink(chunk: bytes, outputs: list[StreamOutput]) -> bool:
            content = read(chunk)
            if content is None:
                content = _only(_decode(chunk), "content", thinking, envelope)
                if type(content) is not str:
                    return False
                learn(chunk, content)
            elif not content:
                return False
            add(content)
            if len(pieces) >= FOLD_AT:
                said.fold()
            outputs.append(text_part(content))
            return True

        return sink

    def _thinking_sink(self, field: str) -> FastPath:
        thinking, envelope, shows = self._message.thinking, self._envelope, self._shows_thinking
        said, kept = thinking.said, thinking.state.pieces(field) if thinking.state.wanted else []
        read, learn = make_chunk_template(field)

        def sink(chunk: bytes, outputs: list[StreamOutput]) -> bool:
            thought = read(chunk)
            if thought is None:
                thought = _only(_decode(chunk), field, thinking, envelope)
                if type(thought) is not str:
                    return False
                learn(chunk, thought)
            elif not thought:
                return False
            said.add(thought)
            kept.append(thought)
            if shows:
                outputs.append(thinking_part(thought))
            return True

        return sink

    def _call_sink(self, wires: Any) -> FastPath | None:
        place = wires[0].get("index") if type(wires) is list and len(wires) == 1 and type(wires[0]) is dict else None
        if type(place) is not int:
            return None
        call = self._message.calls.at(place)
        if call is None or call.is_named_again:
            return None
        thinking, envelope = self._message.thinking, self._envelope
        add = call.json.pieces.append
        read, learn = make_chunk_template("arguments")

        def sink(chunk: bytes, _outputs: list[StreamOutput]) -> bool:
            arguments = read(chunk)
            if arguments is None:
                arguments = _arguments_for(place, _only(_decode(chunk), "tool_calls", thinking, envelope))
                if arguments is None:
                    return False
                learn(chunk, arguments)
            if arguments:
                add(arguments)
            return True

        return sink


def _arguments_for(place: int, elements: Any) -> str | None:
    """The piece of arguments of the one element that goes on with the call at a place; None for any other.

    Raises:
        ValueError: There is not exactly one element, or it is of another form; also a KeyError or TypeError.
    """
    if elements is None:
        return None
    (element,) = elements
    if type(element["index"]) is not int or element["index"] != place or element.keys() & _OF_CALLS:
        return None
    function = element["function"]
    arguments = function["arguments"]
    return arguments if type(arguments) is str and not function.get("name") else None


def _only(event: Any, name: str, thinking: Thinking, envelope: Envelope) -> Any:
    """The value of a field of the delta of a chunk that says nothing else; None where the chunk needs the long way.

    Raises:
        ValueError: There is not exactly one choice, or what holds it is of another form; also a KeyError or TypeError.
    """
    if _says_more(event, envelope):
        return None
    (choice,) = event.choices
    delta = choice["delta"]
    if type(delta) is not dict:
        return None
    if len(delta) > 1:
        for key, value in delta.items():
            if value:
                if key != name and key != "role":  # noqa: PLR1714 - a tuple of them takes twice as long
                    return None
            elif value == "" and key in _WATCHED and thinking.empty_field is None:
                return None
    if any(value and key not in _QUIET for key, value in choice.items()):
        return None
    return delta[name] or None


def _says_more(event: Any, envelope: Envelope) -> bool:
    """Whether a chunk says anything beside its choices."""
    is_error = event.error or event.x_groq or event.base_resp or event.object == "error"
    reports = event.usage is not None or event.citations or event.search_results
    return bool(is_error or reports or (event.provider and envelope.provider is None))


_OF_CALLS: Final = frozenset({"id", "type", "extra_content"})
"""The fields of an element that only the long way reads: those of the first delta of a call, mostly."""


# ---- read response ----

_Outputs: TypeAlias = list[StreamOutput]


class ChatCompletionsStream(Adapter):
    """One answer of a Chat Completions server; see :class:`partstream.lm.outputs.ResponseStream`.

    Attributes:
        sink: The short way, or None.
        ending: Whether a finish reason came, and nothing of the answer behind it: only the usage may still follow.
    """

    def __init__(self, options: StreamOptions = StreamOptions()) -> None:  # noqa: B008 - immutable
        super().__init__()
        self.ending = False
        self._prefix = options.call_id_prefix
        self._envelope = Envelope()
        self._message = Message(options)
        self._short_way = ChunkFastPath(options, self._envelope, self._message)
        self._usage = ReportedUsage()
        self._finish = FinishWords()
        self._is_document = False  # whether a whole message came: it is complete whatever else is missing
        self._whole_beside: Wire = {}
        self._ends_with_usage = False  # whether the last chunk brought the first usage, and nothing else

    @property
    def usage(self) -> Usage | None:
        """The tokens that the server has reported so far."""
        return self._usage.value

    def feed_into(self, event: Mapping[str, Any], outputs: _Outputs) -> None:
        """Takes the next chunk and appends what it means."""
        self.sink = None
        chunk: Wire = event if isinstance(event, dict) else dict(event)
        error = ERRORS.failure_in(chunk)
        kind = _kind(chunk) if error is None else LifecycleEvent.ERROR
        if kind is None:
            self._unknown(chunk, outputs)
            return
        if self._state is LifecycleState.ENDED:
            raise AdapterUsageError("fed a chunk after the stream was ended")
        next_state, action, _ = TRANSITIONS[self._state][kind]
        if action is Action.IGNORE:
            return
        self._state = next_state
        self._error = self._error or error
        if self._error is None:
            reports = self._usage.reports
            self._read_about(chunk)
            self._read_choices(chunk, outputs)
            self.ending = self._finish.is_said and not any(map(_says_anything, objects(chunk, "choices")))
            self._ends_with_usage = self._usage.reports == 1 != reports and self._closes(chunk)
            self.sink = None if self._ends_with_usage else self._short_way.after(chunk.get("choices"))
        else:  # what follows an error adds to it, and no more
            self._read_about(chunk)

    @property
    def _word(self) -> str | None:
        return self._finish.raw

    def _is_whole(self, *, told: bool) -> bool:
        return self._state is LifecycleState.OPEN and (told or self._seems_whole)

    def _settle(self, outputs: _Outputs) -> None:
        self._message.settle(outputs)

    @property
    def _seems_whole(self) -> bool:
        """Whether nothing but `[DONE]` is missing. Servers that forget the finish reason still end with the usage:
        recordings pai-snowflake-snowflake-thinking-streaming and llm-tools-streaming-variant-b, where lines of JSON
        have no place for `[DONE]`. A usage beside a piece of the message is no end: servers report one with each."""
        return self._finish.is_said or self._is_document or self._ends_with_usage

    def _closes(self, chunk: Wire) -> bool:
        """Whether a chunk with usage is the last one. OpenRouter says the cost only there, even of an empty answer:
        recording req-openrouter-minimax-minimax-m1-object-streaming."""
        is_begun = not self._message.is_empty or "cost" in mapping(chunk, "usage")
        return is_begun and not any(_says_anything(choice) for choice in objects(chunk, "choices"))

    def _complete(self, outputs: _Outputs) -> None:
        """Ends a whole answer."""
        word = self._finish.failure
        if word is not None:
            outputs += self.fail(failure_of_word(word, self._finish.native))
            return
        message = self._message
        if message.is_empty:  # Perplexity repeats the message beside each delta: of use only where no delta says it
            message.whole(self._whole_beside, outputs)
        if (word := self._finish.overflow) is not None and message.is_empty:
            outputs += self.fail(overflow(word))
            return
        try:
            calls = message.complete(self._envelope.response_id, outputs, is_cut=self._finish.is_cut)
        except ToolArgumentsError as error:
            self._emit_finish(Outcome.FAILED, self._finish.reason(has_calls=False), outputs, error)
            return
        outputs += (tool_call_part(self._prefix + one.call_id, one.name, one.input) for one in calls)
        outcome = Outcome.INCOMPLETE if self._finish.is_cut else Outcome.COMPLETED
        self._emit_finish(outcome, self._finish.reason(has_calls=bool(calls)), outputs)

    def _emit_finish(
        self,
        outcome: Outcome,
        reason: FinishReason | None,
        outputs: _Outputs,
        error: LanguageModelError | None = None,
    ) -> None:
        about = self._envelope
        metadata = about.metadata(self._finish.native, self._usage.cost)
        outputs.append(Finish(outcome, reason, self._usage.value, about.response_id, about.model, error, metadata))
        self._state = LifecycleState.FINISHED

    def _unknown(self, chunk: Wire, outputs: _Outputs) -> None:
        """Counts an event that is none of this protocol, such as one that an agent mixes in."""
        if self._state is LifecycleState.ENDED:
            raise AdapterUsageError("fed a chunk after the stream was ended")
        if chunk and self._state is not LifecycleState.FINISHED:
            kind = chunk.get("type")
            outputs.append(Unmapped(kind if isinstance(kind, str) and kind else "a chunk without choices", chunk))

    # A chunk

    def _read_about(self, chunk: Wire) -> None:
        self._envelope.read(chunk)
        self._usage.say(mapping(chunk, "x_groq").get("usage"))
        self._usage.say(chunk.get("usage"))
        self._message.sources.chunk(chunk)

    def _read_choices(self, chunk: Wire, outputs: _Outputs) -> None:
        for choice in objects(chunk, "choices"):
            place = index(choice, "index") or 0
            if place == 0 or _holds_only_calls(choice):
                self._read_choice(choice, outputs)
            else:
                self._message.count(f"choices[{place}]", choice, outputs)

    def _read_choice(self, choice: Wire, outputs: _Outputs) -> None:
        delta, message = choice.get("delta"), choice.get("message")
        if isinstance(delta, dict):
            self._message.delta(delta, outputs)
            if isinstance(message, dict):
                self._whole_beside = message
        elif isinstance(message, dict):
            self._is_document = True
            self._message.whole(message, outputs)
        elif isinstance(choice.get("text"), str):  # the older API of the same servers
            self._message.delta({"content": choice["text"]}, outputs)
        self._usage.say(choice.get("usage"))
        native = choice.get("native_finish_reason")
        self._finish.say(choice.get("finish_reason"), native if isinstance(native, str) else None)


_CHUNKS: Final = "chat.completion"


def _kind(chunk: Wire) -> LifecycleEvent | None:
    """What a chunk without an error is for the life of the response; None for an event of something else."""
    if isinstance(chunk.get("choices"), list) and chunk["choices"]:
        return LifecycleEvent.CONTENT
    if chunk.keys() & _REPORTS or ("id" in chunk and "type" not in chunk):
        return LifecycleEvent.REPORT
    return None


_REPORTS: Final = frozenset({"choices", "usage", "object", "x_groq"})
"""The fields of chunks without a choice: usage, filters, moderation, what an agent adds."""


def _says_anything(choice: Wire) -> bool:
    """Whether a choice holds a piece of the message, or a whole one."""
    return bool(choice.get("message")) or any(
        value for name, value in mapping(choice, "delta").items() if name != "role"
    )


def _holds_only_calls(choice: Wire) -> bool:
    """Whether a choice goes on with the first: GitHub Copilot puts text and calls of one answer into several."""
    said = {name for name, value in mapping(choice, "delta").items() if value}
    return "tool_calls" in said and said <= {"tool_calls", "role"}


def claims(_kind: str | None, event: Wire) -> MatchConfidence:
    """Tells whether an event of a recording belongs to this protocol."""
    if isinstance(event.get("choices"), list):
        return MatchConfidence.SURE
    if str(event.get("object")).startswith(_CHUNKS):
        return MatchConfidence.SURE
    return MatchConfidence.POSSIBLE if event.get("error") and "type" not in event else MatchConfidence.NO


def events_of(document: Wire) -> Sequence[Wire]:
    """The chunks that a document stands for: it is one, whose choice has a message in place of a delta."""
    return (document,)


READ_RESPONSE: Final = ResponseReaderSpec(
    open=ChatCompletionsStream, claim=claims, frequent=FREQUENT, events_of=events_of
)
