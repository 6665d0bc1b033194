"""Hands the calls of an answer out: at its end, once each, in the order of their opening.

Not before: arguments that parse may still grow (docs/wires/chat-completions.md#when-a-call-is-whole).
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.codec.json_codec import JSONDecodeError, is_json, loads, nests_too_deeply
from partstream.conversation.digest import canonical_json
from partstream.errors import ToolArgumentsError
from partstream.outputs import StreamOutput, Unmapped
from partstream.protocols.chat_completions.call_deltas import CallDelta, OpenCall, OpenCalls
from partstream.protocols.read_response import Wire, identifier, mapping

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["CompleteCall", "ToolCalls"]

_FUNCTIONS: Final = frozenset({None, "function"})
_DIGITS: Final = 24
_DECODER: Final = json.JSONDecoder()
_BLANKS: Final = re.compile(r"\s*")
_NAMELESS: Final = "tool_calls (arguments of no call)"


class CompleteCall(NamedTuple):
    """A call that is ready to be handed out.

    Attributes:
        call_id: The server's id; one of ours where it gave none.
        name: The tool.
        input: The arguments.
        extra: What the server wants back with the call, or None.
    """

    call_id: str
    name: str
    input: dict[str, Any]
    extra: Mapping[str, Any] | None


class ToolCalls:
    """The calls of one answer."""

    __slots__ = ("_counted", "_open")

    def __init__(self) -> None:
        self._open = OpenCalls()
        self._counted = False

    @property
    def any_open(self) -> bool:
        """Whether a call has begun."""
        return bool(self._open.calls)

    def delta(self, wires: Iterable[Wire], outputs: list[StreamOutput]) -> OpenCall | None:
        """Takes the elements of one `tool_calls`; returns the last call that they went to."""
        call = None
        for wire in wires:
            if identifier(wire, "type") in _FUNCTIONS or mapping(wire, "function"):
                call = self._open.take(CallDelta(wire))
            else:
                self._count(wire, outputs)
        return call

    def at(self, place: int) -> OpenCall | None:
        """The call that was opened last under an index, or None."""
        return self._open.at(place)

    def message(self, wires: Iterable[Wire], outputs: list[StreamOutput]) -> None:
        """Takes the whole calls of a message, except for those that deltas brought."""
        had = list(self._open.calls)
        said = {_content(call.name, call.arguments) for call in had}
        for wire in wires:
            delta = CallDelta(wire)
            known = self._open.known(delta.id)
            if known is None and had and _content(delta.name, delta.arguments) in said:
                continue
            if known is None:
                self._open.open(delta)
            elif known in had and not known.is_complete:
                known.replace(delta)

    def complete(self, response_id: str | None, *, is_cut: bool, outputs: list[StreamOutput]) -> list[CompleteCall]:
        """All calls, whole.

        Args:
            response_id: The server's id of the response, or None: ids of ours differ by it.
            is_cut: Whether a limit or a filter ended the answer: then no arguments at all are not yet `{}`.
            outputs: Where arguments are counted that belong to no call.

        Raises:
            ToolArgumentsError: One of them is not whole.
        """
        complete: list[CompleteCall] = []
        taken: set[str] = set()
        for number, call in enumerate(self._open.calls):
            if call.name is None and any(one.name for one in self._open.calls):
                outputs.append(Unmapped(_NAMELESS, {"arguments": call.arguments}))
                continue
            value = _read(call.arguments, is_cut=is_cut)
            if call.name is None or value is None:
                expected = "a JSON object" if call.name else "a name for these arguments"
                raise ToolArgumentsError(
                    call_id=call.id, name=call.name, arguments=str(call.arguments), expected=expected
                )
            call_id = call.id or _own_id(response_id, number, call)
            if call_id not in taken:
                taken.add(call_id)
                complete.append(CompleteCall(call_id, call.name, value, call.extra))
        return complete

    def _count(self, wire: Wire, outputs: list[StreamOutput]) -> None:
        """Counts calls of tools that are no functions: no request of ours offers any."""
        if not self._counted:
            self._counted = True
            outputs.append(Unmapped(f"tool_calls:{identifier(wire, 'type') or 'unknown'}", wire))


def _read(arguments: Any, *, is_cut: bool) -> dict[str, Any] | None:
    """The object that arguments are, or None where they are none."""
    values = _values(arguments) if isinstance(arguments, str) else [arguments]
    if not values and isinstance(arguments, str) and not arguments.strip():
        return None if is_cut else {}
    if not values or any(value != values[0] for value in values):
        return None
    if values[0] in (None, ""):
        return {}
    return values[0] if isinstance(values[0], dict) and is_json(values[0]) else None


def _values(text: str) -> list[Any]:
    """The JSON values of a text, one after the other, because servers say a call twice; none where it is no JSON."""
    if nests_too_deeply(text):
        return []
    try:
        return [loads(text)]
    except JSONDecodeError:
        pass
    values: list[Any] = []
    place = 0
    try:
        while place < len(text):
            value, place = _DECODER.raw_decode(text, place)
            values.append(value)
            blanks = _BLANKS.match(text, place)
            place = place if blanks is None else blanks.end()
    except (ValueError, RecursionError):
        return []
    return values


def _content(name: str | None, arguments: Any) -> tuple[str | None, str | bytes]:
    """What two calls of the same tool with the same arguments have in common, however their JSON is written."""
    value = _read("" if arguments is None else arguments, is_cut=False)
    return name, str(arguments) if value is None else canonical_json(value)


def _own_id(response_id: str | None, number: int, call: OpenCall) -> str:
    """An id for a call without one, which no call of another answer has as far as the answers differ at all."""
    said = json.dumps([response_id, number, call.name, str(call.arguments)]).encode()
    return f"call_{hashlib.sha256(said).hexdigest()[:_DIGITS]}"
