"""Calls and results: each result with its call, each call with a result, and every missing half said."""

import pytest

from conversation.samples import assistant, body_of, called, gave, prepared, user
from partstream import ChatMessage, TextPart
from partstream.conversation.turns import Call, Note, Result, TurnRole


def test_results_that_follow_each_other_are_one_turn_and_parallel_calls_another():
    turns = prepared(
        user("Hi"),
        assistant([TextPart("Both."), called("gw-1", "f"), called("gw-2", "g")]),
        user([gave("gw-2", "b")]),
        user([gave("gw-1", "a")]),
        user("So?"),
    ).whole.turns
    assert [turn.role for turn in turns] == [TurnRole.USER, TurnRole.ASSISTANT, TurnRole.TOOL, TurnRole.USER]
    assert [(piece.call_id, piece.name) for piece in turns[2].content if isinstance(piece, Result)] == [
        ("2", "g"),
        ("1", "f"),
    ]


def test_ids_that_a_server_counts_anew_in_each_answer_stay_apart():
    body = body_of(
        assistant([called("gw-call_0", "f")]),
        user([gave("gw-call_0", "first")]),
        assistant([called("gw-call_0", "g")]),
        user([gave("gw-call_0", "second")]),
    )
    calls = {item["call_id"]: item["name"] for item in body["input"] if item["type"] == "function_call"}
    results = {item["call_id"]: item["output"] for item in body["input"] if item["type"] == "function_call_output"}
    assert {calls[call_id]: value for call_id, value in results.items()} == {"f": "first", "g": "second"}


def test_a_late_result_goes_to_the_call_of_the_last_answer_that_used_the_id():
    body = body_of(assistant([called("gw-1", "f")]), assistant([called("gw-1", "g")]), user([gave("gw-1", "x")]))
    outputs = {item["call_id"]: item["output"] for item in body["input"] if item["type"] == "function_call_output"}
    names = {item["call_id"]: item["name"] for item in body["input"] if item["type"] == "function_call"}
    assert {names[call_id]: value == "x" for call_id, value in outputs.items()} == {"f": False, "g": True}


NOTES: dict[str, tuple[list[ChatMessage], list[Note]]] = {
    "whole": ([assistant([called()]), user("Wait"), user([gave("gw-1")])], []),
    "a call alone": (
        [user("Hi"), assistant([TextPart("So"), called()])],
        [Note("a tool call without a result", "messages[1].content[1]")],
    ),
    "a result alone": ([user([gave("gw-1")])], [Note("a tool result without a call", "messages[0].content[0]")]),
    "two results of one call": (
        [assistant([called()]), user([gave("gw-1"), gave("gw-1")])],
        [Note("a tool result without a call", "messages[1].content[1]")],
    ),
}


@pytest.mark.parametrize(("messages", "notes"), NOTES.values(), ids=NOTES)
def test_what_was_put_in_is_said_with_its_place(messages: list[ChatMessage], notes: list[Note]):
    assert list(prepared(*messages).notes) == notes


def test_a_second_result_of_one_call_keeps_the_name_of_the_tool():
    body = body_of(assistant([called("gw-1", "f")]), user([gave("gw-1", "a"), gave("gw-1", "b")]))
    assert [item["name"] for item in body["input"] if item["type"] == "function_call"] == ["f", "f"]
    assert [item["output"] for item in body["input"] if item["type"] == "function_call_output"] == ["a", "b"]


def test_what_the_conversation_lacks_is_marked_as_added():
    (call,) = prepared(user([gave("gw-1")])).whole.turns[0].content
    assert isinstance(call, Call)
    assert call.is_added
    (result,) = prepared(user("Hi"), assistant([called("gw-1")])).whole.turns[2].content
    assert isinstance(result, Result)
    assert result.is_added
    whole = prepared(user("Hi"), assistant([called("gw-1")]), user([gave("gw-1")])).whole.turns
    assert not any(piece.is_added for turn in whole for piece in turn.content if isinstance(piece, Call | Result))
