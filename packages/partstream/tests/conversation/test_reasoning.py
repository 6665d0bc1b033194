"""Reasoning items: which come back, and where they stood."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conversation.samples import ORIGIN, assistant, user
from partstream import DataPart, RequestOptions, TextPart, ThinkingPart, ToolCallPart
from partstream.conversation.media import MediaKind
from partstream.conversation.preparation import ASKED_IN, RequestSettings, ResponseState, carried_reasoning, prepare
from partstream.conversation.provider_state import (
    AnswerPlace,
    Origin,
    StateMarker,
    place_reasoning,
    read_marker,
    usable_items,
)
from partstream.conversation.turns import Attachment, Call, Reasoning, Text, ToolNames
from rows import one_test_for

ITEM = {"id": "rs_1", "encrypted_content": "e"}


def thinking(**metadata: Any) -> ThinkingPart:
    return ThinkingPart("hm", "rs_1", metadata)


IGNORED: dict[str, ThinkingPart] = {
    "no metadata": ThinkingPart("hm"),
    "no origin": thinking(reasoning_items=[ITEM]),
    "another origin": thinking(reasoning_items=[ITEM], origin="upstream/large"),
    "nothing encrypted": thinking(reasoning_items=[{"id": "rs_1"}], origin=ORIGIN.key),
    "no list": thinking(reasoning_items="x", origin=ORIGIN.key),
    "no objects": thinking(reasoning_items=[1, None, "x"], origin=ORIGIN.key),
    "a mark of Copilot": thinking(vscode_reasoning_done=True),
}


@one_test_for("part", IGNORED.values(), ids=IGNORED)
def test_thinking_that_brings_nothing_back(part: ThinkingPart):
    assert carried_reasoning(assistant([part, TextPart("Ho")]), None, ORIGIN) == ()


USABLE: dict[str, tuple[dict[str, Any], bool]] = {
    "encrypted": (ITEM, True),
    "signed": ({"type": "reasoning", "text": "", "providerOptions": {"anthropic": {"signature": "s"}}}, True),
    "a signed call": (
        {"type": "tool-call", "toolCallId": "1", "providerOptions": {"google": {"thoughtSignature": "s"}}},
        True,
    ),
    "what was shown": ({"type": "reasoning", "id": "1", "text": "hm", "summary": ["hm"], "after": [0, False]}, False),
    "empty state": ({"type": "reasoning", "text": "hm", "providerOptions": {}, "encrypted_content": ""}, False),
}


@one_test_for(("item", "usable"), USABLE.values(), ids=USABLE)
def test_an_item_comes_back_where_it_holds_more_than_what_was_shown(item: dict[str, Any], usable: bool):
    assert usable_items([item]) == ((item,) if usable else ())


def test_thinking_goes_before_the_marker_and_the_marker_is_for_its_origin_only():
    marker = StateMarker(ORIGIN, reasoning=({**ITEM, "id": "rs_marker"},))
    own = thinking(reasoning_items=[ITEM], origin=ORIGIN.key)
    assert carried_reasoning(assistant([own]), marker, ORIGIN) == (ITEM,)
    assert carried_reasoning(assistant([IGNORED["no origin"]]), marker, ORIGIN) == marker.reasoning
    assert carried_reasoning(assistant([own]), marker, Origin("upstream", "large")) == ()


A, B = Text("a"), Text("b")
ONE, TWO = Call("1", "f", {}, ""), Call("2", "f", {}, "")

# Content and the places of items (`x`, `y`): what comes out; a name stands for its item.
PLACES: dict[str, tuple[list[Any], list[tuple[str, Any]], list[Any]]] = {
    "no place": ([A, ONE], [("x", None)], ["x", A, ONE]),
    "at the beginning": ([A, ONE], [("x", [0, False])], ["x", A, ONE]),
    "behind the text": ([A, ONE], [("x", [0, True])], [A, "x", ONE]),
    "between calls": ([A, ONE, TWO], [("x", [0, False]), ("y", [1, False])], ["x", A, ONE, "y", TWO]),
    "behind the text behind a call": ([ONE, A, TWO], [("x", [1, True])], [ONE, A, "x", TWO]),
    "two in one place": ([A], [("x", [0, False]), ("y", [0, False])], ["x", "y", A]),
    "behind everything": ([A, ONE], [("x", [1, False])], [A, ONE]),
    "behind more than there is": ([A], [("x", [5, False])], [A]),
    "a place that is none": ([A], [("x", "first"), ("y", [None, True])], ["x", "y", A]),
    "in nothing": ([], [("x", [0, False])], []),
}


@one_test_for(("content", "items", "placed"), PLACES.values(), ids=PLACES)
def test_where_items_stand(content: list[Any], items: list[tuple[str, Any]], placed: list[Any]):
    given = [{"id": name, "after": place} if place is not None else {"id": name} for name, place in items]
    expected = tuple(Reasoning({"id": piece}) if isinstance(piece, str) else piece for piece in placed)
    assert place_reasoning(content, given, lambda _item: False) == expected


LONG, JSON = Text("one two"), Text("[1, 2]", is_json=True)
IMAGE = Attachment(MediaKind.IMAGE, "image/png", b"x", "")

# Content and the places of items with characters of text: what comes out.
INSIDE: dict[str, tuple[list[Any], list[tuple[str, Any]], list[Any]]] = {
    "before the text": ([LONG], [("x", [0, 0])], ["x", LONG]),
    "inside the text": ([LONG, ONE], [("x", [0, 4])], [Text("one "), "x", Text("two"), ONE]),
    "twice inside": ([LONG], [("x", [0, 1]), ("y", [0, 4])], [Text("o"), "x", Text("ne "), "y", Text("two")]),
    "two in one place": ([LONG], [("x", [0, 4]), ("y", [0, 4])], [Text("one "), "x", "y", Text("two")]),
    "not in order": ([LONG], [("x", [0, 4]), ("y", [0, 0])], ["y", Text("one "), "x", Text("two")]),
    "at the end": ([LONG, ONE], [("x", [0, 7])], [LONG, "x", ONE]),
    "between two texts": ([A, LONG], [("x", [0, 1])], [A, "x", LONG]),
    "in the second text": ([A, LONG], [("x", [0, 2])], [A, Text("o"), "x", Text("ne two")]),
    "behind an image": ([A, IMAGE, LONG], [("x", [0, 2])], [A, IMAGE, Text("o"), "x", Text("ne two")]),
    "behind a call": ([A, ONE, LONG, TWO], [("x", [1, 3])], [A, ONE, Text("one"), "x", Text(" two"), TWO]),
    "at the end of a message": ([ONE, LONG], [("x", [1, 7])], [ONE, LONG, "x"]),
    "behind more text than there is": ([A, ONE], [("x", [0, 9])], [A, "x", ONE]),
    "in a text that hosts moved before the calls": ([LONG, ONE, TWO], [("x", [1, 3])], [LONG, ONE, "x", TWO]),
    "behind white space that the host kept": ([Text("\n\none")], [("x", [0, 1])], [Text("\n\no"), "x", Text("ne")]),
    "white space behind a call": ([ONE, Text("\n\no")], [("x", [1, 1])], [ONE, Text("\n"), "x", Text("\no")]),
    "in a JSON text": ([JSON], [("x", [0, 1])], [Text("["), "x", Text("1, 2]")]),
}


@one_test_for(("content", "items", "placed"), INSIDE.values(), ids=INSIDE)
def test_a_text_is_split_where_an_item_stood_inside_it(
    content: list[Any], items: list[tuple[str, Any]], placed: list[Any]
):
    expected = tuple(Reasoning({"id": piece}) if isinstance(piece, str) else piece for piece in placed)
    result = place_reasoning(content, [{"id": name, "after": place} for name, place in items], lambda _item: True)
    assert result == expected
    is_json = {piece.value for piece in result if isinstance(piece, Text) and piece.is_json}
    assert is_json <= {piece.value for piece in content if isinstance(piece, Text) and piece.is_json}


def test_the_protocol_says_which_items_may_stand_at_the_end():
    items = [{"type": "lead"}, {"type": "sign"}]
    placed = place_reasoning([], items, lambda item: item["type"] == "sign")
    assert placed == (Reasoning({"type": "sign"}),)


def test_a_place_counts_the_characters_behind_the_last_call_and_no_white_space_before_the_answer():
    place = AnswerPlace()
    assert place.value == [0, 0]
    for text in ("\n", " \n", " one", " two"):
        place.add_text(text)
    assert place.value == [0, 7]
    place.add_call()
    assert place.value == [1, 0]
    place.add_text(" three")
    assert place.value == [1, 6]


def test_each_metadata_lists_all_items_so_far_with_their_places_and_the_marker_holds_them():
    state = ResponseState(ORIGIN, ToolNames([]))
    second = {"id": "rs_2", "encrypted_content": "f"}
    first_part = state.see(thinking(**ITEM, reasoning_items=[ITEM]))
    state.see(TextPart("So"))
    state.see(ToolCallPart("gw-1", "f", {}))
    last_part = state.see(thinking(**second, reasoning_items=[ITEM, second]))
    assert isinstance(first_part, ThinkingPart)
    assert isinstance(last_part, ThinkingPart)
    placed = [{**ITEM, "after": [0, False]}, {**second, "after": [1, False]}]
    assert first_part.metadata == {**ITEM, "reasoning_items": placed[:1], "origin": ORIGIN.key}
    assert last_part.metadata == {**second, "reasoning_items": placed, "origin": ORIGIN.key}
    part = state.marker("m", None, lambda: pytest.fail("no history is needed"))
    assert isinstance(part, DataPart)
    assert read_marker(part) == StateMarker(ORIGIN, reasoning=tuple(placed))


def test_metadata_of_other_adapters_passes_as_it_is():
    state = ResponseState(ORIGIN, ToolNames([]))
    for part in (ThinkingPart("hm"), thinking(signature="s"), thinking(reasoning_items="x"), TextPart("a")):
        assert state.see(part) == part
    assert state.marker("m", None, str) is None


TEXTS = st.text("ab \n😀", min_size=1, max_size=4)
ANSWERS = st.lists(st.one_of(TEXTS, st.just("item"), st.just("call")), max_size=12)


@settings(max_examples=100)
@given(ANSWERS)
def test_every_item_comes_back_at_its_place_in_an_answer_whose_texts_were_joined(answer: list[str]):
    state = ResponseState(ORIGIN, ToolNames([]))
    listed, content, expected = list[dict[str, Any]](), list[Any](), list[Any]()
    for number, kind in enumerate(answer):
        if kind == "item":
            listed.append({"name": str(number), "signature": "s"})
            state.see(thinking(reasoning_items=list(listed)))
            expected.append(Reasoning(listed[-1]))
        elif kind == "call":
            state.see(ToolCallPart(f"gw-{number}", "f", {}))
            content.append(Call(f"{number}", "f", {}, ""))
            expected.append(content[-1])
        else:
            state.see(TextPart(kind))
            expected.append(Text(kind))
            joins = content and isinstance(content[-1], Text)
            content = [*content[:-1], Text(content[-1].value + kind)] if joins else [*content, Text(kind)]
    last = state.see(thinking(reasoning_items=list(listed)))
    assert isinstance(last, ThinkingPart)
    assert last.metadata is not None
    placed = place_reasoning(content, last.metadata["reasoning_items"], lambda _item: True)
    assert said(placed) == said(expected)


def said(pieces: Iterable[Any]) -> list[Any]:
    """The pieces, with neighbouring texts as one, and without white space before the first word or call."""
    joined: list[Any] = []
    for piece in pieces:
        if isinstance(piece, Text) and joined and isinstance(joined[-1], str):
            joined[-1] += piece.value
        else:
            joined.append(piece.value if isinstance(piece, Text) else piece)
    for place, piece in enumerate(joined):
        if isinstance(piece, str):
            joined[place] = piece.lstrip()
            if joined[place]:
                break
        elif isinstance(piece, Call):
            break
    return [piece for piece in joined if piece != ""]


@pytest.mark.parametrize("asked_in", ["", "anthropic-messages"])
def test_thinking_of_another_server_in_a_clients_request_is_named_as_dropped(asked_in: str):
    given = ThinkingPart("hm", None, {"reasoning_items": [ITEM], "origin": ORIGIN.key})
    messages = (user("Hi"), assistant([given, TextPart("Ho")]), assistant([IGNORED["another origin"], TextPart("Ha")]))
    prepared = prepare(ORIGIN, messages, RequestOptions(model_options={ASKED_IN: asked_in}), RequestSettings())
    named = [(note.where, note.dropped) for note in prepared.notes]
    assert named == ([("messages[2]", ("thinking",))] if asked_in else [])
