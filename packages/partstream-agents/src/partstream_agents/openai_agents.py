"""Runs agents of the OpenAI Agents SDK.

Whatever model the SDK asks, its raw events and its input are those of the Responses API: it translates Chat Completions
and LiteLLM itself. A run is read from three kinds of events that come side by side: raw events, which hold all text and
thinking of the model's responses, one adapter for each response; items, which show what the SDK does with the calls of
a response; and the agent that takes over.

A tool of the host always needs an approval: the SDK runs the agent's own tools of the step, stops, and its
interruptions are the calls for the host. When the run goes on, the adapter approves the call, and the tool's function
returns the host's result (docs/wires/agents.md#host-tools-through-approvals). The agent's own objects never change: a
run gets copies that have the host's tools too. A stopped run goes on from the SDK's state; where that cannot be kept,
it is rebuilt from the conversation. The SDK warns of states from strangers (`RunState.from_json`): only states that
:mod:`partstream_agents.run` has kept come here.

The SDK is imported only in functions that need it, after the person's file has imported it. Source: OpenAI Agents SDK
0.24 (`agents.stream_events`, `TResponseInputItem`, `ToolOutputText`, `ToolOutputImage`, `ToolOutputFileContent`, which
may all be dicts) and OpenAI's reference of `ResponseOutputItem`.
"""

from __future__ import annotations
import dataclasses
import re
import weakref
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import dataclass, field, replace
from partstream.conversation.media import MediaKind, data_url, file_name
from partstream.conversation.preparation import RequestSettings
from partstream.conversation.turns import FAILED, FAILED_SILENTLY, Result, ResultContent, Text
from partstream.lm.inner_activity import InnerCall, InnerResult
from partstream.lm.messages import ToolMode
from partstream.lm.outputs import Finish, Outcome, ResponseStream, StreamOptions, StreamOutput, Unmapped
from partstream.lm.parts import DataPart, FinishReason, TextPart, ThinkingPart, ToolCallPart, UnifiedFinishReason, Usage
from partstream.protocols.files import inline_file
from partstream.protocols.openresponses.write_request import input_items
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.read_response import read_arguments
from partstream.runtime.client_failures import FailureKind
from partstream_agents import adapter

if TYPE_CHECKING:
    from agents import Agent, FunctionTool, Handoff, RunConfig, RunState
    from agents.result import RunResultStreaming
    from agents.tool_context import ToolContext


# ---- The conversation as the input of a run ----


def message_as_text(item: dict[str, Any]) -> dict[str, Any]:
    """An item in the form that every model of the SDK takes: that of Chat Completions refuses a message of the
    assistant in pieces, unless it has an id (0.24, `Converter.items_to_messages`)."""
    pieces = item.get("content")
    if item.get("role") != "assistant" or "id" in item or not isinstance(pieces, list):
        return item
    return {"role": "assistant", "content": "".join(piece["text"] for piece in pieces)}


def run_arguments(request: adapter.AgentRequest) -> list[dict[str, Any]]:
    """The input of a run that knows nothing but the conversation.

    The host's instructions are a message of the system before it, so that the agent's own instructions stay as they
    are, and a handover takes them along.

    Raises:
        RequestNotExpressibleError: A part is larger than the API allows, or holds what JSON has no form for.
    """
    system = [{"role": "system", "content": request.instructions}] if request.instructions else []
    # Images that a tool returned are in a message of the user after the results, because the SDK leaves them out of
    # results for models of the Chat Completions API.
    return [*system, *map(message_as_text, input_items(request.turns, RequestSettings()))]


def chosen_settings(request: adapter.AgentRequest) -> dict[str, Any]:
    """The fields of `ModelSettings` that the caller has chosen; none for one that leaves all to the agent."""
    unknown = {"seed", "stop"}  # to the SDK
    chosen = {name: value for name, value in adapter.chosen_options(request).items() if name not in unknown}
    return chosen | ({"tool_choice": "required"} if request.tool_mode is ToolMode.REQUIRED and request.tools else {})


