"""The state of thinking in an answer that is written: what the client has to send back.

What a server of this wire gave (:mod:`partstream.protocols.chat_completions.provider_state`) stands in the field that it
came in; where that is a field of shown text, the text itself is the state. Everything else, and what names the server
that gave it, is sealed into an entry of `reasoning_details`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.reasoning import ITEMS, usable_items
from partstream.protocols.chat_completions.provider_state import (
    EXTRA_CONTENT,
    FIELD,
    ITEM_TYPE,
    REASONING_DETAILS,
    STATE_FIELDS,
    THINKING_BLOCKS,
    TOOL_CALL_ID,
    sealed_entry,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from partstream.protocols.chat_completions.written_chunks import WrittenCalls

__all__ = ["WrittenState"]

_Delta = dict[str, Any]


class WrittenState:
    """The state that one answer has brought so far: metadata lists all items, and each is written once.

    Args:
        calls: The calls of the answer, which may have state of their own.
    """

    __slots__ = ("_calls", "_entries", "_listed")

    def __init__(self, calls: WrittenCalls) -> None:
        self._calls = calls
        self._entries: dict[str, int] = {}
        self._listed = 0

    def write(self, metadata: Mapping[str, Any]) -> Iterator[_Delta]:
        """The fields of each delta that carries what is new in the metadata of a thinking part."""
        listed = metadata.get(ITEMS)
        if not isinstance(listed, list | tuple):
            yield from self._sealed(None, metadata)
            return
        new, self._listed = listed[self._listed :], len(listed)
        is_own = len(metadata) == 1
        for item in new:
            if isinstance(item, Mapping):
                yield from self._own(item) if is_own and item.get("type") == ITEM_TYPE else self._sealed(item, metadata)

    def _own(self, item: Mapping[str, Any]) -> Iterator[_Delta]:
        for field, write in _WRITERS.items():
            if field in item:
                yield from write(self, item)
                return

    def _call(self, item: Mapping[str, Any]) -> Iterator[_Delta]:
        for delta in self._calls.carry(item[TOOL_CALL_ID], item.get(EXTRA_CONTENT)):
            yield {"tool_calls": [delta]}

    def _extra(self, item: Mapping[str, Any]) -> Iterator[_Delta]:
        yield {EXTRA_CONTENT: item[EXTRA_CONTENT]}

    def _details(self, item: Mapping[str, Any]) -> Iterator[_Delta]:
        yield from self._list(REASONING_DETAILS, item[REASONING_DETAILS])

    def _blocks(self, item: Mapping[str, Any]) -> Iterator[_Delta]:
        yield from self._list(THINKING_BLOCKS, item[THINKING_BLOCKS])

    def _text(self, item: Mapping[str, Any]) -> Iterator[_Delta]:
        if item[FIELD] in STATE_FIELDS:
            yield {item[FIELD]: item.get("text")}

    def _sealed(self, item: Mapping[str, Any] | None, metadata: Mapping[str, Any]) -> Iterator[_Delta]:
        if usable_items([metadata if item is None else item]):
            entry = sealed_entry(item, metadata)
            yield from self._list(REASONING_DETAILS, [] if entry is None else [entry])

    def _list(self, field: str, entries: Sequence[Any]) -> Iterator[_Delta]:
        """Entries with indices that no others have: the helpers of the official clients join entries by them."""
        said = [entry for entry in entries if isinstance(entry, Mapping)]
        first = self._entries.get(field, 0)
        self._entries[field] = first + len(said)
        if said:
            yield {field: [{**entry, "index": number} for number, entry in enumerate(said, first)]}


_WRITERS: Final[dict[str, Callable[[WrittenState, Mapping[str, Any]], Iterator[_Delta]]]] = {
    TOOL_CALL_ID: WrittenState._call,  # noqa: SLF001 - the table of the class
    EXTRA_CONTENT: WrittenState._extra,  # noqa: SLF001
    REASONING_DETAILS: WrittenState._details,  # noqa: SLF001
    THINKING_BLOCKS: WrittenState._blocks,  # noqa: SLF001
    FIELD: WrittenState._text,  # noqa: SLF001
}
"""By the field that an item of each form has; the first that an item has is its form."""
