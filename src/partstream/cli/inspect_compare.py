"""Two recorded answers beside each other in a terminal or for a script, with an exit code for what became worse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click
from rich.text import Text

from partstream.cli.console import busy_with, make_console
from partstream.cli.terminal import ExitCode
from partstream.codec.json_codec import dumps
from partstream.devtools.inspector.view import Regression, compare, regressions, view_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from partstream.devtools.inspector.shapes import ComparisonView
    from partstream.devtools.inspector.view import ViewedFile

__all__ = ["print_comparison"]

_TWO: Final = 2
_Line = tuple[str, str]


def print_comparison(files: Sequence[ViewedFile], slower_than: float, *, as_json: bool) -> ExitCode:
    """Prints the comparison of two answers: those of two files, or the two of one.

    Args:
        files: The files.
        slower_than: How many times as long the first visible part of the second may take.
        as_json: Whether to print JSON.

    Raises:
        UsageError: There are not two answers.
    """
    with busy_with("Looking into the answers"):
        answers = view_of(files)["answers"]
    if len(answers) != _TWO:
        raise click.UsageError(f"--compare: got {len(answers)} answers, expected two, in one file or in two")
    old, new = answers
    compared, worse = compare(old, new), regressions(old, new, slower_than)
    if as_json:
        click.echo(dumps({"regressions": worse, "comparison": compared}).decode())
    else:
        console = make_console()
        for text, style in _lines(compared, worse, (old["title"], new["title"])):
            console.print(Text(text, style))
    return ExitCode.FOUND if worse else ExitCode.FINE


def _lines(compared: ComparisonView, worse: Sequence[Regression], titles: tuple[str, str]) -> Iterator[_Line]:
    yield f"left: {titles[0]}, right: {titles[1]}", "bold"
    for number, row in enumerate(compared["rows"], start=1):
        if not row["same"]:
            yield f"{number}. {row['label']}", "yellow"
            yield from ((f"   {difference}", "") for difference in row["differences"])
    same = sum(row["same"] for row in compared["rows"])
    yield f"{same} of {len(compared['rows'])} runs of parts are the same.", ""
    width = max(len(number["label"]) for number in compared["numbers"])
    for one in compared["numbers"]:
        if one["left"] != "-" or one["right"] != "-":
            ratio = "" if one["ratio"] is None else f"  ×{one['ratio']:g}"
            yield f"{one['label']:<{width}}  {one['left']:>14}  {one['right']:>14}{ratio}", ""
    yield from ((f"Worse: {one['detail']}.", "bold red") for one in worse)
    if not worse:
        yield "Nothing is worse.", "green"
