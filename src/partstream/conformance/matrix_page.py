"""The matrix of targets and checks as one page of HTML that needs nothing else: no script, no request, no other file.

A cell is a link to what happened: the finding, and the transcript of its scenario. Whatever a target said stands in the
page as text; a Content-Security-Policy keeps it so.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.text import visible
from partstream.devtools.conformance.report import Verdict, tally_of
from partstream.devtools.conformance.transcript import event_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["matrix_html"]

_STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --shade: #8881; }
* { box-sizing: border-box; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1rem; max-width: 90rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.25rem; } h3 { font-size: 1rem; }
a { color: inherit; } a:focus-visible, .scroll:focus-visible, summary:focus-visible { outline: 3px solid #1a73e8;
  outline-offset: 2px; }
.scroll { overflow-x: auto; border: 1px solid var(--line); }
table { border-collapse: collapse; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .5rem; text-align: left; vertical-align: top;
  overflow-wrap: normal; }
td { white-space: nowrap; }
th[scope=row] { overflow-wrap: break-word; min-width: 8rem; }
.matrix th[scope=row] { position: sticky; left: 0; background: Canvas; font-weight: normal; min-width: 9rem;
  max-width: 45vw; overflow-wrap: anywhere; }
.matrix thead th { position: sticky; top: 0; background: Canvas; min-width: 7rem; }
.matrix td a { display: block; text-decoration: none; padding: .1rem .3rem; border-radius: .2rem; }
.passed { background: #2e7d3226; } .failed, .untestable, .error { background: #c62828; color: #fff; font-weight: bold; }
.warning { background: #f9a82566; } .known { background: #6a1b9a40; }
.not-applicable, .not-judged, .absent { background: var(--shade); }
section { border-top: 1px solid var(--line); margin-top: 1.5rem; scroll-margin-top: 1rem; }
article { scroll-margin-top: 1rem; padding: .2rem .5rem; }
article:target, section:target { outline: 3px solid #1a73e8; }
.word { padding: .1rem .4rem; border-radius: .2rem; }
pre { white-space: pre-wrap; background: var(--shade); padding: .5rem; margin: .5rem 0; }
mark { background: #c62828; color: #fff; }
@media (max-width: 30rem) { body { padding: .5rem; } th, td { padding: .2rem .3rem; } }
"""

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
    """One target.

    Attributes:
        number: Its place in the table, from 0.
        report: Its report.
        checks: Its checks by id.
    """

    number: int
    report: Mapping[str, Any]
    checks: Mapping[str, Mapping[str, Any]]

    @property
    def name(self) -> str:
        """Its name as a person reads it."""
        target = self.report["target"]
        version, protocol = target.get("version"), target.get("protocol")
        name = f"{target['name']} {version}" if version else target["name"]
        return _text(f"{name} ({protocol})" if protocol else name)

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
    ids = [*dict.fromkeys(check["id"] for report in reports for check in report["checks"])]
    digest = b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    body = "\n".join((*_head(columns), *_table(columns, ids), *_details(columns)))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>Partstream contract: {len(columns)} targets</title>\n"
        f"<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _head(columns: Iterable[_Column]) -> Iterator[str]:
    yield "<main>\n<h1>Which promises of the contract each target keeps</h1>"
    yield "<p>A cell leads to what happened. The kit shows defects, not their absence.</p>"
    yield '<div class="scroll" tabindex="0" role="region" aria-label="Targets"><table>'
    yield '<thead><tr><th scope="col">Target</th><th scope="col">Contract</th><th scope="col">Passed</th>'
    yield '<th scope="col">Not applicable</th><th scope="col">Known</th><th scope="col">Day</th></tr></thead><tbody>'
    for column in columns:
        tally = tally_of(column.report)
        word = "kept" if tally.is_kept else "broken" if tally.judged else "not judged"
        version = _text(column.report.get("contract", ""))
        cells = (
            f"{version} {word}",
            f"{tally.passed} of {tally.judged}",
            tally.not_applicable,
            tally.expected,
            _text(str(column.report.get("date", ""))[:10]),
        )
        yield f'<tr><th scope="row"><a href="#t{column.number}">{column.name}</a></th>'
        yield "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    yield "</tbody></table></div>"


