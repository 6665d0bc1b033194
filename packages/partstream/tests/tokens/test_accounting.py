"""Totals of requests: what was reported of a beginning, differences of reports, and counts of the rest.

The upstream of these tests gives every text a number that no estimator could guess, so a total that is right can only
come from what was reported.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import pytest

from partstream import ChatMessage, LanguageModelChatInformation, TextPart, Tool, ToolCallPart, ToolResultPart, Usage
from partstream.tokens import CountSource
from partstream.tokens.accounting import (
    LIMIT_SECONDS,
    Correction,
    CountedItem,
    RequestEstimate,
    TokenAccounting,
    unattributed_tokens,
)
from partstream.tokens.records import CountRow

MODEL = LanguageModelChatInformation("m", "M", "made-up", "1", 100_000, 1000)
OTHER = replace(MODEL, id="n", family="another")
TOOLS = (Tool("find", "Finds things. " * 30, {"type": "object"}), Tool("run", "Runs things. " * 30))
FEWER_TOOLS = TOOLS[:1]
HIDDEN = 123
"""What the upstream puts around every request."""


def _hard(text: str) -> float:
    """How hard a tokenizer finds a text: up to half as hard or twice as hard as an estimator would think."""
    return 0.6 + hashlib.sha256(text.encode()).digest()[0] / 255


def _said(message: ChatMessage) -> str:
    return repr([(type(part).__name__, part) for part in message.content])


def _truth(messages: Sequence[ChatMessage], tools: Sequence[Tool] = TOOLS, scale: float = 1.0) -> int:
    words = [*(_said(message) for message in messages), *(tool.description for tool in tools)]
    return HIDDEN + sum(round(scale * len(text) * _hard(text) / 4) for text in words)


def _message(number: int) -> ChatMessage:
    text = f"message {number} says something of its own, {number} times over. " * 10
    return ChatMessage.user(text) if number % 2 else ChatMessage.assistant(text)


def _asks(
    accounting: TokenAccounting,
    messages: Sequence[ChatMessage],
    tools: Sequence[Tool] = TOOLS,
    model: LanguageModelChatInformation = MODEL,
    scale: float = 1.0,
) -> RequestEstimate:
    """One answer to a conversation; what was expected of it."""
    estimate = accounting.estimate_request(model, messages, tools)
    accounting.answered(estimate, Usage(input_tokens=_truth(messages, tools, scale), output_tokens=1))
    return estimate


@pytest.fixture
def messages() -> list[ChatMessage]:
    return [_message(number) for number in range(20)]


@pytest.fixture
def accounting(messages: list[ChatMessage]) -> TokenAccounting:
    """One that has answered after each message."""
    accounting = TokenAccounting("upstream")
    for length in range(1, len(messages) + 1):
        _asks(accounting, messages[:length])
    return accounting


def _off(estimate: RequestEstimate, messages: Sequence[ChatMessage], tools: Sequence[Tool] = TOOLS) -> int:
    """How many tokens a total is off."""
    return abs(estimate.total.tokens - _truth(messages, tools))


def _largest(messages: Sequence[ChatMessage]) -> float:
    """How far an estimate of one of the messages may be off: an estimator knows nothing of how hard they are."""
    return 2.5 * (max(_truth([message], ()) for message in messages) - HIDDEN)


# ---- what is known ----


def test_a_request_that_was_answered_has_the_number_that_was_reported(
    accounting: TokenAccounting, messages: list[ChatMessage]
):
    for length in range(1, len(messages) + 1):
        estimate = accounting.estimate_request(MODEL, messages[:length], TOOLS)
        assert (estimate.total.tokens, estimate.total.source) == (_truth(messages[:length]), CountSource.REPORTED)
        assert estimate.reported_messages == length


def test_only_what_is_new_is_estimated(accounting: TokenAccounting, messages: list[ChatMessage]):
    new = ChatMessage.user("And now something else entirely. " * 10)
    estimate = accounting.estimate_request(MODEL, [*messages, new], TOOLS)
    assert estimate.total.source is CountSource.ESTIMATED
    assert estimate.total.tokens == _truth(messages) + accounting.count(MODEL, new).tokens


def test_tools_and_system_are_counted_once():
    accounting = TokenAccounting("upstream")
    messages = [ChatMessage.system("You are of use. " * 500)]
    for number in range(10):
        messages.append(_message(number))
        estimate = _asks(accounting, messages)
        if number:
            assert _off(estimate, messages) <= _largest(messages[-1:])


def test_a_message_that_was_the_only_new_one_has_a_reported_count(
    accounting: TokenAccounting, messages: list[ChatMessage]
):
    for message in messages[1:]:
        count = accounting.count(MODEL, message)
        assert count.source is CountSource.REPORTED
        assert count.tokens == pytest.approx(_truth([message], ()) - HIDDEN, abs=1)


# ---- edits and deletions ----


@pytest.mark.parametrize("place", [1, 7, 18])
def test_after_an_edit_only_the_edited_message_is_estimated(
    place: int, accounting: TokenAccounting, messages: list[ChatMessage]
):
    edited = [*messages[:place], ChatMessage.user("Edited. " * 20), *messages[place + 1 :]]
    estimate = accounting.estimate_request(MODEL, edited, TOOLS)
    assert estimate.reported_messages == place
    assert [item.is_reported for item in estimate.items] == [False] + [True] * (len(messages) - place - 1)
    assert _off(estimate, edited) <= _largest(edited[place : place + 1])


@pytest.mark.parametrize("place", [1, 7, 18])
def test_after_a_deletion_nothing_is_estimated_at_all(
    place: int, accounting: TokenAccounting, messages: list[ChatMessage]
):
    shorter = [*messages[:place], *messages[place + 1 :]]
    estimate = accounting.estimate_request(MODEL, shorter, TOOLS)
    assert estimate.total.source is CountSource.REPORTED
    assert _off(estimate, shorter) <= len(messages)  # a rounding each


def test_several_messages_at_once_share_what_was_reported_of_them(messages: list[ChatMessage]):
    accounting = TokenAccounting("upstream")
    _asks(accounting, messages[:2])
    _asks(accounting, messages[:10])
    shorter = [*messages[:1], *messages[2:10]]
    estimate = accounting.estimate_request(MODEL, shorter, TOOLS)
    assert estimate.total.source is CountSource.ESTIMATED
    assert _off(estimate, shorter) <= _largest(messages)  # eight messages are as one; the first two shared with tools


def test_two_results_of_one_call_are_two_messages():
    accounting = TokenAccounting("upstream")
    call = ChatMessage.assistant([ToolCallPart("1", "find", {"what": "it"})])
    short, long = (ChatMessage.user([ToolResultPart("1", (TextPart("found " * size),))]) for size in (1, 500))
    _asks(accounting, [_message(1), call, short])
    estimate = accounting.estimate_request(MODEL, [_message(1), call, long], TOOLS)
    assert estimate.total.tokens > 400


def test_the_same_words_twice_are_two_messages(accounting: TokenAccounting, messages: list[ChatMessage]):
    twice = [*messages, messages[4], messages[4]]
    assert _off(accounting.estimate_request(MODEL, twice, TOOLS), twice) <= len(messages)


# ---- other tools, other models, other upstreams ----


def test_with_other_tools_only_their_difference_is_estimated(accounting: TokenAccounting, messages: list[ChatMessage]):
    estimate = accounting.estimate_request(MODEL, messages, FEWER_TOOLS)
    assert estimate.reported_messages == len(messages)
    assert estimate.total.source is CountSource.ESTIMATED
    assert _off(estimate, messages, FEWER_TOOLS) <= HIDDEN + sum(len(tool.description) for tool in TOOLS) / 4
    assert estimate.total.tokens < _truth(messages)
    accounting.answered(estimate, Usage(input_tokens=_truth(messages, FEWER_TOOLS)))
    for tools in (TOOLS, FEWER_TOOLS):  # both are known now
        assert accounting.estimate_request(MODEL, messages, tools).total.tokens == _truth(messages, tools)


def test_a_beginning_with_the_same_tools_goes_before_a_longer_one_with_others(messages: list[ChatMessage]):
    accounting = TokenAccounting("upstream")
    _asks(accounting, messages[:10])
    _asks(accounting, messages[:11], FEWER_TOOLS)
    estimate = accounting.estimate_request(MODEL, messages[:11], TOOLS)
    assert estimate.reported_messages == 10
    assert _off(estimate, messages[:11]) <= _largest(messages[10:11])


@pytest.mark.parametrize("scale", [1.0, 1.3])
def test_another_model_is_first_taken_to_find_hard_what_the_last_one_found_hard(
    scale: float, accounting: TokenAccounting, messages: list[ChatMessage]
):
    first = accounting.estimate_request(OTHER, messages, TOOLS)
    assert first.total.source is CountSource.ESTIMATED
    assert _off(first, messages) <= len(messages)
    accounting.answered(first, Usage(input_tokens=_truth(messages, scale=scale)))
    for place in (3, 12):  # its own factor is known by now, and each message has its share
        shorter = [*messages[:place], *messages[place + 1 :]]
        estimate = accounting.estimate_request(OTHER, shorter, TOOLS)
        assert estimate.total.tokens == pytest.approx(_truth(shorter, scale=scale), rel=0.02)


def test_what_another_model_reported_is_put_in_the_ratio_of_a_model_that_is_known(
    accounting: TokenAccounting, messages: list[ChatMessage]
):
    for number in range(5):  # other conversations, of which this model finds everything twice as hard
        _asks(accounting, [_message(1_000 + 50 * number + length) for length in range(20)], model=OTHER, scale=2.0)
    estimate = accounting.estimate_request(OTHER, messages, TOOLS)
    assert estimate.total.tokens == pytest.approx(_truth(messages, scale=2.0), rel=0.15)


def test_new_messages_that_are_little_beside_what_was_told_before_teach_no_factor():
    version = CountRow("1", 1_000, CountSource.ESTIMATED)
    known = [CountedItem.of(bytes([number]), replace(version, reported=1_000.0), Correction()) for number in range(10)]
    new = CountedItem.of(b"new", replace(version, counted=150), Correction())
    assert not unattributed_tokens(0, [*known, new], 10_400).is_telling
    assert unattributed_tokens(0, [*known[:1], new], 1_400).is_telling


def test_what_another_upstream_reported_is_never_called_reported(messages: list[ChatMessage]):
    one = TokenAccounting("one")
    _asks(one, messages)
    other = TokenAccounting("other", one._ledger)
    estimate = other.estimate_request(MODEL, messages, TOOLS)
    assert (estimate.total.source, estimate.reported_messages) == (CountSource.ESTIMATED, 0)


# ---- reports that tell of something else ----


@pytest.mark.parametrize("reported", [1, 50, 1_000_000])
def test_a_report_far_from_anything_expected_says_nothing_of_the_messages(
    reported: int, accounting: TokenAccounting, messages: list[ChatMessage]
):
    """An upstream that cleared the history, or put a prompt of its own before it."""
    new = [*messages, ChatMessage.user("And now something else entirely. " * 10)]
    factor = accounting.factor(MODEL.family)
    accounting.answered(accounting.estimate_request(MODEL, new, TOOLS), Usage(input_tokens=reported))
    assert accounting.estimate_request(MODEL, new, TOOLS).total.tokens == reported  # it said so of the whole
    assert accounting.factor(MODEL.family) == pytest.approx(factor, rel=0.1)
    assert accounting.count(MODEL, new[-1]).source is CountSource.ESTIMATED
    for place in (3, 12):
        shorter = [*messages[:place], *messages[place + 1 :]]
        assert _off(accounting.estimate_request(MODEL, shorter, TOOLS), shorter) <= len(messages)


@pytest.mark.parametrize(
    "usage", [None, Usage(), Usage(output_tokens=3), Usage(input_tokens=0), Usage(input_tokens=-1)]
)
def test_an_upstream_that_says_nothing_teaches_nothing(usage: Usage | None, messages: list[ChatMessage]):
    accounting = TokenAccounting("upstream")
    estimate = accounting.estimate_request(MODEL, messages, TOOLS)
    accounting.answered(estimate, usage)
    assert accounting.estimate_request(MODEL, messages, TOOLS) == estimate
    assert accounting.factor(MODEL.family) == 1


def test_an_overflow_teaches_the_limit_and_the_count_of_that_conversation(messages: list[ChatMessage]):
    accounting = TokenAccounting("upstream")
    accounting.overflowed(accounting.estimate_request(MODEL, messages, TOOLS), limit=900, actual=_truth(messages))
    assert accounting.learned_limits().get(MODEL.id) == 900
    assert accounting.learned_limits().get(OTHER.id) is None
    assert accounting.estimate_request(MODEL, messages, TOOLS).total.tokens == _truth(messages)


def test_a_limit_that_was_learned_holds_for_a_week(messages: list[ChatMessage]):
    now = [1_000_000.0]
    accounting = TokenAccounting("upstream", clock=lambda: now[0])
    accounting.overflowed(accounting.estimate_request(MODEL, messages, TOOLS), limit=900, actual=None)
    now[0] += LIMIT_SECONDS
    assert accounting.learned_limits().get(MODEL.id) == 900
    now[0] += 1
    assert accounting.learned_limits().get(MODEL.id) is None


def test_a_limit_is_forgotten_when_the_model_took_more(messages: list[ChatMessage]):
    accounting = TokenAccounting("upstream")
    accounting.overflowed(accounting.estimate_request(MODEL, messages, TOOLS), limit=900, actual=None)
    assert not accounting.took(MODEL, 900)
    assert not accounting.took(OTHER, 901)
    assert accounting.learned_limits().get(MODEL.id) == 900
    assert accounting.took(MODEL, 901)
    assert accounting.learned_limits().get(MODEL.id) is None
    assert not accounting.took(MODEL, 901)


def test_an_overflow_without_numbers_teaches_nothing(messages: list[ChatMessage]):
    accounting = TokenAccounting("upstream")
    estimate = accounting.estimate_request(MODEL, messages, TOOLS)
    accounting.overflowed(estimate, limit=None, actual=None)
    assert accounting.learned_limits().get(MODEL.id) is None
    assert accounting.estimate_request(MODEL, messages, TOOLS) == estimate


# ---- one object, many requests ----


def test_conversations_that_take_turns_do_not_disturb_each_other():
    accounting = TokenAccounting("upstream")
    conversations = [[_message(100 * number)] for number in range(4)]
    for turn in range(1, 12):
        asked = []
        for number, conversation in enumerate(conversations):
            conversation.append(_message(100 * number + turn))
            asked.append((accounting.estimate_request(MODEL, conversation, TOOLS), tuple(conversation)))
        for estimate, conversation in reversed(asked):  # answers come in any order
            accounting.answered(estimate, Usage(input_tokens=_truth(conversation)))
            if turn > 1:
                assert _off(estimate, conversation) <= _largest(conversation[-1:])


def test_a_request_without_messages_or_tools_is_counted():
    accounting = TokenAccounting("upstream")
    estimate = _asks(accounting, [], [])
    assert estimate.total.tokens > 0
    assert accounting.estimate_request(MODEL, [], []).total.tokens >= 0


@pytest.mark.parametrize("text", ["", "a word", "a long text " * 1_000])
def test_a_text_has_one_number_however_often_it_is_asked_for(text: str):
    accounting = TokenAccounting("upstream")
    counts = {accounting.count(MODEL, text) for _ in range(3)}
    assert len(counts) == 1
    assert counts.pop().source is CountSource.ESTIMATED
