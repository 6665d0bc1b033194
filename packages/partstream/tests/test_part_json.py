"""The one form of parts in JSON: what is written is read again, and what is wrong is named."""

from typing import Any

import pytest
from hypothesis import given

from bundles.made_bundles import parts
from partstream.errors import UnexpectedValueError
from partstream.lm.parts import (
    PART_TYPES,
    Audience,
    DataPart,
    MessagePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    part_json,
    part_of_json,
    unchecked_part,
)
from partstream_devtools.conformance.transcript import event_lines
from partstream_devtools.conformance.transcript import part_json as reported
from rows import one_test_for

FORMS: list[tuple[MessagePart, dict[str, Any]]] = [
    (TextPart("a"), {"type": "text", "value": "a"}),
    (ThinkingPart("b", "i"), {"type": "thinking", "value": "b", "id": "i", "metadata": None}),
    (TextPart("a", [Audience.USER]), {"type": "text", "value": "a", "audience": ["user"]}),
    (DataPart(b"", "a/b", []), {"type": "data", "mime_type": "a/b", "data": "", "audience": []}),
    (
        ThinkingPart(["a", "b"]),
        {"type": "thinking", "value": "ab", "id": None, "metadata": None, "entries": ["a", "b"]},
    ),
    (ToolCallPart("c", "f", {"x": 1}), {"type": "tool_call", "call_id": "c", "name": "f", "input": {"x": 1}}),
    (DataPart(b"\x00", "image/png"), {"type": "data", "mime_type": "image/png", "data": "AA=="}),
    (
        ToolResultPart("c", (TextPart("a"),)),
        {"type": "tool_result", "call_id": "c", "content": [{"type": "text", "value": "a"}], "is_error": False},
    ),
]


@one_test_for(("part", "said"), FORMS)
def test_a_part_has_one_form(part: MessagePart, said: dict[str, Any]) -> None:
    assert part_json(part) == said
    assert part_of_json(said) == part
    assert said["type"] in PART_TYPES


@given(parts)
def test_a_part_is_read_as_it_was(part: MessagePart) -> None:
    assert part_of_json(part_json(part)) == part


@one_test_for(
    ("value", "says"),
    [
        ([], r"the part: got \[\], expected an object whose `type` is one of text, thinking"),
        ({"type": "video"}, "got 'video'"),
        ({"type": ["text"]}, r"got \['text'\]"),
        ({"type": "text", "value": 1}, "the part, field 'value': got 1, expected a text"),
        ({"type": "data", "mime_type": "a", "data": "?"}, "expected bytes in base64"),
        ({"type": "text", "value": "a", "audience": ["all"]}, "expected a list of assistant, user and extension"),
        ({"type": "thinking", "value": "a", "entries": "a"}, "'entries': got 'a', expected a list of texts"),
        ({"type": "tool_call", "call_id": "a", "name": "b", "input": []}, "expected an object"),
        ({"type": "tool_result", "call_id": "a", "content": [{}], "is_error": False}, "content: got"),
    ],
)
def test_what_is_no_part_is_named_with_its_place(value: object, says: str) -> None:
    with pytest.raises(UnexpectedValueError, match=says):
        part_of_json(value)


def test_fields_of_a_newer_version_are_left_out() -> None:
    assert part_of_json({"type": "text", "value": "a", "colour": "red"}) == TextPart("a")


@one_test_for(("part", "said"), FORMS)
def test_reports_of_the_conformance_kit_have_the_same_form(part: MessagePart, said: dict[str, Any]) -> None:
    assert reported(part) == said


def test_of_long_data_a_report_holds_the_beginning_and_says_how_long_it_is() -> None:
    said = reported(DataPart(b"x" * 65, "image/png"))
    assert said == {**part_json(DataPart(b"x" * 64, "image/png")), "bytes": 65}


def test_reports_show_parts_that_break_the_contract_as_what_they_are() -> None:
    assert reported(unchecked_part(TextPart, 7)) == {"type": "text", "value": 7}
    assert reported(unchecked_part(ToolCallPart, "c", "f", {"x": {1}}))["input"] == "{'x': {1}}"
    assert reported(unchecked_part(DataPart, "text", "a/b"))["data"] == "text"
    assert reported("nothing") == {"type": "str", "shown": "'nothing'"}


def test_calls_and_data_in_reports_of_older_versions_are_shown_all_the_same() -> None:
    old = [{"type": "toolCall", "callId": "c", "name": "f", "input": {}}, {"type": "data", "mimeType": "a/b"}]
    new = [{"type": "tool_call", "call_id": "c", "name": "f", "input": {}}, {"type": "data", "mime_type": "a/b"}]
    shown = [
        [line.text for line in event_lines({"answers": [{"events": [{"at": 1, "part": one} for one in parts]}]})]
        for parts in (old, new)
    ]
    assert shown[0] == shown[1]
    assert any("call c f" in line for line in shown[0])
