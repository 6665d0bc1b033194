"""Reads the calls, interrupts and thinking of a run, and its answer where it streamed none.

The agent ran a call that has a result; all others are for VS Code to run. Only the end of the run tells which is which
(docs/wires/ai-sdk.md#ag-ui-calls), so calls without a result go out at the end, whole and in the model's order. A call
with a result never becomes a tool call of the answer: it is shown as a line of thinking and as data
(docs/wires/ai-sdk.md#activity-of-agents), and goes back to the agent with the next request.

An interrupt is what a run waits for. A provider has no dialog: the question becomes text, and the person's next message
answers it. Graphs of LangGraph ask in custom events (docs/wires/ai-sdk.md#approvals-and-interrupts; docs.ag-ui.com,
concepts/interrupts).

An agent of this wire remembers nothing by itself: the next request brings its whole run again
(docs/wires/ai-sdk.md#ag-ui-memory). VS Code knows only the text and the calls that it has to run. The rest goes out in
the metadata of thinking (:data:`partstream.conversation.provider_state.ITEMS`), and comes back in requests to the same
agent as the pieces :class:`partstream.conversation.turns.Reasoning`. Every item has one of these forms::

    {"type": "ag-ui", "message": {"role": "reasoning" | "tool", "id", "content", ...}}    a message of the run
    {"type": "ag-ui", "call": {"id", "name", "arguments"}, "parent": ID}     a call that the agent has run itself
    {"type": "ag-ui", "toolCallId": ID, "parent": ID, "encryptedValue": TEXT}      what belongs to a call of VS Code's
    {"type": "ag-ui", "entity": ID, "encryptedValue": TEXT}                  what belongs to a message before
    {"type": "ag-ui", "toolCallId": "", "interrupted": {"threadId", "interrupts": [...]}}    what the run waits for

A call that waits for a person has the field `toolCallId` beside `call`: it is no call of VS Code's.
`parent` is the message in which the agent's model made a call: those of one message go back in one message. The field
`toolCallId` keeps an item in a marker that is too small for all, see :mod:`partstream.conversation.provider_state`.

An answer without text and calls counts as none, and not every agent streams (docs/wires/ai-sdk.md#activity-of-agents).
Reasoning is messages with an id; packages before 1.0 send thinking without one (docs/wires/ai-sdk.md#ag-ui-reasoning).
"""

from __future__ import annotations
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any, Final

from partstream.codec.checks import dataclass, field
from partstream.codec.json_codec import dumps, loads_or_none
from partstream.codec.limits import MOST_ARGUMENT_VALUES, values_left
from partstream.conversation.provider_state import CarriedItems
from partstream.errors import AnswerTooLargeError, ToolArgumentsError
from partstream.lm.inner_activity import InnerCall, InnerResult, call_data, call_line, result_data, result_line, wish
from partstream.lm.outputs import EmitText, StreamOptions, StreamOutput, ThinkingMode, Unmapped
from partstream.lm.parts import thinking_part
from partstream.protocols.calls import Calls, CompleteCall, KeptIds, OpenJson, check_number, read_pieces, shown_pieces
from partstream.protocols.read_response import EmittedPrefix, JSONObject, checksum, identifier, mapping, objects, text

# ---- What goes back to the agent of its own run ----

ITEM_TYPE: Final = "ag-ui"
MESSAGE: Final = "message"
CALL: Final = "call"
PARENT: Final = "parent"
ENTITY: Final = "entity"
TOOL_CALL_ID: Final = "toolCallId"
ENCRYPTED: Final = "encryptedValue"
INTERRUPTED: Final = "interrupted"

MOST_CARRIED: Final = 36_000
"""The most characters of all results and thoughts of one run that go back: a marker holds 65,536 in base64."""
_MOST_OF_ONE: Final = 8_000


