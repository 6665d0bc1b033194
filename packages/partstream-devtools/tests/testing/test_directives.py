"""What is read out of the text of a message."""

import pytest

from partstream_devtools.testing.directives import (
    NamedValue,
    parse_choices,
    read_calls,
    read_faults,
    read_pace,
    read_scenario,
)
from rows import one_test_for


@one_test_for(
    ("text", "expected"),
    [
        ("", None),
        ("scenario: text", None),
        ("please scenario:tools now", NamedValue("tools")),
        ("scenario:long=500.", NamedValue("long", "500")),
        ("scenario:thinking-only", NamedValue("thinking_only")),
        ("scenario:text and scenario:refusal", NamedValue("refusal")),
        ("<userRequest>scenario:empty</userRequest>", NamedValue("empty")),
    ],
)
def test_the_last_scenario_counts(text, expected):
    assert read_scenario(text) == expected


def test_all_faults_count_in_their_order():
    text = "fault:split=3, fault:status=429:2:date and fault:missing=response.output_text.done."
    assert read_faults(text) == (
        NamedValue("split", "3"),
        NamedValue("status", "429:2:date"),
        NamedValue("missing", "response.output_text.done"),
    )


@pytest.mark.parametrize(
    ("text", "expected"), [("pace:20", 0.02), ("pace:0", 0.0), ("pace:x", None), ("space:5", None)]
)
def test_a_pace_is_in_milliseconds(text, expected):
    assert read_pace(text) == expected


def test_calls_carry_any_json_object():
    text = 'call:read_file{"path":"a}b","range":{"from":1}} then call:list_dir{} please'
    assert read_calls(text) == (("read_file", {"path": "a}b", "range": {"from": 1}}), ("list_dir", {}))


@pytest.mark.parametrize("text", ["call:read_file", "call:read_file {}", "call:read_file{oops}", "recall:x{}"])
def test_what_is_not_a_json_object_after_the_name_is_no_call(text):
    assert read_calls(text) == ()


def test_choices_of_an_option_are_separated_by_commas():
    assert parse_choices("split=3, no-done,") == (NamedValue("split", "3"), NamedValue("no_done"))
    assert parse_choices("") == ()


def test_a_choice_is_shown_as_it_is_written():
    assert [str(choice) for choice in parse_choices("split=3,html")] == ["split=3", "html"]
