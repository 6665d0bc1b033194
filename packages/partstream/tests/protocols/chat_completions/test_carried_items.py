"""What a server wants back of its answer: the items, how they travel, and what they mean together."""

from typing import Any

import pytest

from partstream.conversation.provider_state import ITEMS, usable_items
from partstream.lm.outputs import ThinkingMode
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart
from partstream.protocols.chat_completions.models import ReasoningBack, sent_back
from partstream.protocols.chat_completions.provider_state import (
    CarriedMessage,
    joined_items,
)
from protocols.chat_completions.wire import (
    DONE,
    answered,
    call,
    calls,
    chunk,
    document,
    finished,
    read,
    read_events,
    said,
    thought,
)
from protocols.openresponses.wire import Event, Result
from rows import one_test_for


def _items(result: Result) -> list[Any]:
    """The items of an answer, without their type."""
    metadata = result.metadata
    listed = metadata[-1][ITEMS] if metadata else []
    assert all(item["type"] == "message-field" for item in listed)
    return [{name: value for name, value in item.items() if name != "type"} for item in listed]


def _entry(text: str | None = None, **fields: Any) -> Event:
    said_text = {} if text is None else {"text": text}
    return {"type": "reasoning.text", **said_text, **fields}


def test_what_goes_back_goes_out_between_the_thinking_and_the_text() -> None:
    outputs = answered(thought("Hm", "reasoning"), said("Hi")).outputs
    assert [type(one) for one in outputs[:3]] == [ThinkingPart, ThinkingPart, TextPart]
    assert outputs[1].metadata[ITEMS] == [{"type": "message-field", "field": "reasoning", "text": "Hm"}]  # type: ignore[union-attr]


def test_what_comes_late_goes_out_behind_the_text_and_before_the_calls() -> None:
    result = answered(
        thought("Hm", "reasoning"),
        said("Hi"),
        thought(" so", "reasoning"),
        calls(call(0, "a", "add", "{}", extra_content={"google": {"thought_signature": "S"}})),
    )
    assert _items(result) == [
        {"field": "reasoning", "text": "Hm"},
        {"field": "reasoning", "text": " so"},
        {"toolCallId": "a", "extra_content": {"google": {"thought_signature": "S"}}},
    ]
    assert isinstance(result.outputs[-2], ToolCallPart)
    joined = joined_items(result.metadata[-1][ITEMS])
    assert joined.fields == {"reasoning": "Hm so"}
    assert joined.extra_of_calls == {"a": {"google": {"thought_signature": "S"}}}


def test_an_empty_field_of_thinking_goes_back_with_calls_and_survives() -> None:
    empty = chunk({"reasoning_content": ""})
    result = answered(empty, calls(call(0, "a", "add", "{}")))
    assert _items(result) == [{"field": "reasoning_content", "text": ""}]
    assert len(usable_items(result.metadata[-1][ITEMS])) == 1
    assert answered(empty, said("Hi")).metadata == []


def test_state_of_copilot_goes_back_beside_its_text() -> None:
    result = answered(
        chunk({"reasoning_text": "Hm"}),
        chunk({"reasoning_opaque": "S", "tool_calls": [call(0, "a", "add", "{}")]}),
    )
    assert joined_items(result.metadata[-1][ITEMS]).fields == {"reasoning_text": "Hm", "reasoning_opaque": "S"}


