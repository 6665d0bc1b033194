"""OpenResponses: events in, VS Code's parts out.

Rule 1: the legal order of events lives in the table of the module `order` and nowhere else.
Rule 2: EVENTS says which handler an event type has; a handler never looks at the state.
Rule 3: no I/O, no clock, no logging. What is not understood comes out as :class:`Unmapped`.

Source: OpenResponses specification 2026-04-24; the deviations of real servers are named where they are met.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.errors import (
    AdapterUsageError,
    LanguageModelError,
    TruncatedStreamError,
    UpstreamProtocolError,
)
from partstream.outputs import Finish, Outcome, StreamOptions, Unmapped
from partstream.parts import ToolCallPart
from partstream.protocols.openresponses.document import events_of
from partstream.protocols.openresponses.fields import Wire, identifier, index, mapping, sequence, text
from partstream.protocols.openresponses.finish import failure, finish_reason, usage
from partstream.protocols.openresponses.items import in_order, same_id, same_place
from partstream.protocols.openresponses.order import TRANSITIONS, Action, EventKind, State
from partstream.protocols.openresponses.text_events import Outputs, TextEvents
from partstream.protocols.openresponses.texts import OUTPUT_TEXT, REASONING, REFUSAL, SUMMARY, Channel
from partstream.protocols.openresponses.tool_calls import (
    ARGUMENTS_DONE,
    ITEM_DONE,
    RESPONSE_DONE,
    EmissionPoint,
    ToolCall,
    ToolCalls,
)
from partstream.protocols.protocol import Claim, ReadResponse
from partstream.usage import FinishReason, UnifiedFinishReason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["EVENTS", "FREQUENT", "READ_RESPONSE", "OpenResponsesStream", "claims"]


COMPACTION: Final = "compaction"
"""The type of the item that stands for a conversation that the upstream summarised (specification of 2026-04-24)."""


class OpenResponsesStream(TextEvents):
    """One response of an OpenResponses server; see :class:`partstream.outputs.ResponseStream`."""

    def __init__(self, options: StreamOptions = StreamOptions()) -> None:  # noqa: B008 - immutable
        super().__init__(options)
        self._state = State.IDLE
        self._rows = DISPATCH[State.IDLE]
        self._calls = ToolCalls()
        self._reports: list[Wire] = []
        self._counted_items: set[tuple[str, int | str | None]] = set()
        self._response_id: str | None = None
        self._model: str | None = None
        self._compacted = False

    @property
    def finished(self) -> bool:
        """Whether the :class:`Finish` is out."""
        return self._state >= State.FINISHED

    @property
    def failing(self) -> bool:
        """Whether an error was reported whose `response.failed` has not come yet."""
        return self._state is State.FAILING

    def feed(self, event: Mapping[str, Any]) -> Outputs:
        """Takes the next event and returns what it means, in order."""
        outputs: Outputs = []
        self.feed_into(event, outputs)
        return outputs

    def feed_into(self, event: Mapping[str, Any], outputs: Outputs) -> None:
        """Takes the next event and appends what it means."""
        self.sink = None
        try:
            next_state, handler, argument = self._rows[event["type"]]
        except (KeyError, TypeError):
            self._unknown(event, outputs)
            return
        if next_state is not self._state:
            self._enter(next_state)
        try:
            handler(self, event, outputs, argument)
        except UpstreamProtocolError as error:
            self._state = min(self._state, State.OPEN)
            outputs += self.fail(error)

    def end(self, *, whole: bool = False) -> Outputs:
        """Says that no more events come."""
        if self._state is State.ENDED:
            raise AdapterUsageError("the stream was ended before")
        outputs: Outputs = []
        if self._state is State.FAILING:
            outputs = self.fail(failure(*self._reports))
        elif self._state is not State.FINISHED:
            outputs = self.fail(TruncatedStreamError(self._state.name))
        self._enter(State.ENDED)
        return outputs

    def fail(self, error: LanguageModelError) -> Outputs:
        """Ends the response with an error; nothing if it has finished already."""
        outputs: Outputs = []
        if self.finished:
            return outputs
        self._release(outputs)
        outcome = Outcome.TRUNCATED if isinstance(error, TruncatedStreamError) else Outcome.FAILED
        reason = FinishReason(UnifiedFinishReason.ERROR) if outcome is Outcome.FAILED else None
        outputs.append(Finish(outcome, reason, None, self._response_id, self._model, error))
        self._enter(State.FINISHED)
        return outputs

    def _enter(self, state: State) -> None:
        self._state = state
        self._rows = DISPATCH[state]

    def _unknown(self, event: Mapping[str, Any], outputs: Outputs) -> None:
        if self._state is State.ENDED:
            raise AdapterUsageError(f"fed {event.get('type')!r} after the stream was ended")
        if self._state is State.FINISHED:
            return
        kind = event.get("type")
        if isinstance(kind, str) and kind:
            self._release(outputs)
            outputs.append(Unmapped(kind, event))
        else:
            got = "no type" if kind is None else f"type {kind!r:.60}"
            error = UpstreamProtocolError(event_type=None, field="type", got=got, expected="a string")
            outputs.extend(self.fail(error))

    # Lifecycle

    def _lifecycle(self, event: Wire, _outputs: Outputs, _argument: None) -> None:
        self._remember(mapping(event, "response"))

    def _remember(self, response: Wire) -> None:
        self._response_id = identifier(response, "id") or self._response_id
        self._model = identifier(response, "model") or self._model

    def _error(self, event: Wire, outputs: Outputs, _argument: None) -> None:
        self._release(outputs)
        self._reports.append(event)

    def _terminal(self, event: Wire, outputs: Outputs, said: str) -> None:
        response = mapping(event, "response")
        self._remember(response)
        status = "failed" if self._reports else said
        error: LanguageModelError | None = None
        try:
            self._snapshot(sequence(response, "output"), status, event, outputs)
        except UpstreamProtocolError as broken:
            status, error = "failed", broken
        self._release(outputs)
        if status == "failed":
            error = error or failure(*self._reports, response)
            reason = FinishReason(UnifiedFinishReason.ERROR, said)
        else:
            outputs.extend(self._citations.at_end())
            reason = finish_reason(response, status, has_tool_calls=any(call.emitted for call in self._calls.all))
        said_beside = {"openresponses": {"contextManagement": {"appliedEdits": [{"type": COMPACTION}]}}}
        metadata = said_beside if self._compacted else {}
        outputs.append(
            Finish(Outcome(status), reason, usage(response), self._response_id, self._model, error, metadata)
        )

    def _snapshot(self, output: list[Wire], status: str, event: Wire, outputs: Outputs) -> None:
        """Takes from the final snapshot what the stream left out; many servers leave the snapshot itself empty."""
        by_type: dict[str | None, list[tuple[int, Wire]]] = {}
        for place, item in enumerate(output):
            by_type.setdefault(identifier(item, "type"), []).append((place, item))
        rules = (same_id, same_place, in_order)
        messages = self._messages.match_snapshot(by_type.get("message", []), rules)
        reasoning = self._reasoning.match_snapshot(by_type.get("reasoning", []), rules)
        calls = self._calls.pair(by_type.get("function_call", []))
        for place, item in enumerate(output):
            if place in messages:
                self._close_message(messages[place], item, event, outputs)
            elif place in reasoning:
                self._close_reasoning(reasoning[place], item, event, outputs)
            elif place in calls:
                self._call_in_snapshot(calls[place], item, status, outputs)
            elif identifier(item, "type") == COMPACTION:
                self._compact(item, outputs)
            elif identifier(item, "type") not in {kind for kind, _ in self._counted_items}:
                self._count_item(item, place, outputs)
        if status != "failed":
            self._leftover_calls(status, event, outputs)

    # Items

    def _item_added(self, event: Wire, outputs: Outputs, _argument: None) -> None:
        self._release(outputs)
        self._active = None
        item = mapping(event, "item")
        item_id, output_index = identifier(item, "id"), index(event, "output_index")
        match identifier(item, "type"):
            case "message":
                self._messages.announce(item_id, output_index)
            case "reasoning":
                self._reasoning.announce(item_id, output_index)
            case "function_call":
                call = self._calls.announce(item_id, output_index)
                if not call.closed:
                    call.read(item)
                    call.say_arguments("added", item.get("arguments"))
            case "compaction":
                pass  # whole only when it is done
            case _:
                self._count_item(item, output_index, outputs)

    def _item_done(self, event: Wire, outputs: Outputs, _argument: None) -> None:
        item = mapping(event, "item")
        item_id, output_index = identifier(item, "id"), index(event, "output_index")
        match identifier(item, "type"):
            case "message":
                self._close_message(self._messages.find(item_id, output_index), item, event, outputs)
            case "reasoning":
                self._close_reasoning(self._reasoning.find(item_id, output_index), item, event, outputs)
            case "function_call":
                self._release(outputs)
                call = self._calls.closing(item_id, output_index, item)
                call.closed = True
                call.read(item)
                call.say_arguments("item", item.get("arguments"))
                self._emit_call(call, ITEM_DONE, outputs)
            case "compaction":
                self._compact(item, outputs)
            case _:
                self._release(outputs)
                self._count_item(item, output_index, outputs)
        self._active = None

    def _compact(self, item: Wire, outputs: Outputs) -> None:
        self._compacted = True
        self._close_compaction(item, outputs)

    def _count_item(self, item: Wire, output_index: int | None, outputs: Outputs) -> None:
        """Hosted tools (web search, code interpreter, MCP, ...) run at the upstream: they are never handed to the
        consumer as calls. They and all unknown items are counted, once each."""
        kind = identifier(item, "type") or "an item without a type"
        key = (kind, output_index if output_index is not None else identifier(item, "id"))
        if key not in self._counted_items:
            self._counted_items.add(key)
            outputs.append(Unmapped(kind, item))

    # Function calls

    def _arguments_delta(self, event: Wire, _outputs: Outputs, _argument: None) -> None:
        self._call(event).deltas.append(text(event, "delta"))
        self.sink = self._calls.sink

    def _arguments_done(self, event: Wire, outputs: Outputs, _argument: None) -> None:
        self._release(outputs)
        call = self._call(event)
        call.say_arguments("done", event.get("arguments"))
        self._emit_call(call, ARGUMENTS_DONE, outputs)

    def _call(self, event: Wire) -> ToolCall:
        return self._calls.find(identifier(event, "item_id"), index(event, "output_index"))

    def _call_in_snapshot(self, call: ToolCall, item: Wire, status: str, outputs: Outputs) -> None:
        if call.emitted or status == "failed":
            return
        if status == "incomplete" and item.get("status") != "completed":
            return
        call.read(item)
        call.say_arguments("item", item.get("arguments"))
        self._emit_call(call, RESPONSE_DONE, outputs)

    def _leftover_calls(self, status: str, event: Wire, outputs: Outputs) -> None:
        """Calls that no closing event closed. A response that completed has completed them; one that was cut short
        has not, and half a call is never handed out."""
        for call in self._calls.all:
            if self._calls.was_emitted(call):
                continue
            if call.cut or status == "incomplete":
                outputs.append(Unmapped("function_call (incomplete)", event))
            elif call.name is None and any(other.emitted for other in self._calls.all):
                # Arguments that could not be told whose they are; the calls themselves were said whole elsewhere.
                outputs.append(Unmapped("function_call_arguments (of no call)", event))
            else:
                self._emit_call(call, RESPONSE_DONE, outputs)

    def _emit_call(self, call: ToolCall, point: EmissionPoint, outputs: Outputs) -> None:
        complete = self._calls.take(call, point)
        if complete is not None:
            self._release(outputs)
            call_id = self._options.call_id_prefix + complete.call_id
            outputs.append(ToolCallPart(call_id, complete.name, complete.input))


class Row(NamedTuple):
    """An event type: what it means for the order, its handler, and what the handler is given beside the event."""

    kind: EventKind
    handler: Callable[..., None]
    argument: Channel | str | None = None


_Stream = OpenResponsesStream


def _nothing(*_: object) -> None:
    """The handler of events that mean nothing here."""


def _count(_stream: OpenResponsesStream, event: Wire, outputs: Outputs, _argument: object) -> None:
    outputs.append(Unmapped(event["type"], event))


EVENTS: Final[dict[str, Row]] = {
    "response.created": Row(EventKind.LIFECYCLE, _Stream._lifecycle),
    "response.queued": Row(EventKind.LIFECYCLE, _Stream._lifecycle),
    "response.in_progress": Row(EventKind.LIFECYCLE, _Stream._lifecycle),
    "response.completed": Row(EventKind.TERMINAL, _Stream._terminal, "completed"),
    "response.incomplete": Row(EventKind.TERMINAL, _Stream._terminal, "incomplete"),
    "response.failed": Row(EventKind.TERMINAL, _Stream._terminal, "failed"),
    "error": Row(EventKind.ERROR, _Stream._error),
    "response.output_item.added": Row(EventKind.CONTENT, _Stream._item_added),
    "response.output_item.done": Row(EventKind.CONTENT, _Stream._item_done),
    "response.content_part.added": Row(EventKind.CONTENT, _Stream._part_added),
    "response.content_part.done": Row(EventKind.CONTENT, _Stream._part_done),
    "response.reasoning_summary_part.added": Row(EventKind.CONTENT, _Stream._part_added),
    "response.reasoning_summary_part.done": Row(EventKind.CONTENT, _Stream._part_done),
    "response.output_text.delta": Row(EventKind.CONTENT, _Stream._delta, OUTPUT_TEXT),
    "response.output_text.done": Row(EventKind.CONTENT, _Stream._text_done, OUTPUT_TEXT),
    "response.output_text.annotation.added": Row(EventKind.CONTENT, _Stream._annotation),
    "response.refusal.delta": Row(EventKind.CONTENT, _Stream._delta, REFUSAL),
    "response.refusal.done": Row(EventKind.CONTENT, _Stream._text_done, REFUSAL),
    # The specification's own name, then those of OpenAI today, and of some gateways: facts 1.2.
    "response.reasoning.delta": Row(EventKind.CONTENT, _Stream._delta, REASONING),
    "response.reasoning.done": Row(EventKind.CONTENT, _Stream._text_done, REASONING),
    "response.reasoning_text.delta": Row(EventKind.CONTENT, _Stream._delta, REASONING),
    "response.reasoning_text.done": Row(EventKind.CONTENT, _Stream._text_done, REASONING),
    "response.reasoning_content.delta": Row(EventKind.CONTENT, _Stream._delta, REASONING),
    "response.reasoning_content.done": Row(EventKind.CONTENT, _Stream._text_done, REASONING),
    "response.reasoning_summary_text.delta": Row(EventKind.CONTENT, _Stream._delta, SUMMARY),
    "response.reasoning_summary_text.done": Row(EventKind.CONTENT, _Stream._text_done, SUMMARY),
    # The title of the schema, which its enum contradicts.
    "response.reasoning_summary.delta": Row(EventKind.CONTENT, _Stream._delta, SUMMARY),
    "response.reasoning_summary.done": Row(EventKind.CONTENT, _Stream._text_done, SUMMARY),
    "response.function_call_arguments.delta": Row(EventKind.CONTENT, _Stream._arguments_delta),
    "response.function_call_arguments.done": Row(EventKind.CONTENT, _Stream._arguments_done),
    # Sent by OpenAI while nothing happens; not in its documentation: facts 1.3.
    "keepalive": Row(EventKind.SILENT, _nothing),
}
"""Every event type that is understood. All others come out as :class:`Unmapped`."""


FREQUENT: Final[Mapping[str, Mapping[str, str]]] = {
    name: {"delta": "delta", "output_index": "output_index"}
    | ({"part_index": row.argument.index_field} if isinstance(row.argument, Channel) else {})
    for name, row in EVENTS.items()
    if row.handler in (_Stream._delta, _Stream._arguments_delta)
}
"""The event types that come by the thousand, with the attributes that their sinks read and the fields they are."""


def claims(kind: str | None, event: Wire) -> Claim:
    """Whether an event of a recording is of this protocol; its only type without the prefix others have as well."""
    if kind is not None and kind.startswith("response."):
        return Claim.SURE
    return Claim.POSSIBLE if kind == "error" and not isinstance(event.get("error"), str) else Claim.NO


def _dispatch(state: State) -> dict[str, tuple[State, Callable[..., None], Channel | str | None]]:
    """EVENTS and TRANSITIONS put together for one state, so that an event costs one look-up."""
    entries = {}
    for name, row in EVENTS.items():
        step = TRANSITIONS[state].get(row.kind)
        if step is not None:
            handlers: dict[Action, Callable[..., None]] = {
                Action.HANDLE: row.handler,
                Action.IGNORE: _nothing,
                Action.COUNT: _count,
            }
            entries[name] = (step.next_state, handlers[step.action], row.argument)
    return entries


DISPATCH: Final = {state: _dispatch(state) for state in State}

READ_RESPONSE: Final = ReadResponse(open=OpenResponsesStream, claim=claims, frequent=FREQUENT, events_of=events_of)
