"""Whatever a stream says stays text: in the page, and in the file that is shared."""

from __future__ import annotations
import json
import zlib
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector import sample_views
from inspector.browser import open_file
from inspector.handmade import STEPS, answer, view
from partstream.codec.text import visible
from partstream.pages.document import Hashes, resource
from partstream_devtools.inspector.page.assembly import SCRIPTS, STYLES, page_html, page_script, skeleton_html

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

    from partstream.pages.document import ContentPolicy

HOSTILE = (
    "<script>window.hacked = 1</script>",
    "</script><img src=x onerror='window.hacked = 1'>",
    "<!-- <script> --><svg onload='window.hacked = 1'>",
    "javascript:window.hacked=1",
    "a\u202ecod.exe\u2066",
    "\x1b[2J\x1b]8;;https://evil.example\x07click\x1b]8;;\x07",
    "lone \ud83d half",
    "\u0000 \ufeff \U000e0041 \u200b",
    "&lt;b&gt; &amp; ${window.hacked = 1} {{constructor}}",
)


def _hostile_answer(text: str) -> dict[str, Any]:
    """An answer that says the text wherever an answer can say something."""
    data = json.dumps({"__proto__": {"polluted": text}, "constructor": text, text: [text]})
    made = answer(text, steps=tuple((at, kind, name, data, fields) for at, kind, name, _, fields in STEPS))
    for event in made["events"]:
        event.update(type=text, text=text)
    for part in [*made["parts"], *made["result"]]:
        part.update(text=text, name=text, callId=text)
    made["violations"][0].update(rule=text, promise=text, detail=text, seen=text, hints=[text], section=text, url=text)
    made["unmapped"][0]["type"] = text
    made["numbers"][0].update(label=text, text=text, definition=text)
    made.update(
        title=text, model=text, host=text, notes=[text], inner=[text], outcome=text, startedAt=text,
        blame={"who": "server", "sentence": text}, finishReason={"unified": text, "raw": text},
        error={"type": text, "message": text, "fields": [[text, text]]}, usage={"rows": [[text, 1]], "source": text},
    )  # fmt: skip
    made["request"].update(method=text, path=text, headers=[[text, text]], body=text)
    made["response"].update(reason=text, headers=[[text, text]])
    return made


def _hostile_view(text: str) -> dict[str, Any]:
    source = {"name": text, "form": text, "hasClock": True, "live": False}
    return view(_hostile_answer(text), title=text, source=source, commands=[{"label": text, "text": text}])


