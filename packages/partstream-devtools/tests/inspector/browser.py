"""Chromium for tests: one browser a worker, and a page that says whether it asked anybody for anything.

After every test the page must have sent no request elsewhere, broken no Content-Security-Policy and reported no error.
"""

from __future__ import annotations
import os
import shutil
from asyncio import events
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, ViewportSize

# As in extension/e2e/setup.sh, which installs one where there is none.
NAMES = (os.environ.get("CHROMIUM", "chromium"), "chromium", "chromium-browser", "google-chrome")

USUAL_SIZE: ViewportSize = {"width": 1280, "height": 900}

# The policy is watched in the page itself, too: not every violation reaches the console.
WATCH_POLICY = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy ${event.violatedDirective} broken by ${event.blockedURI} ${event.sample}`));
"""


def browser_path() -> str | None:
    """The browser of this machine."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@dataclass(frozen=True)
class RunningBrowser:
    """The browser, and the event loop that Playwright drives it with."""

    browser: Browser
    loop: AbstractEventLoop

    def take(self) -> None:
        """Lets Playwright go on: in this thread, its loop runs."""
        events._set_running_loop(self.loop)

    def leave(self) -> None:
        """Lets other tests of this thread run loops of their own: Playwright's stays in the middle of its work."""
        events._set_running_loop(None)


@pytest.fixture(scope="session")
def running_browser() -> Iterator[RunningBrowser]:
    """Chromium without a window. Without one on this machine the tests are skipped, or fail if E2E_REQUIRED is 1."""
    path = browser_path()
    if path is None:
        reason = "there is no Chromium: `extension/e2e/setup-browser.sh` installs it, or CHROMIUM names it"
        if os.environ.get("E2E_REQUIRED"):
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    playwright = sync_playwright().start()
    browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--force-color-profile=srgb"])
    running = RunningBrowser(browser, events.get_running_loop())
    running.leave()
    yield running
    running.take()
    browser.close()
    playwright.stop()


@dataclass
class Watched:
    """What a page did that it must not do."""

    offences: list[str] = field(default_factory=list)

    def watch(self, context: BrowserContext) -> None:
        """Looks at all pages of a context from now on."""
        context.add_init_script(WATCH_POLICY)
        context.on("request", self._on_request)
        context.on("console", self._on_console)
        context.on("weberror", lambda error: self.offences.append(f"uncaught: {error.error}"))

    def take(self) -> list[str]:
        """What there was since it was last asked for."""
        taken, self.offences = self.offences, []
        return taken

    def assert_nothing(self) -> None:
        """Fails where there was anything."""
        assert not self.offences, "\n".join(["", *self.offences])

    def _on_request(self, request: Request) -> None:
        to = urlsplit(request.url)
        if to.scheme in {"data", "blob", "about"}:
            return
        if request.is_navigation_request() and request.frame.parent_frame is None:
            if to.scheme == "file" or to.hostname in {"127.0.0.1", "localhost"}:
                return  # the test itself opens a page
        elif to.scheme != "file" and urlsplit(request.frame.url)[:2] == to[:2]:
            return
        self.offences.append(f"request of {request.frame.url} to {request.url}")

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.offences.append(f"console {message.type}: {message.text}")


def _watched_context(browser: Browser) -> tuple[BrowserContext, Watched]:
    context = browser.new_context(viewport=USUAL_SIZE, reduced_motion="reduce")
    context.set_default_timeout(10_000)
    watched = Watched()
    watched.watch(context)
    return context, watched


@pytest.fixture
def browser_context(running_browser: RunningBrowser) -> Iterator[BrowserContext]:
    """A context of the browser that is watched; nothing in it is left of other tests."""
    running_browser.take()
    context, watched = _watched_context(running_browser.browser)
    try:
        yield context
    finally:
        context.close()
        running_browser.leave()
    watched.assert_nothing()


@pytest.fixture
def own_page(browser_context: BrowserContext) -> Page:
    """A page for a test that does what no navigation undoes: stops the clock, or is followed by a server."""
    return browser_context.new_page()


class SharedPage:
    """One page for test after test: a page of its own would cost each of them a process of the browser."""

    def __init__(self, running: RunningBrowser) -> None:
        self._running = running
        self._made: tuple[BrowserContext, Watched, Page] | None = None

    @contextmanager
    def lend(self) -> Iterator[Page]:
        """Gives the page, empty and as it was in the beginning. A page that could not be emptied is not given away."""
        self._running.take()
        try:
            context, watched, page = self._made or self._make()
            self._made = None
            try:
                yield page
            finally:
                self._empty(context, page)
            offences = watched.take()
            self._made = context, watched, page
        finally:
            self._running.leave()
        assert not offences, "\n".join(["", *offences])

    def close(self) -> None:
        """Closes the page; others that were left are closed with the browser."""
        if self._made is not None:
            self._running.take()
            self._made[0].close()
            self._running.leave()

    def _make(self) -> tuple[BrowserContext, Watched, Page]:
        context, watched = _watched_context(self._running.browser)
        return context, watched, context.new_page()

    @staticmethod
    def _empty(context: BrowserContext, page: Page) -> None:
        page.goto("about:blank")
        page.set_viewport_size(USUAL_SIZE)
        page.emulate_media(color_scheme="light", forced_colors="none", reduced_motion="reduce")
        context.clear_permissions()
        for other in context.pages:
            if other is not page:
                other.close()


@pytest.fixture(scope="session")
def shared_page(running_browser: RunningBrowser) -> Iterator[SharedPage]:
    """The page that tests get one after another."""
    shared = SharedPage(running_browser)
    yield shared
    shared.close()


@pytest.fixture
def browser_page(shared_page: SharedPage) -> Iterator[Page]:
    """A page of 1280 to 900 pixels. At the end of the test it must have asked no other server for anything."""
    with shared_page.lend() as page:
        yield page


def axe_findings(page: Page, *rules: str) -> list[str]:
    """What axe finds by rules or tags of rules, by all that are usual where none is given."""
    from axe_playwright_python.sync_playwright import Axe

    # Without this axe describes the elements that are as they should be, too, which takes longer than the search.
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = rules
    found = Axe().run(page, options=options).response["violations"]
    return [f"{one['id']}: {node['html'][:200]} {node['failureSummary']}" for one in found for node in one["nodes"]]


def open_file(page: Page, html: str, folder: Path) -> None:
    """Opens a page as a person does who was sent the file."""
    path = folder / "page.html"
    path.write_text(html, encoding="utf-8")
    page.goto(path.as_uri())
