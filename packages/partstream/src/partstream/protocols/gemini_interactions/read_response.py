"""Google Interactions: events in, VS Code's parts out (docs/wires/gemini.md#interactions).

:class:`InteractionsResponseReader` takes an event; :data:`EVENTS` names its meaning for the lifecycle
(:mod:`partstream.protocols.read_response`) and its handler. :class:`Steps` shows a step while it comes; a call comes
out when its step ends, with what goes back to the server. The status says how the interaction ended; the steps say
whether it has calls.

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

from partstream.codec.checks import as_count
from partstream.codec.json_codec import is_json
from partstream.conversation.provider_state import ITEMS, MOST_ITEMS
from partstream.errors import AdapterUsageError, LanguageModelError
from partstream.lm.outputs import EmitText, Finish, Outcome, StreamOptions, StreamOutput, ThinkingMode, Unmapped
from partstream.lm.parts import FinishReason, UnifiedFinishReason, Usage, text_part, thinking_part, tool_call_part
from partstream.protocols.calls import Calls, later_pieces
from partstream.protocols.citations import Citation, Citations
from partstream.protocols.files import inline_file
from partstream.protocols.gemini.read_response import ReportedUsage, named_file
from partstream.protocols.gemini_interactions.errors import ERRORS, SIGNATURE
from partstream.protocols.read_response import (
    TRANSITIONS,
    Action,
    Deltas,
    LifecycleEvent,
    LifecycleState,
    MatchConfidence,
    RecentText,
    ResponseReader,
    Wire,
    emit_into,
    identifier,
    index,
    mapping,
    objects,
    text,
)

ITEM_TYPE: Final = "interaction-step"
STEP: Final = "step"
TOOL_CALL_ID: Final = "toolCallId"


# ---- Steps ----

_NOT_CARRIED: Final = f"step (more than {MOST_ITEMS} of one answer, or no JSON)"


class _Step:
    """A step that is open: as it began, with what deltas added; `texts` are of its summary, or of arguments."""

    __slots__ = ("kind", "texts", "wire")

    def __init__(self, wire: Wire) -> None:
        self.wire = dict(wire)
        self.kind = text(wire, "type")
        self.texts: list[Any] = []


class Steps:
    """The steps of one interaction.

    Args:
        options: How they are rendered.

    Attributes:
        calls: The calls that have ended.
    """

    __slots__ = ("_citations", "_counted", "_items", "_open", "_options", "_said", "calls")

    def __init__(self, options: StreamOptions) -> None:
        self._options = options
        self._open: dict[int | None, _Step] = {}
        self._items: list[dict[str, Any]] = []
        self._said = RecentText()
        self._citations = Citations(options.citations)
        self._counted: set[str] = set()
        self.calls = Calls()

    def start(self, event: Wire, outputs: _Outputs) -> None:
        """Opens a step, with what it says in its first state. A step of the same index ends."""
        place = index(event, "index")
        self._close(place, outputs)
        step = _Step(mapping(event, "step") or mapping(event, "content"))
        self._open[place] = step
        if step.kind in CONTENT:  # the older form has contents in place of steps
            self._delta(step, step.wire, outputs)
        for content in objects(step.wire, "content"):
            self._delta(step, content, outputs)
        for content in objects(step.wire, "summary"):
            self._delta(step, {"type": "thought_summary", "content": content}, outputs)

    def delta(self, event: Wire, outputs: _Outputs) -> EmitText | None:
        """Adds to a step, and opens one that no event opened; returns the fast path for more of the same delta."""
        place, delta = index(event, "index"), mapping(event, "delta")
        step = self._open.get(place)
        if step is None:
            step = self._open[place] = _Step({"type": _KIND_OF_DELTA.get(text(delta, "type"), text(delta, "type"))})
        self._delta(step, delta, outputs)
        if len(delta) > _FIELDS_OF_A_DELTA:
            return None
        match text(delta, "type"):
            case "text":
                return emit_into(self._said, text_part)
            case "thought_summary":
                return partial(self._show_summary, step)
            case "arguments_delta":
                add = step.texts.append
                return lambda piece, _outputs: add(piece)
        return None

    def stop(self, event: Wire, outputs: _Outputs) -> None:
        """Closes a step: a call is whole now."""
        self._close(index(event, "index"), outputs)

    def whole(self, steps: list[Wire], outputs: _Outputs) -> None:
        """Takes all steps of a document."""
        for place, step in enumerate(steps):
            self.start({"index": place, "step": step}, outputs)
            self._close(place, outputs)

    def end(self, outputs: _Outputs) -> None:
        """Ends the answer. A call that no event closed was cut off, and is none."""
        for place, step in list(self._open.items()):
            if step.kind == "function_call":
                self.calls.half(identifier(step.wire, "id"), identifier(step.wire, "name"), step.texts)
            else:
                self._close(place, outputs)
        outputs += self._citations.at_end()

    def _delta(self, step: _Step, delta: Wire, outputs: _Outputs) -> None:
        kind = text(delta, "type")
        reader = DELTAS.get(kind)
        if reader is not None:
            reader(self, step, delta, outputs)
        elif kind.endswith(("_call", "_result")):
            step.wire |= delta  # what the server runs comes whole, in its step or in a delta
        else:
            self._count(f"delta:{kind or 'unknown'}", delta, outputs)

    def _close(self, place: int | None, outputs: _Outputs) -> None:
        step = self._open.pop(place, None)
        if step is None:
            return
        if step.kind == "function_call":
            self._call(step, outputs)
        elif step.kind == "thought":
            summary = "".join(step.texts)
            said = {"summary": [{"type": "text", "text": summary}]} if summary else {}
            self._carry({STEP: {**step.wire, **said}}, outputs, is_wanted=bool(text(step.wire, SIGNATURE)))
        elif step.kind.endswith(("_call", "_result")):
            self._count(f"step:{step.kind}", step.wire, outputs)
            self._carry({STEP: step.wire}, outputs)
        elif step.kind not in _SHOWN:
            self._count(f"step:{step.kind or 'unknown'}", step.wire, outputs)

    def _call(self, step: _Step, outputs: _Outputs) -> None:
        pieces = later_pieces(step.wire.get("arguments"), step.texts)
        call = self.calls.take(identifier(step.wire, "id"), identifier(step.wire, "name"), pieces, outputs)
        if call is None:
            return
        signature = text(step.wire, SIGNATURE)
        self._carry({TOOL_CALL_ID: call.call_id, SIGNATURE: signature}, outputs, is_wanted=bool(signature))
        outputs.append(tool_call_part(self._options.call_id_prefix + call.call_id, call.name, call.input))

    def _carry(self, item: Mapping[str, Any], outputs: _Outputs, *, is_wanted: bool = True) -> None:
        """Emits an item with all before it; only thinking parts can carry it."""
        if not is_wanted or self._options.thinking is not ThinkingMode.PART:
            return
        if len(self._items) == MOST_ITEMS or not is_json(item):
            outputs.append(Unmapped(_NOT_CARRIED, item))
            return
        self._items.append({"type": ITEM_TYPE, **item})
        outputs.append(thinking_part("", None, {ITEMS: list(self._items)}))

    def _count(self, name: str, data: Wire, outputs: _Outputs) -> None:
        if name not in self._counted:
            self._counted.add(name)
            outputs.append(Unmapped(name, data))

    # The deltas; see DELTAS

    def _text(self, _step: _Step, delta: Wire, outputs: _Outputs) -> None:
        if value := text(delta, "text"):
            self._said.add(value)
            outputs.append(text_part(value))
        self._annotations(_step, delta, outputs)

    def _summary(self, step: _Step, delta: Wire, outputs: _Outputs) -> None:
        if value := text(mapping(delta, "content"), "text"):
            self._show_summary(step, value, outputs)

    def _show_summary(self, step: _Step, value: str, outputs: _Outputs) -> None:
        step.texts.append(value)
        if self._options.thinking is not ThinkingMode.OFF:
            outputs.append(thinking_part(value))

    def _arguments(self, step: _Step, delta: Wire, _outputs: _Outputs) -> None:
        if (piece := delta.get("arguments")) is not None:
            step.texts.append(piece)

    def _signature(self, step: _Step, delta: Wire, _outputs: _Outputs) -> None:
        step.wire[SIGNATURE] = text(step.wire, SIGNATURE) + text(delta, SIGNATURE)

    def _annotations(self, _step: _Step, delta: Wire, outputs: _Outputs) -> None:
        for cited in objects(delta, "annotations"):
            url = identifier(cited, "url") or identifier(cited, "document_uri")
            title = identifier(cited, "title") or identifier(cited, "file_name") or identifier(cited, "name")
            citation = Citation(url, title, f"annotation:{text(cited, 'type') or 'unknown'}", cited)
            outputs += self._citations.render(citation, self._said, url or title)

    def _file(self, _step: _Step, delta: Wire, outputs: _Outputs) -> None:
        file = inline_file(delta.get("data"), identifier(delta, "mime_type")) or named_file(
            {"fileUri": delta.get("uri")}, self._options.files
        )
        if file is None:
            self._count(f"{text(delta, 'type')} (not readable)", delta, outputs)
        else:
            outputs.append(file)


_FIELDS_OF_A_DELTA: Final = 2
"""The type, and what it brings."""

FILES: Final = ("image", "audio", "document", "video")
CONTENT: Final = frozenset({"text", *FILES})
_SHOWN: Final = CONTENT | {"model_output", "user_input"}
"""The kinds of steps that are no more than their content."""

DELTAS: Final[Mapping[str, Callable[[Steps, _Step, Wire, _Outputs], None]]] = {
    "text": Steps._text,
    "thought_summary": Steps._summary,
    "thought_signature": Steps._signature,
    "arguments_delta": Steps._arguments,
    "text_annotation": Steps._annotations,
    "text_annotation_delta": Steps._annotations,
    **dict.fromkeys(FILES, Steps._file),
}
"""The reader of a delta, and of the content of a whole step, by its type."""

_KIND_OF_DELTA: Final = {
    **dict.fromkeys((*CONTENT, "text_annotation", "text_annotation_delta"), "model_output"),
    **dict.fromkeys(("thought_summary", "thought_signature"), "thought"),
    "arguments_delta": "function_call",
}
"""The kind of step for a delta outside of any step."""


# ---- Finish and usage ----

FAILURES: Final[Mapping[str, str]] = {"failed": "the interaction failed", "cancelled": "the interaction was cancelled"}
"""The statuses of interactions that failed, and their meaning for a person."""

_LIMITS: Final = frozenset({"incomplete", "budget_exceeded", "requires_continuation"})
_STOPPED: Final = frozenset({"completed", "idle"})
"""`idle`: the interaction stays open and waits for more input, so its answer is whole."""
_WHOLE: Final = _STOPPED | {"requires_action"}

OVER: Final = frozenset({*FAILURES, *_LIMITS, *_WHOLE})
"""The statuses after which nothing of the answer follows."""


def finish_of(status: str | None, *, has_calls: bool) -> tuple[Outcome, FinishReason]:
    """How an interaction that did not fail ended: its calls decide, not its status."""
    if status in _LIMITS:
        return Outcome.INCOMPLETE, FinishReason(UnifiedFinishReason.LENGTH, status)
    if has_calls:
        return Outcome.COMPLETED, FinishReason(UnifiedFinishReason.TOOL_CALLS, status)
    unified = UnifiedFinishReason.STOP if status in _STOPPED else UnifiedFinishReason.OTHER
    return Outcome.COMPLETED, FinishReason(unified, status)


def read_usage(raw: Wire) -> Usage | None:
    """The usage that merged reports mean; None without a count. Thoughts are output that `total_output_tokens` leaves
    out."""
    names = ("input", "tool_use", "output", "thought", "cached")
    given, used, made, thoughts, cached = (as_count(raw.get(f"total_{name}_tokens")) for name in names)
    total = as_count(raw.get("total_tokens"))
    if given is None and made is None and total is None:
        return None
    given = None if given is None else given + (used or 0)
    made = None if made is None else made + (thoughts or 0)
    if total is None and given is not None and made is not None:
        total = given + made
    return Usage(given, made, total, cached, thoughts, raw)


# ---- Stream ----

_Outputs: TypeAlias = list[StreamOutput]


class InteractionsResponseReader(ResponseReader):
    """Reads one response of a server of Interactions."""

    has_documents = True
    deltas = Deltas(
        dict.fromkeys(
            ("step.delta", "content.delta"), (("delta", "text"), ("delta", "content", "text"), ("delta", "arguments"))
        ),
        varying=("event_id",),
    )

    @classmethod
    def claim(cls, kind: str | None, event: Wire) -> MatchConfidence:
        """Tells whether an event of a recording belongs to this protocol."""
        said = event.get("event_type")
        if not event and kind is not None and kind.startswith("interaction."):  # a line with the name alone
            return MatchConfidence.SURE
        if said == kind and isinstance(said, str) and said.startswith(("interaction.", "step.", "content.")):
            return MatchConfidence.SURE
        return MatchConfidence.POSSIBLE if said == "error" else MatchConfidence.NO

    @classmethod
    def events_of(cls, document: Wire) -> Sequence[Wire]:
        """The event of a document: an interaction with all of its steps, or an error."""
        is_error = document.get("error") or ("steps" not in document and ERRORS.holds_error(document))
        return (document,) if is_error else ({"event_type": _DOCUMENT, "interaction": document},)

    def __init__(self, options: StreamOptions = StreamOptions()) -> None:  # noqa: B008 - immutable
        super().__init__(options)
        self._steps = Steps(options)
        self._usage = ReportedUsage(read_usage)
        self._response_id: str | None = None
        self._model: str | None = None
        self._status: str | None = None

    @property
    def usage(self) -> Usage | None:
        """The tokens that the server has reported so far."""
        return self._usage.value

    def feed_into(self, event: Mapping[str, Any], outputs: _Outputs) -> None:
        """Takes the next event and appends what it means."""
        self.emit_more = None
        if self._state is LifecycleState.ENDED:
            raise AdapterUsageError("fed an event after the stream was ended")
        wire: Wire = event if isinstance(event, dict) else dict(event)
        kind = text(wire, "event_type")
        if kind not in EVENTS and (wire.get("error") or ERRORS.failure_in_unknown(wire) is not None):
            kind = "error"
        if kind not in EVENTS:
            if wire and not self.finished:
                outputs.append(Unmapped(kind or "an event without a type", wire))
            return
        meaning, handler = EVENTS[kind]
        next_state, action, _ = TRANSITIONS[self._state][meaning]
        if action is Action.HANDLE and not self.finished:
            self._state = LifecycleState.OPEN if next_state is LifecycleState.FINISHED else next_state
            handler(self, wire, outputs)

    @property
    def _word(self) -> str | None:
        return self._status if self._status in OVER else None

    def _is_whole(self, *, told: bool) -> bool:
        return self._state is LifecycleState.OPEN and (told or self._status in OVER)

    def _complete(self, outputs: _Outputs) -> None:
        if (said := FAILURES.get(self._status or "")) is not None:
            outputs += self.fail(self._error or ERRORS.failure(said, self._status))
            return
        self._steps.end(outputs)
        calls = self._steps.calls
        outcome, reason = finish_of(self._status, has_calls=calls.count > 0)
        broken = calls.end(outputs, is_cut=outcome is Outcome.INCOMPLETE)
        if broken is not None:
            outputs += self.fail(broken)
            return
        self._emit_finish(outcome, reason, outputs)

    def _emit_finish(
        self, outcome: Outcome, reason: FinishReason | None, outputs: _Outputs, error: LanguageModelError | None = None
    ) -> None:
        outputs.append(Finish(outcome, reason, self._usage.value, self._response_id, self._model, error))
        self._state = LifecycleState.FINISHED

    # The events; see EVENTS

    def _about(self, event: Wire, _outputs: _Outputs) -> None:
        said = mapping(event, "interaction") or event
        self._response_id = self._response_id or identifier(said, "id") or identifier(said, "interaction_id")
        self._steps.calls.response_id = self._response_id
        self._model = self._model or identifier(said, "model")
        self._status = identifier(said, "status") or self._status
        self._error = self._error or ERRORS.failure_beside(said)
        self._usage.say(said.get("usage"))

    def _step_delta(self, event: Wire, outputs: _Outputs) -> None:
        self.emit_more = self._steps.delta(event, outputs)

    def _step_stop(self, event: Wire, outputs: _Outputs) -> None:
        self._usage.say(event.get("usage"))
        self._steps.stop(event, outputs)

    def _completed(self, event: Wire, outputs: _Outputs) -> None:
        self._about(event, outputs)
        self._status = self._status if self._status in OVER else "completed"
        self._complete(outputs)

    def _document(self, event: Wire, outputs: _Outputs) -> None:
        said = mapping(event, "interaction")
        self._steps.whole(objects(said, "steps") or objects(said, "outputs"), outputs)
        self._completed(event, outputs)

    def _failure(self, event: Wire, outputs: _Outputs) -> None:
        outputs += self.fail(ERRORS.read_failure(event))


_DOCUMENT: Final = "a document"

_Row: TypeAlias = "tuple[LifecycleEvent, Callable[[InteractionsResponseReader, Wire, _Outputs], None]]"
_STEP_START: Final[_Row] = (LifecycleEvent.CONTENT, lambda stream, *rest: stream._steps.start(*rest))
_STEP_DELTA: Final[_Row] = (LifecycleEvent.CONTENT, InteractionsResponseReader._step_delta)

EVENTS: Final[Mapping[str, _Row]] = {
    "interaction.created": (LifecycleEvent.LIFECYCLE, InteractionsResponseReader._about),
    "interaction.status_update": (LifecycleEvent.LIFECYCLE, InteractionsResponseReader._about),
    "step.start": _STEP_START,
    "step.delta": _STEP_DELTA,
    "step.stop": (LifecycleEvent.CONTENT, InteractionsResponseReader._step_stop),
    "interaction.completed": (LifecycleEvent.TERMINAL, InteractionsResponseReader._completed),
    "error": (LifecycleEvent.TERMINAL, InteractionsResponseReader._failure),
    # The older names of the same events (docs/wires/gemini.md#interactions).
    "interaction.start": (LifecycleEvent.LIFECYCLE, InteractionsResponseReader._about),
    "content.start": _STEP_START,
    "content.delta": _STEP_DELTA,
    "content.stop": (LifecycleEvent.CONTENT, InteractionsResponseReader._step_stop),
    "interaction.complete": (LifecycleEvent.TERMINAL, InteractionsResponseReader._completed),
    _DOCUMENT: (LifecycleEvent.TERMINAL, InteractionsResponseReader._document),
}
