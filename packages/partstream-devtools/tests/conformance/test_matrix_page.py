"""The page of targets and checks: whole by itself, everything as text, a link to the transcript in each cell."""

import hashlib
import json
import re
from base64 import b64encode
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report_samples import EVERYTHING, FAILED, KEPT, NASTY, check, report

from partstream_devtools.conformance.report import ReportFileError, Verdict, read_report
from partstream_devtools.conformance.report_formats import matrix_html
from partstream_devtools.conformance.transcript import event_lines


class _Page(HTMLParser):
    """The elements of a page, and the texts in them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.links: dict[str, str] = {}
        self._link: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "a":
            self._link = dict(attrs).get("href")

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._link = None

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self._link is not None:
            self.links[self._link] = data


PAGE = matrix_html([EVERYTHING, KEPT])
READ = _Page(PAGE)
IDS = {attributes["id"] for _, attributes in READ.elements if "id" in attributes}


def test_the_page_asks_for_nothing_and_runs_nothing():
    assert {tag for tag, _ in READ.elements} & {"script", "img", "iframe", "object", "form", "base"} == set()
    addresses = [
        value for _, attributes in READ.elements for name, value in attributes.items() if name in {"href", "src"}
    ]
    assert all(value.startswith("#") or value == "data:," for value in addresses)
    assert not any(name.startswith("on") or name == "style" for _, attributes in READ.elements for name in attributes)
    assert "url(" not in PAGE
    assert "@import" not in PAGE


def test_the_policy_allows_this_style_and_nothing_else():
    (policy,) = [one["content"] for tag, one in READ.elements if one.get("http-equiv") == "Content-Security-Policy"]
    style = re.search(r"<style>(.*?)</style>", PAGE, re.DOTALL)[1]
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def test_whatever_a_target_said_is_text():
    everything = "".join(READ.texts)
    assert "</script><script>alert(1)</script>" in everything
    assert "\x1b" not in PAGE
    assert "\x00" not in PAGE
    PAGE.encode()
    assert NASTY not in PAGE


def test_two_reports_of_one_target_over_two_protocols_have_two_names():
    target = {"name": "my_provider.py", "kind": "provider", "version": "1.2"}
    page = matrix_html([report(target={**target, "protocol": one}) for one in ("first", "second")])
    assert "my_provider.py 1.2 (first)</th>" in page
    assert "my_provider.py 1.2 (second)</th>" in page


def test_every_cell_leads_to_a_place_of_the_page_and_says_its_verdict_in_words():
    cells = {href: text for href, text in READ.links.items() if re.fullmatch(r"#t\d-[0-9a-f]{12}", href)}
    assert len(cells) == len(EVERYTHING["checks"]) + len(KEPT["checks"])
    assert {href[1:] for href in READ.links} <= IDS
    assert {text.partition(" ")[2] for text in cells.values()} == {
        *(verdict.value for verdict in Verdict),
        "known",
    }


def test_a_check_that_a_target_did_not_run_is_named_so():
    assert READ.texts.count("not run") == 2 * len({c["id"] for r in (EVERYTHING, KEPT) for c in r["checks"]}) - 12


def test_the_transcript_marks_the_part_that_broke_the_promise():
    text = matrix_html([report(FAILED)])
    marked = re.findall(r"<mark>(.*?)</mark>", text)
    assert len(marked) == 1
    assert "part 1" in marked[0]
    assert "repeat" in text.lower()
    assert "a final snapshot is handed out again" in text


def test_a_table_can_be_scrolled_with_the_keyboard():
    regions = [one for _, one in READ.elements if one.get("role") == "region"]
    assert len(regions) == 2
    assert all(one["tabindex"] == "0" and one["aria-label"] for one in regions)
    headers = [one.get("scope") for tag, one in READ.elements if tag == "th"]
    assert set(headers) == {"row", "col"}


def test_lines_of_a_transcript_are_short_and_not_without_end():
    events = [{"at": 1, "part": {"type": "text", "value": "x" * 5000}} for _ in range(1000)]
    lines = event_lines({"moves": ["send"], "answers": [{"events": events}, {"events": []}]})
    assert len(lines) == 1 + 1 + 200 + 1 + 1
    assert max(len(line.text) for line in lines) <= 330
    assert lines[-2].text == "and 800 more"


# ---- files ----


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it is no JSON"),
        ("[" * 100_000, "it is no JSON"),
        ("[]", "it is no report of this version"),
        ('{"report": "0"}', "it is no report of this version"),
        (json.dumps(KEPT | {"report": "1", "target": {}}), "target: expected an object with a name"),
        (json.dumps(KEPT | {"report": "1", "transcripts": []}), "transcripts: expected"),
        (json.dumps(KEPT | {"report": "1", "checks": {}}), "checks: expected an array"),
        (json.dumps(KEPT | {"report": "1", "checks": [{}]}), "checks[0]: expected an object with a verdict"),
        (json.dumps(KEPT | {"report": "1", "checks": [{"verdict": "passed"}]}), "checks[0].id: expected a text"),
    ],
)
def test_a_file_that_is_no_report_is_refused_with_the_place(tmp_path: Path, text: str, says: str):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(ReportFileError, match=re.escape(says)):
        read_report(path)


def test_a_kept_report_is_read(tmp_path: Path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(report(check(Verdict.PASSED), report="1")))
    assert matrix_html([read_report(path)]).startswith("<!doctype html>")
    with pytest.raises(ReportFileError, match="No such file"):
        read_report(tmp_path / "b.json")
