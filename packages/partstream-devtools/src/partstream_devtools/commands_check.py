"""`partstream check`: judges recorded streams by the contract and reports a verdict for each rule.

The parts of a recording go through the contract's checker (:mod:`partstream.lm.contract`) as they are read. A rule that
is not broken is kept only if the stream holds what shows it; otherwise it is not judged, and the report says what is
missing. One answer is reported rule by rule, several with a line each, in the order of the files.
"""

from __future__ import annotations
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from enum import Enum, StrEnum, auto
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click
from rich.text import Text

from partstream.cli.console import make_console
from partstream.cli.terminal import ExitCode, drop_output
from partstream.codec.checks import dataclass
from partstream.codec.text import visible
from partstream.lm.contract import RULES, CheckMode, ContractChecker, Level, Rule, Violation, missing_evidence
from partstream.lm.outputs import GATEWAY_CALL_ID_PREFIX, Finish, Outcome, StreamOptions, Unmapped
from partstream_devtools import recordings
from partstream_devtools.recorded_stream import RecordingError

if TYPE_CHECKING:
    from rich.console import Console

# ---- Judging ----

_MAX_DETAILS: Final = 3
_CHUNK_SIZE: Final = 65536  # bytes at a time, so that only the recording itself is held whole


class RuleVerdict(StrEnum):
    """The line about one rule."""

    KEPT = "kept"
    BROKEN = "broken"
    WARNING = "warning"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True, slots=True)
