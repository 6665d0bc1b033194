"""The contents of a usage part."""

import asyncio

import pytest

from partstream import (
    ChatMessage,
    DataPart,
    LanguageModelChatInformation,
    RequestOptions,
    TextPart,
    ThinkingPart,
    Tool,
    ToolCallPart,
)
from partstream.codec.json_codec import loads
from partstream.lm.parts import COST_KEY, EDITS_KEY, Usage, usage_part
from partstream.tokens import CountSource, MessageCounter, TokenCount
from partstream.tokens.counting import counted_usage
from partstream.vscode.hosted import UsageWatch, answer_usage, conversation_of

MODEL = LanguageModelChatInformation("m", "Model", "f", "1", 1000, 100)


class _Sink:
    def report(self, part):
        pass

    async def drain(self):
        pass


def test_an_answer_is_counted_as_the_message_that_it_becomes():
    watch = UsageWatch(_Sink())
    parts = [TextPart(letter) for letter in "A sentence that comes letter by letter, "]
    parts += [TextPart("and its end.")]
    parts += [ThinkingPart("One "), ThinkingPart("thought."), ThinkingPart("", metadata={"encrypted": "x" * 4000})]
    parts += [ToolCallPart("1", "search", {"query": "lamps"}), DataPart(b"{}", "stateful_marker")]
    for part in parts:
        watch.report(part)
    whole = [
        TextPart("A sentence that comes letter by letter, and its end."),
        ThinkingPart("", metadata={"encrypted": "x" * 4000}),
        ThinkingPart("One thought."),
        *parts[-2:],
    ]
    assert watch.answer() == ChatMessage.assistant(whole)
    assert watch.usage is None
    assert watch.length == 1


def test_of_a_long_answer_only_the_beginning_is_kept_and_the_rest_is_taken_to_be_like_it():
    watch = UsageWatch(_Sink())
    for _ in range(10_000):
        watch.report(TextPart("nine words that say the same again and again. "))
    (kept,) = watch.answer().content
    assert 30_000 < len(kept.value) < 40_000
    assert len(kept.value) * watch.length == 10_000 * 46


def test_a_counted_usage_holds_messages_tools_and_the_answer():
    options = RequestOptions(tools=(Tool("t", "d", {"type": "object"}),))
    counts = [(10, CountSource.COUNTED), (5, CountSource.REPORTED), (7, CountSource.COUNTED)]
    around = MessageCounter(MODEL.family).count_request((), options.tools).tokens
    counting = counted_usage([TokenCount(*one) for one in counts], 2.0, MODEL.family, options.tools)
    assert asyncio.run(counting) == Usage(15 + around, 14, 29 + around)


def test_a_usage_part_is_read_back_with_what_is_our_own_in_it():
    part = usage_part(Usage(100, 10, cached_tokens=40), 0.25, ["2 tool calls, 50 tokens"])
    assert answer_usage(loads(part.data), MODEL, 7.0) == {
        "model": "Model",
        "endedAt": 7.0,
        "inputTokens": 100,
        "outputTokens": 10,
        "cachedTokens": 40,
        "cost": 0.25,
        "source": "reported",
        "maxInputTokens": 1000,
        "edits": ["2 tool calls, 50 tokens"],
    }


def test_what_a_provider_leaves_out_stays_unknown():
    answer = answer_usage({"prompt_tokens": 1, "completion_tokens": 0, "total_tokens": 1}, MODEL, 0)
    assert (answer["cachedTokens"], answer["cost"], answer["edits"]) == (None, None, [])


@pytest.mark.parametrize("usage", [{}, {"prompt_tokens": 1}, {"prompt_tokens": "1", "completion_tokens": 2}])
def test_half_a_usage_is_none(usage):
    assert answer_usage(usage, MODEL, 0) is None


@pytest.mark.parametrize("number", [float("inf"), float("nan"), -1, 2**63, 10**400, True, "1"], ids=range(7))
def test_numbers_of_a_providers_own_usage_part_that_cannot_be_are_unknown(number):
    details = {"cached_tokens": number}
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "prompt_tokens_details": details, COST_KEY: number}
    answer = answer_usage(usage, MODEL, 0)
    assert (answer["cachedTokens"], answer["cost"]) == (None, None)
    assert answer_usage({**usage, "prompt_tokens": number}, MODEL, 0) is None


def test_only_a_few_short_cuts_of_an_answer_are_kept():
    usage = {"prompt_tokens": 1, "completion_tokens": 2, EDITS_KEY: ["x" * 10_000] * 10_000}
    assert answer_usage(usage, MODEL, 0)["edits"] == ["x" * 500] * 20


def test_a_request_belongs_to_the_conversation_that_the_host_names_or_to_its_extension():
    def key(**options):
        return conversation_of(RequestOptions(**options))

    copilot = "GitHub.copilot-chat"
    assert key(request_initiator=copilot) is None
    assert key() is None
    named = key(request_initiator=copilot, model_options={"_conversationId": "c-1"})
    assert named == key(model_options={"_conversationId": "c-1"})
    assert len({named, key(request_initiator="a.b"), key(request_initiator="c.d"), None}) == 4
