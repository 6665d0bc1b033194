"""The state of thinking in an answer that is written: the signatures that the client has to send back.

What a server of this wire gave (:mod:`partstream.protocols.gemini.carried_items`) stands where it stood, as far as a
stream still can say it: on its call, or on an empty text. Everything else, and what names the server that gave it, is
sealed into the signature of an empty text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from partstream.conversation.reasoning import ITEMS, usable_items
from partstream.protocols.gemini.carried_items import ITEM_TYPE, SignedText, StateOfCall, read_item
from partstream.protocols.gemini.sealed_state import sealed_signature

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["WrittenState"]


class WrittenState:
    """The state that one answer has brought so far: metadata lists all items, and each is written once."""

    __slots__ = ("_listed", "_of_calls")

    def __init__(self) -> None:
        self._listed = 0
        self._of_calls: dict[str, str] = {}

    def write(self, metadata: Mapping[str, Any]) -> Iterator[str]:
        """The signatures of empty texts that carry what is new in the metadata of a thinking part."""
        listed = metadata.get(ITEMS)
        if not isinstance(listed, list | tuple):
            yield from self._sealed(None, metadata)
            return
        new, self._listed = listed[self._listed :], len(listed)
        is_own = len(metadata) == 1
        for item in new:
            if isinstance(item, Mapping):
                yield from self._item(item, metadata, is_own=is_own)

    def of_call(self, call_id: str) -> str | None:
        """The signature of a call; None if it has none, or was written before."""
        return self._of_calls.pop(call_id, None)

    def _item(self, item: Mapping[str, Any], metadata: Mapping[str, Any], *, is_own: bool) -> Iterator[str]:
        said = read_item(item) if is_own and item.get("type") == ITEM_TYPE else None
        if isinstance(said, StateOfCall):
            if said.signature is not None:
                self._of_calls[said.call_id] = said.signature
        elif isinstance(said, SignedText) and said.length == 0:
            yield said.signature
        else:
            yield from self._sealed(item, metadata)

    def _sealed(self, item: Mapping[str, Any] | None, metadata: Mapping[str, Any]) -> Iterator[str]:
        if usable_items([metadata if item is None else item]):
            signature = sealed_signature(item, metadata)
            if signature is not None:
                yield signature