def tool_output(result: Result) -> str | list[dict[str, Any]]:
    """What the host returned, as the output of a function tool: a text, or a list where it holds images or files."""
    pieces = [_output(piece) for piece in result.content]
    if result.is_error:  # the SDK has no field for it
        pieces.insert(0, _output(Text(FAILED if pieces else FAILED_SILENTLY)))
    if all(piece["type"] == "text" for piece in pieces):
        return "\n".join(piece["text"] for piece in pieces)
    return pieces


def _output(piece: ResultContent) -> dict[str, Any]:
    if isinstance(piece, Text):
        return {"type": "text", "text": piece.value}
    if piece.kind is MediaKind.IMAGE:
        return {"type": "image", "image_url": piece.url or data_url(piece.data, piece.media_type)}
    if piece.url:
        return {"type": "file", "file_url": piece.url}
    data = data_url(piece.data, piece.media_type)
    return {"type": "file", "filename": file_name(piece.media_type), "file_data": data}


# ---- Errors: `agents.exceptions` of 0.24; `openai._exceptions` of openai 2.45, which LiteLLM's derive from ----

ERRORS: Final[Mapping[str, FailureKind]] = {
    "MaxTurnsExceeded": FailureKind.LIMIT,
    "ModelBehaviorError": FailureKind.MODEL,
    "ModelRefusalError": FailureKind.REFUSED,
    "ModelTimeoutError": FailureKind.TIMEOUT,
    "InputGuardrailTripwireTriggered": FailureKind.REFUSED,
    "OutputGuardrailTripwireTriggered": FailureKind.REFUSED,
    "ToolInputGuardrailTripwireTriggered": FailureKind.REFUSED,
    "ToolOutputGuardrailTripwireTriggered": FailureKind.REFUSED,
    "ToolTimeoutError": FailureKind.TOOL,
    "MCPToolCancellationError": FailureKind.TOOL,
    "UserError": FailureKind.USAGE,
    "AgentsException": FailureKind.MODEL,
    # The client of the models.
    "APITimeoutError": FailureKind.TIMEOUT,
    "APIStatusError": FailureKind.HTTP,
    "APIError": FailureKind.MODEL,
}


# ---- The model's responses inside one run ----


class StepUsages:
    """Collects the usage in the raw events, and adds that of requests that no event reports.

    The usage of a request comes out when the next one begins, or at the end: requests of agents below the asked one,
    which no event reports, come before the last of the asked one, because a host compacts the conversation by the last.
    """

    def __init__(self) -> None:
        self._said: list[Usage] = []
        self._waiting: Usage | None = None

    def say(self, usage: Usage | None) -> None:
        """Takes the tokens of the response that has just ended; None where its model reported none."""
        self._waiting = usage
        if usage is not None:
            self._said.append(usage)

    def begin(self) -> list[adapter.StepUsage]:
        """The tokens of the response before the one that begins."""
        waiting, self._waiting = self._waiting, None
        return [] if waiting is None else [adapter.StepUsage(waiting)]

    def end(self, reported: Sequence[Usage]) -> list[adapter.StepUsage]:
        """The tokens that are left; `reported` are those of all requests of the run, as the SDK has counted them."""
        said = [(one.input_tokens, one.output_tokens) for one in self._said]
        missing: list[adapter.StepUsage] = []
        for usage in reported:
            key = (usage.input_tokens, usage.output_tokens)
            if key in said:
                said.remove(key)
            else:
                missing.append(adapter.StepUsage(usage))
        return [*missing, *self.begin()]


_BEGIN: Final = "response.created"
_HOSTED: Final = re.compile(r"(?:_call(?:$|\.|_)|mcp_)")
"""What is in the type of an event or an item of a hosted tool: `response.web_search_call.searching`, `mcp_call`."""


