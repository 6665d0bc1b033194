"""Shows a report of the conformance kit in a terminal: a line for each scenario, then every failure in full."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from rich.text import Text

from partstream.cli.console import make_console
from partstream.codec.redaction import Redactor
from partstream.codec.text import visible
from partstream.devtools.conformance.checks import HINTS
from partstream.devtools.conformance.driving import Provocation
from partstream.devtools.conformance.report import Verdict
from partstream.devtools.conformance.transcript import TranscriptEventKind, shown_part
from partstream.runtime.progress import fault_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from partstream.devtools.conformance.report import CheckResult, Report
    from partstream.devtools.conformance.targets import Tested
    from partstream.devtools.conformance.transcript import Transcript

__all__ = ["ReportScreen"]

_MARKS: Final = {
    Verdict.ERROR: ("✗", "ERROR", "bold red"),
    Verdict.FAILED: ("✗", "FAIL", "bold red"),
    Verdict.UNTESTABLE: ("✗", "UNTESTABLE", "bold red"),
    Verdict.WARNING: ("!", "WARN", "yellow"),
    Verdict.PASSED: ("✓", "ok", "green"),
    Verdict.NOT_JUDGED: ("–", "-", "dim"),
    Verdict.NOT_APPLICABLE: ("–", "-", "dim"),
}
"""The mark of a verdict in a terminal, its word for a pipe, and its style; the worst first."""

_WORST: Final = tuple(_MARKS)
_SAID: Final = {
    Verdict.PASSED: "checks passed",
    Verdict.FAILED: "failed",
    Verdict.UNTESTABLE: "untestable",
    Verdict.WARNING: "warnings",
    Verdict.NOT_APPLICABLE: "not applicable",
    Verdict.NOT_JUDGED: "not judged",
    Verdict.ERROR: "errors of the kit",
}
_INDENT: Final = "    "
_REPEAT: Final = "repeat:"
_AROUND: Final = 3
"""How many events are shown before the one that broke a promise."""


class ReportScreen:
    """Prints a run as it goes.

    Args:
        is_verbose: Whether every check gets a line.
        redactor: Removes the secrets of the run from every line.
    """

    def __init__(self, *, is_verbose: bool, redactor: Redactor | None = None) -> None:
        self._console = make_console()
        self._redactor = redactor or Redactor()
        self._is_verbose = is_verbose
        self._has_marks = self._console.is_terminal

    def opened(self, tested: Tested) -> None:
        """Shows what is tested, and what it declares."""
        told = tested.capabilities.to_json()
        declared = ", ".join(name for name, value in told.items() if value and name not in {"model", "prompts"})
        description = tested.target.description
        self._print(Text.assemble((visible(description.name), "bold"), f" ({_driven(tested)})"))
        self._print(Text(f"  model {visible(tested.model.id)}; can: {visible(declared) or 'text alone'}", "dim"))
        if tested.session.note:
            self._print(Text(f"  {visible(tested.session.note)}", "dim"))

    def scenario(self, slug: str, results: Sequence[CheckResult]) -> None:
        """Shows one scenario."""
        counts = Counter(one.verdict for one in results)
        worst = min(counts, key=_WORST.index, default=Verdict.NOT_JUDGED)
        judged = len(results) - counts[Verdict.NOT_APPLICABLE] - counts[Verdict.NOT_JUDGED]
        if judged:
            said = f"{counts[Verdict.PASSED]} of {judged} checks" if worst in _WORST[:4] else f"{judged} checks"
        else:
            said = f"{results[0].verdict.value}: {results[0].got}" if results else ""
        self._print(Text.assemble(self._mark(worst), f"{slug:<24} ", (visible(said), "dim")))
        if self._is_verbose:
            for one in results:
                got = f": {visible(one.got)}" if one.got else ""
                self._print(Text.assemble("  ", self._mark(one.verdict), f"{one.id} {one.level} {one.section}{got}"))

    def report(self, report: Report) -> None:
        """Shows every failure in full, and the sentence that sums up."""
        shown = [one for one in report.checks if one.verdict in _WORST[:4] and not one.expected]
        for one in _first_of_each_rule(shown):
            same = sum(other.rule == one.rule for other in shown) - 1
            self._print(Text(""))
            self._failure(one, report, same)
        for stale in report.stale:
            self._print(Text(f"Stale entry of the baseline: {visible(stale)}", "bold red"))
        self._print(Text(""))
        if more := _ways_to_more(report):
            self._print(Text(more, "dim"))
        self._print(Text(_sentence(report), "bold"))

    def _failure(self, one: CheckResult, report: Report, same: int) -> None:
        more = f", and {same} more" if same else ""
        self._print(
            Text.assemble(
                self._mark(one.verdict),
                (one.rule, "bold"),
                f"  {one.level}  {one.section}  (scenario {one.scenario}{more})",
            )
        )
        self._print(Text(f"    {one.promise}"))
        self._print(Text(f"    Here: {visible(one.got)}"))
        if one.flaky is not None:
            self._print(Text(f"    Flaky: failed {one.flaky['failed']} of {one.flaky['of']} times", "yellow"))
        for line in _lines(one, report.transcripts.get(one.transcript or "")):
            self._print(Text(f"    {visible(line)}"))
        hint = HINTS.get(one.rule)
        if hint is not None and one.verdict is not Verdict.UNTESTABLE:
            self._print(Text(f"    {hint.seen} Often: {'; or '.join(hint.causes)}.", "dim"))
        if one.repeat:
            self._print(Text(f"{_INDENT}{_REPEAT} {visible(one.repeat)}", "dim"))

    def _mark(self, verdict: Verdict) -> tuple[str, str]:
        mark, word, style = _MARKS[verdict]
        return (f"{mark} " if self._has_marks else f"{word:<4} "), style

    def _print(self, line: Text) -> None:
        hidden = self._redactor.redact(line.plain)
        shown = line if hidden == line.plain else Text(hidden, line.style)
        if not self._has_marks or not hidden.startswith(_INDENT):
            self._console.print(shown)
        elif hidden.startswith(f"{_INDENT}{_REPEAT}"):
            self._console.print(shown, soft_wrap=True)  # whole, so that it can be copied
        else:
            for row in shown[len(_INDENT) :].wrap(self._console, max(self._console.width - len(_INDENT), 20)):
                self._console.print(Text(_INDENT).append_text(row))


def _driven(tested: Tested) -> str:
    """What kind of target it is, and how and over which protocol it is tested."""
    description = tested.target.description
    return ", ".join(dict.fromkeys(filter(None, (description.kind, tested.way.value, description.protocol))))


def _first_of_each_rule(shown: Sequence[CheckResult]) -> Iterator[CheckResult]:
    seen: set[str] = set()
    for one in shown:
        if one.rule not in seen:
            seen.add(one.rule)
            yield one


def _lines(one: CheckResult, transcript: Transcript | None) -> Iterator[str]:
    """The part that broke the promise, and those before it."""
    if transcript is None or one.answer is None or one.answer >= len(transcript.answers):
        return
    number = -1
    lines: list[tuple[bool, str]] = []
    for event in transcript.answers[one.answer].events:
        is_part = event.kind is TranscriptEventKind.PART
        number += is_part
        name = f"part {number}" if is_part else event.kind.value
        shown = shown_part(event.value) if is_part else _shown(event.value)[:200]
        is_it = is_part and number == one.index
        lines.append((is_it, f"{name:<10} +{event.at_ms:5.0f} ms  {shown}{'   <- here' if is_it else ''}"))
    at = next((place for place, (is_it, _) in enumerate(lines) if is_it), len(lines) - 1)
    yield from (line for _, line in lines[max(at - _AROUND, 0) : at + 1])


def _shown(value: object) -> str:
    """What a line says of an event that is no part: of an error its type too, as many have no sentence of their own."""
    return "" if value is None else fault_of(value).message if isinstance(value, BaseException) else str(value)


def _ways_to_more(report: Report) -> str:
    """How more checks are judged, for a provider that was told by the prompt; empty where nothing is left."""
    left = sum(one.verdict is Verdict.NOT_JUDGED and "make(upstream)" in one.got for one in report.checks)
    if not left or report.target.kind != "provider" or Provocation.DIRECTED.value not in report.ways:
        return ""
    return (
        f"{left} more checks need the kit as the model server behind the provider: put `def make(upstream)`, which "
        "returns a provider that asks this base URL, into the file, and test FILE:make."
    )


def _sentence(report: Report) -> str:
    counts = report.counts
    verb = {0: "kept", 1: "broken"}.get(int(report.exit_code), "not judged")
    said = ", ".join(f"{counts[verdict]} {words}" for verdict, words in _SAID.items() if counts[verdict])
    expected = sum(one.expected for one in report.checks)
    known = f", {expected} expected by the baseline" if expected else ""
    stale = f", stale in the baseline: {len(report.stale)}" if report.stale else ""
    return f"Contract {report.contract} {verb}: {said or 'nothing to judge'}{known}{stale} ({report.seconds:.1f} s)"
