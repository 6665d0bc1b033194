"""Puts the schemas of `allOf` together: for servers that know no `allOf`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partstream.protocols.schemas.walking import Schema

__all__ = ["with_parts"]


def with_parts(schema: Schema) -> Schema:
    """The schema with those of `allOf` in it: their properties together, of all else the first that says it."""
    listed = schema.pop("allOf", None)
    for one in _schemas(listed):
        part = with_parts(dict(one))
        properties = {**_object(part.get("properties")), **_object(schema.get("properties"))}
        required = list(dict.fromkeys([*_list(schema.get("required")), *_list(part.get("required"))]))
        schema = {**part, **schema}
        if properties:
            schema["properties"] = properties
        if required:
            schema["required"] = required
    return schema


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _schemas(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in _list(value) if isinstance(one, Mapping)]
