"""Assembles the tool calls of a response, and returns each once, at the end, in the order of their opening.

Not before: arguments that parse may still grow (docs/wires/chat-completions.md#when-a-call-is-whole). A delta names its
call by an id or an index, by both or by neither, and real servers repeat, change and omit both;
:class:`OpenCalls` finds the call by the rules of docs/wires/chat-completions.md#which-call-a-delta-means. Where neither
tells calls apart, it matters whether the arguments so far are a whole object (:class:`OpenJson`).
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.codec.json_codec import JSONDecodeError, is_json, loads, nests_too_deeply
from partstream.conversation.turns import canonical_json
from partstream.errors import ToolArgumentsError
from partstream.lm.outputs import StreamOutput, Unmapped
from partstream.protocols.read_response import Wire, identifier, index, mapping

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_SIGNS: Final = re.compile(r'[\\"{}\[\]]')
_STEP: Final = {"{": 1, "[": 1, "}": -1, "]": -1}


class OpenJson:
    """The pieces of a JSON object; finds its end in one pass over the characters, when :attr:`is_complete` is read."""

    __slots__ = ("_depth", "_in_string", "_read", "_skips", "_was_open", "pieces")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._read = 0
        self._depth = 0
        self._in_string = False
        self._skips = False  # whether a backslash hides the next character
        self._was_open = False

    @property
    def text(self) -> str:
        """The whole text so far."""
        return "".join(self.pieces)

    @property
    def is_begun(self) -> bool:
        """Whether anything but blanks has come."""
        return any(piece and not piece.isspace() for piece in self.pieces)

    @property
    def is_complete(self) -> bool:
        """Whether an object has begun and has ended."""
        for piece in self.pieces[self._read :]:
            self._scan(piece)
        self._read = len(self.pieces)
        return self._was_open and self._depth == 0 and not self._in_string

    def _scan(self, piece: str) -> None:
        hidden = 0 if self._skips and piece else -1  # the place of a character that a backslash hides
        self._skips = self._skips and not piece
        for sign in _SIGNS.finditer(piece):
            letter, place = sign[0], sign.start()
            if place == hidden:
                continue
            if letter == "\\":
                hidden = place + 1
                self._skips = hidden == len(piece)
            elif letter == '"':
                self._in_string = not self._in_string
            elif not self._in_string:
                self._depth += _STEP[letter]
                self._was_open = True


class CallDelta:
    """One element of `tool_calls`.

    `arguments` are a piece of text, all arguments as an object, or None. `extra` goes back with the call, such as
    Gemini's signature. Several servers send `""` for a missing id.
    """

    __slots__ = ("arguments", "extra", "id", "index", "name")

    def __init__(self, wire: Wire) -> None:
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
        json: The pieces of the arguments.
        whole: The arguments as an object or a list, if a server sends them so; it replaces the pieces.
        is_named_again: Whether the last delta named a call that had a name and complete arguments.
    """

    __slots__ = ("extra", "id", "is_named_again", "json", "name", "whole")

    def __init__(self) -> None:
        self.id: str | None = None
        self.name: str | None = None
        self.json = OpenJson()
        self.whole: Any = None
        self.extra: Mapping[str, Any] | None = None
        self.is_named_again = False

    @property
    def is_complete(self) -> bool:
        """Whether the arguments so far are a whole object; more may follow all the same."""
        return self.whole is not None or self.json.is_complete

    @property
    def is_begun(self) -> bool:
        """Whether any of the arguments came."""
        return self.whole is not None or self.json.is_begun

    @property
    def arguments(self) -> Any:
        """The arguments so far: a text, or the server's value in place of one."""
        return self.json.text if self.whole is None else self.whole

    def replace(self, delta: CallDelta) -> None:
        """Reads the whole call, which replaces the arguments so far."""
        self.json, self.whole = OpenJson(), None
        self.take(delta)

    def take(self, delta: CallDelta) -> None:
        """Adds a delta. A name comes whole: servers repeat it, and no observed server splits it."""
        self.is_named_again = delta.name is not None and self.name is not None and self.is_complete
        self.id = self.id or delta.id
        self.name = self.name or delta.name
        self.extra = delta.extra or self.extra
        if isinstance(delta.arguments, str):
            if delta.arguments:
                self.json.pieces.append(delta.arguments)
        elif delta.arguments is not None:
            self.whole = delta.arguments

    def is_followed_by(self, delta: CallDelta) -> bool:
        """Whether a delta without an id, at the index of this call, belongs to another call (rule 3)."""
        if delta.name is None:
            return self.is_named_again and delta.begins_object and self.is_complete
        if self.name is None:
            return False
        if delta.name != self.name:
            return self.is_complete or not self.is_begun
        return self.is_complete and delta.begins_object

    def is_followed_without_index_by(self, delta: CallDelta) -> bool:
        """The same for a delta without an index (rule 4)."""
        if delta.name is None or self.name is None:
            return False
        # Names that every delta repeats: the same tool, in the middle of its arguments.
        return not (delta.name == self.name and self.is_begun and not self.is_complete)


