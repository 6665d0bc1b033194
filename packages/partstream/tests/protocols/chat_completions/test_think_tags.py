"""Thinking in tags is separated from text, for any cut of the stream (docs/wires/chat-completions.md#think-tags)."""

import pytest

from partstream.conversation.provider_state import ITEMS
from partstream.conversation.thinking import open_response
from partstream.lm.outputs import StreamOptions, ThinkingMode, ThinkTags
from partstream.lm.parts import TextPart, ThinkingPart
from partstream.protocols.chat_completions.read_response import ChatCompletionsStream
from protocols.chat_completions.wire import DONE, PLAIN, answered, chunk, finished, read_events, said, thought
from rows import one_test_for

TAGGED = {
    "<think>Hm</think>Hi": ("Hm", "Hi"),
    "<think>\nHm\n</think>\n\nHi": ("Hm\n", "Hi"),
    " \n<think>Hm</think>\n\nHi": ("Hm", " \nHi"),
    "<thought>Hm</thought>Hi": ("Hm", "Hi"),
    "<think></think>Hi": ("", "Hi"),
    "<think>a</thin b</think>Hi </think>": ("a</thin b", "Hi </think>"),
    "Hi <think>Hm</think>": ("", "Hi <think>Hm</think>"),
    "`<think>`": ("", "`<think>`"),
    "<thin": ("", "<thin"),
    "<think>Hm": ("Hm", ""),
    "<think>Hm</thin": ("Hm</thin", ""),
    "<thinking>Hm</thinking>": ("Hm", ""),
    "<think>a</think>\n \n<reasoning>b</reasoning>Hi": ("ab", "Hi"),
    "<think>a</think> Hi <think>b</think>": ("a", " Hi <think>b</think>"),
    "<think>a</think>\n" + " " * 65 + "<think>b</think>": ("a", " " * 65 + "<think>b</think>"),
    "[THINK]a[/THINK]Hi": ("a", "Hi"),
    "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>Hi<|return|>": ("a", "Hi"),
    "<|channel|>commentary to=functions.f<|message|>{}": ("", "<|channel|>commentary to=functions.f<|message|>{}"),
}


@one_test_for(("content", "expected"), TAGGED.items())
def test_thinking_in_tags_is_told_for_any_cut(content: str, expected: tuple[str, str]) -> None:
    for size in (1, 2, 3, 5, 7, len(content)):
        pieces = [content[at : at + size] for at in range(0, len(content), size)]
        result = read_events([*map(said, pieces), finished(), DONE])
        assert (result.thinking, result.text) == expected
    off = read_events([said(content), finished(), DONE], StreamOptions(think_tags=ThinkTags.OFF))
    assert (off.thinking, off.text) == ("", content)


LONGEST = "<|start|>assistant<|channel|>commentary<|message|>"


@one_test_for("content", TAGGED)
def test_no_more_than_a_tag_is_held_back(content: str) -> None:
    whole = read_events([said(content), finished(), DONE])
    hidden = len(content) - len(whole.thinking + whole.text)
    adapter = open_response(ChatCompletionsStream, PLAIN)
    shown = 0
    for place, letter in enumerate(content, 1):
        shown += sum(len(one.value) for one in adapter.feed(said(letter)) if isinstance(one, TextPart | ThinkingPart))
        assert place - shown <= hidden + max(len(LONGEST), 65)


@pytest.mark.parametrize(
    ("content", "expected"),
    [("Hm</think>\n\nHi", ("Hm", "Hi")), ("<think>Hm</think>Hi", ("Hm", "Hi")), ("Hm", ("Hm", ""))],
)
def test_an_answer_may_begin_inside_its_thinking(content: str, expected: tuple[str, str]) -> None:
    for size in (1, 3, len(content)):
        pieces = [content[at : at + size] for at in range(0, len(content), size)]
        options = StreamOptions(think_tags=ThinkTags.STARTS_INSIDE)
        result = read_events([*map(said, pieces), finished(), DONE], options)
        assert (result.thinking, result.text) == expected


@pytest.mark.parametrize("mode", [ThinkTags.TAGS, ThinkTags.STARTS_INSIDE])
def test_where_thinking_has_a_field_tags_are_text(mode: ThinkTags) -> None:
    result = answered(thought("Hm"), said("<think>x</think>"), think_tags=mode)
    assert (result.thinking, result.text) == ("Hm", "<think>x</think>")


@pytest.mark.parametrize("mode", [ThinkTags.TAGS, ThinkTags.STARTS_INSIDE])
def test_hidden_thinking_in_a_field_and_refusals_show_that_tags_are_text(mode: ThinkTags) -> None:
    hidden = answered(thought("Hm"), said("<think>x</think>"), think_tags=mode, thinking=ThinkingMode.OFF)
    assert (hidden.thinking, hidden.text) == ("", "<think>x</think>")
    refused = answered(chunk({"refusal": "No <think>"}), think_tags=mode)
    assert (refused.thinking, refused.text) == ("", "No <think>")


def test_blocks_travel_with_what_is_between_them() -> None:
    result = answered(said("<think>a</think>\n \n<reas"), said("oning>b</reasoning>\nHi"))
    (metadata,) = result.metadata
    raw = "<think>a</think>\n \n<reasoning>b</reasoning>\n"
    assert metadata[ITEMS] == [{"type": "message-field", "field": "content", "text": raw}]


def test_marks_that_the_template_refuses_do_not_travel() -> None:
    result = answered(said("<|channel|>analysis<|message|>a<|end|><|channel|>final<|message|>Hi"))
    assert result.metadata == []


def test_the_tags_travel_with_the_thinking() -> None:
    result = answered(said("<think>\nHm</th"), said("ink>\n\nHi"))
    (metadata,) = result.metadata
    assert metadata[ITEMS] == [{"type": "message-field", "field": "content", "text": "<think>\nHm</think>\n\n"}]
