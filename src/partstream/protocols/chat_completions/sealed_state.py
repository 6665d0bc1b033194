"""The state of thinking that this wire has no field for, in an entry of `reasoning_details`.

Clients that give back `reasoning_details` give back every entry as it came, as OpenRouter demands it (facts 2.4). So
the state of other protocols, and who gave the state, stand in an entry of their own, which no server but ours reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from partstream.conversation.reasoning import ITEMS
from partstream.conversation.sealing import seal, unseal
from partstream.json_codec import is_json

__all__ = ["Sealed", "read_sealed", "sealed_entry"]

_ENCRYPTED: Final = "reasoning.encrypted"
_FORMAT: Final = "partstream"
"""What the entry says of its form, in place of the makers that OpenRouter names."""


class Sealed(NamedTuple):
    """The entry of one item in the metadata of thinking.

    Attributes:
        item: The item with its place, or None where the metadata lists none.
        beside: The other fields of the metadata.
    """

    item: Mapping[str, Any] | None
    beside: Mapping[str, Any]


def sealed_entry(item: Mapping[str, Any] | None, metadata: Mapping[str, Any]) -> dict[str, Any] | None:
    """The entry that carries an item; None if JSON has no form for it.

    Args:
        item: The item, or None where the metadata lists none.
        metadata: The metadata that it stands in.
    """
    beside = {name: value for name, value in metadata.items() if name != ITEMS}
    sealed = {"item": item, "beside": beside}
    return {"type": _ENCRYPTED, "data": seal(sealed), "format": _FORMAT} if is_json(sealed) else None


def read_sealed(entry: Mapping[str, Any]) -> Sealed | None:
    """Opens what :func:`sealed_entry` made; None for any other entry."""
    data = entry.get("data")
    sealed = unseal(data) if isinstance(data, str) else None
    if not isinstance(sealed, dict):
        return None
    item, beside = sealed.get("item"), sealed.get("beside")
    return Sealed(item, beside) if isinstance(item, Mapping | None) and isinstance(beside, Mapping) else None
