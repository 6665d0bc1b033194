"""Schemas of tools: one normal form before any wire, and the forms that servers take in its place.

JSON Schema comes from anybody, and one schema that a server refuses fails the whole request. :class:`SchemaForm` puts a
schema into the form of a server, in this order:

1. :func:`sound` mends what no server can read: types that do not exist, `required` that is no list, arrays without
   `items`, tuples in the words of older drafts.
2. References are put in place where a server refuses them, and where they lead nowhere; a definition within itself ends
   in a schema of its type.
3. The top is an object with `properties`. Alternatives there become one object, unless a server takes them.
4. Names of properties that a server refuses are replaced; the call gets the given names back.
5. The rest is the server's own, such as Google's subset of OpenAPI.

The rows of servers name their form, one of the constants after :class:`SchemaForm`. What a form cannot say is named in
:attr:`partstream.conversation.preparation.FormedSchema.lost`. A server that refuses a schema all the same gets the
smallest form once, see :func:`smallest_schemas`: types, properties, items and alternatives, and the rest in words.

:func:`with_inner_schemas` walks: it alone knows which keywords hold schemas, and in which form.
"""

from __future__ import annotations
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from partstream.codec.checks import dataclass, replace
from partstream.codec.json_codec import dumps
from partstream.conversation.preparation import FormedSchema

Schema: TypeAlias = dict[str, Any]

_BY_NAME: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_LISTED: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
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


def of_google(schema: Mapping[str, Any]) -> Schema:
    """A schema of Google in the words of JSON Schema: Google writes types in capitals and null as `nullable`, and its
    package writes the keywords of a model with underscores (google-genai 3.6.1)."""
    named = {re.sub("_([a-z])", lambda letter: letter[1].upper(), name): value for name, value in schema.items()}
    kind, may_be_null = named.get("type"), named.pop("nullable", None) is True
    if isinstance(kind, str):
        named["type"] = [kind.lower(), "null"] if may_be_null else kind.lower()
    for name in _COUNTED & named.keys():  # numbers of 64 bits are texts in Google's JSON
        if isinstance(said := named[name], str) and said.isdecimal():
            named[name] = int(said)
    for name, null in (("anyOf", {"type": "null"}), ("enum", None)):
        if may_be_null and isinstance(named.get(name), list) and null not in named[name]:
            named[name] = [*named[name], null]
    return with_inner_schemas(named, of_google)


