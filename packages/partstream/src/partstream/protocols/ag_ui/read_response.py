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

Usage has one entry for each model (`TokenUsage`): `inputTokens` and `outputTokens` are whole counts, the others are
parts of them. Facts without a field on the wire are in the metadata of our own last events, under the key `partstream`.

Source: ag-ui-protocol 1.0.0 (`ag_ui.core.events`), docs.ag-ui.com; docs/wires/ai-sdk.md#ag-ui-runs.
"""

from __future__ import annotations
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from partstream.codec.checks import as_count, places
from partstream.errors import LanguageModelError
from partstream.lm.inner_activity import handover_line
from partstream.lm.outputs import EmitText, Finish, Outcome, StreamOptions, StreamOutput, Unmapped
from partstream.lm.parts import FinishReason, UnifiedFinishReason, Usage, text_part
from partstream.protocols import read_response
from partstream.protocols.ag_ui import tool_calls
from partstream.protocols.calls import KeptIds
from partstream.protocols.errors import ErrorBody, Errors, read_error_body

# ---- The messages of a run ----

SUBAGENT: Final = "subagentRunId"
_ASSISTANT: Final = "assistant"


class Texts:
    """The messages of one run."""

    def __init__(self, thinking: tool_calls.Thinking, carrying: tool_calls.Carrying) -> None:
        self.any_shown = False
        self.is_newer = False  # whether text has come after the last snapshot, which is not the end then
        self._thinking = thinking
        self._carrying = carrying
        self.said: dict[str, read_response.EmittedPrefix] = {}  # what was streamed, by message
        self._open = read_response.OpenTexts()
        self._last_id: str | None = None
        self._closed = False  # whether the last event ended a message
        self._break = False  # whether the next text is a paragraph of its own
        self._last_character = ""
        self._ids = KeptIds()
        self._others: set[str] = set()  # messages of other roles
        self._of_sub_agents: set[str] = set()  # their messages
        self._said_by_sub_agent: tuple[str, list[str]] = ("", [])
        self._emits_of: str | None = None  # the message of the fast path
        self._emit_more: EmitText | None = None

    def start(self, event: read_response.JSONObject, outputs: list[StreamOutput]) -> None:
        """Takes the beginning of a message."""
        message_id = read_response.identifier(event, "messageId") or ""
        if self._closed and message_id != self._last_id and not self._open.waiting:
            self._break = True
        self._closed = False
        self._last_id = message_id
        self._ids.keep(message_id)
        role = read_response.identifier(event, "role") or _ASSISTANT
        if role != _ASSISTANT:
            self._others.add(message_id)
            outputs.append(Unmapped(f"{event['type']} (of the role {role[:40]})", event))
        elif read_response.identifier(event, SUBAGENT):
            self._of_sub_agents.add(message_id)
        else:
            self._open.open(message_id)

    def content(self, event: read_response.JSONObject, outputs: list[StreamOutput]) -> EmitText | None:
        """Takes a piece of a message, also of one that nothing has opened; returns the fast path for more of it."""
        message_id = event.get("messageId")
        if type(message_id) is not str or not message_id:
            message_id = self._last_id or ""
        self._last_id = message_id
        self._closed = False
        piece = event.get("delta")
        if type(piece) is not str or not piece or message_id in self._others:
            if isinstance(piece, dict | list) and piece:
                outputs.append(Unmapped(f"{event['type']} (no text)", event))
            return None
        if message_id in self._of_sub_agents or (SUBAGENT in event and read_response.identifier(event, SUBAGENT)):
            if self._said_by_sub_agent[0] != message_id:
                self._said_by_sub_agent = message_id, []
            self._said_by_sub_agent[1].append(piece)
            self._thinking.show(piece, message_id, outputs)
            return None
        if message_id not in self.said:
            self._ids.keep(message_id)
            self.said[message_id] = read_response.EmittedPrefix()
        self.said[message_id].add(piece)
        self.is_newer = True
        if self._open.holds(message_id, piece):
            return None
        self.show(piece, outputs)
        if self._emits_of != message_id:
            self._emits_of, emit = message_id, read_response.emit_into(self.said[message_id], text_part)

            def emit_more(more: str, outputs: list[StreamOutput]) -> None:
                self._last_character = more[-1]
                emit(more, outputs)

            self._emit_more = emit_more
        return self._emit_more

    def chunk(self, event: read_response.JSONObject, outputs: list[StreamOutput]) -> EmitText | None:
        """Takes a piece that also opens its message, if it names another one than the last."""
        message_id = read_response.identifier(event, "messageId")
        if message_id is not None and message_id != self._last_id:
            self._closed = self._last_id is not None
            self.start(event, outputs)
        return self.content(event, outputs)

    def end(self, event: read_response.JSONObject, outputs: list[StreamOutput]) -> None:
        """Takes the end of a message."""
        message_id = read_response.identifier(event, "messageId")
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
        self._carrying.emit(outputs)
        if self._break and self.any_shown and self._last_character != "\n":
            piece = "\n\n" + piece.lstrip("\n")
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


# ---- The end of a run: errors, usage and our own facts ----

RUN_ERROR: Final = "RUN_ERROR"
_MOST_REFUSED: Final = 5


def _read_body(document: Any) -> ErrorBody:
    """Reads the event of an error, the errors of other servers, and pydantic-ai's list of refused fields,
    `[{"type", "loc", "msg", ...}]`."""
    if isinstance(document, list) and document and all(isinstance(one, dict) and "msg" in one for one in document):
        return read_error_body({"detail": document[:_MOST_REFUSED]})
    read = read_error_body(document)
    if isinstance(document, dict) and document.get("type") == RUN_ERROR:
        # The type is that of the event, not a code of the agent.
        return read._replace(code=read_response.identifier(document, "code"), type=None)
    return read


ERRORS: Final = Errors(read_body=_read_body)

_COUNTS: Final[Mapping[str, str]] = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "totalTokens": "total_tokens",
    "cachedInputTokens": "cached_tokens",
    "cacheWriteInputTokens": "cache_write_tokens",
    "reasoningTokens": "reasoning_tokens",
}
"""The counts by their names on the wire, each with the field of :class:`partstream.lm.parts.Usage`."""


def _entries(value: object) -> list[read_response.JSONObject]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]


def _read_usage(value: object, requests: int) -> Usage | None:
    """The usage of a run; None where it reports none.

    The entries cover all requests of the run. The prompt of the last one fills the window of the model; no field states
    it, and it is no smaller than the mean of all.

    Args:
        requests: How many requests the run made of its model.
    """
    counts: dict[str, int] = {}
    for entry in _entries(value):
        for name, field in _COUNTS.items():
            if (count := as_count(entry.get(name))) is not None:
                counts[field] = counts.get(field, 0) + count
    if not counts:
        return None
    given, made = counts.get("input_tokens"), counts.get("output_tokens")
    if given is not None and made is not None:
        counts.setdefault("total_tokens", given + made)
    context = None if given is None or requests < 2 else -(-given // requests)
    return Usage(**counts, raw={"usage": value}, context_tokens=context)


def written_usage(usage: Usage | None, model: str | None) -> dict[str, Any]:
    """The field `usage` of the end of a run; no field where nothing is known."""
    counts = {name: getattr(usage, field, None) for name, field in _COUNTS.items()}
    known = {name: count for name, count in counts.items() if count is not None}
    return {"usage": [({"model": model} if model else {}) | known]} if known else {}


SUCCESS: Final = "success"
_INTERRUPT: Final = "interrupt"
_CANCELLED: Final = "cancelled"

OURS: Final = "partstream"
"""The key in the metadata of a last event for facts without a field on the wire."""
FINISH_REASON: Final = "finishReason"
MODEL: Final = "model"
IS_CUT: Final = "isCut"
"""Whether a limit or a filter ended the answer."""

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


class AGUIReader(read_response.EventReader):
    """One run of an agent."""

    errors = ERRORS
    has_documents = True
    reads = places(  # it counts what it does not know, so only what is of another class than it should be is named
        {
            "": "messageId runId threadId toolCallId toolCallName parentMessageId delta usage"
            " messages metadata outcome *",
            "usage": "model *",
            "messages": "*",
            "metadata": "partstream *",
            "metadata.partstream": "model finishReason isCut *",
            "outcome": "type interrupts *",
            "outcome.interrupts": "id message reason toolCallId responseSchema *",
            "outcome.interrupts.responseSchema": "*",
        }
    )
    deltas = read_response.Deltas(
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
    def claim(cls, kind: str | None, _event: read_response.JSONObject) -> read_response.MatchConfidence:
        """Tells whether an event of a recording belongs to this protocol: no other has types in capital letters."""
        return read_response.MatchConfidence.SURE if kind in EVENTS else read_response.MatchConfidence.NO

    @classmethod
    def events_of(cls, document: read_response.JSONObject) -> Sequence[read_response.JSONObject]:
        """The events of a document: its list, or the document itself, as for an error."""
        return read_response.objects(document, "events") or (document,)

    def __init__(self, options: StreamOptions = StreamOptions()) -> None:  # noqa: B008 - immutable
        super().__init__(options)
        self._thread_id: str | None = None
        self._run_id: str | None = None
        self._outcome: str | None = None  # in the wire's word
        self.usage: Usage | None = None
        self._model: str | None = None
        self._reason: UnifiedFinishReason | None = None
        self._is_cut = False
        self._carrying = tool_calls.Carrying(options)
        self._thinking = tool_calls.Thinking(options, self._carrying)
        self._texts = Texts(self._thinking, self._carrying)
        self._final_output = tool_calls.FinalOutput()
        self._calls = tool_calls.ToolCalls(options.call_id_prefix, self._thinking, self._carrying, self._final_output)
        self._sub_agents: dict[str, str] = {}
        self._ids = KeptIds()
        self._custom_interrupts: list[read_response.JSONObject] = []
        self._interrupts_left = tool_calls.check_interrupts([])

    def feed_into(self, event: Mapping[str, Any], outputs: _Outputs) -> None:  # noqa: D102
        wire: read_response.JSONObject = event if isinstance(event, dict) else dict(event)
        if not _RENAMED.isdisjoint(wire):
            wire = {_OTHER_NAMES.get(name, name): value for name, value in wire.items()}
        if self._calls.is_step_over and read_response.text(wire, "type") in SAID:
            self._calls.next_step()
        read_response.EventReader.feed_into(self, wire, outputs)  # faster than super()

    @property
    def _word(self) -> str | None:
        return self._outcome

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
            elif words := "" if self._texts.is_newer else self._final_output.unsaid(self._texts.said):
                self._texts.part(outputs)
            if words:
                self._texts.show(words, outputs)
        self._thinking.settle()
        self._carrying.emit(outputs)
        is_cut = self._is_cut or self._outcome == _CANCELLED
        reason = self._reason or (UnifiedFinishReason.TOOL_CALLS if has_calls else UnifiedFinishReason.STOP)
        if self._reason is None and self._outcome == _CANCELLED:
            reason = UnifiedFinishReason.OTHER
        outcome = Outcome.INCOMPLETE if is_cut else Outcome.COMPLETED
        self._emit_finish(outcome, FinishReason(reason, self._outcome), outputs)

    def _make_finish(self, outcome: Outcome, reason: FinishReason | None, error: LanguageModelError | None) -> Finish:
        return Finish(outcome, reason, self.usage, self._run_id, self._model, error)

    # The run

    def _begin(self, event: read_response.JSONObject, _outputs: _Outputs) -> None:
        self._thread_id = read_response.identifier(event, "threadId") or self._thread_id
        self._run_id = read_response.identifier(event, "runId") or self._run_id

    def _read_end(self, event: read_response.JSONObject, outputs: _Outputs) -> None:
        """Takes what both last events of a run have."""
        self._begin(event, outputs)
        self._outcome = read_response.identifier(read_response.mapping(event, "outcome"), "type")
        self.usage = _read_usage(event.get("usage"), self._calls.step)
        ours = read_response.mapping(read_response.mapping(event, "metadata"), OURS)
        models = {read_response.identifier(entry, "model") for entry in _entries(event.get("usage"))} - {None}
        self._model = (models.pop() if len(models) == 1 else None) or read_response.identifier(ours, MODEL)
        self._reason = next((one for one in UnifiedFinishReason if one == ours.get(FINISH_REASON)), None)
        self._is_cut = ours.get(IS_CUT) is True

    def _finish(self, event: read_response.JSONObject, outputs: _Outputs) -> None:
        self._texts.interrupt(outputs)
        self._read_end(event, outputs)
        self._final_output.result = event.get("result")
        outcome = read_response.mapping(event, "outcome")
        interrupts = (
            read_response.objects(outcome, "interrupts") if self._outcome == _INTERRUPT else self._custom_interrupts
        )
        self._thinking.settle()
        if interrupts:
            # The run waits for the person, whose next message is the answer.
            tool_calls.check_interrupts(interrupts)
            said = tool_calls.question(interrupts, self._calls)
            self._calls.keep(outputs)
            self._carrying.add(
                {
                    tool_calls.TOOL_CALL_ID: "",
                    tool_calls.INTERRUPTED: tool_calls.interrupted_fields(interrupts, self._thread_id),
                }
            )
            self._texts.part(outputs)
            self._texts.show(said, outputs)
        elif self._outcome == _CANCELLED:
            self._calls.drop(outputs)
        else:
            pending = outcome.get("pendingToolCallIds")
            listed = {one for one in pending if isinstance(one, str)} if isinstance(pending, list) else set()
            self._calls.emit(listed, outputs)
            if self._calls.broken is not None:
                outputs += self.fail(self._calls.broken)
                return
        self._complete(outputs)

    def _fail_run(self, event: read_response.JSONObject, outputs: _Outputs) -> None:
        self._read_end(event, outputs)
        outputs += self.fail(ERRORS.read_failure(event))

    # What it says

    def _encrypted(self, event: read_response.JSONObject, outputs: _Outputs) -> None:
        entity, value = (
            read_response.identifier(event, "entityId"),
            read_response.identifier(event, tool_calls.ENCRYPTED),
        )
        if entity is None or value is None:
            outputs.append(Unmapped(f"{event['type']} (without a value)", event))
        elif not self._thinking.encrypted(entity, value) and not self._calls.encrypted(entity, value):
            # Of a message that went out before, or that is no reasoning.
            self._carrying.add({tool_calls.ENTITY: entity, tool_calls.ENCRYPTED: value})

    # What it does

    def _result(self, event: read_response.JSONObject, outputs: _Outputs) -> None:
        self._texts.part(outputs)
        self._calls.result(event, outputs)

    def _sub_agent_start(self, event: read_response.JSONObject, outputs: _Outputs) -> None:
        name = read_response.identifier(event, "name") or _NAMELESS
        self._ids.keep(read_response.text(event, SUBAGENT), name)
        self._sub_agents[read_response.text(event, SUBAGENT)] = name
        self._texts.part(outputs)
        self._thinking.show(f"{handover_line(name)}\n", read_response.identifier(event, SUBAGENT), outputs)

    def _sub_agent_error(self, event: read_response.JSONObject, outputs: _Outputs) -> None:
        name = self._sub_agents.get(read_response.text(event, SUBAGENT), _NAMELESS)
        line = f"{name} failed: {read_response.identifier(event, 'message') or 'it gave no reason'}\n"
        self._texts.part(outputs)
        self._thinking.show(line, read_response.identifier(event, SUBAGENT), outputs)

    def _snapshot(self, event: read_response.JSONObject, _outputs: _Outputs) -> None:
        self._texts.is_newer = False
        self._final_output.read_snapshot(event)
        self._calls.read_snapshot(event)

    def _count(self, event: read_response.JSONObject, outputs: _Outputs) -> None:
        """Counts an event without a part, once for each name: an agent may send its state after every token."""
        said = next(
            (read_response.identifier(event, name) for name in ("name", "activityType", "source") if event.get(name)),
            None,
        )
        self._count_once(" ".join(filter(None, (event["type"], said and said[:80]))), event, outputs)

    def _custom(self, event: read_response.JSONObject, outputs: _Outputs) -> None:
        if event.get("name") == tool_calls.ON_INTERRUPT:
            self._custom_interrupts.append(interrupt := tool_calls.interrupt_of(event))
            self._interrupts_left = tool_calls.check_interrupts([interrupt], self._interrupts_left)
        else:
            self._count(event, outputs)


def _apart(handler: read_response.Handler) -> read_response.Handler:
    """The handler of something other than a text: the next message waits for nothing any more."""

    def handle(stream: AGUIReader, event: read_response.JSONObject, outputs: _Outputs) -> EmitText | None:
        stream._texts.interrupt(outputs)
        return handler(stream, event, outputs)

    return handle


_content: Final = partial(read_response.rows, read_response.LifecycleEvent.CONTENT)
_report: Final = partial(read_response.rows, read_response.LifecycleEvent.REPORT)

# Packages before 1.0 send the names with THINKING; their span has no message of its own.
SAID: Final[dict[str, read_response.Row]] = {
    **_content(read_response.of_part("_texts", Texts.start), "TEXT_MESSAGE_START"),
    **_content(read_response.of_part("_texts", Texts.content), "TEXT_MESSAGE_CONTENT"),
    **_content(read_response.of_part("_texts", Texts.chunk), "TEXT_MESSAGE_CHUNK"),
    **_content(
        _apart(lambda stream, event, _outputs: stream._thinking.start(event)),
        "REASONING_MESSAGE_START THINKING_TEXT_MESSAGE_START",
    ),
    **_content(
        _apart(lambda stream, event, outputs: stream._thinking.content(event, outputs)),
        "REASONING_MESSAGE_CONTENT REASONING_MESSAGE_CHUNK THINKING_TEXT_MESSAGE_CONTENT",
    ),
    **_content(_apart(read_response.of_part("_calls", tool_calls.ToolCalls.start)), "TOOL_CALL_START"),
    **_content(_apart(read_response.of_part("_calls", tool_calls.ToolCalls.chunk)), "TOOL_CALL_CHUNK"),
}
"""The events that the agent's model says: after the end of a step, they begin the next one."""

