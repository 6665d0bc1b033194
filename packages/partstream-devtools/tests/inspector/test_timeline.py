"""The timeline of the page, in a browser."""

from __future__ import annotations
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from inspector.browser import open_file
from inspector.handmade import STEPS, answer, long_answer, view
from partstream.pages.document import Hashes
from partstream_devtools.inspector.page.assembly import page_html

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Locator, Page


@pytest.fixture
def shown(browser_page: Page, tmp_path: Path):
    def show(made: dict[str, Any]) -> Page:
        open_file(browser_page, page_html(made, Hashes()), tmp_path)
        browser_page.locator(".timeline .lane").first.wait_for(state="attached")
        return browser_page

    return show


def lane(page: Page, name: str, answer_id: str = "1") -> Locator:
    return page.locator(f'.timeline .lane.{name}[data-answer="{answer_id}"]')


def numbers(marks: Locator) -> list[int]:
    return [int(number) for number in marks.evaluate_all("all => all.map(one => one.dataset.event)")]


def places(marks: Locator) -> list[float]:
    """Where on the axis they stand, in pixels of the screen."""
    return marks.evaluate_all(
        "all => all.map(one => { const b = one.getBoundingClientRect(); return b.x + b.width / 2; })"
    )


def test_each_lane_shows_what_came_on_one_axis(shown):
    page = shown(view())
    assert lane(page, "reads").locator(".read").count() == 8
    assert numbers(lane(page, "events").locator(".tick")) == list(range(1, 9))
    assert numbers(lane(page, "parts").locator(".run")) == [2, 4, 6, 8]
    assert numbers(lane(page, "host").locator(".shown")) == [5, 8]
    assert lane(page, "host").locator("text").all_text_contents() == ["Shown", "simulated"]
    (event,) = places(lane(page, "events").locator('[data-event="6"].tick'))
    (part,) = places(lane(page, "parts").locator('[data-event="6"].run'))
    (read,) = places(lane(page, "reads").locator(".read").nth(5))
    assert abs(event - part) < 1.5
    assert abs(event - read) < 1.5
    events = places(lane(page, "events").locator(".tick"))
    came = [step[0] for step in STEPS]
    scale = (events[-1] - events[0]) / (came[-1] - came[0])
    expected = [events[0] + (one - came[0]) * scale for one in came]
    assert events == pytest.approx(expected, abs=2)


def test_a_kind_is_told_by_its_sign_a_broken_rule_by_a_flag_and_all_by_words(shown):
    page = shown(view())
    signs = lane(page, "events").locator(".tick").evaluate_all("all => all.map(one => one.getAttribute('d'))")
    kinds = [step[1] for step in STEPS]
    by_kind = dict(zip(kinds, signs, strict=True))
    assert len(set(by_kind.values())) == len(set(kinds))
    legend = page.get_by_role("list", name="Signs").get_by_role("listitem").all_inner_texts()
    assert sorted(text.strip() for text in legend) == sorted(set(kinds))
    assert numbers(lane(page, "events").locator(".broken")) == [6]
    picture = page.get_by_role("img", name="Timeline of Answer 1, by time")
    described = page.locator(f"#{picture.get_attribute('aria-describedby')}").inner_text()
    assert "The axis is by time." in described
    assert "Events: 1 start, 1 thinking, 1 keepalive, 2 text, 1 call, 1 unmapped, 1 usage." in described
    assert "Shown by VS Code (simulated): 2 times, first at 450 ms." in described
    assert "gap of 1.2 s before event 6" in described


def test_a_gap_is_hatched_and_labelled_and_a_stall_says_so(shown):
    page = shown(view())
    assert page.locator(".timeline .gap").count() == 1
    assert page.get_by_text("1.2 s", exact=True).count() >= 1
    stalled = answer(gaps=[{"after": 5, "before": 6, "ms": 1200.0, "stall": True}])
    page = shown(view(stalled))
    assert page.locator(".timeline .gap.stall").count() == 1
    assert page.get_by_text("stall 1.2 s", exact=True).count() == 1


def test_events_of_one_moment_are_counted(shown):
    lump = tuple((500.0, "text", "response.output_text.delta", f'{{"delta":"{n}"}}', {}) for n in range(8))
    page = shown(view(answer(steps=lump)))
    assert page.get_by_text("×8", exact=True).count() == 1


def test_a_click_selects_the_nearest_event_and_its_way_goes_through_all_lanes(shown):
    page = shown(view())
    mark = lane(page, "events").locator('[data-event="4"].tick').bounding_box()
    page.mouse.click(mark["x"] - 3, mark["y"] + 5)
    assert page.evaluate("inspect.state.selected") == 4
    assert page.locator(".timeline .selection").get_attribute("data-event") == "4"
    page.evaluate("inspect.select(4, {origin: 'test'})")
    points = page.locator(".timeline .selection .way").get_attribute("points").split()
    assert len(points) == 8
    first, last = (float(points[at].split(",")[0]) for at in (0, -1))
    assert last > first  # it is shown later than it came


def tick(page: Page, n: int) -> Locator:
    return lane(page, "events").locator(f'.tick[data-event="{n}"]')


