"""The page of the inspector in a browser: what a person sees and does."""

from __future__ import annotations
import json
import re
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import pytest

from inspector import sample_views
from inspector.browser import open_file
from inspector.handmade import STEPS, answer, frame, long_answer, view
from partstream.codec.text import visible
from partstream.pages.document import Hashes, Nonces
from partstream_devtools.inspector.page import assembly
from partstream_devtools.inspector.page.assembly import page_html
from partstream_devtools.inspector.view import facts_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Locator, Page

    Shown = Callable[..., Page]

NONCE = "0123456789abcdefABCDEF"


@pytest.fixture
def shown(browser_page: Page, tmp_path: Path) -> Shown:
    """Shows a view as a file."""

    def show(made: Any = None, policy: Any = None) -> Page:
        open_file(browser_page, page_html(view() if made is None else made, policy or Hashes()), tmp_path)
        browser_page.locator("#inspector").wait_for()
        return browser_page

    return show


def _rows(page: Page) -> Locator:
    return page.get_by_role("grid", name="Events").locator("[data-n]")


def _selected(page: Page) -> int | None:
    return page.evaluate("inspect.state.selected")


def test_the_head_says_the_verdict_the_outcome_whose_fault_it_is_and_the_numbers(shown: Shown):
    page = shown()
    head = page.get_by_role("region", name="Answer 1")
    for words in ("contract: 1 broken", "completed", "The provider broke a rule: a call came twice.", "1,200 ms"):
        assert words in head.inner_text()
    assert page.get_by_role("heading", level=1).inner_text() == "answer.partstream.zip"
    assert "redacted: keys, 2 places" in head.inner_text()


@pytest.mark.parametrize(("who", "is_said"), [("provider", True), ("nobody", False)])
def test_no_good_badge_stands_alone_above_an_accusation(shown: Shown, who: str, is_said: bool):
    verdict = {"kept": 23, "broken": 0, "warnings": 0, "notJudged": 1}
    made = answer(violations=[], verdict=verdict, blame={"who": who, "sentence": "It was so."})
    badges = shown(view(made)).locator(".verdict .badge").all_inner_texts()
    assert [words.strip() for words in badges] == [
        *(
            ("– completed", "– no rule of the contract broken", "✗ host got something else")
            if is_said
            else ("✓ completed", "✓ contract kept")
        )
    ]


def test_an_answer_that_broke_a_rule_has_no_good_badge(shown: Shown):
    assert shown().locator(".verdict .badge.good").count() == 0


@pytest.mark.parametrize("outcome", ["failed", "truncated", "cancelled", "incomplete"])
def test_no_badge_of_an_answer_that_ended_badly_is_good(shown: Shown, outcome: str):
    verdict = {"kept": 23, "broken": 0, "warnings": 0, "notJudged": 1}
    page = shown(view(answer(violations=[], verdict=verdict, outcome=outcome)))
    assert page.locator(".verdict .badge.good").count() == 0
    assert "no rule of the contract broken" in page.locator(".verdict").inner_text()


@pytest.mark.parametrize("made", [sample_views.refused, sample_views.without_clock, sample_views.usual])
def test_every_tile_has_a_value(shown: Shown, made: Callable[[], Any]):
    made_view = made()
    known = [one["label"] for one in made_view["answers"][0]["numbers"] if one["value"] is not None]
    assert shown(made_view).locator(".numbers dt").all_inner_texts() == known


def test_every_page_names_the_product_once_above_its_content(shown: Shown):
    page = shown()
    assert page.get_by_role("banner").inner_text() == "Partstream"
    assert page.evaluate("document.querySelector('header').nextElementSibling.id") == "inspector"


def test_the_head_says_the_same_with_and_without_the_script(shown: Shown):
    made = sample_views.broken()
    page = shown(made)
    names = page.locator("#head .facts dt").all_inner_texts()
    values = page.locator("#head .facts dd").all_inner_texts()
    assert list(zip(names, values, strict=True)) == facts_of(made["answers"][0])


def test_a_page_opens_at_the_event_at_which_the_answer_went_wrong(shown: Shown):
    page = shown()
    assert _selected(page) == 6
    detail = page.get_by_role("region", name="Event 6").inner_text()
    for words in ("tool-call.atomic", "A call is reported once", "call_1 was reported twice", "The tool runs twice.",
                  "the closing event repeats the call", "Section 4.2"):  # fmt: skip
        assert words in detail


def test_a_selected_event_is_announced(shown: Shown):
    page = shown()
    region = page.locator("p[role=status][aria-live=polite]")
    assert region.inner_text() == (
        "event 6, call, response.function_call.done, plus 1,640 ms, gap 1,200 ms, breaks tool-call.atomic"
    )
    _rows(page).nth(3).click()
    assert region.inner_text() == "event 4, text, response.output_text.delta, plus 420 ms"


