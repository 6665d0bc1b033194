"""JSON Schema in the forms that servers take; what a form cannot say is left out, or said in words.

:func:`with_inner_schemas` walks: it alone knows which keywords hold schemas, and in which form. :func:`inlined` puts
definitions where they are referred to, and :func:`with_parts` merges `allOf`, for servers without `$ref` (Qwen, Gemini)
or `allOf`. Each function below is the form of one kind of server:

- :func:`openapi_subset`: what Google takes as a protobuf message; one unknown keyword anywhere fails the whole request
  (docs/wires/gemini.md#tools-and-schemas).
- :func:`moonshot_schema` and :func:`open_objects`: what Moonshot takes, and xAI, which refuses `additionalProperties`
  (docs/wires/chat-completions.md#tools-and-schemas).
- :func:`tool_schema`: what Ollama passes on. It reads a schema into a structure of its own and drops what the structure
  has no field for, without a word: the description says in words what would be lost. The content of `items` passes as
  it is (docs/wires/ollama.md#schemas).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.codec.json_codec import dumps

if TYPE_CHECKING:
    from collections.abc import Callable


Schema: TypeAlias = dict[str, Any]

_BY_NAME: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords whose value is an object of schemas."""
_LISTED: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
"""Keywords whose value is a list of schemas."""
_SINGLE: Final = frozenset(
    {"items", "additionalProperties", "additionalItems", "not", "if", "then", "else", "contains", "propertyNames"}
    | {"unevaluatedProperties", "unevaluatedItems"}
)
"""Keywords whose value is a schema; `items` may also be a list of them, as in older drafts."""


def with_inner_schemas(schema: Mapping[str, Any], change: Callable[[Mapping[str, Any]], Any]) -> Schema:
    """The schema with each schema directly in it replaced; what is no object, such as `true`, stays as it is."""

    def changed(value: Any) -> Any:
        return change(value) if isinstance(value, Mapping) else value

    result: Schema = {}
    for name, value in schema.items():
        if name in _BY_NAME and isinstance(value, Mapping):
            result[name] = {inner: changed(one) for inner, one in value.items()}
        elif (name in _LISTED or name == "items") and isinstance(value, list):
            result[name] = [changed(one) for one in value]
        else:
            result[name] = changed(value) if name in _SINGLE else value
    return result


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
    """An object, such as a schema; `true`, the schema that allows everything, is the empty one."""
    return value if isinstance(value, Mapping) else {}


def _schemas(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in _list(value) if isinstance(one, Mapping)]


_DEFINITIONS: Final = frozenset({"$defs", "definitions"})
_MOST_INLINED: Final = 500
"""The most references that are followed: definitions that double each other grow without end."""


def inlined(schema: Mapping[str, Any]) -> Schema:
    """The schema without `$defs` and local `$ref`.

    A definition that refers to itself ends in an object of any kind, because no finite schema says the same; so does a
    reference to what is not there.
    """
    return _Inlining(schema).resolved(schema, ())


class _Inlining:
    """The references of one schema."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._followed = 0

    def resolved(self, schema: Mapping[str, Any], within: tuple[str, ...]) -> Schema:
        """The schema with its references resolved, but for those to the definitions around it."""
        reference = schema.get("$ref")
        beside = {name: value for name, value in schema.items() if name != "$ref" and name not in _DEFINITIONS}
        inner = with_inner_schemas(beside, partial(self.resolved, within=within))
        if not isinstance(reference, str):
            return inner
        meant = None if reference in within or self._followed >= _MOST_INLINED else self._target(reference)
        if meant is None:
            return {"type": "object"} | inner
        self._followed += 1
        return self.resolved(meant, (*within, reference)) | inner

    def _target(self, reference: str) -> Mapping[str, Any] | None:
        """What a JSON pointer within the schema points to (RFC 6901), or None."""
        if not reference.startswith("#"):
            return None
        target: Any = self._root
        for step in reference[1:].split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(target, Mapping) or name not in target:
                return None
            target = target[name]
        return target if isinstance(target, Mapping) else None


# ---- Google ----

_KEYWORDS: Final = frozenset(
    {"type", "format", "title", "description", "nullable", "enum", "items", "minItems", "maxItems", "properties"}
    | {"required", "propertyOrdering", "anyOf", "default", "example", "minLength", "maxLength", "pattern"}
    | {"minimum", "maximum", "minProperties", "maxProperties"}
)
_FORMATS: Final = frozenset({"int32", "int64", "float", "double", "enum", "date-time"})
_BESIDE_BRANCHES: Final = frozenset({"anyOf", "description", "title", "nullable", "default"})
"""The keywords that may occur beside `anyOf`: the branches say everything else."""
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
"""The schema in place of one that says nothing, where Google demands one."""


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
    if not named or "anyOf" in schema:
        return schema
    taken = {name: {word: schema[word] for word in _OF_TYPES.get(name, ()) if word in schema} for name in named}
    return schema | {"anyOf": [{"type": name, **taken[name]} for name in named]}


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


# ---- Moonshot and xAI ----


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


def open_objects(schema: Mapping[str, Any]) -> Schema:
    """The schema without the keyword, at any depth; a property of that name stays."""
    kept = {name: value for name, value in schema.items() if name != "additionalProperties"}
    return with_inner_schemas(kept, open_objects)


# ---- Ollama ----

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
    # The description, then the bounds that are lost, once.
    given = said.get("description")
    description = given if isinstance(given, str) else ""
    bounds = [sentence.format(_shown(said[name])) for name, sentence in _BOUNDS.items() if name in said]
    bounds += (words for name, (value, words) in _SWITCHES.items() if said.get(name) is value)
    words = f"({'; '.join(bounds)})" if bounds else ""
    kept["description"] = description if words in description else f"{description} {words}".strip()
    return kept if kept["description"] else {name: value for name, value in kept.items() if name != "description"}


def _shown(value: Any) -> str:
    return value[:_MOST_SHOWN] if isinstance(value, str) else dumps(value).decode()[:_MOST_SHOWN]
