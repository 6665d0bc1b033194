"""Two answers beside each other in the page."""

from __future__ import annotations
from typing import TYPE_CHECKING

import pytest

from inspector import sample_streams as streams
from inspector.browser import open_file
from inspector.sample_streams import bundle, exchange, paced
from partstream.pages.document import Hashes
from partstream_devtools.inspector.page.assembly import page_html
from partstream_devtools.inspector.view import ViewedFile, view_of

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

PATH = '{"path":"/src/main.py"}'


def events(arguments=PATH, said=("I look at ", "the file.")):
    return [
        streams.created(),
        streams.thinking("A file is asked for."),
        *map(streams.text, said),
        *streams.call("call_1", "read_file", arguments),
        streams.completed(),
    ]


@pytest.fixture
def compared(browser_page: Page, tmp_path: Path):
    def show(left, right) -> Page:
        files = [
            ViewedFile(name, "bundle", bundle(exchange(paced(reads, every=every))))
            for name, reads, every in (("left.zip", left, 20), ("right.zip", right, 50))
        ]
        open_file(browser_page, page_html(view_of(files), Hashes()), tmp_path)
        browser_page.locator("#compare").wait_for()
        return browser_page

    return show


def test_the_one_place_that_differs_is_named_and_comes_first(compared):
    page = compared(events(), events('{"path":"/src/other.py"}'))
    difference = page.locator("#compare .difference").inner_text()
    assert "1 of 3 places differ. The first: call read_file: arguments differ" in difference
    assert "other.py" in difference
    rows = page.get_by_role("region", name="What differs").get_by_role("row")
    assert rows.count() == 2  # with the names of the columns
    assert "≠ call read_file" in rows.nth(1).inner_text()
    page.get_by_text("2 equal places").click()
    equal = page.get_by_role("region", name="What is equal").locator("tbody tr")
    assert equal.count() == 2
    page.get_by_role("button", name="In order").click()
    order = page.get_by_role("region", name="All places in order").locator("tbody th").all_inner_texts()
    assert [text.split()[0] for text in order] == ["=", "=", "≠"]


def test_texts_are_compared_word_by_word_only_on_demand(compared):
    page = compared(events(), events(said=("I look into ", "the file <b>now</b>.")))
    assert page.locator("#compare ins, #compare del").count() == 0
    page.get_by_role("button", name="Compare the texts").click()
    assert page.locator("#compare del").all_inner_texts() == ["at"]
    assert page.locator("#compare ins").all_inner_texts() == ["into", " <b>now</b>"]
    page.get_by_role("button", name="Compare the texts").click()
    assert page.locator("#compare ins").count() == 0


def test_times_are_paired_bars_on_one_axis(compared):
    page = compared(events(), events('{"path":"/src/other.py"}'))
    row = page.get_by_role("region", name="What differs").locator("tbody tr")
    left, right = (row.locator(f".bars .{side}").bounding_box() for side in ("left", "right"))
    assert left["x"] < right["x"]  # the right answer came at less than half the speed
    assert left["y"] < right["y"]
    total = page.get_by_role("region", name="Numbers of both answers").get_by_role("row", name="Total")
    assert total.locator(".bars .left").bounding_box()["width"] < total.locator(".bars .right").bounding_box()["width"]


def test_a_cell_opens_its_answer_at_its_event_and_the_key_leads_here(compared):
    page = compared(events(), events('{"path":"/src/other.py"}'))
    page.keyboard.press("c")
    assert page.evaluate("document.activeElement.id") == "compare"
    row = page.get_by_role("region", name="What differs").locator("tbody tr")
    row.get_by_role("button", name="call read_file").nth(1).click()
    title, kind, selected = page.evaluate(
        "[inspect.state.answer.title, inspect.eventAt(inspect.state.selected).kind, inspect.state.selected]"
    )
    assert (title, kind) == ("right.zip", "call")
    assert selected == page.evaluate("inspect.state.answer.parts.find((part) => part.kind === 'call').event")


def test_equal_answers_are_said_to_be_equal(compared):
    page = compared(events(), events(said=("I look ", "at the ", "file.")))
    assert "Both answers have the same structure" in page.locator("#compare .difference").inner_text()
    assert page.get_by_role("region", name="What differs").count() == 0