class OpenCalls:
    """All calls of one response in the order of their opening."""

    __slots__ = ("_by_id", "_by_index", "calls")

    def __init__(self) -> None:
        self.calls: list[OpenCall] = []
        self._by_id: dict[str, OpenCall] = {}
        self._by_index: dict[int, OpenCall] = {}

    def take(self, delta: CallDelta) -> OpenCall:
        """Adds a delta to the call that it means, and returns the call."""
        return self.add(self._find(delta), delta)

    def add(self, call: OpenCall | None, delta: CallDelta) -> OpenCall:
        """Adds a delta to a call, None for a new one, and returns the call."""
        if call is None:
            call = OpenCall()
            self.calls.append(call)
            if delta.index is not None:
                self._by_index[delta.index] = call
        if delta.id is not None:
            self._by_id[delta.id] = call
        call.take(delta)
        return call

    def known(self, call_id: str | None) -> OpenCall | None:
        """The call with an id, or None."""
        return None if call_id is None else self._by_id.get(call_id)

    def at(self, place: int) -> OpenCall | None:
        """The call that was opened last under an index, or None."""
        return self._by_index.get(place)

    def _find(self, delta: CallDelta) -> OpenCall | None:
        """The call that a delta continues, in the order of the rules; None for a new one."""
        last = self.calls[-1] if self.calls else None
        if delta.id is not None:
            return self._by_id.get(delta.id) or self._of_unknown_id(delta, last)
        if delta.index is not None and (call := self._by_index.get(delta.index)) is not None:
            return None if call.is_followed_by(delta) else call
        if last is None or last.is_followed_without_index_by(delta):
            return None
        # Nebius and Cerebras send arguments without a name so (docs/wires/chat-completions.md#tool-call-deltas).
        opens = delta.index is not None and delta.name is not None and last.name is not None
        return None if opens else last

    def _of_unknown_id(self, delta: CallDelta, last: OpenCall | None) -> OpenCall | None:
        call = last if delta.index is None else self._by_index.get(delta.index)
        if call is None:
            return None
        if call.id is None:
            return None if call.is_followed_by(delta) else call
        # Some gateways give each delta an id of its own.
        return call if delta.name is None and not call.is_complete else None


class CompleteCall(NamedTuple):
    """A call that is ready to be emitted; without an id of the server, the id is one of ours."""

    call_id: str
    name: str
    input: dict[str, Any]
    extra: Mapping[str, Any] | None


