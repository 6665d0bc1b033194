"""Chromium for tests: one browser a worker, and a page that says whether it asked anybody for anything.

After every test the page must have sent no request elsewhere, broken no Content-Security-Policy and reported no error.
"""

from __future__ import annotations

import os
import shutil
from asyncio import events
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

# As in e2e/setup.sh, which installs one where there is none.
NAMES = (os.environ.get("CHROMIUM", "chromium"), "chromium", "chromium-browser", "google-chrome")

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
        reason = "there is no Chromium: `make setup-browser` installs it, or CHROMIUM names it"
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


@pytest.fixture
def browser_context(running_browser: RunningBrowser) -> Iterator[BrowserContext]:
    """A context of the browser that is watched; nothing in it is left of other tests."""
    running_browser.take()
    context = running_browser.browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(10_000)
    watched = Watched()
    watched.watch(context)
    try:
        yield context
    finally:
        context.close()
        running_browser.leave()
    assert not watched.offences, "\n".join(["", *watched.offences])


@pytest.fixture
def browser_page(browser_context: BrowserContext) -> Page:
    """A page of 1280 to 900 pixels. At the end of the test it must have asked nobody else for anything."""
    return browser_context.new_page()


def open_file(page: Page, html: str, folder: Path) -> None:
    """Opens a page as a person does who was sent the file."""
    path = folder / "page.html"
    path.write_text(html, encoding="utf-8")
    page.goto(path.as_uri())
