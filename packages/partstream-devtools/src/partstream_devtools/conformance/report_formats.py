"""A report in the forms that other programs show: a badge, JUnit XML, Markdown, and a matrix of reports as HTML.

All are made of the JSON of a report, so that a kept report can be written too, and show whatever a target said as text.

- The badge is a static SVG, and the JSON that shields.io reads from an address. It says the version of the contract,
  the checks that passed of those that were judged, how many did not apply, and the day: a bare number says less than
  it seems to.
- JUnit XML uses the elements that the schemas of Jenkins (`junit-10.xsd`, `junit-4.xsd`), Surefire
  (`surefire-test-report-3.0.xsd`) and other readers have in common. A suite is the subject of rules, such as
  `tool-call`, a case is a check. The properties of a suite name its rules with level and section, since not every
  reader takes properties of a case.
- Markdown is for the summary of a CI step or a comment.
- The matrix is one page that needs no script, no request and no other file; a Content-Security-Policy keeps it so. A
  cell links to the finding and to the transcript of its scenario.
"""

from __future__ import annotations
import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape as html_escape
from importlib.resources import files
from itertools import groupby
from string import Template
from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring
from xml.sax.saxutils import escape, quoteattr

from partstream.codec.checks import dataclass
from partstream.codec.text import markdown_text, visible
from partstream_devtools.conformance.report import Verdict, counts, tally_of
from partstream_devtools.conformance.transcript import event_lines

# ---- Badge ----

_COLORS: Final = {"brightgreen": "#2e7d32", "red": "#c62828", "lightgrey": "#616161"}
"""The names that shields.io has for colours, and dark ones on which white letters can be read (WCAG 2.2, 1.4.3)."""

_LETTER: Final = 6.7  # units of the SVG for a letter of 11 units, on average
_PADDING: Final = 10


def badge_json(report: Mapping[str, Any], day: str) -> dict[str, Any]:
    """The JSON of a shields.io endpoint.

    Args:
        report: The JSON form of a report.
        day: The day of the run, such as `2026-11-22`.
    """
    label, message, color = _badge(report, day)
    return {"schemaVersion": 1, "label": label, "message": message, "color": color}


def badge_svg(report: Mapping[str, Any], day: str) -> str:
    """The badge as an SVG document, for the same arguments."""
    label, message, color = _badge(report, day)
    left, right = (round(len(text) * _LETTER + 2 * _PADDING) for text in (label, message))
    width = left + right
    text = f"{label}: {message}"
    letters = 'font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" fill="#fff" text-anchor="middle"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label={quoteattr(text)}>'
        f"<title>{escape(text)}</title>"
        f'<rect width="{left}" height="20" fill="#424242"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{_COLORS[color]}"/>'
        f"<g {letters}>"
        f'<text x="{left / 2:g}" y="14">{escape(label)}</text>'
        f'<text x="{left + right / 2:g}" y="14">{escape(message)}</text>'
        "</g></svg>\n"
    )


def _badge(report: Mapping[str, Any], day: str) -> tuple[str, str, str]:
    tally = tally_of(report)
    label = f"partstream contract {report['contract']}"
    if not tally.judged:
        return label, f"not judged, {day}", "lightgrey"
    numbers = f"{tally.passed}/{tally.judged}, {tally.not_applicable} not applicable"
    known = f", {tally.expected} known" if tally.expected else ""
    return label, f"{numbers}{known}, {day}", "brightgreen" if tally.is_kept else "red"


# ---- JUnit ----

_NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document may hold, not even as a reference (XML 1.0, section 2.2)."""


def junit_xml(report: Mapping[str, Any]) -> str:
    """The XML document of a report.

    Args:
        report: The JSON form of a report.
    """
    checks = sorted(report["checks"], key=_subject)
    name = _xml(str(report["target"]["name"]))
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
        SubElement(properties, "property", {"name": one, "value": _xml(value)})
    for check in checks:
        case = SubElement(
            suite, "testcase", {"name": check["id"], "classname": check["rule"], "time": _seconds([check])}
        )
        _add_outcome(case, check)


def _add_outcome(case: Element, check: Mapping[str, Any]) -> None:
    verdict, told = Verdict(check["verdict"]), _xml(_told(check))
    is_counted = counts(check)
    if verdict in _FAILING and is_counted:
        SubElement(case, "failure", {"type": verdict, "message": _xml(check["promise"])}).text = told
    elif verdict is Verdict.ERROR:
        SubElement(case, "error", {"type": check.get("blame") or "kit", "message": _xml(check["got"])}).text = _xml(
            told
        )
    elif verdict in _SKIPPED:
        SubElement(case, "skipped").text = _xml(f"{verdict.value}: {check['got']}")
    elif verdict is not Verdict.PASSED:
        why = "expected by the baseline: " if check.get("expected") else "" if is_counted else "not scored: "
        SubElement(case, "system-out").text = f"{why}{verdict.value}: {told}"


_FAILING: Final = frozenset({Verdict.FAILED, Verdict.UNTESTABLE})
_SKIPPED: Final = frozenset({Verdict.NOT_APPLICABLE, Verdict.NOT_JUDGED})


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


def _xml(text: str) -> str:
    """The text with what XML cannot hold as escapes."""
    return _NOT_IN_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


# ---- Markdown ----

_MOST_SHOWN: Final = 200
"""The most checks that a table names; CI systems cut a summary off that grows above a megabyte."""
_MOST_CHARACTERS: Final = 400
_SHOWN: Final = (Verdict.FAILED, Verdict.UNTESTABLE, Verdict.ERROR, Verdict.WARNING)


def markdown_summary(report: Mapping[str, Any]) -> str:
    """The summary of a report.

    Args:
        report: The JSON form of a report.
    """
    tally = tally_of(report)
    numbers = [(verdict.value, str(tally.verdicts[verdict])) for verdict in Verdict if tally.verdicts.get(verdict)]
    if tally.expected:
        numbers.append(("expected by the baseline", str(tally.expected)))
    lines = [
        f"## Contract {_markdown(report['contract'])} {tally.word}: {_markdown(report['target']['name'])}",
        "",
        *_table(("verdict", "checks"), numbers),
    ]
    if stale := report.get("stale"):
        lines += ["### Stale entries of the baseline", "", *(f"- {_markdown(one)}" for one in stale), ""]
    for verdict in _SHOWN:
        shown = [one for one in report["checks"] if one["verdict"] == verdict and counts(one)]
        if shown:
            lines += [f"### {verdict.value.capitalize()}", "", *_checks(shown)]
    return "\n".join(lines).rstrip() + "\n"


def _checks(checks: list[Mapping[str, Any]]) -> Iterator[str]:
    rows = ((one["id"], one["level"], one["section"], one["promise"], _got(one)) for one in checks[:_MOST_SHOWN])
    yield from _table(("check", "level", "section", "promise", "got"), rows)
    if len(checks) > _MOST_SHOWN:
        yield from (f"and {len(checks) - _MOST_SHOWN} more", "")


def _got(check: Mapping[str, Any]) -> str:
    flaky = check.get("flaky")
    return f"{check['got']} (flaky {flaky['failed']}/{flaky['of']})" if flaky else str(check["got"])


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(map(_markdown, row))} |"
    yield ""


def _markdown(value: object) -> str:
    """A text that Markdown shows as it is, in one line."""
    text = visible(str(value)).replace("\n", " ")
    return markdown_text(text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…")


# ---- Matrix ----

_STYLE: Final = (files(__package__) / "matrix.css").read_text(encoding="utf-8")
_PAGE: Final = Template((files(__package__) / "matrix.html").read_text(encoding="utf-8"))

_MARKS: Final[Mapping[str, str]] = {
    Verdict.PASSED.value: "✓",
    Verdict.FAILED.value: "✗",
    Verdict.WARNING.value: "!",
    Verdict.NOT_APPLICABLE.value: "–",
    Verdict.UNTESTABLE.value: "✗",
    Verdict.NOT_JUDGED.value: "?",
    Verdict.ERROR.value: "✗",
    "known": "✗",
}


@dataclass(frozen=True, slots=True)
class _Column:
    """One target: its place in the table, from 0, its report, and its checks by id."""

    number: int
    report: Mapping[str, Any]
    checks: Mapping[str, Mapping[str, Any]]

    @property
    def name(self) -> str:
        target = self.report["target"]
        version, protocol = target.get("version"), target.get("protocol")
        name = f"{target['name']} {version}" if version else target["name"]
        return _html(f"{name} ({protocol})" if protocol else name)

    def anchor(self, check_id: str) -> str:
        """The name of the place where the page tells of a check."""
        return f"t{self.number}-{hashlib.sha256(check_id.encode()).hexdigest()[:12]}"


def matrix_html(reports: Sequence[Mapping[str, Any]]) -> str:
    """The page for these reports, in their order.

    Args:
        reports: The JSON forms of reports.
    """
    columns = [
        _Column(number, report, {check["id"]: check for check in report["checks"]})
        for number, report in enumerate(reports)
    ]
    rows = {one: "" for column in columns for one in column.checks}
    for one in rows:
        rows[one] = f'<tr><th scope="row">{_html(one)}</th>{"".join(_cell(column, one) for column in columns)}</tr>'
    digest = b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    return _PAGE.substitute(
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'",
        count=len(columns),
        style=_STYLE,
        targets="\n".join(map(_target, columns)),
        names="".join(f'<th scope="col">{one.name}</th>' for one in columns),
        checks="\n".join(rows.values()),
        details="\n".join(line for column in columns for line in _details(column)),
    )


def _target(column: _Column) -> str:
    report, tally = column.report, tally_of(column.report)
    cells = (
        f"{_html(report.get('contract', ''))} {tally.word}",
        f"{tally.passed} of {tally.judged}",
        tally.not_applicable,
        tally.expected,
        _html(str(report.get("date", ""))[:10]),
    )
    head = f'<tr><th scope="row"><a href="#t{column.number}">{column.name}</a></th>'
    return head + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _cell(column: _Column, check_id: str) -> str:
    check = column.checks.get(check_id)
    if check is None:
        return '<td><span class="absent">not run</span></td>'
    kind = _kind(check)
    return f'<td><a class="{_class(kind)}" href="#{column.anchor(check_id)}">{_MARKS[kind]} {kind}</a></td>'


def _details(column: _Column) -> Iterator[str]:
    yield f'<section id="t{column.number}"><h2>{column.name}</h2>'
    by_scenario: dict[str, list[Mapping[str, Any]]] = {}
    for check in column.report["checks"]:
        by_scenario.setdefault(check["scenario"], []).append(check)
    for scenario, checks in by_scenario.items():
        yield f"<h3>{_html(scenario)}</h3>"
        for check in checks:
            yield from _check(column, check)
        yield from _transcripts(column.report["transcripts"], checks)
    yield '<p><a href="#matrix">Back to the table</a></p></section>'


def _check(column: _Column, check: Mapping[str, Any]) -> Iterator[str]:
    kind = _kind(check)
    yield f'<article id="{column.anchor(check["id"])}">'
    yield f'<span class="word {_class(kind)}">{_MARKS[kind]} {kind}</span> {_html(check["id"])}'
    level, section, promise = (_html(check[name]) for name in ("level", "section", "promise"))
    yield f"({level}, section {section}): {promise}"
    if check["got"]:
        yield f"<br>Got: {_html(check['got'])}"
    flaky = check.get("flaky")
    if flaky:
        failed, times = _html(flaky.get("failed")), _html(flaky.get("of"))
        yield f"<br>Flaky: failed {failed} of {times} times"
    if kind in _SHOWN:
        yield "".join(f"<br>Often: {_html(hint)}" for hint in check.get("hint", ()))
        if check.get("repeat"):
            yield f"<br>Repeat: <code>{_html(check['repeat'])}</code>"
    yield "</article>"


def _transcripts(transcripts: Mapping[str, Any], checks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The conversations of a scenario, each with the part marked that broke a requirement first."""
    for name in dict.fromkeys(check.get("transcript") for check in checks):
        if name is None or name not in transcripts:
            continue
        broken = next((one for one in checks if one.get("transcript") == name and _kind(one) in _SHOWN), {})
        lines = event_lines(transcripts[name], broken.get("answer"), broken.get("index"))
        shown = "\n".join(
            f"<mark>{html_escape(one.text)}</mark>" if one.is_here else html_escape(one.text) for one in lines
        )
        is_open = " open" if broken else ""
        yield f"<details{is_open}><summary>Transcript {_html(name)}</summary><pre>{shown}</pre></details>"


def _kind(check: Mapping[str, Any]) -> str:
    return "known" if check.get("expected") else str(check["verdict"])


def _class(kind: str) -> str:
    return kind.replace(" ", "-")


def _html(value: object) -> str:
    return html_escape(visible(str(value)))
