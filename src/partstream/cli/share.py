"""`partstream share`: makes of a recording what can be given away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click
from rich.table import Table
from rich.text import Text

from partstream.cli.console import busy_with, make_console
from partstream.cli.known_secrets import known_secrets
from partstream.cli.opened_recordings import spare_recordings
from partstream.cli.shared_files import ENDINGS, READ_AGAIN, check_name, write_shared
from partstream.codec.text import visible
from partstream.devtools.bundles.exchange import RedactionLevel
from partstream.devtools.commands_inspect import bundle_named, last_answer
from partstream.devtools.redaction.redacting import redact

if TYPE_CHECKING:
    from rich.console import Console

    from partstream.devtools.redaction.redacting import RedactionReport

__all__ = ["command"]

_SAYS: Final = {
    RedactionLevel.STRUCTURE: "keys, ids of people and all texts are replaced; lengths and structure stay",
    RedactionLevel.KEYS: "keys, cookies and ids of people are replaced; TEXTS STAY",
    RedactionLevel.NONE: "NOTHING IS REPLACED: keys, prompts and files are in it as they were recorded",
}
_LONGEST_SAMPLE: Final = 160


@click.command(short_help="Make of a recording a file that can be given away, without keys and texts.")
@click.argument("files", metavar="[FILE] OUT...", nargs=-1)
@click.option("--last", is_flag=True, help="Share the newest answer on this machine in place of FILE.")
@click.option(
    "--redact",
    "level",
    type=click.Choice([level.value for level in RedactionLevel]),
    default=RedactionLevel.STRUCTURE.value,
    show_default=True,
    help="What is replaced: keys and all texts, keys alone, or nothing.",
)
@click.option("--keep", type=click.Choice(["text"]), multiple=True, help="Keep what people, models and tools wrote.")
@click.option("--hide-names", is_flag=True, help="Replace the names of the arguments of calls too.")
@click.option("--preview", is_flag=True, help="Write nothing; print what would be replaced and what would stay.")
def command(
    *, files: tuple[str, ...], last: bool, level: str, keep: tuple[str, ...], hide_names: bool, preview: bool
) -> None:
    """Make of a recording a file that can be given away: for an issue, for the makers of a server.

    FILE is a recording in any form, or - for standard input. The ending of OUT says the form: .partstream.zip
    (everything, for partstream inspect, check and replay), .har, .otlp.json, .md (a summary for an issue), .html (a
    page that needs nothing else), .sse or .jsonl (the bytes of one answer).

    Keys, cookies, ids of people and all texts are replaced by stand-ins of the same length, so that a fault stays in
    the file and what was said does not. Look at it before: --preview, and partstream inspect OUT --what-is-in-it.
    """
    name, outs = (None, files) if last else (next(iter(files), None), files[1:])
    if name is None and not last:
        raise click.UsageError("name a recording, or give --last")
    if not outs and not preview:
        raise click.UsageError(f"name a file to write: its ending is one of {', '.join(ENDINGS)}")
    for out in outs:
        check_name(out)
        spare_recordings(() if name is None else (name,), out)
    chosen = RedactionLevel(level)
    with busy_with("Reading the recording"):
        bundle = last_answer().bundle if name is None else bundle_named(name)
    with busy_with("Replacing keys and texts"):
        shared, report = redact(bundle, chosen, keep, secrets=known_secrets(), hides_names=hide_names)
    console = make_console()
    if preview:
        _print_preview(console, report, keep)
        return
    for out in outs:
        with busy_with(f"Writing {visible(out)}"):
            size = write_shared(shared, out)
        console.print(Text(f"{visible(out)}: {size:,} bytes"))
    console.print(Text(f"{_what(chosen, keep)}.", "bold red" if chosen is RedactionLevel.NONE else ""))
    if chosen is not RedactionLevel.NONE:
        read_again = next((out for out in outs if out.lower().endswith(READ_AGAIN)), None)
        look = (
            "" if read_again is None else f" See what is left: partstream inspect {visible(read_again)} --what-is-in-it"
        )
        console.print(Text(f"{_total(report)}.{look}"))


def _what(level: RedactionLevel, keep: tuple[str, ...]) -> str:
    kept = level is RedactionLevel.STRUCTURE and "text" in keep
    said = "keys, ids and state are replaced; TEXTS STAY" if kept else _SAYS[level]
    return f"Redaction {level.value}: {said}"


def _total(report: RedactionReport) -> str:
    total = sum(report.counts.values())
    return f"{total:,} replacements by {len(report.counts)} rules"


def _print_preview(console: Console, report: RedactionReport, keep: tuple[str, ...]) -> None:
    console.print(Text(_what(report.level, keep), "bold"))
    if report.counts:
        console.print(_table("rule", "replaced", report.counts))
    if report.samples:
        console.print(Text("\nSome texts as they would be:", "bold"))
    for sample in report.samples:
        said = visible(sample.text[:_LONGEST_SAMPLE]).replace("\n", "\\n")
        said += "…" if len(sample.text) > _LONGEST_SAMPLE else ""
        console.print(Text.assemble((f"{sample.rule}, {visible(sample.place)}: ", "dim"), said))
    if report.kept:
        console.print(Text("\nTexts that would stay:", "bold"))
        console.print(_table("field", "texts", report.kept))
    elif report.level is RedactionLevel.NONE:
        console.print(Text("Everything would stay.", "bold red"))
    else:
        console.print(Text("\nNo text that a person, a model or a tool wrote would stay."))
    console.print(Text("Nothing was written."))


def _table(name: str, number: str, rows: Any) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(name)
    table.add_column(number, justify="right")
    for row, count in rows.items():
        table.add_row(Text(visible(row)), f"{count:,}")
    return table
