"""The calls of one run: which of them the agent runs itself, which want to be allowed, which are left to the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partstream.agents.adapter import Approval
from partstream.agents.agent_framework.call_pieces import CallPieces, StreamedCall, parsed
from partstream.agents.agent_framework.hosted_tools import file_of, plain
from partstream.errors import ToolArgumentsError
from partstream.inner_activity import InnerCall, InnerResult
from partstream.parts import TextPart, ToolCallPart

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from partstream.agents.adapter import AgentOutput

__all__ = ["InnerTools"]


class InnerTools:
    """The calls of one run.

    Args:
        external: The names of the host's tools.
        asking: The names of the agent's own tools that want to be allowed. The framework runs no tool of a batch that
            holds one of them: their calls are shown once they have run.
    """

    def __init__(self, external: Collection[str], asking: Collection[str]) -> None:
        self._external = external
        self._asking = asking
        self._batch = CallPieces()
        self._waiting: dict[str, InnerCall] = {}
        self._names: dict[str, InnerCall] = {}
        self._answered: set[str] = set()
        self._handed_out: dict[str, StreamedCall] = {}
        self._asked: dict[str, Any] = {}

    def called(self, content: Any, step: int) -> list[AgentOutput]:
        """Takes a piece of a call; one that the model's provider runs itself is whole and runs at once."""
        if not getattr(content, "informational_only", False) and not getattr(content, "hosted", None):
            self._batch.add(content)
            return []
        call = InnerCall(content.call_id, content.name, parsed(content.arguments), step)
        if call.call_id in self._names:
            return []
        self._names[call.call_id] = call
        return [call]

    def end_batch(self, step: int) -> list[AgentOutput]:
        """The calls of a response are whole; returns those that the agent runs now."""
        batch, self._batch = self._batch, CallPieces()
        waits = any(call.name in self._asking for call in batch)
        outputs: list[AgentOutput] = []
        for call in batch:
            if call.call_id in self._names or call.call_id in self._handed_out:
                continue
            if call.name in self._external:
                self._handed_out[call.call_id] = call
                continue
            inner = self._names[call.call_id] = InnerCall(call.call_id, call.name, call.arguments, step)
            if waits:
                self._waiting[call.call_id] = inner
            else:
                outputs.append(inner)
        return outputs

    def expect(self, calls: Iterable[Mapping[str, Any]]) -> None:
        """Notes calls of an earlier run, as :attr:`open_calls` said them, whose results are still to come."""
        for call in calls:
            inner = InnerCall(call["call_id"], call["name"], call["arguments"])
            self._names[inner.call_id] = self._waiting[inner.call_id] = inner

    def answered(self, content: Any, step: int) -> list[AgentOutput]:
        """A tool of the agent has returned; what the host returned stands in the conversation already."""
        outputs: list[AgentOutput] = []
        if (waiting := self._waiting.pop(content.call_id, None)) is not None:
            outputs.append(waiting)
        call = self._names.get(content.call_id)
        if call is None or content.call_id in self._answered:
            return outputs
        self._answered.add(content.call_id)
        items = content.items or ()
        value = content.result if content.result is not None else plain(items)
        outputs.append(InnerResult(call.call_id, call.name, value, bool(content.exception), max(call.step, 1)))
        files = (file_of(item) for item in items)
        return [*outputs, *(file for file in files if file is not None and not isinstance(file, TextPart))]

    def asked(self, content: Any) -> None:
        """A call wants to be allowed."""
        self._asked[content.function_call.call_id] = content

    @property
    def requests(self) -> tuple[Any, ...]:
        """The contents by which the framework asks, as it wants them back."""
        return tuple(self._asked.values())

    @property
    def open_calls(self) -> list[dict[str, Any]]:
        """The agent's own calls that have not run, as JSON."""
        calls = self._waiting.values()
        return [{"call_id": call.call_id, "name": call.name, "arguments": call.arguments} for call in calls]

    def approvals(self) -> tuple[Approval, ...]:
        """The calls that want to be allowed."""
        calls = [content.function_call for content in self._asked.values()]
        return tuple(Approval(call.call_id, call.name, parsed(call.arguments)) for call in calls)

    def external_calls(self) -> tuple[ToolCallPart, ...]:
        """The calls that are left to the host, in the model's order, each id once.

        Raises:
            ToolArgumentsError: The arguments of one are no JSON object.
        """
        parts: list[ToolCallPart] = []
        for call in self._handed_out.values():
            arguments = call.arguments
            if not isinstance(arguments, dict):
                raise ToolArgumentsError(call_id=call.call_id, name=call.name, arguments=str(arguments))
            parts.append(ToolCallPart(call.call_id, call.name, arguments))
        return tuple(parts)
