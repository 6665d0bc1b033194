"""The events of a graph's run as outputs: one object a run, without I/O and without the framework.

Shapes: `graph.astream(stream_mode=[...], subgraphs=True)`; with `version="v2"` `{"type", "ns", "data"}`, before
LangGraph 1.1 a tuple `(ns, mode, data)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.agents.adapter import ExternalCalls, ResultObject
from partstream.agents.langchain.calls import RunCalls
from partstream.agents.langchain.custom_data import custom_outputs
from partstream.agents.langchain.interrupts import RunInterrupt, asked_of
from partstream.agents.langchain.spoken_messages import SpokenMessages
from partstream.outputs import Unmapped

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from partstream.agents.adapter import AgentOutput
    from partstream.parts import ToolCallPart

__all__ = ["STREAM_MODES", "GraphEvents"]

STREAM_MODES: Final = ("messages", "updates", "custom", "values")
"""What a run is asked to stream. Tokens come only with `messages`, the state of the end only with `values`."""

_RESULT: Final = "structured_response"
"""The field of the state in which `create_agent` puts the object that it was asked for."""


class GraphEvents:
    """Reads the events of one run.

    Args:
        host_tools: The names of the host's tools.
        answer_nodes: The nodes or sub-graphs whose text is the answer; None for all nodes of the graph itself.
        tool_nodes: The nodes that run tools: what a model says there is no answer.
        output: Makes the answer of the last state; None where the graph says its answer.

    Attributes:
        calls: The calls of the run.
        state: The state of the graph after the last step; None before the first.
    """

    def __init__(
        self,
        host_tools: Collection[str] = (),
        answer_nodes: Collection[str] | None = None,
        tool_nodes: Collection[str] = ("tools",),
        output: Callable[[Any], Any] | None = None,
    ) -> None:
        self.calls = RunCalls(host_tools)
        self.state: Any = None
        self._output = output
        self._has_answer_nodes = answer_nodes is not None
        self._spoken = SpokenMessages(answer_nodes, tool_nodes)
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
        state = self.state
        found = state.get("messages") if isinstance(state, dict) else getattr(state, "messages", None)
        return found if isinstance(found, list) else []

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
        others = _other_fields(self.state)
        return [ResultObject(others)] if others else []

    def _messages(self, namespace: tuple[str, ...], data: Any) -> list[AgentOutput]:
        message, metadata = data
        return self._spoken.read(namespace, message, metadata)

    def _updates(self, namespace: tuple[str, ...], data: Mapping[str, Any]) -> list[AgentOutput]:
        outputs: list[AgentOutput] = []
        for node, update in data.items():
            if node == "__interrupt__":
                self._interrupts = {**(self._interrupts or {}), **{one.id: one for one in update}}
            elif not node.startswith("__"):
                for fields in update if isinstance(update, list) else [update]:
                    outputs += self._update(namespace, fields)
        return outputs

    def _update(self, namespace: tuple[str, ...], fields: Any) -> list[AgentOutput]:
        if not isinstance(fields, dict):
            return []
        result = fields.get(_RESULT)
        if result is not None and not namespace:
            self._result = result
        messages = [one for value in fields.values() for one in _messages_in(value)]
        return self.calls.read(messages, self._spoken.step, is_result=result is not None)

    def _values(self, namespace: tuple[str, ...], data: Any) -> list[AgentOutput]:
        if namespace:
            return []
        is_first, self.state = self.state is None, data
        if is_first:
            self.calls.know(self.messages)
            self._spoken.know(self.messages)
        return []

    def _custom(self, namespace: tuple[str, ...], data: Any) -> list[AgentOutput]:
        del namespace
        return custom_outputs(data)


_HANDLERS: Final[Mapping[Any, Callable[[GraphEvents, tuple[str, ...], Any], list[AgentOutput]]]] = {
    "messages": GraphEvents._messages,
    "updates": GraphEvents._updates,
    "values": GraphEvents._values,
    "custom": GraphEvents._custom,
}
"""What becomes of an event, by its mode."""


def _other_fields(state: Any) -> Any:
    """The state of a graph that answers with other fields than messages."""
    if not isinstance(state, dict):
        return None if hasattr(state, "messages") else state
    return {name: value for name, value in state.items() if name != "messages"}


def _messages_in(value: Any) -> list[Any]:
    """The messages of models and tools in a field of an update: one, or a list."""
    values = value if isinstance(value, list) else [value]
    return [one for one in values if hasattr(one, "tool_calls") or hasattr(one, "tool_call_id")]
