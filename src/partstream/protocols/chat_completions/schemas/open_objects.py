"""Leaves out `additionalProperties`, which xAI refuses; source: docs/wires/chat-completions.md#tools-and-schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partstream.protocols.schemas.walking import Schema, with_inner_schemas

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["open_objects"]


def open_objects(schema: Mapping[str, Any]) -> Schema:
    """The schema without the keyword, at any depth; a property of that name stays."""
    kept = {name: value for name, value in schema.items() if name != "additionalProperties"}
    return with_inner_schemas(kept, open_objects)
