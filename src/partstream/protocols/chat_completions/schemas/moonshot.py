"""The subset of JSON Schema that Moonshot takes; source: docs/wires/chat-completions.md#tools-and-schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partstream.protocols.schemas.walking import Schema, with_inner_schemas

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["moonshot_schema"]


def moonshot_schema(schema: Mapping[str, Any]) -> Schema:
    """The schema of an object, without `$schema`, with types in the branches of `anyOf` and tuples as `prefixItems`."""
    return _normal(schema) | {"type": "object"}


def _normal(schema: Mapping[str, Any]) -> Schema:
    # `$schema` makes Kimi K2.5 answer nonsense.
    kept = {name: value for name, value in schema.items() if name != "$schema"}
    items = kept.get("items")
    if isinstance(items, list):
        del kept["items"]
        kept["prefixItems"] = items
    branches = kept.get("anyOf")
    if isinstance(branches, list) and "type" in kept:
        outer = kept.pop("type")
        kept["anyOf"] = [{"type": outer, **one} if isinstance(one, dict) else one for one in branches]
    return with_inner_schemas(kept, _normal)
