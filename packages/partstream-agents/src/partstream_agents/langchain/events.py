"""Reads the events of a graph's run as outputs: one object for a run, without I/O and without the framework.

The agent's loop needs a result for every call, and the host runs its tools only after the response. So a call of one of
them gets a placeholder, the run stops before a model reads it, and the next run has the real result in its place
(docs/wires/agents.md#external-tools-of-langchain-agents). Graphs repeat messages in their updates: each message is read
once. Interrupts that ask for approvals come first; a graph asks again for what stayed without an answer, and every
other value is a question. The host's side of a run travels in its configuration, which LangGraph gives to every node
and every agent below.

Shapes: `graph.astream(stream_mode=[...], subgraphs=True)`; with `version="v2"` `{"type", "ns", "data"}`, before
LangGraph 1.1 a tuple `(ns, mode, data)`. `HITLRequest` and `ToolApprovalRequest` of
`langchain.agents.middleware.human_in_the_loop` (LangChain 1.0 to 1.5).
"""

from __future__ import annotations
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.codec.checks import dataclass, field
from partstream.codec.text import code_block
from partstream.lm.inner_activity import InnerCall, InnerResult
from partstream.lm.outputs import Unmapped
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, tool_call_part
from partstream_agents.adapter import Approval, ApprovalAsked, ExternalCalls, Handover, Question, ResultObject
from partstream_agents.langchain.messages import Nodes, StreamedMessages

if TYPE_CHECKING:
    from partstream.lm.messages import Tool
    from partstream_agents.adapter import AgentOutput, Decision

# ---- Placeholders and calls ----

PLACEHOLDER: Final = "[partstream: the host runs this tool; its result follows]"
"""The content of the placeholder. No model reads it, see :class:`HostCallsPending`."""


class HostCallsPending(BaseException):
    """A model was about to read a placeholder: the run stops here, and the host runs its tools.

    No `Exception`, because middleware and fallbacks that catch those would ask the model once more.
    """


def is_placeholder(message: Any) -> bool:
    """Whether a message holds a placeholder and nothing else."""
    return getattr(message, "content", None) == PLACEHOLDER


def has_placeholder(messages: Iterable[Any]) -> bool:
    """Whether a placeholder is anywhere in messages, also in a text that was made of them."""
    contents = [getattr(message, "content", message) for message in messages]
    return any(PLACEHOLDER in text for content in contents for text in _texts(content) if isinstance(text, str))


def _texts(content: Any) -> list[Any]:
    """The text of each block of a content; None or another value for a block without a text."""
    blocks = content if isinstance(content, list) else [content]
    return [block.get("text") if isinstance(block, dict) else block for block in blocks]


_HANDOVERS: Final = ("transfer_to_", "transfer_back_to_")
"""How langgraph-supervisor and langgraph-swarm begin the names of the tools that hand over."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A call, the number of the inner request that made it, and that of its message."""

    call_id: str
    name: str
    arguments: dict[str, Any]
    step: int
    message: int


