"""The page of the hub as a document: what its bars, plots and tables say, and that whatever a name says is text."""

from __future__ import annotations
import re
from dataclasses import replace
from datetime import UTC
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.page_views import BUDGETS, DOLLAR, KEY, NOW, PERSON, admin_view, budget, person_view, report
from pages.read_html import Document, read_html
from partstream.pages.document import Hashes, Nonces
from partstream.tokens.amounts import BudgetUnit
from partstream_hub.page import amount, content_html, file_html, frame_html, join_html, money, percents, roughly
from partstream_hub.store.values import DirectoryRecord
from partstream_hub.usage import NOTHING, Sums, UsageReport, WorkerState, added, days_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream_hub.usage import Groups, HubView

BERLIN = ZoneInfo("Europe/Berlin")
LIVE = Nonces("0123456789abcdef", connect="'self'")


def _page(view: HubView) -> Document:
    return read_html(file_html(view, UTC, Hashes()))


def _bars(view: HubView) -> list[str]:
    return re.findall(r'class="meter" role="img" aria-label="([^"]*)"', file_html(view, UTC, Hashes()))


def _table(page: Document, first: str) -> list[list[str]]:
    (found,) = [table for table in page.tables if table[0][0] == first]
    return found


def test_a_bar_says_what_is_spent_reserved_and_left():
    (bar,) = _bars(admin_view(budgets=(budget(PERSON, "ana", spent=4_310_000_000, reserved=250_000_000),)))
    assert bar == "ana: spent $4.31 (86%), reserved $0.25, left $0.44, of $5.00"


def test_a_budget_says_when_it_resets_in_its_own_time_zone():
    view = admin_view(budgets=(budget(PERSON, "ana", time_zone="Europe/Berlin", ends_at=NOW + 8 * 3600),))
    assert "resets in 8 hours: 2026-03-14 00:09 (Europe/Berlin)" in _page(view).text
    assert "never resets" in _page(admin_view(budgets=(budget(PERSON, "ana", ends_at=None),))).text


@pytest.mark.parametrize(
    ("spent", "overrun", "word"),
    [
        (3_999_999_999, 0, None),
        (4 * DOLLAR, 0, "nearly used up"),
        (5 * DOLLAR, 0, "used up"),
        (5 * DOLLAR, 1, "overrun"),
    ],
)
def test_a_budget_that_ends_soon_says_so_in_words(spent: int, overrun: int, word: str | None):
    page = file_html(admin_view(budgets=(budget(PERSON, "ana", spent=spent, overrun=overrun),)), UTC, Hashes())
    badges = re.findall(r'class="badge"><span aria-hidden="true">.</span> ([^<]*)', page)
    assert badges == ([word] if word else [])


def test_the_budgets_of_a_team_stand_together_and_its_own_first():
    heads = [bar.partition(":")[0] for bar in _bars(admin_view())]
    assert heads == ["platform", "infra-2", "infra-1", "infra-2", "research", "data-1", "data-2", "design"]
    assert _bars(admin_view())[1].startswith("infra-2: ci: spent 2M tokens (100%)")


def test_many_budgets_are_those_of_which_most_is_used():
    many = tuple(budget(PERSON, f"person-{number}", spent=number * 10**7) for number in range(400))
    page = _page(admin_view(budgets=many))
    assert len(_bars(admin_view(budgets=many))) == 300
    assert "And 100 budgets of which less is used" in page.text
    assert "person-399" in page.text
    assert "person-99 " not in page.text


def test_a_table_adds_up_to_the_whole_and_names_what_it_leaves_out():
    page = _page(admin_view())
    sessions = _table(page, "session")
    assert sessions[0] == [
        *("session", "person", "client", "answers", "input", "cached", "output", "cost", "share", "last answer")
    ]
    assert [sessions[-2][0], sessions[-1][0]] == ["4 other sessions", "all"]
    counted = [int(row[3].split()[0].replace(",", "")) for row in sessions[1:]]
    assert sum(counted[:-1]) == counted[-1] == admin_view().usage.total.answers


