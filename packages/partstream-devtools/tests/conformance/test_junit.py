"""The JUnit XML of a report, against what the readers' schemas have in common."""

from xml.etree import ElementTree as ET

import pytest
from report_samples import EVERYTHING, KEPT, parsed, report

from partstream_devtools.conformance.report_formats import junit_xml
from rows import one_test_for

# What junit-10.xsd and junit-4.xsd of Jenkins both allow: attributes, those that must be there, children in order.
SCHEMA: dict[str, tuple[set[str], set[str], list[str]]] = {
    "testsuites": ({"name", "time", "tests", "failures", "disabled", "errors"}, set(), ["testsuite"]),
    "testsuite": (
        {"name", "tests", "failures", "errors", "time", "disabled", "skipped", "timestamp", "hostname", "id"},
        {"name"},
        ["properties", "testcase", "system-out", "system-err"],
    ),
    "properties": (set(), set(), ["property"]),
    "property": ({"name", "value"}, {"name", "value"}, []),
    "testcase": (
        {"name", "assertions", "time", "classname", "status"},
        {"name"},
        ["skipped", "error", "failure", "system-out", "system-err"],
    ),
    "failure": ({"type", "message"}, set(), []),
    "error": ({"type", "message"}, set(), []),
    "skipped": (set(), set(), []),
    "system-out": (set(), set(), []),
    "system-err": (set(), set(), []),
}
ONCE = {"properties", "skipped"}


def _parsed(value: dict) -> ET.Element:
    return parsed(junit_xml(value))


def _cases(root: ET.Element) -> dict[str, ET.Element]:
    return {case.get("name", ""): case for case in root.iter("testcase")}


@pytest.mark.parametrize("value", [EVERYTHING, KEPT, report()], ids=["everything", "kept", "nothing"])
def test_a_report_is_valid_by_the_schemas_of_its_readers(value: dict):
    root = _parsed(value)
    assert root.tag == "testsuites"
    for element in root.iter():
        allowed, required, children = SCHEMA[element.tag]
        assert required <= set(element.keys()) <= allowed
        places = [children.index(child.tag) for child in element]
        assert places == sorted(places)
        assert all(sum(child.tag == one for child in element) <= 1 for one in ONCE)


def test_a_check_is_a_case_of_the_suite_of_its_subject():
    root = _parsed(EVERYTHING)
    assert [suite.get("name") for suite in root] == [
        "request",
        "stream",
        "text",
        "thinking",
        "tokens",
        "tool-call",
        "usage",
    ]
    assert set(_cases(root)) == {check["id"] for check in EVERYTHING["checks"]}
    properties = {one.get("name"): one.get("value") for one in root.find("testsuite[@name='tool-call']/properties")}
    assert properties["rule tool-call.unique-call-id"] == "MUST, section 3.2"
    assert properties["contract"] == "1.0"


@one_test_for(
    ("case", "tag", "kind"),
    [
        ("tool-call.unique-call-id/two-calls", "failure", "failed"),
        ("tool-call.atomic/two-calls", "failure", "untestable"),
        ("usage.as-reported/usage", "error", "kit"),
        ("request.images-arrive/image", "skipped", None),
        ("tool-call.namespaced-call-id/two-calls", "skipped", None),
        ("text.utf-8/text", "system-out", None),
        ("thinking.string-id/thinking", "system-out", None),
        ("tokens.monotone/tokens", "system-out", None),
    ],
)
def test_each_verdict_has_its_element(case: str, tag: str, kind: str | None):
    (only,) = _cases(_parsed(EVERYTHING))[case]
    assert (only.tag, only.get("type")) == (tag, kind)


def test_a_check_that_passed_has_no_element():
    assert len(_cases(_parsed(EVERYTHING))["text.string-value/text"]) == 0


def test_what_is_expected_or_not_scored_is_no_failure_in_the_counts():
    root = _parsed(EVERYTHING)
    counted = {name: root.get(name) for name in ("tests", "failures", "errors")}
    assert counted == {"tests": "10", "failures": "2", "errors": "1"}
    for name in counted:
        assert root.get(name) == str(sum(int(suite.get(name, 0)) for suite in root))
    notes = {name: case.findtext("system-out", "") for name, case in _cases(root).items()}
    assert notes["thinking.string-id/thinking"].startswith("expected by the baseline: failed")
    assert notes["tokens.monotone/tokens"].startswith("not scored: failed")


def test_a_failure_tells_promise_finding_hint_and_how_to_repeat_it():
    failure = _cases(_parsed(EVERYTHING))["tool-call.unique-call-id/two-calls"].find("failure")
    assert failure.get("message") == "No two tool calls of a response share a call id."
    lines = failure.text.splitlines()
    assert lines[1].startswith("got: call id 'c1' at parts 5 and 7")
    assert lines[2:] == [
        "flaky: failed 2 of 3 times",
        "often: a final snapshot is handed out again after the deltas",
        "repeat: partstream conformance my_provider.py --replay conformance-failures/x.json",
    ]


def test_what_xml_cannot_hold_is_shown_as_an_escape():
    text = junit_xml(EVERYTHING)
    text.encode()
    assert "\\u0000" in text
    assert "\\u001b" in text
    assert "\\ud83d" in text
    assert "<script>" not in text
