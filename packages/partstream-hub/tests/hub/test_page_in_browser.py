"""The page of the hub in Chromium, as a file: for everybody, at any width, in any colours."""

from __future__ import annotations
from dataclasses import replace
from datetime import UTC
from typing import TYPE_CHECKING

from hub.page_views import admin_view, budget, person_view, report
from inspector.browser import axe_findings, open_file
from partstream.pages.document import Hashes
from partstream_hub.directory import OwnerKind
from partstream_hub.page import file_html
from partstream_hub.store.values import DirectoryRecord
from partstream_hub.usage import GroupBy, WorkerState

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

    from partstream_hub.usage import HubView

NAMES = ("<script>window.hacked = 1</script>", "שלום\u202etxt.exe", "x" * 80)


def _short_view() -> HubView:
    """Everything that the page can show, a few times: axe looks at each row of a table for long."""
    usage = report(7)
    groups = {by: replace(one, shown=one.shown[:3]) for by, one in usage.groups.items()}
    return admin_view(usage=replace(usage, groups=groups))


def _hostile_view() -> HubView:
    """A page on which people, teams, workers and clients have names that no check would let pass."""
    usage = report(3, names=NAMES)
    people = usage.groups[GroupBy.PERSON]
    groups = {by: replace(people, by=by) for by in (GroupBy.TEAM, GroupBy.PERSON, GroupBy.MODEL, GroupBy.CLIENT)}
    owner = OwnerKind.PERSON
    budgets = tuple(budget(owner, name, label=name, team=name, spent=10**9, reserved=10**9) for name in NAMES)
    workers = tuple(WorkerState(name, 0.0, 0.0, is_live=True, answers=1) for name in NAMES)
    changes = tuple(DirectoryRecord(1, 0.0, name, name, None, {name: name}) for name in NAMES)
    return admin_view(usage=replace(usage, groups=groups), budgets=budgets, workers=workers, changes=changes)


def test_axe_finds_nothing_wide_and_narrow_in_light_and_dark(browser_page: Page, tmp_path: Path):
    browser_page.set_viewport_size({"width": 1400, "height": 900})
    open_file(browser_page, file_html(_short_view(), UTC, Hashes()), tmp_path)
    browser_page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert axe_findings(browser_page) == []
    browser_page.emulate_media(color_scheme="dark")
    browser_page.set_viewport_size({"width": 320, "height": 900})
    assert axe_findings(browser_page, "wcag2a", "wcag2aa", "wcag22aa") == []


def test_only_plots_and_tables_scroll_at_any_width(browser_page: Page, tmp_path: Path):
    open_file(browser_page, file_html(_hostile_view(), UTC, Hashes()), tmp_path)
    for width in (320, 640, 1400):
        browser_page.set_viewport_size({"width": width, "height": 800})
        assert browser_page.evaluate("document.documentElement.scrollWidth") == width


def test_hostile_names_stay_text(browser_page: Page, tmp_path: Path):
    open_file(browser_page, file_html(_hostile_view(), UTC, Hashes()), tmp_path)
    assert browser_page.evaluate("typeof window.hacked") == "undefined"
    assert browser_page.locator("script, img, iframe, form").count() == 0
    people = browser_page.get_by_role("table", name="People", exact=True)
    assert people.get_by_role("rowheader").all_inner_texts()[:3] == [NAMES[0], "שלום\\u202etxt.exe", NAMES[2]]


def test_a_reader_without_a_screen_hears_what_bars_and_plots_show(browser_page: Page, tmp_path: Path):
    open_file(browser_page, file_html(person_view(), UTC, Hashes()), tmp_path)
    page = browser_page
    bar = "infra-2: spent $1.20 (24%), reserved $0.00, left $3.80, of $5.00"
    assert page.get_by_role("img", name=bar, exact=True).count() == 1
    assert page.get_by_role("img", name="Cost a day, by model", exact=True).count() == 1
    for name in ("Budgets", "Days", "Models", "Clients", "Sessions"):
        assert page.get_by_role("region", name=name, exact=True).count() == 1


def test_pieces_are_told_apart_without_their_colours(browser_page: Page, tmp_path: Path):
    open_file(browser_page, file_html(admin_view(), UTC, Hashes()), tmp_path)
    browser_page.emulate_media(forced_colors="active")
    fills = browser_page.evaluate(
        """() => ["series-1", "series-2", "series-3", "series-4", "series-5", "series-rest"].map(
            (name) => getComputedStyle(document.querySelector(`#people rect.${name}`)).fill)"""
    )
    assert len(set(fills)) == 6
    bar = browser_page.evaluate(
        """() => ["spent", "reserved"].map((name) => getComputedStyle(document.querySelector(`rect.${name}`)).fill)"""
    )
    assert len(set(bar)) == 2
