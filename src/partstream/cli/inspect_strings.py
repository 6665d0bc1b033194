"""`partstream inspect --what-is-in-it`: every text of a recording, for a person who wants to give it away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from partstream.cli.console import busy_with, make_console
from partstream.cli.terminal import ExitCode
from partstream.devtools.redaction.redacting import what_is_in_it

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.devtools.inspector.view import ViewedFile

__all__ = ["print_strings"]


def print_strings(files: Sequence[ViewedFile]) -> ExitCode:
    """Prints every distinct text of more than eight characters, the pieces of each joined."""
    console = make_console()
    for file in files:
        redaction = file.bundle.redaction
        level = "unknown" if redaction is None else redaction.level.value
        with busy_with("Looking for texts"):
            found = what_is_in_it(file.bundle)
        said = f"{file.name}: {len(found)} distinct texts of more than 8 characters, redaction level {level}"
        console.print(Text(said, "bold"))
        for text, count in found:
            console.print(Text.assemble(text, (f"  ×{count}" if count > 1 else "", "dim")))
    return ExitCode.FINE