class RunCalls:
    """The calls of one run, each message read once: graphs repeat messages in their updates."""

    def __init__(self, host_tools: Collection[str]) -> None:
        self._host_tools = frozenset(host_tools)
        self._calls: dict[str, _Call] = {}
        self._read: set[str | None] = set()
        self._waiting: dict[str, None] = {}
        self._messages = 0

    def know(self, messages: Iterable[Any]) -> None:
        """Takes the messages that the run begins with: their calls are no news."""
        for message in messages:
            self._is_new(message)
            self._open(message, step=1)
            if is_placeholder(message) and message.type == "tool":
                self._waiting[message.tool_call_id] = None

    def read(self, messages: Sequence[Any], step: int, *, is_result: bool = False) -> list[AgentOutput]:
        """The outputs of the messages of one update.

        Args:
            step: The number of the inner request that came last.
            is_result: Whether the update holds the result object of the run: then a call that it answers itself is
                the model's way to give the result, and no activity.
        """
        silent = {message.tool_call_id for message in messages if message.type == "tool"} if is_result else set()
        outputs: list[AgentOutput] = []
        for message in messages:
            if not self._is_new(message):
                continue
            if message.type == "tool":
                outputs += self._result(message, silent)
            else:
                opened = (call for call in self._open(message, step) if call.name not in self._host_tools)
                outputs += [self._shown(call) for call in opened if call.call_id not in silent]
        return outputs

    def pending(self) -> tuple[ToolCallPart, ...]:
        """The calls that wait for the host, in the model's order."""
        return tuple(
            tool_call_part(call.call_id, call.name, call.arguments)
            for call in self._calls.values()
            if call.call_id in self._waiting and call.name in self._host_tools
        )

    def called(self, name: object, arguments: object, taken: Collection[str]) -> str | None:
        """The id of the first call of the last message with calls that has a name and arguments, and is not taken; None
        without one."""
        fitting = (
            call.call_id
            for call in self._calls.values()
            if call.message == self._messages and (call.name, call.arguments) == (name, arguments)
        )
        return next((call_id for call_id in fitting if call_id not in taken), None)

    def wait_for(self, message: Any, step: int) -> None:
        """Takes a message of a model that only its stream has shown: its calls of the host wait."""
        for call in self._open(message, step):
            if call.name in self._host_tools:
                self._waiting[call.call_id] = None

    def _is_new(self, message: Any) -> bool:
        """Whether a message comes for the first time. One without an id, as in states of other forms, is always new."""
        is_new = message.id is None or message.id not in self._read
        self._read.add(message.id)
        return is_new

    def _open(self, message: Any, step: int) -> list[_Call]:
        found = getattr(message, "tool_calls", ())
        self._messages += bool(found)
        calls = [_Call(str(one.get("id") or ""), one["name"], one["args"], step, self._messages) for one in found]
        self._calls |= {call.call_id: call for call in calls}
        return calls

    def _shown(self, call: _Call) -> AgentOutput:
        for prefix in _HANDOVERS:
            if call.name.startswith(prefix):
                return Handover(call.name.removeprefix(prefix).replace("_", " "))
        return InnerCall(call.call_id, call.name, call.arguments, call.step)

    def _result(self, message: Any, silent: Collection[str]) -> list[AgentOutput]:
        call_id = message.tool_call_id
        if is_placeholder(message):
            self._waiting[call_id] = None
            return []
        self._waiting.pop(call_id, None)
        call = self._calls.get(call_id)
        name = message.name or (call.name if call else "tool")
        if call_id in silent or name in self._host_tools or name.startswith(_HANDOVERS):
            return []
        is_error = getattr(message, "status", "success") == "error"
        return [InnerResult(call_id, name, _plain(message.content), is_error, call.step if call else 1)]


def _plain(content: Any) -> Any:
    """The texts of content as one text, if it holds nothing else."""
    texts: list[Any] = _texts(content) if isinstance(content, list) else [None]
    return "".join(texts) if all(isinstance(text, str) for text in texts) else content


# ---- Values that a node writes with `get_stream_writer()` ----

CUSTOM_MIME_TYPE: Final = "application/vnd.partstream.custom+json"
"""The media type of the part with a value that a node has written."""
_LONGEST: Final = 200
"""The most characters of a value in a line for people."""