class ToolCalls:
    """The calls of one response."""

    __slots__ = ("_counted", "_open")

    def __init__(self) -> None:
        self._open = OpenCalls()
        self._counted = False

    @property
    def any_open(self) -> bool:
        """Whether a call has begun."""
        return bool(self._open.calls)

    def delta(self, wires: Iterable[Wire], outputs: list[StreamOutput]) -> OpenCall | None:
        """Reads the elements of one `tool_calls`; returns the last call that they belong to."""
        call = None
        for wire in wires:
            kind = identifier(wire, "type")
            if kind in {None, "function"} or mapping(wire, "function"):
                call = self._open.take(CallDelta(wire))
            elif not self._counted:  # a tool that is no function: no request of ours offers any
                self._counted = True
                outputs.append(Unmapped(f"tool_calls:{kind}", wire))
        return call

    def at(self, place: int) -> OpenCall | None:
        """The call that was opened last under an index, or None."""
        return self._open.at(place)

    def message(self, wires: Iterable[Wire], outputs: list[StreamOutput]) -> None:
        """Reads the whole calls of a message, except for those that deltas brought."""
        had = list(self._open.calls)
        said = {_content(call.name, call.arguments) for call in had}
        for wire in wires:
            delta = CallDelta(wire)
            known = self._open.known(delta.id)
            if known is None and had and _content(delta.name, delta.arguments) in said:
                continue
            if known is None:
                self._open.add(None, delta)
            elif known in had and not known.is_complete:
                known.replace(delta)

    def complete(self, response_id: str | None, *, is_cut: bool, outputs: list[StreamOutput]) -> list[CompleteCall]:
        """All calls, whole.

        Args:
            response_id: The server's id of the response, or None: ids of ours differ by it.
            is_cut: Whether a limit or a filter ended the response: then no arguments at all are not yet `{}`.
            outputs: Gets arguments that belong to no call, as unmapped.

        Raises:
            ToolArgumentsError: One of them is not whole.
        """
        complete: list[CompleteCall] = []
        taken: set[str] = set()
        for number, call in enumerate(self._open.calls):
            if call.name is None and any(one.name for one in self._open.calls):
                outputs.append(Unmapped("tool_calls (arguments of no call)", {"arguments": call.arguments}))
                continue
            value = _read(call.arguments, is_cut=is_cut)
            if call.name is None or value is None:
                expected = "a JSON object" if call.name else "a name for these arguments"
                raise ToolArgumentsError(
                    call_id=call.id, name=call.name, arguments=str(call.arguments), expected=expected
                )
            call_id = call.id
            if call_id is None:  # an id that no call of another response has, as far as responses differ at all
                said = json.dumps([response_id, number, call.name, str(call.arguments)]).encode()
                call_id = f"call_{hashlib.sha256(said).hexdigest()[:24]}"
            if call_id not in taken:
                taken.add(call_id)
                complete.append(CompleteCall(call_id, call.name, value, call.extra))
        return complete


def _read(arguments: Any, *, is_cut: bool) -> dict[str, Any] | None:
    """The object in the arguments, or None without one."""
    values = _values(arguments) if isinstance(arguments, str) else [arguments]
    if not values and isinstance(arguments, str) and not arguments.strip():
        return None if is_cut else {}
    if not values or any(value != values[0] for value in values):
        return None
    if values[0] in (None, ""):
        return {}
    return values[0] if isinstance(values[0], dict) and is_json(values[0]) else None


def _values(text: str) -> list[Any]:
    """The JSON values of a text, because some servers send a call twice; none if it is no JSON."""
    if nests_too_deeply(text):
        return []
    try:
        return [loads(text)]
    except JSONDecodeError:
        pass
    decoder, blanks = json.JSONDecoder(), re.compile(r"\s*")
    values: list[Any] = []
    place = 0
    try:
        while place < len(text):
            value, place = decoder.raw_decode(text, place)
            values.append(value)
            gap = blanks.match(text, place)
            place = place if gap is None else gap.end()
    except (ValueError, RecursionError):
        return []
    return values


def _content(name: str | None, arguments: Any) -> tuple[str | None, str | bytes]:
    """The key of calls of the same tool with the same arguments, however their JSON is written."""
    value = _read("" if arguments is None else arguments, is_cut=False)
    return name, str(arguments) if value is None else canonical_json(value)
