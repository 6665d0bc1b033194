"""OpenResponses: events in, VS Code's parts out.

:class:`OpenResponsesStream` reads one response. `EVENTS` maps each event type to its handler, and `ITEMS` each type of
item. The states of a response are one table (:mod:`partstream.protocols.read_response`); handlers do not look at it.
Events and items of other types come out as :class:`Unmapped`. There is no I/O, no clock and no logging.

A response consists of items: messages and reasoning, tool calls
(:mod:`partstream.protocols.openresponses.tool_calls`), and items of tools that the upstream runs itself. Each text of
an item arrives as deltas, and up to four closing events repeat it whole: the part, the text, the item and the final
snapshot. Emitted text cannot be taken back, so a closing event only adds a missing suffix (:class:`StreamedText`).

Real servers name parts in other ways than the specification:

- vLLM counts `content_index` up with every delta (docs/wires/openresponses.md#vllm), and llama.cpp omits it: the open
  slot of the item is meant.
- LiteLLM closes messages under ids that nothing opened (docs/wires/openresponses.md#litellm): the text itself tells
  which slot it closes (:class:`_TextIndex`).
- Many servers leave the final snapshot empty; others send only the last event, or a document in place of a stream
  (:meth:`OpenResponsesStream.events_of`).

Source: OpenResponses specification 2026-04-24; docs/wires/openresponses.md describes real servers.
"""

from __future__ import annotations
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

from partstream.codec.checks import places
from partstream.conversation.citations import Citation, Citations
from partstream.conversation.provider_state import ITEMS as REASONING_ITEMS
from partstream.conversation.provider_state import MOST_ITEMS
from partstream.errors import LanguageModelError, UpstreamProtocolError
from partstream.lm.outputs import EmitText, Finish, Outcome, StreamOptions, StreamOutput, ThinkingMode, Unmapped
from partstream.lm.parts import FinishReason, RefusalPart, ThinkingPart, UnifiedFinishReason, text_part, thinking_part
from partstream.protocols import read_response as base
from partstream.protocols.calls import check_number
from partstream.protocols.files import Files, picture_in
from partstream.protocols.openresponses.errors import (
    ERRORS,
    add_report,
    failure,
    finish_reason,
    mapping,
    sequence,
    text,
    usage,
)
from partstream.protocols.openresponses.tool_calls import RULES_OF_TEXTS, CallEvents, Item, Items, of_kind
from partstream.protocols.read_response import FOLD_AT, EmittedPrefix, JSONObject, identifier, index, nothing, rows

Outputs: TypeAlias = list[StreamOutput]
_Make: TypeAlias = Callable[[str], StreamOutput]

# ---- Texts: a slot is one content part ----

_CLOSING_MARKS: Final = ".!?…"
_MARKS: Final = frozenset(_CLOSING_MARKS)


class StreamedText(EmittedPrefix):
    """The emitted prefix of one text.

    The marks that close a sentence are held back (`held`) until the next event: the closing event of a server may
    continue the sentence (recording `openai-shell-container.1`: "…successfully." becomes "…successfully in the
    container."), and an emitted full stop cannot be taken back. Any further delta is such an event: of a long row of
    marks, only those of the last delta wait. `closed` is set once a closing event has brought the whole text, and
    `repeats` holds that text as long as deltas may repeat it, with the place to which they have come.
    """

    __slots__ = ("closed", "held", "repeats")

    def __init__(self) -> None:
        super().__init__()
        self.held = ""
        self.closed = False
        self.repeats: tuple[tuple[str, int], ...] = ()

    def push(self, delta: str) -> str:
        """Adds a delta; returns the text to emit now."""
        if not delta:
            return ""
        words = delta.rstrip(_CLOSING_MARKS)
        said = self.held + words
        self.held = delta[len(words) :]
        if said:
            self.pieces.append(said)
        if len(self.pieces) >= FOLD_AT:
            self.fold()
        return said

    def release(self) -> str:
        """Releases the held text; returns it for emission."""
        held, self.held = self.held, ""
        if held:
            self.pieces.append(held)
        return held

    def close(self, whole: str) -> tuple[str, bool]:
        """Takes the whole text from a closing event, which is empty at several servers.

        Returns:
            The text to emit now, and whether the whole text agrees with the text that was emitted before.
        """
        self.closed = True
        if not whole:
            return self.release(), True
        if not self.begins(whole):
            return self.release(), False
        missing = whole[self._length :]
        self.held = ""
        self.repeats = ((missing, 0), (whole, 0)) if missing else ((whole, 0),)
        if missing:
            self.pieces.append(missing)
        return missing, True

    def is_repeated(self, delta: str) -> bool:
        """Whether a delta only repeats what a closing event has said: from its beginning, or from where the deltas
        before had come to. Such a delta came too late, or came again."""
        self.repeats = tuple((said, at + len(delta)) for said, at in self.repeats if said.startswith(delta, at))
        return bool(self.repeats)

    def forget(self) -> None:
        """Frees the text of an item that is over; its length, its checksum and `repeats` tell what is said again."""
        self.fold()
        self._recent = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was emitted or held."""
        return super().is_empty and not self.held


class Channel(NamedTuple):
    """A kind of text of messages or reasoning, with the fields of its part's index and of its whole text."""

    name: str
    is_reasoning: bool
    index_field: str
    whole_field: str


