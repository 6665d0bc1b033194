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
from typing import Any, Final, TypeAlias

from partstream.errors import LanguageModelError
from partstream.lm.inner_activity import handover_line
from partstream.lm.outputs import EmitText, Finish, Outcome, StreamOptions, StreamOutput, Unmapped
from partstream.lm.parts import FinishReason, Usage, text_part
from partstream.protocols.ag_ui.errors import CANCELLED, ERRORS, INTERRUPT, Ending, failure_of
from partstream.protocols.ag_ui.provider_state import ENCRYPTED, ENTITY, INTERRUPTED, TOOL_CALL_ID, Carrying
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
from partstream.protocols.read_response import (
    Deltas,
    EmittedPrefix,
    EventReader,
    Handler,
    JSONObject,
    LifecycleEvent,
    MatchConfidence,
    OpenTexts,
    Row,
    emit_into,
    identifier,
    mapping,
    nothing,
    objects,
    rows_by_state,
    text,
)

# ---- The messages of a run ----

SUBAGENT: Final = "subagentRunId"
_ASSISTANT: Final = "assistant"
_BREAK: Final = "\n\n"


class Texts:
    """The messages of one run."""

    __slots__ = ("_break", "_carrying", "_closed", "_emit_more", "_emits_of", "_last_character", "_last_id", "_open",
                 "_others", "_said_by_sub_agent", "_sub_agents", "_thinking", "any_shown", "said")  # fmt: skip

    def __init__(self, thinking: Thinking, carrying: Carrying) -> None:
        self.any_shown = False
        self._thinking = thinking
        self._carrying = carrying
        self.said: dict[str, EmittedPrefix] = {}  # what was streamed, by message
        self._open = OpenTexts()
        self._last_id: str | None = None
        self._closed = False  # whether the last event ended a message
        self._break = False  # whether the next text is a paragraph of its own
        self._last_character = ""
        self._others: set[str] = set()  # messages of other roles
        self._sub_agents: dict[str, str] = {}  # sub-agents by their messages
        self._said_by_sub_agent: tuple[str, list[str]] = ("", [])
        self._emits_of: str | None = None  # the message of the fast path
        self._emit_more: EmitText | None = None

    def start(self, event: JSONObject, outputs: list[StreamOutput]) -> None:
        """Takes the beginning of a message."""
        message_id = identifier(event, "messageId") or ""
        if self._closed and message_id != self._last_id and not self._open.waiting:
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
            self._open.open(message_id)

    def content(self, event: JSONObject, outputs: list[StreamOutput]) -> EmitText | None:
        """Takes a piece of a message, also of one that nothing has opened; returns the fast path for more of it."""
        message_id = event.get("messageId")
        if type(message_id) is not str or not message_id:
            message_id = self._last_id or ""
        self._last_id = message_id
        self._closed = False
        piece = event.get("delta")
        if type(piece) is not str or not piece or message_id in self._others:
            return None
        if message_id in self._sub_agents or (SUBAGENT in event and identifier(event, SUBAGENT)):
            if self._said_by_sub_agent[0] != message_id:
                self._said_by_sub_agent = message_id, []
            self._said_by_sub_agent[1].append(piece)
            self._thinking.show(piece, message_id, outputs)
            return None
        if message_id not in self.said:
            self.said[message_id] = EmittedPrefix()
        self.said[message_id].add(piece)
        if self._open.holds(message_id, piece):
            return None
        self.show(piece, outputs)
        if self._emits_of != message_id:
            self._emits_of, emit = message_id, emit_into(self.said[message_id], text_part)

            def emit_more(more: str, outputs: list[StreamOutput]) -> None:
                self._last_character = more[-1]
                emit(more, outputs)

            self._emit_more = emit_more
        return self._emit_more

    def chunk(self, event: JSONObject, outputs: list[StreamOutput]) -> EmitText | None:
        """Takes a piece that also opens its message, if it names another one than the last."""
        message_id = identifier(event, "messageId")
        if message_id is not None and message_id != self._last_id:
            self._closed = self._last_id is not None
            self.start(event, outputs)
        return self.content(event, outputs)

    def end(self, event: JSONObject, outputs: list[StreamOutput]) -> None:
        """Takes the end of a message."""
        message_id = identifier(event, "messageId")
        if message_id is None:
            message_id = self._last_id or ""
        self._closed = message_id not in self._others
        self._show_paragraphs(self._open.end(message_id), outputs)

    def part(self, outputs: list[StreamOutput]) -> None:
        """The agent has worked between two texts: they are paragraphs."""
        self._show_paragraphs(self._open.end(), outputs)
        self._break = True

    def _show_paragraphs(self, pieces: list[str], outputs: list[StreamOutput]) -> None:
        for piece in pieces:
            self._break = True
            self.show(piece, outputs)

    def show(self, piece: str, outputs: list[StreamOutput]) -> None:
        """Emits a piece of the answer."""
        if self._thinking.said:
            self._thinking.settle()
        if self._carrying.has_new:
            self._carrying.emit(outputs)
        if self._break and self.any_shown and self._last_character != "\n":
            piece = _BREAK + piece.lstrip("\n")
        self._break = False
        self.any_shown = True
        self._last_character = piece[-1:] or self._last_character
        outputs.append(text_part(piece))

    def interrupt(self, outputs: list[StreamOutput]) -> None:
        """Notes that something other than a text came: the next message waits for nothing any more."""
        self._show_paragraphs(self._open.end(), outputs)
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
_RENAMED: Final = frozenset(_OTHER_NAMES)
_NAMELESS: Final = "a sub-agent"