DETAILS: dict[str, tuple[list[Event], list[Event]]] = {
    "pieces of one text": (
        [_entry("H", index=0), _entry("m", index=0), _entry(index=0, signature="S", format="f")],
        [_entry("Hm", index=0, signature="S", format="f")],
    ),
    "two texts": ([_entry("H", index=0), _entry("m", index=1)], [_entry("H", index=0), _entry("m", index=1)]),
    "an id that comes late": ([_entry("H"), _entry("m", id="r1")], [_entry("Hm", id="r1")]),
    "encrypted entries": (
        [{"type": "reasoning.encrypted", "data": "A", "index": 0}, {"type": "reasoning.encrypted", "data": "B"}],
        [{"type": "reasoning.encrypted", "data": "A", "index": 0}, {"type": "reasoning.encrypted", "data": "B"}],
    ),
    "another between": (
        [_entry("H"), {"type": "reasoning.encrypted", "data": "A"}, _entry("m")],
        [_entry("H"), {"type": "reasoning.encrypted", "data": "A"}, _entry("m")],
    ),
    "summaries": (
        [{"type": "reasoning.summary", "summary": "H"}, {"type": "reasoning.summary", "summary": "m"}],
        [{"type": "reasoning.summary", "summary": "Hm"}],
    ),
    "texts that repeat all before": ([_entry("We"), _entry("We need"), _entry("We need to")], [_entry("We need to")]),
    "signs that are said twice": ([_entry("-"), _entry("--")], [_entry("---")]),
    "an unknown type": ([{"type": "x", "y": 1}, {"type": "x", "y": 1}], [{"type": "x", "y": 1}, {"type": "x", "y": 1}]),
}


@one_test_for(("entries", "expected"), DETAILS.values(), ids=DETAILS)
def test_entries_that_continue_each_other_are_one(entries: list[Event], expected: list[Event]) -> None:
    assert joined_items([{"reasoning_details": [one]} for one in entries]).details == expected
    result = answered(*[chunk({"reasoning_details": [one]}) for one in entries], said("Hi"))
    assert _items(result) == [{"reasoning_details": expected}]


def test_details_are_shown_once_and_replace_the_field_beside_them() -> None:
    result = answered(
        chunk({"reasoning": "H", "reasoning_details": [_entry("H", index=0)]}),
        chunk({"reasoning": "m", "reasoning_details": [_entry("m", index=0)]}),
        said("Hi"),
        chunk({"reasoning": None, "reasoning_details": [{"type": "reasoning.encrypted", "data": "A"}]}),
    )
    assert result.thinking == "Hm"
    joined = joined_items(result.metadata[-1][ITEMS])
    assert joined.details == [_entry("Hm", index=0), {"type": "reasoning.encrypted", "data": "A"}]
    assert joined.fields == {}


LISTS: dict[str, list[Event]] = {
    "entries without a name": [_entry("H"), _entry("m")],
    "entries with names": [_entry("H", index=0), _entry("m", index=1)],
    "an entry without text": [_entry("H"), {"type": "reasoning.encrypted", "data": "A"}, _entry("")],
}


@pytest.mark.parametrize("entries", LISTS.values(), ids=LISTS)
def test_the_entries_of_one_list_go_back_as_they_came(entries: list[Event]) -> None:
    for result in (
        answered(chunk({"reasoning_details": entries}), said("Hi")),
        read([document({"reasoning_details": entries, "content": "Hi"}), DONE]),
    ):
        assert joined_items(result.metadata[-1][ITEMS]).details == entries
    blocks = [{"type": "thinking", "thinking": text, "signature": text} for text in "ab"]
    result = read([document({"thinking_blocks": blocks, "content": "Hi"}), DONE])
    assert joined_items(result.metadata[-1][ITEMS]).blocks == blocks


@pytest.mark.parametrize(
    "value", [["H", "m"], [{"type": "text", "text": "H"}, {"type": "text", "text": "m", "signature": "S"}]]
)
def test_thinking_that_came_as_a_list_goes_back_as_a_list(value: list[Any]) -> None:
    for result in (
        answered(thought(value), said("Hi")),
        read([document({"reasoning_content": value, "content": "Hi"}), DONE]),
    ):
        assert result.thinking == "Hm"
        carried = joined_items(result.metadata[-1][ITEMS])
        assert sent_back(carried, ReasoningBack.RECEIVED).fields == {"reasoning_content": value}
        assert sent_back(carried, ReasoningBack.REASONING).fields == {"reasoning": "Hm"}


