"""OpenResponses: events in, VS Code's parts out.

Rule 1: how far a response has come is one table, :mod:`partstream.protocols.read_response`; a handler never looks at the state.
Rule 2: EVENTS says which handler an event type has, and ITEMS which one an item has.
Rule 3: no I/O, no clock, no logging. What is not understood comes out as :class:`Unmapped`.

Source: OpenResponses specification 2026-04-24; what servers really do is in docs/wires/openresponses.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from partstream.errors import AdapterUsageError, LanguageModelError, TruncatedStreamError, UpstreamProtocolError
from partstream.outputs import Finish, Outcome, StreamOptions, StreamOutput, Unmapped
from partstream.protocols.openresponses.call_events import CallEvents
from partstream.protocols.openresponses.document import events_of
from partstream.protocols.openresponses.fields import Wire, identifier, index, mapping, sequence
from partstream.protocols.openresponses.finish import failure, finish_reason, usage
from partstream.protocols.openresponses.text_events import TextEvents
from partstream.protocols.openresponses.texts import OUTPUT_TEXT, REASONING, REFUSAL, SUMMARY, Channel
from partstream.protocols.protocol import MatchConfidence, ResponseReaderSpec
from partstream.protocols.read_response import TRANSITIONS, Action, LifecycleEvent, LifecycleState, shown
from partstream.usage import FinishReason, UnifiedFinishReason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.outputs import FastPath

__all__ = ["EVENTS", "FREQUENT", "ITEMS", "READ_RESPONSE", "OpenResponsesStream", "claims"]

_Outputs: TypeAlias = list[StreamOutput]


class OpenResponsesStream:
    """One response of an OpenResponses server; see :class:`partstream.outputs.ResponseStream`."""

    def __init__(self, options: StreamOptions = StreamOptions()) -> None:  # noqa: B008 - immutable
        self.sink: FastPath | None = None
        self._state = LifecycleState.IDLE
        self._rows = DISPATCH[LifecycleState.IDLE]
        self._texts = TextEvents(options)
        self._calls = CallEvents(options.call_id_prefix, self._texts.release)
        self._counted = _CountedItems()
        self._reports: list[Wire] = []
        self._response_id: str | None = None
        self._model: str | None = None

    @property
    def finished(self) -> bool:
        """Whether the :class:`Finish` is out."""
        return self._state in _OVER

    @property
    def failing(self) -> bool:
        """Whether an error was reported and its `response.failed` is still missing."""
        return self._state is LifecycleState.FAILING

    def feed(self, event: Mapping[str, Any]) -> _Outputs:
        """Takes the next event and returns what it means, in order."""
        outputs: _Outputs = []
        self.feed_into(event, outputs)
        return outputs

    def feed_into(self, event: Mapping[str, Any], outputs: _Outputs) -> None:
        """Takes the next event and appends what it means."""
        self.sink = None
        try:
            next_state, handler, argument = self._rows[event["type"]]
        except (KeyError, TypeError):
            self._unknown(event, outputs)
            return
        try:
            self.sink = handler(self, event, outputs, argument)
        except UpstreamProtocolError as error:
            outputs += self.fail(error)
            return
        if next_state is not self._state:
            self._enter(next_state)

    def end(self, *, whole: bool = False) -> _Outputs:
        """Ends the events."""
        if self._state is LifecycleState.ENDED:
            raise AdapterUsageError("the stream was ended before")
        outputs: _Outputs = []
        if self._state is LifecycleState.FAILING:
            outputs = self.fail(failure(*self._reports))
        elif self._state is not LifecycleState.FINISHED:
            outputs = self.fail(TruncatedStreamError(self._state.name))
        self._enter(LifecycleState.ENDED)
        return outputs

    def fail(self, error: LanguageModelError) -> _Outputs:
        """Ends the response with an error; nothing if it has finished already."""
        outputs: _Outputs = []
        if self.finished:
            return outputs
        self._texts.release(outputs)
        outcome = Outcome.TRUNCATED if isinstance(error, TruncatedStreamError) else Outcome.FAILED
        reason = FinishReason(UnifiedFinishReason.ERROR) if outcome is Outcome.FAILED else None
        outputs.append(Finish(outcome, reason, None, self._response_id, self._model, error))
        self._enter(LifecycleState.FINISHED)
        return outputs

    def _enter(self, state: LifecycleState) -> None:
        self._state = state
        self._rows = DISPATCH[state]

    def _unknown(self, event: Mapping[str, Any], outputs: _Outputs) -> None:
        if self._state is LifecycleState.ENDED:
            raise AdapterUsageError(f"fed {event.get('type')!r} after the stream was ended")
        if self._state is LifecycleState.FINISHED:
            return
        kind = event.get("type")
        if isinstance(kind, str) and kind:
            self._texts.release(outputs)
            outputs.append(Unmapped(kind, event))
        else:
            got = "no type" if kind is None else f"type {shown(kind)}"
            error = UpstreamProtocolError(event_type=None, field="type", got=got, expected="a string")
            outputs.extend(self.fail(error))

    # The response

    def _lifecycle(self, event: Wire, _outputs: _Outputs, _argument: None) -> None:
        self._remember(mapping(event, "response"))

    def _remember(self, response: Wire) -> None:
        self._response_id = identifier(response, "id") or self._response_id
        self._model = identifier(response, "model") or self._model

    def _error(self, event: Wire, outputs: _Outputs, _argument: None) -> None:
        self._texts.release(outputs)
        self._reports.append(event)

    def _terminal(self, event: Wire, outputs: _Outputs, said: str) -> None:
        response = mapping(event, "response")
        self._remember(response)
        status = "failed" if self._reports else said
        error: LanguageModelError | None = None
        try:
            self._snapshot(sequence(response, "output"), status, event, outputs)
        except UpstreamProtocolError as broken:
            status, error = "failed", broken
        self._texts.release(outputs)
        if status == "failed":
            error = error or failure(*self._reports, response)
            reason = FinishReason(UnifiedFinishReason.ERROR, said)
        else:
            self._texts.at_end(outputs)
            reason = finish_reason(response, status, has_tool_calls=self._calls.any_emitted)
        metadata = _COMPACTED if self._texts.compacted else {}
        outputs.append(
            Finish(Outcome(status), reason, usage(response), self._response_id, self._model, error, metadata)
        )

    def _snapshot(self, output: list[Wire], status: str, event: Wire, outputs: _Outputs) -> None:
        """Takes from the final snapshot what the stream left out. Many servers leave the snapshot empty."""
        kinds = [identifier(item, "type") for item in output]
        paired: dict[str | None, list[tuple[int, Wire]]] = {"message": [], "reasoning": [], "function_call": []}
        for place, kind in enumerate(kinds):
            if kind in paired:
                paired[kind].append((place, output[place]))
        closers = {
            **self._texts.pair_messages(paired["message"]),
            **self._texts.pair_reasoning(paired["reasoning"]),
            **self._calls.pair(paired["function_call"], status),
        }
        for place, kind in enumerate(kinds):
            if place in closers:
                closers[place](event, outputs, output[place])
            elif kind in ITEMS:
                ITEMS[kind].done(self, event, outputs, output[place])
            else:
                self._counted.in_snapshot(output[place], kind, outputs)
        if status != "failed":
            self._calls.at_end(status, event, outputs)

    # Items

    def _item_added(self, event: Wire, outputs: _Outputs, _argument: None) -> None:
        self._texts.release(outputs)
        item = mapping(event, "item")
        ITEMS.get(identifier(item, "type"), _COUNTED).added(self, event, outputs, item)

    def _item_done(self, event: Wire, outputs: _Outputs, _argument: None) -> None:
        item = mapping(event, "item")
        ITEMS.get(identifier(item, "type"), _COUNTED).done(self, event, outputs, item)

    def _count_item(self, event: Wire, outputs: _Outputs, item: Wire) -> None:
        self._texts.release(outputs)
        self._counted.count(item, index(event, "output_index"), outputs)


class _CountedItems:
    """Hosted tools (web search, code interpreter, MCP, ...) run at the upstream, so they are no calls for the consumer.

    Their items and all unknown items are counted once each.
    """

    def __init__(self) -> None:
        self._seen: set[tuple[str, int | str | None]] = set()
        self._kinds: set[str] = set()

    def count(self, item: Wire, output_index: int | None, outputs: _Outputs) -> None:
        """Counts an item of the stream."""
        kind = identifier(item, "type") or _NO_TYPE
        key = (kind, output_index if output_index is not None else identifier(item, "id"))
        if key not in self._seen:
            self._seen.add(key)
            self._kinds.add(kind)
            outputs.append(Unmapped(kind, item))

    def in_snapshot(self, item: Wire, kind: str | None, outputs: _Outputs) -> None:
        """Counts an item of the final snapshot, if the stream has named none of its type."""
        if kind not in self._kinds:
            outputs.append(Unmapped(kind or _NO_TYPE, item))


_NO_TYPE: Final = "an item without a type"
"""How an item is counted that states no type."""

_OVER: Final = (LifecycleState.FINISHED, LifecycleState.ENDED)

_COMPACTED: Final = {"openresponses": {"contextManagement": {"appliedEdits": [{"type": "compaction"}]}}}
"""What is said of a response whose upstream summarised the conversation."""

_Handler: TypeAlias = "Callable[[OpenResponsesStream, Any, _Outputs, Any], FastPath | None]"


def _of_texts(handler: Callable[[TextEvents, Any, _Outputs, Any], FastPath | None]) -> _Handler:
    """Makes a handler of the stream from a handler of its texts."""
    return lambda stream, event, outputs, argument: handler(stream._texts, event, outputs, argument)


def _of_calls(handler: Callable[[CallEvents, Any, _Outputs, Any], FastPath | None]) -> _Handler:
    """Makes a handler of the stream from a handler of its calls."""
    return lambda stream, event, outputs, argument: handler(stream._calls, event, outputs, argument)


def _nothing(*_: object) -> None:
    """The handler of events without effect."""


class ItemRow(NamedTuple):
    """The row of a type of item.

    The handlers of `output_item.added` and `output_item.done`. Their argument is the item.
    """

    added: _Handler
    done: _Handler


_COUNTED: Final = ItemRow(OpenResponsesStream._count_item, OpenResponsesStream._count_item)

ITEMS: Final[Mapping[str | None, ItemRow]] = {
    "message": ItemRow(_of_texts(TextEvents.message_added), _of_texts(TextEvents.message_done)),
    "reasoning": ItemRow(_of_texts(TextEvents.reasoning_added), _of_texts(TextEvents.reasoning_done)),
    "function_call": ItemRow(_of_calls(CallEvents.added), _of_calls(CallEvents.done)),
    "compaction": ItemRow(_nothing, _of_texts(TextEvents.compaction_done)),
}
"""Every type of item that is understood. All others are counted."""


class Row(NamedTuple):
    """The row of an event type.

    Its meaning for the life of a response, its handler, and the handler's second argument.
    """

    kind: LifecycleEvent
    handler: _Handler
    argument: Channel | str | None = None


_Stream = OpenResponsesStream
_DELTA, _TEXT_DONE = _of_texts(TextEvents.delta), _of_texts(TextEvents.text_done)
_PART_ADDED, _PART_DONE = _of_texts(TextEvents.part_added), _of_texts(TextEvents.part_done)
_ARGUMENTS_DELTA = _of_calls(CallEvents.arguments_delta)


def _count(_stream: OpenResponsesStream, event: Wire, outputs: _Outputs, _argument: object) -> None:
    outputs.append(Unmapped(event["type"], event))


EVENTS: Final[dict[str, Row]] = {
    "response.created": Row(LifecycleEvent.LIFECYCLE, _Stream._lifecycle),
    "response.queued": Row(LifecycleEvent.LIFECYCLE, _Stream._lifecycle),
    "response.in_progress": Row(LifecycleEvent.LIFECYCLE, _Stream._lifecycle),
    "response.completed": Row(LifecycleEvent.TERMINAL, _Stream._terminal, "completed"),
    "response.incomplete": Row(LifecycleEvent.TERMINAL, _Stream._terminal, "incomplete"),
    "response.failed": Row(LifecycleEvent.TERMINAL, _Stream._terminal, "failed"),
    "error": Row(LifecycleEvent.ERROR, _Stream._error),
    "response.output_item.added": Row(LifecycleEvent.CONTENT, _Stream._item_added),
    "response.output_item.done": Row(LifecycleEvent.CONTENT, _Stream._item_done),
    "response.content_part.added": Row(LifecycleEvent.CONTENT, _PART_ADDED),
    "response.content_part.done": Row(LifecycleEvent.CONTENT, _PART_DONE),
    "response.reasoning_summary_part.added": Row(LifecycleEvent.CONTENT, _PART_ADDED),
    "response.reasoning_summary_part.done": Row(LifecycleEvent.CONTENT, _PART_DONE),
    "response.output_text.delta": Row(LifecycleEvent.CONTENT, _DELTA, OUTPUT_TEXT),
    "response.output_text.done": Row(LifecycleEvent.CONTENT, _TEXT_DONE, OUTPUT_TEXT),
    "response.output_text.annotation.added": Row(LifecycleEvent.CONTENT, _of_texts(TextEvents.annotation)),
    "response.refusal.delta": Row(LifecycleEvent.CONTENT, _DELTA, REFUSAL),
    "response.refusal.done": Row(LifecycleEvent.CONTENT, _TEXT_DONE, REFUSAL),
    # The specification's name, then OpenAI's and others' (docs/wires/openresponses.md#names-of-reasoning-events).
    "response.reasoning.delta": Row(LifecycleEvent.CONTENT, _DELTA, REASONING),
    "response.reasoning.done": Row(LifecycleEvent.CONTENT, _TEXT_DONE, REASONING),
    "response.reasoning_text.delta": Row(LifecycleEvent.CONTENT, _DELTA, REASONING),
    "response.reasoning_text.done": Row(LifecycleEvent.CONTENT, _TEXT_DONE, REASONING),
    "response.reasoning_content.delta": Row(LifecycleEvent.CONTENT, _DELTA, REASONING),
    "response.reasoning_content.done": Row(LifecycleEvent.CONTENT, _TEXT_DONE, REASONING),
    "response.reasoning_summary_text.delta": Row(LifecycleEvent.CONTENT, _DELTA, SUMMARY),
    "response.reasoning_summary_text.done": Row(LifecycleEvent.CONTENT, _TEXT_DONE, SUMMARY),
    # The title of the schema, which its enum contradicts.
    "response.reasoning_summary.delta": Row(LifecycleEvent.CONTENT, _DELTA, SUMMARY),
    "response.reasoning_summary.done": Row(LifecycleEvent.CONTENT, _TEXT_DONE, SUMMARY),
    "response.function_call_arguments.delta": Row(LifecycleEvent.CONTENT, _ARGUMENTS_DELTA),
    "response.function_call_arguments.done": Row(LifecycleEvent.CONTENT, _of_calls(CallEvents.arguments_done)),
    # OpenAI sends it while nothing happens (docs/wires/openresponses.md#events-outside-the-specification).
    "keepalive": Row(LifecycleEvent.SILENT, _nothing),
}
"""Every event type that is understood. All others come out as :class:`Unmapped`."""


FREQUENT: Final[Mapping[str, Mapping[str, str]]] = {
    name: {"delta": "delta", "output_index": "output_index"}
    | ({"part_index": row.argument.index_field} if isinstance(row.argument, Channel) else {})
    for name, row in EVENTS.items()
    if row.handler in (_DELTA, _ARGUMENTS_DELTA)
}
"""The event types that come by the thousand, with the attributes that their sinks read and the fields they are."""


def claims(kind: str | None, event: Wire) -> MatchConfidence:
    """Tells whether an event of a recording belongs to this protocol.

    Its one type without the prefix exists in other protocols too.
    """
    if kind is not None and kind.startswith("response."):
        return MatchConfidence.SURE
    return (
        MatchConfidence.POSSIBLE if kind == "error" and not isinstance(event.get("error"), str) else MatchConfidence.NO
    )


def _dispatch(state: LifecycleState) -> dict[str, tuple[LifecycleState, _Handler, Channel | str | None]]:
    """Combines EVENTS and TRANSITIONS for one state, so that an event costs one look-up."""
    entries: dict[str, tuple[LifecycleState, _Handler, Channel | str | None]] = {}
    for name, row in EVENTS.items():
        step = TRANSITIONS[state].get(row.kind)
        if step is not None:
            handlers = {Action.HANDLE: row.handler, Action.IGNORE: _nothing, Action.COUNT: _count}
            entries[name] = (step.next_state, handlers[step.action], row.argument)
    return entries


DISPATCH: Final = {state: _dispatch(state) for state in LifecycleState}

READ_RESPONSE: Final = ResponseReaderSpec(
    open=OpenResponsesStream, claim=claims, frequent=FREQUENT, events_of=events_of
)
