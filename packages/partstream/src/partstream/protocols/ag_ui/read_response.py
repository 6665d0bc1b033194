"""Reads the events of an AG-UI run as VS Code's parts.

:data:`EVENTS` maps each event to its lifecycle event and its handler; the order of a response is in
:mod:`partstream.protocols.read_response`, and no handler looks at the state. Nothing is checked against a schema: a
missing field, null and a value of another type mean nothing, and an event without a part is counted as
:class:`Unmapped`. A whole response has RUN_FINISHED, which alone tells which calls VS Code has to run
(docs/wires/ai-sdk.md#ag-ui-calls).

Messages of the agent are its answer, messages of sub-agents are progress. A blank line separates two messages of the
agent where something of its own work came between them: each is a whole text
(docs/wires/ai-sdk.md#activity-of-agents). Of two messages that come at the same time, the later one waits for the end
of the first. What only the last snapshot has of an answer comes at its end.

Source: ag-ui-protocol 1.0.0 (`ag_ui.core.events`), docs.ag-ui.com; docs/wires/ai-sdk.md#ag-ui-runs.
"""

from __future__ import annotations
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from partstream.errors import AdapterUsageError, LanguageModelError, UpstreamProtocolError
from partstream.lm.inner_activity import handover_line
from partstream.lm.outputs import EmitText, Finish, Outcome, StreamOptions, StreamOutput, Unmapped
from partstream.lm.parts import FinishReason, Usage, text_part
from partstream.protocols.ag_ui.errors import CANCELLED, ERRORS, INTERRUPT, Ending, failure_of
from partstream.protocols.ag_ui.provider_state import ENCRYPTED, INTERRUPTED, TOOL_CALL_ID, Carrying
from partstream.protocols.ag_ui.tool_calls import (
    ON_INTERRUPT,
    FinalOutput,
    Steps,
    Thinking,
    ToolCalls,
    interrupt_of,
    interrupted_fields,
    question,
)
from partstream.protocols.protocol import MatchConfidence, ResponseReaderSpec, no_item
from partstream.protocols.read_response import (
    TRANSITIONS,
    Action,
    Deltas,
    EmittedPrefix,
    LifecycleEvent,
    LifecycleState,
    ResponseReader,
    Wire,
    emit_into,
    identifier,
    mapping,
    objects,
    shown,
    text,
)

# ---- The messages of a run ----

SUBAGENT: Final = "subagentRunId"
_ASSISTANT: Final = "assistant"
_BREAK: Final = "\n\n"


