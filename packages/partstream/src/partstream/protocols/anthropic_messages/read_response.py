"""Anthropic Messages: events in, VS Code's parts out.

:class:`MessagesStream` takes an event; :data:`EVENTS` names its meaning for the lifecycle
(:mod:`partstream.protocols.read_response`) and its handler, so a handler never looks at the state. The handler changes
who answers, or one of three things: the :class:`Message` (its blocks, in the tables :data:`BLOCKS` and :data:`DELTAS`),
the :class:`StopReason` and the :class:`ReportedUsage`. An answer is whole with `message_stop`, or with a stop reason
and the end of the bytes.

Nothing is checked against a schema. What is missing, null or of another type says nothing; what is unknown is counted
as :class:`Unmapped`. Real servers deviate (docs/wires/anthropic-messages.md#deviations-of-servers): they repeat
`message_start`, leave blocks open, stream into blocks that are closed or were never opened, or leave the end out.

A delta comes by the thousand. Its fast path takes one only if the slow path would do nothing else with it: one of the
same kind, for the same block.

Source: docs/wires/anthropic-messages.md; recordings of Anthropic's server.
"""

from __future__ import annotations
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from partstream.codec.checks import as_count, places, replace
from partstream.conversation.citations import Citation, Citations
from partstream.errors import LanguageModelError, ToolArgumentsError, UpstreamProtocolError
from partstream.lm.outputs import EmitText, Finish, Outcome, StreamOptions, StreamOutput, ThinkingMode, Unmapped
from partstream.lm.parts import FinishReason, TextPart, UnifiedFinishReason, Usage, text_part, thinking_part
from partstream.protocols import read_response as base
from partstream.protocols.anthropic_messages.errors import ERRORS
from partstream.protocols.anthropic_messages.provider_state import FALLBACK, CarriedState, block_item, container_item
from partstream.protocols.anthropic_messages.tool_calls import TOOL_USE, Block, Blocks, Channel, ToolCalls
from partstream.protocols.errors import failure_in_finish_word
from partstream.protocols.read_response import JSONObject, identifier, index, mapping, nothing, objects, text

# ---- Citations ----

_PLACES: Final = ["start_char_index", "start_page_number", "start_block_index", "search_result_index", "document_index"]
"""The fields that tell two citations apart, those of one document by kind."""


def citation_of(citation: JSONObject) -> Citation:
    """The source that a citation names.

    Its places are those in the source, not in the answer, so they are left out.
    """
    source, number = identifier(citation, "source"), index(citation, "document_index")
    is_address = source is not None and source.startswith(("http://", "https://"))
    return Citation(
        url=identifier(citation, "url") or (source if is_address else None),
        title=identifier(citation, "title") or identifier(citation, "document_title"),
        name=f"citation:{identifier(citation, 'type') or 'unknown'}",
        data=citation,
        source_id=source or identifier(citation, "file_id") or (None if number is None else f"document {number}"),
        filename=identifier(citation, "document_title"),
        cited_text=identifier(citation, "cited_text"),
    )


# ---- Message ----

_UNTYPED: Final = "a block without a type"


