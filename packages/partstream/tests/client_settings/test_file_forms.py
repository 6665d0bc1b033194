"""Settings files are changed as text: a value comes and goes, and all else stays, to the byte."""

import json
import tomllib
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.cli.client_settings import JsonFile, TomlFile, YamlList, YamlNames
from partstream.codec.settings_files import FileForm, Key, UnusableTextError, applied, read_nodes, taken_back
from rows import one_test_for

JSON, TOML, LIST, NAMES = JsonFile(), TomlFile(), YamlList(), YamlNames()
ENTRY = {"model_id": "p/m", "api_base": "http://h/v1"}
BLOCK = '- model_id: p/m\n  api_base: "http://h/v1"\n'

CHANGES: list[tuple[str, FileForm, str, Key, Any, str]] = [
    ("a first file", JSON, "", ("a", "b"), 1, '{\n  "a": {\n    "b": 1\n  }\n}\n'),
    ("an empty object", JSON, "{}", ("a",), 1, '{\n  "a": 1\n}'),
    ("behind the last member", JSON, '{\n    "x": 1 // one\n}\n', ("a",), 2, '{\n    "x": 1,\n    "a": 2 // one\n}\n'),
    ("behind a comma", JSON, '{\n\t"x": 1, /* one */\n}\n', ("a",), 2, '{\n\t"x": 1,\n\t"a": 2, /* one */\n}\n'),
    ("instead of a value", JSON, '{"a": "old", "b": 2}', ("a",), "new", '{"a": "new", "b": 2}'),
    ("in an object that is there", JSON, '{\n  "e": {\n    "x": "1"\n  }\n}', ("e", "y"), "2",
     '{\n  "e": {\n    "x": "1",\n    "y": "2"\n  }\n}'),
    ("lines of Windows", JSON, '{\r\n  "x": 1\r\n}\r\n', ("a", "b"), 2,
     '{\r\n  "x": 1,\r\n  "a": {\r\n    "b": 2\r\n  }\r\n}\r\n'),
    ("a comment in an empty object", JSON, '{\n  // none yet\n}\n', ("a",), 1, '{\n  // none yet\n  "a": 1\n}\n'),
    ("a first key", TOML, "", ("model",), "m", 'model = "m"\n'),
    ("a key of the head", TOML, '# mine\nx = 1\n\n# a table\n[t]\ny = 2\n', ("model",), "m",
     '# mine\nx = 1\nmodel = "m"\n\n# a table\n[t]\ny = 2\n'),
    ("before a first table", TOML, "[t]\ny = 2\n", ("model",), "m", 'model = "m"\n\n[t]\ny = 2\n'),
    ("instead of a key", TOML, "model = 'old' # why\n[t]\nmodel = 'other'\n", ("model",), "m",
     "model = \"m\" # why\n[t]\nmodel = 'other'\n"),
    ("a table", TOML, "x = 1", ("p", "q"), {"a": "b", "c": {"d": ["e"]}},
     'x = 1\n\n[p.q]\na = "b"\nc = { d = ["e"] }\n'),
    ("instead of a table", TOML, "[p.q]\na = 1\n[p.q.r]\nb = 1\n\n# next\n[z]\n", ("p", "q"), {"a": 2},
     "[p.q]\na = 2\n\n# next\n[z]\n"),
    ("before a list of lists", TOML, 'n = [\n  ["a"],\n]\n', ("model",), "m", 'model = "m"\nn = [\n  ["a"],\n]\n'),
    ("a first entry", LIST, "", ("model_id", "p/m"), ENTRY, BLOCK),
    ("an entry behind others", LIST, "# mine\n- model_id: x\n  api_base: y\n", ("model_id", "p/m"), ENTRY,
     "# mine\n- model_id: x\n  api_base: y\n" + BLOCK),
    ("instead of an entry", LIST, "- model_id: 'p/m'\n  old: 1\n# next\n- model_id: x\n", ("model_id", "p/m"),
     ENTRY, BLOCK + "# next\n- model_id: x\n"),
    ("a first name", NAMES, "# mine", ("model",), "openai/m", "# mine\nmodel: openai/m\n"),
    ("instead of a text", NAMES, "a: b\nmodel: old # why\n", ("model",), "openai/m",
     "a: b\nmodel: openai/m # why\n"),
]  # fmt: skip