_COUNTED: Final = {f"{bound}{of}" for bound in ("min", "max") for of in ("Items", "Length", "Properties")}


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

    A definition that refers to itself ends in a schema of its type alone, because no finite schema says the same; a
    reference to what is not there ends in an object of any kind.
    """
    return _Inlining(schema).resolved(schema, ())


class _Inlining:
    """The references of one schema.

    Attributes:
        cut: The references that end in a type alone, in order.
    """

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.cut: dict[str, None] = {}
        self._root = root
        self._followed = 0

    def resolved(self, schema: Mapping[str, Any], within: tuple[str, ...]) -> Schema:
        """The schema with its references resolved, but for those to the definitions around it."""
        reference = schema.get("$ref")
        beside = {name: value for name, value in schema.items() if name != "$ref" and name not in _DEFINITIONS}
        inner = with_inner_schemas(beside, partial(self.resolved, within=within))
        if not isinstance(reference, str):
            return inner
        meant = self.target(reference)
        if meant is None or reference in within or self._followed >= _MOST_INLINED:
            self.cut[reference] = None
            kind = (meant or {}).get("type")
            return ({"type": kind} if isinstance(kind, str) else {"type": "object"}) | inner
        self._followed += 1
        return self.resolved(meant, (*within, reference)) | inner

    def target(self, reference: str) -> Mapping[str, Any] | None:
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
_OF_ANY_TYPE: Final = frozenset().union(*_OF_TYPES.values())
_NULL: Final = "null"
_ANYTHING: Final[Mapping[str, Any]] = {"type": "string"}
"""The schema in place of one that says nothing, where Google demands one."""


def openapi_subset(schema: Mapping[str, Any]) -> Schema:
    """The schema in the keywords that Google knows; what they cannot say is left out, so that it allows more."""
    return _subset(inlined(schema))


def _subset(schema: Mapping[str, Any]) -> Schema:
    said = dict(schema)
    for step in (with_parts, _beside_properties, _with_words, _with_branches, _with_one_type, _of_its_type):
        said = step(said)
    said = _with_properties(_with_items(said))
    names = _KEYWORDS & _BESIDE_BRANCHES if "anyOf" in said else _KEYWORDS
    known = {name: value for name, value in said.items() if name in names}
    if known.get("format") not in _FORMATS:
        known.pop("format", None)
    return with_inner_schemas(known, _subset)


def _beside_properties(schema: Schema) -> Schema:
    """The schema of an object that has properties and alternatives: the properties of all, because Google takes only
    one of the two."""
    has_both = isinstance(schema.get("properties"), Mapping) and any(_schemas(schema.get(one)) for one in _ALTERNATIVES)
    return flattened(schema, schema) if has_both else schema


def _of_its_type(schema: Schema) -> Schema:
    """The schema without the keywords of other types than its own, which Google refuses: `required` of a string."""
    kind = schema.get("type")
    if kind is None and "anyOf" not in schema:
        kind = "object" if _object(schema.get("properties")) else None
        schema = schema if kind is None else {**schema, "type": kind}
    if not isinstance(kind, str):
        return schema
    others = _OF_ANY_TYPE - _OF_TYPES.get(kind, frozenset())
    return {name: value for name, value in schema.items() if name not in others}


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
    return schema | ({"anyOf": [_typed(one, schema.get("type")) for one in branches]} if branches else {})


def _typed(branch: Mapping[str, Any], kind: Any) -> Mapping[str, Any]:
    """A branch with the type around it, where it has none of its own."""
    has_own = any(word in branch for word in ("type", "anyOf", "oneOf", "allOf", "const", "enum", "$ref"))
    return branch if has_own or not isinstance(kind, str) else {"type": kind, **branch}


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
    if isinstance(items, Mapping) and (items or schema.get("type") != "array"):
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
    """The schema of an object without `$schema`, with references without neighbours, a type at each property, types in
    the branches of `anyOf`, and tuples as `prefixItems`."""
    return _normal(inlined(schema) if _has_bound_references(schema) else schema) | {"type": "object"}


def _has_bound_references(schema: Mapping[str, Any]) -> bool:
    """Whether a reference has keywords beside it, or leads out of `$defs`: Moonshot refuses both."""
    return any(
        len(one) > 1 or not one["$ref"].startswith("#/$defs/")
        for one in _within(schema)
        if one is not schema and isinstance(one.get("$ref"), str)
    )


def _normal(schema: Mapping[str, Any]) -> Schema:
    # `$schema` makes Kimi K2.5 answer nonsense.
    kept = with_parts({name: value for name, value in schema.items() if name != "$schema"})
    items = kept.get("items")
    if isinstance(items, list):
        del kept["items"]
        kept["prefixItems"] = items
    elif "prefixItems" in kept and not items:  # `items` beside it is refused where it says nothing
        kept.pop("items", None)
    if "oneOf" in kept:
        kept.setdefault("anyOf", kept.pop("oneOf"))
    branches = kept.get("anyOf")
    if isinstance(branches, list) and "type" in kept:
        outer = kept.pop("type")
        kept["anyOf"] = [{"type": outer, **one} if isinstance(one, dict) else one for one in branches]
    properties = kept.get("properties")
    if isinstance(properties, Mapping) and isinstance(required := kept.get("required"), list):
        kept["required"] = [name for name in required if name in properties]
    done = with_inner_schemas(kept, _normal)
    if isinstance(properties, Mapping):
        done["properties"] = {name: _with_type(_object(one)) for name, one in done["properties"].items()}
    if isinstance(branches, list):
        done["anyOf"] = [_with_type(one) if isinstance(one, dict) else one for one in done["anyOf"]]
    return done


_JSON_TYPES: Final[Mapping[type, str]] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}


def _with_type(schema: Mapping[str, Any]) -> Schema:
    """The schema with a type: that of its values or keywords, else any."""
    if any(word in schema for word in ("type", "anyOf", "$ref")):
        return dict(schema)
    values = [schema["const"]] if "const" in schema else _list(schema.get("enum"))
    kinds = dict.fromkeys(_JSON_TYPES.get(type(value), "string") for value in values)
    said = [kind for kind, words in _OF_TYPES.items() if words & schema.keys()][:1]
    found = list(kinds) or said
    if len(found) == 1:
        return {**schema, "type": found[0]}
    shared = {name: schema[name] for name in schema if name in {"description", "title", "default"}}
    branches = [
        {
            "type": kind,
            **({"enum": [value for value in values if _JSON_TYPES.get(type(value)) == kind]} if kinds else {}),
        }
        for kind in found or ("string", "number", "boolean", "object", "array")
    ]
    return {**shared, "anyOf": [one | ({"items": {}} if one["type"] == "array" else {}) for one in branches]}


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
_MOST_SHOWN: Final = 200  # characters of one value


def tool_schema(schema: Mapping[str, Any]) -> Schema:
    """The schema of an object with definitions where they are referred to, `oneOf` as `anyOf` and `const` as `enum`.

    What is in `items` passes as it is: Ollama reads it into no structure.
    """
    return _at_top(_structure(_top(with_parts(inlined(schema)))))


def smallest_schema(schema: Mapping[str, Any]) -> Schema:
    """The same, with the content of `items` in the same few keywords."""
    return _at_top(_structure(_top(with_parts(inlined(sound(schema)))), with_items=True))


def _at_top(schema: Schema) -> Schema:
    return {name: value for name, value in schema.items() if name in _KEPT_AT_TOP} | {"type": "object"}


def _structure(schema: Mapping[str, Any], *, with_items: bool = False) -> Schema:
    said = with_parts(dict(schema))
    if "const" in said:
        said.setdefault("enum", [said["const"]])
    if isinstance(said.get("oneOf"), list):
        said.setdefault("anyOf", said["oneOf"])
    inner = partial(_structure, with_items=with_items)
    kept = {name: value for name, value in _in_words(said, _KEPT).items() if name in _KEPT}
    if isinstance(kept.get("anyOf"), list):
        kept["anyOf"] = [inner(_object(one)) for one in kept["anyOf"]]
    if "properties" in kept:
        kept["properties"] = {name: inner(_object(one)) for name, one in _object(kept["properties"]).items()}
    if with_items and "items" in kept:
        kept["items"] = inner(_object(kept["items"]))
    return kept


def _in_words(schema: Mapping[str, Any], kept: frozenset[str]) -> Schema:
    """The schema with its description, then once the bounds that are not kept."""
    given = schema.get("description")
    description = given if isinstance(given, str) else ""
    bounds = [
        sentence.format(_shown(schema[name]))
        for name, sentence in _BOUNDS.items()
        if name in schema and name not in kept
    ]
    bounds += (words for name, (value, words) in _SWITCHES.items() if name not in kept and schema.get(name) is value)
    words = f"({'; '.join(bounds)})" if bounds else ""
    said = description if words in description else f"{description} {words}".strip()
    rest = {name: value for name, value in schema.items() if name != "description"}
    return {**rest, "description": said} if said else rest


def _shown(value: Any) -> str:
    return value[:_MOST_SHOWN] if isinstance(value, str) else dumps(value).decode()[:_MOST_SHOWN]


# ---- Answers of Anthropic's models (docs/wires/anthropic-messages.md#request-fields) ----


def closed_schema(schema: Mapping[str, Any]) -> Schema:
    """The schema with closed objects, and with words in place of bounds; one that a server does not take at all, such
    as that of an object with any names, stays for it to refuse."""
    kept = {"pattern", "format", "default", "nullable", *(["minItems"] if schema.get("minItems") in (0, 1) else [])}
    refused = {*_BOUNDS, *_SWITCHES} - kept
    said = {name: value for name, value in _in_words(schema, frozenset(kept)).items() if name not in refused}
    if said.get("additionalProperties") in (None, True) and said.get("properties"):
        said["additionalProperties"] = False
    if isinstance(said.get("oneOf"), list) and "anyOf" not in said:
        said["anyOf"] = said.pop("oneOf")
    return with_inner_schemas(said, closed_schema)


# ---- llama.cpp ----

_NO_GRAMMAR: Final = re.compile(r"\\[A-Za-z0-9]|\(\?")
"""What its grammars have no word for in a `pattern`: classes such as `\\d`, which reach the grammar as they are,
references and looking ahead (ggml-org/llama.cpp#27580)."""


def with_plain_patterns(schema: Mapping[str, Any]) -> Schema:
    """The schema with words in place of each `pattern` of which llama.cpp makes no grammar: it fails the whole request
    for one that has no anchors, or classes of characters (ggml-org/llama.cpp#26930)."""
    said = dict(schema)
    pattern = said.get("pattern")
    if isinstance(pattern, str) and not (
        pattern.startswith("^") and pattern.endswith("$") and _NO_GRAMMAR.search(pattern) is None
    ):
        said = _in_words(said, frozenset(said) - {"pattern"})
        del said["pattern"]
    return with_inner_schemas(said, with_plain_patterns)


# ---- The normal form ----

_TYPES: Final[Mapping[str, str]] = {
    **{name: name for name in ("array", "boolean", "integer", "null", "number", "object", "string")},
    "int": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "str": "string",
    "bool": "boolean",
    "dict": "object",
    "map": "object",
    "list": "array",
    "none": "null",
}
"""The types, and the words of programming languages for them; Google writes them in capitals."""
_TEXTS: Final = ("description", "title", "pattern", "format", "$ref", "$schema", "$comment")
_EXCLUSIVE: Final = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))


