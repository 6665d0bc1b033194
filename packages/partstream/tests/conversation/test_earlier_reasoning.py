"""Reasoning of the current turn and of finished turns: each kind can be left out, and an edited text loses its own."""

from typing import Any

import pytest

from conversation.samples import ORIGIN, assistant, called, gave, prepared, system, user
from partstream import ChatMessage, DataPart, TextPart, ThinkingPart
from partstream.conversation.preparation import ChatRequest, ResponseState, carried_reasoning
from partstream.conversation.provider_state import (
    ITEMS,
    MAX_MARKER_LENGTH,
    Carried,
    StateMarker,
    marker_part,
    read_marker,
)
from partstream.conversation.turns import Reasoning, Text, ToolNames
from partstream.lm.parts import ResponsePart
from rows import one_test_for


def item(name: str) -> dict[str, Any]:
    return {"name": name, "signature": "s"}


def answered(*parts: ResponsePart | str, thinks: bool = False) -> ChatMessage:
    """An answer as Copilot keeps it: the marker, the last metadata of thinking within a turn, the text, the calls.

    Args:
        parts: What came; the name of an item for thinking that brings it.
        thinks: Whether the thinking is still there, as within a turn.
    """
    state, listed, seen = ResponseState(ORIGIN, ToolNames([])), [], []
    for part in parts:
        if isinstance(part, str):
            listed.append(item(part))
            seen.append(state.see(ThinkingPart("", None, {ITEMS: list(listed)})))
        else:
            seen.append(state.see(part))
    marker = state.marker("small", None, lambda: pytest.fail("nothing is stored"))
    text = "".join(part.value for part in seen if isinstance(part, TextPart))
    thinking = [part for part in seen if isinstance(part, ThinkingPart)][-1:] if thinks else []
    calls = [part for part in seen if not isinstance(part, TextPart | ThinkingPart)]
    marks = [marker] if marker is not None else []
    return assistant([*marks, *thinking, TextPart(text.strip()), *calls])


def back(request: ChatRequest) -> list[Any]:
    """The items of a request by their names, the texts of the assistant beside them."""
    return [
        piece.item["name"] if isinstance(piece, Reasoning) else piece.value
        for turn in request.turns
        if turn.role == "assistant"
        for piece in turn.content
        if isinstance(piece, Reasoning | Text)
    ]


HISTORY = (
    system("Be brief."),
    user("One?"),
    answered("a", TextPart("One."), called()),
    user([gave()]),
    answered("b", TextPart("Done.")),
    user("Two?"),
    answered("c", called("gw-2"), thinks=True),
    user([gave("gw-2")]),
)


def test_a_turn_begins_with_the_last_message_of_the_user_that_is_not_only_results():
    whole = prepared(*HISTORY)
    assert whole.carries == Carried.ALL_REASONING
    assert back(whole.request(Carried.EVERYTHING)) == ["a", "One.", "b", "Done.", "c"]
    assert back(whole.request(Carried.REASONING)) == ["One.", "Done.", "c"]
    assert back(whole.request(Carried.EARLIER)) == ["a", "One.", "b", "Done."]
    bare = whole.request(Carried.NOTHING)
    assert (back(bare), bare.has_reasoning) == (["One.", "Done."], False)


CARRIES = {
    "the first answer": (HISTORY[:2], Carried.NOTHING),
    "in the first turn": (HISTORY[:4], Carried.REASONING),
    "calls whose state is gone": ((user("One?"), assistant([called()]), user([gave()])), Carried.REASONING),
    "after the first turn": (HISTORY[:6], Carried.EARLIER),
    "results beside words of the user": ((*HISTORY[:3], user([gave(), TextPart("Go on")])), Carried.EARLIER),
    "results beside a mark": ((*HISTORY[:3], user([gave(), DataPart(b"x", "cache_control")])), Carried.REASONING),
    "without a message of the user": (HISTORY[2:4], Carried.REASONING),
}


@one_test_for(("history", "carries"), CARRIES.values(), ids=CARRIES)
def test_what_a_request_carries(history: tuple[ChatMessage, ...], carries: Carried):
    assert prepared(*history).carries == carries


