"""What has a JSON form and what has not, and that finding it stays cheap and safe."""

import json
import math
from types import MappingProxyType

from hypothesis import given
from hypothesis import strategies as st

from partstream.codec.json_codec import MOST_LEVELS, find_non_json, shorten
from rows import one_test_for

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children) | st.tuples(children, children),
    max_leaves=20,
)


def _nested(depth: int) -> list:
    value: list = []
    for _ in range(depth - 1):
        value = [value]
    return value


@given(JSON_VALUES)
def test_every_json_value_is_accepted(value):
    assert find_non_json(value, "input") is None
    json.dumps(value, allow_nan=False)


@one_test_for(
    ("value", "finding"),
    [
        ({1}, "input is a set, expected a JSON value"),
        (object(), "input is a object, expected a JSON value"),
        (math.nan, "input is nan, which is not a JSON number"),
        ({"a": math.inf}, "input['a'] is inf, which is not a JSON number"),
        ({"a": [0, {"b": ("c", b"d")}]}, "input['a'][1]['b'][1] is a bytes, expected a JSON value"),
        ({"a": 1, 2: 3}, "input is an object with the key 2, expected only string keys"),
        ([{}, [], {"x": {None: 1}}], "input[2]['x'] is an object with the key None, expected only string keys"),
        (MappingProxyType({"a": {1}}), "input['a'] is a set, expected a JSON value"),
    ],
)
def test_what_json_has_no_form_for_is_found_with_its_place(value, finding):
    assert find_non_json(value, "input") == finding


def test_nesting_is_accepted_up_to_the_limit_and_refused_beyond_it():
    assert find_non_json(_nested(MOST_LEVELS), "input") is None
    assert "deeper than 256 levels" in find_non_json(_nested(MOST_LEVELS + 1), "input")
    assert "deeper than 256 levels" in find_non_json(_nested(100_000), "input")


def test_a_value_that_holds_itself_is_refused():
    value: dict = {}
    value["self"] = [value]
    assert "or contains itself" in find_non_json(value, "input")


def test_a_value_that_occurs_twice_is_not_taken_for_a_cycle():
    shared = {"a": [1]}
    assert find_non_json({"one": shared, "two": [shared, shared]}, "input") is None


def test_a_long_key_above_many_values_does_not_make_it_slow():
    # Building the path of every value would copy 500 GB here; the test's time limit would notice.
    assert find_non_json({"k" * 5_000_000: [0] * 100_000}, "input") is None


@given(st.text() | st.binary() | st.lists(st.text()))
def test_a_shortened_value_is_printable_and_bounded(value):
    text = shorten(value)
    assert text.isprintable()
    assert len(text) <= 83