class AGUIReader(EventReader):
    """One run of an agent."""

    errors = ERRORS
    has_documents = True
    deltas = Deltas(
        dict.fromkeys(
            [
                *("TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK", "TOOL_CALL_ARGS"),
                *("REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_CHUNK", "THINKING_TEXT_MESSAGE_CONTENT"),
            ],
            (("delta",),),
        ),
        varying=("timestamp",),
    )

    @classmethod
    def claim(cls, kind: str | None, _event: JSONObject) -> MatchConfidence:
        """Tells whether an event of a recording belongs to this protocol: no other has types in capital letters."""
        return MatchConfidence.SURE if kind in EVENTS else MatchConfidence.NO

    @classmethod
    def events_of(cls, document: JSONObject) -> Sequence[JSONObject]:
        """The events of a document: its list, or the document itself, as for an error."""
        return objects(document, "events") or (document,)

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
        self._custom_interrupts: list[JSONObject] = []
        self._counted: set[str] = set()

    @property
    def usage(self) -> Usage | None:
        """The tokens that the agent has reported."""
        return self._ending.usage

    def feed_into(self, event: Mapping[str, Any], outputs: _Outputs) -> None:
        """Takes the next event and appends what it means."""
        wire: JSONObject = event if isinstance(event, dict) else dict(event)
        if not _RENAMED.isdisjoint(wire):
            wire = {_OTHER_NAMES.get(name, name): value for name, value in wire.items()}
        if self._steps.is_over and text(wire, "type") in SAID:
            self._steps.next()
        EventReader.feed_into(self, wire, outputs)  # faster than super()

    @property
    def _word(self) -> str | None:
        return self._ending.word

    def _is_whole(self, *, told: bool) -> bool:
        return told

    def _settle(self, outputs: _Outputs) -> None:
        self._texts.interrupt(outputs)
        self._calls.drop(outputs)
        self._carrying.emit(outputs)

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
        self._carrying.emit(outputs)
        self._emit_finish(self._ending.outcome, self._ending.reason(has_calls=has_calls), outputs)

    def _make_finish(self, outcome: Outcome, reason: FinishReason | None, error: LanguageModelError | None) -> Finish:
        about = self._ending
        return Finish(outcome, reason, about.usage, about.run_id, about.model, error)

    # The run

    def _finish(self, event: JSONObject, outputs: _Outputs) -> None:
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
            self._calls.emit(listed, outputs)
            if self._calls.broken is not None:
                outputs += self.fail(self._calls.broken)
                return
        self._complete(outputs)

    def _fail_run(self, event: JSONObject, outputs: _Outputs) -> None:
        self._ending.read(event, self._steps.number)
        outputs += self.fail(failure_of(event))

    # What it says

    def _encrypted(self, event: JSONObject, outputs: _Outputs) -> None:
        entity, value = identifier(event, "entityId"), identifier(event, ENCRYPTED)
        if entity is None or value is None:
            outputs.append(Unmapped(f"{event['type']} (without a value)", event))
        elif not self._thinking.encrypted(entity, value) and not self._calls.encrypted(entity, value):
            # Of a message that went out before, or that is no reasoning.
            self._carrying.add({ENTITY: entity, ENCRYPTED: value})

    # What it does

    def _result(self, event: JSONObject, outputs: _Outputs) -> None:
        self._texts.part(outputs)
        self._calls.result(event, outputs)

    def _sub_agent_start(self, event: JSONObject, outputs: _Outputs) -> None:
        name = identifier(event, "name") or _NAMELESS
        self._sub_agents[text(event, SUBAGENT)] = name
        self._texts.part(outputs)
        self._thinking.show(f"{handover_line(name)}\n", identifier(event, SUBAGENT), outputs)

    def _sub_agent_error(self, event: JSONObject, outputs: _Outputs) -> None:
        name = self._sub_agents.get(text(event, SUBAGENT), _NAMELESS)
        line = f"{name} failed: {identifier(event, 'message') or 'it gave no reason'}\n"
        self._texts.part(outputs)
        self._thinking.show(line, identifier(event, SUBAGENT), outputs)

    def _snapshot(self, event: JSONObject, _outputs: _Outputs) -> None:
        self._final_output.read_snapshot(event, self._texts.said)
        self._calls.read_snapshot(event)

    def _count(self, event: JSONObject, outputs: _Outputs) -> None:
        """Counts an event without a part, once for each name: an agent may send its state after every token."""
        said = next((identifier(event, name) for name in ("name", "activityType", "source") if event.get(name)), None)
        name = " ".join(filter(None, (event["type"], said and said[:80])))
        if name not in self._counted:
            self._counted.add(name)
            outputs.append(Unmapped(name, event))

    def _custom(self, event: JSONObject, outputs: _Outputs) -> None:
        if event.get("name") == ON_INTERRUPT:
            self._custom_interrupts.append(interrupt_of(event))
        else:
            self._count(event, outputs)


