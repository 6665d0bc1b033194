"""Turns the metadata of thinking parts into provider metadata of reasoning blocks and calls.

The opposite of :mod:`partstream.protocols.ai_sdk.provider_state`. Metadata lists all items of the answer so far, so the new
ones are those that were not listed before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeGuard

from partstream.conversation.places import PLACE
from partstream.conversation.reasoning import ITEMS
from partstream.protocols.ai_sdk.errors import is_summary
from partstream.protocols.ai_sdk.provider_state import PROVIDER, REASONING, SUMMARY, TOOL_CALL, wrap

__all__ = ["Brought", "WrittenItems", "take_for_call"]

_OPTIONS: Final = "providerOptions"
_FIELDS: Final = {
    REASONING: {"type", "text", _OPTIONS},
    SUMMARY: {"type", "text", _OPTIONS},
    TOOL_CALL: {"type", "toolCallId", _OPTIONS},
}
_UNSAYABLE: Final = "gateway"
"""What the readers of answers take for a word on the whole answer, wherever it stands."""


class Brought(NamedTuple):
    """Something to say beside the answer.

    Attributes:
        kind: `reasoning`: beside the block that is open, else beside an empty one; `text`: the summary of a compacted
            conversation; `tool-call`: beside the next call.
        said: What is said, by provider.
        text: The text of the block that it belongs to, or of the summary.
        call_id: The call that it belongs to, as its upstream names it.
        wrapped: What is said instead where the block has another text.
        item: The item; None where there is none.
    """

    kind: str
    said: Mapping[str, Any]
    text: str | None = None
    call_id: str | None = None
    wrapped: Mapping[str, Any] = {}
    item: Mapping[str, Any] | None = None


class WrittenItems:
    """The items of one answer, as far as they were listed."""

    def __init__(self) -> None:
        self._listed: list[Any] = []

    def take(self, metadata: Mapping[str, Any]) -> list[Brought]:
        """The new items in the metadata of a thinking part."""
        listed = metadata.get(ITEMS)
        new: list[Any] = []
        if isinstance(listed, list | tuple):
            known = len(self._listed) if list(listed[: len(self._listed)]) == self._listed else 0
            new, self._listed = list(listed[known:]), list(listed)
        items = [
            {name: value for name, value in item.items() if name != PLACE} for item in new if isinstance(item, Mapping)
        ]
        repeated = items[-1] if items else {}
        beside = {
            name: value
            for name, value in metadata.items()
            if name != ITEMS and (name not in repeated or repeated[name] != value)
        }
        if not items:
            return [Brought(REASONING, wrap(None, beside))]
        return [_brought(item, beside) for item in items]


def take_for_call(waiting: list[Brought], call_id: str) -> Brought | None:
    """Removes and returns the state for a call: by its id, else the oldest, because ids may have changed."""
    named = (brought for brought in waiting if brought.call_id == call_id)
    brought = next(named, waiting[0] if waiting else None)
    if brought is not None:
        waiting.remove(brought)
    return brought


def _brought(item: Mapping[str, Any], beside: Mapping[str, Any]) -> Brought:
    kind, options = item.get("type"), item.get(_OPTIONS)
    wrapped = wrap(item, beside)
    if kind not in _FIELDS or item.keys() != _FIELDS[kind] or not _is_own(options) or (beside and PROVIDER in options):
        return Brought(TOOL_CALL if kind == TOOL_CALL else REASONING, wrapped, item=item)
    said = {**options, **wrap(None, beside)}
    if kind == TOOL_CALL:
        return Brought(kind, said, call_id=item["toolCallId"], item=item)
    if kind == SUMMARY and not is_summary(options):
        return Brought(REASONING, wrapped, item=item)
    return Brought(kind, said, text=item["text"], wrapped=wrapped, item=item)


def _is_own(options: Any) -> TypeGuard[Mapping[str, Any]]:
    """Tells whether options are provider metadata that a reader returns unchanged."""
    return (
        isinstance(options, Mapping)
        and bool(options)
        and _UNSAYABLE not in options
        and all(isinstance(said, Mapping) and said for said in options.values())
    )
