"""The Markdown summary of a report."""

import re

import pytest
from report_samples import EVERYTHING, KEPT, NASTY, UNJUDGED, check, report

from partstream_devtools.conformance.report import Verdict
from partstream_devtools.conformance.report_formats import markdown_summary


@pytest.mark.parametrize(
    ("value", "head"),
    [
        (KEPT, "## Contract 1.0 kept: my\\_provider.py"),
        (EVERYTHING, "## Contract 1.0 broken: my\\_provider.py"),
        (UNJUDGED, "## Contract 1.0 not judged: my\\_provider.py"),
    ],
)
def test_the_head_says_whether_the_contract_is_kept(value: dict, head: str):
    assert markdown_summary(value).splitlines()[0] == head


def test_all_counts_are_named_and_each_failure_has_a_row():
    text = markdown_summary(EVERYTHING)
    for row in ("| passed | 2 |", "| failed | 1 |", "| not applicable | 1 |", "| expected by the baseline | 1 |"):
        assert row in text
    assert "| tool-call.unique-call-id/two-calls | MUST | 3.2 | No two tool calls" in text
    assert "flaky 2/3" in text
    assert "thinking.string-id/thinking" not in text
    assert "### Untestable" in text


def test_what_a_target_says_is_text_in_one_row():
    text = markdown_summary(EVERYTHING)
    (row,) = [line for line in text.splitlines() if line.startswith("| tool-call.unique-call-id")]
    cells = re.split(r"(?<!\\)\|", row)
    assert len(cells) == 7
    assert NASTY not in text
    assert "\x1b" not in text
    assert "<" not in _acting(text)


@pytest.mark.parametrize("said", ["https://evil.example", "@team", "www.evil.example", "them/theirs#1", "GH-1"])
def test_nothing_that_a_target_says_is_a_link_or_names_a_person(said: str):
    text = markdown_summary(report(check(Verdict.FAILED, got=f"ask {said} now")))
    assert said in text
    assert said not in _acting(text)


def _acting(text: str) -> str:
    """What Markdown and GitHub give a meaning: all but code and what is escaped."""
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)|\\.", "", text)


def test_stale_entries_are_named():
    text = markdown_summary(report(check(Verdict.PASSED), stale=["a/b is passed now."]))
    assert "### Stale entries of the baseline\n\n- a/b is passed now." in text


def test_a_summary_does_not_grow_without_end():
    many = report(*(check(Verdict.FAILED, scenario=f"s{number}", got="x" * 10_000) for number in range(300)))
    text = markdown_summary(many)
    assert "and 100 more" in text
    assert len(text) < 200_000
