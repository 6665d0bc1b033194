"""Google Interactions: events in, VS Code's parts out (docs/wires/gemini.md#interactions).

:class:`InteractionsResponseReader` takes an event; :data:`EVENTS` names its meaning for the lifecycle
(:mod:`partstream.protocols.read_response`) and its handler. A step is shown while it comes; a call comes out when its
step ends, with what goes back to the server. The status says how the interaction ended; the steps say whether it has
calls.

Without a stored conversation, all steps go back as they came, thoughts included, because each is signed. The items of
one answer are, in order, in the metadata of its thinking (:data:`partstream.conversation.provider_state.ITEMS`). Every
item has `"type": "interaction-step"` and one of these forms::

    {"step": STEP}                          a step that goes back as it came: a thought, or what the server ran
    {"toolCallId": ID, "signature": S}      the signature of the call with this id

Types: `google-genai` 3.6.1 (`_gaos/types/interactions`).
"""

from __future__ import annotations
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from partstream.codec.checks import as_count, places
from partstream.conversation.citations import Citation, Citations
from partstream.conversation.provider_state import CarriedItems
from partstream.errors import LanguageModelError
from partstream.lm.outputs import EmitText, Finish, Outcome, StreamOptions, StreamOutput, ThinkingMode, Unmapped
from partstream.lm.parts import FinishReason, UnifiedFinishReason, Usage, text_part, thinking_part
from partstream.protocols import read_response as base
from partstream.protocols.calls import Calls, CompleteCall, Pieces, check_number, later_pieces
from partstream.protocols.errors import holds_error
from partstream.protocols.files import inline_file
from partstream.protocols.gemini.read_response import ReportedUsage, ShownText, named_file
from partstream.protocols.gemini_interactions.errors import ERRORS, SIGNATURE
from partstream.protocols.read_response import JSONObject, identifier, index, mapping, objects, rows, text

ITEM_TYPE: Final = "interaction-step"
STEP: Final = "step"
TOOL_CALL_ID: Final = "toolCallId"

_Outputs: TypeAlias = list[StreamOutput]

# ---- Finish and usage ----

FAILURES: Final[Mapping[str, str]] = {"failed": "the interaction failed", "cancelled": "the interaction was cancelled"}
"""The statuses of interactions that failed, and their meaning for a person."""

_LIMITS: Final = frozenset({"incomplete", "budget_exceeded", "requires_continuation"})
_STOPPED: Final = frozenset({"completed", "idle"})
"""`idle`: the interaction stays open and waits for more input, so its answer is whole."""

OVER: Final = frozenset({*FAILURES, *_LIMITS, *_STOPPED, "requires_action"})
"""The statuses after which nothing of the answer follows."""


def finish_of(status: str | None, *, has_calls: bool) -> tuple[Outcome, FinishReason]:
    """How an interaction that did not fail ended: its calls decide, not its status."""
    if status in _LIMITS:
        return Outcome.INCOMPLETE, FinishReason(UnifiedFinishReason.LENGTH, status)
    if has_calls:
        return Outcome.COMPLETED, FinishReason(UnifiedFinishReason.TOOL_CALLS, status)
    unified = UnifiedFinishReason.STOP if status in _STOPPED else UnifiedFinishReason.OTHER
    return Outcome.COMPLETED, FinishReason(unified, status)


def read_usage(raw: JSONObject) -> Usage | None:
    """The usage that merged reports mean; None without a count. Thoughts are output that `total_output_tokens` leaves
    out."""
    names = ("input", "tool_use", "output", "thought", "cached")
    given, used, made, thoughts, cached = (as_count(raw.get(f"total_{name}_tokens")) for name in names)
    total = as_count(raw.get("total_tokens"))
    if given is None and made is None and total is None:
        return None
    given = None if given is None else given + (used or 0)
    made = None if made is None else made + (thoughts or 0)
    return Usage(given, made, base.total_of(total, given, made), cached, thoughts, raw)


# ---- Stream ----


class _Step:
    """A step that is open: as it began, with what deltas added; `texts` are of its summary, or of arguments, and
    `signatures` the pieces of its signature."""

    __slots__ = ("kind", "signatures", "texts", "wire")

    def __init__(self, wire: JSONObject) -> None:
        self.wire = dict(wire)
        self.kind = text(wire, "type")
        self.texts: list[Any] = Pieces()
        self.signatures: list[str] = []


