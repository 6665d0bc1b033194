"""The state of thinking that this wire has no block for, in the two fields that clients give back as they are.

Clients give thinking blocks back unchanged (docs/wires/anthropic-messages.md#thinking-that-goes-back). So the state of
other protocols, and who gave it, are sealed in the `signature` of a thinking block or, where no thinking is shown, in
the `data` of a redacted one. Clients that turn the one block into the other lose nothing by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.places import PLACE
from partstream.protocols.provider_state import NO_STATE, beside_items, seal_state

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["UNSIGNED", "sealed_text"]


def sealed_text(item: Mapping[str, Any] | None, metadata: Mapping[str, Any]) -> str | None:
    """The text that carries an item; None if JSON has no form for it.

    Args:
        item: The item, or None where the metadata lists none.
        metadata: The metadata that it stands in.
    """
    said = None if item is None else {name: value for name, value in item.items() if name != PLACE}
    return seal_state(said, beside_items(metadata))


UNSIGNED: Final = NO_STATE
"""The signature of thinking without any state: some clients discard thinking that has none."""
