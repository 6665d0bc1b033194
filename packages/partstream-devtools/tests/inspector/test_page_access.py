"""The page for everybody: by keyboard alone, by name and role, without a script, at any width, in any colours."""

from __future__ import annotations
import itertools
from typing import TYPE_CHECKING

import pytest

from inspector import sample_views
from inspector.browser import axe_findings, open_file
from inspector.handmade import answer, view
from partstream.pages.document import Hashes
from partstream_devtools.inspector.page.assembly import page_html

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

    from inspector.browser import RunningBrowser

RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")


@pytest.fixture
def page(browser_page: Page, tmp_path: Path) -> Page:
    """A page that shows an answer with everything in it."""
    open_file(browser_page, page_html(view(), Hashes()), tmp_path)
    browser_page.locator("#inspector").wait_for()
    return browser_page


def close_help(page: Page) -> None:
    """Closes the help by its key; the browser says afterwards that it is closed, and only then gives the focus back."""
    page.keyboard.press("Escape")
    page.get_by_role("dialog", name="Keys").wait_for(state="hidden")


def test_axe_finds_nothing_wide_and_narrow_in_light_and_dark(page: Page):
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert axe_findings(page, *RULES) == []
    page.emulate_media(color_scheme="dark")
    assert axe_findings(page, "color-contrast") == []
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 320, "height": 900})
    assert axe_findings(page, *RULES) == []


def test_axe_finds_nothing_in_the_help_and_in_the_page_without_its_script(page: Page, running_browser: RunningBrowser):
    page.keyboard.press("?")
    assert axe_findings(page, *RULES) == []
    url = page.url
    page.keyboard.press("Escape")
    context = running_browser.browser.new_context(java_script_enabled=False)
    try:
        plain = context.new_page()
        plain.goto(url)
        for words in ("Contract broken", "The provider broke a rule", "1,200 ms", "A call is reported once",
                      "Hello, Wörld 👋", "response.vendor.extra", "partstream replay"):  # fmt: skip
            assert plain.get_by_text(words).first.is_visible(), words
        assert plain.get_by_role("main").count() == 1
    finally:
        context.close()


def test_everything_is_done_by_keyboard_alone(page: Page):
    def focus() -> str:
        return page.evaluate("(document.activeElement.id || document.activeElement.getAttribute('aria-label') || '')")

    def selected() -> int:
        return page.evaluate("inspect.state.selected")

    for keys, event in (("k", 5), ("ArrowUp", 4), ("Shift+J", 5), ("Shift+K", 4), ("j", 5), ("g", 6), ("k", 5),
                        ("n", 6), ("j", 7), ("Shift+N", 6), ("ArrowDown", 7), ("Shift+G", 6)):  # fmt: skip
        page.keyboard.press(keys)
        assert selected() == event, keys
    page.keyboard.press("n")
    assert page.locator("p[role=status]").inner_text() == "no later broken rule"
    page.keyboard.press("Enter")
    assert focus() == "detail-title"
    page.keyboard.press("b")
    assert focus() == "Bytes as hex and text"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.n") == "6"
    page.keyboard.press("Home")
    assert (selected(), page.evaluate("document.activeElement.dataset.n")) == (1, "1")
    page.keyboard.press("/")
    assert focus() == "filter"
    page.keyboard.type("jjj wörld"[4:])
    assert page.evaluate("inspect.state.shown.length") == 1
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    assert selected() == 5
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    assert "Next broken rule" in dialog.inner_text()
    close_help(page)
    assert dialog.count() == 0


def test_tab_reaches_every_control_and_one_row_of_the_list(page: Page):
    seen = page.evaluate("""() => {
        const all = [...document.querySelectorAll("button, input, summary, a[href], [tabindex='0']")];
        return all.filter((one) => one.checkVisibility() && !one.disabled && one.tabIndex === 0).length;
    }""")
    reached = set()
    page.evaluate("document.body.focus()")
    for _ in range(seen + 2):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate("""() => {
            const one = document.activeElement;
            return [...document.querySelectorAll("*")].indexOf(one);
        }""")
        )
    assert len(reached - {-1}) >= seen
    assert page.locator(".list [tabindex='0']").count() == 1


def test_keys_of_one_character_can_be_switched_off(page: Page):
    page.keyboard.press("?")
    page.get_by_label("Keys of a single character are on").uncheck()
    close_help(page)
    page.keyboard.press("j")
    assert page.evaluate("inspect.state.selected") == 6
    page.keyboard.press("ArrowDown")
    assert page.evaluate("inspect.state.selected") == 7
    page.get_by_role("button", name="Help").click()
    page.get_by_label("Keys of a single character are on").check()
    close_help(page)
    page.keyboard.press("k")
    assert page.evaluate("inspect.state.selected") == 6


