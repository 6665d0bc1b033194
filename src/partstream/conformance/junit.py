"""A report as JUnit XML, in the elements that the schemas of Jenkins, Surefire and other readers have in common.

A suite is the subject of rules (`tool-call`), a case is a check; the properties of a suite name its rules with level
and section, since not every reader takes properties of a case. It is made of the JSON of a report, so that a report
that was kept can be written too.

Source: `junit-10.xsd` and `junit-4.xsd` of Jenkins, `surefire-test-report-3.0.xsd`.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from partstream.devtools.conformance.report import Verdict, counts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["junit_xml"]

_NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document may hold, not even as a reference (XML 1.0, section 2.2)."""


def junit_xml(report: Mapping[str, Any]) -> str:
    """The XML document of a report.

    Args:
        report: The JSON form of a report.
    """
    checks = sorted(report["checks"], key=_subject)
    name = _clean(str(report["target"]["name"]))
    root = Element("testsuites", {"name": f"partstream conformance {name}", **_counts(checks)})
    for subject, of_subject in groupby(checks, _subject):
        _add_suite(root, subject, [*of_subject], report)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _subject(check: Mapping[str, Any]) -> str:
    return str(check["rule"]).partition(".")[0]


def _add_suite(root: Element, subject: str, checks: Sequence[Mapping[str, Any]], report: Mapping[str, Any]) -> None:
    skipped = sum(check["verdict"] in _SKIPPED for check in checks)
    suite = SubElement(root, "testsuite", {"name": subject, **_counts(checks), "skipped": str(skipped)})
    properties = SubElement(suite, "properties")
    said = {f"rule {check['rule']}": f"{check['level']}, section {check['section'] or '-'}" for check in checks}
    facts = {name: str(report[name]) for name in ("kit", "contract", "requirements") if report.get(name) is not None}
    for one, value in (facts | said).items():
        SubElement(properties, "property", {"name": one, "value": _clean(value)})
    for check in checks:
        _add_case(suite, check)


def _add_case(suite: Element, check: Mapping[str, Any]) -> None:
    case = SubElement(suite, "testcase", {"name": check["id"], "classname": check["rule"], "time": _seconds([check])})
    verdict = Verdict(check["verdict"])
    add = _note if verdict in _FAILING and not counts(check) else _ADD.get(verdict)
    if add is not None:
        add(case, check)


def _failure(case: Element, check: Mapping[str, Any]) -> None:
    one = SubElement(case, "failure", {"type": check["verdict"], "message": _clean(check["promise"])})
    one.text = _clean(_told(check))


def _error(case: Element, check: Mapping[str, Any]) -> None:
    blame = check.get("blame") or "kit"
    SubElement(case, "error", {"type": blame, "message": _clean(check["got"])}).text = _clean(_told(check))


def _skip(case: Element, check: Mapping[str, Any]) -> None:
    SubElement(case, "skipped").text = _clean(f"{check['verdict']}: {check['got']}")


def _note(case: Element, check: Mapping[str, Any]) -> None:
    why = "expected by the baseline: " if check.get("expected") else "" if check.get("scored", True) else "not scored: "
    SubElement(case, "system-out").text = _clean(f"{why}{check['verdict']}: {_told(check)}")


_FAILING: Final = frozenset({Verdict.FAILED, Verdict.UNTESTABLE})
_SKIPPED: Final = frozenset({Verdict.NOT_APPLICABLE, Verdict.NOT_JUDGED})
_ADD: Final[Mapping[Verdict, Callable[[Element, Mapping[str, Any]], None]]] = {
    Verdict.FAILED: _failure,
    Verdict.UNTESTABLE: _failure,
    Verdict.ERROR: _error,
    Verdict.WARNING: _note,
    Verdict.NOT_APPLICABLE: _skip,
    Verdict.NOT_JUDGED: _skip,
}


def _told(check: Mapping[str, Any]) -> str:
    """What a person reads of a check that did not pass."""
    flaky = check.get("flaky")
    said = [
        check["promise"],
        f"got: {check['got']}",
        f"flaky: failed {flaky['failed']} of {flaky['of']} times" if flaky else "",
        *(f"often: {hint}" for hint in check.get("hint", ())),
        f"repeat: {check['repeat']}" if check.get("repeat") else "",
    ]
    return "\n".join(filter(None, said))


def _counts(checks: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    counting = [check["verdict"] for check in checks if counts(check)]
    failures = sum(verdict in _FAILING for verdict in counting)
    errors = sum(check["verdict"] == Verdict.ERROR for check in checks)
    return {"tests": str(len(checks)), "failures": str(failures), "errors": str(errors), "time": _seconds(checks)}


def _seconds(checks: Iterable[Mapping[str, Any]]) -> str:
    return f"{sum(float(check.get('duration_ms') or 0) for check in checks) / 1000:.3f}"


def _clean(text: str) -> str:
    """The text with what XML cannot hold as escapes."""
    return _NOT_IN_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