class Message:
    """The message of one answer: its blocks, what is shown of them, and what the server wants back.

    Attributes:
        calls: Its calls, and what waits after them.
        was_compacted: Whether the server has summarised the conversation.
        ran_tools: Whether the server has run tools of its own: its tokens are those of several calls of the model then.
        other_model: The model that continued the answer of another one, or None.
    """

    def __init__(self, options: StreamOptions) -> None:
        self.was_compacted = False
        self.ran_tools = False
        self.other_model: str | None = None
        self._shows_thinking = options.thinking is not ThinkingMode.OFF
        self._state = CarriedState(options.thinking)
        self.calls = ToolCalls(options.call_id_prefix, self._state)
        self._said = base.RecentText()
        self._citations = Citations(options.citations)
        self._blocks = Blocks()

    @property
    def is_empty(self) -> bool:
        """Whether no block has begun."""
        return not self._blocks.all

    @property
    def content(self) -> list[JSONObject]:
        """All its closed blocks, as the server would take them back."""
        return [block.raw for block in self._blocks.all if block.raw is not None]

    def start(self, place: int | None, wire: JSONObject, outputs: _Outputs) -> None:
        """Opens a block; one that does not say what it is opens none, and its deltas say what they are."""
        kind = identifier(wire, "type")
        if kind is None:
            self.calls.before(outputs).append(Unmapped(_UNTYPED, wire))
            return
        row = BLOCKS.get(kind, _OTHER_BLOCK)
        if row.channel is not Channel.THINKING:
            self._close_all(self._blocks.close_unsigned(), outputs)
        block = self._open(place, row.channel, wire)
        row.started(self, block, self.calls.before(outputs))
        if not self.calls.has_calls:  # another model continues, and what waits after void calls waits no longer
            self.calls.release(outputs)

    def delta(self, place: int | None, delta: JSONObject, outputs: _Outputs) -> EmitText | None:
        """Adds to a block; returns the fast path for more of the same.

        The kind of the delta counts, and not that of the block at its index: LiteLLM streams thinking into a block of
        text, and claude-code-router into blocks that are closed.
        """
        kind = text(delta, "type")
        row = DELTAS.get(kind)
        if row is None:
            self.calls.before(outputs).append(Unmapped(f"delta:{kind or 'without a type'}", delta))
            return None
        block = self._blocks.find(place, row.channel)
        if block is None:
            if not delta.get(row.field):  # LiteLLM in front of vLLM sends empty arguments in place of text
                return None
            block = self._open(place, row.channel, {})
        if row.channel is Channel.TEXT:
            self._close_all(self._blocks.close_unsigned(), outputs)
        target = self.calls.before(outputs)
        row.read(self, block, delta, target)
        if len(delta) > _FIELDS_OF_A_DELTA:  # some gateways put two things into one
            said = {
                row.field: name
                for name, row in DELTAS.items()
                if name != kind and row.channel is not Channel.COMPACTION
            }
            for field, value in delta.items():
                if value and field in said:
                    self.delta(place, {"type": said[field], field: value}, outputs)
            return None
        if target is not outputs or kind not in _MORE:
            return None
        make = None if row.channel is Channel.THINKING and not self._shows_thinking else _MORE[kind]
        return base.emit_into(block, make)

    def stop(self, place: int | None, outputs: _Outputs) -> None:
        """Closes what is open at an index."""
        self._close_all(self._blocks.close(place), outputs)

    def whole(self, wires: list[JSONObject], outputs: _Outputs) -> None:
        """Takes whole blocks: of a document, or (docs/wires/anthropic-messages.md#blocks-in-message_start)."""
        for place, wire in enumerate(wires):
            self.start(place, wire, outputs)
            self.stop(place, outputs)

    def close(self, outputs: _Outputs) -> None:
        """Closes open blocks: llama.cpp closes none before the end (docs/wires/anthropic-messages.md#servers)."""
        self._close_all(self._blocks.close_all(), outputs)

    def end(self, container: JSONObject, outputs: _Outputs, *, is_cut: bool) -> ToolArgumentsError | None:
        """Emits what waits, and returns the error of a call that is not whole: none where a limit or a filter has cut
        it."""
        self.close(outputs)
        waiting = self.calls.before(outputs)
        broken = self.calls.end(self._blocks.all[-1] if self._blocks.all else None, waiting, is_cut=is_cut)
        if container:
            self._state.add(container_item(container), waiting)
        waiting += self._citations.at_end()
        self._state.emit(waiting)
        self.calls.release(outputs)
        return broken

    def abandon(self, outputs: _Outputs) -> None:
        """Emits what waits of an answer that broke, but no call: the answer cannot be continued."""
        self.calls.drop()
        self.calls.release(outputs)

    def _open(self, place: int | None, channel: Channel, wire: JSONObject) -> Block:
        block = Block(channel, wire, self._said if channel is Channel.TEXT else None)
        self._blocks.open(place, block)
        self.ran_tools |= block.type != TOOL_USE and block.type.endswith(TOOL_USE)
        return block

    def _close_all(self, blocks: Iterable[Block], outputs: _Outputs) -> None:
        for block in blocks:
            before = self.calls.before(outputs)
            match block.channel:
                case Channel.TEXT:
                    self._show_sources(block, before)
                    block.close()
                case Channel.THINKING:  # also without a text or a signature: some servers want it back
                    if (raw := block.close()) is not None:
                        self._state.add(block_item(raw), before)
                case Channel.INPUT:
                    self.calls.closed(block, before)
                case Channel.COMPACTION:
                    said = {**block.wire, **block.fields}
                    self.was_compacted |= any(said.get(name) for name in ("content", "encrypted_content"))
                    self.calls.kept(block, before)
                case Channel.NOTHING:
                    self.calls.kept(block, before)

    # What blocks begin with, and what deltas bring

    def begin_text(self, block: Block, outputs: _Outputs) -> None:
        """Takes the text and the citations that a block begins with."""
        block.citations += objects(block.wire, "citations")
        self.text(block, block.wire, outputs)

    def text(self, block: Block, delta: JSONObject, outputs: _Outputs) -> None:
        """Takes a piece of text."""
        if piece := text(delta, "text"):
            self._state.emit(outputs)
            block.add(piece)
            outputs.append(text_part(piece))

    def citation(self, block: Block, delta: JSONObject, _outputs: _Outputs) -> None:
        """Takes a citation. Anthropic sends it before the text that it belongs to: recording anthropic-web-search-tool,
        so it is shown when the block closes."""
        if citation := mapping(delta, "citation"):
            block.citations.append(citation)

    def _show_sources(self, block: Block, outputs: _Outputs) -> None:
        block.fold()
        for citation in block.citations:
            key = [identifier(citation, name) for name in ("type", "url", "source", "cited_text")]
            places = [index(citation, name) for name in _PLACES]
            rendered = self._citations.render(citation_of(citation), self._said, (id(block), *key, *places))
            for output in rendered:
                if isinstance(output, TextPart):
                    self._said.add(output.value)
            outputs += rendered

    def thinking(self, block: Block, delta: JSONObject, outputs: _Outputs) -> None:
        """Takes a piece of thinking. Beside a signature, a gateway may repeat the whole thinking."""
        piece, is_signed = text(delta, "thinking"), bool(text(delta, "signature"))
        if is_signed:
            self.signature(block, delta, outputs)
        if is_signed and piece and block.said_all(piece):
            outputs.append(Unmapped("thinking (repeated)", delta))
        elif piece:
            self._state.emit(outputs)
            block.add(piece)
            if self._shows_thinking:
                outputs.append(thinking_part(piece))

    def signature(self, block: Block, delta: JSONObject, _outputs: _Outputs) -> None:
        """Takes a signature: it replaces the one before it (docs/wires/anthropic-messages.md#blocks)."""
        if signature := text(delta, "signature"):
            block.fields["signature"] = signature

    def arguments(self, block: Block, delta: JSONObject, _outputs: _Outputs) -> None:
        """Takes a piece of the arguments of a call; some servers send them as an object."""
        piece = delta.get("partial_json")
        if isinstance(piece, dict | list):
            block.add_value(piece)
        elif piece and isinstance(piece, str):
            block.add(piece)

    def summary(self, block: Block, delta: JSONObject, _outputs: _Outputs) -> None:
        """Takes the summary that the server made of the conversation; null where it could not."""
        block.fields |= {name: value for name, value in delta.items() if name != "type"}

    def change_model(self, block: Block, _outputs: _Outputs) -> None:
        """Another model continues: earlier calls are void (docs/wires/anthropic-messages.md#fallback-models)."""
        self.other_model = identifier(mapping(block.wire, "to"), "model") or self.other_model
        self.calls.drop()


