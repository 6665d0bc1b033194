"""The page of token usage in Chromium: as a file, and as VS Code shows it."""

from __future__ import annotations
from typing import TYPE_CHECKING

import pytest

from inspector.browser import axe_findings, open_file
from pages.usage_views import NOW, answer, row, view
from partstream.pages.document import Hashes, Nonces
from partstream.pages.usage import usage_html

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

    from partstream.tokens.usage import AnswerUsage, UsageView

CONVERSATION = [
    answer(inputTokens=10_000 * number, endedAt=NOW.timestamp() - 100 + number, model="<b>Claude</b>")
    for number in (1, 2, 3)
]
LEDGER = tuple(row(day, conversation=f"{day // 2}") for day in range(1, 30))


def _view(*more: AnswerUsage) -> UsageView:
    return view(*CONVERSATION, *more, rows=LEDGER)


def _webview_page(shown: UsageView) -> str:
    return usage_html(shown, NOW, Nonces("0123456789abcdef"), follows=True)


def _short_view() -> UsageView:
    """Everything that the page can show, once: axe looks at each row of a table for long."""
    return view(*CONVERSATION, rows=LEDGER[:3])


def test_the_page_is_accessible_in_light_and_dark(browser_page: Page, tmp_path: Path):
    open_file(browser_page, usage_html(_short_view(), NOW, Hashes()), tmp_path)
    browser_page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert axe_findings(browser_page) == []
    browser_page.emulate_media(color_scheme="dark")
    assert axe_findings(browser_page, "color-contrast") == []


_CUT = """(width) => [...document.querySelectorAll(".scroll, .scroll td, .scroll th, .scroll text")]
  .filter((one) => one.getClientRects().length > 0 && !one.closest("thead"))
  .filter((one) => one.getBoundingClientRect().right > width || (one.scrollWidth ?? 0) > (one.clientWidth ?? 0) + 1)
  .map((one) => one.ariaLabel ?? one.textContent)"""
"""What stands beyond the right edge of the window, or scrolls."""


@pytest.mark.parametrize("width", [320, 400])
def test_a_narrow_page_shows_plots_and_tables_whole(width: int, browser_page: Page, tmp_path: Path):
    browser_page.set_viewport_size({"width": width, "height": 640})
    open_file(browser_page, usage_html(_view(), NOW, Hashes()), tmp_path)
    browser_page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert browser_page.evaluate("document.documentElement.scrollWidth") == width
    assert browser_page.evaluate(_CUT, width) == []
    size = "(text) => Number.parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a"
    assert browser_page.locator(".tick").first.evaluate(size) > 8


def test_a_narrow_page_says_of_each_number_what_it_is_and_its_tables_stay_tables(browser_page: Page, tmp_path: Path):
    browser_page.set_viewport_size({"width": 400, "height": 640})
    open_file(browser_page, usage_html(_short_view(), NOW, Hashes()), tmp_path)
    table = browser_page.get_by_role("table", name="Days", exact=True)
    [day, *numbers] = table.get_by_role("row").nth(1).locator("th, td").all()
    assert day.inner_text() == "2026-03-04"
    said = "(cell) => getComputedStyle(cell, '::before').content"
    assert [one.evaluate(said) for one in numbers[:2]] == ['"answers "', '"input "']
    assert table.get_by_role("columnheader", name="answers").count() == 1
    assert table.get_by_role("rowheader", name="2026-03-04").count() == 1
    assert axe_findings(browser_page) == []


