"""Playing an answer in the page, and an answer as a test."""

from __future__ import annotations
import json
import runpy
from typing import TYPE_CHECKING

import pytest

from inspector import sample_streams as streams
from inspector.browser import open_file
from inspector.handmade import view
from inspector.sample_streams import bundle, exchange, paced
from partstream.pages.document import Hashes
from partstream_devtools.inspector.page.assembly import page_html
from partstream_devtools.inspector.view import ViewedFile, view_of

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import BrowserContext, Page

SELECTED = "inspect.state.selected"


def test_an_answer_plays_at_its_own_pace_and_ten_times_as_fast(own_page: Page, tmp_path: Path):
    page = own_page
    page.clock.install()
    open_file(page, page_html(view(), Hashes()), tmp_path)
    page.get_by_role("button", name="Play", exact=True).wait_for()
    page.evaluate("inspect.select(1, {origin: 'test'})")
    page.clock.pause_at(4_000_000_000_000)
    page.keyboard.press(" ")
    play = page.get_by_role("button", name="Play", exact=True)
    assert play.get_attribute("aria-pressed") == "true"
    # From event 1 at 120 ms: event 2 is at 180 ms, event 3 at 260 ms, event 4 at 420 ms, event 6 at 1,640 ms.
    for milliseconds, expected in ((50, 1), (20, 2), (60, 2), (20, 3)):
        page.clock.run_for(milliseconds)
        assert page.evaluate(SELECTED) == expected
    page.keyboard.press("x")
    page.clock.run_for(20)
    assert page.evaluate(SELECTED) in {4, 5}
    page.clock.run_for(100)
    assert page.evaluate(SELECTED) == 5
    page.clock.run_for(60)
    assert page.evaluate(SELECTED) == 8
    assert play.get_attribute("aria-pressed") == "false"


def test_playing_stops_where_it_is_and_goes_on_from_what_a_person_selects(own_page: Page, tmp_path: Path):
    page = own_page
    page.clock.install()
    open_file(page, page_html(view(), Hashes()), tmp_path)
    play = page.get_by_role("button", name="Play", exact=True)
    play.wait_for()
    page.evaluate("inspect.select(1, {origin: 'test'})")
    page.clock.pause_at(4_000_000_000_000)
    play.click()
    page.clock.run_for(70)
    assert page.evaluate(SELECTED) == 2
    page.evaluate("inspect.select(6, {origin: 'test'})")
    page.clock.run_for(30)
    assert page.evaluate(SELECTED) == 7
    play.click()
    page.clock.run_for(5000)
    assert page.evaluate(SELECTED) == 7


def test_an_answer_is_copied_as_a_test_that_passes(browser_context: BrowserContext, tmp_path: Path):
    browser_context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = browser_context.new_page()
    events = [
        streams.created(),
        streams.thinking('Über "quoted" \\ 字 👋'),
        streams.text(streams.HOSTILE),
        *streams.call("call_1", "read_file", json.dumps({"path": "ü", "lines": [1, None, True]})),
        streams.completed(),
    ]
    file = ViewedFile('an "answer".zip', "bundle", bundle(exchange(paced(events))))
    open_file(page, page_html(view_of([file]), Hashes()), tmp_path)
    page.get_by_role("button", name="Copy as test").click()
    page.get_by_text("copied").wait_for(state="attached")
    test = page.evaluate("navigator.clipboard.readText()")
    run_copied(test, tmp_path)
    with pytest.raises(AssertionError):
        run_copied(test.replace("read_file", "other_file", 1), tmp_path)


def run_copied(test: str, folder: Path) -> None:
    path = folder / "test_copied.py"
    path.write_text(test, encoding="utf-8")
    runpy.run_path(str(path))["test_the_recorded_answer_is_read_as_before"]()
