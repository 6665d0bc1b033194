"""Input items: exactly these, for every part in every role; what is too large or no JSON is refused with its place."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversation.rows import ROWS, Row
from conversation.samples import assistant, body_of, called, gave, user
from partstream import ChatMessage, DataPart, ToolCallPart
from partstream.errors import RequestNotExpressibleError
from rows import one_test_for


@one_test_for("row", ROWS.values(), ids=ROWS)
def test_input_items_of(row: Row):
    assert body_of(*row.messages, settings=row.settings)["input"] == row.items


@pytest.mark.parametrize("prefix", ["gw-", "", "other_"])
def test_a_call_and_its_result_lose_the_configured_prefix_alike(prefix: str):
    messages = [assistant([called(f"{prefix}call_1")]), user([gave(f"{prefix}call_1")])]
    assert [item["call_id"] for item in body_of(*messages, prefix=prefix)["input"]] == ["call_1", "call_1"]


REFUSED: dict[str, tuple[list[ChatMessage], str]] = {
    "a picture beyond the limit": (
        [user("Hi"), user([DataPart(b"\x89PNG\r\n\x1a\n" + bytes(16_000_000), "image/png")])],
        "messages[1].content[0]",
    ),
    "a file beyond the limit": ([user([DataPart(bytes(26_000_000), "video/mp4")])], "messages[0].content[0]"),
    "a number that JSON has not": ([assistant([called(x=float("inf"))])], "messages[0].content[0].input"),
    "a value that JSON has not": ([assistant([called(x=b"")])], "messages[0].content[0].input"),
}


@pytest.mark.parametrize(("messages", "where"), REFUSED.values(), ids=REFUSED)
def test_what_the_protocol_cannot_say_is_refused_with_its_place(messages: list[ChatMessage], where: str):
    with pytest.raises(RequestNotExpressibleError) as caught:
        body_of(*messages)
    assert caught.value.where == where
    assert caught.value.expected


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), JSON_VALUES, max_size=4))
def test_any_arguments_of_a_call_arrive_as_they_were(arguments: dict[str, Any]):
    item, _ = body_of(assistant([ToolCallPart("1", "f", arguments)]))["input"]
    assert json.loads(item["arguments"]) == arguments