class BlockRow(NamedTuple):
    """The channel of a kind of block, and the handler of its first state."""

    channel: Channel
    started: Callable[[Message, Block, _Outputs], None]


_OTHER_BLOCK: Final = BlockRow(Channel.INPUT, nothing)
"""Calls of the server's tools and their results, and unknown kinds: never text, never a call for us."""

BLOCKS: Final = {
    "text": BlockRow(Channel.TEXT, Message.begin_text),
    "thinking": BlockRow(Channel.THINKING, lambda message, block, said: message.thinking(block, block.wire, said)),
    "compaction": BlockRow(Channel.COMPACTION, nothing),
    FALLBACK: BlockRow(Channel.NOTHING, Message.change_model),
}
"""Every kind of block that has a channel or a handler of its own."""


class DeltaRow(NamedTuple):
    """The channel of a kind of delta, the field without which it says nothing, and its handler."""

    channel: Channel
    field: str
    read: Callable[[Message, Block, Any, _Outputs], None]


DELTAS: Final = {
    "text_delta": DeltaRow(Channel.TEXT, "text", Message.text),
    "citations_delta": DeltaRow(Channel.TEXT, "citation", Message.citation),
    "thinking_delta": DeltaRow(Channel.THINKING, "thinking", Message.thinking),
    "signature_delta": DeltaRow(Channel.THINKING, "signature", Message.signature),
    "input_json_delta": DeltaRow(Channel.INPUT, "partial_json", Message.arguments),
    "compaction_delta": DeltaRow(Channel.COMPACTION, "content", Message.summary),
}

