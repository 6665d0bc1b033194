"""`partstream inspect --what-is-in-it`: every text of a recording, for a person who wants to give it away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from partstream.cli.console import make_console
from partstream.cli.exit_codes import ExitCode
from partstream.inspector.strings import strings_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.inspector.view import ViewedFile

__all__ = ["print_strings"]


def print_strings(files: Sequence[ViewedFile]) -> ExitCode:
    """Prints every distinct text of more than eight characters, each with its place."""
    console = make_console()
    for file in files:
        redaction = file.bundle.redaction
        level = "unknown" if redaction is None else redaction.level.value
        found = strings_in(file.bundle)
        console.print(Text(f"{file.name}: {len(found)} texts, redaction level {level}", "bold"))
        for place, text in found:
            console.print(Text.assemble((f"{place}: ", "dim"), text))
    return ExitCode.FINE
