"""Carries the state of other protocols through the AI SDK, as the options of a provider named `partstream`.

A client of the SDK gives back what a provider said beside an answer (`providerMetadata`) as `providerOptions` of the
next request. What one of the SDK's own providers said goes under that provider's name. Everything else that a thinking
part carries is wrapped: an item of another protocol as `item`, the fields beside the items as `metadata`, the id of a
thought that has no other place as `id`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

__all__ = ["PROVIDER", "Unwrapped", "unwrap", "wrap"]

PROVIDER: Final = "partstream"


class Unwrapped(NamedTuple):
    """What options hold.

    Attributes:
        options: The options of other providers.
        item: The item of another protocol, or None.
        metadata: The fields beside the items.
        id: The id of the thought, or None.
    """

    options: dict[str, Any]
    item: Mapping[str, Any] | None
    metadata: Mapping[str, Any]
    id: str | None


def wrap(
    item: Mapping[str, Any] | None = None, metadata: Mapping[str, Any] | None = None, thought_id: str | None = None
) -> dict[str, Any]:
    """The options that carry it; empty if there is nothing to carry."""
    said = {
        **({} if item is None else {"item": dict(item)}),
        **({"metadata": dict(metadata)} if metadata else {}),
        **({} if thought_id is None else {"id": thought_id}),
    }
    return {PROVIDER: said} if said else {}


def unwrap(options: Mapping[str, Any]) -> Unwrapped:
    """What was wrapped into options, and the others; what has another form was said by somebody else and stays."""
    wrapped = options.get(PROVIDER)
    if not isinstance(wrapped, Mapping) or not wrapped.keys() <= {"item", "metadata", "id"}:
        return Unwrapped(dict(options), None, {}, None)
    item, metadata, thought_id = wrapped.get("item"), wrapped.get("metadata", {}), wrapped.get("id")
    if not (isinstance(item, Mapping | None) and isinstance(metadata, Mapping) and isinstance(thought_id, str | None)):
        return Unwrapped(dict(options), None, {}, None)
    others = {name: value for name, value in options.items() if name != PROVIDER}
    return Unwrapped(others, item, metadata, thought_id)