OUTPUT_TEXT: Final = Channel("output_text", False, "content_index", "text")
REFUSAL: Final = Channel("refusal", False, "content_index", "refusal")
REASONING: Final = Channel("reasoning", True, "content_index", "text")
SUMMARY: Final = Channel("summary", True, "summary_index", "text")

PART_CHANNELS: Final = {
    "output_text": OUTPUT_TEXT,
    "text": OUTPUT_TEXT,  # from SGLang (docs/wires/openresponses.md#sglang)
    "refusal": REFUSAL,
    "reasoning_text": REASONING,
    "summary_text": SUMMARY,
}

TEXTS: Final = {
    "output_text": OUTPUT_TEXT,
    "refusal": REFUSAL,
    # The specification's name, then OpenAI's and others' (docs/wires/openresponses.md#names-of-reasoning-events).
    "reasoning": REASONING,
    "reasoning_text": REASONING,
    "reasoning_content": REASONING,
    "reasoning_summary_text": SUMMARY,
    "reasoning_summary": SUMMARY,  # the title of the schema, which its enum contradicts
}
"""The channel of each pair of events that streams a text and repeats it."""

PICTURES: Final = frozenset({"output_image", "image", "image_url", "input_image"})
"""The types of content parts that gateways have for a picture: the whole message brings it."""


class _Slot(StreamedText):
    """A content part that text streams into.

    Attributes:
        make: Makes the output of a fragment, or None when nothing is to be emitted.
        emit_more: The fast path for deltas, see :class:`partstream.lm.outputs.ResponseStream`; None without an
            `output_index`, because then only the slow path finds the item of a delta.
        announced: Whether an event opened it as a part of its own, even if its text equals another one.
        annotated: Whether annotations arrived by events of their own; closing events only repeat them.
    """

    __slots__ = ("annotated", "announced", "channel", "emit_more", "item", "make", "part_index")

    def __init__(self, item: _TextItem, channel: Channel, part_index: int | None, make: _Make | None) -> None:
        super().__init__()
        self.item = item
        self.channel = channel
        self.part_index = part_index
        self.make = make
        self.announced = False
        self.annotated = False
        self.emit_more = None if item.output_index is None else self._make_emit()

    def emit(self, said: str, outputs: Outputs) -> None:
        """Makes the output of a text, if there is any."""
        if said and self.make is not None:
            outputs.append(self.make(said))

    def _make_emit(self) -> EmitText:
        """Everything is a local name here, because this function is called for nearly every event."""
        pieces, add, fold, make, marks, fold_at = self.pieces, self.pieces.append, self.fold, self.make, _MARKS, FOLD_AT

        def emit(delta: str, outputs: Outputs) -> None:
            if self.held or delta[-1] in marks:
                delta = self.push(delta)
                if not delta:
                    return
            else:
                add(delta)
                if len(pieces) >= fold_at:
                    fold()
            if make is not None:
                outputs.append(make(delta))

        return emit


class _TextItem(Item):
    """A message or a reasoning item with its slots by channel and index.

    `said` is set once one of its slots has emitted text, or holds text back, and `begun_again` if it was announced once
    more after its end: then its deltas repeat nothing.
    """

    __slots__ = ("_current", "begun_again", "channels", "said")

    def __init__(self, item_id: str | None, output_index: int | None) -> None:
        super().__init__(item_id, output_index)
        self.said = False
        self.begun_again = False
        self.channels: dict[Channel, dict[int | None, _Slot]] = {}
        self._current: dict[Channel, _Slot] = {}

    def existing(self, channel: Channel, part_index: int | None) -> _Slot | None:
        """The slot that an event means, or None.

        An index that no `content_part.added` announced means the slot that is open: vLLM counts `content_index` up
        with every delta (docs/wires/openresponses.md#vllm), llama.cpp leaves it out.
        """
        exact, current = self.channels.get(channel, {}).get(part_index), self._current.get(channel)
        if exact is None and current is not None and (part_index is None or not current.closed):
            return current
        return exact

    def add(self, slot: _Slot) -> _Slot:
        self.channels.setdefault(slot.channel, {})[slot.part_index] = slot
        self._current[slot.channel] = slot
        return slot