def test_every_key_is_a_button_too_and_stands_in_the_help(page: Page):
    labels = page.evaluate("inspect.keys.map((key) => key.label)")
    assert len(labels) > 15
    for label in labels:
        assert page.get_by_role("button", name=label, exact=True).count() == 1, label
    page.get_by_role("button", name="Help").click()
    rows = page.get_by_role("dialog", name="Keys").locator("dd").all_inner_texts()
    assert sorted(rows) == sorted(labels)


def test_no_key_stands_for_two_things(page: Page):
    keys = page.evaluate("inspect.keys.flatMap((key) => key.key)")
    assert len(keys) == len(set(keys))


def test_panes_are_found_by_role_and_name(page: Page):
    for name in ("Answer 1", "Timeline", "Events", "Event 6", "Result", "Commands"):
        assert page.get_by_role("region", name=name, exact=True).count() == 1, name
    assert page.get_by_role("main").count() == 1
    assert page.get_by_role("search", name="Filter the events").count() == 1
    grid = page.get_by_role("grid", name="Events")
    assert grid.get_by_role("columnheader").count() == int(grid.get_attribute("aria-colcount") or 0)
    row = grid.locator("[data-n='6']")
    assert (row.get_attribute("aria-selected"), row.get_attribute("aria-rowindex")) == ("true", "7")
    assert row.get_by_role("gridcell").count() == grid.get_by_role("columnheader").count()


def test_nothing_is_cut_off_at_any_width_and_every_target_is_large_enough(page: Page):
    """640 pixels of 1280 are a zoom of 200 %."""
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for width in (320, 640, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
        small = page.evaluate("""() => [...document.querySelectorAll("button, input, summary, [role=row][tabindex]")]
            .filter((one) => one.checkVisibility())
            .map((one) => [one.outerHTML.slice(0, 100), one.getBoundingClientRect()])
            .filter(([, box]) => box.width < 23.9 || box.height < 23.9)
            .map(([html, box]) => `${html} ${box.width} x ${box.height}`)""")
        assert small == [], width


def test_panes_stand_side_by_side_where_there_is_room_and_below_each_other_where_there_is_none(page: Page):
    for width, is_beside in ((1280, True), (640, False)):
        page.set_viewport_size({"width": width, "height": 800})
        events, detail = (page.locator(name).bounding_box() for name in ("#events", "#detail"))
        assert events is not None
        assert detail is not None
        assert (detail["x"] > events["x"]) == is_beside


def test_who_prefers_less_motion_sees_none(page: Page):
    page.emulate_media(reduced_motion="reduce")
    moving = page.evaluate("""() => [...document.querySelectorAll("*")].filter((one) => {
        const style = getComputedStyle(one);
        return style.animationName !== "none" || !["0s", ""].includes(style.transitionDuration.split(",")[0])
            || style.scrollBehavior === "smooth";
    }).length""")
    assert moving == 0


def test_with_forced_colours_the_selected_row_has_a_border(page: Page):
    page.emulate_media(forced_colors="active")
    assert (
        page.evaluate("""getComputedStyle(document.querySelector('[aria-selected="true"]')).outlineStyle""") == "solid"
    )


def test_a_kind_is_told_by_its_shape_and_its_word_as_well_as_by_its_colour(page: Page):
    signs = {}
    for row in page.locator("[data-n]").all():
        kind = row.locator("[role=gridcell]").nth(3)
        sign, word = kind.inner_text().split()
        signs.setdefault(word, sign)
    assert len(set(signs.values())) == len(signs) == 7


def test_ids_are_unique_with_and_without_the_script(page: Page, tmp_path: Path):
    ids = "[...document.querySelectorAll('[id]')].map((one) => one.id)"
    found = page.evaluate(ids)
    assert len(found) == len(set(found))
    open_file(page, page_html(view(answer("1"), answer("2")), Hashes()), tmp_path)
    found = page.evaluate(ids)
    assert len(found) == len(set(found))
    dangling = page.evaluate("""[...document.querySelectorAll('[aria-labelledby]')]
        .filter((one) => !document.getElementById(one.getAttribute('aria-labelledby'))).length""")
    assert dangling == 0


def test_headings_leave_no_level_out(page: Page, tmp_path: Path):
    open_file(page, page_html(sample_views.broken(), Hashes()), tmp_path)
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map((one) => Number(one.tagName[1]))")
    assert levels[0] == 1
    assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(levels))