class Carrying(CarriedItems):
    """The items of one run. An item goes out before the text after it: its place is where it goes out."""

    def __init__(self, options: StreamOptions) -> None:
        super().__init__(options.thinking, ITEM_TYPE, "what a run carries")
        self._left = MOST_CARRIED  # characters

    def cut(self, text: str) -> str:
        """The text, as far as it may be carried; one that is cut says so."""
        most = min(_MOST_OF_ONE, self._left // 2)
        if len(text) > most:
            text = f"{text[:most]} […{len(text) - most:,} more characters were cut]"
        self._left = max(0, self._left - len(text))
        return text

    def add(self, *items: Mapping[str, Any]) -> None:
        """Takes items; fields of the value None are left out."""
        super().add(*({name: value for name, value in item.items() if value is not None} for item in items))


# ---- Tool calls ----

_MOST_NESTED: Final = 65_536
"""The most characters of a result that are read as JSON, to count its entries."""


@dataclass(slots=True)
class _Call:
    """A call as it streams."""

    call_id: str
    name: str | None
    parent: str | None
    step: int
    json: OpenJson = field(default_factory=OpenJson)
    encrypted: str | None = None
    is_ended: bool = False

    @property
    def arguments(self) -> str:
        return shown_pieces(self.json.pieces)

    def is_followed_by(self, event: JSONObject) -> bool:
        """Whether an event with the id of this call opens another one."""
        name = identifier(event, "toolCallName")
        if self.is_ended or (None not in (name, self.name) and name != self.name):
            return True
        begins = name is not None and text(event, "delta").lstrip().startswith("{")
        return begins and self.json.is_complete and not self.json.is_empty_object


class ToolCalls:
    """The calls of one run.

    Attributes:
        any_went_out: Whether VS Code has calls to run.
        step: The number of the request of the agent's model that speaks now, from 1, as far as events show it.
        is_step_over: Whether a tool has returned: what the model says next is another request.
        broken: Why the first call cannot go out that VS Code should run, or None.
    """

    def __init__(self, prefix: str, thinking: Thinking, carrying: Carrying, final_output: FinalOutput) -> None:
        self.any_went_out = False
        self.step = 1
        self.is_step_over = False
        self.broken: ToolArgumentsError | None = None
        self._prefix = prefix
        self._thinking = thinking
        self._carrying = carrying
        self._final_output = final_output
        self._ended = Calls()
        self._calls: dict[int, _Call] = {}  # without a result, in order
        self._by_id: dict[str, deque[_Call]] = {}
        self._over: set[str] = set()
        self._ids = KeptIds()
        self._last_id: str | None = None

    def next_step(self) -> None:
        """The model speaks again."""
        self.is_step_over = False
        self.step += 1

    def start(self, event: JSONObject, outputs: list[StreamOutput]) -> None:
        """Takes the beginning of a call; a second one of an open call is none."""
        call_id = identifier(event, "toolCallId")
        if call_id is None:
            outputs.append(Unmapped(f"{event['type']} (without an id)", event))
            return
        self._last_id = call_id
        known = self._last(call_id)
        if known is None and call_id in self._over:
            return
        name, parent = identifier(event, "toolCallName"), identifier(event, "parentMessageId")
        if known is None or known.is_followed_by(event):
            known = self._open(_Call(call_id, name, parent, self.step))
        known.name = known.name or name
        known.parent = known.parent or parent

    def arguments(self, event: JSONObject, outputs: list[StreamOutput]) -> EmitText | None:
        """Takes a piece of the arguments of a call, also of one that nothing has opened; returns the fast path for more
        of them."""
        call_id = identifier(event, "toolCallId") or self._last_id
        if call_id is not None and self._last(call_id) is None and call_id not in self._over:
            self.start({**event, "toolCallId": call_id}, outputs)
        call, piece = self._last(call_id or ""), event.get("delta")
        if call is None or not isinstance(piece, str | dict | list) or piece == "":
            return None
        add = call.json.pieces.append
        add(piece)
        return lambda more, _outputs: add(more)

    def end(self, event: JSONObject, _outputs: list[StreamOutput]) -> None:
        """Takes the end of a call: another one may begin under its id."""
        call = self._last(identifier(event, "toolCallId") or self._last_id or "")
        if call is not None:
            call.is_ended = True

    def chunk(self, event: JSONObject, outputs: list[StreamOutput]) -> None:
        """Takes a piece of a call, which also opens it if it names one."""
        if identifier(event, "toolCallId") is not None:
            self.start(event, outputs)
        self.arguments(event, outputs)

    def result(self, event: JSONObject, outputs: list[StreamOutput]) -> None:
        """Takes the result of a call: the agent has run it, in this run or in one before."""
        call_id = identifier(event, "toolCallId")
        if call_id is None or (call_id in self._over and not self._by_id.get(call_id)):
            outputs.append(Unmapped(f"{event['type']} ({'again' if call_id else 'without an id'})", event))
            return
        self._over.add(call_id)
        self._ids.keep(call_id)
        self._thinking.settle()
        calls = self._by_id.get(call_id)
        call = calls.popleft() if calls else None
        if not calls:
            self._by_id.pop(call_id, None)
        self._calls.pop(id(call), None)
        said = _said(event.get("content"))
        name = "" if call is None else call.name or ""
        step = self.step if call is None else call.step
        shown = "activity" if call is None else call.parent or call_id
        inner: InnerCall | None = None
        if call is not None:
            self._carry(call)
            inner = InnerCall(call_id, name, _value(call.arguments), step)
            self._thinking.show(f"{call_line(inner)}\n", shown, outputs)
            outputs.append(call_data(inner))
        outcome = InnerResult(call_id, name, _value(said), is_error=bool(identifier(event, "error")), step=step)
        self._thinking.show(f"{result_line(outcome)}\n", shown, outputs)
        outputs.append(result_data(outcome))
        self._final_output.read_tool(inner, outcome.content)
        message = {"role": "tool", "id": identifier(event, "messageId") or f"result-{call_id}", TOOL_CALL_ID: call_id}
        self._carrying.add({MESSAGE: message | {"content": self._carrying.cut(said)}})
        self.is_step_over = True

    def read_snapshot(self, event: JSONObject) -> None:
        """Takes the whole conversation as the agent sees it: the calls without a result after the last user message,
        which the events of LangGraph's server lack in part (docs/wires/ai-sdk.md#ag-ui-calls)."""
        said: list[tuple[str, JSONObject] | None] = []
        places: dict[str, deque[int]] = {}
        for message in objects(event, "messages"):
            role = identifier(message, "role")
            if role == "user":
                said, places = [], {}
            elif role == "tool" and (answered := places.get(identifier(message, TOOL_CALL_ID) or "")):
                said[answered.popleft()] = None
            for wire in objects(message, "toolCalls"):
                if (call_id := identifier(wire, "id")) is not None and call_id not in self._over:
                    places.setdefault(call_id, deque()).append(len(said))
                    said.append((call_id, wire | {PARENT: message.get("id")}))
        known: dict[str, Iterator[_Call]] = {}
        for call_id, wire in filter(None, said):
            function = mapping(wire, "function")
            call = next(known.setdefault(call_id, iter(self._by_id.get(call_id, ()))), None)
            if call is None:
                call = self._open(_Call(call_id, identifier(function, "name"), identifier(wire, PARENT), self.step))
            pieces = call.json.pieces
            if not call.json.is_begun or (pieces.may_end() and read_pieces(pieces).value is None):
                call.json = OpenJson()
                call.json.pieces.append(text(function, "arguments"))

    def _open(self, call: _Call) -> _Call:
        check_number(len(self._calls) + 1)
        self._ids.keep(call.call_id, call.name, call.parent)
        self._calls[id(call)] = call
        self._by_id.setdefault(call.call_id, deque()).append(call)
        return call

    def _last(self, call_id: str) -> _Call | None:
        """The call that was opened last with an id and has no result."""
        calls = self._by_id.get(call_id)
        return calls[-1] if calls else None

    def _take_all(self) -> list[_Call]:
        calls = [*self._calls.values()]
        self._calls, self._by_id = {}, {}
        return calls

    def encrypted(self, call_id: str, value: str) -> bool:
        """Takes the opaque value of a call; returns whether there is such a call."""
        if (call := self._last(call_id)) is not None:
            call.encrypted = value
        return call is not None

    def shown(self, call_id: str | None) -> InnerCall | None:
        """A call without a result as people read it; None for an unknown call."""
        call = self._last(call_id or "")
        return None if call is None else InnerCall(call.call_id, call.name or "", _value(call.arguments), call.step)

    def emit(self, pending: Collection[str], outputs: list[StreamOutput]) -> None:
        """Emits the calls that VS Code has to run: the run is over and went well.

        Args:
            pending: Their ids, if the agent names them; all calls without a result if it names none.
        """
        calls = self._take_all()
        if not {one.call_id for one in calls}.isdisjoint(pending):
            self._count((one for one in calls if one.call_id not in pending), "without a result", outputs)
            calls = [one for one in calls if one.call_id in pending]
        said = {(one.call_id, one.name) for one in calls if one.json.is_begun}
        taken: list[CompleteCall] = []
        for one in calls:
            if not one.json.is_begun and (one.call_id, one.name) in said:
                continue  # the beginning of a call again
            call = self._ended.take(one.call_id, one.name, one.json.pieces, outputs)
            if call is None:
                continue
            taken.append(call)
            if one.parent or one.encrypted:
                self._carrying.add({TOOL_CALL_ID: call.call_id, PARENT: one.parent, ENCRYPTED: one.encrypted})
        self.broken = self._ended.end(outputs, is_cut=False)
        self._carrying.emit(outputs)
        self.any_went_out = bool(taken)
        outputs += (one.part(self._prefix) for one in taken)

    def keep(self, outputs: list[StreamOutput]) -> None:
        """Keeps the calls without a result for the agent: it waits for a person, and runs them itself afterwards."""
        calls = self._take_all()
        for one in calls:
            self._carry(one, waits=True)
        self._count(calls, "waits for an answer", outputs)

    def drop(self, outputs: list[StreamOutput]) -> None:
        """Counts the calls without a result of a run that did not end well."""
        self._count(self._take_all(), "of a run that broke off", outputs)

    def _carry(self, call: _Call, *, waits: bool = False) -> None:
        value, mended = read_pieces(call.json.pieces)
        arguments = call.arguments if value and not mended else dumps(value or {}).decode()
        wire = {"id": call.call_id, "name": call.name or "", "arguments": arguments}
        if call.encrypted:
            wire[ENCRYPTED] = call.encrypted
        self._carrying.add({CALL: wire, PARENT: call.parent, TOOL_CALL_ID: call.call_id if waits else None})

    @staticmethod
    def _count(calls: Any, why: str, outputs: list[StreamOutput]) -> None:
        outputs += (
            Unmapped(
                f"TOOL_CALL_START {one.name or ''} ({why})",
                {"type": "TOOL_CALL_START", "toolCallId": one.call_id, "toolCallName": one.name, "args": one.arguments},
            )
            for one in calls
        )


def _said(content: Any) -> str:
    """The text of a result: a string, or the texts of its parts with words for the others."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else _json(content) or type(content).__name__
    kinds = [(identifier(part, "type") or "part", part) for part in content]
    return "\n".join(text(part, "text") if kind == "text" else f"[{kind[:40]}]" for kind, part in kinds)


def _value(said: str) -> Any:
    """The object or list that a text holds as JSON; else the text."""
    value = loads_or_none(said) if said[:1] in ("{", "[") and len(said) <= _MOST_NESTED else None
    return said if value is None else value


def _json(value: Any) -> str | None:
    """The JSON of a value; None if it has none."""
    try:
        return dumps(value).decode()
    except (TypeError, ValueError, RecursionError):
        return None


# ---- Interrupts in custom events ----

ON_INTERRUPT: Final = "on_interrupt"
_MESSAGES: Final = ("message", "question", "prompt", "description")
"""The fields in which graphs put their question; the first that exists."""


def interrupt_of(event: JSONObject) -> JSONObject:
    """The interrupt in a custom event, as an outcome would list it."""
    value = event.get("value")
    inner = loads_or_none(value) if isinstance(value, str) else None
    value = inner if isinstance(inner, dict | list) else value
    given = value if isinstance(value, dict) else {}
    fields = {
        "id": identifier(event.get("rawEvent"), "id") or "interrupt",
        "reason": identifier(given, "reason") or "langgraph:interrupt",
        "message": value if isinstance(value, str) else None,
        "toolCallId": identifier(given, "toolCallId") or identifier(given, "tool_call_id"),
        "responseSchema": given.get("responseSchema") or given.get("response_schema"),
        "metadata": {"langgraph": {"raw": value}},
    }
    return {name: one for name, one in fields.items() if one is not None}


def check_interrupts(interrupts: list[JSONObject], left: int = MOST_ARGUMENT_VALUES) -> int:
    """How many values may follow those of interrupts: all are kept, and become one text.

    Raises:
        AnswerTooLargeError: They hold more than the arguments of a call may.
    """
    if (left := values_left(interrupts, left)) < 0:
        raise AnswerTooLargeError("values in the questions of one answer", MOST_ARGUMENT_VALUES)
    return left


def actions_of(interrupt: JSONObject) -> list[InnerCall]:
    """The calls that a middleware for approvals asks about; none for every other interrupt."""
    requests = objects(_raw(interrupt), "action_requests")
    return [InnerCall("", text(one, "name"), mapping(one, "args")) for one in requests]


def _raw(interrupt: JSONObject) -> Any:
    """The value that a graph gave, which its server keeps in the metadata."""
    return mapping(mapping(interrupt, "metadata"), "langgraph").get("raw")


# ---- The question to the person, and the reply as the answer that the agent wants ----

_APPROVED: Final = "approved"
_REASON: Final = "reason"
_TOOL_CALL: Final = "tool_call"
_CONFIRMATION: Final = "confirmation"
_DECISIONS: Final = "decisions"
"""The number of calls that a middleware for approvals asks about; a field of ours."""
_MOST_DECISIONS: Final = 100
_MOST_SCHEMA: Final = 4_000
_MOST_NAMES: Final = 10
_YES: Final = frozenset(
    {"yes", "y", "yes please", "ok", "okay", "sure", "approve", "approved", "allow", "allowed", "go ahead", "do it"}
)
_CANCEL: Final = frozenset({"cancel", "abort", "never mind"})
_HOW_TO_ALLOW: Final = "Reply *yes* to allow it. Any other reply refuses it."
_HOW_TO_ALLOW_ALL: Final = "Reply *yes* to allow all of it. Any other reply refuses all."


def question(interrupts: list[JSONObject], calls: ToolCalls) -> str:
    """The question of a run, as Markdown. A call that several interrupts name is shown once: it may be of any size."""
    first = {identifier(one, "toolCallId"): place for place, one in reversed([*enumerate(interrupts)])}
    said = [
        _asked(one, calls if first[identifier(one, "toolCallId")] == place else None)
        for place, one in enumerate(interrupts)
    ]
    if all(_wants_approval(one) for one in interrupts):
        said.append(_HOW_TO_ALLOW if len(interrupts) == 1 else _HOW_TO_ALLOW_ALL)
    else:
        said += filter(None, map(_how, interrupts))
    return "\n\n".join(said)


def interrupted_fields(interrupts: list[JSONObject], thread_id: str | None) -> dict[str, Any]:
    """The facts that an answer needs: the thread of the run, and each interrupt with the form of its answer."""
    kept = []
    for interrupt in interrupts:
        schema = mapping(interrupt, "responseSchema")
        written = _json(schema)
        if written is None or len(written) > _MOST_SCHEMA:
            schema = {"type": identifier(schema, "type")}
        fields = {
            "id": identifier(interrupt, "id"),
            "toolCallId": identifier(interrupt, "toolCallId"),
            _REASON: identifier(interrupt, _REASON),
            "responseSchema": schema or None,
            _DECISIONS: len(actions_of(interrupt)) or None,
        }
        kept.append({name: value for name, value in fields.items() if value is not None})
    return {"threadId": thread_id, "interrupts": kept}


def resume_entries(interrupted: Mapping[str, Any], reply: str) -> list[dict[str, Any]]:
    """The entries of `resume` for a reply of the person: one for each interrupt, as the contract demands."""
    said = reply.strip()
    word = said.strip(" .!\t\n").lower()
    entries = []
    for one in objects(interrupted, "interrupts"):
        entry: dict[str, Any] = {"interruptId": text(one, "id"), "status": "cancelled"}
        if word not in _CANCEL:
            entry |= {"status": "resolved", "payload": _payload(one, said, word in _YES)}
        entries.append(entry)
    return entries


def _asked(interrupt: JSONObject, calls: ToolCalls | None) -> str:
    call = None if calls is None else calls.shown(identifier(interrupt, "toolCallId"))
    actions, raw = actions_of(interrupt), _raw(interrupt)
    message = identifier(interrupt, "message")
    if message is None and isinstance(raw, dict) and raw and not actions:  # a field for it, else the whole value
        written = _json(raw)
        message = next((identifier(raw, name) for name in _MESSAGES if identifier(raw, name)), None)
        message = message or (None if written is None else f"```json\n{written}\n```")
    wanted = actions or ([] if call is None else [call])
    if not wanted:
        return message or f"The agent waits for an answer: {identifier(interrupt, _REASON) or 'it gives no reason'}."
    shown = "\n\n".join(map(wish, wanted))
    return f"{message}\n\n{shown}" if message else shown


def _how(interrupt: JSONObject) -> str:
    """How to answer an interrupt: the form of an answer that is more than words."""
    if _wants_approval(interrupt):
        return _HOW_TO_ALLOW
    schema = mapping(interrupt, "responseSchema")
    names = [f"`{name}`" for name in list(mapping(schema, "properties"))[:_MOST_NAMES]]
    if len(names) > 1:
        return f"Reply with a JSON object of {', '.join(names[:-1])} and {names[-1]}."
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return f"Reply with one of {', '.join(f'`{one}`' for one in choices[:_MOST_NAMES])}."
    return f"Reply with {names[0]}." if names else ""


def _wants_approval(interrupt: Mapping[str, Any]) -> bool:
    schema = mapping(interrupt, "responseSchema")
    if _DECISIONS in interrupt or actions_of(dict(interrupt)):
        return True
    if not schema:
        return identifier(interrupt, _REASON) in {_TOOL_CALL, _CONFIRMATION}
    return schema.get("type") == "boolean" or _APPROVED in mapping(schema, "properties")


def _payload(interrupt: Mapping[str, Any], said: str, is_yes: bool) -> Any:
    schema = mapping(interrupt, "responseSchema")
    if isinstance(count := interrupt.get(_DECISIONS), int):  # a decision for each call
        decision = {"type": "approve"} if is_yes else {"type": "reject", "message": said}
        return {"decisions": [dict(decision) for _ in range(min(count, _MOST_DECISIONS))]}
    if isinstance(value := loads_or_none(said), dict) and schema.get("type") == "object":
        return value
    if not _wants_approval(interrupt):
        return _fitting(schema, said)
    if schema.get("type") == "boolean" or (not schema and identifier(interrupt, _REASON) == _CONFIRMATION):
        return is_yes
    if is_yes:
        return {_APPROVED: True}
    properties = mapping(schema, "properties")
    return {_APPROVED: False} | ({_REASON: said} if said and (not properties or _REASON in properties) else {})


def _fitting(schema: JSONObject, said: str) -> Any:
    """The reply in the form that a schema asks for; the text where it fits none."""
    kind, properties = identifier(schema, "type"), mapping(schema, "properties")
    if kind in {"number", "integer", "array"} and (value := loads_or_none(said)) is not None:
        return value
    choices = schema.get("enum")
    if isinstance(choices, list):
        return next((one for one in choices if str(one).lower() == said.lower()), said)
    if kind == "object" and len(properties) == 1:
        ((name, inner),) = properties.items()
        return {name: _fitting(inner if isinstance(inner, dict) else {}, said)}
    return said


# ---- The answer of an agent that streamed no text, and its thinking ----

_OUTPUT_TOOL: Final = "final_result"
"""The beginning of the names of the tools by which a model of pydantic-ai gives an output that is an object."""


class FinalOutput:
    """The answer of a run beside its text."""

    def __init__(self) -> None:
        self.result: Any = None
        self._of_tool: Any = None
        self._snapshot: list[tuple[str, str]] = []  # ids and texts
        self._ends_with_tool = False

    def read_tool(self, call: InnerCall | None, content: Any) -> None:
        """Takes the result of a call that the agent has run: the answer, if nothing follows."""
        is_output = call is not None and call.name.startswith(_OUTPUT_TOOL)
        self._of_tool = call.arguments if call is not None and is_output else content

    def read_snapshot(self, event: JSONObject) -> None:
        """Takes the whole conversation as the agent sees it: its last messages are its answer."""
        said: list[tuple[str, str]] = []
        role = None
        for message in objects(event, "messages"):
            role = identifier(message, "role")
            if role in {"user", "tool"}:
                said = []
            elif role == "assistant" and (words := _said(message.get("content"))):
                said.append((text(message, "id"), words))
        self._snapshot = said
        self._ends_with_tool = role == "tool"

    def unsaid(self, streamed: Mapping[str, EmittedPrefix]) -> str:
        """What only the snapshot has of an answer that was streamed: the messages that no event brought.

        Where the conversation ends with the result of a tool, that is the answer: the agent hands it on unchanged.
        """
        if self._ends_with_tool:
            return _words_of(self._of_tool)
        known = {one.summary for one in streamed.values()}
        return "\n\n".join(
            words
            for message_id, words in self._snapshot
            if message_id not in streamed and (len(words), checksum(words)) not in known
        )

    def words(self, of_sub_agent: str) -> str:
        """The text to show of an answer that has none; empty where there is nothing."""
        if said := _words_of(self.result):
            return said
        return "\n\n".join(words for _, words in self._snapshot) or of_sub_agent or _words_of(self._of_tool)


def _words_of(value: Any) -> str:
    """A text as it is, any other value as a block of JSON; empty for an empty value."""
    if isinstance(value, str):
        return value.strip()
    written = "" if value in (None, {}, []) else _json(value)
    return f"```json\n{written}\n```" if written else str(value) if written is None else ""


class Thinking:
    """The reasoning of one run.

    Attributes:
        said: The pieces of messages that are not closed.
    """

    def __init__(self, options: StreamOptions, carrying: Carrying) -> None:
        self._shows = options.thinking is not ThinkingMode.OFF
        self._carrying = carrying
        self._last_id: str | None = None
        self.said: dict[str, list[str]] = {}
        self._taken: set[str] = set()  # of messages whose item is out
        self._ids = KeptIds()

    def start(self, event: JSONObject) -> None:
        """Takes the beginning of a message."""
        self._last_id = identifier(event, "messageId") or self._last_id

    def content(self, event: JSONObject, outputs: list[StreamOutput]) -> EmitText | None:
        """Takes a piece of a message, also of one that nothing has opened; returns the fast path for more of it."""
        message_id = identifier(event, "messageId") or self._last_id
        self._last_id = message_id
        if not (piece := text(event, "delta")):
            if event.get("delta"):
                outputs.append(Unmapped(f"{event['type']} (no text)", event))
            return None
        self._ids.keep(message_id or "thinking")
        more = partial(self._more, self.said.setdefault(message_id or "thinking", []), message_id)
        more(piece, outputs)
        return more

    def _more(self, said: list[str], message_id: str | None, piece: str, outputs: list[StreamOutput]) -> None:
        said.append(piece)
        self.show(piece, message_id, outputs)

    def show(self, value: str, message_id: str | None, outputs: list[StreamOutput]) -> None:  # noqa: D102
        if self._shows:
            outputs.append(thinking_part(value, message_id))

    def encrypted(self, entity: str, value: str) -> bool:
        """Takes the opaque value of a message; returns whether the message is one of reasoning."""
        is_own = entity not in self._taken and (entity in self.said or entity == self._last_id)
        if is_own:
            self._close(entity, value)
        return is_own

    def settle(self) -> None:
        """Text or a call follows: the thoughts are over, except for opaque values that come late."""
        for message_id in [*self.said]:
            self._close(message_id, None)

    def _close(self, message_id: str, value: str | None) -> None:
        said = "".join(self.said.pop(message_id, ()))
        self._taken.add(message_id)
        message = {"role": "reasoning", "id": message_id, "content": self._carrying.cut(said)}
        self._carrying.add({MESSAGE: message | ({ENCRYPTED: value} if value else {})})
