"""`partstream inspect`: shows recorded answers in the browser, in the terminal, as a file or as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from partstream.cli.console import busy_with
from partstream.cli.inspect_files import files_named, last_answer
from partstream.cli.opened_recordings import spare_recordings
from partstream.cli.recordings import protocol_option
from partstream.cli.terminal import ExitCode, drop_output
from partstream.devtools.bundles.exchange import RedactionLevel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.devtools.inspector.view import ViewedFile

__all__ = ["command"]

_SLOWER: Final = 1.5
"""How many times as long the first visible part may take before it counts as slower."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a person wants to see, and how.

    Attributes:
        as_text: Whether a summary.
        as_json: Whether JSON.
        what_is_in_it: Whether all texts.
        compare: Whether a comparison of two answers.
        html: The file of a page, `-` for standard output; None for none.
        level: How much is replaced in that file.
        slower_than: How many times as long the first visible part may take in the second of two answers.
        opens_browser: Whether the page is opened.
    """

    as_text: bool
    as_json: bool
    what_is_in_it: bool
    compare: bool
    html: str | None
    level: RedactionLevel
    slower_than: float
    opens_browser: bool


@click.command(short_help="Look into recorded answers: bytes, events, parts, times, and what broke.")
@click.argument("names", metavar="FILE...", nargs=-1)
@click.option("--last", is_flag=True, help="Show the newest answer of the programs that run on this machine.")
@click.option("--live", is_flag=True, help="Show the answers of the programs that run on this machine as they come.")
@protocol_option
@click.option("--text", "as_text", is_flag=True, help="Print a summary: verdict, first broken event, numbers.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole view as JSON; with --compare, the comparison.")
@click.option("--html", metavar="OUT", help="Write the page into a file that needs no other; - for standard output.")
@click.option(
    "--redact",
    "level",
    type=click.Choice([level.value for level in RedactionLevel]),
    help="With --html: what is replaced: keys and all texts (structure, the default), keys alone, or nothing.",
)
@click.option("--what-is-in-it", is_flag=True, help="Print every distinct text that is in it.")
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
    /,
    *,
    names: tuple[str, ...],
    last: bool,
    live: bool,
    protocol: str | None,
    level: str | None,
    no_browser: bool,
    **wanted: Any,
) -> None:
    """Look into recorded answers: which bytes came when, which events and parts they became, what broke and by whom.

    FILE is a recording in any form: a bundle (.partstream.zip), .sse, .jsonl, an array of events, gzip, an HTTP
    Archive, or - for standard input. Several are shown together and compared. The page opens in the browser, from a
    server on this machine that only this browser can read and that ends with Ctrl-C; where no browser can be opened, a
    summary is printed.

    The exit code is 0 if the answer was whole and kept the contract, 1 if it broke the contract or, with --compare, is
    worse than the first, 2 if a file cannot be read or is of no known protocol, 3 if the answer failed and 4 if it has
    no end. With the page it is 0.
    """
    _check({**wanted, "last": last, "live": live, "no_browser": no_browser, "redact": level}, names)
    try:
        if live:
            from partstream.cli.inspect_page import show_live  # noqa: PLC0415 - a server, which most calls need not

            context.exit(show_live(opens_browser=not no_browser))
        if wanted["html"] is not None:
            spare_recordings(names, wanted["html"])
        with busy_with("Reading the recording"):
            files = [last_answer()] if last else files_named(names, protocol)
        chosen = RedactionLevel(level or RedactionLevel.STRUCTURE)
        context.exit(_show(files, _Wanted(level=chosen, opens_browser=not no_browser, **wanted)))
    except BrokenPipeError:
        drop_output()
        context.exit(ExitCode.NO_READER)


_FORMS: Final = ("as_text", "as_json", "html", "what_is_in_it", "no_browser")
_CONTRADICT: Final = (
    ("last", ("live",)),
    ("live", (*_FORMS[:-1], "compare")),
    ("compare", ("as_text", "html", "what_is_in_it", "no_browser")),
    *((form, _FORMS[place + 1 :]) for place, form in enumerate(_FORMS)),
)
"""An option, and those that it cannot be given with."""


def _check(given: Mapping[str, Any], names: tuple[str, ...]) -> None:
    """Refuses what contradicts each other.

    Raises:
        UsageError: It does.
    """
    for option, others in _CONTRADICT:
        for other in others:
            if given[option] and given[other]:
                raise click.UsageError(f"{_option(option)} and {_option(other)} contradict each other")
    for name in ("last", "live"):
        if given[name] and names:
            raise click.UsageError(f"{_option(name)} and FILE contradict each other")
    if given["redact"] and not given["html"]:
        raise click.UsageError("--redact is for --html; partstream share makes a redacted recording")


def _option(name: str) -> str:
    return f"--{name.removeprefix('as_').replace('_', '-')}"


def _show(files: list[ViewedFile], wanted: _Wanted) -> ExitCode:
    # Each way imports what it needs alone: a server, a page, tables.
    if wanted.what_is_in_it:
        from partstream.cli.inspect_strings import print_strings  # noqa: PLC0415

        return print_strings(files)
    if wanted.compare:
        from partstream.cli.inspect_compare import print_comparison  # noqa: PLC0415

        return print_comparison(files, wanted.slower_than, as_json=wanted.as_json)
    if wanted.html is not None:
        from partstream.cli.inspect_html import write_html  # noqa: PLC0415

        return write_html(files, wanted.html, wanted.level)
    if wanted.as_json or wanted.as_text:
        from partstream.cli.inspect_text import print_text, print_view_as_json  # noqa: PLC0415

        return print_view_as_json(files) if wanted.as_json else print_text(files)
    from partstream.cli.inspect_page import show_page  # noqa: PLC0415

    return show_page(files, opens_browser=wanted.opens_browser)
