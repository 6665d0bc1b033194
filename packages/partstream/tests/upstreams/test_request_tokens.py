"""What the end of an answer says of its tokens, for the host, the ledger and the log."""

import asyncio
import logging
from dataclasses import replace
from decimal import Decimal

import pytest

from partstream import ChatMessage, RequestOptions
from partstream.codec.json_codec import loads
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import Usage
from partstream.tokens import accounting
from partstream.tokens.accounting import TokenAccounting
from partstream.tokens.ledger import Ledger, open_ledger
from partstream.tokens.ledger_file import LedgerFile
from partstream.upstream.model_information import Pricing
from partstream.upstream.requests import RequestTokens
from upstreams.upstreams import MODEL

EDITS = ("2 tool calls, 5,000 tokens",)
PRICING = Pricing(Decimal("0.001"), Decimal("0.002"))


def _tokens(ledger=None, pricing=None, **options):
    counting = TokenAccounting("upstream", ledger or Ledger())
    return RequestTokens(counting, MODEL, [ChatMessage.user("Hello")], RequestOptions(**options), pricing)


def _finish(usage=None, **changes):
    return replace(Finish(Outcome.COMPLETED, usage=usage), **changes)


def test_the_usage_part_holds_numbers_cost_and_what_the_upstream_took_out(caplog):
    with caplog.at_level(logging.INFO):
        part = _tokens(pricing=PRICING).answered(_finish(Usage(10, 5, 15), edits=EDITS))
    assert loads(part.data) == {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "partstream_cost": 0.02,
        "partstream_edits": ["2 tool calls, 5,000 tokens"],
    }
    assert "text took out of the conversation by itself: 2 tool calls, 5,000 tokens" in caplog.text


@pytest.mark.parametrize("usage", [None, Usage(), Usage(input_tokens=1)])
def test_without_both_numbers_there_is_no_part(usage):
    assert _tokens().answered(_finish(usage)) is None


def test_the_ledger_keeps_usage_and_cost_by_the_digest_of_the_conversation(tmp_path):
    ledger = open_ledger(tmp_path)
    for conversation in ("chat-1", "", 7):
        options = {"_conversationId": conversation}
        _tokens(ledger, PRICING, model_options=options).answered(_finish(Usage(10, 5, 15, cached_tokens=4)))
    ledger.close()
    file = LedgerFile(tmp_path / "tokens.sqlite3")
    rows = file.read("SELECT model, conversation, input, output, cached, cost FROM usage")
    file.close()
    assert [row[2:] for row in rows] == [(10, 5, 4, 0.02)] * 3
    first, *others = [conversation for _, conversation, *_ in rows]
    assert first
    assert "chat-1" not in first
    assert others == [None, None]


def test_the_log_says_what_is_expected_and_where_the_number_comes_from(caplog):
    with caplog.at_level(logging.INFO):
        _tokens().log_expected()
    (record,) = caplog.records
    assert record.levelno == logging.INFO
    assert "(estimated, factor 1.000)" in record.getMessage()


@pytest.fixture
def no_more_lessons(monkeypatch):
    monkeypatch.setattr(accounting, "_LESSONS", 0)


async def _beside(tokens, finish, *, is_needed=False):
    if is_needed:  # on a wire whose requests say how long an answer may be
        await tokens.estimate()
    tokens.estimate_beside()
    await tokens.settled()
    return tokens.answered(finish)


@pytest.mark.parametrize("is_needed", [False, True])
@pytest.mark.parametrize(("lessons", "is_taught"), [(0, False), (1, True)])
def test_an_answer_beyond_those_that_teach_is_only_kept(tmp_path, monkeypatch, lessons, is_taught, is_needed):
    monkeypatch.setattr(accounting, "_LESSONS", lessons)
    ledger = open_ledger(tmp_path)
    part = asyncio.run(_beside(_tokens(ledger), _finish(Usage(10, 5, 15)), is_needed=is_needed))
    assert loads(part.data)["prompt_tokens"] == 10
    ledger.close()
    file = LedgerFile(tmp_path / "tokens.sqlite3")
    used, totals = file.read("SELECT count(*) FROM usage"), file.read("SELECT count(*) FROM totals")
    file.close()
    assert (used, totals) == ([(1,)], [(int(is_taught),)])


@pytest.mark.usefixtures("no_more_lessons")
def test_a_request_that_may_fill_the_model_is_named_however_many_answers_there_are(caplog):
    model = replace(MODEL, max_input_tokens=1)
    tokens = RequestTokens(TokenAccounting("upstream"), model, [ChatMessage.user("Hello there")], RequestOptions())
    asyncio.run(_beside(tokens, _finish()))
    assert "sent all the same" in caplog.text


@pytest.mark.usefixtures("no_more_lessons")
def test_the_log_says_how_good_the_estimate_was_however_many_answers_there_are(caplog):
    with caplog.at_level(logging.INFO):
        asyncio.run(_beside(_tokens(), _finish(Usage(10, 5, 15))))
    assert "took 10 tokens where" in caplog.text
