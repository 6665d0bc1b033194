"""The state of thinking in the one field that clients give back as it is, `encrypted_content`.

What an OpenResponses server gave goes through as it came, where nobody has said whose it is. Everything else is sealed,
because it would lose its meaning: the state of another protocol, and who gave the state, without which it goes back to
nobody (:mod:`partstream.conversation.reasoning`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.places import PLACE
from partstream.conversation.reasoning import usable_items
from partstream.protocols.provider_state import beside_items, seal_state

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["opaque_text"]

_OWN: Final = frozenset({"type", "id", "encrypted_content"})
"""The fields that an item of this protocol has."""


def opaque_text(item: Mapping[str, Any] | None, metadata: Mapping[str, Any], *, foreign: bool) -> str | None:
    """The `encrypted_content` that carries an item; None if there is nothing to carry.

    Args:
        item: The item, or None where the metadata lists none.
        metadata: The metadata that it stands in.
        foreign: Whether the state of other protocols is carried as well.
    """
    said = {name: value for name, value in (item or {}).items() if name != PLACE}
    beside = {name: value for name, value in beside_items(metadata).items() if name not in said}
    state = beside if item is None else said
    encrypted = state.get("encrypted_content")
    is_own = isinstance(encrypted, str) and said.keys() <= _OWN
    if is_own and beside.keys() <= _OWN:
        return encrypted
    carried = is_own or (foreign and usable_items([state]))
    return seal_state(None if item is None else said, beside) if carried else None
