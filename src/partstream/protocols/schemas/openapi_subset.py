"""The subset of OpenAPI that Google takes as a protobuf message: one unknown keyword anywhere fails the whole request.

Source: docs/wires/gemini.md#tools-and-schemas.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from partstream.protocols.schemas.inlined import inlined
from partstream.protocols.schemas.parts import with_parts
from partstream.protocols.schemas.walking import Schema, with_inner_schemas

__all__ = ["openapi_subset"]

_KEYWORDS: Final = frozenset(
    {"type", "format", "title", "description", "nullable", "enum", "items", "minItems", "maxItems", "properties"}
    | {"required", "propertyOrdering", "anyOf", "default", "example", "minLength", "maxLength", "pattern"}
    | {"minimum", "maximum", "minProperties", "maxProperties"}
)
_FORMATS: Final = frozenset({"int32", "int64", "float", "double", "enum", "date-time"})
_BESIDE_BRANCHES: Final = frozenset({"anyOf", "description", "title", "nullable", "default"})
"""What may stand beside `anyOf`: the branches say everything else."""
_OF_TYPES: Final = {
    "array": frozenset({"items", "minItems", "maxItems"}),
    "object": frozenset({"properties", "required", "propertyOrdering", "minProperties", "maxProperties"}),
    "string": frozenset({"enum", "pattern", "minLength", "maxLength", "format"}),
    "number": frozenset({"minimum", "maximum", "format"}),
    "integer": frozenset({"minimum", "maximum", "format"}),
}
"""The keywords that one of several types takes with it into its branch."""
_NULL: Final = "null"
_ANYTHING: Final[Mapping[str, Any]] = {"type": "string"}
"""What stands for a schema that says nothing, where one has to stand."""


def openapi_subset(schema: Mapping[str, Any]) -> Schema:
    """The schema in the keywords that Google knows; what they cannot say is left out, so that it allows more."""
    return _subset(inlined(schema))


def _subset(schema: Mapping[str, Any]) -> Schema:
    said = dict(schema)
    for step in (with_parts, _with_words, _with_branches, _with_one_type, _with_items, _with_properties):
        said = step(said)
    names = _KEYWORDS & _BESIDE_BRANCHES if "anyOf" in said else _KEYWORDS
    known = {name: value for name, value in said.items() if name in names}
    if known.get("format") not in _FORMATS:
        known.pop("format", None)
    return with_inner_schemas(known, _subset)


def _with_words(schema: Schema) -> Schema:
    """The schema with `const` as an `enum`; only words can be listed, so that numbers are not."""
    values = _list(schema.pop("enum", [schema["const"]] if "const" in schema else None))
    words = [value for value in values if value is not None]
    if len(words) < len(values):
        schema["nullable"] = True
    if words and all(isinstance(word, str) and word for word in words):
        schema |= {"enum": words, "type": "string"}
    return schema


def _with_branches(schema: Schema) -> Schema:
    """The schema with `oneOf` as `anyOf`, without a branch for null, which is `nullable`, and without a lone branch."""
    given = _schemas(schema.pop("anyOf", None)) or _schemas(schema.pop("oneOf", None))
    branches = [one for one in given if one.get("type") != _NULL]
    if len(branches) < len(given):
        schema["nullable"] = True
    if len(branches) == 1:
        return _with_branches(_with_words(with_parts(dict(branches[0])))) | schema
    return schema | ({"anyOf": branches} if branches else {})


def _with_one_type(schema: Schema) -> Schema:
    """The schema with one type: null beside others is `nullable`, several others are branches."""
    types = schema.get("type")
    if not isinstance(types, list):
        return schema
    del schema["type"]
    named = [one for one in types if one != _NULL]
    if len(named) < len(types):
        schema["nullable"] = True
    if len(named) == 1:
        return schema | {"type": named[0]}
    return schema | ({"anyOf": [_branch(schema, one) for one in named]} if named and "anyOf" not in schema else {})


def _branch(schema: Schema, name: str) -> Schema:
    return {"type": name} | {word: schema[word] for word in _OF_TYPES.get(name, ()) if word in schema}


def _with_items(schema: Schema) -> Schema:
    """The schema of a list that says what is in it, in one schema."""
    items = schema.pop("items", None)
    if isinstance(items, list):
        listed = _schemas(items)
        items = listed[0] if len(listed) == 1 else {"anyOf": listed} if listed else None
    if isinstance(items, Mapping):
        return schema | {"items": items}
    return schema | ({"items": _ANYTHING} if schema.get("type") == "array" else {})


def _with_properties(schema: Schema) -> Schema:
    """The schema of an object that demands no property but its own."""
    required = _list(schema.pop("required", None))
    properties = schema.pop("properties", None)
    if not isinstance(properties, Mapping):
        return schema
    schema["properties"] = {name: one if isinstance(one, Mapping) else _ANYTHING for name, one in properties.items()}
    own = [name for name in required if name in properties]
    return schema | ({"required": own} if own else {})


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _schemas(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in _list(value) if isinstance(one, Mapping)]
