"""The state of thinking in an answer that is written: what the client has to send back.

What a server of this wire gave (:mod:`partstream.protocols.anthropic_messages.provider_state`) stands in the block
that it came in. Everything else, and what names the server that gave it, is sealed into the signature of the thinking
that it belongs to, or into a redacted block.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from partstream.conversation.reasoning import ITEMS, usable_items
from partstream.protocols.anthropic_messages.provider_state import (
    block_of,
    block_of_sdk,
    container_of,
    fields_of_call,
    sealed_text,
)

if TYPE_CHECKING:
    from partstream.protocols.anthropic_messages.written_blocks import WrittenBlocks

__all__ = ["WrittenState"]


class WrittenState:
    """The state that one answer has brought so far: metadata lists all items, and each is written once.

    Args:
        blocks: The blocks of the answer.

    Attributes:
        container: The container in which the server ran code for this answer, or None.
    """

    __slots__ = ("_blocks", "_fields", "_listed", "container")

    def __init__(self, blocks: WrittenBlocks) -> None:
        self._blocks = blocks
        self._fields: dict[str, Mapping[str, Any]] = {}
        self._listed = 0
        self.container: Mapping[str, Any] | None = None

    def write(self, metadata: Mapping[str, Any]) -> None:
        """Writes what is new in the metadata of a thinking part."""
        listed = metadata.get(ITEMS)
        if not isinstance(listed, list | tuple):
            self._seal(None, metadata)
            return
        new, self._listed = listed[self._listed :], len(listed)
        for item in new:
            if isinstance(item, Mapping) and not (len(metadata) == 1 and self._is_written(item)):
                self._seal(item, metadata)

    def fields_of(self, call_id: str) -> Mapping[str, Any]:
        """The further fields of a call, if state that came before it has any."""
        return self._fields.pop(call_id, {})

    def _is_written(self, item: Mapping[str, Any]) -> bool:
        """Writes an item as what it stands for, if that has a place of its own here."""
        of_call, container = fields_of_call(item), container_of(item)
        if of_call is not None:
            self._fields[of_call[0]] = of_call[1]
            return True
        if container is not None:
            self.container = container
            return True
        block = block_of(item) or block_of_sdk(item)
        if block is None:
            return False
        if block["type"] != "thinking":
            self._blocks.whole(block)
            return True
        return self._is_signed(block.get("thinking"), block.get("signature"))

    def _is_signed(self, text: Any, signature: Any) -> bool:
        """Signs the open thinking with a signature of its own text: another text would make it invalid."""
        if not isinstance(signature, str) or not signature:
            return False
        thought = self._blocks.thought
        if thought is None and not text:
            self._blocks.whole({"type": "thinking", "thinking": "", "signature": signature})
        elif text == thought:
            self._blocks.sign(signature)
        else:
            return False
        return True

    def _seal(self, item: Mapping[str, Any] | None, metadata: Mapping[str, Any]) -> None:
        sealed = sealed_text(item, metadata) if usable_items([metadata if item is None else item]) else None
        if sealed is None:
            return
        if self._blocks.thought is None:
            self._blocks.whole({"type": "redacted_thinking", "data": sealed})
        else:
            self._blocks.sign(sealed)
