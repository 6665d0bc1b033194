"""The tokens of the scripted model, worked out by hand."""

from conversation.samples import PNG, assistant, called, gave, system, user
from partstream import DataPart, RequestOptions, TextPart, ThinkingPart, Tool, ToolCallPart, Usage
from partstream.lm.outputs import InboundRequest
from partstream_devtools.testing.scripted_model import (
    IMAGE_TOKENS,
    AnswerTokens,
    PromptTokens,
    cost,
    count_message,
    count_prompt,
    count_tokens,
    usage,
)
from rows import one_test_for

PICTURE = DataPart(PNG, "image/png")


@one_test_for(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("ééé", 2), ("👋", 1), ("\ud800", 1)])
def test_a_token_is_four_bytes_begun(text, tokens):
    assert count_tokens(text) == tokens


@one_test_for(
    ("message", "tokens"),
    [
        (user([TextPart("abc"), TextPart("de")]), 2),
        (user([TextPart("abc"), PICTURE]), 1 + IMAGE_TOKENS),
        (assistant([ThinkingPart("ab"), ThinkingPart("cde"), TextPart("abc")]), 2 + 1),
        (assistant([called("c", "find", x="é")]), count_tokens('find{"x":"é"}')),
        (user([gave("c", "abc", PICTURE), gave("d", "abc")]), 1 + IMAGE_TOKENS + 1),
    ],
)
def test_a_message_counts_its_text_its_thinking_each_call_and_each_result_and_its_images(message, tokens):
    assert count_message(message) == tokens


def test_the_tools_stand_above_the_conversation():
    tools = (Tool("find", "Finds.", {"type": "object"}), Tool("go", ""))
    asked = InboundRequest("m", (user("abcd"),), RequestOptions(tools=tools))
    assert count_prompt(asked) == PromptTokens(count_tokens('findFinds.{"type":"object"}go') + 1, 0)


def test_what_stands_before_the_last_turn_of_the_model_is_cached():
    first = (system("12345678"), user("abcd"))
    second = (assistant([ThinkingPart("abcd"), called("c", "f")]), assistant("abcd"), user([gave("c", "abcd")]))
    before = count_prompt(InboundRequest("m", first, RequestOptions()))
    after = count_prompt(InboundRequest("m", (*first, *second), RequestOptions()))
    assert (before.cached, after.cached) == (0, before.all)
    assert after.all > before.all


def test_an_answer_counts_the_same_however_it_is_cut():
    answer, cut = AnswerTokens(), AnswerTokens()
    for part in (ThinkingPart("abcde"), TextPart("abcde"), ToolCallPart("c", "f", {"x": 1}), TextPart("a")):
        answer.add(part)
    for part in (
        *map(ThinkingPart, "abcde"), ThinkingPart("", None, {"state": 1}), *map(TextPart, "abc"),
        DataPart.json({}), *map(TextPart, "de"), ToolCallPart("c", "f", {"x": 1}), TextPart("a"),
    ):  # fmt: skip
        cut.add(part)
    assert (answer.all, answer.reasoning) == (cut.all, cut.reasoning) == (2 + 2 + count_tokens('{"x":1}') + 1, 2)


def test_usage_and_price_follow_from_both():
    answer = AnswerTokens()
    answer.add(TextPart("abcd"))
    prompt = PromptTokens(1_000_000, 10)
    assert usage(prompt, answer) == Usage(1_000_000, 1, 1_000_001, 10, 0)
    assert cost(prompt, answer) == "1.000002"
