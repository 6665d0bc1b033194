"""The state of thinking that a wire has no place for, as a text that clients give back as it is.

The state of other protocols, and who gave the state, are sealed together. A protocol says where the text stands: in a
signature, in an entry of its own, in an encrypted field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from partstream.codec.json_codec import is_json
from partstream.conversation.reasoning import ITEMS
from partstream.conversation.sealing import seal, unseal

__all__ = ["NO_STATE", "OpaqueState", "beside_items", "open_state", "seal_state"]


class OpaqueState(NamedTuple):
    """What was sealed: one item in the metadata of thinking.

    Attributes:
        item: The item, or None where the metadata lists none.
        beside: The other fields of the metadata.
    """

    item: Mapping[str, Any] | None
    beside: Mapping[str, Any]


def beside_items(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the metadata of thinking that stand beside its list of items."""
    return {name: value for name, value in metadata.items() if name != ITEMS}


def seal_state(item: Mapping[str, Any] | None, beside: Mapping[str, Any]) -> str | None:
    """The text that carries an item, of printable ASCII; None if JSON has no form for it.

    Args:
        item: The item, or None where the metadata lists none.
        beside: The other fields of the metadata.
    """
    sealed = {"item": item, "beside": beside}
    return seal(sealed) if is_json(sealed) else None


def open_state(text: str) -> OpaqueState | None:
    """Opens what :func:`seal_state` sealed; None for any other text."""
    sealed = unseal(text)
    if not isinstance(sealed, dict):
        return None
    item, beside = sealed.get("item"), sealed.get("beside")
    return OpaqueState(item, beside) if isinstance(item, Mapping | None) and isinstance(beside, Mapping) else None


NO_STATE: Final = seal({"item": None, "beside": {}})
"""The text that says no state at all, for a field that must not be empty."""
