"""The page of token usage: what its tables and its plots say."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.read_html import Document, read_html
from pages.usage_views import DAY, NOW, answer, row, view
from partstream.pages.document import Hashes, Nonces
from partstream.pages.usage import dollars, tokens, usage_html
from partstream.tokens.usage import UsageView

NOTHING: UsageView = {"answers": [], "conversations": [], "days": []}
CONVERSATION = [answer(inputTokens=10_000 * number, endedAt=NOW.timestamp() - 100 + number) for number in (1, 2, 3)]


def _page(shown: UsageView) -> Document:
    return read_html(usage_html(shown, NOW, Hashes()))


def _titles(page: str) -> list[str]:
    return re.findall(r"<title[^>]*>([^<]*)</title>", page)


def test_the_page_has_a_table_of_days_of_conversations_and_of_answers():
    page = _page(view(answer(), rows=(row(2),)))
    days, conversations, answers = page.tables
    today = time.strftime("%Y-%m-%d", time.localtime(NOW.timestamp() - 60))
    before = time.strftime("%Y-%m-%d", time.localtime(NOW.timestamp() - 2 * DAY))
    assert days == [
        ["day", "answers", "input", "cached", "output", "cost"],
        [today, "1", "42,100", "87%", "1,200", "$0.01"],
        [before, "1", "1,000", "60%", "20", "$0.25"],
    ]
    assert conversations[1:] == [
        ["11:59:00", "Claude Sonnet 4.5", "1", "42,100", "87%", "1,200", "$0.01"],
        ["2026-03-02 12:00", "gpt-5", "1", "1,000", "60%", "20", "$0.25"],
    ]
    assert answers == [
        ["ended", "model", "input", "of its limit", "cached", "output", "cost"],
        ["11:59:00", "Claude Sonnet 4.5", "42,100", "21%", "87%", "1,200", "$0.01"],
        ["2026-03-02 12:00", "gpt-5", "1,000", "", "60%", "20", "$0.25"],
    ]


def test_an_empty_page_says_so_and_draws_nothing():
    page = _page(NOTHING)
    assert "No answer yet. The tokens and the cost of each answer appear here" in page.text
    assert not page.tables
    assert "aria-labelledby" not in usage_html(NOTHING, NOW, Hashes())


def test_what_nobody_knows_is_no_number():
    unknown = row(0, output_tokens=None, cached_tokens=None, cost=None)
    estimated = answer(source="estimated", cost=None, cachedTokens=None)
    days, *_, answers = _page(view(estimated, answer(), rows=(unknown,))).tables
    assert days[1][1:] == ["3", "≥ ~85,200", "43%", "≥ ~2,400", "≥ $0.01"]
    assert [one[2:] for one in answers[1:]] == [
        ["1,000", "", "", "", ""],
        ["~42,100", "21%", "", "~1,200", ""],
        ["42,100", "21%", "87%", "1,200", "$0.01"],
    ]


def test_who_asked_and_what_the_server_removed_have_columns_where_there_is_any():
    removed = answer(edits=["2 tool calls, 5,000 tokens"])
    answers = _page(view(removed, rows=(row(1),), asked_by="codex")).tables[-1]
    assert answers[0] == [
        *("ended", "model", "asked by", "input", "of its limit", "cached", "output", "cost", "removed by the server")
    ]
    assert (answers[1][2], answers[1][-1], answers[2][2]) == ("", "2 tool calls, 5,000 tokens", "codex")


def test_every_bar_and_point_says_its_numbers_in_words():
    page = usage_html(view(*CONVERSATION, rows=(row(2), row(2, input_tokens=500, cached_tokens=0))), NOW, Hashes())
    titles = _titles(page)
    before = time.strftime("%Y-%m-%d", time.localtime(NOW.timestamp() - 2 * DAY))
    between = time.strftime("%Y-%m-%d", time.localtime(NOW.timestamp() - DAY))
    assert f"{before}: 900 new input, 600 cached input, 40 output" in titles
    assert f"{before}: $0.50" in titles
    assert f"{between}: no answer" in titles, "a gap shows"
    assert "answer 2: 20,000 tokens, 10% of its limit" in titles
    assert page.count('class="limit"') == 2


def test_every_plot_of_a_conversation_has_its_table_beside_it():
    page = _page(view(*CONVERSATION))
    (of_fills,) = [table for table in page.tables if table[0] == ["answer", "ended", "input", "of its limit"]]
    assert [one[2:] for one in of_fills[1:]] == [["10,000", "5%"], ["20,000", "10%"], ["30,000", "15%"]]
    assert ["open" in attributes for tag, attributes in page.elements if tag == "details"] == [True]


def test_a_piece_of_a_bar_is_as_high_as_its_number():
    page = usage_html(view(answer(inputTokens=8_000, cachedTokens=2_000, outputTokens=2_000)), NOW, Hashes())
    heights = {
        style: float(height)
        for style, height in re.findall(
            r'<rect class="(\w+)" x="[\d.]+" y="[\d.]+" width="[\d.]+" height="([\d.]+)"/>', page
        )
        if height != "10"
    }
    assert heights["new"] == pytest.approx(3 * heights["cached"], rel=0.01)
    assert heights["output"] == heights["cached"]


@given(st.text(max_size=40))
def test_the_name_of_a_model_is_text_whatever_it_says(name: str):
    hostile = f'"><script>alert(1)</script><img src=x onerror=alert(1)>{name}\u202e'
    page = read_html(usage_html(view(*[one | {"model": hostile} for one in CONVERSATION]), NOW, Hashes()))
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "img"}
    assert "\\u202e" in page.text
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)


def test_the_page_of_a_file_runs_nothing_and_that_of_a_webview_one_script():
    assert "<script" not in usage_html(NOTHING, NOW, Hashes())
    page = usage_html(NOTHING, NOW, Nonces("0123456789abcdef"), follows=True)
    assert page.count('<script nonce="0123456789abcdef">') == page.count("<script") == 1


def test_there_is_no_style_outside_the_style_element():
    page = read_html(usage_html(view(*CONVERSATION, rows=(row(2),)), NOW, Hashes()))
    assert not [attributes for _, attributes in page.elements if "style" in attributes]


def test_tokens_and_dollars_are_as_short_as_they_can_be():
    assert [tokens(one) for one in (0, 950, 1000, 42_149, 128_000, 999_949, 999_950, 1_250_000)] == [
        *("0", "950", "1K", "42.1K", "128K", "999.9K", "1M", "1.2M")
    ]
    assert [dollars(one) for one in (0, 12.345, 0.01, 0.00132, 0.000_02, 0.000_000_1)] == [
        *("$0.00", "$12.35", "$0.01", "$0.0013", "$0.00002", "< $0.00001")
    ]
