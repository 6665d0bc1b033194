"""Digests of what is counted: which things are the same, and which are not."""

import subprocess
import sys
from itertools import combinations

from partstream import ChatMessage, DataPart, TextPart, ThinkingPart, Tool, ToolCallPart, ToolResultPart
from partstream.tokens.records import message_digest, prefix_digests, text_digest, tools_digest
from rows import one_test_for

DIFFERENT = {
    "no content": ChatMessage.user([]),
    "a text": ChatMessage.user("a text"),
    "another text": ChatMessage.user("a texT"),
    "the text of another role": ChatMessage.assistant("a text"),
    "a text as thinking": ChatMessage.assistant([ThinkingPart("a text")]),
    "thinking with metadata": ChatMessage.assistant([ThinkingPart("a text", metadata={"signature": "s"})]),
    "a text and an image": ChatMessage.user([TextPart("a text"), DataPart(b"\x89PNG1", "image/png")]),
    "an image": ChatMessage.user([DataPart(b"\x89PNG1", "image/png")]),
    "another image of the same length": ChatMessage.user([DataPart(b"\x89PNG2", "image/png")]),
    "the bytes as another type": ChatMessage.user([DataPart(b"\x89PNG1", "image/gif")]),
    "a call": ChatMessage.assistant([ToolCallPart("1", "run", {"path": "a"})]),
    "a call with other arguments": ChatMessage.assistant([ToolCallPart("1", "run", {"path": "b"})]),
    "a call of another tool": ChatMessage.assistant([ToolCallPart("1", "ran", {"path": "a"})]),
    "a result": ChatMessage.user([ToolResultPart("1", (TextPart("one"),))]),
    "another result of the same call": ChatMessage.user([ToolResultPart("1", (TextPart("two"),))]),
    "a result that is an error": ChatMessage.user([ToolResultPart("1", (TextPart("one"),), is_error=True)]),
    "a result with an image": ChatMessage.user([ToolResultPart("1", (DataPart(b"1", "image/png"),))]),
    "a result with another image": ChatMessage.user([ToolResultPart("1", (DataPart(b"2", "image/png"),))]),
    "two results": ChatMessage.user([ToolResultPart("1", (TextPart("one"),)), ToolResultPart("2", (TextPart("two"),))]),
    "their texts in one": ChatMessage.user([ToolResultPart("1", (TextPart("one"), TextPart("two")))]),
    "a text behind a result": ChatMessage.user([ToolResultPart("1", ()), TextPart("one")]),
    "a lone surrogate": ChatMessage.user("\ud800"),
}

SAME = {
    "a text in two parts": (ChatMessage.user("a text"), ChatMessage.user([TextPart("a "), TextPart("text")])),
    "an empty text": (ChatMessage.user("a"), ChatMessage.user([TextPart(""), TextPart("a")])),
    "a name, which no protocol sends": (ChatMessage.user("a"), ChatMessage.user("a", "Ada")),
    "a mark of the host": (
        ChatMessage.user("a"),
        ChatMessage.user([TextPart("a"), DataPart(b"{}", "cache_control")]),
    ),
    "a mark between two texts": (
        ChatMessage.user("ab"),
        ChatMessage.user([TextPart("a"), DataPart(b"{}", "cache_control"), TextPart("b")]),
    ),
    "the order of a call's arguments": (
        ChatMessage.assistant([ToolCallPart("1", "run", {"a": 1, "b": {"c": 2, "d": 3}})]),
        ChatMessage.assistant([ToolCallPart("1", "run", {"b": {"d": 3, "c": 2}, "a": 1})]),
    ),
    "the id of a call": (
        ChatMessage.assistant([ToolCallPart("1", "run", {})]),
        ChatMessage.assistant([ToolCallPart("1__vscode-7", "run", {})]),
    ),
}


@one_test_for(("one", "other"), list(combinations(DIFFERENT, 2)), ids=lambda name: name)
def test_what_may_have_another_number_has_another_digest(one: str, other: str):
    assert message_digest(DIFFERENT[one]) != message_digest(DIFFERENT[other])


@one_test_for(("one", "other"), SAME.values(), ids=SAME)
def test_what_is_sent_alike_has_one_digest(one: ChatMessage, other: ChatMessage):
    assert message_digest(one) == message_digest(other)


def test_a_text_alone_is_no_message():
    assert text_digest("a text") != message_digest(ChatMessage.user("a text"))


def test_tools_differ_by_every_word_and_by_their_order_but_not_by_that_of_their_schemas():
    first = Tool("a", "does", {"type": "object", "properties": {}})
    others = [Tool("b", "does", first.input_schema), Tool("a", "done", first.input_schema), Tool("a", "does")]
    digests = [tools_digest([tool]) for tool in (first, *others)]
    digests += [tools_digest([]), tools_digest([first, others[0]]), tools_digest([others[0], first])]
    assert len(set(digests)) == len(digests)
    assert tools_digest([Tool("a", "does", {"properties": {}, "type": "object"})]) == digests[0]


def test_beginnings_are_the_same_exactly_as_far_as_all_messages_before_are():
    one, other = ([message_digest(ChatMessage.user(text)) for text in texts] for texts in ("abcd", "abXd"))
    same = [first == second for first, second in zip(prefix_digests(one), prefix_digests(other), strict=True)]
    assert same == [True, True, False, False]


def test_digests_outlive_the_process():
    code = (
        "from partstream import ChatMessage, ToolCallPart\n"
        "from partstream.tokens.records import message_digest\n"
        "print(message_digest(ChatMessage.assistant([ToolCallPart('1', 'run', {'b': [1, 2], 'a': 'x'})])).hex())"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True).stdout
        for _ in range(2)
    ]
    here = message_digest(ChatMessage.assistant([ToolCallPart("1", "run", {"a": "x", "b": [1, 2]})]))
    assert {run.strip() for run in runs} == {here.hex()}
