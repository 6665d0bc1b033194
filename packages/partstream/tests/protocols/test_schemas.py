"""Schemas of tools in the subsets that servers take: exactly these, and never a keyword that a server refuses."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilot_requests import copilot_requests
from partstream.protocols.schemas import inlined, moonshot_schema, open_objects, openapi_subset
from rows import one_test_for

Schema = dict[str, Any]
STRING, NUMBER = {"type": "string"}, {"type": "number"}


def of(**properties: Any) -> Schema:
    return {"type": "object", "properties": properties}


INLINED: dict[str, tuple[Schema, Schema]] = {
    "nothing to resolve": (of(a=STRING), of(a=STRING)),
    "a definition": ({**of(a={"$ref": "#/$defs/A"}), "$defs": {"A": STRING}}, of(a=STRING)),
    "a definition of the older name": (
        {**of(a={"$ref": "#/definitions/A"}), "definitions": {"A": STRING}},
        of(a=STRING),
    ),
    "words beside a reference win": (
        {**of(a={"$ref": "#/$defs/A", "description": "b"}), "$defs": {"A": STRING | {"description": "a"}}},
        of(a=STRING | {"description": "b"}),
    ),
    "a definition within another": (
        {**of(a={"$ref": "#/$defs/A"}), "$defs": {"A": of(b={"$ref": "#/$defs/B"}), "B": NUMBER}},
        of(a=of(b=NUMBER)),
    ),
    "a name with signs": ({**of(a={"$ref": "#/$defs/A~1B~0"}), "$defs": {"A/B~": STRING}}, of(a=STRING)),
    "a definition of itself ends": (
        {**of(a={"$ref": "#/$defs/A"}), "$defs": {"A": of(next={"$ref": "#/$defs/A"})}},
        of(a=of(next={"type": "object"})),
    ),
    "the root as its own property": (of(a={"$ref": "#"}), of(a=of(a={"type": "object"}))),
    "nothing there": (of(a={"$ref": "#/$defs/B"}), of(a={"type": "object"})),
    "an address": (of(a={"$ref": "https://example.org/a.json"}), of(a={"type": "object"})),
    "a property of that name": (of(**{"$ref": STRING}), of(**{"$ref": STRING})),
    "in lists and branches": (
        {**of(a={"anyOf": [{"$ref": "#/$defs/A"}], "items": {"$ref": "#/$defs/A"}}), "$defs": {"A": STRING}},
        of(a={"anyOf": [STRING], "items": STRING}),
    ),
}

OPEN: dict[str, tuple[Schema, Schema]] = {
    "at the root and within": (
        {**of(a={**of(), "additionalProperties": {"type": "string"}}), "additionalProperties": False},
        of(a=of()),
    ),
    "a property of that name stays": (of(additionalProperties=STRING), of(additionalProperties=STRING)),
    "in the items of a list": (
        of(a={"type": "array", "items": {**of(), "additionalProperties": False}}),
        of(a={"type": "array", "items": of()}),
    ),
}

MOONSHOT: dict[str, tuple[Schema, Schema]] = {
    "a root without a type": ({"properties": {}}, {"properties": {}, "type": "object"}),
    "the name of the dialect": ({"$schema": "https://json-schema.org/draft/2020-12/schema", **of()}, of()),
    "a type beside branches": (
        of(a={"type": "string", "anyOf": [{"pattern": "x"}, {"type": "null"}]}),
        of(a={"anyOf": [{"type": "string", "pattern": "x"}, {"type": "null"}]}),
    ),
    "a tuple": (
        of(a={"type": "array", "items": [STRING, NUMBER]}),
        of(a={"type": "array", "prefixItems": [STRING, NUMBER]}),
    ),
    "a list": (of(a={"type": "array", "items": STRING}), of(a={"type": "array", "items": STRING})),
}

GEMINI: dict[str, tuple[Schema, Schema]] = {
    "what it knows": (of(a=STRING | {"description": "d"}), of(a=STRING | {"description": "d"})),
    "keywords that it does not know": (
        {**of(a={"type": "integer", "exclusiveMinimum": 0}), "additionalProperties": False, "$schema": "x"},
        of(a={"type": "integer"}),
    ),
    "a property with the name of a keyword": (of(const=STRING, oneOf=NUMBER), of(const=STRING, oneOf=NUMBER)),
    "a definition": ({**of(a={"$ref": "#/$defs/A"}), "$defs": {"A": STRING}}, of(a=STRING)),
    "null beside one type": (of(a={"type": ["string", "null"]}), of(a={"nullable": True, "type": "string"})),
    "several types": (
        of(a={"type": ["string", "number", "null"], "minimum": 1, "description": "d"}),
        of(a={"description": "d", "nullable": True, "anyOf": [STRING, NUMBER | {"minimum": 1}]}),
    ),
    "a branch for null": (of(a={"anyOf": [STRING, {"type": "null"}]}), of(a={"type": "string", "nullable": True})),
    "exactly one of": (of(a={"oneOf": [STRING, NUMBER]}), of(a={"anyOf": [STRING, NUMBER]})),
    "branches stand alone": (
        of(a={"type": "object", "anyOf": [STRING, NUMBER], "description": "d"}),
        of(a={"anyOf": [STRING, NUMBER], "description": "d"}),
    ),
    "all of": (
        of(a={"allOf": [of(b=STRING) | {"required": ["b"]}, of(c=NUMBER) | {"required": ["c"]}]}),
        of(a={**of(c=NUMBER, b=STRING), "required": ["b", "c"]}),
    ),
    "one word": (of(a={"const": "x"}), of(a={"enum": ["x"], "type": "string"})),
    "words": (of(a={"enum": ["x", "y"]}), of(a={"enum": ["x", "y"], "type": "string"})),
    "words or nothing": (
        of(a={"enum": ["x", None], "type": ["string", "null"]}),
        of(a={"enum": ["x"], "nullable": True, "type": "string"}),
    ),
    "numbers in place of words": (of(a={"type": "integer", "enum": [1, 2]}), of(a={"type": "integer"})),
    "a format that it does not know": (of(a=STRING | {"format": "uri"}), of(a=STRING)),
    "a format that it knows": (of(a=STRING | {"format": "date-time"}), of(a=STRING | {"format": "date-time"})),
    "a list of anything": (of(a={"type": "array"}), of(a={"type": "array", "items": STRING})),
    "a tuple": (
        of(a={"type": "array", "items": [STRING, NUMBER]}),
        of(a={"type": "array", "items": {"anyOf": [STRING, NUMBER]}}),
    ),
    "demands on what is not there": (
        {**of(a=STRING), "required": ["a", "b"]},
        {**of(a=STRING), "required": ["a"]},
    ),
    "demands on nothing that is there": ({"type": "object", "required": ["b"]}, {"type": "object"}),
    "a property of any kind": (of(a=True), of(a=STRING)),
}

TABLES: dict[str, tuple[Callable[[Schema], Schema], dict[str, tuple[Schema, Schema]]]] = {
    "inlined": (inlined, INLINED),
    "open": (open_objects, OPEN),
    "moonshot": (moonshot_schema, MOONSHOT),
    "gemini": (openapi_subset, GEMINI),
}
CASES = [
    pytest.param(normalize, given_schema, expected, id=f"{name}: {case}")
    for name, (normalize, table) in TABLES.items()
    for case, (given_schema, expected) in table.items()
]


@one_test_for(("normalize", "given_schema", "expected"), CASES)
def test_a_schema_becomes(normalize: Callable[[Schema], Schema], given_schema: Schema, expected: Schema) -> None:
    before = json.dumps(given_schema)
    assert normalize(given_schema) == expected
    assert json.dumps(given_schema) == before, "the schema that was given is changed"
    assert normalize(expected) == expected, "what a server takes is changed again"


KNOWN_TO_GEMINI = {
    *("type", "format", "title", "description", "nullable", "enum", "items", "minItems", "maxItems", "properties"),
    *("required", "propertyOrdering", "anyOf", "default", "example", "minLength", "maxLength", "pattern", "minimum"),
    *("maximum", "minProperties", "maxProperties"),
}


def schemas_in(schema: Any) -> Iterator[Schema]:
    """A schema in Gemini's subset and all within it."""
    yield schema
    for inner in [
        *schema.get("properties", {}).values(),
        *schema.get("anyOf", []),
        *filter(None, [schema.get("items")]),
    ]:
        yield from schemas_in(inner)


