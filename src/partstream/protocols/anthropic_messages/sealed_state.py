"""The state of thinking that this wire has no block for, in the two fields that clients give back as they are.

Clients give back thinking blocks and redacted ones unchanged, as Anthropic demands it (facts 4.2). So the state of
other protocols, and who gave the state, stand sealed in the `signature` of a thinking block or, where nothing of the
thinking is shown, in the `data` of a redacted one. Clients that turn the one block into the other lose nothing by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from partstream.conversation.places import PLACE
from partstream.conversation.reasoning import ITEMS
from partstream.conversation.sealing import seal, unseal
from partstream.json_codec import is_json

__all__ = ["UNSIGNED", "Sealed", "read_sealed", "sealed_text"]


class Sealed(NamedTuple):
    """What was sealed: one item in the metadata of thinking.

    Attributes:
        item: The item without its place, or None where the metadata lists none.
        beside: The other fields of the metadata.
    """

    item: Mapping[str, Any] | None
    beside: Mapping[str, Any]


def sealed_text(item: Mapping[str, Any] | None, metadata: Mapping[str, Any]) -> str | None:
    """The text that carries an item; None if JSON has no form for it.

    Args:
        item: The item, or None where the metadata lists none.
        metadata: The metadata that it stands in.
    """
    said = None if item is None else {name: value for name, value in item.items() if name != PLACE}
    beside = {name: value for name, value in metadata.items() if name != ITEMS}
    sealed = {"item": said, "beside": beside}
    return seal(sealed) if is_json(sealed) else None


def read_sealed(text: str) -> Sealed | None:
    """Opens what :func:`sealed_text` sealed; None for any other signature."""
    sealed = unseal(text)
    if not isinstance(sealed, dict):
        return None
    item, beside = sealed.get("item"), sealed.get("beside")
    return Sealed(item, beside) if isinstance(item, Mapping | None) and isinstance(beside, Mapping) else None


UNSIGNED: Final = seal({"item": None, "beside": {}})
"""The signature of thinking without any state: some clients throw away thinking that has none (serving.md 3.3)."""