def sound(schema: Mapping[str, Any]) -> Schema:
    """The schema without what is no JSON Schema of 2020, which servers check: older drafts in today's words, arrays
    with `items`. What has no meaning is left out."""
    said = {name: value for name, value in schema.items() if name not in _TEXTS or isinstance(value, str)}
    if "type" in said:
        given = said.pop("type")
        named = [one.lower() for one in (given if isinstance(given, list) else [given]) if isinstance(one, str)]
        types = list(dict.fromkeys(_TYPES[one] for one in named if one in _TYPES))
        if types:
            said["type"] = types if len(types) > 1 else types[0]
    if "properties" in said:
        properties = said.pop("properties")
        if isinstance(properties, Mapping):
            said["properties"] = {name: one if _is_schema(one) else {} for name, one in properties.items()}
    if "enum" in said and not _list(said["enum"]):
        del said["enum"]
    for exclusive, bound in _EXCLUSIVE:  # a switch in draft 4
        if isinstance(said.get(exclusive), bool) and said.pop(exclusive) and bound in said:
            said[exclusive] = said.pop(bound)
    return with_inner_schemas(_sound_items(_sound_required(said)), sound)


def _sound_required(said: Schema) -> Schema:
    given = said.get("required", [])
    if isinstance(given, list) and all(isinstance(one, str) for one in given) and len(set(given)) == len(given):
        return said
    names = dict.fromkeys(one for one in _list(said.pop("required")) if isinstance(one, str))
    return said | ({"required": list(names)} if names else {})


