"""The state of thinking that this wire has no field for, in an entry of `reasoning_details`.

Clients give back every entry as it came, as OpenRouter requires (docs/wires/chat-completions.md#reasoning-details). So
the state of other protocols, and who gave it, are in an entry of their own, which no server but ours reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.provider_state import beside_items, open_state, seal_state

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.provider_state import OpaqueState

__all__ = ["read_sealed", "sealed_entry"]

_ENCRYPTED: Final = "reasoning.encrypted"
_FORMAT: Final = "partstream"
"""What the entry says of its form, in place of the makers that OpenRouter names."""


def sealed_entry(item: Mapping[str, Any] | None, metadata: Mapping[str, Any]) -> dict[str, Any] | None:
    """The entry that carries an item; None if JSON has no form for it.

    Args:
        item: The item, or None where the metadata lists none.
        metadata: The metadata that it stands in.
    """
    sealed = seal_state(item, beside_items(metadata))
    return None if sealed is None else {"type": _ENCRYPTED, "data": sealed, "format": _FORMAT}


def read_sealed(entry: Mapping[str, Any]) -> OpaqueState | None:
    """Opens what :func:`sealed_entry` made; None for any other entry."""
    data = entry.get("data")
    return open_state(data) if isinstance(data, str) else None
