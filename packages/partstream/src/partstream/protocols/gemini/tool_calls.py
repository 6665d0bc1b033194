"""The tool calls of an answer, whole or streamed; the server runs some itself (docs/wires/gemini.md#tool-calls).

:class:`ToolCalls` holds each call until what follows shows that the server does not run it. :class:`PartialArguments`
joins streamed arguments: leaves of an object, by their paths (docs/wires/gemini.md#streamed-arguments). A call without
an id gets one of ours, which is never sent (docs/wires/gemini.md#call-ids).
"""

from __future__ import annotations
import re
from collections import deque
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Final

from partstream.lm.outputs import StreamOutput, Unmapped
from partstream.protocols.calls import Calls, CompleteCall, Pieces
from partstream.protocols.read_response import JSONObject, identifier, objects, read_arguments, text

# ---- Streamed arguments ----

_STEP: Final = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""")
_MOST_STEPS: Final = 100
_ESCAPED: Final = re.compile(r"\\(.)")
_VALUES: Final = ("stringValue", "numberValue", "boolValue", "nullValue")


class _Text(list[str]):
    """A leaf that is a text, in pieces: adding to a text in a container copies it every time."""


class PartialArguments:
    """The arguments of one call while they arrive.

    Args:
        begun: Arguments that came whole, or None.

    Attributes:
        unread: The first entry that fits nowhere, or None.
    """

    def __init__(self, begun: JSONObject | None = None) -> None:
        self._root: dict[str, Any] = {} if begun is None else dict(begun)
        self.unread: JSONObject | None = None
        self._counted = Pieces()

    def add(self, entries: Iterable[JSONObject]) -> None:
        """Takes more entries: `{"jsonPath": "$.edits[0].text", "stringValue": "..."}`."""
        for entry in entries:
            name = next((name for name in _VALUES if name in entry), None)
            self._counted.append(entry.get("stringValue"))
            if name is not None and self.unread is None and not self._set(entry, name):
                self.unread = entry

    @property
    def value(self) -> dict[str, Any]:
        """The arguments so far."""
        return {name: _built(value) for name, value in self._root.items()}

    def _set(self, entry: JSONObject, name: str) -> bool:
        steps = _steps(text(entry, "jsonPath"))
        if not steps:
            return False
        parent: Any = self._root
        for step, following in pairwise(steps):
            new: Any = [] if isinstance(following, int) else {}
            parent = _at(parent, step, new)
            if type(parent) is not type(new):
                return False
        leaf = entry[name]
        if name == "stringValue" and isinstance(leaf, str):
            said = _at(parent, steps[-1], _Text())
            if isinstance(said, _Text):
                said.append(leaf)
            return isinstance(said, _Text)
        last, leaf = steps[-1], None if name == "nullValue" else leaf
        if isinstance(last, str) and isinstance(parent, dict):
            parent[last] = leaf
            return True
        if isinstance(last, int) and isinstance(parent, list) and last <= len(parent):
            parent[last : last + 1] = [leaf]
            return True
        return False


def _steps(path: str) -> list[str | int]:
    """The names and places of a path; none where it cannot be read."""
    if not path.startswith("$"):
        return []
    steps: list[str | int] = []
    place = 1
    while place < len(path):
        found = _STEP.match(path, place)
        if found is None or len(steps) == _MOST_STEPS:
            return []
        name, number, single, double = found.groups()
        quoted = single if single is not None else double
        steps.append(int(number) if number is not None else _ESCAPED.sub(r"\1", quoted) if name is None else name)
        place = found.end()
    return steps if steps and isinstance(steps[0], str) else []


def _at(parent: Any, step: str | int, new: Any) -> Any:
    """The value at a step; `new`, which is put there, where there is none. None where the step does not fit."""
    if isinstance(step, str):
        return parent.setdefault(step, new) if isinstance(parent, dict) else None
    if not isinstance(parent, list) or step > len(parent):
        return None
    if step == len(parent):
        parent.append(new)
    return parent[step]


def _built(value: Any) -> Any:
    if isinstance(value, _Text):
        return "".join(value)
    if isinstance(value, dict):
        return {name: _built(one) for name, one in value.items()}
    return [_built(one) for one in value] if isinstance(value, list) else value


# ---- Calls ----


class _Call:
    """A call as it arrives: with arguments that came whole, or with streamed ones. The server may answer it."""

    __slots__ = ("arguments", "id", "is_answered", "name", "signature", "streamed")

    def __init__(self, name: str, wire: JSONObject, signature: str | None, *, is_streamed: bool) -> None:
        self.id = identifier(wire, "id")
        self.name = name
        self.arguments = wire.get("args")
        self.signature = signature
        self.is_answered = False
        self.streamed = PartialArguments(read_arguments(self.arguments)) if is_streamed else None

    @property
    def pieces(self) -> tuple[Any, ...]:
        """The arguments; none where the call has none."""
        if self.streamed is not None:
            return (self.streamed.value,)
        return () if self.arguments is None else (self.arguments,)


class ToolCalls:
    """The calls of one answer. Each is held back until what follows shows that the server does not run it itself.

    Attributes:
        count: How many calls the client is to make, as far as known.
        ended: The calls that have come to an end.
    """

    def __init__(self) -> None:
        self.ended = Calls("gemini_call_")
        self._held: list[_Call] = []
        self._by_id: dict[str, _Call] = {}
        self._by_name: dict[str, deque[_Call]] = {}
        self._open: _Call | None = None  # the last one held, while its arguments arrive
        self.count = 0

    @property
    def any_held(self) -> bool:
        """Whether a whole call is held back."""
        return bool(self._held) and self._held != [self._open]

    def take(self, wire: JSONObject, signature: str | None, outputs: list[StreamOutput]) -> None:
        """Takes a `functionCall`."""
        name, pieces = identifier(wire, "name"), objects(wire, "partialArgs")
        goes_on = wire.get("willContinue") is True
        call = self._open
        if name is not None and (call is None or call.id is None or call.id != wire.get("id")):
            call = _Call(name, wire, signature, is_streamed=goes_on or bool(pieces))
            self._hold(call)
            self.count += 1
        elif call is not None:
            call.signature = call.signature or signature
        else:
            outputs += [Unmapped("functionCall (without a name)", wire)] if wire else []
            return
        if call.streamed is not None:
            call.streamed.add(pieces)
        self._open = call if goes_on else None

    def answer(self, wire: JSONObject) -> None:
        """Takes a `functionResponse`: the server has run the call that it answers, by its id, else the first of its
        name."""
        call_id = identifier(wire, "id")
        by_id = self._by_id.get(call_id or "")
        named = self._by_name.get(identifier(wire, "name") or "", deque())
        while named and named[0].is_answered:
            named.popleft()
        call = by_id if by_id is not None and not by_id.is_answered else next(iter(named), None)
        if call is not None and (call_id is None or call.id in {None, call_id}):
            call.is_answered = True
            self.count -= 1
            if call is self._open:
                self._open = None

    def release(
        self, response_id: str | None, outputs: list[StreamOutput], *, is_end: bool = False, is_cut: bool = False
    ) -> list[tuple[CompleteCall, str | None]]:
        """The calls that were held back and are whole, each with the signature that goes back with it.

        Args:
            response_id: The server's id of the response, or None: ids of ours differ by it.
            is_end: Whether the answer ends: what is still open is whole then.
            is_cut: Whether a limit or a filter ended the answer: then it is not.
        """
        waiting = self._open if not is_end else None
        released = [call for call in self._held if call is not waiting and not call.is_answered]
        self._held, self._by_id, self._by_name = [], {}, {}
        if waiting is not None:
            self._hold(waiting)
        self.ended.response_id = response_id
        complete: list[tuple[CompleteCall, str | None]] = []
        for call in released:
            unread = None if call.streamed is None else call.streamed.unread
            if unread is not None or (is_cut and call is self._open):
                self.ended.half(call.id, call.name, call.pieces if unread is None else (unread,))
            elif (one := self.ended.take(call.id, call.name, call.pieces, outputs)) is not None:
                complete.append((one, call.signature))
        self.count -= len(released) - len(complete)
        return complete

    def _hold(self, call: _Call) -> None:
        self._held.append(call)
        self._by_name.setdefault(call.name, deque()).append(call)
        if call.id is not None:
            self._by_id.setdefault(call.id, call)