def test_days_without_an_answer_are_columns_and_no_rows():
    view = admin_view()
    page = file_html(view, UTC, Hashes())
    assert "2026-02-14: no answer" in page
    quiet = sum(not sums.answers for sums in view.usage.of_days)
    assert len(_table(read_html(page), "day")) == 30 - quiet + 2


def test_a_plot_in_pieces_names_the_largest_and_puts_the_others_together():
    page = file_html(admin_view(), UTC, Hashes())
    people = page.partition('<section id="people"')[2].partition("</section>")[0]
    legend = re.findall(r"</svg>([^<]*)</li>", people)
    assert legend == ["data-1", "data-2", "design", "infra-1", "infra-2", "others"]
    (first,) = re.findall(r"<title>(2026-02-12: [^<]*)</title>", people)
    parts = [money_of(one) for one in re.findall(r"\$[\d.]+", first)]
    assert sum(parts) == pytest.approx(money_of(money(admin_view().usage.of_days[0].nanodollars)), abs=0.06)


def money_of(shown: str) -> float:
    """What an amount says."""
    return float(shown.removeprefix("$"))


def test_estimates_and_what_nobody_knows_are_marked():
    sums = Sums(answers=4, input_tokens=100, output_tokens=10, nanodollars=DOLLAR, estimated=1, unpriced=1, uncounted=1)
    usage = report(1)
    usage = replace(usage, total=sums, of_days=(sums,), groups={})
    page = _page(admin_view(usage=usage))
    assert "~≥ 100" in page.text
    assert "~≥ $1.00" in page.text


def test_a_page_without_an_answer_says_so():
    usage = UsageReport(days_until(NOW, 7, UTC, "UTC"), NOTHING, (NOTHING,) * 7, {})
    page = _page(person_view(usage=usage, budgets=()))
    assert "None yet." in page.text
    assert "No budget is set." in page.text
    assert not page.tables


def test_a_person_sees_neither_others_nor_workers_nor_changes():
    page = file_html(person_view(), UTC, Hashes())
    assert re.findall(r'<section id="([a-z]+)"', page) == ["budgets", "days", "models", "clients", "sessions"]
    text = read_html(page).text
    assert not [name for name in ("infra-1", "data-1", "design", "worker-a1", "q4rsmz7uvw") if name in text]


def test_workers_and_changes_are_on_the_page_of_an_admin():
    page = _page(admin_view())
    assert [row[:2] for row in _table(page, "worker")[1:]] == [
        ["worker-a1", "● answers"], ["worker-b2", "● answers"], ["worker-c3", "○ silent"],
    ]  # fmt: skip
    assert _table(page, "when")[1][1:] == [
        "root",
        "put budget person/infra-2/money/day",
        "limit: 2000000000 → 5000000000",
    ]


# ---- whatever a name says ----

HOSTILE = st.one_of(
    st.text(max_size=80),
    st.sampled_from(
        ("<script>hacked = 1</script>", "</main></body>", '" onmouseover="x', "a\u202ecod.exe", "\x1b[2J", "x" * 80)
    ),
)


def _named(name: str) -> HubView:
    """A page that says a name wherever a name can stand."""
    usage = report(3, names=(name,))
    groups = {by: _renamed(one, name) for by, one in usage.groups.items()}
    usage = replace(usage, groups=groups)
    budgets = tuple(budget(kind, name, label=name, team=name, spent=DOLLAR) for kind in (PERSON, KEY))
    worker = WorkerState(name, NOW, NOW, is_live=True, answers=1)
    return admin_view(
        usage=usage,
        budgets=budgets,
        workers=(worker,),
        changes=(DirectoryRecord(1, NOW, name, name, None, {name: name}),),
    )


def _renamed(groups: Groups, name: str) -> Groups:
    shown = tuple(replace(one, name=name, within=tuple(name for _ in one.within)) for one in groups.shown)
    return replace(groups, shown=shown, days=tuple((name, days) for _, days in groups.days))