def custom_outputs(data: Any) -> list[AgentOutput]:
    """The outputs of what a node has written: a part is itself, a text is a line of progress, any other JSON value is
    a line and a data part for programs."""
    if isinstance(data, TextPart | ThinkingPart | DataPart):
        return [data]
    if isinstance(data, str):
        return [_line(data)]
    try:
        shown = json.dumps(data, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return [Unmapped(f"custom.{type(data).__name__}", {})]
    return [_line(shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"), DataPart.json(data, CUSTOM_MIME_TYPE)]


def _line(text: str) -> ThinkingPart:
    return ThinkingPart(f"\n\n{text}\n\n")


# ---- Interrupts: the question to the person, and the answer to the graph ----

_PAUSED: Final = "The agent has paused. Reply to let it go on."
_REFUSALS: Final = ("reject", "respond")
"""The decisions that keep a call from being run, the first that a tool allows counts."""


class RunInterrupt(NamedTuple):
    """What stopped a run, for the person and for the next run."""

    output: ApprovalAsked | Question
    kept: list[dict[str, Any]]


def asked_of(interrupts: Sequence[Any], calls: RunCalls) -> RunInterrupt:
    """The approvals or the question of interrupts, which have a `value` and an `id`; none for a pause that asks nothing
    (`interrupt_before`)."""
    approvals: list[Approval] = []
    kept: list[dict[str, Any]] = []
    for interrupt in interrupts:
        for read in (_review, _single_approval):
            if found := read(interrupt, calls, {one.call_id for one in approvals}):
                approvals += found[0]
                kept.append(found[1])
    if approvals:
        return RunInterrupt(ApprovalAsked(tuple(approvals)), kept)
    if not interrupts:
        return RunInterrupt(Question(_PAUSED), [])
    first = interrupts[0]
    actions = first.value.get("action_requests") if isinstance(first.value, dict) else None
    kind = {"kind": "answers", "number": len(actions)} if isinstance(actions, list) else {"kind": "question"}
    return RunInterrupt(Question(_question_text(first.value), first.id), [{"id": first.id, **kind}])


def resume_values(kept: Any, decisions: Mapping[str, Decision], reply: str | None) -> dict[str, Any]:
    """What each interrupt is answered with, by its id; empty for a pause that asks nothing."""
    return {row["id"]: _ANSWERS[row["kind"]](row, decisions, reply or "") for row in kept}


def _review(interrupt: Any, calls: RunCalls, taken: Collection[str]) -> tuple[list[Approval], dict[str, Any]] | None:
    """All calls of a step that need an approval, as one interrupt."""
    value = interrupt.value
    if not isinstance(value, dict) or not isinstance(value.get("action_requests"), list):
        return None
    allowed = {one.get("action_name"): one.get("allowed_decisions") for one in value.get("review_configs") or ()}
    rows = [[*(allowed.get(action.get("name")) or ())] for action in value["action_requests"]]
    if all(row == ["respond"] for row in rows):
        return None  # the person is the tool: a question
    used = set(taken)
    approvals = []
    for number, action in enumerate(value["action_requests"]):
        call_id = calls.called(action.get("name"), action.get("args"), used) or f"{interrupt.id}:{number}"
        used.add(call_id)
        approvals.append(Approval(call_id, action.get("name", ""), action.get("args"), _reason(action)))
    ids = [one.call_id for one in approvals]
    return approvals, {"kind": "review", "id": interrupt.id, "calls": ids, "allowed": rows}


def _single_approval(
    interrupt: Any, calls: RunCalls, taken: Collection[str]
) -> tuple[list[Approval], dict[str, Any]] | None:
    """One call that needs an approval."""
    del calls, taken
    value = interrupt.value
    if not isinstance(value, dict) or value.get("type") != "tool_approval":
        return None
    call_id = str(value.get("tool_call_id") or interrupt.id)
    approval = Approval(call_id, str(value.get("name", "")), value.get("args"), _reason(value))
    return [approval], {"kind": "approval", "id": interrupt.id, "calls": [call_id]}


def _reason(action: Mapping[str, Any]) -> str:
    """The middleware's description, unless it repeats the call: its default text begins so."""
    text = action.get("description")
    return text if isinstance(text, str) and not text.startswith("Tool execution requires approval") else ""


def _question_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and isinstance(actions := value.get("action_requests"), list):
        return "\n\n".join(str(action.get("description") or action.get("name")) for action in actions)
    if isinstance(value, dict) and len(value) == 1 and isinstance(only := next(iter(value.values())), str):
        return only
    try:
        return f"The agent asks:\n\n{code_block(value)}"
    except (TypeError, ValueError):
        return f"The agent asks: {value}"


def _review_answer(row: Mapping[str, Any], decisions: Mapping[str, Decision], _reply: str) -> Any:
    pairs = zip(row["calls"], row["allowed"], strict=True)
    return {"decisions": [_decision(decisions.get(call_id), allowed) for call_id, allowed in pairs]}


_ANSWERS: Final[Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Decision], str], Any]]] = {
    "review": _review_answer,
    "approval": lambda row, decisions, _reply: _decision(decisions.get(row["calls"][0]), ()),
    "answers": lambda row, _decisions, reply: {"decisions": [{"type": "respond", "message": reply}] * row["number"]},
    "question": lambda _row, _decisions, reply: reply,
}