@one_test_for(("form", "text", "key", "value", "after"), [row[1:] for row in CHANGES], ids=[r[0] for r in CHANGES])
def test_a_value_is_written_and_all_else_stays(form: FileForm, text: str, key: Key, value: Any, after: str):
    assert not form.means(text, key, value)
    splices = form.with_value(text, key, value)
    assert applied(text, splices) == after
    assert form.means(after, key, value)
    assert taken_back(after, splices) == text


@one_test_for(("form", "text", "key", "value", "after"), [row[1:] for row in CHANGES], ids=[r[0] for r in CHANGES])
def test_a_value_that_was_there_comes_back_and_a_new_one_goes(
    form: FileForm, text: str, key: Key, value: Any, after: str
):
    before = form.found(text, key)
    if before is None:
        cleaned = applied(after, form.without(after, key))
        assert form.found(cleaned, key) is None
        assert _meaning(form, cleaned) == _meaning(form, text)
        assert [word for word in text.split() if word.strip("{},") not in cleaned] == []
    else:
        assert applied(after, form.with_written(after, key, before)) == text


def _meaning(form: FileForm, text: str) -> Any:
    if isinstance(form, JsonFile):
        return read_nodes(text).value if text.strip() else {}
    return tomllib.loads(text) if isinstance(form, TomlFile) else None


@one_test_for(
    ("form", "text", "key", "got"),
    [
        (JSON, '{"a": }', ("b",), "no value in line 1"),
        (JSON, '{"a": 1 "b": 2}', ("b",), "no comma between two members in line 1"),
        (JSON, '{"a": 1}\n}', ("b",), "more after the value in line 1"),
        (JSON, '{"a": 1,\n"a": 2}', ("b",), "a name that occurs twice in an object in line 2"),
        (JSON, '{"a": [1]}', ("a", "b"), "no object in a"),
        (JSON, "[" * 200, ("a",), "more than 100 levels in line 1"),
        (TOML, "a = \n", ("b",), "invalid TOML"),
        (TOML, "a = " + "[" * 100_000, ("b",), "nested too deeply"),
        (TOML, 'model = """\nlong"""\n', ("model",), "a form that is not changed by a program"),
        (TOML, "p = { q = { a = 1 } }\n", ("p", "q"), "a form that is not changed by a program"),
        (LIST, "models:\n  - a\n", ("model_id", "m"), "another form in line 1"),
        (LIST, "[{model_id: m}]\n", ("model_id", "m"), "another form in line 1"),
        (NAMES, "- a\n", ("model",), "another form in line 1"),
        (NAMES, "model: !!python/object/apply:os.system [x]\n", ("model",), ""),
        (NAMES, "a: &a [x, x]\nmodel: &b [*a, *a]\n", ("model",), ""),
        (NAMES, "model: |\n  long\n", ("model",), "model with a value of more than one line"),
    ],
)
def test_a_form_that_cannot_be_changed_safely_is_named(form: FileForm, text: str, key: Key, got: str):
    value = {"a": 2} if len(key) > 1 else "m"
    with pytest.raises(UnusableTextError) as caught:
        form.with_value(text, key, value)
    assert got in caught.value.got


NAME = st.text("abé /\"\\'.", min_size=1, max_size=4)
VALUE = st.recursive(st.none() | st.booleans() | st.integers() | st.text("ab\n\"/*,{}", max_size=6), lambda one: (
    st.lists(one, max_size=3) | st.dictionaries(NAME, one, max_size=3)
), max_leaves=8)  # fmt: skip


@given(
    st.dictionaries(NAME, VALUE, max_size=4),
    st.lists(NAME, min_size=1, max_size=3),
    VALUE,
    st.sampled_from((None, 2, "\t")),
)
def test_any_json_gets_a_value_and_loses_it_again(document: dict[str, Any], names: list[str], value: Any, indent: Any):
    key = tuple(names)
    text = json.dumps(document, ensure_ascii=False, indent=indent)
    try:
        splices = JSON.with_value(text, key, value)
    except UnusableTextError:
        return  # something else than an object is on the way
    after = applied(text, splices)
    expected = json.loads(text)
    inner = expected
    for name in key[:-1]:
        inner = inner.setdefault(name, {})
    inner[key[-1]] = value
    assert read_nodes(after).value == expected
    assert json.loads(after) == expected
    assert taken_back(after, splices) == text

    read_nodes(cleaned := applied(after, JSON.without(after, key)))
    assert JSON.found(cleaned, key) is None


@given(st.text('{}[]:,"/*\\ \n1a', max_size=30))
def test_any_text_is_json_with_comments_or_named(text: str):
    with suppress(UnusableTextError):
        assert read_nodes(text).start <= len(text)
