"""The pages of a running hub in Chromium: who gets to see what, and where keys and codes go and do not go."""

from __future__ import annotations
import logging
import time
from typing import TYPE_CHECKING

import httpx2
import pytest

from hub.live_hub import LiveHub, live_hub
from hub.stores import settle
from inspector.browser import Watched, axe_findings
from partstream.upstream.hub import editor_link
from partstream_hub.commands_usage import one_time_link
from partstream_hub.store.values import LedgerRow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page, Route

    from inspector.browser import RunningBrowser

SEEN = "page of the hub"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveHub]:
    """One hub for all tests of this file."""
    with live_hub(tmp_path_factory.mktemp("hub")) as running:
        yield running


@pytest.fixture(scope="module")
def key(hub: LiveHub) -> str:
    """A key of a person without rights of an admin."""
    _, made = hub.administration.add_key("ana")
    until_known(hub, made.reveal())
    return made.reveal()


@pytest.fixture
def page(running_browser: RunningBrowser) -> Iterator[Page]:
    """A page that has kept nothing. Of all that it asks for, no URL may hold a key or a code.

    Chromium reports answers of status 400 and above as errors; all else that is an offence elsewhere is one here.
    """
    running_browser.take()
    context = running_browser.browser.new_context(reduced_motion="reduce")
    context.set_default_timeout(10_000)
    watched, told = Watched(), list[str]()
    watched.watch(context)
    context.on("request", lambda one: told.extend((one.url.partition("#")[0], one.headers.get("referer", ""))))
    try:
        yield context.new_page()
    finally:
        context.close()
        running_browser.leave()
    assert not [one for one in watched.take() if "the server responded with a status of 40" not in one]
    assert told
    assert not [one for one in told if "psk_" in one or "psj_" in one]


def answered(hub: LiveHub, answer_id: str, person: str, **changes: object) -> None:
    """Enters an answer into the ledger."""
    known = {
        "team": "core",
        "client": "codex",
        "input_tokens": 10,
        "output_tokens": 1,
        "nanodollars": 10**9,
        "model": "demo",
    }
    row = LedgerRow(answer_id, time.time() - 1, "k1", person, **{**known, **changes})  # type: ignore[arg-type]
    settle(hub.administration.store, "test", [row])


def opened(page: Page, hub: LiveHub, person: str) -> str:
    """Opens the page by a link; the link."""
    link = one_time_link(hub.administration, person, hub.url)
    page.goto(link)
    page.get_by_role("heading", name="Budgets").wait_for()
    return link