def _decision(decision: Decision | None, allowed: Collection[str]) -> dict[str, Any]:
    """A decision in the middleware's words; a call without a decision is not run."""
    if decision is not None and decision.approved:
        return {"type": "approve"}
    kind = next((one for one in _REFUSALS if not allowed or one in allowed), _REFUSALS[0])
    reason = decision.reason if decision is not None else ""
    return {"type": kind, "message": reason} if reason or kind == "respond" else {"type": kind}


# ---- The events of a run ----

STREAM_MODES: Final = ("messages", "updates", "custom", "values")
"""The modes of a run's stream. Tokens come only with `messages`, the state of the end only with `values`."""

_RESULT: Final = "structured_response"
"""The field of the state in which `create_agent` puts the object that it was asked for."""


class GraphEvents:
    """Reads the events of one run.

    Args:
        answer_nodes: The nodes or sub-graphs whose text is the answer; None for all nodes of the graph itself.
        nodes: The nodes of the graph, and of each graph below whose words are the answer, by its path.
        output: Makes the answer of the last state; None where the graph says its answer.
        answer_fields: The fields of the state that a graph without messages gives back, which are its answer; none for
            a graph with messages. None for a graph whose state has no fields, and is the answer itself.
    """

    def __init__(
        self,
        host_tools: Collection[str] = (),
        answer_nodes: Collection[str] | None = None,
        nodes: Mapping[tuple[str, ...], Nodes] = MappingProxyType({(): Nodes()}),
        output: Callable[[Any], Any] | None = None,
        answer_fields: Collection[str] | None = None,
    ) -> None:
        self.calls = RunCalls(host_tools)
        self._answer_fields = answer_fields
        self.state: Any = None  # the state of the graph after the last step; None before the first
        self._output = output
        self._has_answer_nodes = answer_nodes is not None
        self._spoken = StreamedMessages(answer_nodes, nodes)
        self._interrupts: dict[str, Any] | None = None
        self._result: Any = None

    def read(self, event: Any) -> list[AgentOutput]:
        """The outputs of the next event, in order."""
        if isinstance(event, dict) and "type" in event and "ns" in event:
            namespace, mode, data = event["ns"], event["type"], event.get("data")
        elif isinstance(event, tuple) and len(event) == 3:
            namespace, mode, data = event
        else:
            return [Unmapped(f"event of type {type(event).__name__}", {})]
        handler = _HANDLERS.get(mode)
        if handler is None:
            return [Unmapped(f"event.{mode}", {})]
        return handler(self, tuple(namespace), data)

    @property
    def messages(self) -> list[Any]:
        """The messages of the graph after the last step; empty for a state without messages."""
        return _messages_in(self.state)

    def ends_at(self, calls: Collection[ToolCallPart]) -> bool:
        """Whether the graph itself, and not a sub-graph, has made calls: then its messages are all that a run goes on
        with."""
        made = {call.get("id") for message in self.messages for call in getattr(message, "tool_calls", ())}
        return all(call.call_id in made for call in calls)

    def asked(self) -> RunInterrupt | None:
        """What the run has stopped with to ask the person; None where it asks nothing."""
        return None if self._interrupts is None else asked_of(tuple(self._interrupts.values()), self.calls)

    def stop(self) -> None:
        """Notes that the run was stopped before a model read a placeholder."""
        if not self.calls.pending():
            for message, step in self._spoken.last_streamed():
                self.calls.wait_for(message, step)

    def end(self) -> list[AgentOutput]:
        """The outputs that only the end tells: what was asked for, or calls of the host, or the rest of the answer.

        Raises:
            ToolArgumentsError: The arguments of a call of the host are not whole.
        """
        outputs: list[AgentOutput] = list(self._spoken.close_all())
        pending = self.calls.pending()
        if (asked := self.asked()) is not None:
            outputs.append(asked.output)
        elif pending:
            self._spoken.arguments.check(pending)
            outputs.append(ExternalCalls(pending))
        else:
            outputs += self._rest()
        return [*outputs, self._spoken.finish]

    def _rest(self) -> list[AgentOutput]:
        """The answer of a run that has ended, as far as nothing of it was streamed."""
        if self._output is not None:
            return [ResultObject(self._output(self.state))]
        last = self.messages[-1] if self.messages else None
        if self._result is not None:
            is_said = last is not None and not getattr(last, "tool_calls", ()) and self._spoken.has_said(last)
            return [] if is_said else [ResultObject(self._result)]
        is_said = self._has_answer_nodes and self._spoken.has_answer
        unsaid = [] if last is None or is_said else self._spoken.unsaid(last)
        if unsaid or self._spoken.has_answer:
            return unsaid
        return self._of_fields()

    def _of_fields(self) -> list[AgentOutput]:
        """The answer of a graph without messages: the fields that it gives back, without those that only its own nodes
        read. Of a graph with messages, no other field is the answer: they hold keys, files and plans."""
        state, fields = self.state, self._answer_fields
        if hasattr(state, "messages") or (isinstance(state, Mapping) and "messages" in state):
            return []
        if fields is None:
            return [ResultObject(state)] if state else []
        given = state if isinstance(state, Mapping) else {name: getattr(state, name, None) for name in fields}
        found = {name: value for name, value in given.items() if name in fields}
        return [ResultObject(found)] if found else []

    def _updates(self, namespace: tuple[str, ...], data: Mapping[str, Any]) -> list[AgentOutput]:
        outputs: list[AgentOutput] = []
        for node, update in data.items():
            if node == "__interrupt__":
                self._interrupts = {**(self._interrupts or {}), **{one.id: one for one in update}}
            elif not node.startswith("__"):
                for fields in update if isinstance(update, list) else [update]:
                    outputs += self._update(namespace, node, fields) if isinstance(fields, dict) else []
        return outputs

    def _update(self, namespace: tuple[str, ...], node: str, fields: Mapping[str, Any]) -> list[AgentOutput]:
        entered = self._spoken.enter(namespace, node, fields)
        result = fields.get(_RESULT)
        if result is not None and not namespace:
            self._result = result
        values = (one for value in fields.values() for one in (value if isinstance(value, list) else [value]))
        messages = [one for one in values if hasattr(one, "tool_calls") or hasattr(one, "tool_call_id")]
        return entered + self.calls.read(messages, self._spoken.step, is_result=result is not None)

    def _values(self, namespace: tuple[str, ...], data: Any) -> list[AgentOutput]:
        if not namespace:
            is_first, self.state = self.state is None, data
            if is_first:
                self.calls.know(self.messages)
                self._spoken.know(self.messages)
        return self._spoken.state(namespace, _messages_in(data))


