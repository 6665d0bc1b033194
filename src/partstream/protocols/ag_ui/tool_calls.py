"""Reads the calls of a run: one with a result was run by the agent, all others are VS Code's to run.

Only the end of the run tells which is which (docs/wires/ai-sdk.md#ag-ui-calls), so calls without a result go out at the
end, whole and in the model's order. A call with a result never becomes a tool call of the answer: it is shown as a line
of thinking and as data (docs/wires/ai-sdk.md#activity-of-agents), and goes back to the agent with the next request.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import JSONDecodeError, dumps, loads, nests_too_deeply
from partstream.errors import ToolArgumentsError
from partstream.inner_activity import InnerCall, InnerResult, call_data, call_line, result_data, result_line
from partstream.outputs import Unmapped
from partstream.parts import tool_call_part
from partstream.protocols.ag_ui.carried_items import CALL, ENCRYPTED, MESSAGE, PARENT, TOOL_CALL_ID
from partstream.protocols.read_response import identifier, mapping, objects, read_arguments, text

if TYPE_CHECKING:
    from collections.abc import Collection

    from partstream.outputs import StreamOutput
    from partstream.protocols.ag_ui.carrying import Carrying
    from partstream.protocols.ag_ui.last_words import LastWords
    from partstream.protocols.ag_ui.steps import Steps
    from partstream.protocols.ag_ui.thinking import Thinking
    from partstream.protocols.read_response import Wire

__all__ = ["ToolCalls"]

_MOST_NESTED: Final = 65_536
"""The most characters of a result that are read as JSON, to count what is in it."""


@dataclass(slots=True)
class _Call:
    """A call as it streams."""

    call_id: str
    name: str | None
    parent: str | None
    step: int
    pieces: list[str] = field(default_factory=list)
    encrypted: str | None = None

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


class ToolCalls:
    """The calls of one run.

    Args:
        prefix: Stands before the id of each call that goes out.
        thinking: Shows what the agent does itself.
        carrying: Takes what goes back.
        steps: Knows which request to the model made a call.
        last_words: Takes results that may be the answer.

    Attributes:
        any_went_out: Whether VS Code has calls to run.
        broken: Why the first call cannot go out that VS Code should run, or None.
    """

    __slots__ = (
        "_calls",
        "_carrying",
        "_last_id",
        "_last_words",
        "_over",
        "_prefix",
        "_steps",
        "_thinking",
        "any_went_out",
        "broken",
    )

    def __init__(
        self, prefix: str, thinking: Thinking, carrying: Carrying, steps: Steps, last_words: LastWords
    ) -> None:
        self.any_went_out = False
        self.broken: ToolArgumentsError | None = None
        self._prefix = prefix
        self._thinking = thinking
        self._carrying = carrying
        self._steps = steps
        self._last_words = last_words
        self._calls: dict[str, _Call] = {}  # without a result
        self._over: set[str] = set()
        self._last_id: str | None = None

    def start(self, event: Wire, outputs: list[StreamOutput]) -> None:
        """Takes the beginning of a call; a second one of the same id is none."""
        call_id = identifier(event, "toolCallId")
        if call_id is None:
            outputs.append(Unmapped(f"{event['type']} (without an id)", event))
            return
        self._last_id = call_id
        if call_id in self._over:
            return
        name, parent = identifier(event, "toolCallName"), identifier(event, "parentMessageId")
        call = self._calls.setdefault(call_id, _Call(call_id, name, parent, self._steps.number))
        call.name = call.name or name
        call.parent = call.parent or parent

    def arguments(self, event: Wire, outputs: list[StreamOutput]) -> None:
        """Takes a piece of the arguments of a call, also of one that nothing has opened."""
        call_id = identifier(event, "toolCallId") or self._last_id
        if call_id is not None and call_id not in self._calls and call_id not in self._over:
            self.start({**event, "toolCallId": call_id}, outputs)
        if call_id in self._calls and (piece := text(event, "delta")):
            self._calls[call_id].pieces.append(piece)

    def chunk(self, event: Wire, outputs: list[StreamOutput]) -> None:
        """Takes a piece of a call, which also opens it if it names one."""
        if identifier(event, "toolCallId") is not None:
            self.start(event, outputs)
        self.arguments(event, outputs)

    def result(self, event: Wire, outputs: list[StreamOutput]) -> None:
        """Takes the result of a call: the agent has run it, in this run or in one before."""
        call_id = identifier(event, "toolCallId")
        if call_id is None or call_id in self._over:
            outputs.append(Unmapped(f"{event['type']} ({'again' if call_id else 'without an id'})", event))
            return
        self._over.add(call_id)
        self._thinking.settle()
        call = self._calls.pop(call_id, None)
        said = _said(event.get("content"))
        name = "" if call is None else call.name or ""
        step = self._steps.number if call is None else call.step
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
        self._last_words.read_tool(inner, outcome.content)
        message = {"role": "tool", "id": identifier(event, "messageId") or f"result-{call_id}", TOOL_CALL_ID: call_id}
        self._carrying.add({MESSAGE: message | {"content": self._carrying.budget.take(said)}})
        self._steps.ended()

    def read_snapshot(self, event: Wire) -> None:
        """Takes the whole conversation as the agent sees it: the calls without a result in what it has said last.

        LangGraph's server streams calls of models that stream, and loses arguments that come with the name of a call.
        The snapshot at the end of its run has all of them (ag-ui-langgraph 0.0.47).
        """
        said: dict[str, Wire] = {}
        for message in objects(event, "messages"):
            role = identifier(message, "role")
            if role == "user":
                said = {}
            elif role == "tool":
                said.pop(identifier(message, TOOL_CALL_ID) or "", None)
            said |= {text(call, "id"): call | {PARENT: message.get("id")} for call in objects(message, "toolCalls")}
        for call_id, wire in said.items():
            self._correct(call_id, wire)

    def _correct(self, call_id: str, wire: Wire) -> None:
        function = mapping(wire, "function")
        if not call_id or call_id in self._over:
            return
        call = self._calls.setdefault(
            call_id, _Call(call_id, identifier(function, "name"), identifier(wire, PARENT), self._steps.number)
        )
        if read_arguments(call.arguments or None) is None:
            call.pieces = [text(function, "arguments")]

    def encrypted(self, call_id: str, value: str) -> bool:
        """Takes the opaque value of a call; returns whether there is such a call."""
        call = self._calls.get(call_id)
        if call is not None:
            call.encrypted = value
        return call is not None

    def shown(self, call_id: str | None) -> InnerCall | None:
        """A call without a result as people read it; None for one that there is not."""
        call = self._calls.get(call_id or "")
        return None if call is None else InnerCall(call.call_id, call.name or "", _value(call.arguments), call.step)

    def hand_out(self, pending: Collection[str], outputs: list[StreamOutput]) -> None:
        """Emits the calls that VS Code has to run: the run is over and went well.

        Args:
            pending: Their ids, if the agent names them; all calls without a result if it names none.
            outputs: Takes them.
        """
        calls, self._calls = self._calls, {}
        if pending and not calls.keys().isdisjoint(pending):
            self._count((one for one in calls.values() if one.call_id not in pending), "without a result", outputs)
            calls = {call_id: one for call_id, one in calls.items() if call_id in pending}
        read = [(one, read_arguments(one.arguments)) for one in calls.values()]
        broken = [one for one, value in read if one.name is None or value is None]
        if broken:
            self._count(calls.values(), "incomplete", outputs)
            first = broken[0]
            expected = "a JSON object" if first.name else "a name for these arguments"
            self.broken = ToolArgumentsError(
                call_id=first.call_id, name=first.name, arguments=first.arguments, expected=expected
            )
            return
        for one in calls.values():
            if one.parent or one.encrypted:
                self._carrying.add({TOOL_CALL_ID: one.call_id, PARENT: one.parent, ENCRYPTED: one.encrypted})
        self._carrying.hand_out(outputs)
        for one, value in read:
            self.any_went_out = True
            outputs.append(tool_call_part(self._prefix + one.call_id, one.name or "", value or {}))

    def keep(self, outputs: list[StreamOutput]) -> None:
        """Keeps the calls without a result for the agent: it waits for a person, and runs them itself afterwards."""
        calls, self._calls = self._calls, {}
        for one in calls.values():
            self._carry(one, waits=True)
        self._count(calls.values(), "waits for an answer", outputs)

    def drop(self, outputs: list[StreamOutput]) -> None:
        """Counts the calls without a result of a run that did not end well."""
        calls, self._calls = self._calls, {}
        self._count(calls.values(), "of a run that broke off", outputs)

    def _carry(self, call: _Call, *, waits: bool = False) -> None:
        arguments = call.arguments if read_arguments(call.arguments or None) is not None else "{}"
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
        return "" if content is None else _json(content)
    said = []
    for part in content:
        kind = identifier(part, "type") or "part"
        said.append(text(part, "text") if kind == "text" else f"[{kind[:40]}]")
    return "\n".join(said)


def _value(said: str) -> Any:
    """What a text says as JSON, if it says an object or a list; else the text."""
    if said[:1] not in ("{", "[") or len(said) > _MOST_NESTED or nests_too_deeply(said):
        return said
    try:
        return loads(said)
    except JSONDecodeError:
        return said


def _json(value: Any) -> str:
    try:
        return dumps(value).decode()
    except (TypeError, ValueError, RecursionError):
        return str(type(value).__name__)
