"""The state of thinking is found again by the answer that it belongs to, by who got it, within bounds."""

from __future__ import annotations
from typing import TYPE_CHECKING, Any

import pytest

from partstream import ChatMessage, TextPart, ToolCallPart, ToolResultPart
from partstream.conversation.provider_state import ITEMS, ThinkingMemory
from partstream.lm.parts import ThinkingPart

if TYPE_CHECKING:
    from partstream.lm.parts import MessagePart

STATE = {"origin": "server/model", ITEMS: [{"type": "thinking", "signature": "c2ln"}]}
CALL = ToolCallPart("call_1", "read_file", {"path": "a.py", "line": 3})
ANSWER = (TextPart("I look "), TextPart("at it."), CALL)
ASKED = ChatMessage.user("Why?")
RESULT = ChatMessage.user([ToolResultPart("call_1", (TextPart("x = 1"),))])


def restored(memory: ThinkingMemory, *content: MessagePart, caller: str = "me") -> list[Any]:
    """The metadata of thinking in an answer that came back."""
    messages = memory.of(caller).restored([ASKED, ChatMessage.assistant(content), RESULT])
    assert (messages[0], messages[2]) == (ASKED, RESULT)
    return [one.metadata for one in messages[1].content if isinstance(one, ThinkingPart)]


@pytest.fixture
def memory() -> ThinkingMemory:
    kept = ThinkingMemory()
    kept.of("me").remember(ANSWER, STATE)
    return kept


@pytest.mark.parametrize(
    "content",
    [
        (TextPart("I look at it."), CALL),
        (TextPart("  I look at it.\n"), CALL),
        (CALL, TextPart("I look at it.")),
        (TextPart("I look at it."), ToolCallPart("call_1", "read_file", {"line": 3, "path": "a.py"})),
    ],
    ids=["one text", "spaces around it", "another order", "arguments in another order"],
)
def test_an_answer_without_its_state_gets_it_back(memory: ThinkingMemory, content: tuple[Any, ...]) -> None:
    assert restored(memory, *content) == [STATE]


def test_thinking_of_which_only_the_text_came_back_gets_its_state(memory: ThinkingMemory) -> None:
    shown = ThinkingPart("Hm.", None, {ITEMS: [{"type": "chat.reasoning", "field": "reasoning_content"}]})
    assert restored(memory, shown, *ANSWER) == [STATE, shown.metadata]


def test_state_that_came_back_stays_as_it_is(memory: ThinkingMemory) -> None:
    own = ThinkingPart("Hm.", None, {**STATE, "origin": "another/model"})
    assert restored(memory, own, *ANSWER) == [own.metadata]


@pytest.mark.parametrize(
    "content",
    [
        (TextPart("I look at it!"), CALL),
        (TextPart("I look at it."),),
        (TextPart("I look at it."), ToolCallPart("call_2", "read_file", CALL.input)),
        (TextPart("I look at it."), ToolCallPart("call_1", "read_file", {"path": "b.py", "line": 3})),
    ],
    ids=["another text", "no call", "another id", "other arguments"],
)
def test_another_answer_gets_nothing(memory: ThinkingMemory, content: tuple[Any, ...]) -> None:
    assert restored(memory, *content) == []


def test_nobody_gets_the_state_of_another_caller(memory: ThinkingMemory) -> None:
    assert restored(memory, *ANSWER, caller="you") == []


def test_an_answer_that_says_nothing_is_not_known_again(memory: ThinkingMemory) -> None:
    memory.of("me").remember([TextPart(" ")], STATE)
    assert len(memory) == 1
    assert restored(memory, TextPart(" ")) == []


def test_the_oldest_goes_where_there_is_no_room() -> None:
    memory = ThinkingMemory(most_bytes=3000)
    mine = memory.of("me")
    for number in range(5):
        mine.remember([TextPart(f"{number}")], {"origin": "o", "state": "x" * 900})
        assert restored(memory, TextPart("0")) != [], "it is asked for all the time"
    assert [bool(restored(memory, TextPart(f"{number}"))) for number in range(5)] == [True, False, False, True, True]
    mine.remember([TextPart("4")], {"origin": "o", "state": "new"})
    assert restored(memory, TextPart("4")) == [{"origin": "o", "state": "new"}]
    assert len(memory) == 3


def test_whoever_keeps_much_makes_room_for_it_himself() -> None:
    memory = ThinkingMemory(most_bytes=9000)
    for caller in ("ana", "ben"):
        memory.of(caller).remember([TextPart("first")], {"origin": "o", "state": "x" * 900})
    for number in range(30):
        memory.of("zoe").remember([TextPart(f"{number}")], {"origin": "o", "state": "x" * 900})
    assert [bool(restored(memory, TextPart("first"), caller=one)) for one in ("ana", "ben")] == [True, True]
    assert [bool(restored(memory, TextPart(one), caller="zoe")) for one in ("0", "29")] == [False, True]


@pytest.mark.parametrize("state", [{"origin": "o", "state": "x" * 4000}, {"origin": "o", "state": {1}}])
def test_what_is_too_large_or_no_json_is_not_kept(state: dict[str, Any]) -> None:
    memory = ThinkingMemory(most_bytes=3000)
    memory.of("me").remember(ANSWER, state)
    assert len(memory) == 0