class InnerResponses:
    """The responses of a run, one for each request to the model."""

    def __init__(self) -> None:
        self.step = 0  # the number of the current response, from 1; 0 before the first
        self.finish: Finish | None = None  # how the last finished response ended, or None
        self.usages = StepUsages()
        # whether text is a JSON document for the agent's own output type, and is held until it is known whether it is
        # the result of the run
        self.is_structured = False
        self._stream: ResponseStream | None = None
        self._held: list[str] = []
        self._paragraphs = adapter.Paragraphs()
        self._speaks = False
        self._calls = False

    @property
    def is_answered(self) -> bool:
        """Whether the current response has said text and called no tool: the run ends with it."""
        return self._speaks and not self._calls

    def feed(self, event: Mapping[str, Any]) -> list[adapter.AgentOutput]:
        """Takes the next raw event, and returns its parts. Calls of tools are left out: the SDK's own items say which
        of them it runs, and its interruptions which it leaves to others."""
        outputs: list[adapter.AgentOutput] = []
        stream = self._stream
        if stream is None or stream.finished or event.get("type") == _BEGIN:
            outputs = [*self.release(), *self.usages.begin()]
            self.step += 1
            self._speaks = self._calls = False
            self._paragraphs.begin_step()
            # Call ids stay those of the SDK.
            stream = self._stream = PROTOCOLS["openresponses"].read_response()(StreamOptions())
        for output in stream.feed(event):
            outputs += self._read(output)
        return outputs

    def release(self) -> list[adapter.AgentOutput]:
        """The held text, which is not the result of the run after all."""
        held, self._held = "".join(self._held), []
        return [*self._paragraphs.of(held)]

    def _read(self, output: StreamOutput) -> list[adapter.AgentOutput]:
        match output:
            case TextPart():
                return self._text(output)
            case ThinkingPart():
                # Its state is in the state of the run; in the conversation it would take the place of ours.
                return [ThinkingPart(output.value, output.id)] if output.value else []
            case ToolCallPart():
                self._calls = True
                return []
            case Finish(usage=usage):
                self.finish = output
                self.usages.say(usage)
                return []
            case DataPart():  # a picture that the server made: the item of its call brings it
                pass
            case Unmapped(data=data) if _is_of_hosted_tool(data):
                pass
            case _:
                return [output]
        return []

    def _text(self, part: TextPart) -> list[adapter.AgentOutput]:
        self._speaks = self._speaks or bool(part.value)
        if self.is_structured:
            self._held.append(part.value)
            return []
        return [*self._paragraphs.of(part.value)]

    def result(self, text: str) -> list[adapter.AgentOutput]:
        """The parts of a result that no response said: a paragraph of its own."""
        self._paragraphs.begin_step()
        return [*self._paragraphs.of(text)]


def _is_of_hosted_tool(event: Mapping[str, Any]) -> bool:
    """Whether an event is of a tool that the model's provider runs: the SDK says it again as an item of the run."""
    item = event.get("item")
    kinds = (event.get("type"), item.get("type") if isinstance(item, dict) else None)
    return any(isinstance(kind, str) and _HOSTED.search(kind) is not None for kind in kinds)


# ---- Calls of the agent's own tools, and of tools that the model's provider runs, from the SDK's run items ----

_ARGUMENT_FIELDS: Final = ("arguments", "input", "action", "operation", "queries", "code")
"""Where the items of hosted tools hold the arguments; the first that exists."""
_OUTPUT_FIELDS: Final = ("output", "error")
_CALL: Final = "_call"
_PICTURE: Final = "image_generation_call"


def field_of(item: Any, name: str) -> Any:
    """A field of an item of the SDK, which is an object of the client or a dict; None where it has none."""
    return item.get(name) if isinstance(item, dict) else getattr(item, name, None)


def call_id_of(item: Any) -> str:
    """The id of a call; items of hosted tools have none but their own."""
    return str(field_of(item, "call_id") or field_of(item, "id") or "")


def name_of(item: Any) -> str:
    """The name of the tool that an item calls; of a hosted tool its kind, such as `web_search`."""
    return str(field_of(item, "name") or str(field_of(item, "type") or "tool").removesuffix(_CALL))


def arguments_of(item: Any) -> object:
    """The arguments of a call: an object where they are one, or else as they came."""
    for name in _ARGUMENT_FIELDS:
        value = field_of(item, name)
        if value is not None:
            dump = getattr(value, "model_dump", None)
            value = dump(mode="json", exclude_none=True) if callable(dump) else value
            read = read_arguments(value)
            return value if read is None else read
    return {}


