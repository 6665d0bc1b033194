"""The state of thinking in the one field that clients give back as it is, `encrypted_content`.

What an OpenResponses server gave goes through as it came, where nobody has said whose it is. Everything else is sealed,
because it would lose its meaning: the state of another protocol, and who gave the state, without which it goes back to
nobody (:mod:`partstream.conversation.reasoning`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from partstream.conversation.places import PLACE
from partstream.conversation.reasoning import ITEMS, usable_items
from partstream.conversation.sealing import seal, unseal
from partstream.json_codec import is_json

__all__ = ["Sealed", "opaque_text", "read_sealed"]

_OWN: Final = frozenset({"type", "id", "encrypted_content"})
"""The fields that an item of this protocol has."""


class Sealed(NamedTuple):
    """The entry of one item in the metadata of thinking.

    Attributes:
        item: The item, or None where the metadata lists none.
        beside: The other fields of the metadata.
    """

    item: Mapping[str, Any] | None
    beside: Mapping[str, Any]


def opaque_text(item: Mapping[str, Any] | None, metadata: Mapping[str, Any], *, foreign: bool) -> str | None:
    """The `encrypted_content` that carries an item; None if there is nothing to carry.

    Args:
        item: The item, or None where the metadata lists none.
        metadata: The metadata that it stands in.
        foreign: Whether the state of other protocols is carried as well.
    """
    said = {name: value for name, value in (item or {}).items() if name != PLACE}
    beside = {name: value for name, value in metadata.items() if name != ITEMS and name not in said}
    state = beside if item is None else said
    encrypted = state.get("encrypted_content")
    is_own = isinstance(encrypted, str) and said.keys() <= _OWN
    if is_own and beside.keys() <= _OWN:
        return encrypted
    sealed = {"item": None if item is None else said, "beside": beside}
    carried = is_own or (foreign and usable_items([state]))
    return seal(sealed) if carried and is_json(sealed) else None


def read_sealed(text: str) -> Sealed | None:
    """Opens what :func:`opaque_text` sealed; None for the state of an OpenResponses server."""
    sealed = unseal(text)
    if not isinstance(sealed, dict):
        return None
    item, beside = sealed.get("item"), sealed.get("beside")
    return Sealed(item, beside) if isinstance(item, Mapping | None) and isinstance(beside, Mapping) else None
