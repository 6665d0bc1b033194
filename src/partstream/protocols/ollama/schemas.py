"""Puts the schema of a tool's arguments into what Ollama passes on of it (docs/wires/ollama.md#schemas).

Ollama reads a schema into a structure of its own and drops what the structure has no field for, without a word: what
would be lost is said in words of the description instead. The content of `items` passes as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from partstream.codec.json_codec import dumps
from partstream.protocols.schemas.inlined import inlined
from partstream.protocols.schemas.parts import with_parts

__all__ = ["tool_schema"]

_KEPT: Final = frozenset({"anyOf", "type", "items", "description", "enum", "properties", "required"})
_KEPT_AT_TOP: Final = frozenset({"type", "items", "required", "properties"})
_BOUNDS: Final[Mapping[str, str]] = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "pattern": "matches {}",
    "format": "format {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} properties",
    "maxProperties": "at most {} properties",
    "default": "default {}",
}
"""How a keyword that is lost is said, in this order."""
_SWITCHES: Final[Mapping[str, tuple[bool, str]]] = {
    "uniqueItems": (True, "no item twice"),
    "nullable": (True, "or null"),
}
"""The value of a keyword with which it says something, and what."""
_MOST_SHOWN: Final = 200
"""Characters of one value."""


def tool_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object with definitions where they are referred to, `oneOf` as `anyOf` and `const` as `enum`."""
    whole = with_parts(inlined(schema))
    kept = {name: value for name, value in _structure(whole).items() if name in _KEPT_AT_TOP}
    return kept | {"type": "object"}


def _structure(schema: Mapping[str, Any]) -> dict[str, Any]:
    said = with_parts(dict(schema))
    if "const" in said:
        said.setdefault("enum", [said["const"]])
    if isinstance(said.get("oneOf"), list):
        said.setdefault("anyOf", said["oneOf"])
    kept = {name: value for name, value in said.items() if name in _KEPT}
    if isinstance(kept.get("anyOf"), list):
        kept["anyOf"] = [_structure(_object(one)) for one in kept["anyOf"]]
    if "properties" in kept:
        kept["properties"] = {name: _structure(_object(one)) for name, one in _object(kept["properties"]).items()}
    if description := _described(said):
        kept["description"] = description
    else:
        kept.pop("description", None)
    return kept


def _described(schema: Mapping[str, Any]) -> str:
    """The description with the bounds that are lost behind it, once."""
    given = schema.get("description")
    description = given if isinstance(given, str) else ""
    bounds = [sentence.format(_shown(schema[name])) for name, sentence in _BOUNDS.items() if name in schema]
    bounds += (words for name, (value, words) in _SWITCHES.items() if schema.get(name) is value)
    said = f"({'; '.join(bounds)})" if bounds else ""
    return description if said in description else f"{description} {said}".strip()


def _shown(value: Any) -> str:
    return value[:_MOST_SHOWN] if isinstance(value, str) else dumps(value).decode()[:_MOST_SHOWN]


def _object(value: Any) -> Mapping[str, Any]:
    """A schema; `true`, which allows everything, is the empty one."""
    return value if isinstance(value, Mapping) else {}