def test_the_keyboard_zooms_and_pans_and_what_is_selected_comes_into_sight(shown):
    page = shown(view(long_answer(400)))
    page.evaluate("inspect.select(200, {origin: 'test'})")
    for key, gone, there in (
        ("+", 5, 105),
        ("w", 105, 155),  # now 100 of 400 events are seen, around the selected one
        ("d", 155, 265),
        ("a", 265, 155),
        ("-", None, 110),
        ("0", None, 400),
    ):
        page.keyboard.press(key)
        tick(page, there).wait_for(state="attached")
        if gone is not None:
            tick(page, gone).wait_for(state="detached")
        assert page.locator(".timeline .window").count() == (0 if key == "0" else 1)
    assert lane(page, "events").locator(".tick").count() == 400
    page.evaluate("inspect.select(10, {origin: 'test'})")
    for _ in range(4):
        page.keyboard.press("+")
    tick(page, 390).wait_for(state="detached")
    moments = page.locator(".timeline text[text-anchor=middle].quiet").all_text_contents()
    assert len(moments) > 3
    assert len(set(moments)) == len(moments)
    page.evaluate("inspect.select(390, {origin: 'test'})")
    tick(page, 390).wait_for(state="attached")


def test_lanes_and_pacing_are_switched_by_key_and_button(shown):
    page = shown(view())
    page.keyboard.press("4")
    lane(page, "host").wait_for(state="detached")
    button = page.get_by_role("button", name="Shown")
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    lane(page, "host").wait_for(state="attached")
    assert button.get_attribute("aria-pressed") == "true"
    (_, paced) = places(lane(page, "host").locator(".shown"))
    assert "first at 450 ms" in page.locator("#timeline-summary").inner_text()
    page.keyboard.press("p")
    page.get_by_text("first at 451 ms").wait_for()
    (_, unpaced) = places(lane(page, "host").locator(".shown"))
    assert unpaced < paced


def test_answers_of_one_time_share_the_axis_and_others_have_their_own(shown):
    made = view(answer("1"), answer("2", offset=400.0), answer("3", offset=60_000.0))
    page = shown(made)
    assert lane(page, "events", "2").locator(".tick").count() == 8
    assert lane(page, "reads", "2").count() == 0
    assert lane(page, "events", "3").count() == 0
    first = places(lane(page, "events", "1").locator(".tick"))
    second = places(lane(page, "events", "2").locator(".tick"))
    scale = (first[-1] - first[0]) / (1700 - 120)
    assert second[0] - first[0] == pytest.approx(400 * scale, abs=2)
    mark = lane(page, "events", "2").locator('[data-event="6"].tick').bounding_box()
    page.mouse.click(mark["x"] + 4, mark["y"] + 4)
    assert page.evaluate("[inspect.state.answer.id, inspect.state.selected]") == ["2", 6]
    lane(page, "reads", "2").wait_for(state="attached")
    page.evaluate("inspect.choose('3')")
    lane(page, "events", "1").wait_for(state="detached")


def without_clock() -> dict[str, Any]:
    made = answer(shown=[], shownUnpaced=[], gaps=[])
    made["events"] = [{**event, "at": None} for event in made["events"]]
    made["parts"] = [{**part, "at": None} for part in made["parts"]]
    made["runs"] = [{**run, "at": None, "until": None} for run in made["runs"]]
    made["reads"] = [[None, 0, made["reads"][-1][2]]]
    return made


def test_without_a_clock_the_axis_is_the_order_and_the_page_says_so(shown):
    page = shown(view(without_clock()))
    marks = places(lane(page, "events").locator(".tick"))
    steps = [after - before for before, after in pairwise(marks)]
    assert steps == pytest.approx([steps[0]] * 7, abs=2)
    assert page.get_by_text("because the recording has no clock").first.is_visible()
    assert "no clock" in page.get_by_role("img", name="Timeline of").get_attribute("aria-label")


def test_the_order_is_shown_on_demand_where_there_is_a_clock(shown):
    page = shown(view())
    page.keyboard.press("o")
    page.get_by_text("The axis is by order of events.").first.wait_for()
    marks = places(lane(page, "events").locator(".tick"))
    assert marks[1] - marks[0] == pytest.approx(marks[5] - marks[4], abs=2)


def test_a_long_answer_is_painted_and_says_the_same_as_text(shown):
    page = shown(view(long_answer(3000)))
    assert page.locator(".timeline canvas").is_visible()
    assert lane(page, "events").locator(".tick").count() == 0
    painted = "canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some(one => one)"
    assert page.locator(".timeline canvas").evaluate(painted)
    summary = page.locator("#timeline-summary").inner_text()
    assert "Reads: 3,000" in summary
    assert "Events: 2,970 text, 27 call, 3 unmapped." in summary
    box = page.locator(".timeline").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 75)
    assert 1300 < page.evaluate("inspect.state.selected") < 1700
    assert page.locator(".timeline .selection").count() == 1


def test_names_of_a_hostile_stream_stay_text(shown):
    made = answer(title="<img src=x onerror=alert(1)>\u202e")
    made["runs"][3]["label"] = "call </text><script>alert(1)</script>"
    page = shown(view(made, answer("2", title="</title><script>alert(2)</script>")))
    assert page.locator(".timeline script, .timeline img").count() == 0
    assert page.get_by_text("</script>").count() > 0