class Texts:
    """The messages of one run."""

    __slots__ = ("_break", "_carrying", "_closed", "_ended", "_last_character", "_last_id", "_open", "_others",
                 "_said_by_sub_agent", "_sub_agents", "_thinking", "any_shown", "said")  # fmt: skip

    def __init__(self, thinking: Thinking, carrying: Carrying) -> None:
        self.any_shown = False
        self._thinking = thinking
        self._carrying = carrying
        self.said: dict[str, EmittedPrefix] = {}  # what was streamed, by message
        self._open: dict[str, list[str]] = {}  # open messages; of all but the first, what waits
        self._ended: set[str] = set()  # those of them that have ended
        self._last_id: str | None = None
        self._closed = False  # whether the last event ended a message
        self._break = False  # whether the next text is a paragraph of its own
        self._last_character = ""
        self._others: set[str] = set()  # messages of other roles
        self._sub_agents: dict[str, str] = {}  # sub-agents by their messages
        self._said_by_sub_agent: tuple[str, list[str]] = ("", [])

    def start(self, event: Wire, outputs: list[StreamOutput]) -> None:
        """Takes the beginning of a message."""
        message_id = identifier(event, "messageId") or ""
        if self._closed and message_id != self._last_id and not self._open:
            self._break = True
        self._closed = False
        self._last_id = message_id
        role = identifier(event, "role") or _ASSISTANT
        if role != _ASSISTANT:
            self._others.add(message_id)
            outputs.append(Unmapped(f"{event['type']} (of the role {role[:40]})", event))
        elif sub_agent := identifier(event, SUBAGENT):
            self._sub_agents[message_id] = sub_agent
        else:
            self._open.setdefault(message_id, [])
            self._ended.discard(message_id)

    def content(self, event: Wire, outputs: list[StreamOutput]) -> EmitText | None:
        """Takes a piece of a message, also of one that nothing has opened; returns the fast path for more of it."""
        message_id = identifier(event, "messageId")
        if message_id is None:
            message_id = self._last_id or ""
        self._last_id = message_id
        self._closed = False
        piece = text(event, "delta")
        if not piece or message_id in self._others:
            return None
        if identifier(event, SUBAGENT) or message_id in self._sub_agents:
            if self._said_by_sub_agent[0] != message_id:
                self._said_by_sub_agent = message_id, []
            self._said_by_sub_agent[1].append(piece)
            self._thinking.show(piece, message_id, outputs)
            return None
        if message_id not in self.said:
            self.said[message_id] = EmittedPrefix()
        if message_id not in self._open:
            self._open[message_id] = []
        if self._waits(message_id):
            self.said[message_id].add(piece)
            self._open[message_id].append(piece)
            return None
        self.said[message_id].add(piece)
        self.show(piece, outputs)
        emit = emit_into(self.said[message_id], text_part)

        def emit_more(more: str, outputs: list[StreamOutput]) -> None:
            self._last_character = more[-1]
            emit(more, outputs)

        return emit_more

    def chunk(self, event: Wire, outputs: list[StreamOutput]) -> EmitText | None:
        """Takes a piece that also opens its message, if it names another one than the last."""
        message_id = identifier(event, "messageId")
        if message_id is not None and message_id != self._last_id:
            self._closed = self._last_id is not None
            self.start(event, outputs)
        return self.content(event, outputs)

    def end(self, event: Wire, outputs: list[StreamOutput]) -> None:
        """Takes the end of a message."""
        message_id = identifier(event, "messageId")
        if message_id is None:
            message_id = self._last_id or ""
        self._closed = message_id not in self._others
        if message_id in self._open:
            self._ended.add(message_id)
            self._advance(outputs)

    def part(self, outputs: list[StreamOutput]) -> None:
        """The agent has worked between two texts: they are paragraphs."""
        self._advance(outputs, all_end=True)
        self._break = True

    def _waits(self, message_id: str) -> bool:
        return bool(self._open) and message_id != next(iter(self._open))

    def _advance(self, outputs: list[StreamOutput], *, all_end: bool = False) -> None:
        """Ends the first message, if it has ended, and shows what waits for that."""
        while self._open and (all_end or next(iter(self._open)) in self._ended):
            ended = next(iter(self._open))
            del self._open[ended]
            self._ended.discard(ended)
            pieces = next(iter(self._open.values()), [])
            if pieces:
                self._break = True
                self.show("".join(pieces), outputs)
                pieces.clear()

    def show(self, piece: str, outputs: list[StreamOutput]) -> None:
        """Emits a piece of the answer."""
        self._thinking.settle()
        self._carrying.hand_out(outputs)
        if self._break and self.any_shown and self._last_character != "\n":
            piece = _BREAK + piece.lstrip("\n")
        self._break = False
        self.any_shown = True
        self._last_character = piece[-1:] or self._last_character
        outputs.append(text_part(piece))

    def interrupt(self, outputs: list[StreamOutput]) -> None:
        """Notes that something other than a text came: the next message waits for nothing any more."""
        self._advance(outputs, all_end=True)
        self._closed = False

    @property
    def of_sub_agent(self) -> str:
        """The last message of a sub-agent: the answer, if the agent itself says nothing."""
        return "".join(self._said_by_sub_agent[1])


# ---- The response ----

_Outputs: TypeAlias = list[StreamOutput]
_OTHER_NAMES: Final = {
    "message_id": "messageId",
    "parent_message_id": "parentMessageId",
    "run_id": "runId",
    "thread_id": "threadId",
    "tool_call_id": "toolCallId",
    "tool_call_name": "toolCallName",
    "entity_id": "entityId",
    "encrypted_value": "encryptedValue",
}
"""The names that servers in Python give to fields, if they write the fields of their own objects."""
_NAMELESS: Final = "a sub-agent"


