"""Selects the parts of a response that the next request sends back as the assistant's message; knows no tool.

Source: section 7.3 of the contract, and the data parts of a response that Copilot sends back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from partstream.lm.parts import ResponsePart

__all__ = ["assistant_content"]

# The one data part that Copilot returns with each assistant message: it identifies state that the provider keeps.
_RETURNED_MIME_TYPES = frozenset({"stateful_marker"})


def assistant_content(parts: Iterable[ResponsePart], answered: Collection[str]) -> tuple[ResponsePart, ...]:
    """The content of the assistant's message: joined text and thinking, answered calls, the provider's marker.

    Args:
        parts: The parts of a response, in order.
        answered: The ids of the calls that have results; other calls are left out.
    """
    runs: list[_Run] = []
    for part in parts:
        if not _is_returned(part, answered):
            continue
        if not runs or not runs[-1].take(part):
            runs.append(_Run(part))
    return tuple(run.joined() for run in runs)


def _is_returned(part: ResponsePart, answered: Collection[str]) -> bool:
    match part:
        case ToolCallPart():
            return part.call_id in answered
        case DataPart():
            return part.mime_type in _RETURNED_MIME_TYPES
        case TextPart():
            return part.value != ""
        case ThinkingPart():
            return True


class _Run:
    """Neighbouring parts that form one part: any texts (section 2.2), or the thinking of one item."""

    __slots__ = ("_id", "_last", "_values")

    def __init__(self, first: ResponsePart) -> None:
        self._last = first
        self._id = first.id if isinstance(first, ThinkingPart) else None
        self._values = [first.value] if isinstance(first, TextPart | ThinkingPart) else []

    def take(self, part: ResponsePart) -> bool:
        """Adds `part` if it belongs to the run; returns whether it does."""
        if not (self._continues_text(part) or self._continues_thinking(part)):
            return False
        self._values.append(part.value)
        self._last = part
        return True

    def joined(self) -> ResponsePart:
        """The run as one part."""
        if isinstance(self._last, TextPart):
            return TextPart("".join(self._values))
        if isinstance(self._last, ThinkingPart):
            return ThinkingPart("".join(self._values), self._id, self._last.metadata)
        return self._last

    def _continues_text(self, part: ResponsePart) -> TypeGuard[TextPart]:
        return isinstance(part, TextPart) and isinstance(self._last, TextPart)

    def _continues_thinking(self, part: ResponsePart) -> TypeGuard[ThinkingPart]:
        # The last part of an item carries the metadata of the whole item: the part after it belongs to another item.
        if not isinstance(part, ThinkingPart) or not isinstance(self._last, ThinkingPart) or self._last.metadata:
            return False
        if self._id is None:
            self._id = part.id
        return part.id in {None, self._id}