_LOOKED_AT: Final = 8
"""The number of slots that a search looks at: those whose text changed last, and older ones with the same text."""


class _TextIndex:
    """Finds the slot that has emitted a text, or the beginning of one, without a look at every slot.

    The slots of a channel whose text changed last are compared; an older one is filed under its length and checksum.
    """

    def __init__(self) -> None:
        self._recent: dict[Channel, OrderedDict[_Slot, None]] = {}
        self._places: dict[_Slot, Hashable] = {}
        self._filed: dict[Hashable, OrderedDict[_Slot, None]] = {}

    def touch(self, slot: _Slot) -> None:
        """Marks the one slot whose text may grow from now on."""
        recent = self._recent.setdefault(slot.channel, OrderedDict())
        recent[slot] = None
        recent.move_to_end(slot)
        if slot in self._places:
            del self._filed[self._places.pop(slot)][slot]
        if len(recent) > _LOOKED_AT:
            oldest, _ = recent.popitem(last=False)
            if not oldest.is_empty:
                self._places[oldest] = place = (oldest.channel, *oldest.summary)
                self._filed.setdefault(place, OrderedDict())[oldest] = None

    def find(self, channel: Channel, whole: str, item: Item | None, without: Item | None) -> _Slot | None:
        """The latest slot that has emitted `whole`, an open one first; else the open one that has emitted most of its
        beginning.

        Only slots of `item` count, unless it is None; those of `without` do not count.
        """
        same = self._filed.get((channel, len(whole), base.checksum(whole)), OrderedDict())
        slots = *reversed(self._recent.get(channel, OrderedDict())), *islice(reversed(same), _LOOKED_AT)
        found = [slot for slot in slots if slot.item is not without and (item is None or slot.item is item)]
        found = [slot for slot in found if not slot.is_empty and slot.begins(whole)]
        # Among equals, the latest stays first.
        found.sort(key=lambda slot: (slot.length, not slot.closed), reverse=True)
        return next((slot for slot in found if slot.length == len(whole) or not slot.closed), None)


def citation_of(annotation: JSONObject) -> Citation:
    """The source that an annotation names: a `url_citation`, or OpenAI's citation of a file, which has no address."""
    return Citation(
        url=identifier(annotation, "url"),
        title=identifier(annotation, "title"),
        name=f"annotation:{identifier(annotation, 'type') or 'unknown'}",
        data=annotation,
        source_id=identifier(annotation, "file_id"),
        filename=identifier(annotation, "filename"),
        start=index(annotation, "start_index"),
        end=index(annotation, "end_index"),
    )


# ---- The response ----


