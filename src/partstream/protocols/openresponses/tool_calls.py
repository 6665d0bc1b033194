"""Finds the output item of an event, whatever the server left out, rotated or used twice.

Events of arguments carry `item_id` and `output_index`, and no call id (docs/wires/openresponses.md#identity-of-a-call).
GitHub Copilot changes item ids with every event and keeps `output_index`; Ollama and LiteLLM use one `output_index` for
several items; llama.cpp leaves indices out; vLLM leaves `output_item.added` out. So an item is found by kind and
`output_index`, then by kind and `item_id`, then as the only open item of its kind that no field contradicts.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from partstream.conversation.turns import canonical_json
from partstream.errors import ToolArgumentsError
from partstream.lm.outputs import StreamOutput, Unmapped
from partstream.lm.parts import tool_call_part
from partstream.protocols.openresponses.errors import Wire, identifier, index, text
from partstream.protocols.read_response import read_arguments

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from partstream.lm.outputs import FastPath


# ---- items ----

Close: TypeAlias = Callable[[Wire, list[StreamOutput], Wire], None]
"""Closes one item: given the event, the outputs, and the item as the event says it."""


class Item:
    """An output item; kinds of items derive from it.

    Attributes:
        id: The first identifier that it had, or None.
        output_index: Its place in the response's output, or None.
        announced: Whether `output_item.added` introduced it; otherwise another event implied it.
        closed: Whether `output_item.done` was seen.
    """

    __slots__ = ("announced", "closed", "id", "output_index")

    def __init__(self, item_id: str | None, output_index: int | None) -> None:
        self.id = item_id
        self.output_index = output_index
        self.announced = False
        self.closed = False


ItemT = TypeVar("ItemT", bound=Item)


class MatchRule(NamedTuple):
    """A rule for :meth:`Items.match_snapshot`: an item and a wire item are partners when their keys are equal.

    Attributes:
        of_item: The key of an item; None for an item that the rule does not apply to.
        of_wire: The key of an item of the snapshot, given its place.
    """

    of_item: Callable[[Any], Hashable | None]
    of_wire: Callable[[int, Wire], Hashable | None]


SAME_ID: Final = MatchRule(lambda item: item.id, lambda _place, wire: identifier(wire, "id"))
SAME_PLACE: Final = MatchRule(lambda item: item.output_index, lambda place, _wire: place)
IN_ORDER: Final = MatchRule(lambda _item: True, lambda _place, _wire: True)
"""The first one that is left."""


class _Candidates(Generic[ItemT]):
    """Items that an event without an index may mean, in order of first appearance.

    Args:
        may_be_meant: Whether an item may still be meant. One that may not never may again, and is dropped when it is
            met: each search costs no more than what it drops.
    """

    __slots__ = ("_items", "_may_be_meant")

    def __init__(self, may_be_meant: Callable[[ItemT], bool]) -> None:
        self._may_be_meant = may_be_meant
        self._items: OrderedDict[ItemT, None] = OrderedDict()

    def add(self, item: ItemT) -> None:
        """Takes one more item; one that is there already stays where it is."""
        self._items[item] = None

    def first_two(self) -> list[ItemT]:
        """The first two that may be meant, or fewer; nobody needs to know more than whether there is only one."""
        found: list[ItemT] = []
        gone: list[ItemT] = []
        for item in self._items:
            (found if self._may_be_meant(item) else gone).append(item)
            if len(found) == _TWO:
                break
        for item in gone:
            del self._items[item]
        return found


_TWO: Final = 2


class Items(Generic[ItemT]):
    """All items of one kind in one response, in order of first appearance."""

    __slots__ = ("_announced", "_by_id", "_by_index", "_make", "_nameless", "_open", "_unplaced", "all")

    def __init__(self, make: Callable[[str | None, int | None], ItemT]) -> None:
        self._make = make
        self._by_index: dict[int, ItemT] = {}
        self._by_id: dict[str, ItemT] = {}
        self.all: list[ItemT] = []
        self._open = _Candidates[ItemT](lambda item: not item.closed)
        self._announced = _Candidates[ItemT](lambda item: not item.closed)
        self._unplaced = _Candidates[ItemT](lambda item: not item.closed)
        self._nameless = _Candidates[ItemT](lambda item: not item.closed and item.id is None)

    def announce(self, item_id: str | None, output_index: int | None) -> ItemT:
        """The item that `output_item.added` introduces.

        It is new unless its id is known, or earlier events have implied it.
        """
        known = self._by_id.get(item_id) if item_id is not None else None
        if known is not None and None not in (output_index, known.output_index) and known.output_index != output_index:
            known = None  # one id for two items: the index tells them apart
        if known is None and output_index is not None:
            at_index = self._by_index.get(output_index)
            known = at_index if at_index is not None and not at_index.announced and not at_index.closed else None
        item = known or self._add(item_id, output_index)
        item.announced = True
        self._announced.add(item)
        if item.output_index is None:
            self._unplaced.add(item)
        return item

    def find(self, item_id: str | None, output_index: int | None) -> ItemT:
        """The item that an event names; a new, implied item if none fits."""
        return self.known(item_id, output_index) or self._add(item_id, output_index)

    def known(self, item_id: str | None, output_index: int | None) -> ItemT | None:
        """The item that an event names; None if none fits."""
        by_id = self._by_id.get(item_id) if item_id is not None else None
        if output_index is None:
            return by_id or self._only_candidate(item_id)
        at_index = self._by_index.get(output_index)
        if at_index is None:
            return by_id or self._only_unplaced()
        if at_index.closed and by_id is not None:
            return at_index if at_index.id == item_id else by_id
        if at_index.closed and item_id is not None and item_id != at_index.id and not at_index.announced:
            return None  # the index is used a second time, and nothing announced the second item
        return at_index

    def match_snapshot(self, snapshot: list[tuple[int, Wire]], rules: Sequence[MatchRule]) -> dict[int, ItemT]:
        """Pairs the items of the final snapshot, given with their places, with those seen before.

        The rules are tried in order, each on all that is still without a partner; what stays without one is new.
        """
        pairs: dict[int, ItemT] = {}
        left = dict.fromkeys(self.all)
        for rule in rules:
            by_key: dict[Hashable, deque[ItemT]] = {}
            for item in left:
                if (key := rule.of_item(item)) is not None:
                    by_key.setdefault(key, deque()).append(item)
            for place, wire in snapshot:
                partners = by_key.get(rule.of_wire(place, wire)) if by_key and place not in pairs else None
                if partners:
                    pairs[place] = partners.popleft()
                    del left[pairs[place]]
        return {place: pairs.get(place) or self._add(identifier(wire, "id"), place) for place, wire in snapshot}

    def _only_candidate(self, item_id: str | None) -> ItemT | None:
        """For an event without an index: an implied item with another id is another item."""
        if item_id is None:
            return _only(self._open.first_two())
        return _only({*self._announced.first_two(), *self._nameless.first_two()})

    def _only_unplaced(self) -> ItemT | None:
        """For an event with an unknown index: only an item that never had an index can be meant."""
        return _only(self._unplaced.first_two())

    def _add(self, item_id: str | None, output_index: int | None) -> ItemT:
        item = self._make(item_id, output_index)
        self.all.append(item)
        self._open.add(item)
        if item_id is None:
            self._nameless.add(item)
        if output_index is not None:
            self._by_index[output_index] = item
        if item_id is not None:
            self._by_id[item_id] = item
        return item


def _only(candidates: Collection[ItemT]) -> ItemT | None:
    return next(iter(candidates)) if len(candidates) == 1 else None


# ---- tool calls ----
# Assembles the function calls of one response from fragments; hands each out once, whole.
#
# A call can be known to be complete at three points, and what counts as complete differs: a table says how. Nothing
# is handed out before its arguments are a JSON object.


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
        """The fast path for argument deltas; see :class:`partstream.lm.outputs.ResponseStream`."""
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


# ---- call events ----
# Handles the events of function calls: collects arguments, and hands each call out once.


class CallEvents:
    """Handlers of the events of function calls, and the calls that they fill.

    Args:
        prefix: What is put before the call ids.
        release: Emits the text that was held back, before a call is emitted.
    """

    def __init__(self, prefix: str, release: Callable[[list[StreamOutput]], None]) -> None:
        self._prefix = prefix
        self._release = release
        self._calls = ToolCalls()

    def arguments_delta(self, event: Wire, _outputs: list[StreamOutput], _argument: None) -> FastPath:
        """Adds a piece of the arguments; returns the fast path for further pieces."""
        self._call(event).deltas.append(text(event, "delta"))
        return self._calls.sink

    def arguments_done(self, event: Wire, outputs: list[StreamOutput], _argument: None) -> None:
        """Takes the whole arguments."""
        self._release(outputs)
        call = self._call(event)
        call.say_arguments("done", event.get("arguments"))
        self._emit(call, ARGUMENTS_DONE, outputs)

    def added(self, event: Wire, _outputs: list[StreamOutput], item: Wire) -> None:
        """A call begins."""
        call = self._calls.announce(identifier(item, "id"), index(event, "output_index"))
        if not call.closed:
            call.read(item)
            call.say_arguments("added", item.get("arguments"))

    def done(self, event: Wire, outputs: list[StreamOutput], item: Wire) -> None:
        """A call ends."""
        self._release(outputs)
        call = self._calls.closing(identifier(item, "id"), index(event, "output_index"), item)
        call.closed = True
        call.read(item)
        call.say_arguments("item", item.get("arguments"))
        self._emit(call, ITEM_DONE, outputs)

    def pair(self, snapshot: list[tuple[int, Wire]], status: str) -> dict[int, Close]:
        """Closes each call in the final snapshot of a response with this status, by its place."""
        return {place: partial(self._in_snapshot, call, status) for place, call in self._calls.pair(snapshot).items()}

    def _in_snapshot(self, call: ToolCall, status: str, _event: Wire, outputs: list[StreamOutput], item: Wire) -> None:
        if call.emitted or status == "failed":
            return
        if status == "incomplete" and item.get("status") != "completed":
            return
        call.read(item)
        call.say_arguments("item", item.get("arguments"))
        self._emit(call, RESPONSE_DONE, outputs)

    def at_end(self, status: str, event: Wire, outputs: list[StreamOutput]) -> None:
        """Hands out the calls that no event closed.

        A completed response has completed them too; one that was cut has not, and half a call is never handed
        out.
        """
        for call in self._calls.all:
            if self._calls.was_emitted(call):
                continue
            if call.cut or status == "incomplete":
                outputs.append(Unmapped("function_call (incomplete)", event))
            elif call.name is None and self.any_emitted:
                # Arguments that could not be told whose they are; the calls themselves were said whole elsewhere.
                outputs.append(Unmapped("function_call_arguments (of no call)", event))
            else:
                self._emit(call, RESPONSE_DONE, outputs)

    @property
    def any_emitted(self) -> bool:
        """Tells whether a call was handed out."""
        return any(call.emitted for call in self._calls.all)

    def _call(self, event: Wire) -> ToolCall:
        return self._calls.find(identifier(event, "item_id"), index(event, "output_index"))

    def _emit(self, call: ToolCall, point: EmissionPoint, outputs: list[StreamOutput]) -> None:
        complete = self._calls.take(call, point)
        if complete is not None:
            self._release(outputs)
            outputs.append(tool_call_part(self._prefix + complete.call_id, complete.name, complete.input))
