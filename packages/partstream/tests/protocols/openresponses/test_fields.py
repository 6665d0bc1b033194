"""Reading fields with care: what is missing is nothing, what is wrong says where, what it is and what it should be."""

from typing import Any

import pytest

from partstream.errors import UpstreamProtocolError
from partstream.protocols.openresponses.errors import mapping, sequence, text
from partstream.protocols.read_response import identifier, index
from rows import one_test_for


@one_test_for(
    ("read", "value", "expected"),
    [
        (text, "a", "a"), (text, "", ""), (text, None, ""),
        (mapping, {"a": 1}, {"a": 1}), (mapping, {}, {}), (mapping, None, {}),
        (sequence, [{"a": 1}], [{"a": 1}]), (sequence, [], []), (sequence, None, []),
        (index, 0, 0), (index, 7, 7), (index, "7", None), (index, 7.0, None), (index, True, None), (index, None, None),
        (identifier, "a", "a"), (identifier, "", None), (identifier, 7, None), (identifier, None, None),
    ],
)  # fmt: skip
def test_a_field_that_is_there_or_missing_is_read(read: Any, value: Any, expected: Any) -> None:
    assert read({"field": value}, "field") == expected
    assert type(read({"field": value}, "field")) is type(expected)


@one_test_for(("read", "expected"), [(text, ""), (mapping, {}), (sequence, []), (index, None), (identifier, None)])
def test_a_field_that_is_left_out_is_nothing(read: Any, expected: Any) -> None:
    assert read({}, "field") == expected


@one_test_for(
    ("read", "value", "expected"),
    [
        (text, 7, "a string"), (text, ["a"], "a string"), (text, {}, "a string"), (text, True, "a string"),
        (mapping, [], "an object"), (mapping, "a", "an object"), (mapping, 0, "an object"),
        (sequence, {}, "a list of objects"), (sequence, "ab", "a list of objects"),
        (sequence, [1], "a list of objects"),
        (sequence, [{}, None], "a list of objects"),
    ],
)  # fmt: skip
def test_a_field_of_another_type_says_where_it_is_what_it_is_and_what_was_expected(
    read: Any, value: Any, expected: str
) -> None:
    with pytest.raises(UpstreamProtocolError) as caught:
        read({"type": "response.x", "field": value}, "field")
    error = caught.value
    assert (error.event_type, error.field, error.expected) == ("response.x", "field", expected)
    assert type(value).__name__ in error.got


def test_what_was_got_is_shortened() -> None:
    with pytest.raises(UpstreamProtocolError) as caught:
        text({"field": ["x" * 10_000]}, "field")
    assert len(str(caught.value)) < 200
