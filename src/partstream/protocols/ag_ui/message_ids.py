"""Gives messages their ids: those that the agent gave, else ids made of all that is said until there.

A message has the same id in every request that brings the same conversation, so that agents which keep messages by
their ids know those they have seen.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final

from partstream.conversation.digest import canonical_json

__all__ = ["digest_of", "with_ids"]

_SIZE: Final = 12


def with_ids(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages, each with an id as its first field."""
    digest = blake2b(digest_size=_SIZE)
    named = []
    for message in messages:
        digest.update(canonical_json(message))
        named.append({"id": message.get("id") or f"msg_{digest.copy().hexdigest()}", **_without_id(message)})
    return named


def digest_of(*values: object) -> str:
    """A text that is the same for the same values."""
    return blake2b(canonical_json({"values": list(values)}), digest_size=_SIZE).hexdigest()


def _without_id(message: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in message.items() if name != "id"}