_FIELDS_OF_A_DELTA: Final = 2

_MORE: Final[Mapping[str, Callable[[str], StreamOutput] | None]] = {
    "text_delta": text_part,
    "thinking_delta": thinking_part,
    "input_json_delta": None,
}
"""The kinds of deltas that come by the thousand, with what makes the part of each."""

# ---- Finish ----

PAUSED: Final = "pause_turn"
"""The server's own tools have run as often as they may in one request: the answer continues in the next."""

WORDS: Final[Mapping[str, UnifiedFinishReason]] = MappingProxyType(
    {
        "end_turn": UnifiedFinishReason.STOP,
        "tool_use": UnifiedFinishReason.TOOL_CALLS,
        "stop_sequence": UnifiedFinishReason.STOP,
        "max_tokens": UnifiedFinishReason.LENGTH,
        "model_context_window_exceeded": UnifiedFinishReason.LENGTH,
        "refusal": UnifiedFinishReason.CONTENT_FILTER,
        PAUSED: UnifiedFinishReason.OTHER,
        "compaction": UnifiedFinishReason.OTHER,
        # Words of Chat Completions that gateways pass on.
        "stop": UnifiedFinishReason.STOP,
        "tool_calls": UnifiedFinishReason.TOOL_CALLS,
        "length": UnifiedFinishReason.LENGTH,
        "content_filter": UnifiedFinishReason.CONTENT_FILTER,
    }
)
"""The words, those of the documentation first."""

_CUT: Final = frozenset({UnifiedFinishReason.LENGTH, UnifiedFinishReason.CONTENT_FILTER})
_UNFINISHED: Final = frozenset({PAUSED, "compaction"})


class StopReason:
    """Why the model stopped.

    Attributes:
        word: The server's word, or None: Ollama leaves it out where it knows none.
        sequence: The stop sequence that the model said, or None.
        details: The details of a refusal; empty for other reasons.
    """

    def __init__(self) -> None:
        self.word: str | None = None
        self.sequence: str | None = None
        self.details: JSONObject = {}

    def say(self, source: Any) -> None:
        """Takes a message or the `delta` of a `message_delta`; null and `""` say nothing."""
        self.word = identifier(source, "stop_reason") or self.word
        self.sequence = identifier(source, "stop_sequence") or self.sequence
        self.details = mapping(source, "stop_details") or self.details

    @property
    def unified(self) -> UnifiedFinishReason:
        """The term for all providers, whatever the answer holds."""
        if self.word is None:
            return UnifiedFinishReason.STOP
        return WORDS.get(self.word, UnifiedFinishReason.OTHER)

    @property
    def failure(self) -> str | None:
        """The sentence for a person about an answer that failed, or None; gateways have words for it."""
        said = None if self.word in WORDS else failure_in_finish_word(self.word)
        return said and (self.explanation or said)

    @property
    def is_cut(self) -> bool:
        """Whether something stopped the model before it was done: a limit, a filter, or a pause."""
        return self.unified in _CUT or self.word in _UNFINISHED

    def outcome(self, *, has_calls: bool) -> Outcome:
        """How the response ended, if it is whole; calls that came out are no pause, whatever the word is."""
        is_cut = self.unified in _CUT or (self.word in _UNFINISHED and not has_calls)
        return Outcome.INCOMPLETE if is_cut else Outcome.COMPLETED

    @property
    def explanation(self) -> str | None:
        """The server's sentence about a refusal, or None."""
        return identifier(self.details, "explanation")

    def reason(self, *, has_calls: bool) -> FinishReason:
        """The finish reason of an answer; with calls that came out, LiteLLM sends `end_turn`."""
        unified = self.unified
        if has_calls and unified not in _CUT:
            unified = UnifiedFinishReason.TOOL_CALLS
        elif unified is UnifiedFinishReason.TOOL_CALLS and not has_calls:
            unified = UnifiedFinishReason.OTHER  # tools of the server wait, and no call is the client's
        return FinishReason(unified, self.word)