class OpenResponsesStream(base.EventReader):
    """One response of an OpenResponses server."""

    has_documents = True
    errors = ERRORS
    kinds = base.KINDS | {"text": (str, dict)}  # a response repeats the form of the text that was asked for
    _word: str | None = None

    def __init__(self, options: StreamOptions = StreamOptions()) -> None:  # noqa: B008 - immutable
        super().__init__(options)
        self._files = Files(options.files)
        self._options = options
        self._messages = Items(_TextItem)
        self._reasoning = Items(_TextItem)
        self._index = _TextIndex()
        self._slots = 0
        self._calls = CallEvents(options.call_id_prefix, self._release)
        self._citations = Citations(options.citations)
        self._active: _Slot | None = None  # the slot of the last delta, the only one that may hold text back
        self._message: _TextItem | None = None  # the message of the last text
        self._is_apart = False  # whether thinking or a call came since
        self._carried: list[dict[str, str]] = []  # the provider state of the response, in order
        self._carried_keys: set[Hashable] = set()
        self._compacted = False  # whether the upstream has summarised the conversation
        self._counted: set[tuple[str, int | str | None]] = set()
        self._counted_kinds: set[str] = set()
        self._failed: JSONObject | None = None  # what all reports of its failure said
        self._response: JSONObject = {}  # of the terminal event
        self._response_id: str | None = None
        self._model: str | None = None

    @classmethod
    def claim(cls, kind: str | None, event: JSONObject) -> base.MatchConfidence:
        """Tells whether an event is one of this protocol: `error`, without a prefix, exists in others too."""
        if kind is not None and kind.startswith("response."):
            return base.MatchConfidence.SURE
        is_possible = kind == "error" and not isinstance(event.get("error"), str)
        return base.MatchConfidence.POSSIBLE if is_possible else base.MatchConfidence.NO

    @classmethod
    def events_of(cls, document: JSONObject) -> Sequence[JSONObject]:
        """The events of a document that a server sends in place of a stream: a response, or a body with an error alone.

        Each item is opened and closed, so that two equal ones remain two. The reader refuses any other document.
        """
        if identifier(document, "type") is not None:
            return [document]  # a server that sends its last event alone
        if "output" not in document and ("status" not in document or not identifier(document, "id")):
            return [{**document, "type": "error"} if document.get("error") else document]
        status = identifier(document, "status") or ("failed" if document.get("error") else "completed")
        last = f"response.{_ENDS.get(status, 'failed')}"
        output = document.get("output") if last != "response.failed" else None
        items = [
            {"type": kind, "output_index": place, "item": item}
            for place, item in enumerate(output if isinstance(output, list) else ())
            if isinstance(item, dict)
            for kind in ("response.output_item.added", "response.output_item.done")
        ]
        return [{"type": "response.created", "response": document}, *items, {"type": last, "response": document}]

    def end(self, *, whole: bool = False) -> Outputs:  # noqa: D102
        self._error = None if self._failed is None else failure({"error": self._failed})
        return super().end(whole=whole)

    def _settle(self, outputs: Outputs) -> None:
        self._release(outputs)
        self._calls.emit_bare(outputs)

    def _make_finish(self, outcome: Outcome, reason: FinishReason | None, error: LanguageModelError | None) -> Finish:
        compacted = {"contextManagement": {"appliedEdits": [{"type": "compaction"}]}} if self._compacted else {}
        facts = {**compacted, **base.tier(self._response)} if self._response else {}
        about = {"openresponses": facts} if facts else {}
        return Finish(outcome, reason, usage(self._response), self._response_id, self._model, error, about)

    def _unknown(self, event: Mapping[str, Any], outputs: Outputs) -> None:
        if not self.finished:
            self._release(outputs)
        super()._unknown(event, outputs)

    # The response

    def _remember(self, event: JSONObject, _outputs: Outputs) -> None:
        response = mapping(event, "response")
        self._response_id = identifier(response, "id") or self._response_id
        self._model = identifier(response, "model") or self._model

    def _report(self, event: JSONObject, outputs: Outputs) -> None:
        self._release(outputs)
        self._failed = self._failed or {}
        add_report(self._failed, event)

    def _terminal(self, event: JSONObject, outputs: Outputs) -> None:
        said = event["type"].removeprefix("response.")
        response = mapping(event, "response")
        self._remember(event, outputs)
        word = identifier(response, "status")
        if said == "completed" and word in ("incomplete", "failed", "cancelled"):
            said = word
        if word == "cancelled" and said != "incomplete" and not response.get("error"):
            response = {**response, "error": {"code": word, "message": "the response was cancelled"}}
        self._response = response
        status = "failed" if self._failed is not None or response.get("error") else said
        self._calls.ended.response_id = self._response_id
        error: LanguageModelError | None = None
        try:
            if status != "incomplete":
                self._calls.emit_bare(outputs)
            self._snapshot(sequence(response, "output"), status, event, outputs)
            error = self._calls.ended.end(outputs, is_cut=status != "completed")
        except UpstreamProtocolError as wrong:
            error = wrong
        self._release(outputs)
        if status == "failed" or error is not None:
            error = error or failure({"error": self._failed or {}}, response)
            self._emit_finish(Outcome.FAILED, FinishReason(UnifiedFinishReason.ERROR, said), outputs, error)
            return
        outputs += self._citations.at_end()
        if not self._logprobs:  # a document has no deltas
            parts = [part for item in base.objects(response, "output") for part in base.objects(item, "content")]
            self._take_logprobs(one for part in parts for one in base.objects(part, "logprobs"))
        reason = finish_reason(response, status, has_tool_calls=self._calls.ended.count > 0)
        self._emit_finish(Outcome(status), reason, outputs)

    def _snapshot(self, output: list[JSONObject], status: str, event: JSONObject, outputs: Outputs) -> None:
        """Adds the outputs of the final snapshot that the stream left out. Many servers leave the snapshot empty."""
        texts = self._messages.match_snapshot(of_kind(output, "message"), RULES_OF_TEXTS)
        texts |= self._reasoning.match_snapshot(of_kind(output, "reasoning"), RULES_OF_TEXTS)
        calls = self._calls.pair(output)
        seen = frozenset(self._counted_kinds)
        for place, item in enumerate(output):
            kind = identifier(item, "type")
            if place in texts:
                self._close_text(texts[place], event, outputs, item)
            elif place in calls:
                self._calls.in_snapshot(calls[place], status, outputs, item)
            elif kind in ITEMS:
                ITEMS[kind].done(self, event, outputs, item)
            elif kind not in seen:
                outputs.append(Unmapped(kind or _NO_TYPE, item))
        if status != "failed":
            self._calls.at_end(status, event, outputs)

    # Items

    def _item_added(self, event: JSONObject, outputs: Outputs) -> None:
        self._release(outputs)
        self._calls.emit_bare(outputs)
        item = mapping(event, "item")
        ITEMS.get(identifier(item, "type"), _COUNTED).added(self, event, outputs, item)

    def _item_done(self, event: JSONObject, outputs: Outputs) -> None:
        item = mapping(event, "item")
        kind = identifier(item, "type")
        if kind == "function_call":
            self._is_apart = True
        else:
            self._calls.emit_bare(outputs)
        ITEMS.get(kind, _COUNTED).done(self, event, outputs, item)

    def _count_item(self, event: JSONObject, outputs: Outputs, item: JSONObject) -> None:
        """Counts an unknown item, or one of a hosted tool (web search, code interpreter, MCP) that the upstream runs:
        none of them is a call for the consumer. The final snapshot counts only types that the stream has not."""
        self._release(outputs)
        kind, place = identifier(item, "type") or _NO_TYPE, index(event, "output_index")
        key = (kind, identifier(item, "id") if place is None else place)
        if key not in self._counted:
            self._counted.add(key)
            self._counted_kinds.add(kind)
            self._is_apart = False
            outputs.append(Unmapped(kind, item))

    def _picture_done(self, event: JSONObject, outputs: Outputs, item: JSONObject) -> None:
        """Shows the picture that the server made; its drafts come in events of their own, and are no part of it."""
        if identifier(item, "result") is None:
            if item["type"] not in self._counted_kinds:
                self._count_item(event, outputs, item)
            return
        self._release(outputs)
        media_type = identifier(item, "output_format")
        self._files.show(item["result"], item, outputs, media_type and f"image/{media_type}")

    # Texts

    def _delta(self, event: JSONObject, outputs: Outputs) -> EmitText | None:
        delta = text(event, "delta")
        if not delta:
            return None
        slot = self._slot(event, CHANNELS[event["type"]])
        self._activate(slot, outputs)
        if slot.repeats and not slot.item.begun_again and slot.is_repeated(delta):
            outputs.append(Unmapped(f"{event['type']} (repeats the text before it)", event))
            return None
        slot.item.said = True
        self._begin_message(slot, delta, outputs)
        slot.emit(slot.push(delta), outputs)
        self._take_logprobs(listed := base.objects(event, "logprobs"))
        return None if listed else slot.emit_more

    def _text_done(self, event: JSONObject, outputs: Outputs) -> None:
        channel = CHANNELS[event["type"]]
        self._close(self._slot(event, channel), text(event, channel.whole_field), event, outputs)

    def _part_added(self, event: JSONObject, outputs: Outputs) -> None:
        self._release(outputs)
        part = mapping(event, "part")
        channel = self._part_channel(event, part)
        if channel is None:
            if identifier(part, "type") not in PICTURES:
                outputs.append(Unmapped(f"part:{identifier(part, 'type')}", event))
            return
        item = self._items(channel.is_reasoning).find(identifier(event, "item_id"), index(event, "output_index"))
        part_index = index(event, channel.index_field)
        if part_index not in item.channels.get(channel, {}):
            self._new_slot(item, channel, part_index).announced = True

    def _part_done(self, event: JSONObject, outputs: Outputs) -> None:
        part = mapping(event, "part")
        channel = self._part_channel(event, part)
        if channel is None:
            return  # counted when it was added
        slot = self._close(self._slot(event, channel), text(part, channel.whole_field), event, outputs)
        self._close_annotations([part], slot, outputs)

    def _annotation(self, event: JSONObject, outputs: Outputs) -> None:
        self._release(outputs)
        slot = self._slot(event, OUTPUT_TEXT)
        slot.annotated = True
        if annotation := mapping(event, "annotation"):
            self._cite(annotation, slot, outputs)

    def _text_item_added(self, event: JSONObject, _outputs: Outputs, item: JSONObject) -> None:
        known = self._items(item["type"] == "reasoning").announce(identifier(item, "id"), index(event, "output_index"))
        known.begun_again = known.closed

    def _text_item_done(self, event: JSONObject, outputs: Outputs, item: JSONObject) -> None:
        known = self._items(item["type"] == "reasoning").find(identifier(item, "id"), index(event, "output_index"))
        self._close_text(known, event, outputs, item)

    def _compaction_done(self, _event: JSONObject, outputs: Outputs, item: JSONObject) -> None:
        """A summary of the conversation that only the upstream can read. It goes back like reasoning, and once."""
        self._compacted = True
        self._release(outputs)
        fields = {name: identifier(item, name) for name in ("type", "id", "encrypted_content")}
        state = {name: value for name, value in fields.items() if value is not None}
        if "encrypted_content" not in state or self._options.thinking is not ThinkingMode.PART:
            return
        if _key(state) not in self._carried_keys and (listed := self._carry(state, item, outputs)):
            outputs.append(thinking_part("", None, listed))

    def _release(self, outputs: Outputs) -> None:
        """Emits the text that was held back, before anything else is emitted."""
        if self._active is not None and self._active.held:
            self._active.emit(self._active.release(), outputs)

    def _close_annotations(self, parts: list[JSONObject], slot: _Slot, outputs: Outputs) -> None:
        if slot.channel is OUTPUT_TEXT and not slot.annotated:
            for part in parts:
                for annotation in sequence(part, "annotations"):
                    self._cite(annotation, slot, outputs)

    def _cite(self, annotation: JSONObject, slot: _Slot, outputs: Outputs) -> None:
        key = (  # recognizes an annotation of the same text that closing events repeat
            id(slot),
            identifier(annotation, "type"),
            identifier(annotation, "url") or identifier(annotation, "file_id"),
            *(index(annotation, name) for name in ("start_index", "end_index", "index")),
        )
        outputs.extend(self._citations.render(citation_of(annotation), slot, key))

    def _items(self, is_reasoning: bool) -> Items[_TextItem]:
        return self._reasoning if is_reasoning else self._messages

    def _part_channel(self, event: JSONObject, part: JSONObject) -> Channel | None:
        channel = PART_CHANNELS.get(identifier(part, "type") or "")
        if channel is OUTPUT_TEXT:
            # vLLM opens an `output_text` part inside a reasoning item (docs/wires/openresponses.md#vllm).
            where = identifier(event, "item_id"), index(event, "output_index")
            reasoning = self._reasoning.known(*where)
            is_open = reasoning is not None and reasoning.announced and not reasoning.closed
            if is_open and not self._messages.known(*where):
                return REASONING
        return channel

    def _slot(self, event: JSONObject, channel: Channel) -> _Slot:
        item = self._items(channel.is_reasoning).find(identifier(event, "item_id"), index(event, "output_index"))
        part_index = index(event, channel.index_field)
        return item.existing(channel, part_index) or self._new_slot(item, channel, part_index)

    def _new_slot(self, item: _TextItem, channel: Channel, part_index: int | None) -> _Slot:
        make: _Make | None = RefusalPart if channel is REFUSAL else text_part
        if channel.is_reasoning:
            make = partial(thinking_part, id=item.id) if self._options.thinking is ThinkingMode.PART else None
        self._slots += 1
        check_number(self._slots)
        return item.add(_Slot(item, channel, part_index, make))

    def _activate(self, slot: _Slot, outputs: Outputs) -> None:
        if self._active is not slot:
            self._release(outputs)
            self._active = slot
        self._index.touch(slot)

    def _begin_message(self, slot: _Slot, said: str, outputs: Outputs) -> None:
        """Puts a blank line between the texts of two messages where nothing that a person sees is between them: they
        follow each other, or the server worked meanwhile, such as by a search."""
        if said and slot.channel.is_reasoning:
            self._is_apart = True
        elif said and slot.item is not self._message:
            if self._message is not None and slot.item.announced and not self._is_apart and not said.startswith("\n"):
                outputs.append(text_part("\n\n"))
            self._message, self._is_apart = slot.item, False

    def _close(self, slot: _Slot, whole: str, event: JSONObject, outputs: Outputs) -> _Slot:
        """Emits the text that a closing event adds to a slot.

        LiteLLM closes a message under an id that it never opened (docs/wires/openresponses.md#litellm), and vLLM a part
        under such an index: the slot is meant that has said the text. An announced slot counts as itself: two messages
        may say the same.
        """
        item = slot.item
        if slot.is_empty and whole and not (item.announced and slot.announced):
            of, without = (item, None) if item.announced else (None, item if slot.announced else None)
            slot = self._index.find(slot.channel, whole, of, without) or slot
        self._activate(slot, outputs)
        missing, agrees = slot.close(whole)
        if whole:
            slot.item.said = True
        self._begin_message(slot, missing, outputs)
        slot.emit(missing, outputs)
        if not agrees:
            outputs.append(Unmapped(f"{event['type']} (differs from the text before it)", event))
        return slot

    def _close_parts(
        self, item: _TextItem, groups: dict[Channel, list[JSONObject]], event: JSONObject, outputs: Outputs
    ) -> None:
        for channel, parts in groups.items():
            found = list(islice(item.channels.get(channel, {}).values(), max(len(parts), 1)))
            if len(found) == 1 and len(parts) > 1:
                # The indices of the deltas did not distinguish the parts: all streamed into one slot.
                whole = "".join(text(part, channel.whole_field) for part in parts)
                slot = self._close(found[0], whole, event, outputs)
                self._close_annotations(parts, slot, outputs)
                continue
            for place, part in enumerate(parts):
                if place == len(found):
                    found.append(self._new_slot(item, channel, place))
                    found[place].announced = True
                slot = self._close(found[place], text(part, channel.whole_field), event, outputs)
                self._close_annotations([part], slot, outputs)
        for slots in () if item.closed else item.channels.values():  # it may be closed again with each event
            for slot in slots.values():
                slot.forget()

    def _close_text(self, item: _TextItem, event: JSONObject, outputs: Outputs, wire: JSONObject) -> None:
        """Adds what the whole item says and the events before did not."""
        if wire["type"] == "reasoning":
            self._close_reasoning(item, event, outputs, wire)
            return
        content = wire.get("content")
        parts = [{"type": "output_text", "text": content}] if isinstance(content, str) else sequence(wire, "content")
        groups: dict[Channel, list[JSONObject]] = {}
        for part in parts:
            channel = PART_CHANNELS.get(identifier(part, "type") or "")
            if channel is not None and not channel.is_reasoning:
                groups.setdefault(channel, []).append(part)
            elif identifier(part, "type") in PICTURES:
                self._release(outputs)
                self._files.show(picture_in(part), part, outputs)
            elif not item.closed:
                outputs.append(Unmapped(f"part:{identifier(part, 'type')}", part))
        self._close_parts(item, groups, event, outputs)
        self._release(outputs)
        item.closed = True

    def _close_reasoning(self, item: _TextItem, event: JSONObject, outputs: Outputs, wire: JSONObject) -> None:
        groups = {SUMMARY: sequence(wire, "summary"), REASONING: sequence(wire, "content")}
        if item.said:
            # Text of one channel is not repeated through the other (docs/wires/openresponses.md#xai-and-deepseek).
            groups = {channel: parts for channel, parts in groups.items() if channel in item.channels}
        if self._active is None or self._active.item is not item:
            self._release(outputs)
        before = len(outputs)
        self._close_parts(item, groups, event, outputs)
        self._release(outputs)
        if item.closed:
            return
        item.closed = True
        # The provider state goes to the item's last thinking part.
        identity = {"id": identifier(wire, "id") or item.id, "encrypted_content": identifier(wire, "encrypted_content")}
        known = {name: value for name, value in identity.items() if value is not None}
        is_wanted = self._options.thinking is ThinkingMode.PART and (item.said or "encrypted_content" in known)
        if is_wanted and (listed := self._carry(known, wire, outputs)) is not None:
            # Only a part of this very event can change: earlier ones may have been sent already.
            last = outputs[-1] if len(outputs) > before else None
            if isinstance(last, ThinkingPart):
                outputs[-1] = thinking_part(last.value, last.id, {**known, **listed})
            else:
                outputs.append(thinking_part("", item.id, {**known, **listed}))

    def _carry(self, state: dict[str, str], wire: JSONObject, outputs: Outputs) -> Mapping[str, Any] | None:
        """The metadata that lists all provider state of the response, because Copilot keeps only the last metadata of a
        model call; None if there is too much."""
        if len(self._carried) >= MOST_ITEMS:
            outputs.append(Unmapped(f"reasoning (more than {MOST_ITEMS} items of one answer)", wire))
            return None
        self._carried_keys.add(_key(state))
        self._carried.append(state)
        return {REASONING_ITEMS: list(self._carried)}