def test_a_link_opens_the_page_once_and_leaves_no_trace_in_the_address_or_a_log(
    page: Page, hub: LiveHub, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    answered(hub, "one", "ana")
    link = opened(page, hub, "root")
    assert page.url == f"{hub.url}/hub"
    assert page.get_by_text("All of 2 people in 1 team.").is_visible()
    assert page.get_by_role("table", name="People", exact=True).get_by_role("rowheader", name="ana").is_visible()
    page.reload()
    page.get_by_role("heading", name="Budgets").wait_for()
    page.evaluate("sessionStorage.clear()")
    page.goto("about:blank")
    page.goto(link)
    assert page.get_by_role("alert").inner_text() == "This link is used up, or too old. Make another, or give your key."
    assert "psj_" not in caplog.text
    assert "psk_" not in caplog.text


def test_a_link_works_and_leaves_the_address_where_the_page_is_open_already_and_after_a_slash(page: Page, hub: LiveHub):
    for path in ("/hub", "/hub/", "/hub?days=7"):
        page.goto(hub.url + path)
        page.get_by_label("Your key of this hub").wait_for()
        link = one_time_link(hub.administration, "ana", hub.url).replace("/hub#", f"{path}#")
        page.evaluate("(link) => { location.href = link; }", link)  # changes what follows the # alone
        page.get_by_role("heading", name="Budgets").wait_for()
        assert page.url == hub.url + path.partition("?")[0]
        page.get_by_role("button", name="Forget my key").click()


def test_a_person_sees_only_the_own_page(page: Page, hub: LiveHub):
    answered(hub, "two", "ana", session="session-of-ana")
    answered(hub, "three", "root", session="session-of-root")
    opened(page, hub, "ana")
    text = page.locator("main").inner_text()
    assert "session-of-ana" in text
    assert "session-of-root" not in text
    assert page.get_by_role("region", name="Workers and database").count() == 0
    kept = page.evaluate("Object.values(sessionStorage)")
    headers = {"authorization": f"Bearer {kept[0]}"}
    assert httpx2.get(f"{hub.url}/v1/models", headers=headers).json()["data"] == []
    me = httpx2.get(f"{hub.url}/hub/v1/me", headers=headers).json()
    assert (me["person"], me["models"], me["key"]["label"]) == ("ana", [], SEEN)


def test_a_key_that_is_typed_is_kept_nowhere(page: Page, hub: LiveHub, key: str):
    page.goto(f"{hub.url}/hub")
    field = page.get_by_label("Your key of this hub")
    assert field.get_attribute("type") == "password"
    field.fill("psk_" + "a" * 10 + "_" + "b" * 43)
    with page.expect_response("**/hub/v1/page**"):
        field.press("Enter")
    page.get_by_role("alert").wait_for()
    assert page.get_by_role("alert").inner_text() == "The hub does not know this key, or no longer."
    page.get_by_label("Your key of this hub").fill(key)
    page.get_by_role("button", name="Show").click()
    page.get_by_role("heading", name="Hub: ana").wait_for()
    assert page.evaluate("Object.values(sessionStorage).length + Object.values(localStorage).length") == 0
    assert key not in page.content()
    page.get_by_role("button", name="Forget my key").click()
    assert page.get_by_label("Your key of this hub").is_visible()
    assert page.get_by_role("heading", name="Budgets").count() == 0


def test_an_answer_to_a_forgotten_key_is_not_shown_to_the_next_reader(page: Page, hub: LiveHub, key: str):
    opened(page, hub, "root")
    late: list[Route] = []
    page.route("**/hub/v1/page?days=7**", lambda route: late.append(route), times=1)  # noqa: PLW0108 - marked
    page.get_by_role("button", name="7 days").click()
    page.wait_for_function("document.querySelector('#said').textContent === 'Reading.'")
    page.get_by_role("button", name="Forget my key").click()
    page.get_by_label("Your key of this hub").fill(key)
    page.get_by_role("button", name="Show").click()
    page.get_by_role("heading", name="Hub: ana").wait_for()
    with page.expect_response("**/hub/v1/page?days=7**"):
        late[0].continue_()
    page.evaluate("fetch('/hub').then((frame) => frame.text())")  # comes after it
    assert page.get_by_role("heading", level=1).inner_text() == "Hub: ana"


def until_known(hub: LiveHub, key: str) -> None:
    """Waits until the worker knows a key that was just made: a heartbeat, as for every change."""
    ends = time.monotonic() + 10
    with httpx2.Client(headers={"authorization": f"Bearer {key}"}) as client:
        while client.get(f"{hub.url}/hub/v1/me").status_code == 401:
            assert time.monotonic() < ends


def test_another_period_and_newer_answers_take_the_place_of_what_is_shown(page: Page, hub: LiveHub):
    opened(page, hub, "root")
    page.get_by_role("button", name="7 days").click()
    page.get_by_role("heading", name="Last 7 days").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "7 days"
    assert page.get_by_role("button", name="7 days").get_attribute("aria-pressed") == "true"
    answered(hub, "new", "ana", model="a-newer-model")
    page.get_by_role("button", name="Refresh").click()
    page.get_by_role("rowheader", name="a-newer-model").wait_for()
    assert page.get_by_role("status").inner_text() == "The page is up to date."
    assert axe_findings(page, "wcag2a", "wcag2aa", "wcag22aa") == []


def test_a_key_that_was_revoked_shows_nothing_any_more(page: Page, hub: LiveHub):
    opened(page, hub, "ana")
    keys = hub.administration.directory().keys.values()
    hub.administration.revoke([one.id for one in keys if one.label == SEEN])
    kept = page.evaluate("Object.values(sessionStorage)")[0]
    ends = time.monotonic() + 10
    while httpx2.get(f"{hub.url}/hub/v1/me", headers={"authorization": f"Bearer {kept}"}).status_code == 200:
        assert time.monotonic() < ends
    page.get_by_role("button", name="Refresh").click()
    page.get_by_label("Your key of this hub").wait_for()
    assert page.get_by_role("heading", name="Budgets").count() == 0


def test_a_page_of_another_site_keeps_no_hold_of_the_page_that_it_opens(running_browser: RunningBrowser, hub: LiveHub):
    running_browser.take()
    context = running_browser.browser.new_context()
    context.set_default_timeout(10_000)
    try:
        page = context.new_page()
        page.goto(hub.url.replace("127.0.0.1", "localhost") + "/healthz")  # another origin
        for path in ("/hub", "/hub/join"):
            with page.expect_popup() as popup:
                page.evaluate("(url) => { window.opened = window.open(url); }", hub.url + path)
            page.wait_for_function("window.opened.closed")
            popup.value.wait_for_url(hub.url + path)
            assert popup.value.evaluate("window.opener") is None
    finally:
        context.close()
        running_browser.leave()


# ---- joining ----


def test_the_page_of_a_link_to_join_gives_the_code_to_nobody_before_it_is_asked_to(page: Page, hub: LiveHub):
    code = hub.administration.invite("ana", expires_at=time.time() + 60).reveal()
    page.goto(f"{hub.url}/hub/join#{code}")
    assert page.url == f"{hub.url}/hub/join"
    button = page.get_by_role("link", name="Open in VS Code")
    assert button.get_attribute("href") == editor_link(hub.url, code)
    assert page.get_by_text(f"partstream add hub {hub.url}").is_visible()
    page.set_viewport_size({"width": 320, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    page.get_by_role("button", name="Show my key here").click()
    page.locator("#taken").wait_for()
    key = page.locator("#key").inner_text()
    assert page.get_by_role("link", name="Open in VS Code").is_hidden()
    assert page.get_by_role("status").inner_text() == "Your key is shown below. The code is used up."
    assert axe_findings(page) == []
    me = httpx2.get(f"{hub.url}/hub/v1/me", headers={"authorization": f"Bearer {key}"}).json()
    assert me["person"] == "ana"
    page.goto("about:blank")
    page.goto(f"{hub.url}/hub/join#{code}")
    page.get_by_role("button", name="Show my key here").click()
    page.get_by_role("alert").wait_for()
    assert page.get_by_role("alert").inner_text() == "This code is used up, or too old. Ask for another link."


def test_a_link_to_join_works_where_its_page_is_open_already_and_after_a_slash(page: Page, hub: LiveHub):
    for path in ("/hub/join", "/hub/join/"):
        page.goto(hub.url + path)
        page.get_by_text("There is no code in this address").wait_for()
        code = hub.administration.invite("ana", expires_at=time.time() + 60).reveal()
        page.evaluate("(link) => { location.href = link; }", f"{hub.url}{path}#{code}")
        page.get_by_role("button", name="Show my key here").click()
        page.locator("#taken").wait_for()
        assert page.url == hub.url + path


def test_without_a_code_the_page_says_what_is_missing(page: Page, hub: LiveHub):
    for fragment in ("", "#<img src=x onerror=alert(1)>", "#short"):
        page.goto("about:blank")
        page.goto(f"{hub.url}/hub/join{fragment}")
        assert page.get_by_text("There is no code in this address").is_visible()
        assert page.get_by_role("link", name="Open in VS Code").is_hidden()


# ---- without a browser ----


@pytest.mark.parametrize("path", ["/hub", "/hub/join"])
def test_a_frame_is_kept_by_nobody_framed_by_nobody_and_different_each_time(hub: LiveHub, path: str):
    first, second = (httpx2.get(hub.url + path, headers={"origin": "https://evil.example"}) for _ in range(2))
    assert first.status_code == 200
    assert first.headers["cache-control"] == "no-store"
    assert first.headers["referrer-policy"] == "no-referrer"
    assert first.headers["content-security-policy"] == "frame-ancestors 'none'"
    assert "set-cookie" not in first.headers
    assert not [name for name in first.headers if name.startswith("access-control")]
    assert first.text != second.text
    assert "ana" not in first.text


def test_the_content_needs_a_key_in_a_header(hub: LiveHub, key: str):
    url = f"{hub.url}/hub/v1/page"
    assert httpx2.get(url).status_code == 401
    assert httpx2.get(f"{url}?key={key}").status_code == 401
    assert httpx2.get(url, headers={"cookie": f"key={key}"}).status_code == 401
    good = httpx2.get(url, headers={"authorization": f"Bearer {key}"})
    assert good.status_code == 200
    assert good.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'; sandbox"


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("days=31", "days: got something else, expected one of 1, 7, 30, 90"),
        ("days=1%3BDROP", "days: got something else"),
        ("zone=../../etc/passwd", "zone: got something else, expected the name of a time zone"),
        ("zone=Nowhere/Land", "zone: got something else"),
        ("&".join(f"a{number}=1" for number in range(20)), "query: got more than 8 fields"),
    ],
)
def test_a_query_of_another_form_is_refused(hub: LiveHub, key: str, query: str, says: str):
    refused = httpx2.get(f"{hub.url}/hub/v1/page?{query}", headers={"authorization": f"Bearer {key}"})
    assert refused.status_code == 400
    assert refused.json()["error"]["message"].startswith(says)