@given(HOSTILE)
def test_a_name_is_text_whatever_it_says(name: str):
    page = read_html(file_html(_named(name), UTC, Hashes()))
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "img", "iframe", "form", "base"}
    names = {name for _, attributes in page.elements for name in attributes}
    assert not any(name.startswith("on") or name == "style" for name in names)
    assert not any(character in page.text for character in "\u202e\u2066\x1b\u200b")


def test_a_file_runs_nothing_and_the_frames_hold_nothing_of_the_hub():
    page = file_html(admin_view(), UTC, Hashes())
    assert "<script" not in page
    assert "script-src 'none'" in page
    assert "connect-src 'none'" in page
    for frame in (frame_html(LIVE), join_html(LIVE)):
        assert frame.count("<script") == frame.count('<script nonce="0123456789abcdef">') == 1
        assert "unsafe" not in frame
        assert not [attributes for _, attributes in read_html(frame).elements if "style" in attributes]


def test_the_content_for_the_script_is_that_of_a_file_with_controls():
    content = content_html(admin_view(), BERLIN, is_live=True)
    assert re.findall(r'data-days="(\d+)" aria-pressed="(\w+)"', content) == [
        ("1", "false"), ("7", "false"), ("30", "true"), ("90", "false"),
    ]  # fmt: skip
    assert "data-days" not in file_html(admin_view(), BERLIN, Hashes())


# ---- words ----


def test_money_is_as_exact_as_a_reader_needs_it():
    amounts = (0, 1, 9_999, 10_000, 1_234_567, 9_999_999, 10_000_000, 1_234_567_890_123)
    assert [money(one) for one in amounts] == [
        *("$0.00", "< $0.00001", "< $0.00001", "$0.00001", "$0.0012", "$0.01", "$0.01", "$1,234.57")
    ]
    assert [amount(BudgetUnit.TOKENS, one) for one in (950, 999_999, 20_000_000)] == [
        *("950 tokens", "999,999 tokens", "20M tokens")
    ]


def test_a_share_is_whole_only_if_it_is_all_of_it():
    assert [
        percents([part], whole)[0] for part, whole in ((0, 9), (1, 1000), (999, 1000), (9, 9), (12, 10), (0, 0), (1, 0))
    ] == [*("0%", "< 1%", "99%", "100%", "120%", "0%", "100%")]


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        ((1, 1, 1), ["34%", "33%", "33%"]),
        ((50, 33, 16, 1), ["50%", "33%", "16%", "1%"]),
        ((1672, 1115, 557), ["50%", "33%", "17%"]),
        ((999, 1), ["99%", "1%"]),
        ((99_990, 5, 5), ["99%", "1%", "< 1%"]),
        ((1000,), ["100%"]),
    ],
)
def test_the_shares_of_a_whole_add_up_to_all_of_it(parts: tuple[int, ...], shown: list[str]):
    assert percents(parts, sum(parts)) == shown


@pytest.mark.parametrize("made", [admin_view, person_view])
def test_every_table_of_the_page_has_shares_of_100_percent(made: Callable[[], HubView]):
    page = file_html(made(), UTC, Hashes())
    tables = re.findall(r"<tbody.*?</tbody>", page, re.DOTALL)
    shares = [[int(one) for one in re.findall(r'class="percent">(\d+)%', table)] for table in tables]
    assert [sum(one) for one in shares if one] == [100] * sum(map(bool, shares))


def test_times_are_told_as_roughly_as_people_tell_them():
    assert [roughly(NOW - one, NOW) for one in (3, 60, 7_300, 200_000)] == [
        *("just now", "1 minute ago", "2 hours ago", "2 days ago")
    ]
    assert [roughly(NOW + one, NOW) for one in (3, 3_600, 86_400)] == ["in a moment", "in 1 hour", "in 1 day"]


def test_the_samples_add_up():
    for view in (admin_view(), person_view()):
        assert added(*view.usage.of_days) == view.usage.total
        for groups in view.usage.groups.values():
            assert added(groups.others, *(one.sums for one in groups.shown)) == view.usage.total
    assert len(BUDGETS) == 8
