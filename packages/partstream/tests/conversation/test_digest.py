"""Digests of conversations: equal for what a model sees alike, different for everything else."""

import pytest

from conversation.samples import PNG, assistant, called, gave, system, user
from partstream import ChatMessage, DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream.conversation.preparation import history_digest
from partstream.conversation.turns import answer_digest
from rows import one_test_for

BASE = [system("s"), user("a"), assistant([TextPart("b"), called("1", "f", x=1)]), user([gave("1", "r")])]

SAME: dict[str, list[ChatMessage]] = {
    "marks": [system("s"), user([TextPart("a"), DataPart(b"ephemeral", "cache_control")]), *BASE[2:]],
    "thinking": [*BASE[:2], assistant([ThinkingPart("hm"), *BASE[2].content]), BASE[3]],
    "empty text": [*BASE[:2], assistant([TextPart(""), *BASE[2].content]), user(""), BASE[3]],
    "a name": [system("s"), user("a", "Ann"), *BASE[2:]],
}
OTHER: dict[str, list[ChatMessage]] = {
    "another text": [system("s"), user("A"), *BASE[2:]],
    "another speaker": [user("s"), *BASE[1:]],
    "another order": [*BASE[1:], BASE[0]],
    "text that is cut elsewhere": [
        system("s"),
        user([TextPart("a"), TextPart("b")]),
        assistant([called("1", "f", x=1)]),
    ],
    "another argument": [*BASE[:2], assistant([TextPart("b"), called("1", "f", x=2)]), BASE[3]],
    "another tool": [*BASE[:2], assistant([TextPart("b"), called("1", "g", x=1)]), BASE[3]],
    "another call id": [*BASE[:2], assistant([TextPart("b"), called("2", "f", x=1)]), BASE[3]],
    "a failure": [*BASE[:3], user([gave("1", "r", is_error=True)])],
    "another result": [*BASE[:3], user([gave("1", "R")])],
    "an image in the result": [*BASE[:3], user([gave("1", "r", DataPart(PNG, "image/png"))])],
    "a message less": BASE[:3],
}


@pytest.mark.parametrize("messages", SAME.values(), ids=SAME)
def test_what_no_model_sees_changes_nothing(messages: list[ChatMessage]):
    assert history_digest(messages) == history_digest(BASE)


@one_test_for("messages", OTHER.values(), ids=OTHER)
def test_what_a_model_sees_changes_it(messages: list[ChatMessage]):
    assert history_digest(messages) != history_digest(BASE)


def test_two_results_of_the_same_length_are_two_histories():
    one, other = (
        history_digest([*BASE[:3], user([gave("1", DataPart(data, "image/png"))])]) for data in (b"ab", b"ba")
    )
    assert one != other


def test_an_answer_is_the_same_in_one_piece_or_in_many_and_in_whatever_order_its_arguments_stand():
    whole = answer_digest([TextPart("Hello there"), ToolCallPart("1", "f", {"a": 1, "b": 2})])
    pieces = [TextPart("\nHello"), ThinkingPart("hm"), TextPart(" there "), ToolCallPart("1", "f", {"b": 2, "a": 1})]
    assert answer_digest(pieces) == whole
    assert answer_digest([TextPart("Hello there")]) != whole


def test_arguments_that_are_no_json_have_a_digest_as_well():
    assert answer_digest([ToolCallPart("1", "f", {"a": b""})]) != answer_digest([ToolCallPart("1", "f", {"a": b"x"})])
