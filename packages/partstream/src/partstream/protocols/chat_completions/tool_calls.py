"""Finds the call of each delta of `tool_calls`; :mod:`partstream.protocols.calls` decides what becomes of the calls.

A delta names its call by an id or an index, by both or by neither, and real servers repeat, change and omit both;
:class:`ToolCalls` finds the call by the rules of docs/wires/chat-completions.md#which-call-a-delta-means. Where neither
tells calls apart, it matters whether the arguments so far are a whole object. The calls come out at the end of the
response, in the order of their opening.
"""

from __future__ import annotations
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from partstream.conversation.turns import canonical_json
from partstream.errors import ToolArgumentsError
from partstream.lm.outputs import StreamOutput, Unmapped
from partstream.protocols.calls import Calls, CompleteCall, OpenJson, check_number, read_pieces
from partstream.protocols.read_response import JSONObject, identifier, index, mapping


class CallDelta:
    """One element of `tool_calls`.

    `arguments` are a piece of text, all arguments as an object, or None. `extra` goes back with the call, such as
    Gemini's signature. Several servers send `""` for a missing id.
    """

    __slots__ = ("arguments", "extra", "id", "index", "name")

    def __init__(self, wire: JSONObject) -> None:
        function = mapping(wire, "function")
        self.id = identifier(wire, "id")
        self.index = index(wire, "index")
        self.name = identifier(function, "name")
        arguments = function.get("arguments")
        self.arguments: Any = arguments if isinstance(arguments, str | dict | list) else None
        self.extra: Mapping[str, Any] | None = mapping(wire, "extra_content") or None

    @property
    def begins_object(self) -> bool:
        """Whether its arguments are the beginning of an object."""
        return isinstance(self.arguments, dict) or (
            isinstance(self.arguments, str) and self.arguments.lstrip().startswith("{")
        )


class OpenCall:
    """A call that arrives; the first id and the first name count.

    Attributes:
        json: The pieces of the arguments; more may follow a whole object all the same.
        place: The index under which it was opened, or None.
        is_echo: Whether it was opened by the name of a whole call again: without arguments it is no call.
    """

    __slots__ = ("extra", "id", "is_echo", "json", "name", "place")

    def __init__(self) -> None:
        self.id: str | None = None
        self.name: str | None = None
        self.json = OpenJson()
        self.place: int | None = None
        self.extra: Mapping[str, Any] | None = None
        self.is_echo = False

    def take(self, delta: CallDelta) -> None:
        """Adds a delta. A name comes whole: servers repeat it, and no observed server splits it."""
        self.id = self.id or delta.id
        self.name = self.name or delta.name
        self.extra = delta.extra or self.extra
        if delta.arguments is not None and delta.arguments != "":
            self.json.pieces.append(delta.arguments)

    def is_followed_by(self, delta: CallDelta) -> bool:
        """Whether a delta without an id, at the index of this call, belongs to another call (rule 3)."""
        if delta.name is None or self.name is None:
            return False
        if delta.name != self.name:
            return self.json.is_complete or not self.json.is_begun
        return self.json.is_complete and (delta.begins_object or self._is_named_again_by(delta))

    def shares_id_with(self, delta: CallDelta) -> bool:
        """Whether a delta with the id of this call belongs to another call all the same (rule 1)."""
        if self.name is None:
            return False
        if delta.name is not None and delta.name != self.name:
            return True
        is_elsewhere = None not in (delta.index, self.place) and delta.index != self.place
        if delta.name is None and not is_elsewhere:
            return False
        if not self.json.is_begun:
            return is_elsewhere and delta.name is not None and delta.arguments in (None, "")
        # A server that opens with an empty object may name the call in each delta.
        is_whole = self.json.is_complete and not self.json.is_empty_object
        return is_whole and (delta.begins_object or self._is_named_again_by(delta))

    def _is_named_again_by(self, delta: CallDelta) -> bool:
        return delta.name is not None and delta.arguments in (None, "") and not self.json.is_empty_object


class EndedCalls(NamedTuple):
    """All calls of one response.

    Attributes:
        calls: Those that are whole, each with what goes back beside it.
        broken: The error of one that is not whole, or None.
        any_half: Whether a call was not whole.
    """

    calls: Sequence[tuple[CompleteCall, Mapping[str, Any] | None]] = ()
    broken: ToolArgumentsError | None = None
    any_half: bool = False


