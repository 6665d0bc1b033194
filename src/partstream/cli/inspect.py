"""`partstream inspect`: shows recorded answers in the browser, in the terminal, as a file or as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from partstream.cli.exit_codes import ExitCode
from partstream.cli.inspect_files import files_named
from partstream.cli.pipes import drop_output
from partstream.cli.recordings import protocol_option

if TYPE_CHECKING:
    from partstream.inspector.view import ViewedFile

__all__ = ["command"]

_SLOWER: Final = 1.5
"""How many times as long the first visible part may take before it counts as slower."""


@click.command(short_help="Look into recorded answers: bytes, events, parts, times, and what broke.")
@click.argument("names", metavar="FILE...", nargs=-1)
@protocol_option
@click.option("--text", "as_text", is_flag=True, help="Print a summary: verdict, first broken event, numbers.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole view as JSON; with --compare, the comparison.")
@click.option("--what-is-in-it", "strings", is_flag=True, help="Print every distinct text of more than 8 characters.")
@click.option("--compare", is_flag=True, help="Compare two answers; the exit code is 1 if the second one is worse.")
@click.option(
    "--slower-than",
    type=click.FloatRange(min=1),
    default=_SLOWER,
    show_default=True,
    metavar="FACTOR",
    help="With --compare: how many times as long the first visible part may take.",
)
@click.option("--no-browser", is_flag=True, help="Serve the page and print its address; open no browser.")
@click.pass_context
def command(
    context: click.Context,
    *,
    names: tuple[str, ...],
    protocol: str | None,
    as_text: bool,
    as_json: bool,
    strings: bool,
    compare: bool,
    slower_than: float,
    no_browser: bool,
) -> None:
    """Look into recorded answers: which bytes came when, which events and parts they became, what broke and by whom.

    FILE is a recording in any form: a bundle (.partstream.zip), .sse, .jsonl, an array of events, gzip, or - for
    standard input. Several are shown together and compared. The page opens in the browser, from a server on this
    machine that only this browser can read and that ends with Ctrl-C; where no browser can be opened, a summary is
    printed.

    The exit code is 0 if the answer was whole and kept the contract, 1 if it broke the contract or, with --compare, is
    worse than the first, 2 if a file cannot be read, 3 if the answer failed and 4 if it has no end. With the page it
    is 0.
    """
    _check(as_text=as_text, as_json=as_json, strings=strings, no_browser=no_browser)
    files = files_named(names, protocol)
    try:
        context.exit(_shown(files, as_text, as_json, strings, compare, slower_than, no_browser))
    except BrokenPipeError:
        drop_output()
        context.exit(ExitCode.NO_READER)


def _check(**forms: bool) -> None:
    """Refuses options of which each says what to do with the files.

    Raises:
        UsageError: Two of them were given.
    """
    given = [f"--{name.replace('as_', '').replace('_', '-')}" for name, is_given in forms.items() if is_given]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} contradict each other")


def _shown(
    files: list[ViewedFile],
    as_text: bool,
    as_json: bool,
    strings: bool,
    compare: bool,
    slower_than: float,
    no_browser: bool,
) -> ExitCode:
    # Each way imports what it needs alone: a server, a page, tables.
    if strings:
        from partstream.cli.inspect_strings import print_strings  # noqa: PLC0415

        return print_strings(files)
    if compare:
        from partstream.cli.inspect_compare import print_comparison  # noqa: PLC0415

        return print_comparison(files, slower_than, as_json=as_json)
    if as_json or as_text:
        from partstream.cli.inspect_text import print_json, print_text  # noqa: PLC0415

        return print_json(files) if as_json else print_text(files)
    from partstream.cli.inspect_page import show_page  # noqa: PLC0415

    return show_page(files, opens_browser=not no_browser)