def _table(columns: Sequence[_Column], ids: Iterable[str]) -> Iterator[str]:
    yield '<h2 id="matrix">Checks</h2>'
    yield '<div class="scroll" tabindex="0" role="region" aria-label="Checks by target"><table class="matrix"><thead>'
    yield '<tr><th scope="col">Check</th>' + "".join(f'<th scope="col">{one.name}</th>' for one in columns)
    yield "</tr></thead><tbody>"
    for one in ids:
        cells = "".join(_cell(column, one) for column in columns)
        yield f'<tr><th scope="row">{_text(one)}</th>{cells}</tr>'
    yield "</tbody></table></div>"


def _cell(column: _Column, check_id: str) -> str:
    check = column.checks.get(check_id)
    if check is None:
        return '<td><span class="absent">not run</span></td>'
    kind = _kind(check)
    link = f'<a class="{_class(kind)}" href="#{column.anchor(check_id)}">{_MARKS[kind]} {kind}</a>'
    return f"<td>{link}</td>"


def _details(columns: Iterable[_Column]) -> Iterator[str]:
    for column in columns:
        yield f'<section id="t{column.number}"><h2>{column.name}</h2>'
        by_scenario: dict[str, list[Mapping[str, Any]]] = {}
        for check in column.report["checks"]:
            by_scenario.setdefault(check["scenario"], []).append(check)
        for scenario, checks in by_scenario.items():
            yield f"<h3>{_text(scenario)}</h3>"
            for check in checks:
                yield from _check(column, check)
            yield from _transcripts(column.report["transcripts"], checks)
        yield '<p><a href="#matrix">Back to the table</a></p></section>'
    yield "</main>"


def _check(column: _Column, check: Mapping[str, Any]) -> Iterator[str]:
    kind = _kind(check)
    yield f'<article id="{column.anchor(check["id"])}">'
    yield f'<span class="word {_class(kind)}">{_MARKS[kind]} {kind}</span> {_text(check["id"])}'
    yield f"({_text(check['level'])}, section {_text(check['section'])}): {_text(check['promise'])}"
    if check["got"]:
        yield f"<br>Got: {_text(check['got'])}"
    flaky = check.get("flaky")
    if flaky:
        yield f"<br>Flaky: failed {_text(flaky.get('failed'))} of {_text(flaky.get('of'))} times"
    if kind in _FAILING:
        yield "".join(f"<br>Often: {_text(hint)}" for hint in check.get("hint", ()))
        if check.get("repeat"):
            yield f"<br>Repeat: <code>{_text(check['repeat'])}</code>"
    yield "</article>"


def _transcripts(transcripts: Mapping[str, Any], checks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The conversations of a scenario, each with the part marked that broke a promise first."""
    for name in dict.fromkeys(check.get("transcript") for check in checks):
        if name is None or name not in transcripts:
            continue
        broken = next((one for one in checks if one.get("transcript") == name and _kind(one) in _FAILING), {})
        lines = event_lines(transcripts[name], broken.get("answer"), broken.get("index"))
        shown = "\n".join(f"<mark>{escape(one.text)}</mark>" if one.is_here else escape(one.text) for one in lines)
        is_open = " open" if broken else ""
        yield f"<details{is_open}><summary>Transcript {_text(name)}</summary><pre>{shown}</pre></details>"


_FAILING: Final = frozenset(
    {Verdict.FAILED.value, Verdict.UNTESTABLE.value, Verdict.ERROR.value, Verdict.WARNING.value}
)


def _kind(check: Mapping[str, Any]) -> str:
    return "known" if check.get("expected") else str(check["verdict"])


def _class(kind: str) -> str:
    return kind.replace(" ", "-")


def _text(value: object) -> str:
    return escape(visible(str(value)))