def _sound_items(said: Schema) -> Schema:
    items = said.get("items")
    if isinstance(items, list):
        rest = said.pop("additionalItems", {})
        said |= {"prefixItems": items, "items": _object(rest)} if items else {"items": {}}
    elif "items" in said and not _is_schema(items):
        said["items"] = {}
    if "array" in (said.get("type"), *_list(said.get("type"))):
        said.setdefault("items", {})
    return said


def _is_schema(value: Any) -> bool:
    """Whether it is a schema as servers read one; `true`, which says the same as the empty schema, is read by few."""
    return isinstance(value, Mapping) or value is False


_ALTERNATIVES: Final = ("anyOf", "oneOf")
_TOGETHER: Final = "allOf"
_NOT_AT_TOP: Final = frozenset({*_ALTERNATIVES, _TOGETHER, "enum", "const", "not", "items", "prefixItems"})
"""What OpenAI and Anthropic refuse at the top, and what an object has no use for."""


def _top(schema: Mapping[str, Any], *, flattens: bool = True) -> Schema:
    """The schema as an object with properties; with its alternatives as one object, unless they stay."""
    top = _without_reference(schema) if "$ref" in schema else dict(schema)
    if flattens and _NOT_AT_TOP & top.keys():
        top = {name: value for name, value in flattened(top, schema).items() if name not in _NOT_AT_TOP}
    if top.get("type") != "object":
        top = {**top, "type": "object"}
    if isinstance(top.get("properties", {} if _NOT_AT_TOP & top.keys() else None), Mapping):
        return top
    return {**top, "properties": {}}