class ToolCalls:
    """All calls of one response in the order of their opening."""

    def __init__(self) -> None:
        self._calls: list[OpenCall] = []
        self._by_id: dict[str, OpenCall] = {}
        self._by_index: dict[int, OpenCall] = {}
        self._grown: dict[OpenCall, None] = {}  # since the last whole message
        self._contents: set[tuple[str | None, str | bytes]] = set()  # of the calls that such a message found
        self._counted = False

    @property
    def any_open(self) -> bool:
        """Whether a call has begun."""
        return bool(self._calls)

    def delta(self, wires: Iterable[JSONObject], outputs: list[StreamOutput]) -> None:
        """Reads the elements of one `tool_calls`."""
        for wire in self._functions(wires, outputs):
            delta = CallDelta(wire)
            call, is_another = self._find(delta)
            if call is None or is_another:
                self._open(delta, call)
                continue
            if delta.id is not None:
                self._by_id[delta.id] = call
            self._take(delta, call)

    def _take(self, delta: CallDelta, call: OpenCall) -> None:
        self._grown[call] = None
        call.take(delta)

    def _functions(self, wires: Iterable[JSONObject], outputs: list[StreamOutput]) -> Iterator[JSONObject]:
        """The calls of functions; one of a tool of another kind is counted: no request of ours offers any."""
        for wire in wires:
            kind = identifier(wire, "type")
            if kind in {None, "function"} or mapping(wire, "function"):
                yield wire
            elif not self._counted:
                self._counted = True
                outputs.append(Unmapped(f"tool_calls:{kind}", wire))

    def at(self, place: int) -> OpenCall | None:
        """The call that was opened last under an index, whose arguments grow; or None."""
        call = self._by_index.get(place)
        if call is not None:
            self._grown[call] = None
        return call

    def message(self, wires: Iterable[JSONObject], outputs: list[StreamOutput]) -> None:
        """Reads the whole calls of a message, except for those that events before it brought."""
        for call in self._grown:
            if call.json.pieces.may_end():
                self._contents.add(_content(call.name, call.json.pieces))
        self._grown.clear()
        for wire in self._functions(wires, outputs):
            delta = CallDelta(wire)
            arguments = [] if delta.arguments is None else [delta.arguments]
            if self._contents and _content(delta.name, arguments) in self._contents:
                continue
            known = None if delta.id is None else self._by_id.get(delta.id)
            if known is not None and known not in self._grown and not known.json.is_complete:
                known.json = OpenJson()  # the whole call replaces the arguments so far
                self._take(delta, known)
            else:
                self._open(delta)

    def complete(self, response_id: str | None, outputs: list[StreamOutput], *, is_cut: bool) -> EndedCalls:
        """Ends the calls.

        Args:
            response_id: The server's id of the response, or None: ids of ours differ by it.
            outputs: Gets what was mended, and arguments that belong to no call.
            is_cut: Whether a limit or a filter ended the response: then no arguments at all are not yet `{}`.
        """
        ended = Calls()
        ended.response_id = response_id
        any_named = any(one.name for one in self._calls)
        said = {(call.id, call.name) for call in self._calls if call.id is not None and call.json.is_begun}
        complete: list[tuple[CompleteCall, Mapping[str, Any] | None]] = []
        for call in self._calls:
            pieces = call.json.pieces if call.json.is_begun else []
            if len(pieces) <= _MOST_OF_NOTHING and _NOTHING.fullmatch("".join(map(str, pieces))):
                pieces = []
            # At a limit, an object without anything may be the opening of arguments that did not come any more.
            is_open = is_cut and (not call.json.is_begun or (call is self._calls[-1] and pieces == [{}]))
            if call.name is None and any_named:
                outputs.append(Unmapped("tool_calls (arguments of no call)", {"arguments": "".join(map(str, pieces))}))
            elif not call.json.is_begun and (call.is_echo or (call.id, call.name) in said):
                continue  # the name of a call again, which adds nothing to it
            elif is_open:
                ended.half(call.id, call.name, pieces)
            elif (one := ended.take(call.id, call.name, pieces, outputs)) is not None:
                complete.append((one, call.extra))
        return EndedCalls(complete, ended.end(outputs, is_cut=is_cut), ended.any_half)

    def _open(self, delta: CallDelta, before: OpenCall | None = None) -> None:
        """Opens a call, which may follow another one under its id or its index."""
        check_number(len(self._calls) + 1)
        call = OpenCall()
        if before is not None and delta.name in (None, before.name):
            call.name, call.is_echo = before.name, True
        self._calls.append(call)
        call.place = delta.index
        if delta.index is not None:
            self._by_index[delta.index] = call
        if delta.id is not None:
            self._by_id[delta.id] = call
        self._take(delta, call)

    def _find(self, delta: CallDelta) -> tuple[OpenCall | None, bool]:
        """The call that a delta names, in the order of the rules, and whether the delta opens another one after it."""
        last = self._calls[-1] if self._calls else None
        if delta.id is not None:
            known = self._by_id.get(delta.id)
            if known is None:
                return self._of_unknown_id(delta, last), False
            at = None if delta.index is None else self._by_index.get(delta.index)
            known = at if at is not None and at.id == delta.id else known
            return known, known.shares_id_with(delta)
        if delta.index is not None and (call := self._by_index.get(delta.index)) is not None:
            return call, call.is_followed_by(delta)
        # Names that every delta repeats without an index (rule 4): the same tool, in the middle of its arguments.
        if last is None or (
            None not in (delta.name, last.name)
            and not (delta.name == last.name and last.json.is_begun and not last.json.is_complete)
        ):
            return None, False
        # Nebius and Cerebras send arguments without a name so (docs/wires/chat-completions.md#tool-call-deltas).
        opens = delta.index is not None and delta.name is not None and last.name is not None
        return None if opens else last, False

    def _of_unknown_id(self, delta: CallDelta, last: OpenCall | None) -> OpenCall | None:
        call = last if delta.index is None else self._by_index.get(delta.index)
        if call is None:
            return None
        if call.id is None:
            return None if call.is_followed_by(delta) else call
        # Some gateways give each delta an id of its own.
        return call if delta.name is None and not call.json.is_complete else None


_NOTHING: Final = re.compile(r'\s*(?:(?:null|"")\s*)+')
"""The arguments of a tool without any, at LiteLLM and OpenRouter (docs/wires/chat-completions.md#tool-call-deltas),
which may come again."""
_MOST_OF_NOTHING: Final = 8  # pieces


def _content(name: str | None, pieces: list[Any]) -> tuple[str | None, str | bytes]:
    """The key of calls of the same tool with the same arguments, however their JSON is written."""
    value = read_pieces(pieces).value
    return name, "".join(map(str, pieces)) if value is None else canonical_json(value)
