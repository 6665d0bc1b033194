"""Assembles the function calls of one response from fragments; hands each out once, whole.

A call can be known to be complete at three points, and what counts as complete differs: a table says how. Nothing is
handed out before its arguments are a JSON object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.conversation.digest import canonical_json
from partstream.errors import ToolArgumentsError
from partstream.protocols.openresponses.fields import Wire, identifier
from partstream.protocols.openresponses.items import SAME_ID, Item, Items, MatchRule
from partstream.protocols.read_response import read_arguments

if TYPE_CHECKING:
    from collections.abc import Hashable

    from partstream.outputs import StreamOutput

__all__ = ["ARGUMENTS_DONE", "ITEM_DONE", "RESPONSE_DONE", "CompleteCall", "ToolCall", "ToolCalls"]


class EmissionPoint(NamedTuple):
    """The points at which a call may be handed out.

    Attributes:
        empty_is_complete: Whether no arguments at all mean `{}`. At `function_call_arguments.done` they do not:
            servers that send an empty string there say the arguments in `output_item.done`.
        must_be_whole: Whether arguments that are not a JSON object are an error; before that, a later point may
            still say them.
    """

    empty_is_complete: bool
    must_be_whole: bool


ARGUMENTS_DONE: Final = EmissionPoint(empty_is_complete=False, must_be_whole=False)
ITEM_DONE: Final = EmissionPoint(empty_is_complete=True, must_be_whole=False)
RESPONSE_DONE: Final = EmissionPoint(empty_is_complete=True, must_be_whole=True)


class CompleteCall(NamedTuple):
    """A call that is ready to be handed out; the call id is the upstream's, without a prefix."""

    call_id: str
    name: str
    input: dict[str, Any]


class ToolCall(Item):
    """A function call item.

    Attributes:
        call_id: What results refer to; None until an item said it. Without one, results refer to the item.
        name: The function; None until an item said it.
        cut: Whether the item ended with the status `incomplete`: it will never be whole.
        emitted: Whether it was handed out.
        deltas: The pieces of the arguments that arrived; all that came before the last look at them is one.
    """

    __slots__ = ("_arguments", "_read", "call_id", "cut", "deltas", "emitted", "name")

    def __init__(self, item_id: str | None, output_index: int | None) -> None:
        super().__init__(item_id, output_index)
        self.call_id: str | None = None
        self.name: str | None = None
        self.cut = False
        self.emitted = False
        self.deltas: list[str] = []
        self._arguments: dict[str, str | dict[str, Any]] = {}
        self._read: tuple[str | dict[str, Any], dict[str, Any] | None] | None = None

    def say_arguments(self, source: str, arguments: object) -> None:
        """Takes the whole arguments from one of the sources in :data:`_PRECEDENCE`."""
        if isinstance(arguments, dict) or (isinstance(arguments, str) and arguments.strip()):
            self._arguments[source] = arguments

    def read(self, item: Wire) -> None:
        """Takes name and ids from a function call item; a later item corrects an earlier one."""
        self.call_id = identifier(item, "call_id") or self.call_id
        self.id = self.id or identifier(item, "id")
        self.name = identifier(item, "name") or self.name
        self.cut = item.get("status") == "incomplete"

    @property
    def arguments(self) -> str | dict[str, Any]:
        """The arguments of the most trusted source; empty if no source gave any.

        Some servers send ciphertext in the deltas and plain text in the end (GitHub Copilot), some send no deltas
        (LM Studio), some say nothing in the end (docs/wires/openresponses.md#which-arguments-count).
        """
        for source in _PRECEDENCE:
            if source == "deltas" and self.deltas:
                if len(self.deltas) > 1:
                    self.deltas[:] = ["".join(self.deltas)]
                if self.deltas[0]:
                    return self.deltas[0]
            if source in self._arguments:
                return self._arguments[source]
        return ""

    def complete(self, point: EmissionPoint) -> CompleteCall | None:
        """The call, if it is complete at `point`; else None.

        Raises:
            ToolArgumentsError: It will never be: the point is the last one and something is missing or wrong.
        """
        if self.emitted or self.cut:
            return None
        arguments = self.arguments
        value = self._value(arguments)
        usable = value is not None and (point.empty_is_complete or bool(arguments))
        call_id = self.call_id or (self.id if point.must_be_whole else None)
        if value is not None and usable and call_id is not None and self.name is not None:
            return CompleteCall(call_id, self.name, value)
        if point.must_be_whole:
            raise ToolArgumentsError(
                call_id=self.call_id,
                name=self.name,
                arguments=str(arguments),
                expected="a JSON object" if self.name else "a name and a call id for these arguments",
            )
        return None

    def _value(self, arguments: str | dict[str, Any]) -> dict[str, Any] | None:
        """The object that the arguments are, or None. It is read once, however often an event says that they end."""
        if self._read is None or self._read[0] is not arguments:
            self._read = arguments, read_arguments(arguments)
        return self._read[1]