_NO_TYPE: Final = "an item without a type"
_ENDS: Final = {"completed": "completed", **dict.fromkeys(("incomplete", "queued", "in_progress"), "incomplete")}
"""How a document ends, by its status; with the last two, its response goes on in the background."""


def _key(state: dict[str, str]) -> Hashable:
    return state.get("id") or frozenset(state.items())


# ---- The tables of items and events ----

_Handler: TypeAlias = "Callable[..., EmitText | None]"


def _of_calls(handler: _Handler) -> _Handler:
    """Makes a handler of the stream from a handler of its calls."""
    return lambda stream, *arguments: handler(stream._calls, *arguments)


class ItemRow(NamedTuple):
    """The handlers of `output_item.added` and `output_item.done` for a type of item; their argument is the item."""

    added: _Handler
    done: _Handler


_Stream = OpenResponsesStream
_COUNTED: Final = ItemRow(_Stream._count_item, _Stream._count_item)

ITEMS: Final[Mapping[str | None, ItemRow]] = {
    **dict.fromkeys(("message", "reasoning"), ItemRow(_Stream._text_item_added, _Stream._text_item_done)),
    "function_call": ItemRow(_of_calls(CallEvents.added), _of_calls(CallEvents.done)),
    "image_generation_call": ItemRow(nothing, _Stream._picture_done),
    "compaction": ItemRow(nothing, _Stream._compaction_done),
}
"""Every type of item that is understood. All others are counted."""