def _without_reference(schema: Mapping[str, Any]) -> Schema:
    """What a schema refers to at its top, with its other words and with the definitions that are still referred to."""
    inlining, followed, top = _Inlining(schema), set[str](), dict(schema)
    while isinstance(reference := top.pop("$ref", None), str) and reference not in followed:
        followed.add(reference)
        top = {**(inlining.target(reference) or {}), **top}
    if any("$ref" in one for one in _within({name: top[name] for name in top if name not in _DEFINITIONS})):
        return top
    return {name: value for name, value in top.items() if name not in _DEFINITIONS}


def flattened(top: Schema, root: Mapping[str, Any]) -> Schema:
    """An object that takes the properties of each alternative, and demands what all of them demand.

    An alternative that is no object, such as null, is none for the input of a tool.
    """
    rest = {name: value for name, value in top.items() if name not in {*_ALTERNATIVES, _TOGETHER}}
    properties: dict[str, Any] = {}
    required = dict.fromkeys(_names(rest))
    for part in _objects(top.get(_TOGETHER), root):
        properties |= _object(part.get("properties"))
        required |= dict.fromkeys(_names(part))
    for word in _ALTERNATIVES:
        listed = [
            one
            for one in _objects(top.get(word), root)
            if (kind := one.get("type")) is None or "object" in (kind, *_list(kind))
        ]
        for part in listed:
            for name, value in _object(part.get("properties")).items():
                properties.setdefault(name, value)
        if listed:
            required |= {name: None for name in _names(listed[0]) if all(name in _names(one) for one in listed)}
    flat: Schema = {**rest, "type": "object", "properties": {**properties, **_object(rest.get("properties"))}}
    return flat | ({"required": list(required)} if required else {})


def _objects(parts: Any, root: Mapping[str, Any]) -> list[Schema]:
    """The schemas of a list, each flat and without references to the rest."""
    definitions = {name: root[name] for name in _DEFINITIONS if name in root}
    found = (inlined({**part, **definitions}) for part in _schemas(parts))
    return [flattened(part, part) if {*_ALTERNATIVES, _TOGETHER} & part.keys() else part for part in found]


def _names(schema: Mapping[str, Any]) -> list[str]:
    return [name for name in _list(schema.get("required")) if isinstance(name, str)]


# ---- Names of properties ----