_PRECEDENCE: Final = ("item", "done", "deltas", "added")
"""The most trusted source comes first (docs/wires/openresponses.md#which-arguments-count)."""


class ToolCalls(Items[ToolCall]):
    """All function calls of one response."""

    __slots__ = ("_emitted",)

    def __init__(self) -> None:
        super().__init__(ToolCall)
        self._emitted: set[str] = set()

    def sink(self, event: Any, _outputs: list[StreamOutput]) -> bool:
        """The fast path for argument deltas; see :class:`partstream.outputs.ResponseStream`."""
        place, delta = event.output_index, event.delta
        call = self._by_index.get(place)
        if call is None or call.closed or type(delta) is not str or type(place) is not int:
            return False
        call.deltas.append(delta)
        return True

    def take(self, call: ToolCall, point: EmissionPoint) -> CompleteCall | None:
        """Hands out `call` if it is complete at `point` and its id was not handed out before.

        Raises:
            ToolArgumentsError: It will never be complete.
        """
        complete = call.complete(point)
        if complete is None:
            return None
        call.emitted = True
        if complete.call_id in self._emitted:
            return None
        self._emitted.add(complete.call_id)
        return complete

    def was_emitted(self, call: ToolCall) -> bool:
        """Whether `call`, or another one with its call id, was handed out."""
        return call.emitted or call.call_id in self._emitted

    def closing(self, item_id: str | None, output_index: int | None, item: Wire) -> ToolCall:
        """The call that an `output_item.done` closes; a new one if the call found was closed under another id."""
        found = self.find(item_id, output_index)
        call_id = identifier(item, "call_id")
        if found.closed and call_id is not None and call_id != found.call_id:
            return self._add(item_id, output_index)
        return found

    def pair(self, snapshot: list[tuple[int, Wire]]) -> dict[int, ToolCall]:
        """Pairs the function calls of the final snapshot, given with their places, with those seen before.

        By call id or item id first; then, because some servers give new ids in the snapshot (vLLM), by name and
        arguments, then by place and name, the last for calls whose name nobody has said.
        """
        return self.match_snapshot(snapshot, _RULES)


def _content(name: str | None, arguments: object) -> Hashable | None:
    """What calls with the same name and arguments have in common, however the JSON of the arguments is written."""
    value = read_arguments(arguments) if isinstance(arguments, str | dict) else None
    if value is not None:
        return name, canonical_json(value)
    return (name, arguments) if isinstance(arguments, str) else None


_RULES: Final = (
    MatchRule(lambda call: call.call_id, lambda _place, wire: identifier(wire, "call_id")),
    SAME_ID,
    MatchRule(
        lambda call: _content(call.name, call.arguments),
        lambda _place, wire: _content(identifier(wire, "name"), wire.get("arguments") or ""),
    ),
    MatchRule(
        lambda call: None if None in (call.output_index, call.name) else (call.output_index, call.name),
        lambda place, wire: (place, identifier(wire, "name")),
    ),
    MatchRule(lambda call: call.output_index if call.name is None else None, lambda place, _wire: place),
)