class InnerTools:
    """Which tools the agent has called and what came back: not those of the host, and of tools that may need an
    approval each call once it ran."""

    def __init__(self, external: Collection[str], asking: Collection[str]) -> None:
        self._external = external
        self._asking = asking
        self._calls: dict[str, InnerCall] = {}
        self._waiting: set[str] = set()
        self._answered: set[str] = set()
        self._external_ids: set[str] = set()
        self._order: dict[str, int] = {}

    def called(self, item: Any, step: int) -> list[adapter.AgentOutput]:
        """A tool was called. A call of the host's is left out: it comes as an interruption of the run."""
        raw = field_of(item, "raw_item")
        call = InnerCall(call_id_of(raw), name_of(raw), arguments_of(raw), step)
        self._order.setdefault(call.call_id, len(self._order))
        if call.name in self._external:
            self._external_ids.add(call.call_id)
            return []
        if call.call_id in self._calls and call.call_id not in self._answered:
            return []
        self._answered.discard(call.call_id)  # some models give each call of a run the same id
        self._calls[call.call_id] = call
        if call.name in self._asking:
            self._waiting.add(call.call_id)
            return []
        return [call, *_hosted_result(raw, call)]

    def answered(self, item: Any, step: int) -> list[adapter.AgentOutput]:
        """A tool has returned; results of the host are in the conversation already."""
        raw = field_of(item, "raw_item")
        call_id = call_id_of(raw)
        if call_id in self._external_ids:
            return []
        call = self._calls.get(call_id)
        self._answered.add(call_id)
        outputs: list[adapter.AgentOutput] = []
        if call is not None and call_id in self._waiting:
            self._waiting.remove(call_id)
            outputs.append(call)
        name = "tool" if call is None else call.name
        is_error = field_of(raw, "status") in {"failed", "incomplete"}
        return [*outputs, InnerResult(call_id, name, field_of(item, "output"), is_error, call.step if call else step)]

    def expect(self, call_id: str, name: str, arguments: object) -> None:
        """Notes a call of an earlier run, which this one goes on with: its result is still to come."""
        if name in self._external:
            self._external_ids.add(call_id)
        else:
            self._calls[call_id] = InnerCall(call_id, name, arguments, 1)
            self._waiting.add(call_id)

    def place(self, call_id: str) -> int:
        """The place of a call among the calls of the run; after them for a call that no item had."""
        return self._order.get(call_id, len(self._order))


def _hosted_result(raw: Any, call: InnerCall) -> list[adapter.AgentOutput]:
    """The result of a tool that the model's provider has run: its item holds both."""
    if field_of(raw, "type") == "function_call":
        return []
    if field_of(raw, "type") == _PICTURE:
        # The image that a server has made, in base64 (OpenAI's reference, `ImageGenerationCall`)
        result = field_of(raw, "result")
        if not isinstance(result, str):
            return []
        made = inline_file(result)
        if made is None:
            return [Unmapped(_PICTURE, {"type": _PICTURE})]
        return [adapter.AgentFile(made.data, made.mime_type)]
    for name in _OUTPUT_FIELDS:
        value = field_of(raw, name)
        if value is not None:
            return [InnerResult(call.call_id, call.name, value, name == "error", call.step)]
    return []