def test_event_and_part_are_linked_both_ways(shown: Shown):
    page = shown()
    _rows(page).nth(4).click()
    selected = page.locator("#result .selected")
    assert selected.locator("mark").inner_text() == "Wörld 👋"
    page.get_by_role("button", name="Show in the result").click()
    assert page.evaluate("document.activeElement.textContent.trim()") == "┃ text"
    page.locator("#result").get_by_role("button", name="Event 2", exact=True).click()
    assert _selected(page) == 2
    assert page.get_by_role("region", name="Event 2").is_visible()


def test_the_bytes_of_an_event_are_marked_over_the_borders_of_reads(shown: Shown):
    page = shown()
    body = b"".join(frame(name, data) if name else b": keep-alive\n\n" for _, _, name, data, _ in STEPS)
    _rows(page).nth(4).click()
    event = page.evaluate("inspect.eventAt(5)")
    bytes_ = page.get_by_role("region", name="Bytes as hex and text")
    marked = [re.sub(r"[\s┃]", "", one) for one in bytes_.locator(".bytes-row > :nth-child(2) mark").all_inner_texts()]
    assert bytes.fromhex("".join(marked)) == body[event["from"] : event["to"]]
    assert "Wörld 👋".encode().hex() in "".join(marked)
    # The event before it ends in the read that brought this one.
    notes = bytes_.locator(".read").all_inner_texts()
    assert any("read 5 +440 ms" in note for note in notes)
    assert "┃" in bytes_.locator(".bytes-row > :nth-child(2)").all_inner_texts()[1] + bytes_.inner_text()


def test_further_bytes_are_shown_at_the_press_of_a_button(shown: Shown):
    page = shown(view(long_answer(300)))
    page.evaluate("inspect.select(150, {origin: 'test'})")
    rows = page.locator(".bytes-row")
    before = rows.count()
    page.get_by_role("button", name="Later bytes").click()
    assert rows.count() == before + 96
    page.get_by_role("button", name="Earlier bytes").click()
    assert rows.count() == before + 192


def test_the_json_of_an_event_folds_and_is_searched(shown: Shown):
    page = shown()
    _rows(page).nth(6).click()
    detail = page.locator("#detail")
    assert "deep: true" in detail.inner_text()
    page.get_by_role("button", name="Fold all", exact=True).click()
    assert not detail.locator(".json-key", has_text="deep").is_visible()
    page.get_by_label("Search", exact=True).fill("DEEP")
    assert detail.locator(".json mark", has_text="deep").is_visible()
    assert "1 place" in detail.inner_text()


def test_the_data_of_an_event_is_read_from_its_bytes(shown: Shown):
    page = shown()
    for framing, body, data in (
        ("sse", b'event: a\r\ndata: {"x":\r\ndata: 1}\r\n\r\n', ['{"x":\n1}']),
        ("sse", b'data:{"x":1}\n\n: ping\n\ndata:{"x":2}\n\n', ['{"x":1}', '{"x":2}']),
        ("jsonl", b'{"x":1}\n{"x":2}\n', ['{"x":1}', '{"x":2}']),
        ("jsonl", b'{\n "x":1\n}', ['{\n "x":1\n}']),
        ("document", b'{"x":[1]}', ['{"x":[1]}']),
    ):
        made = answer(framing + str(body))
        made.update(framing=framing, bytes=b64encode(body).decode(), reads=[[0, 0, len(body)]], violations=[], wrong=1)
        made["events"] = [{**made["events"][0], "from": 0, "to": len(body)}]
        page.evaluate("(view) => inspect.show(view)", view(made))
        assert page.evaluate("inspect.framesOf(inspect.eventAt(1)).map((one) => one.data)") == data


def test_filters_leave_the_events_that_they_name(shown: Shown):
    page = shown()
    for filters, left in (
        ({"text": "OUTPUT_TEXT"}, [4, 5]),
        ({"text": "wörld"}, [5]),
        ({"text": '"vendor":{'}, [7]),
        ({"text": "nowhere"}, []),
        ({"kinds": ["call", "usage"]}, [6, 8]),
        ({"broken": True}, [6]),
        ({"unmapped": True}, [7]),
        ({"gap": 100}, [1, 4, 6]),
        ({"text": "delta", "kinds": ["thinking"]}, [2]),
    ):
        page.evaluate("(filters) => inspect.filter({ ...inspect.NO_FILTERS, ...filters })", filters)
        rows = page.evaluate("[...document.querySelectorAll('#events [data-n]')].map((row) => Number(row.dataset.n))")
        assert rows == left
        assert f"{len(left)} of 8 events" in page.get_by_role("search").inner_text()
        assert page.get_by_text("No event passes the filters.").is_visible() == (not left)


def test_a_filter_is_a_button_with_a_count(shown: Shown):
    page = shown()
    chip = page.get_by_role("button", name="text 2")
    chip.click()
    assert chip.get_attribute("aria-pressed") == "true"
    assert _rows(page).count() == 2
    page.get_by_role("button", name="Clear filters").click()
    assert _rows(page).count() == 8
    assert page.evaluate("document.activeElement.id") == "filter"


