"""The page at the address of a server, in Chromium."""

from __future__ import annotations
from typing import TYPE_CHECKING

from inspector.browser import axe_findings, open_file
from partstream.server.application import front_html

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

WIRES = (("OpenResponses", "/v1"), ("Chat Completions", "/v1"), ("Gemini", "/v1beta"))


def test_the_page_is_accessible_in_light_and_dark_and_fits_a_narrow_window(browser_page: Page, tmp_path: Path):
    models = ["<b>m</b>", *(f"vendor/a-model-with-a-long-name-{number}" for number in range(150))]
    open_file(browser_page, front_html(WIRES, models, [("/hub", "The page of the hub")]), tmp_path)
    assert axe_findings(browser_page) == []
    browser_page.emulate_media(color_scheme="dark")
    assert axe_findings(browser_page, "color-contrast") == []
    browser_page.set_viewport_size({"width": 320, "height": 640})
    assert browser_page.evaluate("document.documentElement.scrollWidth") == 320
    assert browser_page.get_by_text("<b>m</b>", exact=True).count() == 1
    assert browser_page.get_by_text("and 51 more").count() == 1


def test_the_page_shows_the_address_that_the_browser_knows(browser_page: Page, tmp_path: Path):
    open_file(browser_page, front_html(WIRES, None), tmp_path)
    address = browser_page.evaluate("location.origin + location.pathname")
    shown = browser_page.locator("dt").all_inner_texts()
    assert shown == [f"{address}/v1", f"{address}/v1beta"]