class _Elements(HTMLParser):
    """The elements of a document and their attributes, as HTML's own rules read them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.ids.extend(str(value) for name, value in attrs if name == "id")


def _elements(html: str) -> _Elements:
    reader = _Elements()
    reader.feed(html)
    reader.close()
    return reader


def test_hostile_content_stays_text_in_every_pane(browser_page: Page, tmp_path: Path):
    page = browser_page
    for text in HOSTILE:
        open_file(page, page_html(_hostile_view(text), Hashes()), tmp_path)
        page.locator("#inspector").wait_for()
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        for n in (1, 6, 7):
            page.evaluate(f"inspect.select({n}, {{origin: 'test'}})")
        assert page.evaluate("typeof window.hacked") == "undefined"
        assert page.evaluate("typeof {}.polluted") == "undefined"
        found = page.evaluate("""[...document.querySelectorAll("#inspector *")].filter((one) =>
            /^(script|img|iframe|object|embed|style|base|link|meta|form)$/i.test(one.tagName)
            || [...one.attributes].some(({ name, value }) =>
                /^on/i.test(name) || (name === "href" && !/^(https:|#)/.test(value)))).length""")
        assert found == 0
        assert page.get_by_role("heading", level=1).inner_text().split() == visible(text).split()
        assert visible(text).split()[0] in page.locator("#result").inner_text()


def test_what_hides_is_shown_as_the_same_escapes_as_in_every_other_place(browser_page: Page, tmp_path: Path):
    open_file(browser_page, page_html(view(), Hashes()), tmp_path)
    ranges = [(0, 0x2FF), (0x300, 0x4FF), (0x600, 0x6FF), (0x1100, 0x11FF), (0x1780, 0x18FF), (0x2000, 0x20FF),
              (0x3100, 0x31FF), (0x1BC90, 0x1BCB0), (0x1D160, 0x1D180),
              (0xFE00, 0xFFFF), (0xDFFF0, 0xE1010)]  # fmt: skip
    for first, last in ranges:
        text = "".join(f"a{chr(code)}\u0431{chr(code)}{chr(code)}\n" for code in range(first, last + 1))
        assert browser_page.evaluate("(text) => inspect.visible(text)", text) == visible(text)
    shown = browser_page.evaluate(r"inspect.visible('\ud83d x \ude00 \ud83d\ude00')")
    assert shown == visible("\ud83d x \ude00 😀")


def test_a_text_of_a_megabyte_is_cut_until_somebody_asks_for_all_of_it(browser_page: Page, tmp_path: Path):
    made = answer(steps=tuple((*step[:3], json.dumps({"text": "x" * 1_000_000}), step[4]) if n == 3 else step
                              for n, step in enumerate(STEPS)))  # fmt: skip
    made["result"][1]["text"] = made["parts"][1]["text"] = "y" * 1_000_000
    page = browser_page
    open_file(page, page_html(view(made), Hashes()), tmp_path)
    page.locator("#inspector").wait_for()
    page.evaluate("inspect.select(4, {origin: 'test'})")
    detail, result = page.locator("#detail"), page.locator("#result")
    assert len(detail.inner_text()) < 20_000
    assert len(result.inner_text()) < 40_000
    result.get_by_role("button", name="all 1,000,000 characters").click()
    assert len(result.inner_text()) > 1_000_000


def test_an_element_takes_text_alone(browser_page: Page, tmp_path: Path):
    open_file(browser_page, page_html(view(), Hashes()), tmp_path)
    for call in (
        'inspect.element("script", null, "x")',
        'inspect.element("svg:script", null, "x")',
        'inspect.element("iframe")',
        'inspect.element("p", { onclick: "x" })',
        'inspect.element("a", { href: "javascript:x" })',
        'inspect.element("a", { href: " javascript:x" })',
        'inspect.element("img", { src: "https://elsewhere.example" })',
        'inspect.element("p", { srcdoc: "x" })',
    ):
        said = browser_page.evaluate(
            f"() => {{ try {{ {call}; return 'made'; }} catch (error) {{ return error.message; }} }}"
        )
        assert said.startswith("no "), call
    assert browser_page.evaluate("inspect.element('p', null, '<b>').childNodes[0].nodeType") == 3


def test_the_scripts_make_dom_in_one_place_alone():
    for name in SCRIPTS:
        script = resource("partstream_devtools.inspector.page", name)
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function",
                     "DOMParser", "setHTML", "</script", "<!--"):  # fmt: skip
            assert word not in script, f"{name} has {word}"
        if name != "state.js":
            assert "createElement" not in script, f"{name} makes an element by itself"


def test_the_script_stays_small_enough_to_travel_with_every_file():
    script = page_script()
    assert "/**" not in script
    assert len(zlib.compress(script.encode(), 9)) < 40_000
    assert len(script) < 100_000


def test_no_style_ends_its_element():
    assert "</style" not in "".join(resource("partstream_devtools.inspector.page", name) for name in STYLES).lower()


_HARMLESS = [tag for tag, _ in _elements(skeleton_html(_hostile_view("x"))).found]


@given(st.text(), st.sampled_from(HOSTILE))
def test_no_text_of_a_stream_becomes_an_element_of_the_file(text: str, hostile: str):
    made = _elements(skeleton_html(_hostile_view(hostile + text))).found
    assert [tag for tag, _ in made] == _HARMLESS
    assert not any(name.startswith("on") for _, attributes in made for name in attributes)


@pytest.mark.parametrize("name", ["usual", "broken", "parallel", "hostile", "unmapped", "agent", "empty"])
def test_the_document_has_one_main_unique_ids_and_its_policy_first(name: str):
    policy: ContentPolicy = Hashes()
    read = _elements(page_html(getattr(sample_views, name)(), policy))
    tags = [tag for tag, _ in read.found]
    assert tags.count("main") == tags.count("h1") == tags.count("title") == 1
    assert len(read.ids) == len(set(read.ids))
    assert tags[:2] == ["html", "head"]
    first = next(place for place, tag in enumerate(tags) if tag in {"style", "script"})
    assert any(attributes.get("http-equiv") for _, attributes in read.found[:first])
    named = [attributes["aria-labelledby"] for _, attributes in read.found if "aria-labelledby" in attributes]
    assert set(named) <= set(read.ids)