def test_thinking_of_lists_and_texts_goes_back_as_a_text() -> None:
    result = answered(thought(["H"]), thought("m"), said("Hi"))
    assert sent_back(joined_items(result.metadata[-1][ITEMS]), ReasoningBack.RECEIVED).fields == {
        "reasoning_content": "Hm"
    }


def test_deltas_of_a_list_are_one_entry() -> None:
    result = answered(thought([{"type": "text", "text": "H"}]), thought([{"type": "text", "text": "m"}]), said("Hi"))
    (item,) = result.metadata[-1][ITEMS]
    assert item["entries"] == [{"type": "text", "text": "Hm"}]


def test_details_alone_are_the_thinking() -> None:
    assert answered(chunk({"reasoning_details": [_entry("Hm")]}), said("Hi")).thinking == "Hm"


@pytest.mark.parametrize("kind", ["reasoning.new", "", None, 7])
def test_an_entry_of_an_unknown_type_is_shown_by_its_text(kind: Any) -> None:
    entries = [{"type": kind, "text": "H"}, {"type": kind, "text": "m"}]
    detailed = answered(*[chunk({"reasoning_details": [entry]}) for entry in entries], said("Hi"))
    assert (detailed.thinking, detailed.text) == ("Hm", "Hi")
    part = {"type": "thinking", "thinking": entries}
    assert answered(chunk({"content": [part]}), said("Hi")).thinking == "Hm"


def test_blocks_are_joined_until_their_signature_and_need_one() -> None:
    def block(text: str, signature: str = "") -> Event:
        return {"type": "thinking", "thinking": text, "signature": signature}

    redacted = {"type": "redacted_thinking", "data": "R"}
    blocks = [block("H"), block("m"), block("", "S"), block("x"), redacted]
    joined = joined_items([{"thinking_blocks": [one]} for one in blocks])
    assert joined.blocks == [block("Hm", "S"), block("x"), redacted]
    signed = answered(
        *[chunk({"reasoning_content": text, "thinking_blocks": [block(text)]}) for text in ("H", "m")],
        chunk({"thinking_blocks": [block("", "S")]}),
        said("Hi"),
    )
    assert signed.thinking == "Hm"
    assert _items(signed) == [{"thinking_blocks": [block("Hm", "S")]}]
    unsigned = answered(chunk({"reasoning_content": "Hm", "thinking_blocks": [block("Hm")]}), said("Hi"))
    assert _items(unsigned) == [{"field": "reasoning_content", "text": "Hm"}]


@pytest.mark.parametrize("of_a_type", [{"type": "text"}, {}])
def test_parts_of_thinking_go_back_as_a_part(of_a_type: Event) -> None:
    def part(text: str) -> Event:
        return chunk({"content": [{"type": "thinking", "thinking": [{**of_a_type, "text": text}]}]})

    result = answered(part("H"), part("m"), chunk({"content": [{"type": "text", "text": "Hi"}]}), said(" there"))
    assert (result.thinking, result.text) == ("Hm", "Hi there")
    whole = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}], "closed": True}
    assert _items(result) == [{"content_parts": [whole]}]


def test_a_part_of_bare_texts_goes_back_as_it_came() -> None:
    part = {"type": "thinking", "thinking": ["H", "m"]}
    result = answered(chunk({"content": [part]}), said("Hi"))
    assert (result.thinking, _items(result)) == ("Hm", [{"content_parts": [{**part, "closed": True}]}])


def test_nothing_goes_back_where_thinking_is_not_shown_as_parts() -> None:
    for mode in (ThinkingMode.OFF, ThinkingMode.TEXT):
        assert answered(thought("Hm"), said("Hi"), thinking=mode).metadata == []


def test_a_whole_message_carries_what_its_deltas_would() -> None:
    result = read([document({"reasoning_content": "Hm", "content": "Hi"}), DONE])
    assert _items(result) == [{"field": "reasoning_content", "text": "Hm"}]