def _apart(handler: Handler) -> Handler:
    """The handler of something other than a text: the next message waits for nothing any more."""

    def handle(stream: AGUIReader, event: JSONObject, outputs: _Outputs) -> EmitText | None:
        stream._texts.interrupt(outputs)
        return handler(stream, event, outputs)

    return handle


def _of_texts(read: Callable[[Texts, JSONObject, _Outputs], EmitText | None]) -> Handler:
    return lambda stream, event, outputs: read(stream._texts, event, outputs)


def _of_calls(read: Callable[[ToolCalls, JSONObject, _Outputs], EmitText | None]) -> Handler:
    return lambda stream, event, outputs: read(stream._calls, event, outputs)


def _content(names: str, handler: Handler) -> dict[str, Row]:
    return dict.fromkeys(names.split(), Row(LifecycleEvent.CONTENT, handler))


def _report(names: str, handler: Handler) -> dict[str, Row]:
    return dict.fromkeys(names.split(), Row(LifecycleEvent.REPORT, handler))


# Packages before 1.0 send the names with THINKING; their span has no message of its own.
SAID: Final[dict[str, Row]] = {
    **_content("TEXT_MESSAGE_START", _of_texts(Texts.start)),
    **_content("TEXT_MESSAGE_CONTENT", _of_texts(Texts.content)),
    **_content("TEXT_MESSAGE_CHUNK", _of_texts(Texts.chunk)),
    **_content(
        "REASONING_MESSAGE_START THINKING_TEXT_MESSAGE_START",
        _apart(lambda stream, event, _outputs: stream._thinking.start(event)),
    ),
    **_content(
        "REASONING_MESSAGE_CONTENT REASONING_MESSAGE_CHUNK THINKING_TEXT_MESSAGE_CONTENT",
        _apart(lambda stream, event, outputs: stream._thinking.content(event, outputs)),
    ),
    **_content("TOOL_CALL_START", _apart(_of_calls(ToolCalls.start))),
    **_content("TOOL_CALL_CHUNK", _apart(_of_calls(ToolCalls.chunk))),
}
"""The events that the agent's model says: after the end of a step, they begin the next one."""

EVENTS: Final[dict[str, Row]] = {
    "RUN_STARTED": Row(LifecycleEvent.LIFECYCLE, lambda stream, event, _outputs: stream._ending.begin(event)),
    **SAID,
    **_content("TEXT_MESSAGE_END", _of_texts(Texts.end)),
    **_content("REASONING_START REASONING_MESSAGE_END REASONING_END", nothing),
    **_content("THINKING_START THINKING_TEXT_MESSAGE_END THINKING_END", nothing),
    **_content("REASONING_ENCRYPTED_VALUE", AGUIReader._encrypted),
    **_content("TOOL_CALL_ARGS", _of_calls(ToolCalls.arguments)),
    **_content("TOOL_CALL_END", _of_calls(ToolCalls.end)),
    **_content("TOOL_CALL_RESULT", AGUIReader._result),
    **_content("SUBAGENT_STARTED", AGUIReader._sub_agent_start),
    **_content("SUBAGENT_FINISHED", lambda stream, _event, outputs: stream._texts.part(outputs)),
    **_content("SUBAGENT_ERROR", AGUIReader._sub_agent_error),
    **_report("MESSAGES_SNAPSHOT", AGUIReader._snapshot),
    **_report("STATE_SNAPSHOT STATE_DELTA ACTIVITY_SNAPSHOT ACTIVITY_DELTA RAW", AGUIReader._count),
    **_report("CUSTOM", AGUIReader._custom),
    **dict.fromkeys(("STEP_STARTED", "STEP_FINISHED"), Row(LifecycleEvent.SILENT, nothing)),
    "RUN_FINISHED": Row(LifecycleEvent.TERMINAL, AGUIReader._finish),
    "RUN_ERROR": Row(LifecycleEvent.TERMINAL, AGUIReader._fail_run),
}
"""Every event that is understood; all others come out as :class:`Unmapped`."""

AGUIReader.rows = rows_by_state(EVENTS)