class InteractionsResponseReader(base.EventReader):
    """Reads one response of a server of Interactions."""

    has_documents = True
    errors = ERRORS
    type_field = "event_type"
    reads = places(  # it counts what it does not know, so only what is of another class than it should be is named
        {
            "": "index interaction step content=step delta usage status *",
            "interaction": "id model status usage=usage *",
            "usage": "*",
            "step": "id name signature *",
            "delta": "text signature mime_type content *",
            "delta.content": "text *",
        }
    )
    deltas = base.Deltas(
        dict.fromkeys(
            ("step.delta", "content.delta"), (("delta", "text"), ("delta", "content", "text"), ("delta", "arguments"))
        ),
        varying=("event_id",),
    )

    @classmethod
    def claim(cls, kind: str | None, event: JSONObject) -> base.MatchConfidence:  # noqa: D102
        said = event.get("event_type")
        if not event and kind is not None and kind.startswith("interaction."):  # a line with the name alone
            return base.MatchConfidence.SURE
        if said == kind and isinstance(said, str) and said.startswith(("interaction.", "step.", "content.")):
            return base.MatchConfidence.SURE
        return base.MatchConfidence.POSSIBLE if said == "error" else base.MatchConfidence.NO

    @classmethod
    def events_of(cls, document: JSONObject) -> Sequence[JSONObject]:
        """The event of a document: an interaction with all of its steps, or an error."""
        is_error = document.get("error") or ("steps" not in document and holds_error(document))
        return (document,) if is_error else ({"event_type": _DOCUMENT, "interaction": document},)

    def __init__(self, options: StreamOptions = StreamOptions()) -> None:  # noqa: B008 - immutable
        super().__init__(options)
        self._options = options
        self._open: dict[int | None, _Step] = {}
        self._carried = CarriedItems(options.thinking, ITEM_TYPE, "step")
        self._said = ShownText(options.citations)
        self._citations = Citations(options.citations)
        self._calls = Calls()
        self._bare: tuple[_Step, CompleteCall] | None = None  # the last step, if it is a call without arguments
        self._usage = ReportedUsage()
        self._model: str | None = None
        self._status: str | None = None

    @property
    def usage(self) -> Usage | None:
        """The tokens that the server has reported so far."""
        return read_usage(self._usage.raw)

    def _read_unknown(self, kind: object, event: Mapping[str, Any], outputs: _Outputs) -> None:
        if event.get("error") or ERRORS.failure_in_unknown(event) is not None:
            self._failure(event, outputs)
        elif event:
            outputs.append(Unmapped(kind if isinstance(kind, str) and kind else "an event without a type", event))

    @property
    def _word(self) -> str | None:
        return self._status if self._status in OVER else None

    def _is_whole(self, *, told: bool) -> bool:
        return self._state is base.LifecycleState.OPEN and (told or self._status in OVER)

    def _settle(self, outputs: _Outputs) -> None:
        self._emit_bare(outputs)

    def _complete(self, outputs: _Outputs) -> None:
        if (said := FAILURES.get(self._status or "")) is not None:
            outputs += self.fail(self._error or ERRORS.failure(said, self._status))
            return
        if self._bare is not None and self._status in _LIMITS:  # no arguments at all are not yet `{}`
            (cut, _), self._bare = self._bare, None
            self._calls.half(identifier(cut.wire, "id"), identifier(cut.wire, "name"), ())
        self._emit_bare(outputs)
        for place, step in list(self._open.items()):
            if step.kind == "function_call":  # no event closed it: it was cut off
                self._calls.half(identifier(step.wire, "id"), identifier(step.wire, "name"), step.texts)
            else:
                self._close(place, outputs)
        outputs += self._citations.at_end()
        outcome, reason = finish_of(self._status, has_calls=self._calls.count > 0)
        broken = self._calls.end(outputs, is_cut=outcome is Outcome.INCOMPLETE)
        if broken is not None:
            outputs += self.fail(broken)
            return
        self._emit_finish(outcome, reason, outputs)

    def _make_finish(self, outcome: Outcome, reason: FinishReason | None, error: LanguageModelError | None) -> Finish:
        return Finish(outcome, reason, self.usage, self._calls.response_id, self._model, error)

    # The events; see EVENTS

    def _about(self, event: JSONObject, _outputs: _Outputs) -> None:
        said = mapping(event, "interaction") or event
        self._calls.response_id = (
            self._calls.response_id or identifier(said, "id") or identifier(said, "interaction_id")
        )
        self._model = self._model or identifier(said, "model")
        self._status = identifier(said, "status") or self._status
        self._error = self._error or ERRORS.failure_beside(said)
        self._usage.say(said.get("usage"))

    def _start(self, event: JSONObject, outputs: _Outputs) -> None:
        """Opens a step, with what it says in its first state. A step of the same index ends."""
        place = index(event, "index")
        self._close(place, outputs)
        self._emit_bare(outputs)
        check_number(len(self._open) + 1)
        self._open[place] = step = _Step(mapping(event, "step") or mapping(event, "content"))
        if step.kind in CONTENT:  # the older form has contents in place of steps
            self._add(step, step.wire, outputs)
        for content in objects(step.wire, "content"):
            self._add(step, content, outputs)
        for content in objects(step.wire, "summary"):
            self._add(step, {"type": "thought_summary", "content": content}, outputs)

    def _delta(self, event: JSONObject, outputs: _Outputs) -> EmitText | None:
        """Adds to a step, and opens one that no event opened."""
        self._emit_bare(outputs)
        place, delta = index(event, "index"), mapping(event, "delta")
        step = self._open.get(place)
        if step is None:
            check_number(len(self._open) + 1)
            step = self._open[place] = _Step({"type": _KIND_OF_DELTA.get(text(delta, "type"), text(delta, "type"))})
        self._add(step, delta, outputs)
        match text(delta, "type") if len(delta) <= _FIELDS_OF_A_DELTA else "":
            case "text":
                return self._show
            case "thought_summary":
                return partial(self._show_summary, step)
            case "arguments_delta":
                add = step.texts.append
                return lambda piece, _outputs: add(piece)
        return None

    def _stop(self, event: JSONObject, outputs: _Outputs) -> None:
        self._usage.say(event.get("usage"))
        self._close(index(event, "index"), outputs)

    def _completed(self, event: JSONObject, outputs: _Outputs) -> None:
        self._about(event, outputs)
        self._status = self._status if self._status in OVER else "completed"
        self._complete(outputs)

    def _document(self, event: JSONObject, outputs: _Outputs) -> None:
        said = mapping(event, "interaction")
        for place, step in enumerate(objects(said, "steps") or objects(said, "outputs")):
            self._start({"index": place, "step": step}, outputs)
            self._close(place, outputs)
        self._completed(event, outputs)

    def _failure(self, event: Mapping[str, Any], outputs: _Outputs) -> None:
        outputs += self.fail(ERRORS.read_failure(event))

    # The steps

    def _add(self, step: _Step, delta: JSONObject, outputs: _Outputs) -> None:
        kind = text(delta, "type")
        if (reader := DELTAS.get(kind)) is not None:
            reader(self, step, delta, outputs)
        elif kind.endswith(("_call", "_result")):
            step.wire |= delta  # what the server runs comes whole, in its step or in a delta
        else:
            self._count_once(f"delta:{kind or 'unknown'}", delta, outputs)

    def _close(self, place: int | None, outputs: _Outputs) -> None:
        step = self._open.pop(place, None)
        if step is None:
            return
        if step.signatures:
            step.wire[SIGNATURE] = text(step.wire, SIGNATURE) + "".join(step.signatures)
        if step.kind == "function_call":
            self._call(step, outputs)
        elif step.kind == "thought":
            summary = "".join(step.texts)
            said = {"summary": [{"type": "text", "text": summary}]} if summary else {}
            if text(step.wire, SIGNATURE):
                self._carried.add({STEP: {**step.wire, **said}})
        elif step.kind.endswith(("_call", "_result")):
            self._count_once(f"step:{step.kind}", step.wire, outputs)
            self._carried.add({STEP: step.wire})
        elif step.kind not in _SHOWN:
            self._count_once(f"step:{step.kind or 'unknown'}", step.wire, outputs)
        self._carried.emit(outputs)

    def _call(self, step: _Step, outputs: _Outputs) -> None:
        pieces = later_pieces(step.wire.get("arguments"), step.texts)
        call = self._calls.take(identifier(step.wire, "id"), identifier(step.wire, "name"), pieces, outputs)
        if call is None:
            return
        if any(str(piece).strip() for piece in pieces if piece):
            self._emit_call(step, call, outputs)
        else:
            self._bare = step, call

    def _emit_bare(self, outputs: _Outputs) -> None:
        """Emits a call that ended without arguments: something follows it, so no limit has cut it."""
        bare, self._bare = self._bare, None
        if bare is not None:
            self._emit_call(*bare, outputs)

    def _emit_call(self, step: _Step, call: CompleteCall, outputs: _Outputs) -> None:
        if signature := text(step.wire, SIGNATURE):
            self._carried.add({TOOL_CALL_ID: call.call_id, SIGNATURE: signature})
            self._carried.emit(outputs)
        outputs.append(call.part(self._options.call_id_prefix))

    # The deltas; see DELTAS

    def _text(self, step: _Step, delta: JSONObject, outputs: _Outputs) -> None:
        if value := text(delta, "text"):
            self._show(value, outputs)
        if "annotations" in delta:
            self._annotations(step, delta, outputs)

    def _show(self, value: str, outputs: _Outputs) -> None:
        self._said.show(value, is_said=True)
        outputs.append(text_part(value))

    def _summary(self, step: _Step, delta: JSONObject, outputs: _Outputs) -> None:
        if value := text(mapping(delta, "content"), "text"):
            self._show_summary(step, value, outputs)

    def _show_summary(self, step: _Step, value: str, outputs: _Outputs) -> None:
        step.texts.append(value)
        if self._options.thinking is not ThinkingMode.OFF:
            outputs.append(thinking_part(value))

    def _arguments(self, step: _Step, delta: JSONObject, _outputs: _Outputs) -> None:
        if (piece := delta.get("arguments")) is not None:
            step.texts.append(piece)

    def _signature(self, step: _Step, delta: JSONObject, _outputs: _Outputs) -> None:
        step.signatures.append(text(delta, SIGNATURE))

    def _annotations(self, _step: _Step, delta: JSONObject, outputs: _Outputs) -> None:
        for cited in objects(delta, "annotations"):
            url = identifier(cited, "url") or identifier(cited, "document_uri")
            title = identifier(cited, "title") or identifier(cited, "file_name") or identifier(cited, "name")
            where = self._said.place(index(cited, "start_index") or 0, index(cited, "end_index") or 0, "")
            start, end = where or (None, None)
            name = f"annotation:{text(cited, 'type') or 'unknown'}"
            citation = Citation(url, title, name, cited, start=start, end=end)
            outputs += self._citations.render(citation, self._said, url or title)

    def _file(self, _step: _Step, delta: JSONObject, outputs: _Outputs) -> None:
        file = inline_file(delta.get("data"), identifier(delta, "mime_type")) or named_file(
            {"fileUri": delta.get("uri")}, self._options.files
        )
        if file is None:
            self._count_once(f"{text(delta, 'type')} (not readable)", delta, outputs)
        else:
            outputs.append(file)


