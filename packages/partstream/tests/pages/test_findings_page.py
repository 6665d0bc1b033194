"""What was found, as a page and as a text: signs and words say the same, and nothing in it is markup."""

from __future__ import annotations
import re
from typing import TYPE_CHECKING

import pytest

from inspector.browser import axe_findings, open_file
from partstream.config.examination import CheckStatus, Finding
from partstream.pages.document import Hashes
from partstream.vscode.examining import findings_html, findings_text

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page


FINE = Finding("key", CheckStatus.FINE, "set")
WARNING = Finding("base URL", CheckStatus.WARNING, "unencrypted", "use https")
PROBLEM = Finding("server", CheckStatus.PROBLEM, "<b>401</b>\n\x1b[31m", "a key")
SUMMARIES = {
    "nothing": ([FINE], "No problem found."),
    "a warning": ([FINE, WARNING], "No problem found, and 1 warning."),
    "problems": ([PROBLEM, PROBLEM], "2 problems found."),
    "both": ([PROBLEM, WARNING], "1 problem and 1 warning found."),
}
POSTING = "window.posted = []; window.acquireVsCodeApi = () => ({ postMessage: ({ type }) => posted.push(type) })"


@pytest.mark.parametrize(("findings", "says"), SUMMARIES.values(), ids=SUMMARIES)
def test_the_first_sentence_says_how_it_is_all_in_all(findings: list[Finding], says: str):
    assert findings_text("Harbour", findings).splitlines()[2] == says
    assert f"<p>{says}</p>" in findings_html("Harbour", findings, Hashes())


def test_the_text_has_a_line_for_each_check_and_one_for_what_helps():
    assert findings_text("Harbour", [FINE, PROBLEM]).splitlines()[4:] == [
        "- ✓ **key**: set",
        "- ✗ **server**: \\<b\\>401\\</b\\> \\\\u001b\\[31m",
        "  What helps: a key",
    ]


@pytest.mark.parametrize("said", ["<img src=//evil.example>", "![a](b)", "@team", "www.evil.example", "them/theirs#1"])
def test_nothing_that_a_server_said_is_markup_of_the_text_or_names_a_person(said: str):
    text = findings_text(f"Harbour {said}", [Finding("server", CheckStatus.PROBLEM, f"ask {said}", f"try {said}")])
    outside = re.sub(r"`[^`\n]*`", "", text)
    assert text.count("ask") == 1
    assert not re.search(r"(?<!\\)[<\[]|[@#]\w|www", outside)


def test_nothing_that_a_server_said_is_markup_of_the_page():
    page = findings_html("<i>Harbour</i>", [PROBLEM], Hashes())
    assert "<b>401" not in page
    assert "<i>" not in page


def test_the_page_is_accessible_and_its_buttons_ask_vscode_and_say_so(own_page: Page, tmp_path: Path):
    own_page.add_init_script(POSTING)
    open_file(own_page, findings_html("Harbour", [FINE, WARNING, PROBLEM], Hashes()), tmp_path)
    assert axe_findings(own_page) == []
    own_page.get_by_role("button", name="Copy").click()
    assert own_page.get_by_role("status").inner_text() == "The report is in the clipboard."
    own_page.get_by_role("button", name="Test Again").click()
    assert own_page.evaluate("posted") == ["copy", "again"]


def test_outside_of_vscode_the_page_has_no_buttons(browser_page: Page, tmp_path: Path):
    open_file(browser_page, findings_html("Harbour", [FINE], Hashes()), tmp_path)
    assert browser_page.get_by_role("button").count() == 0
