"""Reads the tool calls of an answer: each element is a whole call (docs/wires/ollama.md#tool-calls)."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.digest import canonical_json
from partstream.errors import ToolArgumentsError
from partstream.parts import ToolCallPart, tool_call_part
from partstream.protocols.read_response import identifier, mapping, read_arguments

if TYPE_CHECKING:
    from partstream.protocols.read_response import Wire

__all__ = ["ToolCalls"]

_DIGITS: Final = 24


class ToolCalls:
    """The calls of one answer; `index` says nothing (docs/wires/ollama.md#tool-calls).

    Args:
        prefix: Stands before each id.

    Attributes:
        count: How many calls were handed out.
    """

    __slots__ = ("_contents", "_prefix", "count")

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._contents: dict[str, tuple[str, bytes]] = {}  # by id
        self.count = 0

    def read(self, wire: Wire, answer: str) -> ToolCallPart | None:
        """The call that an element of `tool_calls` is; None where the element repeats a call under the same id.

        Args:
            wire: The element.
            answer: What distinguishes the answer from others: ids of ours differ by it.

        Raises:
            ToolArgumentsError: It has no name, or its arguments are no object.
        """
        function = mapping(wire, "function")
        call_id, name, arguments = identifier(wire, "id"), identifier(function, "name"), function.get("arguments")
        value: dict[str, Any] | None = {} if arguments is None else read_arguments(arguments)
        if name is None or value is None:
            expected = "a JSON object" if name else "a name for these arguments"
            raise ToolArgumentsError(call_id=call_id, name=name, arguments=str(arguments), expected=expected)
        content = (name, canonical_json(value))
        if call_id is not None and self._contents.get(call_id) == content:
            return None
        if call_id is None or call_id in self._contents:
            call_id = self._own_id(answer, content)
        self._contents[call_id] = content
        self.count += 1
        return tool_call_part(self._prefix + call_id, name, value)

    def _own_id(self, answer: str, content: tuple[str, bytes]) -> str:
        """An id that no call of another answer has as far as the answers differ at all."""
        said = json.dumps([answer, self.count, content[0], content[1].decode(errors="replace")]).encode()
        return f"call_{hashlib.sha256(said).hexdigest()[:_DIGITS]}"