class RuleRow:
    """What a recording shows about one rule.

    Attributes:
        rule: The rule.
        verdict: The verdict on it.
        count: How often it was broken.
        needs: What the stream lacks to show whether the rule is kept; None unless it is not judged.
        first_part: The index of the part that broke it first; None where only the end shows it.
        details: Its first violations, as sentences.
    """

    rule: Rule
    verdict: RuleVerdict
    count: int
    needs: str | None
    first_part: int | None
    details: list[str]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The findings of one recording.

    Attributes:
        rows: A row for each rule.
        finish: How the stream ended.
        parts: The number of parts by class.
        unmapped: The number of events without a part by type.
    """

    rows: tuple[RuleRow, ...]
    finish: Finish
    parts: Counter[str]
    unmapped: Counter[str]

    @property
    def kept(self) -> bool:
        """Whether no MUST is broken."""
        return all(row.verdict is not RuleVerdict.BROKEN for row in self.rows)

    @property
    def is_vacuous(self) -> bool:
        """Whether there was nothing to judge: a stream that failed or broke before its first part."""
        return not self.parts and self.finish.error is not None


def judge(recording: recordings.Recording, protocol: str | None, tools: Iterable[str] | None) -> Judgement:
    """Judges a recording.

    Args:
        recording: The recording.
        protocol: The name of its protocol, or None to tell it from the recording.
        tools: The names of the request's tools, or None for those that the recording holds, if any.

    Raises:
        RecordingError: It cannot be read, or is of no known protocol.
    """
    options = StreamOptions(call_id_prefix=GATEWAY_CALL_ID_PREFIX)
    details: dict[str, list[str]] = {}
    first: dict[str, int | None] = {}

    def add(violation: Violation) -> None:
        first.setdefault(violation.rule.id, violation.index)
        kept = details.setdefault(violation.rule.id, [])
        if len(kept) < _MAX_DETAILS:
            place = "at the end" if violation.index is None else f"part {violation.index}"
            kept.append(f"{place}: {violation.detail}")

    offered = recording.tools(protocol) if tools is None else tools
    checker = ContractChecker(offered, CheckMode.LENIENT, add, namespace=recording.namespace(options))
    parts: Counter[str] = Counter()
    unmapped: Counter[str] = Counter()
    finish: Finish | None = None
    for output in recording.outputs(protocol, options, _CHUNK_SIZE):
        if isinstance(output, Finish):
            finish = output
            if output.error is None:
                checker.complete()
            else:
                checker.fail(output.error)
        elif isinstance(output, Unmapped):
            unmapped[output.type] += 1
        else:
            parts[type(output).__name__] += 1
            checker.check(output)
    if finish is None:
        raise AssertionError("every stream ends with a Finish")
    facts = {"has_end": finish.outcome is not Outcome.TRUNCATED, "has_error": finish.error is not None}

    def row(rule: Rule) -> RuleRow:
        count, needs = checker.counts[rule.id], None
        verdict = RuleVerdict.BROKEN if rule.level is Level.MUST else RuleVerdict.WARNING
        if not count:
            needs = missing_evidence(rule, checker, parts, **facts)
            verdict = RuleVerdict.KEPT if needs is None else RuleVerdict.NOT_JUDGED
        return RuleRow(rule, verdict, count, needs, first.get(rule.id), details.get(rule.id, []))

    return Judgement(tuple(map(row, RULES.values())), finish, parts, unmapped)


# ---- The command ----

_STYLES: Final = {
    RuleVerdict.KEPT: "green",
    RuleVerdict.BROKEN: "bold red",
    RuleVerdict.WARNING: "yellow",
    RuleVerdict.NOT_JUDGED: "dim",
}
_EXIT_STYLES: Final = {
    ExitCode.FINE: "green",
    ExitCode.FOUND: "bold red",
    ExitCode.UNUSABLE: "bold red",
    ExitCode.FAILED: "yellow",
    ExitCode.TRUNCATED: "yellow",
}


class _Detail(Enum):
    """How much is shown of each file."""

    PROBLEMS = auto()
    """A line for a file that is not fine."""
    LINES = auto()
    """A line for each file."""
    RULES = auto()
    """A row for each rule."""


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@recordings.protocol_option
@click.option("--tool", "tools", metavar="NAME", multiple=True, help="Name of a tool in the request; repeat for more.")
@click.option("-q", "--quiet", is_flag=True, help="Print only the files that are not fine, a line for each.")
@click.option("-v", "--verbose", is_flag=True, help="Print every rule, also for several files.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON, an object a line for each file.")
@click.pass_context
def command(
    context: click.Context,
    files: tuple[str, ...],
    protocol: str | None,
    tools: tuple[str, ...],
    quiet: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Check recorded streams against the contract.

    FILE is a .partstream.zip file (recorded exchanges), a .jsonl file (one event per line), an .sse file (the bytes),
    or - for standard input; a JSON array of events, and either form in gzip, are read too. One answer is reported rule
    by rule, several with a line for each; FILE#2 is the second exchange of a file.

    The exit code is 0 if every MUST is kept, 1 if one is broken, 2 if a file cannot be read or is of no known protocol,
    3 if the stream itself failed and 4 if it has no end, so that less than all was judged. For several files it is the
    lowest of theirs that is not 0. A stream alone does not hold the request: name the request's tools with --tool to
    have tool names checked.
    """
    if quiet and verbose:
        raise click.UsageError("--quiet and --verbose contradict each other")
    codes: Counter[ExitCode] = Counter()
    entries: Iterable[_Entry] = _entries(files)
    if len(files) == 1:
        entries = list(entries)
    is_alone = isinstance(entries, list) and len(entries) == 1
    detail = _Detail.PROBLEMS if quiet else _Detail.RULES if verbose or is_alone else _Detail.LINES
    try:
        for entry in entries:
            codes[_report(entry, protocol, tools, None if as_json else detail, is_alone=is_alone)] += 1
        if detail is not _Detail.PROBLEMS and not is_alone and not as_json:
            make_console().print(Text(_summary(codes, "files" if codes.total() == len(files) else "answers"), "bold"))
    except BrokenPipeError:
        drop_output()  # the verdict is the exit code, even if no one reads the rest
    context.exit(min((code for code in codes if code), default=ExitCode.FINE))


_Entry: TypeAlias = "tuple[str, recordings.Recording | RecordingError]"
"""A recording, or why it cannot be read, under the name of its file; of several answers, with its number."""


def _entries(files: Iterable[str]) -> Iterator[_Entry]:
    for file in files:
        try:
            opened = recordings.open_recordings(file)
        except RecordingError as error:
            yield file, error
            continue
        recordings.notice(opened, opened.recordings)
        for recording in opened.recordings:
            yield recording.label, recording


def _report(
    entry: _Entry, protocol: str | None, tools: tuple[str, ...], detail: _Detail | None, *, is_alone: bool
) -> ExitCode:
    """Judges a recording and prints what is wanted; as JSON where no detail is given.

    Raises:
        UnreadableRecordingError: The only recording cannot be read.
    """
    file, found = entry
    try:
        if isinstance(found, RecordingError):
            raise found
        judgement = judge(found, protocol, tools or None)
    except RecordingError as error:
        if is_alone:
            raise recordings.UnreadableRecordingError(visible(str(error))) from error
        if detail is None:
            click.echo(json.dumps({"file": file, "error": {"type": type(error).__name__, "message": str(error)}}))
        else:
            _print_line(ExitCode.UNUSABLE, "not read", file, error.reason)
        return ExitCode.UNUSABLE
    code = recordings.exit_code_of(judgement.finish) if judgement.kept else ExitCode.FOUND
    if detail is None:
        click.echo(json.dumps(_as_json(file, judgement), ensure_ascii=True))
    elif detail is _Detail.RULES:
        _render(file, judgement, make_console())
    elif detail is _Detail.LINES or code is not ExitCode.FINE:
        failure = judgement.finish.error
        word = "kept" if failure is None else judgement.finish.outcome.value
        said = ["nothing to judge" if judgement.is_vacuous else _parts(judgement)]
        said += [f"{row.rule.id} ({row.count}×)" for row in judgement.rows if row.count]
        said += [] if failure is None else [str(failure)]
        _print_line(code, word if judgement.kept else "broken", file, "; ".join(said))
    return code