class AGUIStream(ResponseReader):
    """One run of an agent; see :class:`partstream.lm.outputs.ResponseStream`."""

    def __init__(self, options: StreamOptions = StreamOptions()) -> None:  # noqa: B008 - immutable
        super().__init__(options)
        self._ending = Ending()
        self._steps = Steps()
        self._carrying = Carrying(options)
        self._thinking = Thinking(options, self._carrying)
        self._texts = Texts(self._thinking, self._carrying)
        self._final_output = FinalOutput()
        self._calls = ToolCalls(options.call_id_prefix, self._thinking, self._carrying, self._steps, self._final_output)
        self._sub_agents: dict[str, str] = {}
        self._custom_interrupts: list[Wire] = []
        self._counted: set[str] = set()

    @property
    def usage(self) -> Usage | None:
        """The tokens that the agent has reported."""
        return self._ending.usage

    def feed_into(self, event: Mapping[str, Any], outputs: _Outputs) -> None:
        """Takes the next event and appends what it means."""
        self.emit_more = None
        if self._state is LifecycleState.ENDED:
            raise AdapterUsageError("fed an event after the stream was ended")
        wire: Wire = event if isinstance(event, dict) else dict(event)
        if not _OTHER_NAMES.keys().isdisjoint(wire):
            wire = {_OTHER_NAMES.get(name, name): value for name, value in wire.items()}
        kind = wire.get("type")
        row = EVENTS.get(kind) if isinstance(kind, str) else None
        if row is None:
            self._unknown(wire, outputs)
            return
        next_state, action, _ = TRANSITIONS[self._state][row.kind]
        if action is not Action.HANDLE:
            return
        self._state = next_state
        if row.is_said:
            self._steps.speaks()
        self.emit_more = row.handler(self, wire, outputs)

    @property
    def _word(self) -> str | None:
        return self._ending.word

    def _is_whole(self, *, told: bool) -> bool:
        return told

    def _settle(self, outputs: _Outputs) -> None:
        self._texts.interrupt(outputs)
        self._calls.drop(outputs)
        self._carrying.hand_out(outputs)

    def _complete(self, outputs: _Outputs) -> None:
        has_calls = self._calls.any_went_out
        if not has_calls:
            if not self._texts.any_shown:
                words = self._final_output.words(self._texts.of_sub_agent)
            elif words := self._final_output.unsaid(self._texts.said):
                self._texts.part(outputs)
            if words:
                self._texts.show(words, outputs)
        self._thinking.settle()
        self._carrying.hand_out(outputs)
        self._emit_finish(self._ending.outcome, self._ending.reason(has_calls=has_calls), outputs)

    def _emit_finish(
        self,
        outcome: Outcome,
        reason: FinishReason | None,
        outputs: _Outputs,
        error: LanguageModelError | None = None,
    ) -> None:
        about = self._ending
        outputs.append(Finish(outcome, reason, about.usage, about.run_id, about.model, error))
        self._state = LifecycleState.FINISHED

    def _unknown(self, event: Wire, outputs: _Outputs) -> None:
        """Counts an event of an unknown kind; a value that is no event ends the response."""
        if self.finished:
            return
        kind = event.get("type")
        if (failure := ERRORS.failure_in_unknown(event)) is not None:
            outputs += self.fail(failure)
        elif isinstance(kind, str) and kind:
            outputs.append(Unmapped(kind, event))
        else:
            got = "no type" if kind is None else f"type {shown(kind)}"
            outputs += self.fail(UpstreamProtocolError(event_type=None, field="type", got=got, expected="a string"))

    # The run

    def _finish(self, event: Wire, outputs: _Outputs) -> None:
        self._texts.interrupt(outputs)
        self._ending.read(event, self._steps.number)
        self._final_output.result = event.get("result")
        outcome = mapping(event, "outcome")
        interrupts = objects(outcome, "interrupts") if self._ending.word == INTERRUPT else self._custom_interrupts
        self._thinking.settle()
        if interrupts:
            # The run waits for the person, whose next message is the answer.
            said = question(interrupts, self._calls)
            self._calls.keep(outputs)
            self._carrying.add({TOOL_CALL_ID: "", INTERRUPTED: interrupted_fields(interrupts, self._ending.thread_id)})
            self._texts.part(outputs)
            self._texts.show(said, outputs)
        elif self._ending.word == CANCELLED:
            self._calls.drop(outputs)
        else:
            pending = outcome.get("pendingToolCallIds")
            listed = [one for one in pending if isinstance(one, str)] if isinstance(pending, list) else []
            self._calls.hand_out(listed, outputs)
            if self._calls.broken is not None:
                self._state = LifecycleState.OPEN
                outputs += self.fail(self._calls.broken)
                return
        self._complete(outputs)

    def _fail_run(self, event: Wire, outputs: _Outputs) -> None:
        self._ending.read(event, self._steps.number)
        self._state = LifecycleState.OPEN
        outputs += self.fail(failure_of(event))

    # What it says

    def _thought_start(self, event: Wire, outputs: _Outputs) -> None:
        self._texts.interrupt(outputs)
        self._thinking.start(event, outputs)

    def _thought(self, event: Wire, outputs: _Outputs) -> EmitText | None:
        self._texts.interrupt(outputs)
        return self._thinking.content(event, outputs)

    def _encrypted(self, event: Wire, outputs: _Outputs) -> None:
        entity, value = identifier(event, "entityId"), identifier(event, ENCRYPTED)
        if entity is None or value is None:
            outputs.append(Unmapped(f"{event['type']} (without a value)", event))
        elif not self._thinking.encrypted(event, outputs) and not self._calls.encrypted(entity, value):
            self._thinking.late(entity, value)

    # What it does

    def _call_start(self, event: Wire, outputs: _Outputs) -> None:
        self._texts.interrupt(outputs)
        self._calls.start(event, outputs)

    def _call_chunk(self, event: Wire, outputs: _Outputs) -> None:
        self._texts.interrupt(outputs)
        self._calls.chunk(event, outputs)

    def _result(self, event: Wire, outputs: _Outputs) -> None:
        self._texts.part(outputs)
        self._calls.result(event, outputs)

    def _sub_agent_start(self, event: Wire, outputs: _Outputs) -> None:
        name = identifier(event, "name") or _NAMELESS
        self._sub_agents[text(event, SUBAGENT)] = name
        self._texts.part(outputs)
        self._thinking.show(f"{handover_line(name)}\n", identifier(event, SUBAGENT), outputs)

    def _sub_agent_error(self, event: Wire, outputs: _Outputs) -> None:
        name = self._sub_agents.get(text(event, SUBAGENT), _NAMELESS)
        line = f"{name} failed: {identifier(event, 'message') or 'it gave no reason'}\n"
        self._texts.part(outputs)
        self._thinking.show(line, identifier(event, SUBAGENT), outputs)

    def _snapshot(self, event: Wire, _outputs: _Outputs) -> None:
        self._final_output.read_snapshot(event, self._texts.said)
        self._calls.read_snapshot(event)

    def _count(self, event: Wire, outputs: _Outputs) -> None:
        """Counts an event without a part, once for each name: an agent may send its state after every token."""
        said = next((identifier(event, name) for name in ("name", "activityType", "source") if event.get(name)), None)
        name = " ".join(filter(None, (event["type"], said and said[:80])))
        if name not in self._counted:
            self._counted.add(name)
            outputs.append(Unmapped(name, event))

    def _custom(self, event: Wire, outputs: _Outputs) -> None:
        if event.get("name") == ON_INTERRUPT:
            self._custom_interrupts.append(interrupt_of(event))
        else:
            self._count(event, outputs)

    def _nothing(self, _event: Wire, _outputs: _Outputs) -> None:
        """Takes an event that adds nothing to those around it."""


