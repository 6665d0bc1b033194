"""Finds the tool call that a delta means, by the rules of docs/wires/chat-completions.md#which-call-a-delta-means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partstream.protocols.chat_completions.open_json import OpenJson
from partstream.protocols.read_response import Wire, identifier, index, mapping

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CallDelta", "OpenCall", "OpenCalls"]


class CallDelta:
    """One element of `tool_calls`.

    Attributes:
        id: The call's id, or None: several servers send `""`.
        index: The call's place as the server counts it, or None.
        name: The tool's name, or None.
        arguments: A piece of the arguments as text, or all of them as an object; None where there are none.
        extra: What a server wants back with the call, such as Gemini's signature; or None.
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
    """A call that arrives.

    Attributes:
        id: The id that came first, or None.
        name: The name that came first, or None.
        json: The pieces of the arguments.
        whole: The arguments as an object or a list, where a server sends them so; it replaces the pieces.
        extra: What the server wants back with the call, or None.
        is_named_again: Whether the last delta said a name of a call that has one and whose arguments are complete.
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
        """Whether what came of the arguments is a whole object; more may follow all the same."""
        return self.whole is not None or self.json.is_complete

    @property
    def is_begun(self) -> bool:
        """Whether anything of the arguments came."""
        return self.whole is not None or self.json.is_begun

    @property
    def arguments(self) -> Any:
        """All that came of the arguments: a text, or what a server sends in place of one."""
        return self.json.text if self.whole is None else self.whole

    def replace(self, delta: CallDelta) -> None:
        """Takes the whole call in place of what came of its arguments."""
        self.json, self.whole = OpenJson(), None
        self.take(delta)

    def take(self, delta: CallDelta) -> None:
        """Adds what a delta says. A name is said once: servers repeat it, and none was seen to split it."""
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
    """All calls of one answer in the order of their opening."""

    __slots__ = ("_by_id", "_by_index", "calls")

    def __init__(self) -> None:
        self.calls: list[OpenCall] = []
        self._by_id: dict[str, OpenCall] = {}
        self._by_index: dict[int, OpenCall] = {}

    def take(self, delta: CallDelta) -> OpenCall:
        """Adds a delta to the call that it means, and returns the call."""
        call = self._find(delta)
        if call is None:
            return self.open(delta)
        return self._add(call, delta)

    def open(self, delta: CallDelta) -> OpenCall:
        """Opens a new call with a delta, and returns it."""
        call = OpenCall()
        self.calls.append(call)
        if delta.index is not None:
            self._by_index[delta.index] = call
        return self._add(call, delta)

    def _add(self, call: OpenCall, delta: CallDelta) -> OpenCall:
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