_REFUSED_SIGNS: Final = re.compile(r"[^a-zA-Z0-9_.-]+")
_LONGEST_NAME: Final = 64
_BY_PROPERTY: Final = ("properties", "dependentRequired", "dependentSchemas")


def _with_names(schema: Schema) -> tuple[Schema, dict[str, str]]:
    """The schema with names of properties that Anthropic takes, and the given names by the new ones.

    Anthropic checks the names at the top alone (aws-solutions-library-samples/
    accelerated-intelligent-document-processing-on-aws#709).
    """
    names = list(_object(schema.get("properties")))
    taken = {name for name in names if _fits(name)}
    sent: dict[str, str] = {}
    for name in names:
        if name in taken:
            continue
        readable = _REFUSED_SIGNS.sub("_", name).strip("_")[:_LONGEST_NAME] or "property"
        new, number = readable, 2
        while new in taken:
            new, number = f"{readable[: _LONGEST_NAME - 4]}_{number}", number + 1
        taken.add(new)
        sent[name] = new
    if not sent:
        return schema, {}
    changed = dict(schema)
    for word in _BY_PROPERTY:
        if isinstance(changed.get(word), Mapping):
            changed[word] = {sent.get(name, name): value for name, value in changed[word].items()}
    if "required" in changed:
        changed["required"] = [sent.get(name, name) for name in _names(changed)]
    return changed, {new: name for name, new in sent.items()}


