"""Finds the output item of an event (:class:`Items`), and assembles tool calls (:class:`CallEvents`).

Events of arguments carry `item_id` and `output_index`, and no call id (docs/wires/openresponses.md#identity-of-a-call).
Real servers omit both, change them, or use them twice: GitHub Copilot changes item ids with every event and keeps
`output_index`; Ollama and LiteLLM use one `output_index` for several items; llama.cpp omits indices; vLLM omits
`output_item.added`. So an item is found by kind and `output_index`, then by kind and `item_id`, then as the only open
item of its kind that no field contradicts.

A call can be complete at three points: at the end of its arguments, of its item, and of the response. Before the last
one, arguments that are no JSON object may still become one. Each call is emitted once, and only with arguments that are
a JSON object. Up to four sources repeat the arguments; the most trusted one counts
(docs/wires/openresponses.md#which-arguments-count).
"""

from __future__ import annotations
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Hashable, Sequence
from hashlib import sha256
from typing import Any, Final, Generic, NamedTuple, TypeVar

from partstream.conversation.turns import canonical_json
from partstream.lm.outputs import EmitText, StreamOutput, Unmapped
from partstream.protocols.calls import Calls, Pieces, Reading, check_number, read_pieces, read_sources
from partstream.protocols.openresponses.errors import text
from partstream.protocols.read_response import JSONObject, identifier, index

# ---- Items ----


class Item:
    """An output item; kinds of items derive from it.

    `announced` is set if `output_item.added` introduced it (otherwise another event implied it), and `closed` after
    `output_item.done`.
    """

    __slots__ = ("announced", "closed", "id", "output_index")

    def __init__(self, item_id: str | None, output_index: int | None) -> None:
        self.id = item_id
        self.output_index = output_index
        self.announced = False
        self.closed = False


ItemT = TypeVar("ItemT", bound=Item)


class MatchRule(NamedTuple):
    """A rule for :meth:`Items.match_snapshot`: an item and an item of the snapshot are partners if their keys are
    equal. A rule does not apply to an item with the key None."""

    of_item: Callable[[Any], Hashable | None]
    of_wire: Callable[[int, JSONObject], Hashable | None]


SAME_ID: Final = MatchRule(lambda item: item.id, lambda _place, wire: identifier(wire, "id"))
RULES_OF_TEXTS: Final = (
    SAME_ID,
    MatchRule(lambda item: item.output_index, lambda place, _wire: place),
    MatchRule(lambda _item: True, lambda _place, _wire: True),
)
"""By id, by place, then in order."""


