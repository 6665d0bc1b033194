"""Reads what an assistant's message brings back: text, calls, and the blocks that a server wants back unchanged.

A block that is neither text nor call becomes an item in the metadata of a thinking part, at its place
(:mod:`partstream.protocols.anthropic_messages.provider_state`); state that we have sealed becomes what it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.places import PLACE, AnswerPlace
from partstream.conversation.reasoning import ITEMS
from partstream.errors import InvalidRequestError
from partstream.parts import TextPart, ToolCallPart, thinking_part
from partstream.protocols.anthropic_messages.provider_state import block_item, call_item
from partstream.protocols.provider_state import open_state
from partstream.protocols.read_request import checked, described, optional_text, required_text, said

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.parts import MessagePart
    from partstream.protocols.read_request import Counts

__all__ = ["read_answer"]


def read_answer(value: object, where: str, counts: Counts) -> tuple[MessagePart, ...]:
    """The parts of an assistant's message; a string is one text.

    Raises:
        InvalidRequestError: A block has the wrong form.
    """
    if isinstance(value, str):
        return (TextPart(value),) if value else ()
    if not isinstance(value, list):
        raise InvalidRequestError(where, described(value), "a string or a list of content blocks")
    answer = _Answer(counts)
    for place, block in enumerate(value):
        at = f"{where}[{place}]"
        if not isinstance(block, dict) or not isinstance(block.get("type"), str):
            raise InvalidRequestError(at, described(block), "an object with a type")
        _READERS.get(block["type"], _Answer.keep)(answer, block, at)
    return tuple(answer.parts)


class _Answer:
    """One message of the assistant so far."""

    def __init__(self, counts: Counts) -> None:
        self.parts: list[MessagePart] = []
        self._counts = counts
        self._place = AnswerPlace()
        self._items: list[dict[str, Any]] = []

    def keep(self, block: Mapping[str, Any], where: str) -> None:
        """Carries a block of a tool that a server ran, a summary, or what else only its server can read."""
        self._counts.add(f"content[].{block['type']}")
        self._carry("", block_item(_unmarked(block)))

    def text(self, block: Mapping[str, Any], where: str) -> None:
        part = said(block, "text", where)
        if part is not None:
            self._place.add_text(part.value)
            self.parts.append(part)

    def thinking(self, block: Mapping[str, Any], where: str) -> None:
        shown = optional_text(block, "thinking", where)
        self._opaque(shown, optional_text(block, "signature", where), block)

    def redacted(self, block: Mapping[str, Any], where: str) -> None:
        self._opaque("", required_text(block, "data", where), block)

    def call(self, block: Mapping[str, Any], where: str) -> None:
        given = checked(block, "input", dict, "an object", where) or {}
        call = ToolCallPart(required_text(block, "id", where), required_text(block, "name", where), given)
        beside = {name: value for name, value in block.items() if name not in _OF_CALL and value is not None}
        if beside:
            self._carry("", call_item(call.call_id, beside))
        self._place.add_call()
        self.parts.append(call)

    def _opaque(self, shown: str, opaque: str, block: Mapping[str, Any]) -> None:
        """Adds thinking with its state: ours, which is opened, or that of whoever signed the block."""
        sealed = open_state(opaque)
        if sealed is None:
            self._carry(shown, block_item(_unmarked(block)))
        elif sealed.item is not None:
            self._carry(shown, sealed.item, sealed.beside)
        elif shown or sealed.beside:
            self.parts.append(thinking_part(shown, None, dict(sealed.beside) or None))

    def _carry(self, shown: str, item: Mapping[str, Any], beside: Mapping[str, Any] | None = None) -> None:
        """Adds an item; the metadata of its part lists all items so far, each with its place."""
        self._items.append({**item, PLACE: self._place.value})
        self.parts.append(thinking_part(shown, None, {**(beside or {}), ITEMS: list(self._items)}))


def _unmarked(block: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in block.items() if name != _MARK}


_MARK: Final = "cache_control"
_OF_CALL: Final = frozenset({"type", "id", "name", "input", _MARK})

_READERS: Final[dict[str, Callable[[_Answer, Mapping[str, Any], str], None]]] = {
    "text": _Answer.text,
    "thinking": _Answer.thinking,
    "redacted_thinking": _Answer.redacted,
    "tool_use": _Answer.call,
}