# ---- Usage ----

_INPUT: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""The fields whose sum is the prompt: `input_tokens` alone is what follows the last mark of the cache."""

_OF_THE_MODEL: Final = frozenset({"message", "fallback_message"})
"""The kinds of `iterations` whose prompt is the conversation; others summarise it, or ask an adviser."""


class ReportedUsage:
    """The usage of one answer: of its message, or of several after pauses, each with numbers of its own."""

    def __init__(self) -> None:
        self._before: list[Usage] = []
        self._first: int | None = None
        self._raw: dict[str, Any] = {}

    def begin(self) -> None:
        """Another message begins, whose numbers are added to those of the messages before it."""
        if self._raw:
            self._before.append(_read(self._raw, None))
            self._raw, self._first = {}, None

    def say(self, report: Any) -> None:
        """Takes the field `usage`. Nothing is added up: the last number of each field counts.

        A prompt of nothing after a prompt of something says nothing: old versions of Ollama report it for what they
        had in their cache. Of an answer that breaks, the numbers at its beginning are the least that it took.
        """
        if not isinstance(report, dict):
            return
        known = {name: value for name, value in report.items() if value is not None}
        prompt = _prompt(known)
        if prompt == 0 and _prompt(self._raw):
            known, prompt = {name: value for name, value in known.items() if name not in _INPUT}, None
        self._first = prompt if self._first is None else self._first
        self._raw |= known

    def value(self, *, ran_tools: bool) -> Usage | None:
        """The usage, or None if none was reported; a server that ran tools of its own called the model several
        times."""
        if not self._raw and not self._before:
            return None
        # The prompt of the last call of the model, where the total counts the prompts of several calls or of others.
        # Without `iterations`, of several calls only the first prompt is known, the least that the last can have:
        # recording anthropic-code-execution-20250825.pptx-skill has 2,751 first, and 320,032 in all.
        iterations = objects(self._raw, "iterations")
        prompts = [_prompt(one) for one in iterations if text(one, "type") in _OF_THE_MODEL]
        context = prompts[-1] if prompts else self._first if ran_tools else None
        last = _read(self._raw, None if context == _prompt(self._raw) else context)
        if not self._before:
            return last

        counted = [*self._before, last]
        totals = {
            name: sum(counts)
            for name in _COUNTS
            if (counts := [count for one in counted if (count := getattr(one, name)) is not None])
        }
        # What fills the window is the prompt of the last message.
        window = last.input_tokens if last.context_tokens is None else last.context_tokens
        return replace(last, **totals, context_tokens=window)


_COUNTS: Final = tuple(f"{name}_tokens" for name in ("input", "output", "total", "cached", "reasoning", "cache_write"))


def _read(raw: JSONObject, context: int | None) -> Usage:
    given, made = _prompt(raw), as_count(raw.get("output_tokens"))
    return Usage(
        given,
        made,
        None if given is None or made is None else given + made,
        as_count(raw.get("cache_read_input_tokens")),
        as_count(mapping(raw, "output_tokens_details").get("thinking_tokens")),
        raw,
        as_count(raw.get("cache_creation_input_tokens")),
        context,
    )


def _prompt(raw: JSONObject) -> int | None:
    counts = [count for name in _INPUT if name in raw and (count := as_count(raw[name])) is not None]
    return sum(counts) if counts else None


# ---- Stream ----

_Outputs: TypeAlias = list[StreamOutput]


class MessagesStream(base.EventReader):
    """One answer of a Messages server; see :class:`partstream.lm.outputs.ResponseStream`.

    Attributes:
        ending: Whether a stop reason came, and nothing of the answer after it: only `message_stop` may still follow.
    """

    reads = places(
        {
            "": "type index message= content_block=content[] delta usage error id role model content stop_reason"
            " stop_sequence stop_details container context_management request_id",
            "stop_details container": "*",
            "delta": "type stop_reason stop_sequence stop_details=stop_details container=container text thinking"
            " signature partial_json citation=content[].citations[] content encrypted_content error",
            "content[text]": "type text citations",
            "content[thinking]": "type thinking signature",
            "content[tool_use]": "type id name input caller toolset_name",
            "content.citations": "type url title source file_id document_index document_title cited_text",
            "context_management": "applied_edits",
            "usage": "input_tokens cache_creation_input_tokens cache_read_input_tokens output_tokens"
            " output_tokens_details service_tier",
            "usage.output_tokens_details": "thinking_tokens",
        }
    )
    deltas = base.Deltas({"content_block_delta": tuple(("delta", DELTAS[kind].field) for kind in _MORE)})
    has_documents = True
    errors = ERRORS

    def __init__(self, options: StreamOptions) -> None:
        super().__init__(options)
        self.ending = False
        self._tier: dict[str, str] = {}
        self._message = Message(options)
        self._response_id: str | None = None  # of several messages after pauses, the last
        self._model: str | None = None
        self._container: JSONObject = {}  # of the server's tools, whose id the next request repeats
        self._is_begun = False
        self._edits: list[JSONObject] = []
        self._earlier_edits: list[JSONObject] = []
        self._usage = ReportedUsage()
        self._stop = StopReason()

    @classmethod
    def claim(cls, kind: str | None, event: JSONObject) -> base.MatchConfidence:
        """How sure the protocol is of an event: never by `ping`, which others send too."""
        if isinstance(event.get(_INNER.get(kind or "", "")), dict):
            return base.MatchConfidence.SURE
        if kind == "error":
            return base.MatchConfidence.POSSIBLE if isinstance(event.get("error"), dict) else base.MatchConfidence.NO
        return base.MatchConfidence.POSSIBLE if kind in EVENTS and kind != "ping" else base.MatchConfidence.NO

    @classmethod
    def events_of(cls, document: JSONObject) -> Sequence[JSONObject]:
        """The events that say what a document says: a message whose content has come whole, or an error."""
        if document.get("type") == "message" or ("content" in document and "role" in document):
            return ({"type": "message_start", "message": document}, {"type": "message_stop"})
        if document.get("type") == "error" or not document.get("error"):
            return (document,)
        return ({**document, "type": "error", "error": mapping(document, "error") or {"message": document["error"]}},)

    @classmethod
    def item_of_tags(cls, raw: str) -> JSONObject:
        """The item that takes thinking in tags back to the server: a block of text."""
        return block_item({"type": "text", "text": raw})

    @property
    def usage(self) -> Usage | None:
        """The tokens that the server has reported so far."""
        return self._usage.value(ran_tools=self._message.ran_tools)

    @property
    def paused(self) -> Mapping[str, Any] | None:
        """The message so far of an answer that the server paused; see :class:`partstream.lm.outputs.PausingStream`."""
        if self._state is not base.LifecycleState.ANSWERED:
            return None
        return {"content": self._message.content} | ({"container": self._container} if self._container else {})

    def go_on(self) -> None:
        """Tells that the continuation of a paused answer follows."""
        if self._state is base.LifecycleState.ANSWERED:
            self.ending = False
            self._stop = StopReason()
            self._enter(base.LifecycleState.OPEN)

    @property
    def _word(self) -> str | None:
        return self._stop.word

    def _is_whole(self, *, told: bool) -> bool:
        return self._state is base.LifecycleState.ANSWERED or (
            self._state is base.LifecycleState.OPEN and (told or self._stop.word is not None)
        )

    def _settle(self, outputs: _Outputs) -> None:
        self._message.abandon(outputs)

    def _complete(self, outputs: _Outputs) -> None:
        stop, message = self._stop, self._message
        error: LanguageModelError | None
        if (said := stop.failure) is not None:
            message.abandon(outputs)
            error = ERRORS.failure(said, stop.word)
        else:
            error = message.end(self._container, outputs, is_cut=stop.is_cut)
        if error is not None:
            self._emit_finish(Outcome.FAILED, FinishReason(UnifiedFinishReason.ERROR, stop.word), outputs, error)
            return
        has_calls = message.calls.has_calls
        self._emit_finish(stop.outcome(has_calls=has_calls), stop.reason(has_calls=has_calls), outputs)

    def _make_finish(self, outcome: Outcome, reason: FinishReason | None, error: LanguageModelError | None) -> Finish:
        # The server's other facts about the answer, in the words of the AI SDK.
        edits = [_renamed(edit) for edit in (*self._earlier_edits, *self._edits)]
        edits += [{"type": "compaction"}] if self._message.was_compacted else []
        facts = {
            "contextManagement": {"appliedEdits": edits} if edits else None,
            "container": _renamed(self._container) or None,
            base.STOP_SEQUENCE: self._stop.sequence,
            "stopDetails": _renamed(self._stop.details) or None,
            **self._tier,
        }
        known = {name: fact for name, fact in facts.items() if fact is not None}
        metadata = {"anthropic": known} if known else {}
        return Finish(
            outcome,
            reason,
            self.usage,
            self._response_id,
            self._message.other_model or self._model,
            error,
            metadata,
            base.applied_edits(metadata),
            self._stop.explanation,
        )

    # The events

    def _start(self, event: JSONObject, outputs: _Outputs) -> None:
        message = mapping(event, "message")
        given = identifier(message, "id")
        if self._is_begun and given in (None, self._response_id):
            return  # LiteLLM sends it twice
        if self._is_begun and not self._message.is_empty:
            got, expected = repr(given), repr(self._response_id)
            error = UpstreamProtocolError(event_type="message_start", field="message.id", got=got, expected=expected)
            outputs += self.fail(error)
            return
        self._is_begun = True
        self._response_id = self._message.calls.ended.response_id = given or self._response_id
        self._model = identifier(message, "model") or self._model
        self._container = mapping(message, "container") or self._container
        self._earlier_edits += self._edits
        self._edits = objects(mapping(message, "context_management"), "applied_edits")
        self._usage.begin()
        self._stop = StopReason()
        self._stop.say(message)
        self._tier = base.tier(mapping(message, "usage"))
        self._usage.say(message.get("usage"))
        self._message.whole(objects(message, "content"), outputs)
        self.ending = self._stop.word is not None

    def _block_start(self, event: JSONObject, outputs: _Outputs) -> None:
        self.ending = False
        self._message.start(index(event, "index"), mapping(event, "content_block"), outputs)

    def _block_delta(self, event: JSONObject, outputs: _Outputs) -> EmitText | None:
        self.ending = False
        return self._message.delta(index(event, "index"), mapping(event, "delta"), outputs)

    def _message_delta(self, event: JSONObject, outputs: _Outputs) -> None:
        self._stop.say(event.get("delta"))
        self._usage.say(event.get("usage"))
        self._container = mapping(mapping(event, "delta"), "container") or self._container
        self._edits = objects(mapping(event, "context_management"), "applied_edits") or self._edits
        self.ending = self._stop.word is not None
        if (failure := ERRORS.failure_beside(event, mapping(event, "delta"))) is not None:
            outputs += self.fail(failure)

    def _message_stop(self, _event: JSONObject, outputs: _Outputs) -> None:
        if self._stop.word == PAUSED and not self._message.calls.has_calls:
            self._message.close(outputs)
            self._is_begun = False  # another message may continue the answer
            self._enter(base.LifecycleState.ANSWERED)
        else:
            self._complete(outputs)

    def _error_event(self, event: JSONObject, outputs: _Outputs) -> None:
        said = event if event.get("error") else {"error": {name: event[name] for name in event if name != "type"}}
        outputs += self.fail(ERRORS.read_failure(said))


EVENTS: Final[dict[str, base.Row]] = {
    "message_start": base.Row(base.LifecycleEvent.LIFECYCLE, MessagesStream._start),
    "content_block_start": base.Row(base.LifecycleEvent.CONTENT, MessagesStream._block_start),
    "content_block_delta": base.Row(base.LifecycleEvent.CONTENT, MessagesStream._block_delta),
    "content_block_stop": base.Row(
        base.LifecycleEvent.CONTENT, lambda stream, event, outputs: stream._message.stop(index(event, "index"), outputs)
    ),
    "message_delta": base.Row(base.LifecycleEvent.REPORT, MessagesStream._message_delta),
    "message_stop": base.Row(base.LifecycleEvent.TERMINAL, MessagesStream._message_stop),
    "ping": base.Row(base.LifecycleEvent.SILENT, nothing),
    # It is always the last event: vLLM sends no `message_stop` after it.
    "error": base.Row(base.LifecycleEvent.ERROR, MessagesStream._error_event),
}
"""Every event type that is understood. All others come out as :class:`Unmapped`."""


def _renamed(facts: JSONObject) -> JSONObject:
    """Facts under names in camel case, as the AI SDK writes them: `cleared_tool_uses` is `clearedToolUses`."""
    words = ((name.split("_"), value) for name, value in facts.items())
    return {first + "".join(word.capitalize() for word in rest): value for (first, *rest), value in words}


MessagesStream.rows = base.rows_by_state(EVENTS)
# Paused: whatever follows `message_stop` is ignored, but for the message that continues.
MessagesStream.rows[base.LifecycleState.ANSWERED] |= dict.fromkeys(
    EVENTS.keys() - {"message_start", "error"}, (base.LifecycleState.ANSWERED, nothing)
)

_INNER: Final = {
    "message_start": "message",
    "content_block_start": "content_block",
    "content_block_delta": "delta",
    "message_delta": "delta",
}
"""The events that tell this protocol from all others, and the field with an object that each of them has."""

# ---- Plain answers ----

_BLOCK: Final = {"type": "text", "text": ""}
_PLAIN_MESSAGE: Final = frozenset({"id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"})
_PLAIN_END: Final = frozenset({"stop_reason", "stop_sequence"})
_PLAIN_WORDS: Final = frozenset({"end_turn", "max_tokens"})


class MessagesGlance(base.Glance):
    """A look at an answer of Messages; see :class:`partstream.protocols.read_response.Glance`."""

    reads = MessagesStream.reads
    text_field = b'"text":'

    def __init__(self) -> None:
        super().__init__()
        self._steps = iter(
            ("message_start", "content_block_start", "content_block_stop", "message_delta", "message_stop")
        )
        self._next = next(self._steps)
        self._id: str | None = None
        self._model: str | None = None
        self._word = ""
        self._usage = ReportedUsage()

    def _piece(self, frame: bytes) -> str | None:
        name, _, data = frame.partition(b"\ndata: ")
        event = self.decode(data)
        kind = event["type"]
        if name != b"event: " + kind.encode():
            return None
        if kind == "content_block_delta":
            delta = event["delta"]
            piece = delta["text"] if delta["type"] == "text_delta" and len(delta) == len(event) - 1 == 2 else None
            is_open = self._next == "content_block_stop" and event["index"] == 0
            return piece if is_open and type(piece) is str else None
        if kind == self._next:
            self._next = next(self._steps, "")
            return "" if self._take(kind, event) else None
        return "" if kind == "ping" and len(event) == 1 and self._id is not None else None

    def _take(self, kind: str, event: JSONObject) -> bool:
        """Takes an event that comes once; tells whether it is plain."""
        match kind:
            case "message_start":
                message = event["message"]
                self._id, self._model = identifier(message, "id"), identifier(message, "model")
                usage, is_plain = message["usage"], message.keys() <= _PLAIN_MESSAGE and message["content"] == []
                is_plain = is_plain and not message.get("stop_reason") and not message.get("stop_sequence")
                is_plain = is_plain and self._id is not None and ("service_tier" not in usage or not base.tier(usage))
                self._usage.say(usage)
                event = event if len(event) > 2 else {"usage": usage}  # all else was looked at
            case "content_block_start":
                is_plain = event["index"] == 0 and event["content_block"] == _BLOCK
                event = event if len(event) > 3 else {}
            case "content_block_stop":
                is_plain = event["index"] == 0
            case "message_delta":
                delta = event["delta"]
                self.ending, self._word = True, delta.get("stop_reason")
                is_plain = delta.keys() <= _PLAIN_END and not delta.get("stop_sequence") and self._word in _PLAIN_WORDS
                is_plain = is_plain and event.keys() <= {"type", "delta", "usage"}
                self._usage.say(event.get("usage"))
            case _:
                self._end(WORDS[self._word], self._word, self._usage.value(ran_tools=False), self._id, self._model)
                return len(event) == 1
        self._note_unread(event)
        return bool(is_plain)


MessagesStream.glance = MessagesGlance
