"""The prompt cache of the replay upstream: Anthropic's rules and automatic caches.

The rules: docs/wires/anthropic-messages.md#prompt-cache.
"""

from collections.abc import Sequence
from typing import Any

import pytest

from partstream_devtools.testing.vendors.vendor import (
    Bill,
    CachedPrompt,
    CacheRule,
    PromptBlock,
    PromptCache,
    TooManyMarksError,
    block_of,
    tokens_of,
)
from rows import one_test_for

MARKED = CacheRule(1024, look_back=20, most_marks=4, write_price=1.25, read_price=0.1)
AUTOMATIC = CacheRule(4096, is_automatic=True)


def prompt(*blocks: tuple[Any, ...], rule: CacheRule = MARKED, model: str = "m") -> CachedPrompt:
    """A prompt of blocks, each with its name, its tokens, and whether it is marked."""
    return CachedPrompt(tuple(PromptBlock(name.encode(), *rest) for name, *rest in blocks), rule, model)


def step(number: int, *, marked: bool) -> CachedPrompt:
    """A request of an agent's loop: 30,000 tokens of tools and system, then 3,000 new tokens a step."""
    blocks: list[tuple[Any, ...]] = [("tools", 18_000, marked), ("system", 12_000, marked)]
    blocks += [(f"step {one}", 3_000, marked and one >= number - 1) for one in range(1, number + 1)]
    return prompt(*blocks)


def test_a_loop_of_20_steps_with_marks_costs_217_thousand_instead_of_1170_thousand():
    cache, bare = PromptCache(), PromptCache()
    with_marks = [cache.bill(step(number, marked=True)) for number in range(20)]
    without = [bare.bill(step(number, marked=False)) for number in range(20)]
    assert sum(bill.price(MARKED) for bill in without) == 1_170_000
    assert sum(bill.written * MARKED.write_price for bill in with_marks) == 108_750
    assert sum(bill.read for bill in with_marks) * MARKED.read_price == pytest.approx(108_300)
    assert sum(bill.price(MARKED) for bill in with_marks) == pytest.approx(217_050)
    assert pytest.approx(0.81, abs=0.005) == 1 - 217_050 / 1_170_000
    assert [bill.tokens for bill in with_marks] == [bill.tokens for bill in without]


# Requests to one model: each with what it costs.
Rows = Sequence[tuple[CachedPrompt, Bill]]
BILLS: dict[str, Rows] = {
    "nothing is marked": [(prompt(("a", 2000)), Bill(2000, 0, 0)), (prompt(("a", 2000, True)), Bill(0, 0, 2000))],
    "the same again": [(prompt(("a", 2000, True)), Bill(0, 0, 2000)), (prompt(("a", 2000, True)), Bill(0, 2000, 0))],
    "only up to a mark": [(prompt(("a", 2000, True), ("b", 10)), Bill(10, 0, 2000))],
    "a mark moves": [
        (prompt(("a", 2000, True)), Bill(0, 0, 2000)),
        (prompt(("a", 2000), ("b", 300, True)), Bill(0, 2000, 300)),
        (prompt(("a", 2000), ("b", 300), ("c", 1)), Bill(2301, 0, 0)),
    ],
    "too short is not kept, in silence": [
        (prompt(("a", 1023, True)), Bill(1023, 0, 0)),
        (prompt(("a", 1023, True), ("b", 1, True)), Bill(0, 0, 1024)),
        (prompt(("a", 1023, True), ("b", 1, True)), Bill(0, 1024, 0)),
    ],
    "another beginning": [
        (prompt(("a", 2000, True), ("b", 2000, True)), Bill(0, 0, 4000)),
        (prompt(("x", 2000, True), ("b", 2000, True)), Bill(0, 0, 4000)),
        (prompt(("a", 2000, True), ("x", 2000, True)), Bill(0, 2000, 2000)),
    ],
    "nothing is written between marks": [
        (prompt(("a", 2000), ("b", 2000, True)), Bill(0, 0, 4000)),
        (prompt(("a", 2000, True), ("c", 2000)), Bill(2000, 0, 2000)),
    ],
    "another model": [
        (prompt(("a", 2000, True)), Bill(0, 0, 2000)),
        (prompt(("a", 2000, True), model="other"), Bill(0, 0, 2000)),
    ],
    "without marks, where the server keeps everything": [
        (prompt(("a", 4000), ("b", 96), rule=AUTOMATIC), Bill(4096, 0, 0)),
        (prompt(("a", 4000), ("b", 96), ("c", 10), rule=AUTOMATIC), Bill(10, 4096, 0)),
        (prompt(("a", 4000), ("x", 96), rule=AUTOMATIC), Bill(4096, 0, 0)),
    ],
}


@one_test_for("rows", BILLS.values(), ids=BILLS)
def test_what_requests_cost(rows: Rows):
    cache = PromptCache()
    assert [cache.bill(asked) for asked, _ in rows] == [bill for _, bill in rows]


@pytest.mark.parametrize(("between", "read"), [(19, 2000), (20, 0)])
def test_an_earlier_beginning_is_found_within_twenty_blocks(between: int, read: int):
    cache = PromptCache()
    cache.bill(prompt(("a", 2000, True)))
    more = [(f"{number}", 1) for number in range(between - 1)]
    assert cache.bill(prompt(("a", 2000), *more, ("end", 1, True))).read == read


def test_a_mark_at_the_place_of_the_last_request_needs_no_looking_back():
    cache = PromptCache()
    cache.bill(prompt(("a", 2000, True)))
    calls = [(f"call {number}", 10) for number in range(40)]
    assert cache.bill(prompt(("a", 2000, True), *calls, ("end", 10, True))) == Bill(0, 2000, 410)


def test_five_marks_are_too_many():
    with pytest.raises(TooManyMarksError, match="a maximum of 4 blocks may be marked, found 5"):
        PromptCache().bill(prompt(*((str(number), 2000, True) for number in range(5))))


def test_a_block_knows_its_text_and_not_its_mark():
    plain, marked = {"type": "text", "text": "a"}, {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}
    block = block_of(marked, "user", ignored=["cache_control"], is_marked=True)
    assert block.digest == block_of(plain, "user").digest
    assert block.tokens == tokens_of(plain) == tokens_of("x" * len('{"type":"text","text":"a"}'))
    assert block.is_marked
    assert block.digest != block_of(plain, "assistant").digest
    assert block.digest != block_of({"text": "a", "type": "text"}, "user").digest