def _messages_in(state: Any) -> list[Any]:
    """The messages of a state; none for a state without them."""
    found = state.get("messages") if isinstance(state, dict) else getattr(state, "messages", None)
    return found if isinstance(found, list) else []


_HANDLERS: Final[Mapping[Any, Callable[[GraphEvents, tuple[str, ...], Any], list[AgentOutput]]]] = {
    "messages": lambda reader, namespace, data: reader._spoken.read(namespace, *data),  # a message and its metadata
    "updates": GraphEvents._updates,
    "values": GraphEvents._values,
    "custom": lambda _reader, _namespace, data: custom_outputs(data),
}
"""The handler of an event, by its mode."""


# ---- The host's side of a run, for the middleware of an agent ----

CONFIG_KEY: Final = "__partstream_host_run"
"""The name in `config["configurable"]`. LangGraph copies names with two underscores into no trace and no checkpoint."""


@dataclass(frozen=True, slots=True)
class HostRun:
    """The host's side of one run: its tools under the names to use, and its options for the model."""

    tools: tuple[Tool, ...] = ()
    instructions: str = ""
    must_call: bool = False
    model_options: Mapping[str, Any] = field(default_factory=dict)


def function_schema(tool: Tool) -> dict[str, Any]:
    """A tool in the form that every chat model of LangChain takes in `bind_tools`."""
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.input_schema or {})}
    return {"type": "function", "function": function}


def host_run_in(config: Mapping[str, Any]) -> HostRun:
    """The host's side of the run with a configuration; an empty one for a run that a provider did not start."""
    found = (config.get("configurable") or {}).get(CONFIG_KEY)
    return found if isinstance(found, HostRun) else HostRun()
