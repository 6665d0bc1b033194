"""Upstreams that go by bytes: known from others by how well bytes explain what they report."""

import gc
import weakref
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from partstream import (
    ChatMessage,
    DataPart,
    LanguageModelChatInformation,
    TextPart,
    ThinkingPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
    Usage,
)
from partstream.tokens.accounting import TokenAccounting, size_of_message, size_of_tools
from partstream.tokens.counting import MessageCounter
from partstream.tokens.ledger import Ledger
from rows import one_test_for
from tokens.ledgers import accounting_in

MODEL = LanguageModelChatInformation("m", "M", "made-up", "1", 100_000, 1000)
LOG = "2026-03-14T09:26:53.589Z INFO [worker-7] 0x7f3a9c status=200 in 13.8 ms, 48213 bytes\n"
PROSE = "Nobody who reads this sentence will find anything in it that a tokenizer would find difficult. "


def _prose(size: int) -> ChatMessage:
    return ChatMessage.user(PROSE * size)


def _by_bytes(messages: list[ChatMessage]) -> int:
    return sum((len(part.value.encode()) + 3) // 4 for one in messages for part in one.content)  # type: ignore[union-attr]


def _by_other_bytes(messages: list[ChatMessage]) -> int:
    return round(1.3 * _by_bytes(messages))


def _by_tokens(messages: list[ChatMessage]) -> int:
    return MessageCounter(MODEL.family).count_request(messages).tokens


@pytest.mark.parametrize(("rule", "expected"), [(_by_bytes, True), (_by_other_bytes, True), (_by_tokens, False)])
def test_an_upstream_that_counts_bytes_is_known_by_the_first_answers(
    rule: Callable[[list[ChatMessage]], int], expected: bool, tmp_path: Path
):
    messages = [_prose(40)]
    for number in range(5):
        with accounting_in(tmp_path) as accounting:  # also by the next process
            estimate = accounting.estimate_request(MODEL, messages)
            accounting.answered(estimate, Usage(input_tokens=rule(messages)))
        texts = (LOG.replace("7", "8"), PROSE, "def read(path):\n    return path.read_text()\n")
        messages.append(ChatMessage.user(texts[number % 3] * 20))
    with accounting_in(tmp_path) as accounting:
        correction = accounting._corrections.of(accounting._scope(MODEL.family))
        assert (correction.size_factor is not None) is expected
        new = [*messages, ChatMessage.user(LOG * 30)]  # of a kind that it has never seen
        assert accounting.estimate_request(MODEL, new).total.tokens == pytest.approx(rule(new), rel=0.02)
        text = LOG * 5
        assert accounting.count(MODEL, text).tokens == pytest.approx(rule([ChatMessage.user(text)]), rel=0.1)


def test_those_who_keep_counts_are_told_when_bytes_are_what_is_counted():
    accounting, told = TokenAccounting("u"), list[str]()
    accounting.on_did_correct(told.append)
    messages = [_prose(40), ChatMessage.user(LOG * 40)]
    accounting.answered(accounting.estimate_request(MODEL, messages), Usage(input_tokens=_by_bytes(messages)))
    assert told == [MODEL.family]


def test_those_who_keep_counts_are_told_when_many_small_steps_have_led_away_from_them():
    accounting, told, factors = TokenAccounting("u"), list[str](), [1.0]
    accounting.on_did_correct(told.append)
    for step in range(12):
        estimate = accounting.estimate_request(MODEL, [ChatMessage.user(f"{step} {PROSE * 60}")])
        uncorrected = estimate.total.tokens / accounting.factor(MODEL.family)
        accounting.answered(estimate, Usage(input_tokens=round(uncorrected * (1.0 + 0.012 * step))))
        factors.append(accounting.factor(MODEL.family))
    assert max(abs(after / before - 1) for before, after in pairwise(factors)) < 0.02
    assert 1.06 < factors[-1] < 1.09
    assert len(told) == 3  # each time that two per cent have come together


def test_those_who_keep_counts_of_another_upstream_with_the_same_ledger_are_told_as_well():
    ledger, told = Ledger(), list[tuple[str, str]]()
    one, other, stranger = (TokenAccounting(name, ledger) for name in ("one", "other", "stranger"))
    alone = TokenAccounting("alone")
    for name, accounting in (("one", one), ("other", other), ("stranger", stranger), ("alone", alone)):
        accounting.on_did_correct(lambda family, name=name: told.append((name, family)))  # type: ignore[misc]
    for accounting in (other, alone):
        accounting.count(MODEL, PROSE)
    stranger.count(replace(MODEL, family="another"), PROSE)
    messages = [_prose(40)]
    one.answered(one.estimate_request(MODEL, messages), Usage(input_tokens=2 * _by_tokens(messages)))
    assert told == [("one", MODEL.family), ("other", MODEL.family)]


def test_a_provider_that_is_gone_is_not_kept_by_the_ledger():
    ledger = Ledger()
    accounting = TokenAccounting("one", ledger)
    accounting.count(MODEL, PROSE)
    gone = weakref.ref(accounting)
    del accounting
    gc.collect()
    assert gone() is None
    assert not ledger.did_learn._listeners


SIZES = {
    "a text": (ChatMessage.user("größer"), 8),
    "a call": (ChatMessage.assistant([ToolCallPart("1", "run", {"a": 1})]), 3 + len('{"a":1}')),
    "results": (ChatMessage.user([ToolResultPart("1", (TextPart("one"), TextPart("two")))]), 6),
    "marks and thinking": (ChatMessage.assistant([ThinkingPart("long"), DataPart(b"{}", "cache_control")]), 0),
    "an image": (ChatMessage.user([TextPart("see"), DataPart(b"1", "image/png")]), None),
    "an image in a result": (ChatMessage.user([ToolResultPart("1", (DataPart(b"1", "image/png"),))]), None),
}


@one_test_for(("message", "size"), SIZES.values(), ids=SIZES)
def test_the_size_of_a_message_is_that_of_its_words(message: ChatMessage, size: int | None):
    assert size_of_message(message) == size


def test_the_size_of_tools_is_that_of_names_descriptions_and_schemas():
    assert size_of_tools([Tool("ab", "cde", {"a": 1}), Tool("f", "")]) == 2 + 3 + len('{"a":1}') + 1
