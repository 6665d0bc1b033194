"""`partstream check`: judges a recorded stream by the contract and reports a verdict for each rule.

Counts and prints; the rules are in :mod:`partstream.contract`, the reading of recordings in
:mod:`partstream.protocols`.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import click
from rich.table import Table
from rich.text import Text

from partstream.cli.console import make_console
from partstream.cli.rendering import printable
from partstream.contract import RULES, CheckMode, ContractChecker, Level, Rule, Violation
from partstream.outputs import Finish, StreamOptions, Unmapped
from partstream.protocols.recording import RecordingError, read_recording

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from partstream.outputs import StreamOutput

__all__ = ["command"]

_EXIT_BROKEN: Final = 1
_EXIT_UNREADABLE: Final = 2
_MAX_DETAILS: Final = 3
_CHUNK_SIZE: Final = 65536  # bytes at a time, so that only the recording itself is held whole


class _Verdict(StrEnum):
    KEPT = "kept"
    BROKEN = "broken"
    WARNING = "warning"
    NOT_JUDGED = "not judged"


_STYLES: Final = {
    _Verdict.KEPT: "green",
    _Verdict.BROKEN: "bold red",
    _Verdict.WARNING: "yellow",
    _Verdict.NOT_JUDGED: "dim",
}


class _Details(dict[str, list[str]]):
    """The first few violations of each broken rule, as sentences, by the id of the rule."""

    def add(self, violation: Violation) -> None:
        kept = self.setdefault(violation.rule.id, [])
        if len(kept) < _MAX_DETAILS:
            place = "at the end" if violation.index is None else f"part {violation.index}"
            kept.append(f"{place}: {violation.detail}")


@dataclass(slots=True)
class _Report:
    """The findings of one recording: parts by class, events without a part by type, the end, the broken rules."""

    checker: ContractChecker
    details: _Details
    parts: Counter[str] = field(default_factory=Counter)
    unmapped: Counter[str] = field(default_factory=Counter)
    finish: Finish | None = None

    def verdict(self, rule: Rule) -> _Verdict:
        """The verdict on one rule."""
        if self.checker.counts[rule.id]:
            return _Verdict.BROKEN if rule.level is Level.MUST else _Verdict.WARNING
        return _Verdict.KEPT if self.checker.judges(rule) else _Verdict.NOT_JUDGED

    @property
    def kept(self) -> bool:
        """Whether no MUST is broken."""
        return all(self.verdict(rule) is not _Verdict.BROKEN for rule in RULES.values())


class _UnreadableError(click.ClickException):
    exit_code = _EXIT_UNREADABLE


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--protocol", metavar="P", help="Protocol of the recording. Default: told from its events.")
@click.option("--tool", "tools", metavar="NAME", multiple=True, help="Name of a tool in the request; repeat for more.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
@click.pass_context
def command(context: click.Context, file: str, protocol: str | None, tools: tuple[str, ...], as_json: bool) -> None:
    """Check a recorded stream against the contract.

    FILE is a .jsonl file (one event per line), an .sse file (the bytes), or - for standard input. The exit code is 0
    if every MUST is kept, 1 if one is broken, and 2 if the file cannot be read. A recording does not hold the request:
    name the request's tools with --tool to have tool names checked.
    """
    options = StreamOptions()
    try:
        with click.open_file(file, "rb") as opened:
            data: bytes = opened.read()
        outputs = read_recording(data, file, protocol, options, _CHUNK_SIZE)
        report = _check(outputs, tools or None, options.call_id_prefix)
    except (OSError, RecordingError) as error:
        raise _UnreadableError(printable(str(error))) from error
    if as_json:
        click.echo(json.dumps(_as_json(file, report), ensure_ascii=True))
    else:
        _render(file, report, make_console())
    context.exit(0 if report.kept else _EXIT_BROKEN)


def _check(outputs: Iterable[StreamOutput], tools: Iterable[str] | None, namespace: str) -> _Report:
    details = _Details()
    checker = ContractChecker(tools, CheckMode.LENIENT, details.add, namespace=namespace)
    report = _Report(checker, details)
    for output in outputs:
        if isinstance(output, Finish):
            report.finish = output
            _end(checker, output)
        elif isinstance(output, Unmapped):
            report.unmapped[output.type] += 1
        else:
            report.parts[type(output).__name__] += 1
            checker.check(output)
    return report


def _end(checker: ContractChecker, finish: Finish) -> None:
    if finish.error is None:
        checker.complete()
    else:
        checker.fail(finish.error)


def _as_json(file: str, report: _Report) -> dict[str, Any]:
    finish = report.finish
    error = finish.error if finish else None
    return {
        "file": file,
        "kept": report.kept,
        "outcome": finish.outcome if finish else None,
        "error": None if error is None else {"type": type(error).__name__, "message": str(error)},
        "parts": dict(report.parts),
        "unmapped": dict(report.unmapped),
        "rules": [
            {
                "id": rule.id,
                "section": rule.section,
                "level": rule.level,
                "verdict": report.verdict(rule),
                "count": report.checker.counts[rule.id],
                "details": report.details.get(rule.id, []),
            }
            for rule in RULES.values()
        ],
    }


def _render(file: str, report: _Report, console: Console) -> None:
    parts = ", ".join(f"{count} {name}" for name, count in sorted(report.parts.items())) or "no parts"
    console.print(Text.assemble((printable(file), "bold"), f": {parts}"))
    if report.unmapped:
        unmapped = ", ".join(f"{count} {printable(name)}" for name, count in sorted(report.unmapped.items()))
        console.print(Text(f"Events that no part can represent, not judged: {unmapped}", "dim"))
    table = Table("Rule", "Section", "Level", "Verdict", box=None, pad_edge=False)
    for rule in RULES.values():
        verdict = report.verdict(rule)
        missing = f": needs {rule.needs}" if verdict is _Verdict.NOT_JUDGED else ""
        table.add_row(rule.id, rule.section, rule.level, Text(verdict + missing, _STYLES[verdict]))
    console.print(table)
    for rule_id, details in report.details.items():
        _render_details(RULES[rule_id], details, report, console)
    _render_end(report, console)


def _render_details(rule: Rule, details: list[str], report: _Report, console: Console) -> None:
    style = _STYLES[report.verdict(rule)]
    console.print(Text(f"{rule.id} ({rule.level}, section {rule.section}): {rule.text}", style), soft_wrap=True)
    for detail in details:
        console.print(Text(f"  {detail}"), soft_wrap=True)
    hidden = report.checker.counts[rule.id] - len(details)
    if hidden:
        console.print(Text(f"  and {hidden} more"))


def _render_end(report: _Report, console: Console) -> None:
    outcome = report.finish.outcome if report.finish else "without an end"
    error = report.finish.error if report.finish else None
    if error is not None:
        console.print(Text(f"The stream is {outcome}: {printable(str(error))}", "yellow"))
        console.print(Text("The upstream caused this end; it does not break a rule for the provider.", "yellow"))
    else:
        console.print(Text(f"The stream is {outcome}."))
    verdicts = Counter(report.verdict(rule) for rule in RULES.values())
    total = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in _Verdict if verdicts[verdict])
    console.print(Text(f"Contract {'kept' if report.kept else 'broken'}: {total}.", "bold"))