# ---- The events of a run as outputs ----


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The end of a run."""

    interruptions: Sequence[Any] = ()  # the calls that the SDK did not run, as its approval items
    final_output: Any = None  # the result: a text, or an object of the agent's output type; None for an interrupted run
    # the state of the run as JSON; None where it cannot be kept
    state: Mapping[str, Any] | None = field(default=None, repr=False)
    usages: Sequence[Usage] = ()  # the usage of all requests of this run, also of agents below it


class RunEvents:
    """Reads the events of one run."""

    def __init__(self, external: Collection[str] = (), asking: Collection[str] = ()) -> None:
        self._external = external
        self._responses = InnerResponses()
        # Calls of an earlier run are added before the first event.
        self.tools = InnerTools(external, asking)
        self._agent: str | None = None

    def read(self, event: Any) -> list[adapter.AgentOutput]:
        """Takes the next event of the SDK; an unknown one comes out as it is."""
        kind = field_of(event, "type")
        handler = _EVENTS.get(kind)
        return [Unmapped(str(kind), {"type": kind})] if handler is None else handler(self, event)

    def end(self, end: RunEnd) -> list[adapter.AgentOutput]:
        """Takes the end of the run, and returns what is left of it, with the `Finish`."""
        calls, approvals = self._interruptions(end.interruptions)
        if not calls and not approvals:
            return [*self._result(end.final_output), *self._responses.usages.end(end.usages), self._finish()]
        outputs = [*self._responses.release(), *self._responses.usages.end(end.usages)]
        outputs += adapter.stopped(calls, approvals, end.state)
        return [*outputs, self._finish(FinishReason(UnifiedFinishReason.TOOL_CALLS) if calls else None)]

    def break_off(self, error: Exception) -> list[adapter.AgentOutput]:
        """Takes the exception that ended the run, and returns what is left of it.

        The SDK raises also for a response that a limit or a filter has cut: what the model said until then is valid.

        Raises:
            LanguageModelError: What the model's server said of its failure, with the exception as its cause.
            Exception: The exception, where the server said nothing.
        """
        finish = self._responses.finish
        if finish is None or finish.outcome is Outcome.COMPLETED:
            raise error
        if finish.error is not None:
            raise finish.error from error
        return [*self._responses.release(), *self._responses.usages.end(()), finish]

    # The events

    def _item(self, event: Any) -> list[adapter.AgentOutput]:
        name = str(field_of(event, "name"))
        handler = _ITEMS.get(name)
        if handler is not None:
            return handler(self, field_of(event, "item"))
        return [] if name in _SAID_OTHERWISE else [Unmapped(name, {"type": "run_item_stream_event", "name": name})]

    def _agent_updated(self, event: Any) -> list[adapter.AgentOutput]:
        agent = field_of(event, "new_agent")
        outputs = self._responses.release()
        output_type = field_of(agent, "output_type")
        self._responses.is_structured = output_type is not None and output_type is not str
        before, self._agent = self._agent, str(field_of(agent, "name"))
        return outputs if before is None else [*outputs, adapter.Handover(self._agent)]

    # The end

    def _interruptions(self, items: Iterable[Any]) -> tuple[tuple[ToolCallPart, ...], tuple[adapter.Approval, ...]]:
        calls: dict[str, ToolCallPart] = {}
        approvals: list[adapter.Approval] = []  # of calls with one id all: the SDK runs each of them once it is allowed
        raws = [field_of(item, "raw_item") for item in items]
        for raw in sorted(raws, key=lambda one: self.tools.place(call_id_of(one))):
            call_id, name, arguments = call_id_of(raw), name_of(raw), arguments_of(raw)
            if name not in self._external:
                approvals.append(adapter.Approval(call_id, name, arguments))
            else:
                calls.setdefault(call_id, adapter.host_call(call_id, name, arguments))
        return tuple(calls.values()), tuple(approvals)

    def _result(self, value: Any) -> list[adapter.AgentOutput]:
        """What the run came to, unless it was said already. A result that no response said comes from a tool at which
        the run stops, or from a handler of errors."""
        if not isinstance(value, str | None):
            # Forgets the held text, because the result of the run says the same
            self._responses._held = []
            return [adapter.ResultObject(value)]
        outputs = self._responses.release()
        return [*outputs, *self._responses.result(value)] if value and not self._responses.is_answered else outputs

    def _finish(self, reason: FinishReason | None = None) -> Finish:
        last = self._responses.finish
        if last is None:
            return Finish(Outcome.COMPLETED, reason)
        return Finish(last.outcome, reason or last.reason, None, last.response_id, last.model)


def _as_mapping(data: Any) -> Mapping[str, Any]:
    """A raw event as its JSON. The client keeps values that its classes do not expect, and would warn of them."""
    dump = getattr(data, "model_dump", None)
    if not callable(dump):
        return dict(data)
    dumped: dict[str, Any] = dump(mode="json", warnings=False)
    return dumped


_EVENTS: Final[Mapping[str, Callable[[RunEvents, Any], list[adapter.AgentOutput]]]] = {
    "raw_response_event": lambda reader, event: reader._responses.feed(_as_mapping(field_of(event, "data"))),
    "run_item_stream_event": RunEvents._item,
    "agent_updated_stream_event": RunEvents._agent_updated,
}
_ITEMS: Final[Mapping[str, Callable[[RunEvents, Any], list[adapter.AgentOutput]]]] = {
    **dict.fromkeys(
        ("tool_called", "tool_search_called"), lambda reader, item: reader.tools.called(item, reader._responses.step)
    ),
    **dict.fromkeys(
        ("tool_output", "tool_search_output_created"),
        lambda reader, item: reader.tools.answered(item, reader._responses.step),
    ),
}
_SAID_OTHERWISE: Final = frozenset(
    {
        "message_output_created",
        "reasoning_item_created",
        "handoff_requested",
        "handoff_occured",  # the SDK's own spelling
        "handoff_occurred",
        "mcp_approval_requested",
        "mcp_approval_response",
        "mcp_list_tools",
    }
)
"""Items that say what raw events, the agent that goes on, or the interruptions say as well."""


# ---- The host's tools as function tools of the SDK, and an agent that has them ----


class ExtendedAgents:
    """Copies of agents that have the host's tools too: of the asked one, and of all that it may hand over to.

    Each agent has one copy, so that agents may hand over to each other.
    """

    def __init__(self, tools: Sequence[FunctionTool]) -> None:
        self._tools = tools
        self._copies: dict[int, Agent[Any]] = {}

    def copy_of(self, agent: Agent[Any]) -> Agent[Any]:
        """The copy of an agent; an agent that is a copy already is returned as it is."""
        if any(copy is agent for copy in self._copies.values()):
            return agent
        known = self._copies.get(id(agent))
        if known is not None:
            return known
        own = {tool.name for tool in agent.tools}
        added = [tool for tool in self._tools if tool.name not in own]
        handoffs: list[Agent[Any] | Handoff[Any, Any]] = []
        changed: dict[str, Any] = {"tools": [*agent.tools, *added], "handoffs": handoffs}
        if agent.tool_use_behavior == "stop_on_first_tool":
            # It means the agent's own tools: what the host returns goes back to the model.
            changed["tool_use_behavior"] = {"stop_at_tool_names": sorted(own)}
        copy = self._copies[id(agent)] = agent.clone(**changed)
        # Filled once the copy is known: agents may hand over to each other.
        handoffs += [self._handed_over(one) for one in agent.handoffs]
        return copy

    def _handed_over(self, handoff: Agent[Any] | Handoff[Any, Any]) -> Agent[Any] | Handoff[Any, Any]:
        """A handoff to the copy of its agent."""
        from agents import Handoff  # noqa: PLC0415 - only where the person's file has imported it

        if not isinstance(handoff, Handoff):
            return self.copy_of(handoff)
        invoke = handoff.on_invoke_handoff

        async def to_copy(context: Any, arguments: str) -> Agent[Any]:
            return self.copy_of(await invoke(context, arguments))

        copy = dataclasses.replace(handoff, on_invoke_handoff=to_copy)
        target = _target(handoff)
        if target is not None:
            copy._agent_ref = weakref.ref(self.copy_of(target))
        return copy


def agents_below(agent: Agent[Any]) -> Iterator[Agent[Any]]:
    """An agent, and all that it may hand over to, once each."""
    waiting: list[Agent[Any]] = [agent]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [target for handoff in one.handoffs if (target := _target(handoff)) is not None]


def own_tools(agent: Agent[Any]) -> frozenset[str]:
    """The names of the tools and of the handoffs that a model of the agents may call."""
    from agents import Handoff  # noqa: PLC0415 - only where the person's file has imported it

    names: set[str] = set()
    for one in agents_below(agent):
        names |= {tool.name for tool in one.tools}
        names |= {
            handoff.tool_name if isinstance(handoff, Handoff) else Handoff.default_tool_name(handoff)
            for handoff in one.handoffs
        }
    return frozenset(names)


def _target(handoff: Any) -> Agent[Any] | None:
    """The agent of a handoff, which may be the agent itself; None where the handoff makes it when it is called."""
    if not hasattr(handoff, "on_invoke_handoff"):
        agent: Agent[Any] = handoff
        return agent
    reference: Callable[[], Agent[Any] | None] | None = getattr(handoff, "_agent_ref", None)
    return None if reference is None else reference()


# ---- The state of a stopped run, as JSON and back ----


async def restored_state(
    agent: Agent[Any], request: adapter.AgentRequest, context: Any, max_turns: int | None
) -> RunState[Any, Agent[Any]] | None:
    """The state that a request goes on with, with what the host returned and the person decided; None where it belongs
    to another version of the SDK or of the agent: then the run is rebuilt.

    Args:
        context: The person's own object that the tools of the agent get.
        max_turns: The most requests to the model in this run, or None for any number.
    """
    from agents import RunState, UserError  # noqa: PLC0415 - only where the person's file has imported it

    if request.resumed is None:
        return None
    try:
        state = await RunState.from_json(
            agent, _as_given(request.resumed, max_turns), **({} if context is None else {"context_override": context})
        )
        for item in state.get_interruptions():
            call_id = call_id_of(item.raw_item)
            decision = request.decisions.get(call_id)
            if call_id in request.results or (decision is not None and decision.approved):
                state.approve(item)
            elif decision is not None:
                state.reject(item, rejection_message=decision.reason or None)
    except (UserError, KeyError, TypeError, ValueError):
        return None
    return state


def _as_given(state: Mapping[str, Any], max_turns: int | None) -> dict[str, Any]:
    """The state of a run with the whole limit of turns ahead, and with its input as :func:`run_arguments` gave it."""
    changed = dict(state)
    taken, given = state.get("current_turn"), state.get("original_input")
    # The SDK counts the turns of all runs of a state, and each call of a host's tool is a turn: a person would meet the
    # limit in the middle of ordinary work.
    if isinstance(taken, int) and "max_turns" in state:
        changed["max_turns"] = None if max_turns is None else taken + max_turns
    # The SDK writes messages of the assistant in pieces, and its own models of Chat Completions refuse that form (0.24,
    # `RunState._serialize_input`).
    if isinstance(given, list):
        changed["original_input"] = [message_as_text(item) for item in given]
    return changed


# ---- The adapter ----

_MOST_TURNS = 10
"""The SDK's own default, `DEFAULT_MAX_TURNS`."""