PARTS = ("a", TextPart("\n\nLet me "), "b", TextPart("see. "), called(), "c")
LATER = (user([gave()]), user("And now?"))


def test_items_inside_a_text_come_back_at_their_places_in_later_turns():
    asked = user("Hi"), answered(*PARTS), *LATER
    assert back(prepared(*asked).request()) == ["a", "Let me ", "b", "see.", "c"]


def edited(message: ChatMessage, text: str) -> ChatMessage:
    return assistant([TextPart(text) if isinstance(part, TextPart) else part for part in message.content])


def test_an_edited_text_of_a_finished_turn_goes_without_the_items_that_stood_around_it():
    other = edited(answered(*PARTS), "Let me think.")
    assert back(prepared(user("Hi"), other, *LATER).request()) == ["Let me think."]


@pytest.mark.parametrize("text", ["Let me think.", "Le", ""])
def test_an_edited_text_of_the_current_turn_keeps_all_items(text: str):
    other = edited(answered(*PARTS, thinks=True), text)
    kept = back(prepared(user("Hi"), other, LATER[0]).request())
    assert [one for one in kept if one in {"a", "b", "c"}] == ["a", "b", "c"]
    assert "".join(one for one in kept if one not in {"a", "b", "c"}) == text


def test_items_before_all_text_do_not_mind_an_edit():
    message = answered("a", TextPart("One."), called(), "b")
    (marker,) = (part for part in message.content if isinstance(part, DataPart))
    read = read_marker(marker)
    assert read is not None
    assert read.answer == ""
    assert back(prepared(user("Hi"), edited(message, "Other."), *LATER).request()) == ["a", "Other.", "b"]


def signed(size: int, call: int | None = None) -> dict[str, Any]:
    """An item with a signature of that many characters, of a call if it has a number."""
    return {"signature": "s" * size, **({} if call is None else {"toolCallId": f"{call}"})}


def thought(*items: dict[str, Any]) -> tuple[ThinkingPart, StateMarker]:
    """What an answer with these items leaves: its last thinking, and its marker as it comes back."""
    state = ResponseState(ORIGIN, ToolNames([]))
    state.see(TextPart("Let me see."))
    part = state.see(ThinkingPart("", None, {ITEMS: list(items)}))
    marker = state.marker("small", None, lambda: pytest.fail("nothing is stored"))
    assert isinstance(part, ThinkingPart)
    assert marker is not None
    assert len(marker.data) <= MAX_MARKER_LENGTH + len("small\\")
    read = read_marker(marker)
    assert read is not None
    return part, read


# Items of one answer, and how many of them the marker holds.
SIZES = {
    "the longest recorded signature of Gemini, and that of its text": ([signed(5488, 1), signed(1400)], 2),
    "eight signed calls": ([signed(5488, call) for call in range(8)], 8),
    "calls and a thought that is too long": ([signed(70_000), signed(5488, 1)], 1),
    "a thought that is too long": ([signed(70_000)], 0),
    "two thoughts of which one would fit": ([signed(40_000), signed(30_000)], 0),
}


@one_test_for(("items", "kept"), SIZES.values(), ids=SIZES)
def test_what_does_not_fit_a_marker_is_missing_in_later_turns_and_never_in_its_own(
    items: list[dict[str, Any]], kept: int
):
    part, marker = thought(*items)
    assert len(marker.reasoning) == kept
    message = assistant([TextPart("Let me see.")])
    later = carried_reasoning(message, marker, ORIGIN)
    within = carried_reasoning(assistant([part, *message.content]), marker, ORIGIN)
    assert (len(later), len(within)) == (kept, len(items))


def test_the_state_of_thirty_rounds_is_as_long_as_that_of_each():
    """Every answer has a marker of its own, so that a long session is no reason to lose anything."""
    _, marker = thought(signed(5488, 1))
    answer = assistant([marker_part("small", marker), TextPart("Let me see.")])
    rounds = [message for _ in range(30) for message in (user("Go on"), answer)]
    assert [len(items) for items in prepared(*rounds, user("And now?")).reasoning.values()] == [1] * 30
