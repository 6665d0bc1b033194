"""`partstream share`: makes of a recording what can be given away.

The names of the files are checked before anything is read. Then keys, ids and texts are replaced, the keys that this
machine knows (in the user's file and in the environment) among them, and each file is written in the form that its name
says. `--preview` says what would be replaced and what would stay, and writes nothing.
"""

from __future__ import annotations
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click
from rich.text import Text

from partstream.cli.console import busy_with, make_console
from partstream.codec.redaction import names_a_secret
from partstream.codec.system import replace_file
from partstream.codec.text import visible
from partstream.config.table import configuration_file, read_document, secrets_of_settings
from partstream.settings.kinds import ConfigurationError
from partstream.settings.row import SHORTEST_KEY
from partstream_devtools.bundles.documents import BundleError
from partstream_devtools.bundles.exchange import Bundle, RedactionLevel
from partstream_devtools.bundles.forms import FORMS
from partstream_devtools.commands_inspect import SAYS, bundle_named, last_answer
from partstream_devtools.inspector.sharing import SHARED_FORMS, preview_lines, shared_bytes
from partstream_devtools.recordings import spare_recordings
from partstream_devtools.redaction.redacting import redact

ENDINGS: Final = tuple(endings[0] for endings in SHARED_FORMS.values())
"""The endings of names, one for each form that is written."""
READ_AGAIN: Final = tuple(ending for form in FORMS if form.write for ending in form.endings)
"""The endings of what is a recording again; a page or a summary of one is not."""


def check_name(out: str) -> None:
    """Refuses a name whose ending says no form, before anything is read.

    Raises:
        UsageError: It says none.
    """
    written = tuple(ending for endings in SHARED_FORMS.values() for ending in endings)
    if not out.lower().endswith(written):
        raise click.UsageError(f"{visible(out)}: expected a name that ends with one of {', '.join(ENDINGS)}")


def write_shared(bundle: Bundle, out: str) -> int:
    """Writes a bundle in the form that the name says, for its owner alone; returns the number of bytes.

    Raises:
        ClickException: The form cannot hold the bundle, or the file cannot be written.
    """
    try:
        data = shared_bytes(bundle, out)
    except BundleError as error:
        raise click.ClickException(visible(f"cannot write {out}: {error}")) from error
    try:
        replace_file(Path(out), data)
    except OSError as error:
        raise click.ClickException(f"cannot write {visible(out)}: {error.strerror}") from error
    return len(data)


def known_secrets(environment: Mapping[str, str] = os.environ) -> set[str]:
    """Every text of the file and of the environment that may be a key; no key is fetched for it.

    A file that cannot be read holds no key that an answer could have had.
    """
    found = {value for name, value in environment.items() if names_a_secret(name)}
    try:
        document = read_document(configuration_file(environment), must_exist=False)
    except ConfigurationError:
        document = {}
    profiles = document.get("profiles")
    for settings in (document, *(profiles.values() if isinstance(profiles, dict) else ())):
        if isinstance(settings, dict):
            found |= secrets_of_settings(settings)
    return {one for one in found if len(one) >= SHORTEST_KEY}


@click.command(short_help="Redact a recording so that you can share it.")
@click.argument("files", metavar="[FILE] OUT...", nargs=-1)
@click.option("--last", is_flag=True, help="Share the newest answer on this machine instead of FILE.")
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
    """Redact a recording so that you can share it: in an issue, or with the developers of a server.

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
        console.print(Text(_what(chosen, keep), "bold"))
        for line in (*preview_lines(report), "Nothing was written."):
            console.print(Text(visible(line)))
        return
    for out in outs:
        with busy_with(f"Writing {visible(out)}"):
            size = write_shared(shared, out)
        console.print(Text(f"{visible(out)}: {size:,} bytes"))
    console.print(Text(f"{_what(chosen, keep)}.", "bold red" if chosen is RedactionLevel.NONE else ""))
    if chosen is not RedactionLevel.NONE:
        read_again = next((out for out in outs if out.lower().endswith(READ_AGAIN)), None)
        way = "" if read_again is None else f"partstream inspect {visible(read_again)} --what-is-in-it"
        total = f"{sum(report.counts.values()):,} replacements by {len(report.counts)} rules."
        console.print(Text(f"{total} See what is left: {way}" if way else total))


def _what(level: RedactionLevel, keep: tuple[str, ...]) -> str:
    kept = level is RedactionLevel.STRUCTURE and "text" in keep
    said = "keys, ids and state are replaced; TEXTS STAY" if kept else SAYS[level]
    return f"Redaction {level.value}: {said}"