_ARGUMENTS_DELTA: Final = _of_calls(CallEvents.arguments_delta)

CHANNELS: Final = {f"response.{name}.{end}": channel for name, channel in TEXTS.items() for end in ("delta", "done")}

_PREFIX: Final = "response."

_Life = base.LifecycleEvent

EVENTS: Final[dict[str, base.Row]] = {
    **rows(_Life.LIFECYCLE, _Stream._remember, "created queued in_progress", _PREFIX),
    **rows(_Life.TERMINAL, _Stream._terminal, "completed incomplete failed", _PREFIX),
    **rows(_Life.ERROR, _Stream._report, "error response.error"),  # gateways; `response.failed` may follow
    **rows(_Life.CONTENT, _Stream._part_added, "content_part.added reasoning_summary_part.added", _PREFIX),
    **rows(_Life.CONTENT, _Stream._part_done, "content_part.done reasoning_summary_part.done", _PREFIX),
    "response.output_item.added": base.Row(_Life.CONTENT, _Stream._item_added),
    "response.output_item.done": base.Row(_Life.CONTENT, _Stream._item_done),
    "response.output_text.annotation.added": base.Row(_Life.CONTENT, _Stream._annotation),
    **{
        name: base.Row(_Life.CONTENT, _Stream._delta if name.endswith(".delta") else _Stream._text_done)
        for name in CHANNELS
    },
    "response.function_call_arguments.delta": base.Row(_Life.CONTENT, _ARGUMENTS_DELTA),
    "response.function_call_arguments.done": base.Row(_Life.CONTENT, _of_calls(CallEvents.arguments_done)),
    # OpenAI sends it while nothing happens (docs/wires/openresponses.md#events-outside-the-specification).
    "keepalive": base.Row(_Life.SILENT, nothing),
    # The item has the summary, or the picture; these are the steps of the picture, and its drafts.
    **rows(_Life.CONTENT, nothing, "compaction.compacting", _PREFIX),
    **rows(
        _Life.CONTENT, nothing, "in_progress generating partial_image completed", f"{_PREFIX}image_generation_call."
    ),
}
"""Every event type that is understood. All others come out as :class:`Unmapped`."""