def _fits(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_NAME and _REFUSED_SIGNS.search(name) is None


# ---- The forms ----


@dataclass(frozen=True, slots=True)
class SchemaForm:
    """What a server takes of the schemas of tools, where that is less than the normal form.

    Attributes:
        inlines: Whether the references of a schema are put in place.
        flattens: Whether alternatives at the top become one object; few servers take them.
        names: Whether names of properties are those that Anthropic takes.
        write: The server's own rules; None for none.
        in_words: The keywords that the description says in words then.
    """

    inlines: Callable[[Mapping[str, Any]], bool] = lambda _schema: False
    flattens: bool = True
    names: bool = False
    write: Callable[[Mapping[str, Any]], Schema] | None = None
    in_words: frozenset[str] = frozenset()

    def of(self, schema: Mapping[str, Any] | None) -> FormedSchema:
        """The schema of a tool in this form."""
        given = schema or {}
        mended = sound(given)
        inlining = _Inlining(mended)
        referred = [one["$ref"] for one in _within(mended) if isinstance(one.get("$ref"), str)]
        if self.inlines(mended) or any(inlining.target(one) is None for one in referred):
            whole = inlining.resolved(mended, ())
        else:
            whole = mended
        written = _top(whole, flattens=self.flattens)
        if self.write is not None:
            written = self.write(written)
        lost = _lost(given, mended) | _lost(whole, written) - self.in_words
        written, renamed = _with_names(written) if self.names else (written, {})
        return FormedSchema(written, renamed, (*sorted(lost), *(f"$ref {one}" for one in inlining.cut)))


def _within(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield schema
    inner: list[Mapping[str, Any]] = []
    with_inner_schemas(schema, inner.append)
    for one in inner:
        yield from _within(one)


_OTHERWISE: Final = frozenset(
    {"type", "properties", "required", "items", "prefixItems", "description", "nullable", _TOGETHER}
    | {"$ref", "$schema", "$id", "$comment", "$anchor"}
    | _DEFINITIONS
)
"""Keywords that a form says in another way, or that say nothing about a value."""


def _lost(before: Mapping[str, Any], after: Mapping[str, Any]) -> frozenset[str]:
    """The keywords of which a schema has fewer than before."""
    return frozenset(Counter(_keywords(before)) - Counter(_keywords(after)))


def _keywords(schema: Mapping[str, Any]) -> Iterator[str]:
    for one in _within(schema):
        for name, value in one.items():
            if name in _ALTERNATIVES:
                if sum(branch.get("type") != _NULL for branch in _schemas(value)) > 1:
                    yield "anyOf"
            elif name in {"enum", "const"}:
                yield "enum"
            elif name not in _OTHERWISE:
                yield name


def _always(_schema: Mapping[str, Any]) -> bool:
    return True


PLAIN: Final = SchemaForm()
"""The normal form, which nearly every server takes: OpenAI without `strict`, Azure, Copilot, LM Studio."""
GOOGLE_SUBSET: Final = SchemaForm(inlines=_always, write=openapi_subset)


def _without_dialect(schema: Mapping[str, Any]) -> Schema:
    kept = {name: value for name, value in schema.items() if name != "$schema"}
    return with_inner_schemas(_of_its_type(kept) if isinstance(kept.get("type"), str) else kept, _without_dialect)


GOOGLE_JSON: Final = SchemaForm(inlines=_always, flattens=False, write=_without_dialect)
"""What Google takes as JSON Schema, in `parametersJsonSchema`."""

LOOSE: Final = SchemaForm(flattens=False)
"""vLLM and SGLang make a grammar of alternatives at the top."""
INLINED: Final = SchemaForm(inlines=_always)
MOONSHOT: Final = SchemaForm(inlines=_has_bound_references, write=moonshot_schema)
OPEN_OBJECTS: Final = SchemaForm(write=open_objects)
IN_WORDS: Final = SchemaForm(inlines=_always, write=tool_schema, in_words=frozenset(_BOUNDS) | frozenset(_SWITCHES))
PLAIN_PATTERNS: Final = SchemaForm(flattens=False, write=with_plain_patterns, in_words=frozenset({"pattern"}))

_OF_ANTHROPIC: Final = re.compile(r"claude|anthropic", re.IGNORECASE)


def for_model(form: SchemaForm, model_id: str, schema: Mapping[str, Any] | None) -> FormedSchema:
    """The schema of a tool for one model of a server that has a form: models of Anthropic have its rules everywhere."""
    return (replace(form, names=True) if _OF_ANTHROPIC.search(model_id) else form).of(schema)


# ---- The second try ----

_REFUSED_SCHEMA: Final = "|".join(
    (
        r"(?:invalid|unsupported|not a valid|malformed)[^.]{0,60}schema",
        r"schema[^.]{0,80}(?:invalid|unsupported|not supported|fail|conversion|must|missing|not valid|error)",
        r"input_schema|tools?\S{0,20}\.function\.parameters|function_?declaration",
        r"failed to (?:parse grammar|initialize samplers)|pattern must start|properties must be",
    )
)
_OF_ANSWERS: Final = r"response_format|text\.format|output_(?:config|format)|response_?(?:json_?)?schema"
"""Words of a refusal of the form of the answer: other schemas of the tools would be no help."""
SCHEMA_REFUSAL: Final = rf"(?s:^(?!.*(?:{_OF_ANSWERS})).*(?:{_REFUSED_SCHEMA}))"
"""The sentences of servers that refuse the schema of a tool."""


def smallest_schemas(path: str) -> tuple[str, str, Callable[[Mapping[str, Any]], Mapping[str, Any]]]:
    """The fields of the correction after a refused schema: all tools with the smallest form of their schemas.

    Args:
        path: The place of the schema in the body, such as `tools[].function.parameters`.
    """
    first, *rest = path.split(".")

    def changed(value: Any, names: list[str]) -> Any:
        if not isinstance(value, Mapping) or names[0] not in value:
            return value
        inner = value[names[0]]
        if len(names) > 1:
            return {**value, names[0]: changed(inner, names[1:])}
        return {**value, names[0]: smallest_schema(inner)} if isinstance(inner, Mapping) else value

    def change(body: Mapping[str, Any]) -> Mapping[str, Any]:
        listed = body.get(first.removesuffix("[]"))
        if not isinstance(listed, list):
            return body
        return {**body, first.removesuffix("[]"): [changed(tool, rest) for tool in listed]}

    return path, SCHEMA_REFUSAL, change
