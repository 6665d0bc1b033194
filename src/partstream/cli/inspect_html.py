"""`partstream inspect --html`: the page as one file, for people without Partstream; redacted before it is made."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from partstream.cli.console import busy_with
from partstream.cli.terminal import ExitCode
from partstream.codec.text import visible
from partstream.devtools.bundles.exchange import RedactionLevel
from partstream.devtools.inspector.page.assembly import page_html
from partstream.devtools.inspector.view import view_of
from partstream.devtools.redaction.redacting import redact
from partstream.vscode.pages.document import Hashes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.devtools.inspector.view import ViewedFile

__all__ = ["MOST_BYTES", "write_html"]

MOST_BYTES: Final = 30 * 1024 * 1024
"""Bytes of all answers of a file of HTML: a browser reads the whole of it before it shows anything."""
_SAYS: Final = {
    RedactionLevel.STRUCTURE: "keys, ids of people and all texts are replaced; lengths and structure stay",
    RedactionLevel.KEYS: "keys, cookies and ids of people are replaced; TEXTS STAY",
    RedactionLevel.NONE: "NOTHING IS REPLACED: it holds what the recording holds",
}


def write_html(files: Sequence[ViewedFile], out: str, level: RedactionLevel) -> ExitCode:
    """Writes the page of files.

    Args:
        files: The files.
        out: The file to write; `-` for standard output.
        level: How much is replaced before.

    Raises:
        ClickException: The answers are too large for one file, or it cannot be written.
    """
    size = sum(len(exchange.body) for file in files for exchange in file.bundle.exchanges)
    if size > MOST_BYTES:
        raise click.ClickException(
            f"the answers have {size:,} bytes, and a page in a file at most {MOST_BYTES:,}: look at them without "
            "--html, or give the recording itself away, see partstream share"
        )
    # Not the path: who gets the page is not told where somebody keeps files.
    with busy_with("Making the page"):
        redacted = [replace(file, bundle=redact(file.bundle, level)[0], path=file.name) for file in files]
        page = page_html(view_of(redacted), Hashes()).encode()
    if out == "-":
        sys.stdout.buffer.write(page)
        return ExitCode.FINE
    try:
        Path(out).write_bytes(page)
    except OSError as error:
        raise click.ClickException(f"cannot write {visible(out)}: {error.strerror}") from error
    click.echo(f"{visible(out)}: {len(page):,} bytes. Redaction {level.value}: {_SAYS[level]}.")
    return ExitCode.FINE
