"""Opens the page in Chromium and measures it: the first paint, the filter, the selection, the memory of a live page."""

from __future__ import annotations
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from playwright.sync_api import sync_playwright

from inspector.browser import browser_path
from partstream.pages.document import Hashes, resource
from partstream_devtools.inspector.page.assembly import SCRIPTS, page_html, page_script

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from playwright.sync_api import Page

__all__ = ["EVENTS", "LIMITS", "live_figures", "page_figures", "script_figures"]

EVENTS: Final = 20_000
MINUTES: Final = 10
_OPENED: Final = 7
_VIEWPORT: Final = {"width": 1280, "height": 900}

LIMITS: Final[Mapping[str, float]] = {"first paint": 1000, "list and timeline": 1000, "filter": 100}
"""The most milliseconds (docs/wires/practice.md#limits-of-time-for-the-page)."""

# The moment in which the last pane is there, seen from within.
_WATCH: Final = """
new MutationObserver((_, watch) => {
  if (!document.querySelector("#result [data-block]")) return;
  watch.disconnect();
  requestAnimationFrame(() => requestAnimationFrame(() => { window.readyAt = performance.now(); }));
}).observe(document, { childList: true, subtree: true });
"""

# Each step ends when the browser has laid the page out.
_TIMED: Final = """async (steps) => {
  const taken = [];
  for (const step of steps) {
    const start = performance.now();
    if (step.select) inspect.select(step.select, { origin: "key" });
    else inspect.filter({ ...inspect.NO_FILTERS, ...step.filter });
    document.body.getBoundingClientRect();
    taken.push(performance.now() - start);
    await new Promise((done) => setTimeout(done, 0));
  }
  return taken;
}"""

_FILTERS: Final = (
    {"text": "w"},
    {"text": "w19999"},
    {"text": "nowhere"},
    {"text": "delta"},
    {"kinds": ["text"]},
    {"gap": 1},
    {"broken": True},
    {},
)

# An answer that grows by ten events a second; each minute a new one begins, and the page keeps the last five.
_LIVE: Final = """({ seconds, first }) => {
  const template = inspect.state.view;
  const pattern = template.answers[0];
  window.live ??= [];
  for (let second = first; second < first + seconds; second++) {
    const n = (second % 60) * 10 + 10;
    const answer = { ...pattern, id: `answer ${Math.floor(second / 60)}`, outcome: "running" };
    for (const name of ["events", "parts", "reads"]) answer[name] = window.whole[name].slice(0, n);
    answer.result = [{ ...window.whole.result[0], text: answer.parts.map((part) => part.text).join("") }];
    window.live = [...window.live.filter((one) => one.id !== answer.id), answer].slice(-5);
    inspect.show({ ...template, answers: window.live });
    if (second % 60 === 59) inspect.choose(answer.id);
  }
}"""


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium without a window.

    Raises:
        RuntimeError: There is none.
    """
    path = browser_path()
    if path is None:
        raise RuntimeError("there is no Chromium: `extension/e2e/setup-browser.sh` installs it")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield running
        finally:
            running.close()


def script_figures(view: Mapping[str, Any]) -> dict[str, float]:
    """How large the page is: lines and bytes of its script, and bytes of a file of 20,000 events."""
    lines = sum(len(resource("partstream_devtools.inspector.page", name).splitlines()) for name in SCRIPTS)
    return {
        "lines of script": lines,
        "bytes of script": len(page_script().encode()),
        "bytes of the file": len(page_html(view, Hashes()).encode()),
    }


def page_figures(running: Any, view: Mapping[str, Any], folder: Path) -> dict[str, float]:
    """Milliseconds for a file of many events: medians of several times that it was opened; the slowest filter."""
    path = folder / "page.html"
    path.write_text(page_html(view, Hashes()), encoding="utf-8")
    opened = []
    for _ in range(_OPENED):
        page = _new_page(running)
        page.goto(path.as_uri())
        page.wait_for_function("window.readyAt")
        paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        filters = page.evaluate(_TIMED, [{"filter": one} for one in _FILTERS])
        page.evaluate("inspect.filter({ ...inspect.NO_FILTERS })")
        selects = page.evaluate(_TIMED, [{"select": n} for n in range(100, EVENTS, 397)])
        opened.append((paint, page.evaluate("window.readyAt"), max(filters), median(selects), max(selects)))
        page.context.close()
    names = ("first paint", "list and timeline", "filter", "select", "slowest select")
    return {name: round(median(one[at] for one in opened), 1) for at, name in enumerate(names)}


def live_figures(running: Any, view: Mapping[str, Any], whole: Mapping[str, Any], folder: Path) -> list[float]:
    """Megabytes of the script's memory after each of ten minutes of live answers, on a clock of the page's own."""
    path = folder / "live.html"
    path.write_text(page_html(view, Hashes()), encoding="utf-8")
    page = _new_page(running)
    page.clock.install()
    page.goto(path.as_uri())
    page.locator("#inspector").wait_for()
    page.evaluate("(whole) => { window.whole = whole; }", whole)
    session = page.context.new_cdp_session(page)
    kept = []
    for minute in range(MINUTES):
        for half in range(2):
            page.evaluate(_LIVE, {"seconds": 30, "first": minute * 60 + half * 30})
            page.clock.run_for(30_000)
        session.send("HeapProfiler.collectGarbage")
        kept.append(round(session.send("Runtime.getHeapUsage")["usedSize"] / 1e6, 2))
    page.context.close()
    return kept


def _new_page(running: Any) -> Page:
    context = running.new_context(viewport=_VIEWPORT)
    context.add_init_script(_WATCH)
    page: Page = context.new_page()
    return page
