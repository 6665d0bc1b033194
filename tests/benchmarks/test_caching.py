"""What the page of caching promises, in sessions that are shorter than the one it shows."""

import asyncio
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from partstream_devtools.testing.vendors import VENDORS

sys.path.append(str(Path(__file__).resolve().parents[2]))
from benchmarks.agent_session import Exchange, play_session
from benchmarks.cache_placements import PLACEMENTS
from benchmarks.caching import AUTOMATIC, MARKED, MARKED_MODELS, OURS, Row, automatic_row, placement_rows
from benchmarks.caching_page import markdown, picture

ROUNDS, FEW_ROUNDS = 7, 3


@cache
def session(protocol: str, model_id: str, rounds: int = ROUNDS) -> tuple[Exchange, ...]:
    return tuple(asyncio.run(play_session(protocol, model_id, rounds)))


@pytest.mark.parametrize("model_id", MARKED_MODELS)
def test_our_marks_save_three_quarters_and_nobody_elses_save_more(model_id: str) -> None:
    ours, none, *others = placement_rows(session(MARKED, model_id))
    assert [ours.name, none.name, *(row.name for row in others)] == [OURS, *PLACEMENTS]
    assert none.price == none.tokens == ours.tokens
    assert ours.price <= 0.25 * none.price
    assert ours.price <= min(row.price for row in others)


def test_the_usage_that_is_shown_is_what_was_billed() -> None:
    exchanges = session(MARKED, MARKED_MODELS[0])
    assert len(exchanges) == 3 * ROUNDS
    ours = placement_rows(exchanges)[0]
    details = [exchange.usage["prompt_tokens_details"] for exchange in exchanges]
    assert sum(exchange.usage["prompt_tokens"] for exchange in exchanges) == ours.tokens
    assert sum(one["cached_tokens"] for one in details) == ours.read
    assert sum(one["cache_creation_input_tokens"] for one in details) == ours.written


@pytest.mark.parametrize(("protocol", "model_id"), dict(AUTOMATIC).items())
def test_every_request_begins_with_the_one_before(protocol: str, model_id: str) -> None:
    cached = (VENDORS[protocol].cached_prompt(one.request) for one in session(protocol, model_id, FEW_ROUNDS))
    prompts = [prompt.blocks for prompt in cached if prompt is not None]
    assert len(prompts) == len(session(protocol, model_id, FEW_ROUNDS))
    for before, behind in pairwise(prompts):
        assert behind[: len(before)] == before
    row = automatic_row(protocol, model_id, session(protocol, model_id, FEW_ROUNDS))
    assert row.read > 0.75 * row.tokens


def test_the_page_has_both_tables_and_the_picture() -> None:
    rows = [Row("a & b", 10, 1000, 100, 235.0), Row("none", 1110, 0, 0, 1110.0)]
    page, drawn = markdown({"m": rows}, rows[:1], 20), picture(rows)
    assert "| a & b | 10 | 1,000 | 100 | 235 | 78.8% |" in page
    assert page.count("| a & b |") == 2
    assert "caching.svg" in page
    assert drawn.startswith("<svg ")
    assert drawn.rstrip().endswith("</svg>")
    assert "a &amp; b" in drawn