def check_gemini(schema: Schema) -> None:
    for one in schemas_in(schema):
        assert isinstance(one, dict)
        assert set(one) <= KNOWN_TO_GEMINI
        assert isinstance(one.get("type", ""), str)
        assert all(isinstance(value, str) for value in one.get("enum", []))
        assert set(one.get("required", [])) <= set(one.get("properties", {}))
        assert one.get("type") != "array" or "items" in one
        assert "anyOf" not in one or "type" not in one


TYPES = st.sampled_from(["string", "number", "integer", "boolean", "object", "array", "null"])
NAMES = st.sampled_from(["a", "b", "items", "anyOf", "const"])


def grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    listed = st.lists(inner, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
            "properties": st.dictionaries(NAMES, inner, max_size=2),
            "required": st.lists(NAMES, max_size=2),
            "items": inner | listed | st.booleans(),
            "anyOf": listed,
            "oneOf": listed,
            "allOf": listed,
            "not": inner,
            "additionalProperties": st.booleans() | inner,
            "enum": st.lists(st.none() | st.text(max_size=2) | st.integers(), max_size=3),
            "const": st.none() | st.text(max_size=2) | st.integers(),
            "format": st.sampled_from(["uri", "date-time"]),
            "$ref": st.sampled_from(["#", "#/$defs/A", "#/$defs/B", "x"]),
            "$defs": st.dictionaries(st.sampled_from(["A", "B"]), inner, max_size=2),
        },
    )


SCHEMAS = grown(st.recursive(st.fixed_dictionaries({}, optional={"type": TYPES}), grown, max_leaves=6))


@given(SCHEMAS)
def test_any_schema_becomes_one_that_gemini_knows_every_word_of(schema: Schema) -> None:
    check_gemini(openapi_subset(schema))


@given(SCHEMAS)
def test_any_schema_loses_its_references(schema: Schema) -> None:
    def keywords(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            for name, inner in value.items():
                yield name
                yield from keywords(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from keywords(inner)

    assert not {"$ref", "$defs"} & set(keywords(inlined(schema)))
    moonshot_schema(schema)
    assert open_objects(open_objects(schema)) == open_objects(schema)


def test_definitions_that_double_each_other_end_soon() -> None:
    double = {f"D{n}": of(a={"$ref": f"#/$defs/D{n + 1}"}, b={"$ref": f"#/$defs/D{n + 1}"}) for n in range(40)}
    assert len(json.dumps(inlined({"$ref": "#/$defs/D0", "$defs": double}))) < 100_000


@one_test_for("request_", copilot_requests().values(), ids=copilot_requests())
def test_the_tools_of_copilot_are_taken(request_: Any) -> None:
    for tool in request_.options.tools:
        if tool.input_schema:
            check_gemini(openapi_subset(tool.input_schema))
            assert moonshot_schema(tool.input_schema)["type"] == "object"