OpenResponsesStream.deltas = base.Deltas(
    places={name: (("delta",),) for name, row in EVENTS.items() if row.handler in (_Stream._delta, _ARGUMENTS_DELTA)},
    # The index tells the items of deltas apart, where there is one: some servers give each event another id.
    varying=("sequence_number", "obfuscation", "item_id"),
)

OpenResponsesStream.rows = base.rows_by_state(EVENTS)
OpenResponsesStream.reads = places(
    {
        "": "type sequence_number output_index content_index summary_index annotation_index item_id obfuscation"
        " response= item=output[] part=output[].content[] annotation=output[].content[].annotations[]"
        " logprobs=output[].content[].logprobs[] delta text refusal arguments name code message param"
        # The response, and what it repeats of the request.
        " id object created_at completed_at status model output usage error incomplete_details access_programs"
        " background conversation frequency_penalty instructions max_output_tokens max_tool_calls metadata"
        " parallel_tool_calls presence_penalty previous_response_id prompt prompt_cache_key prompt_cache_retention"
        " prompt_cache_options reasoning safety_identifier store temperature tool_choice tools top_logprobs top_p"
        " truncation user service_tier",
        "output[message]": "type id role status content",
        "output[reasoning]": "type id status content summary=output[].content[] encrypted_content",
        "output[function_call]": "type id call_id name arguments status",
        "output[image_generation_call]": "type id status result output_format",
        "output[compaction]": "type id encrypted_content",
        "output.content[output_text|text]": "type text annotations logprobs",
        "output.content.logprobs": f"{base.LOGPROB} top_logprobs",
        "output.content.logprobs.top_logprobs": base.LOGPROB,
        "output.content[refusal]": "type refusal",
        "output.content[reasoning_text|summary_text]": "type text",
        "output.content.annotations": "type url title file_id filename start_index end_index index",
        "usage": "input_tokens output_tokens total_tokens input_tokens_details output_tokens_details",
        "usage.input_tokens_details": "cached_tokens cache_write_tokens",
        "usage.output_tokens_details": "reasoning_tokens",
    }
)
