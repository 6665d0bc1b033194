"""The page in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.browser import open_file
from inspector.handmade import view
from partstream.inspector.page import page_html
from partstream.pages.policy import Hashes

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page


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