EVENTS: Final[dict[str, read_response.Row]] = {
    "RUN_STARTED": read_response.Row(read_response.LifecycleEvent.LIFECYCLE, AGUIReader._begin),
    **SAID,
    **_content(read_response.of_part("_texts", Texts.end), "TEXT_MESSAGE_END"),
    **_content(read_response.nothing, "REASONING_START REASONING_MESSAGE_END REASONING_END"),
    **_content(read_response.nothing, "THINKING_START THINKING_TEXT_MESSAGE_END THINKING_END"),
    **_content(AGUIReader._encrypted, "REASONING_ENCRYPTED_VALUE"),
    **_content(read_response.of_part("_calls", tool_calls.ToolCalls.arguments), "TOOL_CALL_ARGS"),
    **_content(read_response.of_part("_calls", tool_calls.ToolCalls.end), "TOOL_CALL_END"),
    **_content(AGUIReader._result, "TOOL_CALL_RESULT"),
    **_content(AGUIReader._sub_agent_start, "SUBAGENT_STARTED"),
    **_content(lambda stream, _event, outputs: stream._texts.part(outputs), "SUBAGENT_FINISHED"),
    **_content(AGUIReader._sub_agent_error, "SUBAGENT_ERROR"),
    **_report(AGUIReader._snapshot, "MESSAGES_SNAPSHOT"),
    **_report(AGUIReader._count, "STATE_SNAPSHOT STATE_DELTA ACTIVITY_SNAPSHOT ACTIVITY_DELTA RAW"),
    **_report(AGUIReader._custom, "CUSTOM"),
    **read_response.rows(read_response.LifecycleEvent.SILENT, read_response.nothing, "STEP_STARTED STEP_FINISHED"),
    "RUN_FINISHED": read_response.Row(read_response.LifecycleEvent.TERMINAL, AGUIReader._finish),
    "RUN_ERROR": read_response.Row(read_response.LifecycleEvent.TERMINAL, AGUIReader._fail_run),
}
"""Every event that is understood; all others come out as :class:`Unmapped`."""

AGUIReader.rows = read_response.rows_by_state(EVENTS)