def test_items_of_other_forms_mean_nothing() -> None:
    assert joined_items([{"type": "reasoning", "id": "rs_1", "encrypted_content": "E"}, {}]) == joined_items([])


def test_a_signature_on_the_text_goes_back_with_the_message() -> None:
    result = read([chunk({"content": "Hi", "extra_content": {"google": {"thought_signature": "S"}}}), finished(), DONE])
    assert joined_items(result.metadata[-1][ITEMS]).extra == {"google": {"thought_signature": "S"}}


def _signed(said: str, signature: str = "") -> dict[str, Any]:
    return {"type": "thinking", "thinking": said, "signature": signature}


def _summary(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"type": "reasoning", "summary": [{"type": "summary_text", **entry} for entry in entries]}


def _goes_back(*deltas: dict[str, Any]) -> CarriedMessage:
    chunks = [{"id": "c", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    ended = {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    metadata = read_events([*chunks, ended, DONE]).metadata
    return joined_items(metadata[-1][ITEMS] if metadata else ())


@one_test_for(
    ("blocks", "expected"),
    [
        # The whole text again beside the signature.
        ([_signed("a"), _signed("b"), _signed("ab", "S")], [_signed("ab", "S")]),
        # Before the text, with its first piece, and in each piece.
        ([_signed("", "S"), _signed("a"), _signed("b")], [_signed("ab", "S")]),
        ([_signed("a", "S"), _signed("b")], [_signed("ab", "S")]),
        ([_signed("a", "S"), _signed("b", "S"), _signed("ab", "S")], [_signed("ab", "S")]),
        # A signature for each block.
        ([_signed("a"), _signed("", "S"), _signed("b"), _signed("", "T")], [_signed("a", "S"), _signed("b", "T")]),
        ([_signed("a", "S"), _signed("a", "T")], [_signed("a", "S"), _signed("a", "T")]),
        # No signature at all.
        ([_signed("a"), _signed("b")], []),
    ],
)
def test_a_block_goes_back_as_its_server_signed_it(
    blocks: list[dict[str, Any]], expected: list[dict[str, Any]]
) -> None:
    deltas = [{"thinking_blocks": [block]} for block in blocks]
    assert list(_goes_back(*deltas, {"content": "Hi"}).blocks) == expected


def test_a_signature_may_come_after_the_text() -> None:
    thought = {"reasoning_content": "a", "thinking_blocks": [_signed("a")]}
    back = _goes_back(thought, {"content": "Hi"}, {"thinking_blocks": [_signed("", "S")]})
    assert (list(back.blocks), back.fields) == ([_signed("a", "S")], {"reasoning_content": "a"})


@one_test_for(
    ("parts", "expected"),
    [
        (
            [_summary({"text": "a"}), _summary({"text": "b"}), _summary({"text": "", "signature": "S"})],
            [_summary({"text": "ab", "signature": "S"})],
        ),
        (
            [_summary({"text": "a", "signature": "S"}), _summary({"text": "b", "signature": "T"})],
            [_summary({"text": "a", "signature": "S"}), _summary({"text": "b", "signature": "T"})],
        ),
        ([_summary({"text": "a"}, {"text": "b"})], [_summary({"text": "a"}, {"text": "b"})]),
        (
            [{"type": "reasoning", "text": "a"}, {"type": "reasoning", "text": "b"}],
            [{"type": "reasoning", "text": "ab"}],
        ),
        ([{"type": "thinking", "thinking": "a", "signature": "S"}],) * 2,
        ([{"type": "redacted_thinking", "data": "R"}],) * 2,
    ],
)
def test_parts_of_thinking_go_back_with_their_entries(
    parts: list[dict[str, Any]], expected: list[dict[str, Any]]
) -> None:
    deltas = [{"content": [part]} for part in parts]
    assert list(_goes_back(*deltas, {"content": "Hi"}).parts) == expected
