"""The events of a run as outputs; without I/O, one object a run.

Three kinds of events come side by side: raw events of the model's responses, which hold all text and thinking; items,
which say what the SDK does with the calls of a response; and the agent that goes on. Source: OpenAI Agents SDK 0.24,
`agents.stream_events`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from partstream.agents.adapter import Approval, ApprovalAsked, ExternalCalls, Handover, KeptState, ResultObject
from partstream.agents.openai_agents.inner_responses import InnerResponses
from partstream.agents.openai_agents.inner_tools import InnerTools, arguments_of, call_id_of, field_of, name_of
from partstream.errors import ToolArgumentsError
from partstream.outputs import Finish, Outcome, Unmapped
from partstream.parts import ToolCallPart
from partstream.usage import FinishReason, UnifiedFinishReason

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from partstream.agents.adapter import AgentOutput
    from partstream.usage import Usage

__all__ = ["RunEnd", "RunEvents"]


@dataclass(frozen=True, slots=True)
class RunEnd:
    """What the SDK says of a run that is over.

    Attributes:
        interruptions: The calls that it did not run, as its approval items.
        final_output: The result: a text, or an object of the agent's output type; None for a run that was interrupted.
        state: The state of the run as JSON; None where it cannot be kept.
        usages: The tokens of all requests of this run, those of agents below it among them.
    """

    interruptions: Sequence[Any] = ()
    final_output: Any = None
    state: Mapping[str, Any] | None = field(default=None, repr=False)
    usages: Sequence[Usage] = ()


class RunEvents:
    """Reads the events of one run.

    Args:
        external: The names of the host's tools.
        asking: The names of the agent's own tools that may want to be allowed.
    """

    def __init__(self, external: Collection[str] = (), asking: Collection[str] = ()) -> None:
        self._external = external
        self._responses = InnerResponses()
        self._tools = InnerTools(external, asking)
        self._agent: str | None = None

    @property
    def tools(self) -> InnerTools:
        """The calls of the run; those of an earlier run are added to them before the first event."""
        return self._tools

    def read(self, event: Any) -> list[AgentOutput]:
        """Takes the next event of the SDK; one that nobody knows comes out as it is."""
        kind = field_of(event, "type")
        handler = _EVENTS.get(kind)
        return [Unmapped(str(kind), {"type": kind})] if handler is None else handler(self, event)

    def end(self, end: RunEnd) -> list[AgentOutput]:
        """Takes the end of the run, and returns what is left of it, with the `Finish`.

        Raises:
            ToolArgumentsError: The arguments of a call for the host are no JSON object.
        """
        calls, approvals = self._interruptions(end.interruptions)
        if not calls and not approvals:
            return [*self._result(end.final_output), *self._responses.usages.end(end.usages), self._finish()]
        outputs = [*self._responses.release(), *self._responses.usages.end(end.usages)]
        if calls:
            outputs.append(ExternalCalls(calls))
        if approvals:
            outputs.append(ApprovalAsked(approvals))
        if end.state is not None:
            outputs.append(KeptState(end.state))
        return [*outputs, self._finish(FinishReason(UnifiedFinishReason.TOOL_CALLS) if calls else None)]

    def break_off(self, error: Exception) -> list[AgentOutput]:
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

    def _raw(self, event: Any) -> list[AgentOutput]:
        return self._responses.feed(_as_mapping(field_of(event, "data")))

    def _item(self, event: Any) -> list[AgentOutput]:
        name = str(field_of(event, "name"))
        handler = _ITEMS.get(name)
        if handler is not None:
            return handler(self, field_of(event, "item"))
        return [] if name in _SAID_OTHERWISE else [Unmapped(name, {"type": "run_item_stream_event", "name": name})]

    def _called(self, item: Any) -> list[AgentOutput]:
        return self._tools.called(item, self._responses.step)

    def _answered(self, item: Any) -> list[AgentOutput]:
        return self._tools.answered(item, self._responses.step)

    def _agent_updated(self, event: Any) -> list[AgentOutput]:
        agent = field_of(event, "new_agent")
        outputs = self._responses.release()
        self._responses.is_structured = _is_structured(field_of(agent, "output_type"))
        before, self._agent = self._agent, str(field_of(agent, "name"))
        return outputs if before is None else [*outputs, Handover(self._agent)]

    # The end

    def _interruptions(self, items: Iterable[Any]) -> tuple[tuple[ToolCallPart, ...], tuple[Approval, ...]]:
        calls: dict[str, ToolCallPart] = {}
        approvals: dict[str, Approval] = {}
        raws = [field_of(item, "raw_item") for item in items]
        for raw in sorted(raws, key=lambda one: self._tools.place(call_id_of(one))):
            call_id, name, arguments = call_id_of(raw), name_of(raw), arguments_of(raw)
            if name not in self._external:
                approvals.setdefault(call_id, Approval(call_id, name, arguments))
            elif isinstance(arguments, dict):
                calls.setdefault(call_id, ToolCallPart(call_id, name, arguments))
            else:
                raise ToolArgumentsError(call_id=call_id, name=name, arguments=str(arguments))
        return tuple(calls.values()), tuple(approvals.values())

    def _result(self, value: Any) -> list[AgentOutput]:
        """What the run came to, unless it was said already. A result that no response said comes from a tool at which
        the run stops, or from a handler of errors."""
        if not isinstance(value, str | None):
            self._responses.discard()
            return [ResultObject(value)]
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


def _is_structured(output_type: object) -> bool:
    """Whether the text of an agent is a JSON document: its output type is none, or a text, otherwise."""
    return output_type is not None and output_type is not str


_EVENTS: Final[Mapping[str, Callable[[RunEvents, Any], list[AgentOutput]]]] = {
    "raw_response_event": RunEvents._raw,
    "run_item_stream_event": RunEvents._item,
    "agent_updated_stream_event": RunEvents._agent_updated,
}
_ITEMS: Final[Mapping[str, Callable[[RunEvents, Any], list[AgentOutput]]]] = {
    "tool_called": RunEvents._called,
    "tool_search_called": RunEvents._called,
    "tool_output": RunEvents._answered,
    "tool_search_output_created": RunEvents._answered,
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