def test_everything_can_be_reached_with_the_keyboard(browser_page: Page, tmp_path: Path):
    open_file(browser_page, usage_html(_view(), NOW, Hashes()), tmp_path)
    reached = []
    for _ in range(12):
        browser_page.keyboard.press("Tab")
        reached.append(browser_page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.textContent"))
    assert reached[:7] == [
        *("Days", "Conversations", "Answers", "Tokens a day, plot", "Cost a day, in US dollars, plot"),
        *("Days, table", "Conversations, table"),
    ]
    summary = browser_page.locator("summary").first
    summary.focus()
    browser_page.keyboard.press("Enter")
    assert summary.locator("..").evaluate("(details) => details.open") is False


def test_a_reader_without_a_screen_hears_what_plots_and_tables_show(browser_page: Page, tmp_path: Path):
    open_file(browser_page, usage_html(_view(), NOW, Hashes()), tmp_path)
    assert browser_page.get_by_role("img", name="Tokens a day, by kind").count() == 1
    assert (
        browser_page.get_by_role("img", name="Input of each answer of the conversation with <b>Claude</b>").count() == 1
    )
    assert browser_page.get_by_role("table", name="Days", exact=True).count() == 1
    assert browser_page.get_by_role("rowheader", name="2026-02-10", exact=True).count() == 1


@pytest.mark.parametrize(
    ("theme", "background"),
    [("vscode-dark", "rgb(31, 31, 31)"), ("vscode-light", "rgb(255, 255, 255)")],
)
def test_a_webview_has_the_theme_of_vscode_whatever_the_system_prefers(
    theme: str, background: str, browser_page: Page, tmp_path: Path
):
    browser_page.emulate_media(color_scheme="light" if theme == "vscode-dark" else "dark")
    open_file(browser_page, _webview_page(_short_view()), tmp_path)
    browser_page.evaluate("(theme) => document.body.classList.add(theme)", theme)
    shown = "() => getComputedStyle(document.body).backgroundColor"
    assert browser_page.evaluate(shown) == background
    assert axe_findings(browser_page) == []
    browser_page.evaluate("document.documentElement.style.setProperty('--vscode-editor-background', '#102030')")
    assert browser_page.evaluate(shown) == "rgb(16, 32, 48)"


def test_high_contrast_tells_the_pieces_of_a_bar_apart_by_their_pattern(browser_page: Page, tmp_path: Path):
    browser_page.emulate_media(forced_colors="active")
    open_file(browser_page, usage_html(_view(), NOW, Hashes()), tmp_path)
    fills = browser_page.evaluate(
        "() => ['new', 'cached', 'output'].map((name) => getComputedStyle(document.querySelector(`rect.${name}`)).fill)"
    )
    assert len(set(fills)) == 3


def test_a_newer_page_takes_the_place_of_what_is_shown_and_the_person_stays_where_they_are(
    browser_page: Page, tmp_path: Path
):
    page = browser_page
    open_file(page, _webview_page(_view()), tmp_path)
    page.evaluate("window.ran = 0")
    details = page.locator("details")
    assert details.first.evaluate("(one) => one.open")
    details.first.locator("summary").click()
    page.locator("summary").nth(1).focus()
    page.evaluate("document.querySelector('main').marked = true")
    newer = answer(inputTokens=77_777, model="<img src=x onerror='ran++'>", endedAt=NOW.timestamp())
    page.evaluate("(html) => postMessage({ type: 'page', html }, '*')", _webview_page(_view(newer)))
    page.get_by_role("cell", name="77,777").first.wait_for(state="attached")
    assert page.get_by_role("status").inner_text() == "The page shows the answer that has just ended."
    assert page.evaluate("document.querySelector('main').marked") is None
    assert details.first.evaluate("(one) => one.open") is False
    assert page.evaluate("[...document.querySelectorAll('summary')].indexOf(document.activeElement)") == 1
    assert page.evaluate("ran") == 0


def test_another_message_changes_nothing(browser_page: Page, tmp_path: Path):
    open_file(browser_page, _webview_page(_view()), tmp_path)
    before = browser_page.content()
    for message in ({"type": "other", "html": "<main>no</main>"}, {"type": "page"}, {"type": "page", "html": "<p>no"}):
        browser_page.evaluate("(message) => postMessage(message, '*')", message)
    # Messages are read in their order: this one is read behind those.
    browser_page.evaluate("() => new Promise((done) => { addEventListener('message', done); postMessage(0, '*'); })")
    assert browser_page.content() == before