_FIELDS_OF_A_DELTA: Final = 2

FILES: Final = ("image", "audio", "document", "video")
CONTENT: Final = frozenset({"text", *FILES})
_SHOWN: Final = CONTENT | {"model_output", "user_input"}
"""The kinds of steps that are no more than their content."""

DELTAS: Final[Mapping[str, Callable[[InteractionsResponseReader, _Step, JSONObject, _Outputs], None]]] = {
    "text": InteractionsResponseReader._text,
    "thought_summary": InteractionsResponseReader._summary,
    "thought_signature": InteractionsResponseReader._signature,
    "arguments_delta": InteractionsResponseReader._arguments,
    "text_annotation": InteractionsResponseReader._annotations,
    "text_annotation_delta": InteractionsResponseReader._annotations,
    **dict.fromkeys(FILES, InteractionsResponseReader._file),
}
"""The reader of a delta, and of the content of a whole step, by its type."""

_KIND_OF_DELTA: Final = {
    **dict.fromkeys((*CONTENT, "text_annotation", "text_annotation_delta"), "model_output"),
    **dict.fromkeys(("thought_summary", "thought_signature"), "thought"),
    "arguments_delta": "function_call",
}
"""The kind of step for a delta outside of any step."""

_DOCUMENT: Final = "a document"

_Reader = InteractionsResponseReader
_Life = base.LifecycleEvent

EVENTS: Final[Mapping[str, base.Row]] = {
    # Each event with its older name (docs/wires/gemini.md#interactions).
    **rows(_Life.LIFECYCLE, _Reader._about, "interaction.created interaction.start interaction.status_update"),
    **rows(_Life.CONTENT, _Reader._start, "step.start content.start"),
    **rows(_Life.CONTENT, _Reader._delta, "step.delta content.delta"),
    **rows(_Life.CONTENT, _Reader._stop, "step.stop content.stop"),
    **rows(_Life.TERMINAL, _Reader._completed, "interaction.completed interaction.complete"),
    "error": base.Row(_Life.TERMINAL, _Reader._failure),
    _DOCUMENT: base.Row(_Life.TERMINAL, _Reader._document),
}

InteractionsResponseReader.rows = base.rows_by_state(EVENTS)