class OpenAIAgents:
    """Runs agents of the OpenAI Agents SDK; see :class:`partstream_agents.adapter.AgentAdapter`.

    An agent that needs more than the defaults comes in a pairing with an object of this class::

        as_model(AgentPairing(agent, OpenAIAgents(max_turns=30)), name="My agent")

    Args:
        max_turns: The most requests to the model in one run, until the next call of a host's tool; None for any number.
        context: The object that the tools of the agent get; shared by all runs.
        run_config: The SDK's settings of a run, such as `RunConfig(tracing_disabled=True)`; None for its defaults.
            Tracing is what the person has chosen there, or by the SDK's own switches.
    """

    framework: str = "OpenAI Agents SDK"
    tested: str = "0.21-0.24"
    errors: Mapping[str, FailureKind] = ERRORS

    def __init__(
        self, *, max_turns: int | None = _MOST_TURNS, context: object = None, run_config: RunConfig | None = None
    ) -> None:
        self._max_turns = max_turns
        self._context = context
        self._run_config = run_config

    def inner_tools(self, agent: Agent[Any]) -> Collection[str]:
        """The names of the agent's own tools, and of those that it may hand over to."""
        return own_tools(agent)

    def make_tools(self, request: adapter.AgentRequest) -> Sequence[Any]:
        """The host's tools of a request as function tools; an agent need not be made with them."""
        from agents import FunctionTool  # noqa: PLC0415 - only where the person's file has imported it

        async def returned(context: ToolContext[Any], _arguments: str) -> str | list[dict[str, Any]]:
            return tool_output(request.results[context.tool_call_id])

        return [
            FunctionTool(
                name=tool.name,
                description=tool.description,
                params_json_schema=dict(tool.input_schema or {}),
                on_invoke_tool=returned,
                strict_json_schema=False,
                needs_approval=True,
            )
            for tool in request.tools
        ]

    async def run(self, agent: Agent[Any], request: adapter.AgentRequest) -> AsyncGenerator[adapter.AgentOutput, None]:
        """See :class:`~partstream_agents.adapter.AgentAdapter`; raises also for a call of the host's tools
        whose arguments are no JSON object, and for a failure that the model's server reports."""
        from agents import Runner  # noqa: PLC0415 - only where the person's file has imported it

        whole = ExtendedAgents(self.make_tools(request)).copy_of(agent)
        own = (tool for one in agents_below(agent) for tool in one.tools)
        asking = {tool.name for tool in own if getattr(tool, "needs_approval", False)}
        events = RunEvents({tool.name for tool in request.tools}, asking)
        state = await restored_state(whole, request, self._context, self._max_turns)
        if state is None and request.resumed is not None:
            yield Unmapped("run_state", {"type": "run_state"})
        for item in () if state is None else state.get_interruptions():
            events.tools.expect(call_id_of(item.raw_item), name_of(item.raw_item), arguments_of(item.raw_item))
        given: Any = run_arguments(request) if state is None else state
        result = Runner.run_streamed(
            whole, given, context=self._context, max_turns=self._max_turns, run_config=self._settings(request)
        )
        async with aclosing(_outputs(result, events)) as outputs:
            async for output in outputs:
                yield output

    def _settings(self, request: adapter.AgentRequest) -> RunConfig | None:
        """The settings of a run: those of the person, and above them what the caller has chosen for this request."""
        chosen = chosen_settings(request)
        if not chosen:
            return self._run_config
        from agents import ModelSettings, RunConfig  # noqa: PLC0415 - see `run`

        settings = self._run_config or RunConfig()
        own = settings.model_settings
        above = ModelSettings(**chosen)
        return replace(settings, model_settings=above if own is None else own.resolve(above))