def test_answers_of_one_view_are_chosen_by_name(shown: Shown):
    page = shown(sample_views.parallel())
    nav = page.get_by_role("navigation", name="Answers")
    buttons = nav.get_by_role("button")
    assert buttons.count() > 1
    buttons.nth(1).click()
    assert nav.locator("[aria-current=true]").count() == 1
    assert page.evaluate("inspect.state.answer === inspect.state.view.answers[1]")
    assert page.evaluate("document.activeElement === document.querySelectorAll('nav button')[1]")


def test_a_list_of_thousands_makes_the_rows_that_are_seen_and_comes_packed(
    shown: Shown, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(assembly, "_MOST_PLAIN_DATA", 100_000)
    made = view(long_answer(2500))
    assert 'type="application/gzip"' in page_html(made, Hashes())
    page = shown(made)
    grid = page.get_by_role("grid", name="Events")
    grid.wait_for()
    assert grid.get_attribute("aria-rowcount") == "2501"
    assert _rows(page).count() < 120
    _rows(page).first.focus()
    page.keyboard.press("End")
    assert _selected(page) == 2500
    assert page.evaluate("document.activeElement.getAttribute('aria-rowindex')") == "2501"
    page.keyboard.press("PageUp")
    assert 2400 < (_selected(page) or 0) < 2500
    page.get_by_label("Filter", exact=True).fill('"word 1234 "')
    assert [row.get_attribute("data-n") for row in _rows(page).all()] == ["1234"]


def test_while_an_answer_grows_what_a_person_reads_stays(shown: Shown):
    made = long_answer(300)
    page = shown(view(made))
    page.evaluate("inspect.select(20, {origin: 'test'})")
    _rows(page).nth(19).focus()
    page.evaluate("document.querySelector('#detail').dataset.seen = 'yes'")
    kept = page.evaluate_handle("document.querySelector('[data-n=\"20\"]')")
    page.evaluate("document.querySelector('#detail h2').dataset.seen = 'yes'")
    page.evaluate("(view) => inspect.show(view)", json.loads(json.dumps(view(long_answer(320)))))
    assert _selected(page) == 20
    assert _rows(page).count() == 320
    assert page.evaluate("document.activeElement.getAttribute('data-n')") == "20"
    assert page.locator("#detail h2").get_attribute("data-seen") == "yes"
    assert kept is not None
    assert page.locator("#result pre").inner_text().endswith("word 320 ")


def test_a_webview_shows_the_page_in_its_own_colours(shown: Shown):
    page = shown(policy=Nonces(NONCE, "https://*.vscode-cdn.net"))
    page.evaluate("document.documentElement.style.setProperty('--vscode-editor-background', 'rgb(1, 2, 3)')")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(1, 2, 3)"
    assert _rows(page).count() == 8


def test_a_command_is_copied(shown: Shown):
    page = shown()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy: Replay it").click()
    page.get_by_text("copied").wait_for(state="attached")
    assert page.evaluate("navigator.clipboard.readText()") == "partstream replay answer.partstream.zip"


def test_what_a_terminal_would_act_on_is_copied_as_it_is_shown(shown: Shown):
    """The name of a file that leaves the paste of a terminal and runs a command of its own."""
    text = "partstream replay 'a\x03\x1b[201~\u202e; reboot'"
    page = shown({**sample_views.usual(), "commands": [{"label": "Replay it", "text": text}]})
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy: Replay it").click()
    page.get_by_text("copied").wait_for(state="attached")
    assert page.evaluate("navigator.clipboard.readText()") == visible(text) != text


def test_every_kind_of_answer_is_shown(shown: Shown):
    for name in ("cut", "refused", "without_clock", "document", "agent"):
        made = getattr(sample_views, name)()
        page = shown(made)
        assert page.get_by_role("heading", level=1).inner_text() == visible(made["title"])
        assert made["answers"][0]["blame"]["sentence"] in page.locator("#head").inner_text()
        if made["answers"][0]["events"]:
            page.evaluate("inspect.select(inspect.state.answer.events.at(-1).n, {origin: 'test'})")
            assert page.locator("#detail h3", has_text="Bytes").count() == 1


def test_a_view_without_answers_says_so(browser_page: Page, tmp_path: Path):
    open_file(browser_page, page_html(sample_views.empty(), Hashes()), tmp_path)
    assert browser_page.get_by_text("Each answer appears here as it comes.").is_visible()


def test_a_webview_offers_to_share_and_asks_vscode_for_nothing_else(own_page: Page, tmp_path: Path):
    page = own_page
    page.add_init_script(
        "window.asked = []; window.acquireVsCodeApi = () => ({ postMessage: (one) => asked.push(one) })"
    )
    open_file(page, page_html(view(), Hashes()), tmp_path)
    page.get_by_role("button", name="Save to share…").click()
    page.keyboard.press("Shift+s")
    assert page.evaluate("asked") == [{"type": "share"}, {"type": "share"}]


def test_a_file_offers_no_sharing(shown: Shown):
    assert shown().get_by_role("button", name="Save to share…").count() == 0