class Items(Generic[ItemT]):
    """All items of one kind in one response, in order of first appearance."""

    def __init__(self, make: Callable[[str | None, int | None], ItemT]) -> None:
        self._make = make
        self._by_index: dict[int, ItemT] = {}
        self._by_id: dict[str, ItemT] = {}
        self.all: list[ItemT] = []
        # Items that an event without an index may mean, in order of first appearance.
        self._open: OrderedDict[ItemT, None] = OrderedDict()
        self._announced: OrderedDict[ItemT, None] = OrderedDict()
        self._unplaced: OrderedDict[ItemT, None] = OrderedDict()
        self._nameless: OrderedDict[ItemT, None] = OrderedDict()

    def announce(self, item_id: str | None, output_index: int | None) -> ItemT:
        """The item that `output_item.added` introduces: new, unless its id is known or earlier events implied it."""
        known = self._by_id.get(item_id) if item_id is not None else None
        if known is not None and None not in (output_index, known.output_index) and known.output_index != output_index:
            known = None  # one id for two items, with different indices
        if known is None and output_index is not None:
            at_index = self._by_index.get(output_index)
            known = at_index if at_index is not None and not at_index.announced and not at_index.closed else None
        item = known or self._add(item_id, output_index)
        item.announced = True
        self._announced[item] = None
        if item.output_index is None:
            self._unplaced[item] = None
        return item

    def find(self, item_id: str | None, output_index: int | None) -> ItemT:
        """The item that an event names; a new, implied item if none fits."""
        return self.known(item_id, output_index) or self._add(item_id, output_index)

    def known(self, item_id: str | None, output_index: int | None) -> ItemT | None:
        """The item that an event names; None if none fits."""
        by_id = self._by_id.get(item_id) if item_id is not None else None
        if output_index is None:
            if by_id is not None or item_id is None:
                return by_id or _only(_first_two(self._open))
            # An implied item with another id is another item.
            return _only({*_first_two(self._announced), *_first_two(self._nameless, nameless=True)})
        at_index = self._by_index.get(output_index)
        if at_index is None:  # only an item that never had an index can be meant
            return by_id or _only(_first_two(self._unplaced))
        if at_index.closed and by_id is not None:
            return at_index if at_index.id == item_id else by_id
        if at_index.closed and item_id is not None and item_id != at_index.id and not at_index.announced:
            return None  # the index is used a second time, and nothing announced the second item
        return at_index

    def match_snapshot(self, snapshot: list[tuple[int, JSONObject]], rules: Sequence[MatchRule]) -> dict[int, ItemT]:
        """Pairs the items of the final snapshot, given with their places, with those seen before.

        Each rule, in order, applies to all items that have no partner yet; an item without a partner is new.
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

    def _add(self, item_id: str | None, output_index: int | None) -> ItemT:
        check_number(len(self.all) + 1)
        item = self._make(item_id, output_index)
        self.all.append(item)
        self._open[item] = None
        if item_id is None:
            self._nameless[item] = None
        if output_index is not None:
            self._by_index[output_index] = item
        if item_id is not None:
            self._by_id[item_id] = item
        return item


def of_kind(output: list[JSONObject], kind: str) -> list[tuple[int, JSONObject]]:
    """The items of a type in the final snapshot, with their places."""
    return [(place, item) for place, item in enumerate(output) if identifier(item, "type") == kind]


def _first_two(items: OrderedDict[ItemT, None], *, nameless: bool = False) -> list[ItemT]:
    """The first two open items, or fewer: callers only ask whether there is exactly one.

    An item that has closed is dropped: each search costs no more than the items that it drops.
    """
    found: list[ItemT] = []
    gone: list[ItemT] = []
    for item in items:
        (gone if item.closed or (nameless and item.id is not None) else found).append(item)
        if len(found) == 2:
            break
    for item in gone:
        del items[item]
    return found


def _only(candidates: Collection[ItemT]) -> ItemT | None:
    return next(iter(candidates)) if len(candidates) == 1 else None


# ---- Tool calls ----


class ToolCall(Item):
    """A function call item.

    Attributes:
        call_id: The id that results refer to. Without one, results refer to the item.
        cut: Whether the item ended with the status `incomplete`: it will never be whole.
        emitted: Whether the call has come to its end, as a call or not.
    """

    __slots__ = ("_arguments", "_changes", "_content", "_reading", "call_id", "cut", "deltas", "emitted", "name")

    def __init__(self, item_id: str | None, output_index: int | None) -> None:
        super().__init__(item_id, output_index)
        self.call_id: str | None = None
        self.name: str | None = None
        self.cut = False
        self.emitted = False
        self.deltas = Pieces()
        self._arguments: dict[str, str | dict[str, Any]] = {}
        self._changes = 0
        self._reading: tuple[tuple[int, int], Reading] | None = None
        self._content: Hashable | None = None

    @property
    def is_settled(self) -> bool:
        """Whether the call was emitted and its item has ended: nothing that comes for it can change the answer."""
        return self.emitted and self.closed

    def say_arguments(self, source: str, arguments: object) -> None:
        """Takes the whole arguments from one of the sources in :data:`_PRECEDENCE`."""
        if isinstance(arguments, dict) or (isinstance(arguments, str) and arguments.strip()):
            self._changes += self._arguments.get(source) != arguments
            self._arguments[source] = arguments

    def read(self, item: JSONObject) -> None:
        """Takes name and ids from a function call item; a later item corrects an earlier one."""
        self.call_id = identifier(item, "call_id") or self.call_id
        self.id = self.id or identifier(item, "id")
        self.name = identifier(item, "name") or self.name
        self.cut = item.get("status") == "incomplete"

    @property
    def reading(self) -> Reading:
        """The arguments of the most trusted source. They are read once, however often events end them."""
        state = len(self.deltas), self._changes
        if self._reading is None or self._reading[0] != state:
            sources = {name: (value,) for name, value in self._arguments.items()} | {"deltas": tuple(self.deltas)}
            self._reading = state, read_sources(sources.get(name, ()) for name in _PRECEDENCE)
        return self._reading[1]

    @property
    def content(self) -> Hashable | None:
        """What tells the call from others of other names or arguments."""
        if self._content is None:
            return _content(self.name, self.reading.pieces, self.reading.arguments.value)
        return self._content

    def settle(self) -> None:
        """Frees the arguments of a call that is settled: an answer may have hundreds of calls, each with a whole file.
        The snapshot of the response repeats the call, so what tells it from others stays."""
        self._content = self.content
        self.deltas = Pieces()
        self._arguments = {}
        self._reading = None


_PRECEDENCE: Final = ("item", "done", "deltas", "added")
"""The sources of arguments, the most trusted one first (docs/wires/openresponses.md#which-arguments-count)."""


def _content(name: str | None, pieces: Sequence[Any], value: dict[str, Any] | None) -> Hashable | None:
    """The key of calls with the same name and arguments, however the JSON of the arguments is written."""
    if value is not None:
        return name, sha256(canonical_json(value)).digest()
    return (name, "".join(pieces)) if all(isinstance(piece, str) for piece in pieces) else None


def _content_of_item(item: JSONObject) -> Hashable | None:
    pieces = (item.get("arguments") or "",)
    return _content(identifier(item, "name"), pieces, read_pieces(pieces).value)


_RULES: Final = (
    MatchRule(lambda call: call.call_id, lambda _place, wire: identifier(wire, "call_id")),
    SAME_ID,
    MatchRule(lambda call: call.content, lambda _place, wire: _content_of_item(wire)),
    MatchRule(
        lambda call: None if None in (call.output_index, call.name) else (call.output_index, call.name),
        lambda place, wire: (place, identifier(wire, "name")),
    ),
    MatchRule(lambda call: call.output_index if call.name is None else None, lambda place, _wire: place),
)
"""Pairs calls of the final snapshot by call id or item id first; then, because some servers give new ids in the
snapshot (vLLM), by name and arguments, then by place and name; the last rule is for calls that have no name yet."""


class CallEvents(Items[ToolCall]):
    """The function calls of one response, with the handlers of their events.

    `ended` holds the calls that have come to their end; `release` emits the text that was held back before a call.
    """

    def __init__(self, prefix: str, release: Callable[[list[StreamOutput]], None]) -> None:
        super().__init__(ToolCall)
        self.ended = Calls()
        self._prefix = prefix
        self._release = release
        self._ids: set[str] = set()
        self._bare: ToolCall | None = None  # the last call, if it closed without arguments: a limit may have cut it

    def arguments_delta(self, event: JSONObject, _outputs: list[StreamOutput]) -> EmitText | None:
        """Adds a piece of the arguments; returns the fast path for further pieces."""
        place = index(event, "output_index")
        call = self.find(identifier(event, "item_id"), place)
        if not call.is_settled:
            call.deltas.append(text(event, "delta"))
        if place is None or self._by_index.get(place) is not call or call.closed:
            return None
        add = call.deltas.append
        return lambda delta, _outputs: add(delta)

    def arguments_done(self, event: JSONObject, outputs: list[StreamOutput]) -> None:
        """The arguments of a call end."""
        self._release(outputs)
        call = self.find(identifier(event, "item_id"), index(event, "output_index"))
        if call.is_settled:
            return
        call.name = call.name or identifier(event, "name")  # where no item says it
        call.call_id = call.call_id or identifier(event, "call_id")
        call.say_arguments("done", event.get("arguments"))
        # Neither no arguments nor `{}` are the end: servers that send these here send the arguments with the item.
        if call.deltas.may_end() and call.reading.arguments.value:
            self._emit(call, outputs)

    def added(self, event: JSONObject, _outputs: list[StreamOutput], item: JSONObject) -> None:
        """A call begins."""
        call = self.announce(identifier(item, "id"), index(event, "output_index"))
        if not call.closed:
            call.read(item)
            call.say_arguments("added", item.get("arguments"))

    def done(self, event: JSONObject, outputs: list[StreamOutput], item: JSONObject) -> None:
        """A call ends: the call that the event names, or a new one if that was closed as another call."""
        self._release(outputs)
        place = identifier(item, "id"), index(event, "output_index")
        call, call_id = self.find(*place), identifier(item, "call_id")
        if call.closed and call_id is not None:
            is_another = call.emitted and item.get("arguments") and _content_of_item(item) != call.content
            call = self._add(*place) if call_id != call.call_id or is_another else call
        was_settled, call.closed = call.is_settled, True
        call.read(item)
        if call is not self._bare:
            self.emit_bare(outputs)
        if was_settled:
            return
        call.say_arguments("item", item.get("arguments"))
        if not call.deltas.may_end():
            return
        if not call.reading.pieces:
            self._bare = call
            return
        self._emit(call, outputs)
        if call.emitted:
            call.settle()

    def emit_bare(self, outputs: list[StreamOutput]) -> None:
        """Emits a call that closed without arguments: something follows it, so no limit has cut it."""
        call, self._bare = self._bare, None
        if call is not None:
            self._emit(call, outputs)
            if call.emitted:
                call.settle()

    def pair(self, output: list[JSONObject]) -> dict[int, ToolCall]:
        """The calls of the final snapshot, by place."""
        return self.match_snapshot(of_kind(output, "function_call"), _RULES)

    def in_snapshot(self, call: ToolCall, status: str, outputs: list[StreamOutput], item: JSONObject) -> None:
        """Emits a call as the final snapshot of a response with this status has it."""
        if call.emitted or status == "failed":
            return
        if status == "incomplete" and item.get("status") != "completed":
            return
        call.read(item)
        call.say_arguments("item", item.get("arguments"))
        if call.reading.pieces or status != "incomplete":
            self._emit(call, outputs, is_last=True)

    def at_end(self, status: str, event: JSONObject, outputs: list[StreamOutput]) -> None:
        """Emits the calls that no event closed: a completed response has completed them, one that was cut has not."""
        for call in self.all:
            if call.emitted:
                continue
            pieces = call.reading.pieces
            if not pieces and call.call_id in self._ids:
                continue
            if call.cut or status == "incomplete":
                self.ended.cut(call.call_id, call.name, pieces, outputs)
            elif call.name is None and self.ended.count:
                # Arguments whose call could not be found; other events brought the calls whole.
                outputs.append(Unmapped("function_call_arguments (of no call)", event))
            else:
                self._emit(call, outputs, is_last=True)

    def _emit(self, call: ToolCall, outputs: list[StreamOutput], *, is_last: bool = False) -> None:
        """Emits a call that is whole; at the end of the response, one that is not is an error."""
        if call.emitted or call.cut:
            return
        pieces, said = call.reading
        call_id = call.call_id or (call.id if is_last and call.name else None)
        if not is_last and (said.value is None or not call_id or not call.name):
            return
        call.emitted = True
        one = self.ended.take(call_id, call.name, pieces, outputs, read=said)
        if one is not None:
            self._ids |= {call_id} if call_id else set()
            self._release(outputs)
            outputs.append(one.part(self._prefix))
