"""The calls that the messages of a run hold: the agent's own, handovers, and those of the host. Needs no framework."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from partstream.agents.adapter import Handover
from partstream.agents.langchain.placeholders import is_placeholder
from partstream.inner_activity import InnerCall, InnerResult
from partstream.parts import ToolCallPart, tool_call_part

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from partstream.agents.adapter import AgentOutput

__all__ = ["RunCalls"]

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
    """The calls of one run, each message read once: graphs repeat messages in their updates.

    Args:
        host_tools: The names of the host's tools.
    """

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
            messages: The messages.
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
                outputs += [self._shown(call) for call in self._open(message, step) if self._is_shown(call, silent)]
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

    def _is_shown(self, call: _Call, silent: Collection[str]) -> bool:
        return call.name not in self._host_tools and call.call_id not in silent

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
    if not isinstance(content, list):
        return content
    texts = [block.get("text") if isinstance(block, dict) else block for block in content]
    known = [text for text in texts if isinstance(text, str)]
    return "".join(known) if len(known) == len(texts) else content