class Row(NamedTuple):
    """The meaning of an event.

    Attributes:
        is_said: Whether the agent's model says it.
    """

    kind: LifecycleEvent
    handler: Callable[[AGUIStream, Wire, _Outputs], EmitText | None]
    is_said: bool = False


_CONTENT, _LIFECYCLE, _REPORT = LifecycleEvent.CONTENT, LifecycleEvent.LIFECYCLE, LifecycleEvent.REPORT


def _of_texts(read: Callable[[Texts, Wire, _Outputs], EmitText | None], *, is_said: bool = False) -> Row:
    return Row(_CONTENT, lambda stream, event, outputs: read(stream._texts, event, outputs), is_said)


EVENTS: Final[dict[str, Row]] = {
    "RUN_STARTED": Row(_LIFECYCLE, lambda stream, event, _outputs: stream._ending.begin(event)),
    "TEXT_MESSAGE_START": _of_texts(Texts.start, is_said=True),
    "TEXT_MESSAGE_CONTENT": _of_texts(Texts.content, is_said=True),
    "TEXT_MESSAGE_CHUNK": _of_texts(Texts.chunk, is_said=True),
    "TEXT_MESSAGE_END": _of_texts(Texts.end),
    "REASONING_START": Row(_CONTENT, AGUIStream._nothing),
    "REASONING_MESSAGE_START": Row(_CONTENT, AGUIStream._thought_start, is_said=True),
    "REASONING_MESSAGE_CONTENT": Row(_CONTENT, AGUIStream._thought, is_said=True),
    "REASONING_MESSAGE_CHUNK": Row(_CONTENT, AGUIStream._thought, is_said=True),
    "REASONING_MESSAGE_END": Row(_CONTENT, AGUIStream._nothing),
    "REASONING_END": Row(_CONTENT, AGUIStream._nothing),
    "REASONING_ENCRYPTED_VALUE": Row(_CONTENT, AGUIStream._encrypted),
    # What packages before 1.0 send; the span has no message of its own.
    "THINKING_START": Row(_CONTENT, AGUIStream._nothing),
    "THINKING_TEXT_MESSAGE_START": Row(_CONTENT, AGUIStream._thought_start, is_said=True),
    "THINKING_TEXT_MESSAGE_CONTENT": Row(_CONTENT, AGUIStream._thought, is_said=True),
    "THINKING_TEXT_MESSAGE_END": Row(_CONTENT, AGUIStream._nothing),
    "THINKING_END": Row(_CONTENT, AGUIStream._nothing),
    "TOOL_CALL_START": Row(_CONTENT, AGUIStream._call_start, is_said=True),
    "TOOL_CALL_ARGS": Row(_CONTENT, lambda stream, event, outputs: stream._calls.arguments(event, outputs)),
    "TOOL_CALL_CHUNK": Row(_CONTENT, AGUIStream._call_chunk, is_said=True),
    "TOOL_CALL_END": Row(_CONTENT, lambda stream, event, outputs: stream._calls.end(event, outputs)),
    "TOOL_CALL_RESULT": Row(_CONTENT, AGUIStream._result),
    "SUBAGENT_STARTED": Row(_CONTENT, AGUIStream._sub_agent_start),
    "SUBAGENT_FINISHED": Row(_CONTENT, lambda stream, _event, outputs: stream._texts.part(outputs)),
    "SUBAGENT_ERROR": Row(_CONTENT, AGUIStream._sub_agent_error),
    "MESSAGES_SNAPSHOT": Row(_REPORT, AGUIStream._snapshot),
    "STATE_SNAPSHOT": Row(_REPORT, AGUIStream._count),
    "STATE_DELTA": Row(_REPORT, AGUIStream._count),
    "ACTIVITY_SNAPSHOT": Row(_REPORT, AGUIStream._count),
    "ACTIVITY_DELTA": Row(_REPORT, AGUIStream._count),
    "RAW": Row(_REPORT, AGUIStream._count),
    "CUSTOM": Row(_REPORT, AGUIStream._custom),
    "STEP_STARTED": Row(LifecycleEvent.SILENT, AGUIStream._nothing),
    "STEP_FINISHED": Row(LifecycleEvent.SILENT, AGUIStream._nothing),
    "RUN_FINISHED": Row(LifecycleEvent.TERMINAL, AGUIStream._finish),
    "RUN_ERROR": Row(LifecycleEvent.TERMINAL, AGUIStream._fail_run),
}
"""Every event that is understood; all others come out as :class:`Unmapped`."""


def claims(kind: str | None, _event: Wire) -> MatchConfidence:
    """Tells whether an event of a recording belongs to this protocol: no other has types in capital letters."""
    return MatchConfidence.SURE if kind in EVENTS else MatchConfidence.NO


def events_of(document: Wire) -> Sequence[Wire]:
    """The events of a document: its list, or the document itself, as for an error."""
    return objects(document, "events") or (document,)


DELTAS: Final = Deltas(
    dict.fromkeys(
        [
            *("TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK", "TOOL_CALL_ARGS"),
            *("REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_CHUNK", "THINKING_TEXT_MESSAGE_CONTENT"),
        ],
        (("delta",),),
    ),
    varying=("timestamp",),
)

READ_RESPONSE: Final = ResponseReaderSpec(
    open=AGUIStream, claim=claims, deltas=DELTAS, events_of=events_of, item_of_tags=no_item
)
