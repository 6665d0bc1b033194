"""The page in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.browser import open_file
from inspector.handmade import view
from partstream.inspector.page import page_html
from partstream.pages.policy import Hashes

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import BrowserContext, Page


def _shown(page: Page, folder: Path, shown: Any = None) -> Page:
    open_file(page, page_html(view() if shown is None else shown, Hashes()), folder)
    return page


def test_a_file_shows_its_view_and_asks_nobody(browser_page: Page, tmp_path: Path):
    page = _shown(browser_page, tmp_path)
    assert page.title() == "answer.partstream.zip - Partstream"
    assert page.evaluate("inspect.state.answer.id") == "1"
    assert page.evaluate("inspect.state.selected") == 6


def test_a_selected_event_is_announced(browser_page: Page, tmp_path: Path):
    page = _shown(browser_page, tmp_path)
    page.evaluate("inspect.select(4, {origin: 'test'})")
    assert page.get_by_role("status").inner_text() == "event 4, text, response.output_text.delta, plus 420 ms"


def test_a_webview_offers_to_share_and_asks_vscode_for_nothing_else(browser_context: BrowserContext, tmp_path: Path):
    browser_context.add_init_script(
        "window.asked = []; window.acquireVsCodeApi = () => ({ postMessage: (one) => asked.push(one) })"
    )
    page = _shown(browser_context.new_page(), tmp_path)
    page.get_by_role("button", name="Save to share…").click()
    page.keyboard.press("Shift+s")
    assert page.evaluate("asked") == [{"type": "share"}, {"type": "share"}]


def test_a_file_offers_no_sharing(browser_page: Page, tmp_path: Path):
    page = _shown(browser_page, tmp_path)
    assert page.get_by_role("button", name="Save to share…").count() == 0