def _print_line(code: ExitCode, word: str, file: str, says: str) -> None:
    line = Text.assemble((f"{word:<10}", _EXIT_STYLES[code]), (visible(file), "bold"), f": {visible(says)}")
    make_console().print(line)


_COUNTED: Final = {
    ExitCode.FINE: "kept",
    ExitCode.FOUND: "broken",
    ExitCode.FAILED: "failed",
    ExitCode.TRUNCATED: "truncated",
    ExitCode.UNUSABLE: "not read",
}


def _summary(codes: Counter[ExitCode], noun: str) -> str:
    counted = ", ".join(f"{codes[code]} {word}" for code, word in _COUNTED.items() if codes[code])
    return f"{codes.total()} {noun}: {counted}."


def _as_json(file: str, judgement: Judgement) -> dict[str, Any]:
    error = judgement.finish.error
    return {
        "file": file,
        "kept": judgement.kept,
        "nothing_to_judge": judgement.is_vacuous,
        "outcome": judgement.finish.outcome,
        "error": None if error is None else {"type": type(error).__name__, "message": str(error)},
        "parts": dict(judgement.parts),
        "unmapped": dict(judgement.unmapped),
        "rules": [
            {
                "id": row.rule.id,
                "section": row.rule.section,
                "level": row.rule.level,
                "verdict": row.verdict,
                "needs": row.needs,
                "count": row.count,
                "first_part": row.first_part,
                "details": row.details,
            }
            for row in judgement.rows
        ],
    }


# ---- One answer, rule by rule ----


def _parts(judgement: Judgement) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(judgement.parts.items())) or "no parts"


def _render(file: str, judgement: Judgement, console: Console) -> None:
    console.print(Text.assemble((visible(file), "bold"), f": {_parts(judgement)}"))
    if judgement.unmapped:
        unmapped = ", ".join(f"{count} {visible(name)}" for name, count in sorted(judgement.unmapped.items()))
        console.print(Text(f"Events that no part can represent, not judged: {unmapped}", "dim"))
    width = max(len(rule_id) for rule_id in RULES)
    console.print(Text(f"{'Rule':<{width}}  Section  Level   Verdict"), soft_wrap=True)
    for row in judgement.rows:
        cells = f"{row.rule.id:<{width}}  {row.rule.section:<7}  {row.rule.level:<6}  "
        needs = "" if row.needs is None else f": needs {row.needs}"
        console.print(Text.assemble(cells, (row.verdict + needs, _STYLES[row.verdict])), soft_wrap=True)
    broken = [row for row in judgement.rows if row.count]
    for row in sorted(broken, key=lambda row: (row.first_part is None, row.first_part)):
        rule = row.rule
        console.print(Text(f"{rule.id} ({rule.level}, section {rule.section}): {rule.text}", _STYLES[row.verdict]))
        for detail in row.details:
            console.print(Text(f"  {visible(detail)}"))
        if hidden := row.count - len(row.details):
            console.print(Text(f"  and {hidden} more"))
    finish = judgement.finish
    if finish.error is not None:
        console.print(Text(f"The stream is {finish.outcome}: {visible(str(finish.error))}", "yellow"), soft_wrap=True)
        console.print(Text("The upstream caused this end; it does not break a rule for the provider.", "yellow"))
    else:
        console.print(Text(f"The stream is {finish.outcome}."))
    console.print(Text(_total(judgement), "bold"))


def _total(judgement: Judgement) -> str:
    verdicts = Counter(row.verdict for row in judgement.rows)
    total = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in RuleVerdict if verdicts[verdict])
    if judgement.is_vacuous:
        return "Nothing to judge: the stream holds no part."
    so_far = ", as far as the stream goes" if judgement.finish.outcome is Outcome.TRUNCATED else ""
    return f"Contract {'kept' if judgement.kept else 'broken'}{so_far}: {total}."