async def _outputs(result: RunResultStreaming, events: RunEvents) -> AsyncGenerator[adapter.AgentOutput, None]:
    """The outputs of a run, to its end. Leaving it stops the run."""
    before = len(_entries(result))
    stream: Any = result.stream_events()  # an asynchronous generator, annotated as an iterator
    try:
        async for event in stream:
            for output in events.read(event):
                yield output
    except Exception as error:
        for output in events.break_off(error):
            yield output
        return
    except BaseException:  # this generator is closed, or its task cancelled
        # Cancels the run, which closes the stream of its model, and waits for its tasks: they end while the events are
        # read on (the SDK's documentation of `cancel`). A failure meanwhile belongs to no response.
        result.cancel()
        with suppress(Exception):
            await stream.aclose()
        with suppress(Exception):
            async for _ in result.stream_events():
                pass
        raise
    interruptions = result.interruptions
    usages = [_usage(entry) for entry in _entries(result)[before:]]
    state = None
    if interruptions:
        from agents import UserError  # noqa: PLC0415 - only where the person's file has imported it

        with suppress(UserError):  # the SDK cannot say the state, as for two agents of one name
            state = result.to_state().to_json()
    for output in events.end(RunEnd(interruptions, result.final_output, state, usages)):
        yield output


def _entries(result: RunResultStreaming) -> Sequence[Any]:
    """The tokens of each request, also of those before the run went on."""
    return result.context_wrapper.usage.request_usage_entries


def _usage(entry: Any) -> Usage:
    return Usage(
        input_tokens=entry.input_tokens,
        output_tokens=entry.output_tokens,
        total_tokens=entry.total_tokens,
        cached_tokens=entry.input_tokens_details.cached_tokens,
        reasoning_tokens=entry.output_tokens_details.reasoning_tokens,
    )


ADAPTER: Final = OpenAIAgents()
"""Runs agents with the SDK's defaults."""
