"""A report as Markdown, for the summary of a CI step or a comment; whatever a target said stands in it as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.codec.text import visible
from partstream.devtools.conformance.report import Verdict, counts, tally_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["markdown_summary"]

_MOST_SHOWN: Final = 200
"""The most checks that a table names; CI systems cut a summary off that grows above a megabyte."""
_MOST_CHARACTERS: Final = 400
_SHOWN: Final = (Verdict.FAILED, Verdict.UNTESTABLE, Verdict.ERROR, Verdict.WARNING)
_ESCAPES: Final = str.maketrans({one: f"\\{one}" for one in "\\`*_{}[]<>()#+!|~&@:"} | {"\n": " "})
"""Characters that Markdown or GitHub give a meaning; a colon, because `https://` becomes a link by itself."""


def markdown_summary(report: Mapping[str, Any]) -> str:
    """The summary of a report.

    Args:
        report: The JSON form of a report.
    """
    lines = [
        f"## Contract {_text(report['contract'])} {_word(report)}: {_text(report['target']['name'])}",
        "",
        *_table(("verdict", "checks"), _counted(report)),
        *_known(report),
    ]
    for verdict in _SHOWN:
        shown = [one for one in report["checks"] if one["verdict"] == verdict and counts(one)]
        if shown:
            lines += [f"### {verdict.value.capitalize()}", "", *_checks(shown)]
    return "\n".join(lines).rstrip() + "\n"


def _word(report: Mapping[str, Any]) -> str:
    tally = tally_of(report)
    return "kept" if tally.is_kept else "broken" if tally.judged else "not judged"


def _counted(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    tally = tally_of(report)
    for verdict in Verdict:
        if tally.verdicts.get(verdict):
            yield verdict.value, str(tally.verdicts[verdict])
    if tally.expected:
        yield "expected by the baseline", str(tally.expected)


def _known(report: Mapping[str, Any]) -> Iterator[str]:
    stale = report.get("stale", ())
    if stale:
        yield from ("### Stale entries of the baseline", "", *(f"- {_text(one)}" for one in stale), "")


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
        yield f"| {' | '.join(map(_text, row))} |"
    yield ""


def _text(value: object) -> str:
    """A text that Markdown shows as it is, in one line."""
    text = visible(str(value))
    cut = text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"
    return cut.translate(_ESCAPES)
